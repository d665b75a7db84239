//! One request decided, as `anyhook hook` would have decided it.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhook_engine::run::detached;
use anyhook_engine::{Engine, now};
use anyhook_hook::environment::{Environment, folder};
use anyhook_hook::find_host;
use anyhook_hosts::{AGENTS, HostSpec};
use anyhook_model::json::{Object, PassedOn};
use anyhook_model::serve::{About, Answer, Body, Fault, FaultCode, NativeReply, Said};
use anyhook_model::{Caller, DecodeError, Event, Host, OpenFormat, Reply, ToolCall, Verdict};
use serde_json::Value;

use crate::answers::Begun;

/// A request that waits for its turn.
#[derive(Debug)]
pub struct Job {
    pub begun: Begun,
    pub body: Body,
    pub about: About,
    pub came: Instant,
}

/// Decides a request. Nothing is kept from one to the next: what is on the disk counts.
pub fn answer(job: &Job, environment: &Environment) -> Answer {
    let answer = match &job.body {
        Body::Event(event) => {
            let heard = Heard::default();
            let reply = dispatch(job, &heard, event, environment);
            heard.into_answer(&reply)
        }
        Body::Payload { host, text } => match find_host(host) {
            Some(host) => {
                let Reply { exit_code, stdout, stderr, .. } =
                    dispatch(job, host, text, environment);
                let reply = Some(NativeReply { exit_code, stdout, stderr });
                Answer { reply, ..Answer::default() }
            }
            None => unknown_host(host),
        },
    };
    detached::reap();
    answer
}

fn dispatch(job: &Job, host: &dyn Host, payload: &str, environment: &Environment) -> Reply {
    let About { deadline, work_dir, project_dir } = &job.about;
    let told = || host.project_variables().iter().find_map(|name| folder(name));
    let caller = Caller {
        work_dir: work_dir.clone().unwrap_or_else(|| environment.work_dir.clone()),
        project_dir: project_dir.clone().or_else(told),
        now: now(),
        agent_id: None,
    };
    let left = deadline.map(|deadline| deadline.saturating_sub(job.came.elapsed()));
    // Orphans are not adopted: whose they are cannot be told among several hooks at once.
    Engine::new(environment.places.clone()).dispatch(host, payload, &caller, left)
}

fn unknown_host(host: &str) -> Answer {
    let host_ids = format!("{}, {}", OpenFormat.id(), AGENTS.map(HostSpec::id).join(", "));
    let error = Fault {
        code: FaultCode::UnknownHost,
        message: format!("unknown host `{host}`"),
        hint: Some(format!("supported: {host_ids}")),
    };
    Answer { error: Some(error), ..Answer::default() }
}

/// The open format, listening to what is said: a verdict is needed as it is, not as text.
#[derive(Default)]
struct Heard {
    /// What was said, and how much of it on standard error.
    said: Mutex<(Answer, usize)>,
}

impl Heard {
    fn into_answer(self, reply: &Reply) -> Answer {
        let (mut answer, said) = self.said.into_inner().unwrap_or_else(PoisonError::into_inner);
        // What the engine adds to the host's words is for a person.
        let added = reply.stderr.get(said..).unwrap_or_default();
        let plain = |line: &str| line.strip_prefix("anyhook: ").unwrap_or(line).to_owned();
        answer.messages.extend(added.lines().map(plain));
        if answer.error.is_none() {
            answer.verdict.get_or_insert_default();
        }
        answer
    }

    fn hear(&self, answer: Answer, reply: Reply) -> Reply {
        *self.said.lock().unwrap_or_else(PoisonError::into_inner) = (answer, reply.stderr.len());
        reply
    }
}

impl Host for Heard {
    fn id(&self) -> &'static str {
        OpenFormat.id()
    }

    fn decode(&self, payload: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
        OpenFormat.decode(payload, caller)
    }

    fn passed_on(&self) -> &'static [PassedOn] {
        OpenFormat.passed_on()
    }

    fn encode(&self, event: &Event, verdict: &Verdict) -> Reply {
        let (said, messages) = (Said::from(verdict), verdict.warnings.clone());
        let answer = Answer { verdict: Some(said), messages, ..Answer::default() };
        self.hear(answer, OpenFormat.encode(event, verdict))
    }

    fn native_input(&self, call: &ToolCall, changed: &Object) -> Result<Option<Value>, String> {
        OpenFormat.native_input(call, changed)
    }

    fn can_ask(&self, event: &Event) -> bool {
        OpenFormat.can_ask(event)
    }

    fn refuse(&self, error: &DecodeError, guarded: bool) -> Reply {
        let code = match error {
            DecodeError::NotJson(_) => FaultCode::NotJson,
            _ => FaultCode::NotAnEvent,
        };
        let hint = Some("name the event, for example {\"event_type\": \"before_tool\"}".to_owned());
        let error_said = Fault { code, message: error.to_string(), hint };
        let answer = Answer { error: Some(error_said), ..Answer::default() };
        self.hear(answer, OpenFormat.refuse(error, guarded))
    }

    fn project_variables(&self) -> &'static [&'static str] {
        OpenFormat.project_variables()
    }

    fn stop_cap(&self) -> Option<u32> {
        OpenFormat.stop_cap()
    }
}
