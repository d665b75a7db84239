//! The journal: records that fit some filters, the newest first.

use std::sync::Arc;

use anyhook_engine::problem::nearest;
use anyhook_hosts::AGENTS;
use anyhook_hosts::bus_event::OURS;
use anyhook_model::{EventKind, Record};
use anyhook_pages::records;
use anyhook_pages::search::VerdictWord;
use anyhook_terminal::first_line;
use anyhook_terminal::format::milliseconds;
use axum::Extension;
use axum::extract::State;
use maud::{Markup, html};

use super::Failed;
use super::layout::{PageHead, page};
use super::parts::{ago, empty, folder_name, in_path, problems, tone, with_query};
use crate::api::input::Parameters;
use crate::app::App;
use crate::guard::Caller;
use crate::journal::{self, PAGE, RecordPage, RecordQuery};

/// What a record is about is cut to this width.
const ABOUT: usize = 160;

/// Shows records of the journal.
pub async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Parameters(pairs): Parameters<Vec<(String, String)>>,
) -> Result<Markup, Failed> {
    let (query, mut wrong) = RecordQuery::of_page(pairs);
    let read = query.read(anyhook_engine::now());
    wrong.extend(read.problems.iter().cloned());
    // Older pages do not change, and a long search is not repeated at every event.
    let is_followed = read.before.is_none() && wrong.is_empty() && query.text.is_none();
    let mut follows = if is_followed { "journal" } else { "" };
    let content = if wrong.is_empty() {
        match journal::find(&app, read, PAGE).await {
            Ok(found) => {
                follows = if found.is_cut { "" } else { follows };
                html! { (form(&query)) (results(&query, &found)) }
            }
            Err(error) => return Err(Failed(error, caller)),
        }
    } else {
        html! { (form(&query)) (problems(&wrong)) }
    };
    let content = html! { h1 { "Journal" } (content) };
    let head = PageHead { section: "/journal", title: "Journal", follows };
    Ok(page(&app, &caller, head, &content).await)
}

/// The filters, as they were sent.
fn form(query: &RecordQuery) -> Markup {
    let is_narrow = query.set().iter().any(|(name, _)| *name != "text");
    let field =
        |name: &str, label: &str, value: &Option<String>, example: &str, list: Option<&str>| {
            html! {
                div {
                    label for={"filter-" (name)} { (label) }
                    input #{"filter-" (name)} type="text" name=(name) value=[value.as_deref()]
                        placeholder=(example) list=[list] autocomplete="off" spellcheck="false";
                }
            }
        };
    html! {
        form.filters #filters method="get" action="/journal" role="search" aria-label="Search the journal" {
            div.search {
                label.unseen for="filter-text" { "Text in the payload, a reason or an output" }
                input #filter-text type="search" name="text" value=[query.text.as_deref()]
                    placeholder="Text in a payload, a reason or an output" autocomplete="off";
                button.primary type="submit" { "Search" }
            }
            details #more-filters open[is_narrow] {
                summary { "Filters" }
                div.fields {
                    (field("host", "Agent", &query.host, "claude-code", Some("agents-known")))
                    (field("session", "Session", &query.session, "the start of its id", None))
                    (field("project", "Project", &query.project, "path or folder name", None))
                    (field("event", "Event", &query.event, "before_tool", Some("events-known")))
                    (field("tool", "Tool", &query.tool, "Shell", None))
                    (field("hook", "Hook", &query.hook, "its name", None))
                    div {
                        label for="filter-verdict" { "Verdict" }
                        select #filter-verdict name="verdict" {
                            option value="" { "any" }
                            @for word in VerdictWord::WORDS {
                                option value=(word) selected[query.verdict.as_deref() == Some(word)] { (word) }
                            }
                            @if let Some(other) = unknown_verdict(query) { option value=(other) selected { (other) } }
                        }
                    }
                    (field("since", "Since", &query.since, "2h, 7d, 2026-01-31", None))
                    (field("until", "Until", &query.until, "1h, 2026-01-31T09:00", None))
                }
                datalist #agents-known { @for agent in AGENTS { option value=(agent.id()) {} } }
                datalist #events-known {
                    @for name in EventKind::all_names() { option value=(name) {} }
                }
            }
            @if !query.set().is_empty() { p.hint { a href="/journal" { "Remove all filters" } } }
        }
    }
}

fn unknown_verdict(query: &RecordQuery) -> Option<&str> {
    query.verdict.as_deref().filter(|word| !VerdictWord::WORDS.contains(word))
}

fn results(query: &RecordQuery, found: &RecordPage) -> Markup {
    let is_filtered = !query.set().is_empty();
    let older = found
        .older
        .as_deref()
        .map(|older| with_query("/journal", query.set().into_iter().chain([("before", older)])));
    html! {
        @if found.damaged_lines > 0 {
            p.notice.warn {
                (found.damaged_lines) " lines of the journal are not records and were skipped: "
                code { "anyhook verify" } " says more."
            }
        }
        @if query.before.is_some() {
            p.hint { a href=(with_query("/journal", query.set())) { "Back to the newest" } }
        }
        @if !found.records.is_empty() { (table(&found.records)) }
        @else if !found.is_cut { (nothing(query, is_filtered)) }
        @if found.is_cut {
            p.notice.warn {
                "The journal is long: the search has ended early"
                @if let Some(reached) = found.reached { ", at records from " (ago(reached)) " ago" }
                "."
            }
        }
        @if let Some(older) = older {
            p.paging { a.button rel="next" href=(older) { @if found.is_cut { "Go on searching" } @else { "Older" } } }
        }
    }
}

