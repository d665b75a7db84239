//! The answer of a guard.

use serde_json::{Map, Value, json};

/// What is decided about the operation itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// A person decides, for this reason.
    Ask(String),
    /// It is blocked, for this reason.
    Deny(String),
}

/// What a guard answers. The default is no opinion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// What is decided; without it the operation continues as usual.
    pub decision: Option<Decision>,
    /// Fields to set in the tool's input.
    pub modified_input: Map<String, Value>,
    /// Text for the model.
    pub context: Option<String>,
    /// Text for the journal only.
    pub log: Option<String>,
}

impl Answer {
    /// Has no opinion.
    pub fn none() -> Self {
        Self::default()
    }

    /// Blocks.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self { decision: Some(Decision::Deny(reason.into())), ..Self::default() }
    }

    /// Lets a person decide.
    pub fn ask(reason: impl Into<String>) -> Self {
        Self { decision: Some(Decision::Ask(reason.into())), ..Self::default() }
    }

    /// Tells the model something.
    pub fn context(text: impl Into<String>) -> Self {
        Self { context: Some(text.into()), ..Self::default() }
    }

    /// Tells the journal something.
    pub fn log(text: impl Into<String>) -> Self {
        Self { log: Some(text.into()), ..Self::default() }
    }

    /// Returns the reason of a block.
    pub fn denied(&self) -> Option<&str> {
        match &self.decision {
            Some(Decision::Deny(reason)) => Some(reason),
            _ => None,
        }
    }

    /// Returns the object for standard output; `None` for no opinion. A block is told by the exit
    /// code and the reason on standard error.
    pub fn to_json(&self) -> Option<Value> {
        let mut object = Map::new();
        if let Some(Decision::Ask(reason)) = &self.decision {
            object.insert("decision".to_owned(), json!("ask"));
            object.insert("reason".to_owned(), json!(reason));
        }
        if !self.modified_input.is_empty() {
            object.insert("modified_input".to_owned(), json!(self.modified_input));
        }
        for (key, text) in [("additional_context", &self.context), ("log", &self.log)] {
            if let Some(text) = text {
                object.insert(key.to_owned(), json!(text));
            }
        }
        (!object.is_empty()).then_some(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_what_a_script_prints() {
        assert_eq!(Answer::none().to_json(), None);
        assert_eq!(Answer::deny("no").to_json(), None);
        assert_eq!(Answer::deny("no").denied(), Some("no"));
        let asked = Answer { context: Some("more".to_owned()), ..Answer::ask("why") };
        let wanted = json!({"decision": "ask", "reason": "why", "additional_context": "more"});
        assert_eq!(asked.to_json(), Some(wanted));
        assert_eq!(Answer::log("seen").to_json(), Some(json!({"log": "seen"})));
    }
}
