use super::*;

fn said(text: &str) -> Option<ReviewerOpinion> {
    opinion(&ToolAnswer { text: text.to_owned(), structured: None })
}

fn tool(schema: Value) -> ServerTool {
    ServerTool { name: "ask".to_owned(), description: String::new(), input_schema: schema }
}

fn at() -> Timestamp {
    "2025-12-02T15:45:00Z".parse().unwrap()
}

fn failed(reason: &str) -> Result<ReviewerOpinion, ServerFailure> {
    Err(ServerFailure { reason: reason.to_owned(), hint: String::new() })
}

#[test]
fn an_opinion_is_found_in_data_and_among_words() {
    let data = json!({"verdict": "needs_changes", "concerns": ["no limit", {"id": 5}]});
    let expected = ReviewerOpinion {
        verdict: ReviewVerdict::NeedsChanges,
        concerns: vec!["no limit".to_owned(), "{\"id\":5}".to_owned()],
        suggestions: Vec::new(),
    };
    let answer = ToolAnswer { text: "see the data".to_owned(), structured: Some(data.clone()) };
    assert_eq!(opinion(&answer), Some(expected.clone()));
    assert_eq!(said(&data.to_string()), Some(expected.clone()));
    let words = format!("I looked at {{it}} and {{\"a\": 1}}.\n```json\n{data:#}\n```\nBye {{");
    assert_eq!(said(&words), Some(expected));
    let loose =
        said(r#"{"verdict": "Approve with notes", "suggestions": "cache", "concerns": ""}"#);
    let loose = loose.unwrap();
    assert_eq!(loose.verdict, ReviewVerdict::ApproveWithNotes);
    assert_eq!((loose.concerns, loose.suggestions), (vec![], vec!["cache".to_owned()]));
}

#[test]
fn what_nobody_would_read_is_left_out() {
    let concerns: Vec<String> =
        (0..500).map(|number| format!("{number} {}", "é".repeat(9000))).collect();
    let data =
        json!({"verdict": "reject", "concerns": concerns, "suggestions": ["", " ", null, 7]});
    let said = said(&data.to_string()).unwrap();
    assert_eq!((said.concerns.len(), said.concerns[0].chars().count()), (MOST, LONGEST + 1));
    assert_eq!(said.suggestions, ["7"]);
}

#[test]
fn without_a_verdict_there_is_no_opinion() {
    for text in
        ["", "looks good to me", "{}", r#"{"verdict": "maybe"}"#, "{{{{", "{\"verdict\": 5}"]
    {
        assert_eq!(said(text), None, "{text}");
    }
    assert_eq!(said(&"{".repeat(1 << 20)), None);
    assert_eq!(said(&"{\"a\":".repeat(1 << 18)), None);
}

#[test]
fn the_text_goes_where_the_tool_takes_it() {
    let ask = |schema: Value, argument: Option<&str>| {
        let reviewer = Reviewer { tool: None, argument: argument.map(str::to_owned) };
        arguments(&tool(schema), &reviewer, "T")
    };
    let schema = json!({"properties": {"model": {}, "prompt": {}}, "required": ["model"]});
    assert_eq!(ask(schema.clone(), None), json!({"prompt": "T"}));
    assert_eq!(ask(schema, Some("model")), json!({"model": "T"}));
    let schema = json!({"properties": {"document": {}}, "required": ["document"]});
    assert_eq!(ask(schema, None), json!({"document": "T"}));
    assert_eq!(ask(json!({}), None), json!({"prompt": "T"}));
    assert!(request("a.json", "{\"x\": 1}").ends_with("\n\n{\"x\": 1}"));
}

#[test]
fn a_review_is_made_of_what_came() {
    let opinion = ReviewerOpinion {
        verdict: ReviewVerdict::ApproveWithNotes,
        concerns: vec!["rate limits".to_owned()],
        suggestions: vec!["a cache".to_owned()],
    };
    let made = review("architecture-handover-packet.json", "gemini", &Ok(opinion), at());
    assert_eq!(
        serde_json::to_value(&made).unwrap(),
        json!({
            "scope": "architecture-handover-packet.json", "reviewer": "gemini",
            "status": "reviewed", "concerns": ["rate limits"], "suggestions": ["a cache"],
            "verdict": "approve_with_notes", "reviewed_at": "2025-12-02T15:45:00Z",
        })
    );
    let made = review("a.json", "gemini", &failed("it cannot be reached"), at());
    assert_eq!((made.status, made.verdict), (OpinionStatus::Unavailable, None));
    assert_eq!(made.reason.as_deref(), Some("it cannot be reached"));
}

#[test]
fn reviews_of_several_artifacts_are_one() {
    let opinion = |verdict, concern: &str| {
        let (concerns, suggestions) = (vec![concern.to_owned()], vec!["a cache".to_owned()]);
        Ok(ReviewerOpinion { verdict, concerns, suggestions })
    };
    let of = |scope: &str, opinion: &Result<ReviewerOpinion, ServerFailure>| {
        review(scope, "gemini", opinion, at())
    };
    let one = of("a.json", &opinion(ReviewVerdict::Approve, "none"));
    let other = of("b.json", &opinion(ReviewVerdict::NeedsChanges, "no limit"));
    let gone = of("c.json", &failed("it ended"));
    assert_eq!(together(vec![]), None);
    assert_eq!(together(vec![one.clone()]), Some(one.clone()));
    let both = together(vec![one.clone(), other]).unwrap();
    assert_eq!(
        (both.scope.as_str(), both.verdict),
        ("a.json, b.json", Some(ReviewVerdict::NeedsChanges))
    );
    assert_eq!(both.concerns, ["a.json: none", "b.json: no limit"]);
    assert_eq!(both.suggestions, ["a.json: a cache", "b.json: a cache"]);
    let partly = together(vec![gone.clone(), one]).unwrap();
    assert_eq!((partly.status, partly.reason), (OpinionStatus::Reviewed, None));
    assert_eq!(partly.verdict, Some(ReviewVerdict::ApproveWithNotes), "one was not looked at");
    assert_eq!(partly.concerns, ["a.json: none", "c.json: it ended"]);
    let none = together(vec![gone.clone(), gone]).unwrap();
    assert_eq!((none.status, none.verdict), (OpinionStatus::Unavailable, None));
    assert_eq!(none.reason.as_deref(), Some("c.json: it ended; c.json: it ended"));
}
