//! Where a pack comes from, as it is written on the command line and in `packs.lock`:
//! `SOURCE[//FOLDER][#REF][@sha256:DIGEST]`.

use std::path::{Component, Path, PathBuf};

use super::PREFIX;
use super::error::{PackError, SourceFault};

/// What a digest starts with.
pub const DIGEST: &str = "sha256:";

/// A source as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenSource {
    /// Where the pack is.
    pub place: SourcePlace,
    /// The digest that its content must have, with [`DIGEST`].
    pub digest: Option<String>,
}

/// Where a pack is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourcePlace {
    /// It comes with the program.
    BuiltIn(String),
    /// A folder.
    Folder(PathBuf),
    /// A git repository.
    Git(GitPlace),
}

/// A place in a git repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitPlace {
    /// The address that git gets.
    pub address: String,
    /// The folder in the repository; its top if empty.
    pub folder: String,
    /// The branch, tag or commit; the default branch without one.
    pub reference: Option<String>,
}

impl WrittenSource {
    /// Reads what was written. Paths start at `work_dir`.
    pub fn parse(written: &str, work_dir: &Path) -> Result<Self, PackError> {
        let refuse = |fault| PackError::Source { given: printable(written), fault };
        parse(written, work_dir).map_err(refuse)
    }
}

fn parse(written: &str, work_dir: &Path) -> Result<WrittenSource, SourceFault> {
    if written.chars().any(char::is_control) {
        return Err(SourceFault::Control);
    }
    if written.starts_with('-') {
        return Err(SourceFault::Dash);
    }
    // What exists under exactly this name is meant.
    let exact = work_dir.join(written);
    if !written.is_empty() && !written.starts_with(PREFIX) && exact.is_dir() && !is_bare(&exact) {
        return Ok(WrittenSource { place: SourcePlace::Folder(resolved(exact)), digest: None });
    }
    let (source, digest) = split_digest(written)?;
    if source.is_empty() {
        return Err(SourceFault::Empty);
    }
    let place = match source.strip_prefix(PREFIX) {
        Some(name) => SourcePlace::BuiltIn(name.trim_end_matches('/').to_owned()),
        None => SourcePlace::of(source, work_dir)?,
    };
    Ok(WrittenSource { place, digest })
}

fn split_digest(written: &str) -> Result<(&str, Option<String>), SourceFault> {
    let Some((source, digest)) = written.rsplit_once('@') else { return Ok((written, None)) };
    let looks_like_one = digest.contains(':') && !digest.contains('/') && !source.is_empty();
    let algorithm = digest.split(':').next().unwrap_or_default();
    let is_host = algorithm.contains('.') || source.ends_with("ssh://") || !source.contains('/');
    match digest.strip_prefix(DIGEST) {
        Some(digits) if is_digest(digits) => {
            Ok((source, Some(format!("{DIGEST}{}", digits.to_lowercase()))))
        }
        Some(_) => Err(SourceFault::Digest(digest.to_owned())),
        // `git@host:path` has no slash before the host, and a host has a dot in most cases.
        None if looks_like_one && !is_host => Err(SourceFault::Digest(digest.to_owned())),
        None if is_digest(digest) => Err(SourceFault::Digest(digest.to_owned())),
        None => Ok((written, None)),
    }
}

/// Returns whether a text is 64 hexadecimal digits.
pub fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl SourcePlace {
    /// Reads a source without a digest.
    fn of(source: &str, work_dir: &Path) -> Result<Self, SourceFault> {
        let (rest, reference) = match source.rsplit_once('#') {
            Some((rest, reference)) => (rest, Some(reference.to_owned())),
            None => (source, None),
        };
        if let Some(reference) = reference.as_deref().filter(|name| !is_reference(name)) {
            return Err(SourceFault::Reference(reference.to_owned()));
        }
        let git = |address: String, folder: &str| {
            let folder = checked_folder(folder)?;
            Ok(Self::Git(GitPlace { address, folder, reference: reference.clone() }))
        };
        if let Some((scheme, after)) = rest.split_once("://") {
            let scheme = scheme.to_lowercase();
            if !["https", "ssh", "file"].contains(&scheme.as_str()) {
                return Err(SourceFault::Transport(scheme));
            }
            let (host, folder) = after.split_once("//").unwrap_or((after, ""));
            check_host(host, &scheme)?;
            return git(format!("{scheme}://{host}"), folder);
        }
        if let Some((scheme, _)) = rest.split_once("::") {
            return Err(SourceFault::Transport(scheme.to_owned()));
        }
        if is_scp(rest) {
            let (address, folder) = rest.split_once("//").unwrap_or((rest, ""));
            return git(address.to_owned(), folder);
        }
        let (path, folder) = split_repository(rest, work_dir);
        if is_bare(&path) || reference.is_some() || !folder.is_empty() {
            return git(format!("file://{}", resolved(path).display()), &folder);
        }
        Ok(Self::Folder(resolved(path)))
    }

    /// Returns it as `packs.lock` records it, without the reference.
    pub fn recorded(&self) -> String {
        match self {
            Self::BuiltIn(name) => format!("{PREFIX}{name}"),
            Self::Folder(path) => path.display().to_string(),
            Self::Git(GitPlace { address, folder, .. }) if folder.is_empty() => address.clone(),
            Self::Git(GitPlace { address, folder, .. }) => format!("{address}//{folder}"),
        }
    }

    /// Returns it as it can be written on the command line.
    pub fn written(&self) -> String {
        match self {
            Self::Git(GitPlace { reference: Some(reference), .. }) => {
                format!("{}#{reference}", self.recorded())
            }
            _ => self.recorded(),
        }
    }
}

