//! Answers clients' requests from the state.

use anyhook_engine::process_name;
use anyhook_flow::agents::Agent;
use anyhook_flow::approval_requests::{
    ALLOW, AnswerError, HeldRequest, single_match, without_answer,
};
use anyhook_flow::names::{self, NameError, NamedItem};
use anyhook_model::approval_request::{ApprovalEnding, ApprovalKind, Claim};
use anyhook_model::daemon::{
    AgentView, Ask, ClaimRequest, DaemonStatus, DecisionView, Refusal, RefusalCode, ResolveDecision,
};
use anyhook_model::id_prefix::{PrefixMatch, find_by_prefix};
use anyhook_model::{
    AgentState, ApprovalRequest, CallerProcess, EventKind, Payload, PromptType, Record, Resolution,
    bus,
};
use serde_json::Value;

use super::{
    BusEvent, Core, EntryKind, FollowStart, PublishedEvent, Request, Response, mpsc, oneshot,
};
use crate::caller;
use crate::store::HistoryReach;

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
            Request::Claim(request) => self.claim(&request, process.map(caller::caller)),
            Request::Release(request) => self.release(&request, process.map(caller::caller)),
            Request::Standing => {
                Response::Standing(self.state.inquiries.standing().cloned().collect())
            }
            Request::Revoke(request) => self.revoke(&request, process.map(caller::caller)),
            Request::Rename { agent, name, by } => self.rename(&agent, name, by),
            Request::EventOfRecord { record } => {
                let told = self.state.recent.from_record(&record);
                Response::EventOfRecord(told.cloned().map(Box::new))
            }
            Request::Pipelines => Response::Pipelines(self.pipeline_views()),
            Request::Pipeline { id } => self.pipeline_view(&id),
            Request::RunPipeline(run) => self.run_pipeline(*run),
            Request::CancelPipeline(request) => self.cancel_pipeline(&request),
            Request::ResumePipeline(request) => self.resume_pipeline(request),
            Request::PipelineLog { id, after } => self.pipeline_log(&id, after),
            Request::Session { agent } => self.session(&agent),
            Request::Send(send) => return self.send(*send, answer),
            Request::Thaw { agent, by } => self.thaw(&agent, by),
            Request::Kill { agent, by: _ } => return self.kill(&agent, answer),
            // The server handles these.
            Request::Stop
            | Request::Follow { .. }
            | Request::OpenPage(_)
            | Request::ClosePage { .. }
            | Request::OpenLan(_)
            | Request::PairDevice(_) => Response::Done,
        };
        // A client that has disconnected needs no answer.
        let _ = answer.send(response);
    }

    fn status(&self) -> DaemonStatus {
        let mut notes = self.notes.clone();
        notes.extend(self.pending.failing.iter().map(|(why, _)| why.clone()));
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
            started_by: self.presence.started_by(),
            down: self.presence.down().cloned(),
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
            name: self.state.agent_name(id),
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
            unguarded: agent.unguarded,
            frozen: agent.frozen.is_some() && !agent.state.is_over(),
            decision: self.state.inquiries.open_about(id).next().map(|open| open.id.clone()),
            pipeline: self.state.pipelines.of_agent(id).map(|found| found.plan.id.clone()),
            daemon_down: None,
            usage: None,
        };
        self.state.agents.iter().map(view).collect()
    }

    fn decisions(&self) -> Vec<DecisionView> {
        let mut views: Vec<DecisionView> =
            self.state.inquiries.iter().map(|held| self.decision_view(held)).collect();
        views.sort_by_key(|view| view.inquiry.created);
        views
    }

    fn decision_view(&self, held: &HeldRequest) -> DecisionView {
        let agent = &held.inquiry.agent;
        let known = self.state.agents.get(agent);
        let pipeline = self.state.pipelines.of_agent(agent).map(|found| &found.plan);
        let ended = held.resolution.as_ref().map_or_else(anyhook_engine::now, |ended| ended.at);
        let waited = ended.duration_since(held.inquiry.created).as_millis();
        DecisionView {
            inquiry: held.inquiry.clone(),
            resolution: held.resolution.clone(),
            agent_name: self.state.agent_name(agent),
            project: known
                .and_then(|known| known.project.clone().or_else(|| known.work_dir.clone()))
                .or_else(|| pipeline.map(|plan| plan.project.clone())),
            pipeline: pipeline
                .map(|plan| plan.run_name.clone().unwrap_or_else(|| plan.id.to_string())),
            claimed: held.claimed.clone(),
            waited_ms: u64::try_from(waited).unwrap_or(0),
        }
    }

    /// Refuses what only a person may request, if it comes from an agent.
    fn refuse_agent(&self, request: &Request, process: Option<u32>) -> Option<Response> {
        let (name, about) = match request {
            Request::Resolve(ResolveDecision { id, choice, .. }) => {
                ("decision resolve", format!("{id} {choice}"))
            }
            Request::Claim(request) => ("decision claim", request.id.clone()),
            Request::Release(request) => ("decision release", request.id.clone()),
            Request::Revoke(request) => ("decision revoke", request.id.clone()),
            // Our own program has asked whether a person trusts what is to be run. The plan does
            // not say so: any other program could write any command into it.
            Request::RunPipeline(run) if !process.is_some_and(caller::is_our_program) => {
                ("pipeline run", run.plan.name.clone())
            }
            Request::ResumePipeline(request) => ("pipeline resume", request.id.clone()),
            Request::Send(send) => ("agent send", send.agent.clone()),
            Request::Thaw { agent, .. } => ("agent thaw", agent.clone()),
            // Whoever has the page can answer.
            Request::OpenPage(_) => ("ui", String::new()),
            Request::OpenLan(_) | Request::PairDevice(_) => ("ui --lan", String::new()),
            Request::ClosePage { .. } => ("ui --stop", String::new()),
            _ => return None,
        };
        let process = process?;
        let agent = self.agent_above(process)?;
        let why = format!("only a person may do this, and this runs under {agent}");
        self.refused(name, &about, &why, &caller::caller(process));
        Some(Response::Refused(refusal(RefusalCode::NotAPerson, &why)))
    }

    pub(super) fn resolve_for(
        &mut self,
        resolve: ResolveDecision,
        caller: Option<CallerProcess>,
    ) -> Response {
        let ResolveDecision { id, choice, more, message, by, again, digest, signature } = resolve;
        // The page has checked it; whoever speaks at the socket has not.
        let signature = signature.filter(|_| caller.is_none());
        if let Some(seen) = &digest
            && let Ok(held) = self.find_decision(&id)
            && held.inquiry.digest.as_ref() != Some(seen)
        {
            let why = format!("decision {} is about another call", held.inquiry.id);
            return Response::Refused(refusal(RefusalCode::NotNow, &why));
        }
        let now = anyhook_engine::now();
        let found = self.find_decision(&id).and_then(|held| {
            self.state.inquiries.answer(held.inquiry.id.as_str(), &choice, &more, message, by, now)
        });
        let resolution = match found {
            Ok(resolution) => Resolution { process: caller, again, signature, ..resolution },
            Err(error) => return refuse(&error),
        };
        if again && let Err(why) = self.may_stand(&resolution) {
            let why = format!("decision {} cannot be repeated with --again: {why}", resolution.id);
            let refused = refusal(RefusalCode::NoSuchChoice, &why);
            let hint = Some("omit --again".to_owned());
            return Response::Refused(Refusal { hint, ..refused });
        }
        let event = BusEvent::DecisionResolved(resolution.clone());
        if self.commit(vec![EntryKind::Happened(Box::new(event))]).is_ok() {
            Response::Resolved(Box::new(resolution))
        } else {
            self.cannot_store()
        }
    }

    fn may_stand(&self, resolution: &Resolution) -> Result<(), &'static str> {
        self.state.inquiries.may_stand(resolution)?;
        let agent = self.state.agents.get(&resolution.agent);
        match agent.and_then(|agent| agent.session.as_ref()) {
            Some(_) => Ok(()),
            None => Err("the agent's session is unknown"),
        }
    }

    /// Finds a decision by its id or the beginning of it, or by the agent that waits for it.
    fn find_decision(&self, text: &str) -> Result<&HeldRequest, AnswerError> {
        match self.state.inquiries.find(text) {
            Err(AnswerError::Unknown(_)) => {}
            found => return found,
        }
        let is_meant = |held: &&HeldRequest| {
            let agent = &held.inquiry.agent;
            held.resolution.is_none()
                && (agent == text || self.state.agent_name(agent).as_deref() == Some(text))
        };
        single_match(self.state.inquiries.iter().filter(is_meant).collect(), text)
    }

    fn claim(&mut self, request: &ClaimRequest, process: Option<CallerProcess>) -> Response {
        self.change_claim(request, process, BusEvent::DecisionClaimed)
    }

    fn release(&mut self, request: &ClaimRequest, process: Option<CallerProcess>) -> Response {
        if let Ok(held) = self.find_decision(&request.id)
            && held.resolution.is_none()
            && held.claimed.is_none()
        {
            let why = format!("decision {} is not claimed", held.inquiry.id);
            return Response::Refused(refusal(RefusalCode::NotNow, &why));
        }
        self.change_claim(request, process, BusEvent::DecisionReleased)
    }

    /// Stores what a person says about an open decision, and answers with its new state.
    fn change_claim(
        &mut self,
        request: &ClaimRequest,
        process: Option<CallerProcess>,
        event: fn(Claim) -> BusEvent,
    ) -> Response {
        let (id, agent) = match self.find_decision(&request.id) {
            Ok(HeldRequest { resolution: Some(made), .. }) => {
                return refuse(&AnswerError::AlreadyResolved(Box::new(made.clone())));
            }
            Ok(held) => (held.inquiry.id.clone(), held.inquiry.agent.clone()),
            Err(error) => return refuse(&error),
        };
        let at = anyhook_engine::now();
        let claim = Claim { id: id.clone(), agent, by: request.by.clone(), at, process };
        if self.commit(vec![EntryKind::Happened(Box::new(event(claim)))]).is_err() {
            return self.cannot_store();
        }
        match self.state.inquiries.get(&id) {
            Some(held) => Response::Decision(Box::new(self.decision_view(held))),
            None => refuse(&AnswerError::Unknown(request.id.clone())),
        }
    }

    fn revoke(&mut self, request: &ClaimRequest, process: Option<CallerProcess>) -> Response {
        let all = self.state.inquiries.standing();
        let standing = match find_by_prefix(&request.id, all, |standing| standing.id.as_str()) {
            PrefixMatch::One(standing) => standing.clone(),
            PrefixMatch::Nothing => {
                let why = format!("decision `{}` has no standing answer", request.id);
                let hint = Some("anyhook decision list --standing".to_owned());
                let refused = refusal(RefusalCode::Unknown, &why);
                return Response::Refused(Refusal { hint, ..refused });
            }
            PrefixMatch::Several(all) => {
                let ids = all.iter().map(|standing| &standing.id);
                return refuse(&AnswerError::ambiguous(&request.id, ids));
            }
        };
        let (id, agent) = (standing.id.clone(), standing.agent.clone());
        let at = anyhook_engine::now();
        let claim = Claim { id, agent, by: request.by.clone(), at, process };
        let event = BusEvent::DecisionRevoked(claim);
        if self.commit(vec![EntryKind::Happened(Box::new(event))]).is_err() {
            return self.cannot_store();
        }
        Response::Standing(vec![standing])
    }

    /// Returns every agent with the names it can be found by.
    pub(super) fn known_agents(&self) -> Vec<NamedItem<'_>> {
        self.state
            .agents
            .iter()
            .map(|(id, agent)| NamedItem {
                id,
                name: self.state.agent_name(id),
                also: agent.session.as_deref(),
                lives: !agent.state.is_over(),
            })
            .collect()
    }

    fn rename(&mut self, agent: &str, name: String, by: String) -> Response {
        if let Err(why) = names::check(&name) {
            return Response::Refused(Refusal {
                hint: Some("anyhook agent rename ID parser-work".to_owned()),
                ..refusal(RefusalCode::BadRequest, &why)
            });
        }
        let known = self.known_agents();
        let id = match names::find(agent, &known) {
            Ok(id) => id,
            Err(error) => return not_found("agent", agent, error),
        };
        let has_it = |other: &&NamedItem<'_>| {
            other.id != id
                && (other.id == name || other.lives && other.name.as_deref() == Some(&name))
        };
        if let Some(other) = known.iter().find(has_it) {
            let why = format!("another agent is already named `{name}`: {}", other.id);
            let hint = Some("choose another name".to_owned());
            let refused = refusal(RefusalCode::BadRequest, &why);
            return Response::Refused(Refusal { hint, ..refused });
        }
        let renamed = bus::AgentRenamed { agent: id.clone(), name, by };
        let event = BusEvent::AgentRenamed(renamed);
        if self.commit(vec![EntryKind::Happened(Box::new(event))]).is_err() {
            return self.cannot_store();
        }
        Response::Agents(self.agents().into_iter().filter(|agent| agent.id == id).collect())
    }

    /// Returns the agent that a process belongs to, if any.
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

    /// Journals that a request was refused, and who sent it.
    fn refused(&self, name: &str, about: &str, why: &str, caller: &CallerProcess) {
        let source = serde_json::json!({"process": caller});
        self.journal_refused(name, about, why, &caller.to_string(), source);
    }

    /// Journals that something was refused; `source` is who sent it, for programs.
    pub(super) fn journal_refused(
        &self,
        name: &str,
        about: &str,
        why: &str,
        from: &str,
        source: Value,
    ) {
        let command = format!("{name} {about}");
        tracing::warn!("refused `{command}` from {from}: {why}");
        let kind = EventKind::Other(format!("command:{}", name.replace(' ', "_")));
        let (id, now) = (anyhook_engine::new_id(), anyhook_engine::now());
        let mut record = Record::new(id, now, "anyhook", kind);
        record.about = Some(format!("{command}: refused: {why}"));
        let arguments: Vec<&str> = command.split(' ').collect();
        let mut told =
            serde_json::json!({"arguments": arguments, "outcome": "refused", "why": why});
        if let (Some(told), Value::Object(source)) = (told.as_object_mut(), source) {
            told.extend(source);
        }
        record.payload = Some(Payload::new(told.to_string().as_bytes()));
        self.runner.journal_refusal(record);
    }

    /// Registers a process that waits, or answers it immediately if the decision has been made.
    fn ask(&mut self, ask: Ask, answer: oneshot::Sender<Response>) {
        let Ask { inquiry, mut report } = ask;
        let id = inquiry.id.clone();
        let known = self.state.inquiries.get(&id);
        if let Some(resolution) = known.and_then(|held| held.resolution.clone()) {
            let _ = answer.send(Response::Resolved(Box::new(resolution)));
            return;
        }
        let is_new = known.is_none();
        if is_new && let Some(response) = self.answer_again(&inquiry, &report) {
            let _ = answer.send(response);
            return;
        }
        if is_new {
            let is_gate = inquiry.kind == ApprovalKind::Gate;
            let mut happened = vec![BusEvent::DecisionCreated(inquiry)];
            // A gate does not belong to an agent: none is at a prompt.
            if !is_gate {
                let prompt_type = prompt_type(&report);
                report.asks = true;
                happened.push(BusEvent::AgentPrompt(bus::AgentPrompt { report, prompt_type }));
            }
            let batch =
                happened.into_iter().map(|one| EntryKind::Happened(Box::new(one))).collect();
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
        self.waiters.join(&id, answer);
    }

    /// Answers what a person has already allowed for the rest of the session. No agent is at a
    /// prompt.
    fn answer_again(
        &mut self,
        inquiry: &ApprovalRequest,
        report: &bus::AgentReport,
    ) -> Option<Response> {
        let session = report.session.as_deref();
        let standing = self.state.inquiries.standing_for(inquiry, session)?;
        let lives = |agent: &Agent| {
            !agent.state.is_over() && agent.session.as_deref() == standing.session.as_deref()
        };
        self.state.agents.get(&inquiry.agent).filter(|agent| lives(agent))?;
        inquiry.options.iter().find(|option| option.name == ALLOW)?;
        let ended =
            without_answer(inquiry, ApprovalEnding::Chosen, &standing.by, anyhook_engine::now());
        let resolution = Resolution {
            choice: Some(ALLOW.to_owned()),
            follows: Some(standing.id.clone()),
            ..ended
        };
        let happened = [
            BusEvent::DecisionCreated(inquiry.clone()),
            BusEvent::DecisionResolved(resolution.clone()),
        ];
        let batch = happened.map(|one| EntryKind::Happened(Box::new(one))).into();
        Some(match self.commit(batch) {
            Ok(()) => Response::Resolved(Box::new(resolution)),
            Err(_) => self.cannot_store(),
        })
    }

    pub(super) fn follow(&mut self, from: FollowStart, follower: mpsc::Sender<PublishedEvent>) {
        // A follower that asks for more than fits in its queue gets the rest by asking again: it
        // must not miss what is between that and the next event.
        let send = |told: &PublishedEvent| follower.try_send(told.clone()).is_ok();
        let is_complete = match from {
            FollowStart::Now => true,
            FollowStart::After(after) if after >= self.store.last() => true,
            FollowStart::After(after) => match self.state.recent.after(after) {
                Some(mut recent) => recent.all(send),
                None => self.tell_stored(after, &follower),
            },
            FollowStart::Since(moment) => self.state.recent.since(moment).all(send),
        };
        if is_complete {
            self.followers.join(follower);
        }
    }

    /// Sends what the store has after a number: the stored events, not what was derived from them.
    /// Returns whether that was everything.
    fn tell_stored(&self, after: u64, follower: &mpsc::Sender<PublishedEvent>) -> bool {
        let mut has_room = true;
        let read = self.store.read_after(after, &mut |sequence, entry| {
            let Ok(entry) = serde_json::from_value::<anyhook_flow::StateEntry>(entry) else {
                return;
            };
            if let EntryKind::Happened(event) = entry.what {
                let subject = self.state.subject(&event);
                let told = PublishedEvent {
                    sequence,
                    part: 0,
                    heard: entry.at,
                    event: *event,
                    dropped: None,
                    subject,
                };
                has_room = has_room && follower.try_send(told).is_ok();
            }
        });
        has_room && matches!(read, Ok(HistoryReach::Complete))
    }

    pub(super) fn cannot_store(&self) -> Response {
        let why =
            self.pending.failing.as_ref().map_or("the store cannot be written", |(why, _)| why);
        Response::Refused(refusal(RefusalCode::Store, why))
    }
}

