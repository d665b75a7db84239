//! An event by hand, for `run` and `explain`.

use std::path::PathBuf;

use anyhook_engine::now;
use anyhook_engine::problem::{event_hint, nearest};
use anyhook_hosts::tool;
use anyhook_model::host::HOST_IDS;
use anyhook_model::json::{self, Object};
use anyhook_model::{Caller, Event, EventKind, Host, OpenFormat, ToolCall};
use clap::Args;
use serde_json::Value;

use crate::environment::Environment;
use crate::error::Trouble;

/// The event to fire.
#[derive(Args, Debug)]
pub struct EventArgs {
    /// The event, such as `before_tool` or `pre-tool-call`
    event: String,
    /// The tool's name, on tool events
    #[arg(long, value_name = "T")]
    tool: Option<String>,
    /// The tool's input as a JSON object
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// Further fields of the event as a JSON object, from a file or from standard input (-)
    #[arg(long, value_name = "FILE|-")]
    payload: Option<PathBuf>,
    /// The agent it is to look as if it came from
    #[arg(long, value_name = "H", default_value = "agent-hooks")]
    host: String,
    /// Where the agent is to seem to work
    #[arg(long, value_name = "D")]
    work_dir: Option<PathBuf>,
}

impl EventArgs {
    /// Makes the event.
    pub fn event(&self, environment: &Environment) -> Result<Event, Trouble> {
        let mut fields = self.payload_fields()?;
        let kind = EventKind::in_any_spelling(&self.event)
            .ok_or_else(|| {
                Trouble::usage(format!("unknown event `{}`", self.event))
                    .hint(event_hint(&self.event))
            })?
            .0;
        fields.insert("event_type".to_owned(), kind.to_string().into());
        if let Some(tool) = &self.tool {
            fields.insert("tool_name".to_owned(), tool.as_str().into());
        }
        if let Some(input) = &self.input {
            fields.insert("tool_input".to_owned(), object(input.as_bytes(), "--input")?.into());
        }
        if let Some(work_dir) = &self.work_dir {
            fields.insert("work_dir".to_owned(), work_dir.to_string_lossy().into());
        }
        if !HOST_IDS.contains(&self.host.as_str()) {
            let trouble = Trouble::usage(format!("unknown host `{}`", self.host));
            return Err(match nearest(&self.host, HOST_IDS.into_iter()) {
                Some(near) => trouble.hint(format!("did you mean `{near}`?")),
                None => trouble.hint(format!("known hosts: {}", HOST_IDS.join(", "))),
            });
        }
        let caller = Caller::new(environment.work_dir.clone(), now());
        let decoded = OpenFormat.decode(Value::Object(fields).to_string().as_bytes(), &caller);
        let event = decoded.map_err(|error| Trouble::input(error.to_string()))?.into_iter().next();
        let mut event = event.ok_or_else(|| Trouble::input("the event is empty"))?;
        event.host.clone_from(&self.host);
        if let Some(tool) = &mut event.tool {
            as_in_agent(tool, &self.host);
        }
        Ok(event)
    }

    fn payload_fields(&self) -> Result<Object, Trouble> {
        let Some(path) = &self.payload else { return Ok(Object::new()) };
        if path.as_os_str() == "-" {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut std::io::stdin().lock(), &mut bytes)?;
            return object(&bytes, "standard input");
        }
        let bytes = std::fs::read(path).map_err(|error| {
            Trouble::input(format!("`{}` cannot be read: {error}", path.display()))
                .hint("name a file that holds a JSON object, or - for standard input")
        })?;
        object(&bytes, &format!("`{}`", path.display()))
    }
}

/// Makes a call by an agent's own name of a tool what that agent would make of it.
fn as_in_agent(call: &mut ToolCall, host: &str) {
    let is_told = call.native.is_some() || call.name.is_empty();
    let agents = anyhook_hosts::AGENTS.into_iter();
    let own = agents.clone().filter(|agent| agent.id() == host).chain(agents);
    let named = own.into_iter().find(|agent| {
        agent
            .protocol
            .tools
            .iter()
            .any(|tool| tool.native == call.name && tool.canonical != call.name)
    });
    let Some(agent) = named.filter(|_| !is_told) else { return };
    let (name, input) = (std::mem::take(&mut call.name), call.input.take());
    let use_id = call.use_id.take();
    let files = call.files.take();
    *call = tool::canonical(agent.protocol.tools, agent.other_tools, name, input, use_id);
    if !files.is_null() {
        call.files = files;
    }
}

/// Reads a JSON object; `source` says whose mistake it is if it is none.
fn object(bytes: &[u8], source: &str) -> Result<Object, Trouble> {
    let hint = if source == "--input" {
        "in a shell, put single quotes around it: '{\"command\": \"ls\"}'"
    } else {
        "it holds the event's further fields, such as {\"session_id\": \"one\"}"
    };
    match json::read(bytes) {
        Ok(read) => match read.value {
            Value::Object(fields) => Ok(fields),
            _ => Err(Trouble::input(format!("{source} is not a JSON object")).hint(hint)),
        },
        Err(error) => Err(Trouble::input(format!("{source} is not JSON: {error}")).hint(hint)),
    }
}