fn nothing(query: &RecordQuery, is_filtered: bool) -> Markup {
    let unknown = query.event.as_deref().filter(|name| EventKind::in_any_spelling(name).is_none());
    let near = unknown.and_then(|event| nearest(event, EventKind::all_names()));
    if query.before.is_some() {
        return empty("Nothing is older", &html! { "This is where the journal begins." });
    }
    if !is_filtered {
        return empty(
            "The journal is empty",
            &html! {
                "Every event of an agent is recorded here as soon as it calls anyhook: "
                code { "anyhook init" } " sets that up."
            },
        );
    }
    empty(
        "No record fits",
        &html! {
            @match near {
                Some(near) => { "No agent sends this event. Did you mean " code { (near) } "?" },
                None => { "Remove a filter, or look further back." },
            }
        },
    )
}

/// Records, one in each row.
pub fn table(records: &[Record]) -> Markup {
    html! {
        div.table-wrap tabindex="0" role="region" aria-label="Records" {
            table.records {
                thead { tr {
                    th scope="col" { "When" } th scope="col" { "Agent" } th scope="col" { "Event" }
                    th scope="col" { "Verdict" } th scope="col" { "By" } th scope="col" { "What" }
                    th scope="col" class="number" { "Took" }
                } }
                tbody { @for record in records { (row(record)) } }
            }
        }
    }
}

fn row(record: &Record) -> Markup {
    let (verdict_tone, verdict) = records::verdict(record);
    let about = first_line(&records::about(record), ABOUT);
    let project = record.project_dir.as_deref();
    html! {
        tr data-key={"record-" (record.id)} {
            td.when { a href={"/journal/" (in_path(record.id.as_str()))} { (ago(record.at)) span.unseen { " ago, record " (record.id) } } }
            td { (record.host)
                @if let Some(project) = project { " " span.hint title=(project) { (folder_name(project)) } } }
            td { (first_line(&record.event.to_string(), 40)) }
            td { @if record.host == OURS { span.hint { "–" } } @else if verdict == "–" { span.hint { "no opinion" } } @else { span.chip.(tone(verdict_tone)) { (verdict) } } }
            td { (records::who(record)) }
            td.what { code { (about) } }
            td.number { (milliseconds(record.took_us)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use anyhook_model::RecordId;
    use jiff::Timestamp;

    use super::*;

    const EVIL: &str = "<script>alert(1)</script>\" onload=\"x' &amp;";

    fn record() -> Record {
        let id = RecordId::from_text("7k2m9x4q");
        let mut record = Record::new(id, Timestamp::UNIX_EPOCH, EVIL, EventKind::BeforeTool);
        record.tool = Some(EVIL.to_owned());
        record.about = Some(EVIL.to_owned());
        record.project_dir = Some(format!("/{EVIL}"));
        record
    }

    fn found(records: Vec<Record>) -> RecordPage {
        RecordPage { records, older: None, is_cut: false, reached: None, damaged_lines: 0 }
    }

    #[test]
    fn texts_of_agents_are_escaped() {
        let shown = table(&[record()]).into_string();
        assert!(!shown.contains("<script>") && !shown.contains("\" onload"), "{shown}");
        assert!(shown.contains("&lt;script&gt;"), "{shown}");
        let query = RecordQuery {
            text: Some(EVIL.to_owned()),
            verdict: Some(EVIL.to_owned()),
            ..RecordQuery::default()
        };
        let shown = form(&query).into_string();
        assert!(!shown.contains("<script>") && !shown.contains("\" onload"), "{shown}");
        assert!(shown.contains("value=\"&lt;script&gt;"), "what was typed stays: {shown}");
    }

    #[test]
    fn older_records_keep_the_filters() {
        let query = RecordQuery { text: Some("a&b".to_owned()), ..RecordQuery::default() };
        let page = RecordPage { older: Some("00000002.17".to_owned()), ..found(vec![record()]) };
        let shown = results(&query, &page).into_string();
        assert!(shown.contains("/journal?text=a%26b&amp;before=00000002.17"), "{shown}");
    }

    #[test]
    fn every_empty_state_says_what_to_do() {
        let all = RecordQuery::default();
        let shown = |query: &RecordQuery| results(query, &found(Vec::new())).into_string();
        assert!(shown(&all).contains("anyhook init"));
        let typed = |event: &str| RecordQuery { event: Some(event.to_owned()), ..all.clone() };
        assert!(shown(&typed("before_tol")).contains("before_tool"));
        assert!(shown(&typed("before_tool")).contains("Remove a filter"));
        let older = RecordQuery { before: Some("00000001.0".to_owned()), ..all.clone() };
        assert!(shown(&older).contains("begins"));
        let cut =
            RecordPage { is_cut: true, older: Some("00000001.5".to_owned()), ..found(Vec::new()) };
        let shown = results(&all, &cut).into_string();
        assert!(
            shown.contains("Go on searching") && !shown.contains("The journal is empty"),
            "{shown}"
        );
    }
}
