//! `anyhook guard native`: what the script of an imported hook runs.

use std::io::{self, Read};

use anyhook_model::exit_code;
use anyhook_setup::SetupError;
use anyhook_setup::import::{ImportError, run};
use serde_json::Value;

use super::EVENT_LIMIT;
use crate::commands::CommandResult;
use crate::environment;
use crate::error::CommandError;
use crate::progress::say_that_we_read;
use crate::ui::{Out, Tone};

pub fn run() -> CommandResult {
    let missing = || CommandError::from(SetupError::from(ImportError::NotAHook));
    let folder = environment::hook_variables().folder.ok_or_else(missing)?;
    say_that_we_read("the agent's payload");
    let mut payload = Vec::new();
    io::stdin().lock().take(EVENT_LIMIT).read_to_end(&mut payload)?;
    let answer = run::answer(&folder, &payload, &environment::native_place());
    let answer = answer.map_err(SetupError::from)?;
    if !answer.is_empty() {
        let mut out = Out::stdout();
        out.line(&[(Tone::Plain, &Value::Object(answer).to_string())])?;
        out.flush()?;
    }
    Ok(exit_code::OK)
}