/// Returns the kind of prompt of an agent whose hook process waits for an answer.
fn prompt_type(report: &bus::AgentReport) -> PromptType {
    let host = report.host.as_deref().and_then(anyhook_hosts::find_host);
    let shows = host.and_then(|host| host.prompt_tool(report.tool.as_deref()?));
    shows.unwrap_or(PromptType::Permission)
}

/// Returns the refusal for a name that matches nothing, or more than one thing.
pub(super) fn not_found(what: &str, text: &str, error: NameError) -> Response {
    let (code, why) = match error {
        NameError::Nothing => (RefusalCode::Unknown, format!("there is no {what} `{text}`")),
        NameError::Several(all) => (
            RefusalCode::Ambiguous,
            format!("`{text}` matches several {what}s: {}", all.join(", ")),
        ),
    };
    let hint = Some(format!("anyhook {what} list --all"));
    Response::Refused(Refusal { hint, ..refusal(code, &why) })
}

fn refuse(error: &AnswerError) -> Response {
    let code = match error {
        AnswerError::Unknown(_) => RefusalCode::Unknown,
        AnswerError::Ambiguous(..) => RefusalCode::Ambiguous,
        AnswerError::NoSuchChoice { .. } | AnswerError::WrongNumber(..) => {
            RefusalCode::NoSuchChoice
        }
        AnswerError::AlreadyResolved(_) => RefusalCode::AlreadyResolved,
    };
    let refused = refusal(code, &error.to_string());
    let hint = match error {
        AnswerError::NoSuchChoice { near: Some(near), .. } => {
            Some(format!("did you mean `{near}`?"))
        }
        _ => refused.hint.clone(),
    };
    Response::Refused(Refusal { hint, ..refused })
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
