//! Documentation and second opinions, from scripted servers with the tools of the real ones.

use std::time::Duration;

use anyhook_mcp::context7::{self, Context7Tools, DocumentationReport};
use anyhook_mcp::second_opinion::{self, ReviewVerdict, Reviewer};
use anyhook_mcp::{Server, context7::DocumentationStatus};
use jiff::Timestamp;

use crate::{LONG, SHORT, Scripted, limits};

fn now() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

fn refresh(server: &Server, topics: &[&str], deadline: Duration) -> Vec<DocumentationReport> {
    let topics: Vec<String> = topics.iter().map(|topic| (*topic).to_owned()).collect();
    context7::refresh(server, &Context7Tools::default(), &topics, &limits(deadline), &now)
}

#[test]
fn documentation_is_fetched_from_older_and_newer_servers() {
    for (version, arguments) in [
        (
            "older",
            r#"{"context7CompatibleLibraryID": "/vercel/next.js", "topic": "Next.js App Router", "tokens": 2000}"#,
        ),
        ("newer", r#"{"libraryId": "/vercel/next.js", "query": "Next.js App Router"}"#),
    ] {
        let scripted = Scripted::new(version);
        let reports = refresh(&scripted.server, &["Next.js App Router", "/nuxt/nuxt"], LONG);
        assert_eq!(reports.len(), 2);
        assert_eq!(reports[0].status, DocumentationStatus::Fetched, "{reports:?}");
        assert_eq!(reports[0].library.as_deref(), Some("/vercel/next.js"));
        assert_eq!(reports[0].source_url.as_deref(), Some("https://nextjs.org/docs/app"));
        let summary = reports[0].summary.as_deref().unwrap();
        assert!(summary.ends_with(arguments), "{summary}");
        assert_eq!((reports[0].source.as_str(), reports[0].fetched_at), ("tester", Some(now())));
        assert_eq!(reports[1].library.as_deref(), Some("/nuxt/nuxt"));
        scripted.must_be_gone();
    }
}

#[test]
fn a_topic_that_fails_does_not_take_the_others_along() {
    let scripted = Scripted::new("newer");
    let reports = refresh(&scripted.server, &["nothing", "Nuxt"], LONG);
    assert_eq!(reports[0].status, DocumentationStatus::Unavailable);
    let error = reports[0].reason.as_deref().unwrap();
    assert!(error.contains("it has no library for `nothing`: No documentation"), "{error}");
    assert_eq!(reports[1].library.as_deref(), Some("/nuxt/nuxt"));
    assert_eq!(scripted.started(), 1);
}

#[test]
fn a_server_that_is_absent_or_another_makes_reports_that_say_so() {
    let absent = Server::stdio("context7", "/nowhere/context7", [""; 0]);
    let reports = refresh(&absent, &["react", "vue"], LONG);
    for report in &reports {
        assert_eq!(
            (report.status, report.summary.as_ref()),
            (DocumentationStatus::Unavailable, None)
        );
        assert!(report.reason.as_deref().unwrap().contains("cannot be started"), "{report:?}");
    }
    let silent = Scripted::new("silent");
    let reports = refresh(&silent.server, &["react", "vue", "svelte"], SHORT);
    assert_eq!(reports.len(), 3);
    assert!(reports.iter().all(|report| report.reason == reports[0].reason), "{reports:?}");
    assert_eq!(silent.started(), 1, "it was waited for once");
    let other = Scripted::new("normal");
    let reports = refresh(&other.server, &["react"], LONG);
    let error = reports[0].reason.as_deref().unwrap();
    assert!(error.ends_with("it has no tool `get-library-docs` or `query-docs`"), "{error}");
    other.must_be_gone();
}

#[test]
fn a_second_opinion_is_asked_for() {
    let scripted = Scripted::new("newer");
    let ask = |reviewer: &Reviewer, artifact: &str| {
        second_opinion::ask(&scripted.server, reviewer, "a.json", artifact, limits(LONG), &now)
    };
    let review = ask(&Reviewer::default(), "the artifact: 12345");
    assert_eq!(review.verdict, Some(ReviewVerdict::NeedsChanges));
    assert_eq!(review.concerns, ["12345"], "the whole text arrives");
    assert_eq!((review.scope.as_str(), review.reviewer.as_str()), ("a.json", "tester"));
    let review = ask(&Reviewer::default(), "no opinion");
    assert_eq!((review.status, review.verdict), (second_opinion::OpinionStatus::Unavailable, None));
    let error = review.reason.unwrap();
    assert!(error.ends_with("its answer has no verdict: I would rather not say."), "{error}");
    let unknown = Reviewer { tool: Some("ask-nobody".to_owned()), argument: None };
    let error = ask(&unknown, "x").reason.unwrap();
    assert!(error.ends_with("it has no tool `ask-nobody`"), "{error}");
    scripted.must_be_gone();
}
