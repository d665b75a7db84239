//! A build without the feature `workflow`: its commands exist, and print how to get them.

#![cfg_attr(
    feature = "workflow",
    allow(dead_code, unused_imports, reason = "compiled for its test alone")
)]

use std::borrow::Cow;
use std::ffi::OsString;

use anyhook_setup::doctor::SubjectFindings;
use clap::Args;

use super::CommandResult;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::ui::Out;

/// What is missing, as it is reported.
const MISSING: &str = "this build of anyhook has no workflows";
/// How to get it.
const HOW: &str = "packages have them; from source: cargo build --release --features full";

/// Not in this build: it was made without the feature `workflow`
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct MissingArgs {
    /// Whatever the command takes in a build that has it
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    arguments: Vec<OsString>,
}

fn missing() -> CommandError {
    CommandError::usage(MISSING).hint(HOW)
}

pub mod workflow {
    use anyhook_engine::places::PROJECT_LEVEL;

    use super::{CommandResult, Cow, Environment, HOW, MISSING, Out, SubjectFindings};

    pub use super::MissingArgs as WorkflowArgs;

    pub fn run(_: WorkflowArgs, _: &Environment, _: &mut Out) -> CommandResult {
        Err(super::missing())
    }

    /// There are none without workflows.
    pub fn schemas() -> Vec<(&'static str, Cow<'static, str>)> {
        Vec::new()
    }

    /// The daemon starts it after a workflow's event; only another build can have caused one.
    pub fn watch_gates() {}

    /// A project that has a workflow is not guarded by it, and no one is asked at its gates.
    pub fn look_at(environment: &Environment, ward: &mut SubjectFindings<'_>) {
        let file = environment.project_root().join(PROJECT_LEVEL).join("workflow.toml");
        if file.exists() {
            ward.bad(format!("{MISSING}, and this project has one: its gates do not work"), HOW);
        } else {
            ward.note(format!("{MISSING} (feature `workflow`); {HOW}"));
        }
    }
}

pub mod context7 {
    use super::{CommandResult, Environment, Out};

    pub use super::MissingArgs as Context7Args;

    pub fn run(_: &Context7Args, _: &Environment, _: &mut Out) -> CommandResult {
        Err(super::missing())
    }
}

pub mod review {
    pub use super::MissingArgs as ReviewArgs;
    pub use super::context7::run;
}

pub mod guard {
    use std::time::Duration;

    use super::{CommandResult, Environment};

    /// A guard that cannot check fails: its hook defines what follows from that.
    pub fn run(_: Option<Duration>, _: &Environment) -> CommandResult {
        Err(super::missing())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct ParsedLine {
        #[command(flatten)]
        missing: MissingArgs,
    }

    #[test]
    fn whatever_is_typed_is_answered_with_how_to_get_it() {
        for line in ["workflow", "workflow status --json", "workflow --help", "context7 -x a"] {
            let typed = ParsedLine::try_parse_from(line.split(' '));
            assert!(typed.is_ok(), "{line}: {}", typed.err().unwrap());
        }
        let error = missing();
        assert_eq!(error.message(), "this build of anyhook has no workflows");
        assert!(error.next_step().unwrap().contains("--features full"));
    }
}
