//! What clients want, answered from the state.

use anyhook_engine::process_name;
use anyhook_flow::agents::Agent;
use anyhook_flow::inquiries::AnswerError;
use anyhook_model::daemon::{
    AgentView, Ask, DaemonStatus, DecisionView, Refusal, RefusalCode, Resolve,
};
use anyhook_model::inquiry::InquiryKind;
use anyhook_model::{AgentState, CallerProcess, EventKind, Payload, Record, Resolution, bus};
use serde_json::Value;

use super::{Core, Deed, Happening, Request, Response, Told, What, mpsc, oneshot};
use crate::caller;
use crate::store::Reach;

impl Core {
    pub(super) fn answer(
        &mut self,
        request: Request,
        process: Option<u32>,
        answer: oneshot::Sender<Response>,
    ) {
        if let Some(refused) = self.refuse_agent(&request, process) {
            let _ = answer.send(refused);
            return;
        }
        let response = match request {
            Request::Ask(ask) => return self.ask(*ask, answer),
            Request::Status => Response::Status(Box::new(self.status())),
            Request::Agents => Response::Agents(self.agents()),
            Request::Decisions => Response::Decisions(self.decisions()),
            Request::Resolve(resolve) => self.resolve_for(resolve, process.map(caller::caller)),
            Request::Pipelines => Response::Pipelines(self.pipeline_views()),
            Request::Pipeline { id } => self.pipeline_view(&id),
            Request::RunPipeline(run) => self.run_pipeline(*run),
            Request::CancelPipeline(order) => self.cancel_pipeline(&order),
            Request::ResumePipeline(order) => self.resume_pipeline(order),
            Request::PipelineLog { id, after } => self.pipeline_log(&id, after),
            Request::Session { agent } => self.session(&agent),
            Request::Send(send) => return self.send(*send, answer),
            Request::Kill { agent, by: _ } => return self.kill(&agent, answer),
            // The server sees to these.
            Request::Stop | Request::Follow { .. } => Response::Done,
        };
        // Whoever is gone needs no answer.
        let _ = answer.send(response);
    }

    fn status(&self) -> DaemonStatus {
        let mut notes = self.notes.clone();
        notes.extend(self.failing.iter().map(|(why, _)| why.clone()));
        DaemonStatus {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            since: self.since,
            agents: self.state.agents.iter().filter(|(_, agent)| !agent.state.is_over()).count(),
            decisions: self.state.inquiries.open().count(),
            pipelines: self.state.pipelines.open().count(),
            events: self.store.last(),
            store_bytes: folder_size(self.store.folder()),
            journal: self.state.journal.as_ref().map(place),
            logs: self.log_counts(),
            notes,
        }
    }

    fn log_counts(&self) -> Vec<anyhook_model::daemon::WatchedLogs> {
        let mut hosts = std::collections::BTreeMap::<String, usize>::new();
        for agent in self.state.agents.iter().map(|(_, agent)| agent) {
            if let (Some(host), Some(_)) = (&agent.host, &agent.log) {
                *hosts.entry(host.clone()).or_default() += 1;
            }
        }
        hosts
            .into_iter()
            .map(|(host, files)| anyhook_model::daemon::WatchedLogs { host, files })
            .collect()
    }

    fn agents(&self) -> Vec<AgentView> {
        let view = |(id, agent): (&String, &Agent)| AgentView {
            id: id.clone(),
            state: agent.state.name().to_owned(),
            prompt_type: match agent.state {
                AgentState::Prompting(kind) => Some(kind),
                _ => None,
            },
            failure: match agent.state {
                AgentState::Failed(kind) => Some(kind),
                _ => None,
            },
            source: agent.source,
            since: agent.since,
            seen: agent.seen,
            host: agent.host.clone(),
            session: agent.session.clone(),
            work_dir: agent.work_dir.clone(),
            project: agent.project.clone(),
            tool: agent.tool.clone(),
            about: agent.about.clone(),
            process: agent.process.clone(),
            log: agent.log.clone(),
            decision: self.state.inquiries.open_about(id).next().map(|open| open.id.clone()),
            pipeline: self.state.pipelines.of_agent(id).map(|found| found.plan.id.clone()),
        };
        self.state.agents.iter().map(view).collect()
    }

    fn decisions(&self) -> Vec<DecisionView> {
        let view = |held: &anyhook_flow::inquiries::Held| DecisionView {
            inquiry: held.inquiry.clone(),
            resolution: held.resolution.clone(),
        };
        let mut views: Vec<DecisionView> = self.state.inquiries.iter().map(view).collect();
        views.sort_by_key(|view| view.inquiry.created);
        views
    }

    /// Refuses what only a person may want, if an agent wants it.
    fn refuse_agent(&self, request: &Request, process: Option<u32>) -> Option<Response> {
        let (name, about) = match request {
            Request::Resolve(Resolve { id, choice, .. }) => {
                ("decision resolve", format!("{id} {choice}"))
            }
            // Our own program has asked whether a person trusts what is to be run. The plan says
            // nothing of that: anybody else could write any command into it.
            Request::RunPipeline(run) if !process.is_some_and(caller::is_our_program) => {
                ("pipeline run", run.plan.name.clone())
            }
            Request::ResumePipeline(order) => ("pipeline resume", order.id.clone()),
            Request::Send(send) => ("agent send", send.agent.clone()),
            _ => return None,
        };
        let process = process?;
        let agent = self.agent_above(process)?;
        let why = format!("only a person may do this, and this is a session of {agent}");
        self.refused(name, &about, &why, &caller::caller(process));
        Some(Response::Refused(refusal(RefusalCode::NotAPerson, &why)))
    }

