//! A canary: an event that is sent in an agent's place through the very line that its settings name,
//! to which the answer must be the agent's own form of a denial. No command is ever run.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhook_engine::canary::Announcement;
use anyhook_engine::now;
use anyhook_engine::wait::try_poll_until;
use anyhook_hosts::HostSpec;
use anyhook_model::{Caller, Effect, Event, EventKind, Host, Verdict};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Stands for the reason of a denial, which may be any text.
const REASON: &str = "the reason of a denial";

/// A canary of one event.
#[derive(Debug)]
pub struct Canary<'canary> {
    /// The agent in whose place it is sent.
    pub agent: &'static HostSpec,
    /// The agent's name for the event.
    pub native_name: &'canary str,
    /// The command that the agent would run.
    pub command: &'canary str,
    /// The folder in which it would run.
    pub work_dir: &'canary Path,
    /// The reason that the denial gives, if that is known. Some agents take a denial after a tool as
    /// text, as they take warnings: there it is told by this reason.
    pub reason: Option<&'canary str>,
}

/// What a program answered.
#[derive(Clone, Debug, Default)]
struct Answer {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Canary<'_> {
    /// Returns which event it is; `None` if it cannot be made.
    pub fn kind(&self) -> Option<EventKind> {
        Some(self.event(&self.payload("")).ok()?.kind)
    }

    /// Sends it through a command line; the error says why the answer is no denial.
    pub fn send(&self, line: &str, state: &Path) -> Result<(), String> {
        let announced = Announcement::canary(state);
        let (session, _announcement) =
            announced.map_err(|error| format!("it cannot be announced: {error}"))?;
        let payload = self.payload(&session);
        let answer = self.ask(line, &payload).map_err(|error| error.to_string())?;
        let event = self.event(&payload)?;
        if self.is_denial(&event, &answer) { Ok(()) } else { Err(answer.words()) }
    }

    fn payload(&self, session: &str) -> Vec<u8> {
        self.agent.shell_payload_at(self.native_name, self.command, session, self.work_dir)
    }

    fn event(&self, payload: &[u8]) -> Result<Event, String> {
        let caller = Caller::new(self.work_dir, now());
        let events = self.agent.protocol.decode(payload, &caller).map_err(|it| it.to_string())?;
        events.into_iter().next().ok_or_else(|| "it is no event".to_owned())
    }

    fn ask(&self, line: &str, payload: &[u8]) -> std::io::Result<Answer> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]).current_dir(self.work_dir).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(variable) = self.agent.protocol.project_variables.first() {
            command.env(variable, self.work_dir);
        }
        let mut child = command.spawn()?;
        // One that does not read it is not an answer, which its output shows.
        let _ = child.stdin.take().map(|mut stdin| stdin.write_all(payload));
        let limit = Instant::now() + PATIENCE;
        let ended = try_poll_until(limit, Duration::from_millis(1), || child.try_wait())?;
        let Some(status) = ended else {
            end(&mut child);
            return Ok(Answer::default());
        };
        Ok(Answer {
            code: status.code(),
            stdout: text(child.stdout.take()),
            stderr: text(child.stderr.take()),
        })
    }

    /// Returns whether this is how the agent is told that a call is denied, for whatever reason.
    fn is_denial(&self, event: &Event, answer: &Answer) -> bool {
        let deny = Verdict {
            effect: Some(Effect::Deny),
            reason: Some(REASON.to_owned()),
            ..Verdict::default()
        };
        let expected = self.agent.protocol.encode(event, &deny);
        let is_like = |code: Option<i32>, stdout: &str, stderr: &str| {
            code == Some(i32::from(expected.exit_code))
                && is_text_like(&expected.stdout, stdout)
                && is_text_like(&expected.stderr, stderr)
        };
        let warn = Verdict { warnings: vec![REASON.to_owned()], ..Verdict::default() };
        let warning = self.agent.protocol.encode(event, &warn);
        let looks_like_a_warning =
            is_like(Some(i32::from(warning.exit_code)), &warning.stdout, &warning.stderr);
        let gives_reason = || {
            self.reason.is_some_and(|reason| {
                answer.stdout.contains(reason) || answer.stderr.contains(reason)
            })
        };
        is_like(answer.code, &answer.stdout, &answer.stderr)
            && (!looks_like_a_warning || gives_reason())
    }
}

/// Ends a process and those that it has started in its group.
pub(super) fn end(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It may just have ended.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

fn text(output: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    // What cannot be read is not an answer.
    let _ = output.map(|output| output.take(1024 * 1024).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Answer {
    /// Returns what came instead of a denial.
    fn words(&self) -> String {
        let said = [self.stderr.trim(), self.stdout.trim()];
        let said = said.into_iter().find(|text| !text.is_empty()).unwrap_or("nothing");
        let said: String = said.chars().take(200).collect();
        match self.code {
            None => "there was no answer".to_owned(),
            Some(code) => format!("the answer was no denial: exit code {code}, {said}"),
        }
    }
}

fn is_text_like(expected: &str, found: &str) -> bool {
    match (serde_json::from_str(expected), serde_json::from_str(found)) {
        (Ok(expected), Ok(found)) => is_like(&expected, &found),
        (Ok::<Value, _>(_), Err(_)) => false,
        (Err(_), _) if expected.contains(REASON) => !found.trim().is_empty(),
        (Err(_), _) => expected.trim().is_empty() || expected == found,
    }
}

/// Returns whether JSON has everything that is expected; texts with the reason may differ.
fn is_like(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => expected
            .iter()
            .all(|(name, value)| found.get(name).is_some_and(|found| is_like(value, found))),
        (Value::String(expected), Value::String(found)) if expected.contains(REASON) => {
            !found.is_empty()
        }
        _ => expected == found,
    }
}

#[cfg(test)]
mod tests {
    use anyhook_hosts::AGENTS;

    use super::*;

    /// Every agent's denial is recognised at every event, and nothing else of what it may be told.
    #[test]
    fn only_a_denial_is_one() {
        for agent in AGENTS {
            let natives = agent.protocol.capabilities.iter().filter(|row| row.block);
            for native_name in natives.filter_map(|row| row.native) {
                let work_dir = Path::new("/p");
                let (command, reason) = ("rm -rf /", Some("some reason"));
                let canary = Canary { agent, native_name, command, work_dir, reason };
                let event = canary.event(&canary.payload("s")).unwrap();
                let told = |effect: Option<Effect>| {
                    let reason = effect.map(|_| "some reason".to_owned());
                    let warnings = vec!["a warning".to_owned()];
                    let verdict = Verdict { effect, reason, warnings, ..Verdict::default() };
                    let reply = agent.protocol.encode(&event, &verdict);
                    let code = Some(i32::from(reply.exit_code));
                    Answer { code, stdout: reply.stdout, stderr: reply.stderr }
                };
                let is_denial = |answer: &Answer| canary.is_denial(&event, answer);
                let at = format!("{} at {native_name}", agent.id());
                assert!(is_denial(&told(Some(Effect::Deny))), "{at}");
                assert!(!is_denial(&told(Some(Effect::Allow))), "{at}");
                assert!(!is_denial(&told(None)), "{at}");
                assert!(!is_denial(&Answer::default()), "{at}");
                for code in [0, 1, 127] {
                    let answer = Answer { code: Some(code), ..Answer::default() };
                    assert!(!is_denial(&answer), "{at}");
                }
            }
        }
    }
}
