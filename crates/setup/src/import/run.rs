//! What the script of an imported hook does: it runs the agent's command as the agent did, with the
//! agent's payload, and says in the open format what the agent made of the output.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhook_engine::dispatch::RunResult;
use anyhook_engine::matcher::Expression;
use anyhook_engine::now;
use anyhook_engine::places::nearest_existing;
use anyhook_engine::run::{ProcessCommand, ProcessRunner};
use anyhook_hosts::HostSpec;
use anyhook_hosts::native_hooks::{
    self, MatcherForm, NativeAnswer, NativeCommand, NativeEvent, NativeFormat, NativeOutcome,
    NativeProgram, StartFolder,
};
use anyhook_model::json::{Object, merge};
use anyhook_model::{Caller, Effect, Event, EventKind, Host, RunOutcome};
use serde_json::Value;

use super::ImportError;
use super::definition::NativeDefinition;

/// How much longer than the agent's command its script may take, in milliseconds.
pub const START_MS: u64 = 1_000;

/// Returns how long a command may take at an event, in milliseconds: the agent waits for us, too.
pub fn longest_ms(agent: &HostSpec, event: &NativeEvent) -> u64 {
    agent.limit_ms(&event.kind).saturating_sub(START_MS).max(START_MS)
}

/// The fields of payloads with the name of a tool, and with its input.
const TOOL_NAMES: [&str; 2] = ["tool_name", "toolName"];
const TOOL_INPUTS: [&str; 2] = ["tool_input", "toolArgs"];

/// What the caller knows about where the hook runs.
#[derive(Clone, Debug, Default)]
pub struct RunPlace {
    /// The home folder.
    pub home: Option<PathBuf>,
    /// The project's folder.
    pub project: PathBuf,
    /// The user's shell.
    pub shell: Option<OsString>,
}

/// Returns an expression that is searched for. The error says why it is none.
pub(super) fn expression(text: &str) -> Result<Expression, String> {
    Expression::anywhere(text)
}

/// Answers a payload as the imported hook in a folder; an empty object says nothing.
pub fn answer(folder: &Path, payload: &[u8], place: &RunPlace) -> Result<Object, ImportError> {
    let definition = NativeDefinition::read(folder)?.ok_or(ImportError::NotAHook)?;
    let unknown = || ImportError::UnknownFormat(definition.host.clone());
    let format = native_hooks::find(&definition.host).ok_or_else(unknown)?;
    let agent = anyhook_hosts::find(&definition.host).ok_or_else(unknown)?;
    let event = format.event(&definition.event).ok_or_else(unknown)?;
    let Some(given) = GivenPayload::read(agent, format, event, payload, place)? else {
        return Ok(Object::new());
    };
    let is_meant = |matcher: Option<&str>| matches(format, event, matcher, &given.fields);
    if !definition.entries.iter().any(|entry| is_meant(entry.matcher.as_deref())) {
        return Ok(Object::new());
    }
    let handler = definition.entries[0].handler.as_object().cloned().unwrap_or_default();
    let command = (format.command)(event, &handler).map_err(ImportError::Failed)?;
    let folder = start_folder(format, &definition, &command, &given, place);
    let limit = Duration::from_millis(command.timeout_ms.min(longest_ms(agent, event)));
    let ended = run(&command, &given.text, folder, limit, place)?;
    let outcome = NativeOutcome {
        code: ended.outcome.exit_code(),
        stdout: &ended.stdout,
        stderr: &ended.stderr,
    };
    let mut answer = (format.answer)(event, &outcome);
    if let Some(why) = answer.failure {
        return Err(ImportError::Failed(why));
    }
    let (tool, before) = given.call();
    if !given.can_change(agent, &answer.to_json(agent.protocol, tool, &before)) {
        given.drop_change(&mut answer);
    }
    Ok(answer.to_json(agent.protocol, tool, &before))
}

/// A payload as the hook is given it.
struct GivenPayload {
    /// Its text.
    text: String,
    /// Its fields.
    fields: Object,
    /// What it is to us.
    events: Vec<Event>,
}

impl GivenPayload {
    /// Reads a payload; `None` if it is about another event than the hook's.
    fn read(
        agent: &HostSpec,
        format: &NativeFormat,
        event: &NativeEvent,
        payload: &[u8],
        place: &RunPlace,
    ) -> Result<Option<Self>, ImportError> {
        let unreadable = |why: String| ImportError::Payload(why);
        let caller = Caller::new(&place.project, now());
        let events = agent.protocol.decode(payload, &caller);
        let events = events.map_err(|error| unreadable(error.to_string()))?;
        let native = events.first().and_then(|event| event.native_name.as_deref());
        if native != Some(event.asked_as) && native != Some(event.name) {
            return Ok(None);
        }
        let sent: Object =
            serde_json::from_slice(payload).map_err(|error| unreadable(error.to_string()))?;
        let is_own = native == Some(event.name);
        let fields = if is_own { sent.clone() } else { (format.payload)(event, sent.clone()) };
        // What was sent is passed on as it is, unless this hook is given something else.
        let text = if fields == sent {
            String::from_utf8_lossy(payload).into_owned()
        } else {
            Value::Object(fields.clone()).to_string()
        };
        Ok(Some(Self { text, fields, events }))
    }

