//! Questions to the person: the tool `question`.
//!
//! Seen with 1.18.33: it tells plugins of its dialog and takes an answer by its own interface: for
//! each question the labels that were chosen, or other words.

use anyhook_model::inquiry::{AgentQuestion, QuestionAnswer};
use anyhook_model::json::Object;
use anyhook_model::{Event, ToolCall};
use serde_json::{Value, json};

use crate::question::{self, Form};

/// The tool.
pub(super) const TOOL: &str = "question";

const FORM: Form = Form { multiple: "multiple", free_text: Some("custom") };

/// Returns the questions of a call; none if one of them cannot be read.
pub(super) fn questions(call: &ToolCall) -> Vec<AgentQuestion> {
    if call.name == TOOL { question::read(call, FORM) } else { Vec::new() }
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
    use super::*;

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
