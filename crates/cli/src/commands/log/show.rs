//! `anyhook log show ID`: all that is known of one dispatch.

use anyhook_engine::journal::Journal;
use anyhook_hosts::bus_event::{self, OURS};
use anyhook_model::daemon::{PublishedEvent, Request, Response};
use anyhook_model::id_prefix::{PrefixMatch, find_by_prefix};
use anyhook_model::{Record, RecordId, exit_code};
use anyhook_pages::record::{self, Trace};

use super::super::CommandResult;
use crate::daemon::connect_if_it_runs;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::ui::Out;

pub fn run(
    environment: &Environment,
    journal: &Journal,
    id: &str,
    json: bool,
    out: &mut Out,
) -> CommandResult {
    let trace = find(environment, journal, id)?;
    if json {
        let mut value = serde_json::to_value(&trace.record).map_err(std::io::Error::from)?;
        if let Some(Ok(told)) = &trace.heard
            && let Some(why) = &told.dropped
        {
            value["dropped"] = why.as_str().into();
        }
        out.json(&value)?;
        return Ok(exit_code::OK);
    }
    out.lines("", &record::lines(&trace))?;
    Ok(exit_code::OK)
}

/// Finds the record whose id starts with `id`, everything that belongs to it, and what the daemon
/// made of it, as far as it runs.
pub fn find(environment: &Environment, journal: &Journal, id: &str) -> Result<Trace, CommandError> {
    if id.is_empty() {
        return Err(CommandError::usage("not a record id").hint("`anyhook log` shows the ids"));
    }
    let mut trace = find_in(journal, id)?;
    trace.heard = heard(environment, &trace.record);
    Ok(trace)
}

/// Returns how the daemon interpreted a record, or why that is not known; `None` for records that
/// are not for the daemon.
fn heard(
    environment: &Environment,
    record: &Record,
) -> Option<Result<Box<PublishedEvent>, &'static str>> {
    bus_event::from_record(record)?;
    let request = Request::EventOfRecord { record: record.id.clone() };
    let told = match connect_if_it_runs(environment) {
        Ok(Some(mut client)) => match client.request(&request) {
            Ok(Response::EventOfRecord(Some(told))) => Ok(told),
            Ok(_) => Err("does not remember this event"),
            Err(_) => Err("does not answer, so how it handled this event is unknown"),
        },
        Ok(None) => Err("is not running, so how it handled this event is unknown"),
        Err(_) => Err("cannot be reached, so how it handled this event is unknown"),
    };
    // An agent's own event is useful without the daemon; an emitted one is for the daemon alone.
    if told.is_err() && record.host != OURS { None } else { Some(told) }
}

/// Finds the record whose id starts with `id`, and everything that belongs to it.
fn find_in(journal: &Journal, id: &str) -> Result<Trace, CommandError> {
    let at_fault = |error| CommandError::at(journal.folder(), error);
    // Only lines that contain the id are parsed as records: there may be a gigabyte of others.
    let wanted = format!("\"id\":\"{id}");
    let mut named: Vec<Record> = Vec::new();
    let mut reader = journal.reader();
    reader
        .read_lines(&mut |line| {
            if line.contains(&wanted) || line.is_first_form() {
                let record = line.record()?;
                if record.id.as_str().starts_with(id) {
                    named.push(record);
                }
            }
            Ok(())
        })
        .map_err(at_fault)?;
    let record = match find_by_prefix(id, &named, |record| record.id.as_str()) {
        PrefixMatch::One(record) => record.clone(),
        PrefixMatch::Nothing => {
            return Err(CommandError::input(format!("no record `{id}`"))
                .hint("`anyhook log` shows the ids"));
        }
        PrefixMatch::Several(all) => {
            let why = format!("`{id}` matches {} ids", all.len());
            return Err(CommandError::input(why).hint("type more of the id"));
        }
    };
    let family = related(journal, &record).map_err(at_fault)?;
    Ok(Trace::new(journal, record, family))
}

/// Returns the records of the same payload, and those of hooks that ran in the background for this
/// one.
fn related(journal: &Journal, record: &Record) -> std::io::Result<Vec<Record>> {
    let first = record.with.as_ref().unwrap_or(&record.id);
    // As `id` or as `with`.
    let wanted = format!("\":\"{first}\"");
    let own = format!("\"of\":\"{}\"", record.id);
    let is = |id: Option<&RecordId>, other: &RecordId| id == Some(other);
    let mut related = Vec::new();
    journal.reader().read_lines(&mut |line| {
        if line.contains(&wanted) || line.contains(&own) {
            let found = line.record()?;
            let belongs = found.id == *first
                || is(found.with.as_ref(), first)
                || is(found.of.as_ref(), &record.id);
            if belongs {
                related.push(found);
            }
        }
        Ok(())
    })?;
    Ok(related)
}