/// Returns a path without `.`, `..` and links, if there is something at it.
fn resolved(path: PathBuf) -> PathBuf {
    std::fs::canonicalize(&path).unwrap_or(path)
}

/// Splits a local path at a `//` before which there is a repository.
fn split_repository(path: &str, work_dir: &Path) -> (PathBuf, String) {
    for (at, _) in path.match_indices("//") {
        let (repository, folder) = (work_dir.join(&path[..at]), &path[at + 2..]);
        if is_bare(&repository) || repository.join(".git").exists() {
            return (repository, folder.to_owned());
        }
    }
    (work_dir.join(path), String::new())
}

/// Returns whether a folder is a repository of git without a working tree.
fn is_bare(path: &Path) -> bool {
    path.join("HEAD").is_file() && path.join("objects").is_dir() && path.join("refs").is_dir()
}

/// Returns whether this is `user@host:path`.
fn is_scp(text: &str) -> bool {
    let Some((host, path)) = text.split_once(':') else { return false };
    let Some((user, name)) = host.split_once('@') else { return false };
    !host.contains('/')
        && !user.is_empty()
        && !name.is_empty()
        && !name.starts_with('-')
        && !path.is_empty()
        && !path.starts_with('-')
}

/// Refuses a host that a program would take for an option, and a password.
fn check_host(after: &str, scheme: &str) -> Result<(), SourceFault> {
    let host = after.split('/').next().unwrap_or_default();
    let (user, name) = host.rsplit_once('@').unwrap_or(("", host));
    if scheme != "file" && name.is_empty() {
        return Err(SourceFault::Empty);
    }
    if name.starts_with('-') || user.starts_with('-') {
        return Err(SourceFault::Dash);
    }
    // A name without a password is common with ssh; with https it is a token.
    if user.contains(':') || scheme == "https" && !user.is_empty() {
        return Err(SourceFault::Password);
    }
    Ok(())
}

fn checked_folder(folder: &str) -> Result<String, SourceFault> {
    let folder = folder.trim_matches('/');
    let is_inside = Path::new(folder)
        .components()
        .all(|part| matches!(part, Component::Normal(name) if name != ".git"));
    if is_inside { Ok(folder.to_owned()) } else { Err(SourceFault::Subfolder(folder.to_owned())) }
}

/// Returns whether this can be the name of a branch or a tag, or a commit: not an option, and not a
/// pattern or a range.
pub fn is_reference(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && !part.ends_with('.')
            && part.strip_suffix(".lock").is_none()
    };
    name.chars().all(|letter| letter.is_alphanumeric() || "._/+-=,".contains(letter))
        && !name.starts_with('-')
        && !name.contains("..")
        && name.split('/').all(is_part)
}

/// Returns a word as a shell reads it.
pub fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:@=#+,~".contains(letter);
    if word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Returns a text with escapes for control characters, and for characters that are not shown or
/// change the direction of the text around them.
pub fn printable(text: &str) -> String {
    let shown = |letter: char| {
        if letter.is_control() || is_invisible(letter) {
            letter.escape_unicode().to_string()
        } else {
            letter.to_string()
        }
    };
    text.chars().map(shown).collect()
}