    /// Returns the tool's name and input, as the agent has them.
    fn call(&self) -> (&str, Object) {
        let tool = TOOL_NAMES.into_iter().find_map(|key| self.fields.get(key)?.as_str());
        let input = TOOL_INPUTS.into_iter().find_map(|key| self.fields.get(key)?.as_object());
        (tool.unwrap_or_default(), input.cloned().unwrap_or_default())
    }

    /// Returns whether the agent can be told of the changed input in an answer, if there is one.
    fn can_change(&self, agent: &HostSpec, answer: &Object) -> bool {
        let Some(change) = answer.get("modified_input").and_then(Value::as_object) else {
            return true;
        };
        let [event] = self.events.as_slice() else { return false };
        let Some(tool) = event.tool.as_ref().filter(|tool| tool.fixed.is_none()) else {
            return false;
        };
        let mut changed = tool.input.as_object().cloned().unwrap_or_default();
        merge(&mut changed, change);
        let rows = agent.protocol.capabilities;
        rows.iter().any(|row| row.event == event.kind && row.modify)
            && agent.protocol.native_input(tool, &changed).is_ok()
    }

    /// Drops a changed input that the agent cannot be told of: the unchanged one must not pass.
    fn drop_change(&self, answer: &mut NativeAnswer) {
        if self.events.iter().any(|event| event.kind == EventKind::BeforeTool) {
            let tool = self.call().0;
            answer.refuse(format!(
                "the hook changes the input of {tool} in a way that anyhook cannot pass on"
            ));
            return;
        }
        // A permission is for the changed input alone: the person decides.
        answer.input = None;
        if answer.effect == Some(Effect::Allow) {
            answer.effect = None;
            answer.reason = None;
        }
    }
}

/// Returns whether an agent's matcher matches a payload.
fn matches(
    format: &NativeFormat,
    event: &NativeEvent,
    matcher: Option<&str>,
    payload: &Object,
) -> bool {
    let (Some(matcher), Some(targets)) = (matcher, format.targets(event, payload)) else {
        return true;
    };
    let is_found = |text: &str| {
        // One that cannot be read is not imported; if it was changed since, the hook runs.
        expression(text).map_or(true, |found| targets.iter().any(|target| found.is_match(target)))
    };
    match (format.matcher)(event, matcher) {
        MatcherForm::Every => true,
        MatcherForm::Names(names) => {
            targets.iter().any(|target| names.iter().any(|name| name == target))
        }
        MatcherForm::Search(text) => is_found(&text),
        MatcherForm::Whole(text) => is_found(&format!("^(?:{text})$")),
    }
}

/// Returns the folder in which the agent starts the command.
fn start_folder(
    format: &NativeFormat,
    definition: &NativeDefinition,
    command: &NativeCommand,
    given: &GivenPayload,
    place: &RunPlace,
) -> PathBuf {
    let session =
        || given.events.first().map_or(place.project.clone(), |event| event.work_dir.clone());
    let folder = match (format.starts_in, &command.folder) {
        (_, Some(folder)) => session().join(folder),
        (StartFolder::Session, None) => session(),
        (StartFolder::OfSettings(_), None) if definition.project => place.project.clone(),
        (StartFolder::OfSettings(inner), None) => {
            place.home.as_ref().map_or_else(session, |home| home.join(inner))
        }
    };
    nearest_existing(&folder)
}

/// Runs the command. No agent takes a late hook for one that failed.
fn run(
    command: &NativeCommand,
    payload: &str,
    folder: PathBuf,
    limit: Duration,
    place: &RunPlace,
) -> Result<RunResult, ImportError> {
    let (program, arguments) = program(&command.program, place);
    let variables = command.variables.iter();
    let variables = variables.map(|(name, value)| (name.into(), value.into())).collect();
    let process = ProcessCommand::of_program(program, arguments, folder, variables);
    let ended = ProcessRunner::default().run(&process, payload, limit);
    match ended.outcome {
        RunOutcome::TimedOut(_) | RunOutcome::Interrupted(_) | RunOutcome::Cancelled => {
            Err(ImportError::Failed(ended.outcome.to_string()))
        }
        _ => Ok(ended),
    }
}

fn program(program: &NativeProgram, place: &RunPlace) -> (OsString, Vec<OsString>) {
    match program {
        NativeProgram::Shell { shell: Some(shell), line } => {
            (OsString::from(shell), vec!["-c".into(), line.into()])
        }
        // That of the user is a login shell.
        NativeProgram::Shell { shell: None, line } => {
            let shell = place.shell.clone().unwrap_or_else(|| "/bin/sh".into());
            (shell, vec!["-lc".into(), line.into()])
        }
        NativeProgram::Program(words) => {
            let project = place.project.to_string_lossy();
            let filled = |word: &String| -> OsString {
                word.replace("${CLAUDE_PROJECT_DIR}", &project).into()
            };
            let mut words = words.iter().map(filled);
            (words.next().unwrap_or_default(), words.collect())
        }
    }
}
