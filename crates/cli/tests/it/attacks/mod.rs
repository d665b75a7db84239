//! Attacks on guards: each row is an attempt to get past one, and what comes of it.
//!
//! Every class has a file of its own that lists its attempts. A test a class runs them all against
//! the real program and compares what it saw with `docs/reference/attacks.md` (`page.rs`). Each
//! attempt first makes sure that the guard is there and that a harmless call passes (`attack_fixture.rs`), so
//! that nothing is stopped by accident.
//!
//! A row whose defence is still missing is named in `pending/CLASS`, which keeps it out of the page
//! and out of the count; with `ANYHOOK_UPDATE_ATTACKS=1` these are tried, too, and leave that list
//! when they hold.

mod answers;
mod attack_fixture;
mod commands;
mod deadline;
mod environment;
mod hooks;
mod index;
mod killed;
mod loading;
mod page;
mod paths;
mod payloads;
mod pending;
mod promises;
mod repository;
mod roots;
mod session;
mod settings;
mod state;
mod tools;
mod trust;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::require;

/// How an attempt ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The guard ran and denied the call.
    Denied,
    /// anyhook refused: the payload, the command, or to run what nobody trusted.
    Refused,
    /// The guard could not decide, and `on_failure: block` did.
    Blocked,
    /// It happens, and a person or the model is told at once.
    Told,
    /// It happens, and this finds it.
    Detected(&'static str),
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied => formatter.write_str("denied"),
            Self::Refused => formatter.write_str("refused"),
            Self::Blocked => formatter.write_str("blocked by `on_failure`"),
            Self::Told => formatter.write_str("told"),
            Self::Detected(how) => write!(formatter, "cannot be prevented: detected by {how}"),
        }
    }
}

/// What an attempt came to, or what went wrong instead.
pub type Seen = Result<Outcome, String>;

/// One row.
pub struct Attempt {
    /// The attempt in one sentence.
    pub what: String,
    /// How it is done, in short.
    pub how: String,
    /// What must come of it.
    pub expected: Outcome,
    /// Whether it takes root.
    needs_root: bool,
    run: Box<dyn FnOnce() -> Seen + Send>,
}

impl Attempt {
    /// Says that the attempt plays another user, or needs process numbers of its own.
    pub fn only_as_root(mut self) -> Self {
        self.needs_root = true;
        self
    }

    pub fn new(
        what: impl Into<String>,
        how: impl Into<String>,
        expected: Outcome,
        run: impl FnOnce() -> Seen + Send + 'static,
    ) -> Self {
        Self { what: what.into(), how: how.into(), expected, needs_root: false, run: Box::new(run) }
    }
}

/// A class of attacks.
pub struct Class {
    pub name: &'static str,
    /// What an attacker wants there.
    pub about: &'static str,
    list: fn() -> Vec<Attempt>,
}

/// All of them, in the order of the page.
pub const CLASSES: [Class; 17] = [
    Class { name: "payloads", about: "make an event hard to read", list: payloads::list },
    Class { name: "paths", about: "name a protected file by another path", list: paths::list },
    Class { name: "tools", about: "do the same by another tool", list: tools::list },
    Class { name: "answers", about: "lose a guard's deny on its way", list: answers::list },
    Class { name: "loading", about: "keep a guard from being loaded", list: loading::list },
    Class { name: "hooks", about: "make a guard fail, hang or vanish", list: hooks::list },
    Class { name: "index", about: "have an old or false index answer", list: index::list },
    Class { name: "trust", about: "change what was trusted", list: trust::list },
    Class { name: "state", about: "break the state folder", list: state::list },
    Class { name: "repository", about: "send odd files with a repository", list: repository::list },
    Class {
        name: "settings",
        about: "switch hooks off in an agent's settings",
        list: settings::list,
    },
    Class {
        name: "environment",
        about: "replace a guard's code by variables",
        list: environment::list,
    },
    Class { name: "deadline", about: "keep the answer from arriving", list: deadline::list },
    Class { name: "killed", about: "end or remove the engine itself", list: killed::list },
    Class {
        name: "commands",
        about: "loosen guards by command, as an agent",
        list: commands::list,
    },
    Class {
        name: "session",
        about: "weaken a guard in the middle of a session",
        list: session::list,
    },
    Class { name: "roots", about: "move the project away from its guards", list: roots::list },
];

/// So many attempts run at once: some only wait.
const AT_ONCE: usize = 4;