/// Returns whether a character is not shown, or changes the direction of the text around it.
pub(super) fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGITS: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789ABCDEF";

    fn git(address: &str, folder: &str, reference: Option<&str>) -> SourcePlace {
        SourcePlace::Git(GitPlace {
            address: address.to_owned(),
            folder: folder.to_owned(),
            reference: reference.map(str::to_owned),
        })
    }

    #[test]
    fn every_form_is_read_and_written() {
        let read = |text: &str| parse(text, Path::new("/nowhere")).unwrap();
        let of = |text: &str| read(text).place;
        assert_eq!(of("pack/guards/"), SourcePlace::BuiltIn("guards".to_owned()));
        assert_eq!(of("guards"), SourcePlace::Folder("/nowhere/guards".into()));
        assert_eq!(of("https://a.example/x.git"), git("https://a.example/x.git", "", None));
        let full = "ssh://git@a.example:22/x.git//packs/one#release/v1.2";
        assert_eq!(
            of(full),
            git("ssh://git@a.example:22/x.git", "packs/one", Some("release/v1.2"))
        );
        assert_eq!(of(full).written(), full);
        assert_eq!(of(full).recorded(), "ssh://git@a.example:22/x.git//packs/one");
        assert_eq!(of("git@a.example:x/y.git//z"), git("git@a.example:x/y.git", "z", None));
        assert_eq!(of("file:///x/y.git#v1"), git("file:///x/y.git", "", Some("v1")));
        for source in ["pack/guards", "guards", full, "git@host:x", "https://a.example/x"] {
            let pinned = read(&format!("{source}@sha256:{DIGITS}"));
            assert_eq!(pinned.place, of(source), "{source}");
            assert_eq!(pinned.digest, Some(format!("sha256:{}", DIGITS.to_lowercase())));
        }
    }

    #[test]
    fn what_is_not_allowed_is_named() {
        let fault = |text: &str| parse(text, Path::new("/nowhere")).unwrap_err();
        let transport = |name: &str| SourceFault::Transport(name.to_owned());
        assert_eq!(fault(""), SourceFault::Empty);
        assert_eq!(fault(&format!("@sha256:{DIGITS}")), SourceFault::Empty);
        assert_eq!(fault("--upload-pack=x"), SourceFault::Dash);
        assert_eq!(fault("ssh://-oProxyCommand=x/y"), SourceFault::Dash);
        assert_eq!(fault("ssh://git@-oProxyCommand=x/y"), SourceFault::Dash);
        assert_eq!(fault("https://a/x\n"), SourceFault::Control);
        assert_eq!(fault("ext::sh -c x"), transport("ext"));
        assert_eq!(fault("http://a/x"), transport("http"));
        assert_eq!(fault("git://a/x"), transport("git"));
        assert_eq!(fault("https://me:secret@a/x"), SourceFault::Password);
        assert_eq!(fault("https://token@a/x"), SourceFault::Password);
        for folder in ["../x", "a/../b", ".git/hooks", "a/.git"] {
            let written = format!("https://a/x//{folder}");
            assert_eq!(fault(&written), SourceFault::Subfolder(folder.to_owned()));
        }
        for reference in ["", "-x", "a..b", "a b", "a:b", "refs/heads/*", "x.lock", "/x", "a^"] {
            let written = format!("https://a/x#{reference}");
            assert_eq!(fault(&written), SourceFault::Reference(reference.to_owned()));
        }
        for digest in ["sha256:12", "md5:12", DIGITS] {
            let written = format!("https://a.example/x@{digest}");
            assert_eq!(fault(&written), SourceFault::Digest(digest.to_owned()));
        }
    }

    #[test]
    fn a_word_is_quoted_where_a_shell_would_read_it_otherwise() {
        assert_eq!(
            quoted("https://a.example/x.git//y#v1@sha256:12"),
            "https://a.example/x.git//y#v1@sha256:12"
        );
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's $(x)"), "'it'\\''s $(x)'");
        assert_eq!(quoted("paths=[\"a\"]"), "'paths=[\"a\"]'");
    }

    #[test]
    fn a_local_repository_is_recognised() {
        let scratch = tempfile::tempdir().unwrap();
        let bare = scratch.path().join("a.git");
        std::fs::create_dir_all(bare.join("objects")).unwrap();
        std::fs::create_dir_all(bare.join("refs")).unwrap();
        std::fs::write(bare.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::create_dir_all(scratch.path().join("odd#name")).unwrap();
        let of = |text: &str| parse(text, scratch.path()).unwrap().place;
        let address = format!("file://{}", std::fs::canonicalize(&bare).unwrap().display());
        assert_eq!(of("a.git"), git(&address, "", None));
        assert_eq!(of("./a.git//one/two#v1"), git(&address, "one/two", Some("v1")));
        assert_eq!(of("odd#name"), SourcePlace::Folder(resolved(scratch.path().join("odd#name"))));
    }
}
