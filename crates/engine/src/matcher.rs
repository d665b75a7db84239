//! Whether a hook's matcher fits a tool call.

use anyhook_model::json::any_leaf;
use anyhook_model::{SkipReason, ToolCall};
use regex::Regex;

/// A matcher's regular expressions, ready to use. The default matches every call.
#[derive(Clone, Debug, Default)]
pub struct CompiledMatcher {
    tool: Option<Regex>,
    pattern: Option<Regex>,
}

impl CompiledMatcher {
    /// Sets the expression for the whole tool name.
    pub fn set_tool(&mut self, expression: &str) -> Result<(), String> {
        // Compiled alone first: `a)|(b` must not become valid by being put in a group.
        compile(expression)?;
        let anchored = compile(&format!("^(?:{expression})$"))
            // In `(?x)` mode the expression may end in a comment, which a newline closes.
            .or_else(|_| compile(&format!("^(?:{expression}\n)$")))?;
        self.tool = Some(anchored);
        Ok(())
    }

    /// Sets the expression searched in the input's values.
    pub fn set_pattern(&mut self, expression: &str) -> Result<(), String> {
        self.pattern = Some(compile(expression)?);
        Ok(())
    }

    /// Returns why the call does not match, or `None` if it does.
    pub fn mismatch(&self, call: &ToolCall) -> Option<SkipReason> {
        let native = call.native.as_ref();
        if let Some(tool) = &self.tool
            && !tool.is_match(&call.name)
            && !native.is_some_and(|native| tool.is_match(&native.tool_name))
        {
            return Some(SkipReason::Tool);
        }
        if let Some(pattern) = &self.pattern {
            let mut found = |leaf: &str| pattern.is_match(leaf);
            if !any_leaf(&call.input, &mut found)
                && !native.is_some_and(|native| any_leaf(&native.tool_input, &mut found))
            {
                return Some(SkipReason::Pattern);
            }
        }
        None
    }
}

/// Compiles an expression; an error is its last line, which says what is wrong.
fn compile(expression: &str) -> Result<Regex, String> {
    Regex::new(expression).map_err(|error| {
        let text = error.to_string();
        text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
    })
}

#[cfg(test)]
mod tests {
    use anyhook_model::event::NativeCall;
    use serde_json::{Value, json};

    use super::*;

    fn call(name: &str, input: Value) -> ToolCall {
        ToolCall {
            name: name.to_owned(),
            input,
            use_id: None,
            files: Value::Null,
            native: None,
            fixed: None,
        }
    }

    fn tool(expression: &str, name: &str) -> bool {
        let mut matcher = CompiledMatcher::default();
        matcher.set_tool(expression).unwrap();
        matcher.mismatch(&call(name, json!({}))).is_none()
    }

    fn pattern(expression: &str, input: Value) -> bool {
        let mut matcher = CompiledMatcher::default();
        matcher.set_pattern(expression).unwrap();
        matcher.mismatch(&call("Shell", input)).is_none()
    }

    #[test]
    fn tool_is_the_whole_name_as_a_group() {
        assert!(tool("Shell", "Shell"));
        assert!(!tool("Shell", "PowerShellX"));
        assert!(!tool("Shell", "shell"));
        assert!(tool("Read|Write", "Write"));
        assert!(!tool("Read|Write", "WriteFile"));
        assert!(tool("mcp__.*", "mcp__a__b"));
        assert!(tool("(?x) Shell # comment", "Shell"));
    }

    #[test]
    fn pattern_searches_values_not_keys_nor_json() {
        assert!(pattern(r"\.py$", json!({"path": "a/b.py", "content": "x"})));
        assert!(pattern("^rm", json!({"command": "rm -rf /"})));
        assert!(!pattern("command", json!({"command": "ls"})));
        assert!(!pattern(r#"""#, json!({"command": "ls"})));
        assert!(pattern("^5$", json!({"n": [[{"deep": 5}]]})));
        assert!(pattern("^true$", json!({"flag": true})));
        assert!(!pattern("null", json!({"nothing": null})));
        assert!(!pattern(r"\.py$", json!({"path": "a.py\n"})), "`$` is the end of the value");
    }

    #[test]
    fn the_hosts_own_words_count_too() {
        let mut both = call("Shell", json!({"command": "ls"}));
        both.native =
            Some(NativeCall { tool_name: "Bash".to_owned(), tool_input: json!({"cmd": "native"}) });
        let mut matcher = CompiledMatcher::default();
        matcher.set_tool("Bash").unwrap();
        matcher.set_pattern("^native$").unwrap();
        assert_eq!(matcher.mismatch(&both), None);
    }

    #[test]
    fn expressions_that_explode_elsewhere_do_not_here() {
        assert!(!pattern("(a+)+$", json!({"command": "a".repeat(100_000) + "b"})));
        assert!(CompiledMatcher::default().set_pattern("((a{1000}){1000}){1000}").is_err());
        assert!(CompiledMatcher::default().set_tool("a)|(b").is_err());
    }
}
