//! The npm package. Its `bin` are the programs themselves: a wrapper would start Node for every
//! hook.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::json;

use super::archive;
use super::contents::Contents;
use super::package::{
    AUTHORS, Files, LICENCE, NAME, PackageFile, Programs, REPOSITORY, SUMMARY, VERSION,
    add_programs,
};
use super::platform::Platform;

/// The package's file name and its bytes.
pub fn write(
    platform: Platform,
    programs: &Programs,
    contents: &Contents,
    time: u64,
) -> Result<(String, Vec<u8>)> {
    let mut files = Files::new();
    add_programs(&mut files, "bin", programs);
    for (place, script) in &contents.completions {
        files.insert(format!("share/{place}"), PackageFile::plain(script.clone()));
    }
    for (name, page) in &contents.manual {
        files.insert(format!("man/{name}"), PackageFile::plain(page.clone()));
    }
    files.append(&mut contents.documents());
    files.insert(
        "package.json".to_owned(),
        PackageFile::plain(manifest(platform, programs, contents)),
    );
    // npm requires everything to be in a folder of this name.
    let bytes = archive::pack("package", &files, time)?;
    Ok((format!("{NAME}-{VERSION}-npm-linux-{}.tgz", platform.npm()), bytes))
}

fn manifest(platform: Platform, programs: &Programs, contents: &Contents) -> String {
    let programs: BTreeMap<_, _> =
        programs.keys().map(|name| (*name, format!("bin/{name}"))).collect();
    let manual: Vec<_> = contents.manual.keys().map(|name| format!("man/{name}")).collect();
    let manifest = json!({
        "name": NAME,
        "version": VERSION,
        "description": SUMMARY,
        "license": LICENCE,
        "author": AUTHORS,
        "repository": {"type": "git", "url": format!("git+{REPOSITORY}.git")},
        "os": ["linux"],
        "cpu": [platform.npm()],
        "bin": programs,
        "man": manual,
    });
    format!("{manifest:#}\n")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::archive::tests::unpack;
    use super::super::{contents::tests::few, package::tests::two, platform::tests::arm};
    use super::*;

    #[test]
    fn the_manifest_names_programs_that_are_there_and_can_be_run() {
        let (name, bytes) = write(arm(), &two(), &few(), 1).unwrap();
        assert_eq!(name, format!("anyhook-{VERSION}-npm-linux-arm64.tgz"));
        let entries = unpack(&bytes);
        let find = |path: &str| entries.iter().find(|(found, ..)| found == path).unwrap();
        let manifest: Value = serde_json::from_str(&find("package/package.json").2).unwrap();
        assert_eq!(manifest["cpu"], json!(["arm64"]));
        for (program, text) in [("anyhook", "big"), ("anyhook-hook", "small")] {
            let path = format!("package/{}", manifest["bin"][program].as_str().unwrap());
            let (_, mode, found) = find(&path);
            assert_eq!((*mode, found.as_str()), (0o755, text));
        }
        for page in manifest["man"].as_array().unwrap() {
            find(&format!("package/{}", page.as_str().unwrap()));
        }
    }
}
