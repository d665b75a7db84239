//! Questions to the user: the tool `question`.
//!
//! Observed with 1.18.33: it reports its dialog to plugins and accepts an answer through its own
//! interface: for each question the labels that were chosen, or free text.

use anyhook_model::approval_request::{AgentQuestion, QuestionAnswer};
use anyhook_model::json::Object;
use anyhook_model::{Event, ToolCall};
use serde_json::{Value, json};

use crate::question::{self, QuestionForm};

/// The tool.
pub(crate) const TOOL: &str = "question";

const FORM: QuestionForm = QuestionForm { multiple: "multiple", free_text: Some("custom") };

/// Returns the questions of a call; empty if one of them cannot be parsed.
pub(super) fn questions(call: &ToolCall) -> Vec<AgentQuestion> {
    question::of_tool(call, TOOL, FORM)
}

/// Returns how many questions an event asks.
pub(super) fn count(event: &Event) -> usize {
    let tool = event.tool.as_ref().filter(|tool| tool.name == TOOL);
    let asked = tool.and_then(|tool| tool.input.get("questions")?.as_array());
    asked.map_or(0, Vec::len)
}

/// Returns the answers as a part of the call's input.
pub(super) fn answered(answers: &[QuestionAnswer]) -> Object {
    let answers: Vec<Value> = answers.iter().map(|one| json!(one.answer)).collect();
    Object::from_iter([("answers".to_owned(), Value::from(answers))])
}

#[cfg(test)]
mod tests {
    use anyhook_model::{Caller, Effect, EventKind, Verdict};

    use super::*;

    #[test]
    fn a_question_is_asked_by_its_dialog_where_its_call_is_not_known() {
        let question =
            json!({"question": "Build it?", "options": [{"label": "Yes"}], "custom": false});
        let payload = json!({
            "hook": "question.asked",
            "input": {"tool": "plan_exit", "sessionID": "s", "callID": "c", "args": {}},
            "event": {"properties": {"id": "que_1", "sessionID": "s", "questions": [question]}},
        });
        let caller = Caller::new("/p", jiff::Timestamp::UNIX_EPOCH);
        let events = super::super::decode::decode(
            &super::super::FLAVOUR,
            payload.to_string().as_bytes(),
            &caller,
        )
        .unwrap();
        assert_eq!((events.len(), &events[0].kind), (1, &EventKind::PermissionRequest));
        let asked = questions(events[0].tool.as_ref().unwrap());
        assert_eq!((asked[0].text.as_str(), asked[0].free_text), ("Build it?", false));
        let declines = Verdict {
            effect: Some(Effect::Deny),
            reason: Some("ann declined to answer".to_owned()),
            ..Verdict::default()
        };
        let reply = super::super::encode::encode(&super::super::FLAVOUR, &events[0], &declines);
        assert_eq!(reply.stdout, "{\"answers\": [[\"ann declined to answer\"]]}\n");
    }

    #[test]
    fn answers_are_in_the_order_of_the_questions() {
        let answer = |answer: &[&str]| QuestionAnswer {
            question: "Which?".to_owned(),
            answer: answer.iter().map(|&text| text.to_owned()).collect(),
        };
        let input = answered(&[answer(&["red"]), answer(&["a", "b"])]);
        assert_eq!(json!(input), json!({"answers": [["red"], ["a", "b"]]}));
    }
}
