use super::*;

const LIST: &str = "Available Libraries:

- Title: Next.js Commerce
- Context7-compatible library ID: /vercel/commerce
- Description: A template
----------
- Title: Next.js
- Context7-compatible library ID: /vercel/next.js
- Description: The React framework
- Versions: v14.3.0, v15.1.8";

fn tool(name: &str, properties: &Value) -> ServerTool {
    let input_schema = json!({"type": "object", "properties": properties});
    ServerTool { name: name.to_owned(), description: String::new(), input_schema }
}

fn at() -> Timestamp {
    "2025-12-02T15:30:00Z".parse().unwrap()
}

#[test]
fn the_library_that_the_topic_names_is_taken_and_no_other() {
    assert_eq!(library_in(LIST, "Next.js App Router").as_deref(), Some("/vercel/next.js"));
    assert_eq!(library_in(LIST, "next.js").as_deref(), Some("/vercel/next.js"));
    assert_eq!(library_in(LIST, "nextjs").as_deref(), Some("/vercel/commerce"));
    assert_eq!(library_in(LIST, "commerce templates").as_deref(), Some("/vercel/commerce"));
    assert_eq!(library_in(LIST, "react server components"), None, "the first is no match");
    assert_eq!(library_in(LIST, "postgres"), None);
    let database = "- Title: PostgreSQL\n- Context7-compatible library ID: /postgres/postgres";
    assert_eq!(library_in(database, "postgres").as_deref(), Some("/postgres/postgres"));
    assert_eq!(library_in(database, "go"), None, "a short word is no beginning of another");
    assert_eq!(library_in("No documentation libraries found matching your query.", "x"), None);
    assert_eq!(library_in("- Context7-compatible library ID: none", "x"), None);
    assert!(is_library("/vercel/next.js") && is_library("/vercel/next.js/v14.3.0"));
    assert!(!is_library("next.js") && !is_library("/next") && !is_library("/a/b c"));
}

#[test]
fn arguments_are_those_that_the_server_takes() {
    let older = tool("resolve-library-id", &json!({"libraryName": {}}));
    assert_eq!(resolve_arguments(&older, "vue"), json!({"libraryName": "vue"}));
    let newer = tool("resolve-library-id", &json!({"libraryName": {}, "query": {}}));
    assert_eq!(resolve_arguments(&newer, "vue"), json!({"libraryName": "vue", "query": "vue"}));
    let older = json!({"context7CompatibleLibraryID": {}, "topic": {}, "tokens": {}});
    let older = tool("get-library-docs", &older);
    assert_eq!(
        documentation_arguments(&older, "/a/b", "vue"),
        json!({"context7CompatibleLibraryID": "/a/b", "topic": "vue", "tokens": TOKENS})
    );
    let newer = tool("query-docs", &json!({"libraryId": {}, "query": {}}));
    assert_eq!(
        documentation_arguments(&newer, "/a/b", "vue"),
        json!({"libraryId": "/a/b", "query": "vue"})
    );
}

#[test]
fn a_report_is_made_of_what_came() {
    let text = "### Routing\n\nSource: https://nextjs.org/docs/app (a page)\n\nKey APIs: useRouter";
    let documentation = Documentation { library: "/vercel/next.js".into(), text: text.into() };
    let report = report("Next.js App Router", "context7", &Ok(documentation), at());
    assert_eq!(
        serde_json::to_value(&report).unwrap(),
        json!({
            "topic": "Next.js App Router", "status": "fetched", "source": "context7",
            "library": "/vercel/next.js", "source_url": "https://nextjs.org/docs/app",
            "summary": text, "fetched_at": "2025-12-02T15:30:00Z",
        })
    );
}

#[test]
fn a_report_of_a_failure_says_why() {
    let failed = error("context7", ServerError::Unreachable("refused".to_owned()));
    let report = report("vue", "context7", &Err(failed.into()), at());
    assert!(report.hint.as_ref().unwrap().starts_with("start the server"), "{report:?}");
    assert_eq!(
        serde_json::to_value(&report).unwrap(),
        json!({
            "topic": "vue", "status": "unavailable", "source": "context7",
            "fetched_at": "2025-12-02T15:30:00Z",
            "reason": "the MCP server `context7`: it cannot be reached: refused",
        })
    );
}

#[test]
fn a_report_without_a_status_was_fetched() {
    let report: DocumentationReport = serde_json::from_value(json!({
        "topic": "Next.js App Router", "source": "context7",
        "source_url": "https://nextjs.org/docs/app",
        "summary": "Key APIs: useRouter, Link, redirect...",
        "fetched_at": "2025-12-02T15:30:00Z", "for_stage": "frontend_implementation",
    }))
    .unwrap();
    assert_eq!((report.status, report.reason), (DocumentationStatus::Fetched, None));
}

#[test]
fn a_summary_is_bounded_and_ends_with_a_line() {
    assert_eq!(summary(" short \n"), "short");
    let long = "a line of documentation é\n".repeat(1000);
    let short = summary(&long);
    assert!(short.len() <= SUMMARY + 5 && short.ends_with("documentation é\n…"));
    assert!(summary(&"é".repeat(SUMMARY)).ends_with("é\n…"));
}

#[test]
fn excuses_are_no_documentation() {
    assert!(is_documentation("### Title"));
    for excuse in ["", " \n", "Documentation not found or not finalized", "Error fetching library"]
    {
        assert!(!is_documentation(excuse), "{excuse}");
    }
}
