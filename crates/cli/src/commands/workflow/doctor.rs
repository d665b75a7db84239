//! The checks of `anyhook doctor` for the project's workflow.

use anyhook_setup::doctor::SubjectFindings;

use crate::environment::Environment;
use crate::workflow;

/// Checks the project's workflow, if it has one.
pub fn look_at(environment: &Environment, ward: &mut SubjectFindings<'_>) {
    let state = workflow::find(environment).and_then(|project| match project.state()? {
        Some(_) => Ok(Some(project.begun()?)),
        None => Ok(None),
    });
    match state {
        Ok(None) => {}
        Ok(Some(state)) => {
            let at = state.current_stage.map(|stage| format!(" at {stage}")).unwrap_or_default();
            ward.good(format!("{}: {}{at}", state.workflow, state.status.name()));
        }
        Err(trouble) => {
            let hint = trouble.next_step().unwrap_or("anyhook workflow check").to_owned();
            ward.bad(trouble.message(), &hint);
        }
    }
}
