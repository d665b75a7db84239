//! Decodes what our extension in pi sends into events.

use anyhook_model::{Caller, DecodeError, Event};

use super::capabilities::{OTHER_TOOLS, TOOLS};
use crate::common::{Common, PromptSource};
use crate::extension::events;

const COMMON: Common =
    Common { host: "pi", tools: TOOLS, others: OTHER_TOOLS, prompt: PromptSource::Returned };

pub fn decode(bytes: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
    events::decode(&COMMON, bytes, caller)
}
