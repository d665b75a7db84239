//! What tests need of the machine, and what happens if it is missing.
//!
//! A test that cannot run fails with `ANYHOOK_STRICT=1`, and otherwise prints `skipped: …` with the
//! reason. Without root, tests that need it run as root of a user namespace: the test program is
//! started again there for that one test.

use std::process::{Command, Output, Stdio};

/// What a test needs of the machine.
#[derive(Clone, Copy, Debug)]
pub enum MachineNeed {
    /// Mounts of its own, as with `unshare --mount`.
    Mounts,
    /// Process ids of its own, as with `unshare --pid --mount-proc`.
    Processes,
    /// Files of several users, and processes that run as them.
    Users,
    /// A terminal for a command, as with `script`.
    Terminals,
    /// This program.
    Program(&'static str),
}

/// Set in a test that runs in a namespace already.
const INSIDE: &str = "ANYHOOK_TEST_INSIDE_NAMESPACE";

/// Where root is available, in order of effort: here, in a namespace with one user, and in one with
/// many, which needs `newuidmap` and a range in `/etc/subuid`.
const PLACES: [&[&str]; 3] = [
    &[],
    &["unshare", "--map-root-user", "--mount"],
    &["unshare", "--map-root-user", "--map-auto", "--mount"],
];

impl MachineNeed {
    /// Returns a command that succeeds if the need is met.
    fn probe(self) -> Vec<&'static str> {
        match self {
            Self::Mounts => vec!["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"],
            Self::Processes => vec!["unshare", "--pid", "--fork", "--mount-proc", "true"],
            Self::Users => {
                vec!["setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups", "true"]
            }
            Self::Terminals => {
                vec!["script", "--quiet", "--return", "--command", "true", "/dev/null"]
            }
            // The programs have no option in common: it is enough that it is found.
            Self::Program(name) => vec!["sh", "-c", "command -v \"$0\"", name],
        }
    }

    /// Returns what is missing.
    fn words(self) -> String {
        match self {
            Self::Mounts => "own mounts (root, or user namespaces)".to_owned(),
            Self::Processes => "own process numbers (root, or user namespaces)".to_owned(),
            Self::Users => {
                "several users (root, or user namespaces with newuidmap and /etc/subuid)".to_owned()
            }
            Self::Terminals => "a terminal (`script` of util-linux)".to_owned(),
            Self::Program(name) => format!("the program {name}"),
        }
    }

    /// Returns whether the need is met in a place.
    fn is_met(self, place: &[&str]) -> bool {
        let words: Vec<&str> = place.iter().copied().chain(self.probe()).collect();
        let mut probe = Command::new(words[0]);
        probe.args(&words[1..]).stdin(Stdio::null());
        probe.output().is_ok_and(|output| output.status.success())
    }
}

/// Returns from the test unless its needs are met: it was skipped, or has run in a namespace.
#[macro_export]
macro_rules! require {
    ($($need:expr),+ $(,)?) => {
        if !$crate::needs::begin(&[$($need),+]) {
            return;
        }
    };
}

/// Returns whether the test continues here. If not, it has run in a namespace, or was skipped.
///
/// Use it through [`require!`](crate::require), first in a test.
///
/// # Panics
///
/// If the test failed in its namespace, and, with `ANYHOOK_STRICT=1`, if a need is not met.
pub fn begin(needs: &[MachineNeed]) -> bool {
    begin_at(needs, std::env::var_os(INSIDE).is_some())
}

fn begin_at(needs: &[MachineNeed], is_inside: bool) -> bool {
    let places = if is_inside { &PLACES[..1] } else { &PLACES };
    for place in places {
        if needs.iter().all(|need| need.is_met(place)) {
            if !place.is_empty() {
                run_again(place, &test_name());
            }
            return place.is_empty();
        }
    }
    let missing = needs.iter().find(|need| places.iter().all(|place| !need.is_met(place)));
    let why = missing
        .map_or_else(|| "not all of its needs are met in one place".into(), |need| need.words());
    // The test must not be skipped inside its namespace: the caller would take it for one that ran.
    assert!(!is_inside, "the namespace lacks {why}");
    skip(&test_name(), &why);
    false
}

/// Reports that a test is skipped, because something is missing; with `ANYHOOK_STRICT=1` it fails.
///
/// # Panics
///
/// With `ANYHOOK_STRICT=1`.
pub fn skip(test: &str, missing: &str) {
    let strict = std::env::var_os("ANYHOOK_STRICT").is_some_and(|strict| strict == "1");
    skip_unless(strict, test, missing);
}

#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
fn skip_unless(strict: bool, test: &str, missing: &str) {
    assert!(!strict, "{test} must not be skipped: missing: {missing}");
    println!("skipped: {test}: missing: {missing}");
}

/// Returns the name of the test that calls this, with its modules.
fn test_name() -> String {
    let arguments: Vec<String> = std::env::args().collect();
    let exact = arguments.windows(2).find(|pair| pair[0] == "--exact");
    // With one thread for all tests, they run in the main thread.
    let thread = std::thread::current();
    let name = thread.name().filter(|name| *name != "main");
    name.or(exact.map(|pair| pair[1].as_str())).expect("tests run in threads of their names").into()
}

/// Runs one test of this program again, through another program.
fn run_again(place: &[&str], test: &str) {
    let output = again(place, test);
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let place = place.join(" ");
    assert!(
        output.status.success() && stdout.contains("test result: ok. 1 passed"),
        "{test} failed by way of `{place}`:\n{stdout}\n{stderr}"
    );
}

fn again(place: &[&str], test: &str) -> Output {
    Command::new(place[0])
        .args(&place[1..])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--include-ignored", "--nocapture"])
        .env(INSIDE, "1")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_missing_is_named() {
        assert!(MachineNeed::Program("sh").is_met(&[]));
        let need = MachineNeed::Program("no-such-program");
        assert!(!need.is_met(&[]));
        assert_eq!(need.words(), "the program no-such-program");
    }

    #[test]
    fn a_skipped_test_may_pass() {
        skip_unless(false, "a test", "the program none");
    }

    #[test]
    #[should_panic(expected = "a test must not be skipped: missing: the program none")]
    fn a_skipped_test_fails_where_all_must_run() {
        skip_unless(true, "a test", "the program none");
    }

    #[test]
    #[should_panic(expected = "the namespace lacks the program no-such-program")]
    fn a_test_in_its_namespace_is_never_skipped() {
        begin_at(&[MachineNeed::Program("no-such-program")], true);
    }

    #[test]
    fn a_test_that_runs_again_runs_to_its_end() {
        if std::env::var_os(INSIDE).is_none() {
            run_again(&["env"], &test_name());
        }
    }

    #[test]
    fn a_test_that_fails_when_it_runs_again_has_failed() {
        assert!(std::env::var_os(INSIDE).is_none(), "on purpose");
        let output = again(&["env"], &test_name());
        assert!(!output.status.success(), "{output:?}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("on purpose"), "{stderr}");
    }

    #[test]
    fn root_of_a_namespace_has_what_root_has() {
        require!(MachineNeed::Mounts, MachineNeed::Users);
        assert!(rustix::process::geteuid().is_root());
        assert!(MachineNeed::Mounts.is_met(&[]) && MachineNeed::Users.is_met(&[]));
    }
}
