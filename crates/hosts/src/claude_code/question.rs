//! Questions to the user: the tool `AskUserQuestion`.
//!
//! Observed with 2.1.325: the reply to its permission request may contain the answers as part of
//! the input, keyed by the text of each question; several are joined by a comma. Free text is
//! accepted as well.

use anyhook_model::ToolCall;
use anyhook_model::approval_request::{AgentQuestion, QuestionAnswer};
use anyhook_model::json::Object;
use serde_json::{Value, json};

use crate::question::{self, QuestionForm};

/// The tool.
pub(super) const TOOL: &str = "AskUserQuestion";

const FORM: QuestionForm = QuestionForm { multiple: "multiSelect", free_text: None };

/// Returns the questions of a call; empty if one of them cannot be parsed.
pub(super) fn questions(call: &ToolCall) -> Vec<AgentQuestion> {
    question::of_tool(call, TOOL, FORM)
}

/// Returns the answers as a part of the call's input.
pub(super) fn answered(answers: &[QuestionAnswer]) -> Object {
    let answers: Object = answers
        .iter()
        .map(|one| (one.question.clone(), Value::from(one.answer.join(", "))))
        .collect();
    Object::from_iter([("answers".to_owned(), json!(answers))])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded() -> ToolCall {
        let text = include_str!("fixtures/PermissionRequest-AskUserQuestion.json");
        let payload: Value = serde_json::from_str(text).unwrap();
        ToolCall::new(TOOL, payload["tool_input"].clone())
    }

    #[test]
    fn the_questions_of_a_recorded_call() {
        let questions = questions(&recorded());
        assert!(!questions.is_empty());
        for question in &questions {
            assert!(!question.text.is_empty() && question.options.len() > 1 && question.free_text);
        }
    }

    #[test]
    fn what_cannot_be_read_is_no_question() {
        let mut call = recorded();
        call.input["questions"][0]["options"][0]["label"] = json!(7);
        assert!(questions(&call).is_empty());
        assert!(questions(&ToolCall::new(TOOL, json!({}))).is_empty());
        assert!(questions(&ToolCall::new("Shell", recorded().input)).is_empty());
    }

    #[test]
    fn answers_are_named_by_their_question() {
        let answer = |question: &str, answer: &[&str]| QuestionAnswer {
            question: question.to_owned(),
            answer: answer.iter().map(|&text| text.to_owned()).collect(),
        };
        let input = answered(&[answer("Which?", &["red"]), answer("What else?", &["a", "b"])]);
        assert_eq!(json!(input), json!({"answers": {"Which?": "red", "What else?": "a, b"}}));
    }
}
