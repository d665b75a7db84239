//! The user database: the entry of the user who runs this program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The users of this system.
const FILE: &str = "/etc/passwd";
/// Queries the other user databases, such as LDAP.
const GETENT: &str = "/usr/bin/getent";

/// The entry of a user.
#[derive(Debug, PartialEq, Eq)]
pub struct User {
    /// The login name.
    pub name: String,
    /// The home folder; `None` if it is not an absolute path.
    pub home: Option<PathBuf>,
}

/// Returns the user who runs this program, whatever the environment says.
pub fn user() -> Option<User> {
    let id = rustix::process::getuid().as_raw();
    let local = fs::read_to_string(FILE).ok().and_then(|text| find(&text, id));
    local.or_else(|| {
        let mut getent = Command::new(GETENT);
        getent.args(["passwd", &id.to_string()]).env_clear();
        let told = getent.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
        find(&String::from_utf8_lossy(&told.stdout), id)
    })
}

/// Finds a user in a text like `/etc/passwd`.
fn find(text: &str, id: u32) -> Option<User> {
    text.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let (name, number) = (*fields.first()?, fields.get(2)?);
        let home = fields.get(5).map(Path::new).filter(|home| home.is_absolute());
        let user = User { name: name.to_owned(), home: home.map(Path::to_owned) };
        (number.parse() == Ok(id) && !name.is_empty()).then_some(user)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_its_number() {
        let text = "root:x:0:0:root:/root:/bin/bash\n# not a user\nann:x:1000:1000:Ann,,,:/home/ann:/bin/sh\nodd:x:7:7::relative:/bin/sh\n:x:9:9::/:/bin/sh\nshort:x:10\n";
        let user = |name: &str, home: Option<&str>| {
            Some(User { name: name.to_owned(), home: home.map(PathBuf::from) })
        };
        assert_eq!(find(text, 0), user("root", Some("/root")));
        assert_eq!(find(text, 1000), user("ann", Some("/home/ann")));
        assert_eq!(find(text, 7), user("odd", None));
        assert_eq!(find(text, 10), user("short", None));
        assert_eq!((find(text, 8), find(text, 9)), (None, None));
    }
}
