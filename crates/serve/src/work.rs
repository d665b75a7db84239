//! Decides one request, as `anyhook hook` would have decided it.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhook_engine::run::detached;
use anyhook_engine::{Engine, now};
use anyhook_hook::environment::{Environment, folder};
use anyhook_hook::find_host;
use anyhook_hosts::{AGENTS, HostSpec};
use anyhook_model::json::{Object, OpaqueField};
use anyhook_model::serve::{
    NativeReply, RequestBody, RequestContext, ServeAnswer, ServeError, ServeErrorCode,
    ServedVerdict,
};
use anyhook_model::{Caller, DecodeError, Event, Host, OpenFormat, Reply, ToolCall, Verdict};
use serde_json::Value;

/// A request that waits for its turn.
#[derive(Debug)]
pub struct RequestJob {
    pub body: RequestBody,
    pub about: RequestContext,
    pub came: Instant,
}

/// Decides a request. Nothing is cached between requests: the files on disk are read each time.
pub fn answer(job: &RequestJob, environment: &Environment) -> ServeAnswer {
    let answer = match &job.body {
        RequestBody::Event(event) => {
            let heard = VerdictRecorder::default();
            let reply = dispatch(job, &heard, event, environment);
            heard.into_answer(&reply)
        }
        RequestBody::Payload { host, text } => match find_host(host) {
            Some(host) => {
                let Reply { exit_code, stdout, stderr, .. } =
                    dispatch(job, host, text, environment);
                let reply = Some(NativeReply { exit_code, stdout, stderr });
                ServeAnswer { reply, ..ServeAnswer::default() }
            }
            None => unknown_host(host),
        },
    };
    detached::reap();
    answer
}

fn dispatch(job: &RequestJob, host: &dyn Host, payload: &str, environment: &Environment) -> Reply {
    let RequestContext { deadline, work_dir, project_dir } = &job.about;
    let told = || host.project_variables().iter().find_map(|name| folder(name));
    let caller = Caller {
        work_dir: work_dir.clone().unwrap_or_else(|| environment.work_dir.clone()),
        project_dir: project_dir.clone().or_else(told),
        now: now(),
        agent_id: None,
        foreign_entry: None,
    };
    let left = deadline.map(|deadline| deadline.saturating_sub(job.came.elapsed()));
    // Orphans are not adopted: with several hooks at once it is not known whose they are.
    Engine::new(environment.places.clone()).dispatch(host, payload, &caller, left)
}

fn unknown_host(host: &str) -> ServeAnswer {
    let host_ids = format!("{}, {}", OpenFormat.id(), AGENTS.map(HostSpec::id).join(", "));
    let error = ServeError {
        code: ServeErrorCode::UnknownHost,
        message: format!("unknown host `{host}`"),
        hint: Some(format!("supported: {host_ids}")),
    };
    ServeAnswer { error: Some(error), ..ServeAnswer::default() }
}

/// The open format, recording the reply: the verdict itself is needed, not its text.
#[derive(Default)]
struct VerdictRecorder {
    /// The recorded answer, and how much of it went to standard error.
    said: Mutex<(ServeAnswer, usize)>,
}

impl VerdictRecorder {
    fn into_answer(self, reply: &Reply) -> ServeAnswer {
        let (mut answer, said) = self.said.into_inner().unwrap_or_else(PoisonError::into_inner);
        // What the engine adds to the host's output is meant for a person.
        let added = reply.stderr.get(said..).unwrap_or_default();
        let plain = |line: &str| line.strip_prefix("anyhook: ").unwrap_or(line).to_owned();
        answer.messages.extend(added.lines().map(plain));
        if answer.error.is_none() {
            answer.verdict.get_or_insert_default();
        }
        answer
    }

    fn hear(&self, answer: ServeAnswer, reply: Reply) -> Reply {
        *self.said.lock().unwrap_or_else(PoisonError::into_inner) = (answer, reply.stderr.len());
        reply
    }
}

impl Host for VerdictRecorder {
    fn id(&self) -> &'static str {
        OpenFormat.id()
    }

    fn decode(&self, payload: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
        OpenFormat.decode(payload, caller)
    }

    fn opaque_fields(&self) -> &'static [OpaqueField] {
        OpenFormat.opaque_fields()
    }

    fn encode(&self, event: &Event, verdict: &Verdict) -> Reply {
        let (said, messages) = (ServedVerdict::from(verdict), verdict.warnings.clone());
        let answer = ServeAnswer { verdict: Some(said), messages, ..ServeAnswer::default() };
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
            DecodeError::NotJson(_) => ServeErrorCode::NotJson,
            _ => ServeErrorCode::NotAnEvent,
        };
        let hint = Some("name the event, for example {\"event_type\": \"before_tool\"}".to_owned());
        let error_said = ServeError { code, message: error.to_string(), hint };
        let answer = ServeAnswer { error: Some(error_said), ..ServeAnswer::default() };
        self.hear(answer, OpenFormat.refuse(error, guarded))
    }

    fn project_variables(&self) -> &'static [&'static str] {
        OpenFormat.project_variables()
    }

    fn stop_cap(&self) -> Option<u32> {
        OpenFormat.stop_cap()
    }
}
