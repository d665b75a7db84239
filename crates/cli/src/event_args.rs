//! The arguments that describe an event by hand, for `run` and `explain`.

use std::path::PathBuf;

use anyhook_engine::now;
use anyhook_engine::problem::{event_hint, nearest};
use anyhook_hosts::tool;
use anyhook_model::host::HOST_IDS;
use anyhook_model::json::{self, Object};
use anyhook_model::{Caller, Event, EventKind, Host, OpenFormat, ToolCall, tools};
use clap::Args;
use serde_json::Value;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::progress::say_that_we_read;
use crate::ui::Out;

/// The event that a command or a path alone stands for.
const BEFORE_TOOL: &str = "before_tool";

/// The event to fire.
#[derive(Args, Debug)]
pub struct EventArgs {
    /// The event, such as `before_tool` or `pre-tool-call`; `before_tool` with --command or --path
    #[arg(required_unless_present_any = ["command", "path"])]
    event: Option<String>,
    /// The command that the agent would run: short for --tool Shell with this input
    #[arg(long, value_name = "CMD", conflicts_with_all = ["tool", "input", "path"])]
    command: Option<String>,
    /// The file that the agent would change: short for --tool `EditFile` with this input, or for the
    /// tool that --tool names, such as `ReadFile` or `WriteFile`
    #[arg(long, value_name = "FILE", conflicts_with = "input")]
    path: Option<String>,
    /// The tool's name, for tool events
    #[arg(long, value_name = "T")]
    tool: Option<String>,
    /// The tool's input as a JSON object
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// Additional event fields as a JSON object, from a file or standard input (-)
    #[arg(long, value_name = "FILE|-")]
    payload: Option<PathBuf>,
    /// Pretend the event came from this agent
    #[arg(long, value_name = "H", default_value = "agent-hooks")]
    host: String,
    /// Pretend the agent works in this folder
    #[arg(long, value_name = "D")]
    work_dir: Option<PathBuf>,
}

impl EventArgs {
    /// Builds the event.
    pub fn event(&self, environment: &Environment) -> Result<Event, CommandError> {
        let mut fields = self.payload_fields()?;
        let name = self.event.as_deref().unwrap_or(BEFORE_TOOL);
        let kind = EventKind::in_any_spelling(name)
            .ok_or_else(|| {
                CommandError::usage(format!("unknown event `{name}`")).hint(event_hint(name))
            })?
            .0;
        fields.insert("event_type".to_owned(), kind.to_string().into());
        if let Some(tool) = self.tool_name(&kind)? {
            fields.insert("tool_name".to_owned(), tool.into());
        }
        if let Some(input) = self.tool_input()? {
            fields.insert("tool_input".to_owned(), input.into());
        }
        if let Some(work_dir) = &self.work_dir {
            fields.insert("work_dir".to_owned(), work_dir.to_string_lossy().into());
        }
        if !HOST_IDS.contains(&self.host.as_str()) {
            let trouble = CommandError::usage(format!("unknown host `{}`", self.host));
            return Err(match nearest(&self.host, HOST_IDS.into_iter()) {
                Some(near) => trouble.hint(format!("did you mean `{near}`?")),
                None => trouble.hint(format!("known hosts: {}", HOST_IDS.join(", "))),
            });
        }
        let caller = Caller::new(environment.work_dir.clone(), now());
        let decoded = OpenFormat.decode(Value::Object(fields).to_string().as_bytes(), &caller);
        let event =
            decoded.map_err(|error| CommandError::input(error.to_string()))?.into_iter().next();
        let mut event = event.ok_or_else(|| CommandError::input("the event is empty"))?;
        event.host.clone_from(&self.host);
        if let Some(tool) = &mut event.tool {
            as_in_agent(tool, &self.host);
        }
        if let Some(hint) = self.tool.as_deref().and_then(tool_hint) {
            Out::stderr().hint(&hint)?;
        }
        Ok(event)
    }

    /// Returns the tool that is named, or implied by the given input.
    fn tool_name(&self, kind: &EventKind) -> Result<Option<&str>, CommandError> {
        let (option, usual) = match (&self.command, &self.path) {
            (Some(_), _) => ("--command", "Shell"),
            (None, Some(_)) => ("--path", "EditFile"),
            (None, None) => return Ok(self.tool.as_deref()),
        };
        let is_of_tool = matches!(
            kind,
            EventKind::BeforeTool
                | EventKind::AfterTool
                | EventKind::AfterToolFailure
                | EventKind::PermissionRequest
        );
        if !is_of_tool {
            return Err(CommandError::usage(format!(
                "{option} only applies to tool events, and `{kind}` is not one"
            ))
            .hint(format!("anyhook run before_tool {option} …")));
        }
        Ok(Some(self.tool.as_deref().unwrap_or(usual)))
    }

    fn tool_input(&self) -> Result<Option<Object>, CommandError> {
        let single = |field: &str, value: &str| {
            Some(Object::from_iter([(field.to_owned(), Value::from(value))]))
        };
        Ok(match (&self.command, &self.path, &self.input) {
            (Some(command), _, _) => single("command", command),
            (None, Some(path), _) => single("path", path),
            (None, None, Some(input)) => Some(object(input.as_bytes(), "--input")?),
            (None, None, None) => None,
        })
    }

    fn payload_fields(&self) -> Result<Object, CommandError> {
        let Some(path) = &self.payload else { return Ok(Object::new()) };
        if path.as_os_str() == "-" {
            say_that_we_read("additional event fields");
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut std::io::stdin().lock(), &mut bytes)?;
            return object(&bytes, "standard input");
        }
        let bytes = std::fs::read(path).map_err(|error| {
            CommandError::input(format!("`{}` cannot be read: {error}", path.display()))
                .hint("pass a file with a JSON object, or - for standard input")
        })?;
        object(&bytes, &format!("`{}`", path.display()))
    }
}

/// Returns a hint about what hooks see, for a tool that was named as the agent names it, or
/// wrongly.
fn tool_hint(named: &str) -> Option<String> {
    let Some(tool) = tools::find(named) else {
        let near = nearest(named, tools::TOOLS.iter().map(|tool| tool.name))?;
        return Some(format!("no agent has a tool named `{named}`; did you mean `{near}`?"));
    };
    if tool.name == named {
        return None;
    }
    let of_agents = tool.names.iter().chain(tool.special);
    let agents = of_agents.into_iter().find(|(own, _)| *own == named).map(|(_, agents)| *agents);
    Some(match agents {
        Some(agents) => format!("`{named}` is the name in {agents}; hooks see `{}`", tool.name),
        None => format!("the tool's name is `{}`", tool.name),
    })
}

/// Converts a call that uses an agent's own tool name as that agent's adapter would.
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

/// Reads a JSON object; `source` says where invalid input came from.
fn object(bytes: &[u8], source: &str) -> Result<Object, CommandError> {
    let hint = if source == "--input" {
        "in a shell, put single quotes around it: '{\"command\": \"ls\"}'"
    } else {
        "it must contain additional event fields, such as {\"session_id\": \"one\"}"
    };
    match json::read(bytes) {
        Ok(read) => match read.value {
            Value::Object(fields) => Ok(fields),
            _ => Err(CommandError::input(format!("{source} is not a JSON object")).hint(hint)),
        },
        Err(error) => Err(CommandError::input(format!("{source} is not JSON: {error}")).hint(hint)),
    }
}