    fn resolve_for(&mut self, resolve: Resolve, caller: Option<CallerProcess>) -> Response {
        let Resolve { id, choice, message, by } = resolve;
        let now = anyhook_engine::now();
        let resolution = match self.state.inquiries.answer(&id, &choice, message, by, now) {
            Ok(resolution) => Resolution { process: caller, ..resolution },
            Err(error) => return refuse(&error),
        };
        let happening = Happening::DecisionResolved(resolution.clone());
        if self.commit(vec![What::Happened(Box::new(happening))]).is_ok() {
            Response::Resolved(Box::new(resolution))
        } else {
            self.cannot_store()
        }
    }

    /// Returns the agent that a process belongs to, if it belongs to one.
    fn agent_above(&self, process: u32) -> Option<String> {
        if let Some(agent) = caller::agent_above(process) {
            return Some(agent.to_string());
        }
        let above = process_name::with_ancestors(process);
        let is_it = |(_, agent): &(&String, &Agent)| {
            let (Some(host), Some(known)) = (&agent.host, &agent.process) else { return false };
            !agent.state.is_over() && anyhook_hosts::is_among(known, host, &above)
        };
        let known = self.state.agents.iter().find(is_it).map(|(id, _)| id.clone());
        known.or_else(|| self.agent_kept_above(&above))
    }

    /// Has it journaled that a request was refused, and whose it was.
    fn refused(&self, name: &str, about: &str, why: &str, caller: &CallerProcess) {
        let command = format!("{name} {about}");
        tracing::warn!("refused `{command}` of {caller}: {why}");
        let kind = EventKind::Other(format!("command:{}", name.replace(' ', "_")));
        let (id, now) = (anyhook_engine::new_id(), anyhook_engine::now());
        let mut record = Record::new(id, now, "anyhook", kind);
        record.about = Some(format!("{command}: refused: {why}"));
        let arguments: Vec<&str> = command.split(' ').collect();
        let told = serde_json::json!({
            "arguments": arguments, "outcome": "refused", "why": why, "process": caller,
        });
        record.payload = Some(Payload::new(told.to_string().as_bytes()));
        self.doer.ask_for(Deed::JournalRefusal(Box::new(record)));
    }

    /// Takes in a process that waits, or answers it at once if it is decided.
    fn ask(&mut self, ask: Ask, answer: oneshot::Sender<Response>) {
        let Ask { inquiry, report } = ask;
        let id = inquiry.id.clone();
        let known = self.state.inquiries.get(&id);
        if let Some(resolution) = known.and_then(|held| held.resolution.clone()) {
            let _ = answer.send(Response::Resolved(Box::new(resolution)));
            return;
        }
        if known.is_none() {
            let is_gate = inquiry.kind == InquiryKind::Gate;
            let mut happened = vec![Happening::DecisionCreated(inquiry)];
            // A gate is about no agent: nobody is at a prompt.
            if !is_gate {
                let prompt_type = anyhook_model::PromptType::Permission;
                happened.push(Happening::AgentPrompt(bus::AgentPrompt { report, prompt_type }));
            }
            let batch = happened.into_iter().map(|one| What::Happened(Box::new(one))).collect();
            if self.commit(batch).is_err() {
                let _ = answer.send(self.cannot_store());
                return;
            }
            if self.state.inquiries.get(&id).is_none() {
                let refusal = refusal(RefusalCode::Busy, "too many decisions are open");
                let _ = answer.send(Response::Refused(refusal));
                return;
            }
        }
        self.waiting.join(&id, answer);
    }

    pub(super) fn follow(&mut self, after: Option<u64>, follower: mpsc::Sender<Told>) {
        if let Some(after) = after {
            let mut has_room = true;
            let read = self.store.read_after(after, &mut |sequence, entry| {
                let Ok(entry) = serde_json::from_value::<anyhook_flow::Entry>(entry) else {
                    return;
                };
                if let What::Happened(event) = entry.what {
                    let told = Told { sequence, heard: entry.at, event: *event, dropped: None };
                    has_room = has_room && follower.try_send(told).is_ok();
                }
            });
            // One that asks for more than fits in its queue gets the rest by asking again: it must
            // not miss what is between that and what comes next.
            if !has_room || !matches!(read, Ok(Reach::Complete)) {
                return;
            }
        }
        self.followers.push(follower);
    }

    pub(super) fn cannot_store(&self) -> Response {
        let why = self.failing.as_ref().map_or("the store cannot be written", |(why, _)| why);
        Response::Refused(refusal(RefusalCode::Store, why))
    }
}

fn refuse(error: &AnswerError) -> Response {
    let code = match error {
        AnswerError::Unknown(_) => RefusalCode::Unknown,
        AnswerError::Ambiguous(..) => RefusalCode::Ambiguous,
        AnswerError::NoSuchChoice(..) => RefusalCode::NoSuchChoice,
        AnswerError::AlreadyResolved(_) => RefusalCode::AlreadyResolved,
    };
    Response::Refused(refusal(code, &error.to_string()))
}

/// Makes a refusal.
pub fn refusal(code: RefusalCode, message: &str) -> Refusal {
    let hint = match code {
        RefusalCode::Unknown | RefusalCode::Ambiguous => Some("anyhook decision list"),
        RefusalCode::Store => Some("anyhook daemon status"),
        RefusalCode::Version => Some("anyhook daemon stop, then start it again"),
        _ => None,
    };
    Refusal { code, message: message.to_owned(), hint: hint.map(str::to_owned) }
}

fn place(position: &Value) -> String {
    let segment = position.get("segment").and_then(Value::as_str).unwrap_or_default();
    let offset = position.get("offset").and_then(Value::as_u64).unwrap_or_default();
    format!("{segment}:{offset}")
}

fn folder_size(folder: &std::path::Path) -> u64 {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum()
}
