//! Things named on the command line by the beginning of an id.

use crate::error::Trouble;

/// Finds the one thing whose id is `id`, or else the one that `begins` with it.
pub fn one_of<'all, T>(
    all: &'all [T],
    what: &str,
    id: &str,
    name: impl Fn(&T) -> &str,
    begins: impl Fn(&T) -> bool,
) -> Result<&'all T, Trouble> {
    // One that is given in full is meant, even if it begins another.
    if let Some(found) = all.iter().find(|thing| name(thing) == id) {
        return Ok(found);
    }
    let found: Vec<&T> = all.iter().filter(|thing| !id.is_empty() && begins(thing)).collect();
    match found[..] {
        [thing] => Ok(thing),
        [] => Err(Trouble::input(format!("there is no {what} `{id}`"))
            .hint(format!("anyhook {what} list --all"))),
        _ => {
            let names: Vec<&str> = found.into_iter().map(name).collect();
            Err(Trouble::input(format!("several {what}s begin with `{id}`: {}", names.join(", ")))
                .hint("write more of the id"))
        }
    }
}
