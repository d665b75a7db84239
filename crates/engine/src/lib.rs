//! The engine: discovers, plans, runs and composes HOOK.md hooks.
//!
//! # Theory of operation
//!
//! A payload comes from a host. The [`Engine`] decodes it into events ([`anyhook_model::Host`]) and
//! sends each through the same five steps:
//!
//! 1. [`session`] remembers the project root and counts turns and steps;
//! 2. [`discover`] loads the hooks of three levels, [`trust`] decides which of a project's may run;
//! 3. [`plan`] puts them in order and says which are left out and why;
//! 4. [`dispatch`], a state machine without I/O, hands out one hook at a time, takes its result and
//!    composes the verdict; [`run`] does what it asks for;
//! 5. [`journal`] gets a record of everything.
//!
//! The verdict goes back to the host as a [`anyhook_model::Reply`]. A hook that fails is data on
//! the way; there is no path that ends without a reply. Everything is synchronous and the library
//! is silent: it prints nothing, and it reads neither the environment nor `$HOME`; [`Places`] tells
//! it where things are.
//!
//! ```
//! use anyhook_engine::{Engine, Places};
//! use anyhook_model::{Caller, OpenFormat};
//!
//! let scratch = tempfile::tempdir()?;
//! let hook = scratch.path().join("agents/hooks/guard");
//! std::fs::create_dir_all(hook.join("scripts"))?;
//! std::fs::write(hook.join("HOOK.md"), "---\nname: guard\ndescription: no mkfs\ntrigger: before_tool\nmatcher:\n  pattern: mkfs\n---\n")?;
//! std::fs::write(hook.join("scripts/run.sh"), "echo 'not here' >&2; exit 2\n")?;
//!
//! let engine = Engine::new(Places {
//!     managed: "/nowhere".into(),
//!     user: Some(scratch.path().join("agents")),
//!     state: Some(scratch.path().join("state")),
//!     home: None,
//!     binary: None,
//! });
//! let caller = Caller::new(scratch.path(), anyhook_engine::now());
//! let event = br#"{"event_type": "before_tool", "tool_name": "Shell", "tool_input": {"command": "mkfs /dev/sda"}}"#;
//! let reply = engine.dispatch(&OpenFormat, event, &caller, None);
//! assert_eq!(reply.exit_code, 2);
//! assert!(reply.stderr.starts_with("not here"));
//! # Ok::<(), std::io::Error>(())
//! ```

pub mod agent_directives;
pub mod alarms;
mod announce;
pub mod approval;
pub mod atomic_file;
pub mod canary;
pub mod declared_answer;
pub mod definition;
pub mod digest;
pub mod discover;
pub mod dispatch;
pub mod engine;
pub mod failpoints;
pub mod failure_streak;
pub mod file_lock;
pub mod front_matter;
pub mod fuzzing;
pub mod guard_marker;
pub mod hook;
pub mod index;
mod installation;
pub mod journal;
mod last_known;
pub mod matcher;
pub mod output;
pub mod path_forms;
pub mod places;
pub mod plan;
pub mod problem;
pub mod process_name;
pub mod redact;
pub mod regular_file;
mod repository;
pub mod roots;
pub mod run;
pub mod script_check;
pub mod session;
pub mod session_guards;
pub mod settings;
mod summary;
pub mod trust;
pub mod wait;

pub use digest::sha256_hex;
pub use engine::{
    DispatchedEvent, Engine, EventHooks, call_of, changed_call_of, explain, new_id, now,
};
pub use hook::{Hook, Level, Trust};
pub use places::Places;
pub use problem::{Problem, Severity, TextPosition};