/// Runs a class and compares it with the page.
fn check(name: &str) {
    let class = CLASSES.iter().find(|class| class.name == name).unwrap();
    let (pending, attempts): (Vec<_>, Vec<_>) =
        (class.list)().into_iter().partition(|attempt| pending::has(name, attempt));
    if attempts.iter().any(|attempt| attempt.needs_root) {
        require!(MachineNeed::Users, MachineNeed::Processes);
    }
    let mut rows: Vec<page::Row> = attempts.iter().map(page::Row::new).collect();
    let count = rows.len();
    let mut wrong = run_all(attempts);
    if page::updates() {
        let tried: Vec<(String, page::Row)> = pending
            .iter()
            .map(|attempt| (pending::line(attempt), page::Row::new(attempt)))
            .collect();
        let still = run_all(pending);
        let is_still = |number: usize| still.iter().any(|(other, _)| *other == number);
        let (open, held): (Vec<_>, Vec<_>) =
            tried.into_iter().enumerate().partition(|(number, _)| is_still(*number));
        rows.extend(held.into_iter().map(|(_, (_, row))| row));
        let mut lines: Vec<String> = open.into_iter().map(|(_, (line, _))| line).collect();
        if pending::takes_more() {
            let list = (class.list)();
            let old: Vec<_> = list.iter().filter(|attempt| !pending::has(name, attempt)).collect();
            for (number, why) in wrong.drain(..) {
                println!("pending: {why}");
                lines.push(pending::line(old[number]));
                rows.retain(|row| *row != page::Row::new(old[number]));
            }
        }
        pending::write(name, &lines);
        // In the order of the list.
        let order: Vec<page::Row> = (class.list)().iter().map(page::Row::new).collect();
        rows.sort_by_key(|row| order.iter().position(|other| other == row));
        for (_, why) in still {
            println!("pending: {why}");
        }
    }
    let wrong: Vec<String> = wrong.into_iter().map(|(_, line)| line).collect();
    assert!(
        wrong.is_empty(),
        "{} of {count} attempts did not end as they must:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    page::compare(class, &rows);
}

/// Runs attempts and says of which the outcome is another than expected, by their numbers.
fn run_all(attempts: Vec<Attempt>) -> Vec<(usize, String)> {
    let queue = Mutex::new(attempts.into_iter().enumerate());
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap().next();
                    let Some((number, attempt)) = next else { return };
                    // One that panics is wrong, and the others are still run.
                    let seen = catch_unwind(AssertUnwindSafe(attempt.run))
                        .unwrap_or_else(|_| Err("it panicked, see above".to_owned()));
                    let seen = match seen {
                        Ok(outcome) if outcome == attempt.expected => continue,
                        Ok(outcome) => outcome.to_string(),
                        Err(why) => why,
                    };
                    let line = format!(
                        "- {} ({}): must be {}, but: {seen}",
                        attempt.what, attempt.how, attempt.expected
                    );
                    wrong.lock().unwrap().push((number, line));
                }
            });
        }
    });
    let mut wrong = wrong.into_inner().unwrap();
    wrong.sort();
    wrong
}

macro_rules! classes {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                check(stringify!($name));
            }
        )*

        #[test]
        fn every_class_has_a_test() {
            assert_eq!(CLASSES.map(|class| class.name), [$(stringify!($name)),*]);
        }
    };
}

classes! {
    payloads paths tools answers loading hooks index trust state repository settings environment
    deadline killed commands session roots
}

#[test]
fn there_are_at_least_three_hundred_and_no_two_are_the_same() {
    let mut rows: Vec<(String, String, String)> = CLASSES
        .iter()
        .flat_map(|class| {
            let attempts = (class.list)();
            attempts
                .into_iter()
                .filter(|attempt| !pending::has(class.name, attempt))
                .map(|attempt| (class.name.to_owned(), attempt.what, attempt.how))
        })
        .collect();
    let all = rows.len();
    rows.sort();
    rows.dedup();
    assert_eq!(rows.len(), all, "two rows are the same attempt");
    assert!(all >= 300, "{all}");
}

#[test]
fn a_row_that_comes_out_otherwise_is_named() {
    let attempt = |expected, seen: Seen| Attempt::new("An attempt", "so", expected, move || seen);
    let wrong = run_all(vec![
        attempt(Outcome::Denied, Ok(Outcome::Denied)),
        attempt(Outcome::Denied, Ok(Outcome::Told)),
        attempt(Outcome::Refused, Err("it passed".to_owned())),
        Attempt::new("A panic", "so", Outcome::Denied, || panic!("on purpose")),
    ]);
    let wrong: Vec<String> = wrong.into_iter().map(|(_, line)| line).collect();
    assert_eq!(
        wrong,
        [
            "- An attempt (so): must be denied, but: told",
            "- An attempt (so): must be refused, but: it passed",
            "- A panic (so): must be denied, but: it panicked, see above",
        ]
    );
}
