use super::tree::EntryKind;
use super::*;

/// A hook that can run.
pub const GUARD: &str = "---\nname: NAME\ndescription: d\ntrigger: before_tool\n---\nText.\n";

/// The files of a pack with one hook.
pub fn with_hook(name: &str) -> Vec<(String, String)> {
    vec![
        (format!("hooks/{name}/HOOK.md"), GUARD.replace("NAME", name)),
        (format!("hooks/{name}/scripts/run"), "#!/bin/sh\n".to_owned()),
    ]
}

/// Makes a tree of these files; what is below `scripts/` is executable.
fn tree_of(files: &[(impl AsRef<str>, impl AsRef<str>)]) -> PackTree {
    let mut tree = PackTree::default();
    for (path, text) in files {
        let (path, text) = (path.as_ref(), text.as_ref());
        let kind = EntryKind::File { runnable: path.contains("/scripts/") };
        tree.insert(path, kind, text.as_bytes().to_vec()).unwrap();
    }
    tree
}

/// Makes a pack of these files with the defaults of its options.
pub fn pack_of(files: &[(&str, &str)]) -> Pack {
    found(files).unwrap().pack(&OptionValues::new()).unwrap()
}

/// Finds a pack of these files.
pub fn found(files: &[(impl AsRef<str>, impl AsRef<str>)]) -> Result<FoundPack, SetupError> {
    let mut tree = tree_of(files);
    if tree.get(MANIFEST).is_none() {
        let text = b"name = \"guards\"\ndescription = \"Guards\"\n".to_vec();
        tree.insert(MANIFEST, EntryKind::File { runnable: false }, text).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    tree.write(folder.path()).unwrap();
    FoundPack::of_place(&SourcePlace::Folder(folder.path().to_owned()), OWN)
}

/// A pack that comes with the program.
const OWN: PackFiles = &[
    ("own/pack.toml", b"description = \"Own\"\n[[option]]\nname = \"word\"\ndefault = \"x\"\n"),
    (
        "own/hooks/one/HOOK.md",
        b"---\nname: one\ndescription: %{word}\ntrigger: before_tool\nmetadata:\n  pack: own\n---\n",
    ),
    ("own/hooks/one/scripts/run", b"#!/bin/sh\n"),
    ("own/workflow/x.json", b"{}"),
];

#[test]
fn a_pack_of_the_program_has_its_defaults_and_only_its_parts() {
    let packs = all(OWN);
    assert_eq!((packs.len(), packs[0].name.as_str()), (1, "own"));
    assert_eq!(packs[0].hooks[0].definition.description, "x");
    assert!(packs[0].hooks[0].files["scripts/run"].runnable);
    let found = FoundPack::of_place(&SourcePlace::BuiltIn("own".to_owned()), OWN).unwrap();
    assert_eq!(found.tree.files().len(), 3);
    assert!(matches!(find("nope", OWN), Err(SetupError::UnknownPack { .. })));
}

#[test]
fn a_single_hook_is_a_pack_of_its_name() {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in with_hook("one") {
        let path = folder.path().join(path.strip_prefix("hooks/one/").unwrap());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let found = FoundPack::of_place(&SourcePlace::Folder(folder.path().to_owned()), OWN).unwrap();
    let pack = found.pack(&OptionValues::new()).unwrap();
    assert_eq!((pack.name.as_str(), pack.hooks[0].name()), ("one", "one"));
    assert_eq!(pack.description, "d");
}

#[test]
fn a_pack_from_outside_cannot_pass_for_one_of_the_program() {
    let mut files = with_hook("one");
    files.push(("pack.toml".to_owned(), "name = \"own\"\ndescription = \"x\"".to_owned()));
    let refused = found(&files).unwrap_err();
    assert!(matches!(refused, SetupError::Pack(PackError::BuiltInName(_))), "{refused}");
}
