use anyhook_model::event::NativeCall;
use anyhook_model::json::any_leaf;
use proptest::prelude::*;
use regex::{Regex, RegexBuilder};
use serde_json::{Value, json};

use super::*;

mod expressions;

/// The reference matcher: compiles immediately and uses no literals. What it says is right.
#[derive(Default)]
struct Plain {
    tool: Option<Regex>,
    pattern: Option<Regex>,
}

impl Plain {
    fn set_tool(&mut self, expression: &str) -> Result<(), String> {
        compile(expression)?;
        let anchored = compile(&format!("^(?i:{expression})$"))
            .or_else(|_| compile(&format!("^(?i:{expression}\n)$")))?;
        self.tool = Some(anchored);
        Ok(())
    }

    fn set_pattern(&mut self, expression: &str) -> Result<(), String> {
        self.pattern = Some(compile(expression)?);
        Ok(())
    }

    fn mismatch(&self, call: &ToolCall) -> Option<SkipReason> {
        let native = call.native.as_ref();
        if let Some(tool) = &self.tool {
            let is_meant = |name: &str| {
                let mut known =
                    tools::TOOLS.iter().filter(|known| known.name.eq_ignore_ascii_case(name));
                tool.is_match(name)
                    || known.any(|known| known.names.iter().any(|(own, _)| tool.is_match(own)))
            };
            if !call.names().any(is_meant) {
                return Some(SkipReason::Tool);
            }
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

fn compile(expression: &str) -> Result<Regex, String> {
    Regex::new(expression).map_err(|error| {
        let text = error.to_string();
        text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
    })
}

fn call(name: &str, input: Value) -> ToolCall {
    ToolCall::new(name, input)
}

fn tool(expression: &str, name: &str) -> bool {
    let mut matcher = Matcher::default();
    matcher.set_tool(expression).unwrap();
    matcher.mismatch(&call(name, json!({}))).is_none()
}

fn pattern(expression: &str, input: Value) -> bool {
    let mut matcher = Matcher::default();
    matcher.set_pattern(expression).unwrap();
    matcher.mismatch(&call("Shell", input)).is_none()
}

#[test]
fn tool_is_the_whole_name_as_a_group() {
    assert!(tool("Shell", "Shell"));
    assert!(!tool("Shell", "PowerShellX"));
    assert!(tool("Shell", "shell"));
    assert!(tool("Read|Write", "Write"));
    assert!(!tool("Deploy|Ship", "DeployAll"));
    assert!(tool("mcp__.*", "mcp__a__b"));
    assert!(tool("(?x) Shell # comment", "Shell"));
}

#[test]
fn an_agents_own_name_means_the_tool_in_every_agent() {
    for name in ["Shell", "shell", "Bash", "run_shell_command", "BASH", "exec_.*", "(?i)bash"] {
        assert!(tool(name, "Shell"), "{name}");
    }
    assert!(tool("Write|Edit", "WriteFile") && tool("Write|Edit", "EditFile"));
    assert!(!tool("Write|Edit", "DeleteFile"));
    // A specialized tool matches only its own name.
    assert!(!tool("Monitor", "Shell") && !tool("NotebookEdit", "EditFile"));
    let mut monitor = call("Shell", json!({}));
    monitor.native = Some(NativeCall { tool_name: "Monitor".to_owned(), tool_input: json!({}) });
    let mut matcher = Matcher::default();
    for name in ["Monitor", "monitor", "Bash"] {
        matcher.set_tool(name).unwrap();
        assert_eq!(matcher.mismatch(&monitor), None, "{name}");
    }
    assert!(!tool("(?-i:deploy)", "Deploy"), "who asks for the case gets it");
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
    let mut matcher = Matcher::default();
    matcher.set_tool("Bash").unwrap();
    matcher.set_pattern("^native$").unwrap();
    assert_eq!(matcher.mismatch(&both), None);
    assert!(matcher.may_match(&both, &CallTexts::of(&both)));
}

#[test]
fn expressions_that_explode_elsewhere_do_not_here() {
    assert!(!pattern("(a+)+$", json!({"command": "a".repeat(100_000) + "b"})));
    assert!(Matcher::default().set_pattern("((a{1000}){1000}){1000}").is_err());
    assert!(Matcher::default().set_tool("a)|(b").is_err());
}

#[test]
fn an_expression_is_compiled_when_a_text_holds_what_it_needs() {
    let expression = Expression::anywhere(r"rm\s+-rf?").unwrap();
    assert!(!expression.is_match("ls -l"));
    assert!(!expression.is_compiled());
    assert!(!expression.is_match("form"));
    assert!(expression.is_compiled());

    for plain in ["mkfs", "mkfs|dd if=", "(?i)rm", r"\.env"] {
        let expression = Expression::anywhere(plain).unwrap();
        assert!(expression.is_match("mkfs dd if= RM .env"), "{plain}");
        assert!(!expression.is_compiled(), "{plain}");
    }
}

#[test]
fn a_walk_that_takes_too_long_is_not_taken() {
    let hir = |expression: &str| regex_syntax::parse(expression).unwrap();
    let text = "a".repeat(1000);
    assert_eq!(walk::is_match(&hir("(a+)+b"), &text), Some(false));
    assert_eq!(walk::is_match(&hir("a{1000}$"), &text), None);
    assert_eq!(walk::is_match(&hir("(?:(?:(?:a?){9}b?){9}c?){99}$"), &text), None);
    assert!(pattern("a{1000}$", json!({"command": text})));
    assert!(!pattern("^a{999}$", json!({"command": text})));
}

#[test]
fn long_texts_are_matched_too() {
    let long = |end: &str| json!({"command": "é ".repeat(2000) + end});
    assert!(pattern(r"rm\s+-rf?", long("rm  -r")));
    assert!(!pattern(r"rm\s+-rf?", long("rm  r")));
}

#[test]
fn a_text_that_cannot_be_compiled_keeps_its_guard() {
    let lost =
        Expression::trusted("(".to_owned(), RequiredLiterals::Nothing, MatchExtent::Anywhere);
    assert!(lost.is_match("anything"));
}

fn needs(expression: &str) -> RequiredLiterals {
    Expression::anywhere(expression).unwrap().needs().clone()
}

fn of(literals: &[&str]) -> Vec<String> {
    literals.iter().map(|literal| (*literal).to_owned()).collect()
}

#[test]
fn guards_need_their_words() {
    for (expression, literals) in [
        (r"rm\s+-rf?", &["rm"][..]),
        (r"\brm\b.*-[a-z]*r", &["rm"]),
        (
            r"(?i)drop\s+(table|database)",
            &[
                "DROP", "DROp", "DRoP", "DRop", "DrOP", "DrOp", "DroP", "Drop", "dROP", "dROp",
                "dRoP", "dRop", "drOP", "drOp", "droP", "drop",
            ],
        ),
        (r"\.env$", &[".env"]),
        (r"git push.*--force", &["git push"]),
        (r"curl[^|]*\|\s*(ba)?sh", &["curl"]),
        (r"(?i:k)8s-?\w+", &["K8s", "k8s", "\u{212a}8s"]),
        (r"^(npm|yarn|pnpm) ", &["npm ", "yarn "]),
        (r"(https?://)[^ ]+@", &["http://", "https://"]),
        (r"(?s)a.*b{2,}", &["a"]),
        (r"x(ab|cd)*yz", &["yz"]),
    ] {
        assert_eq!(needs(expression), RequiredLiterals::AnyOf(of(literals)), "{expression}");
    }
    for nothing in [r"\d+", r"a*", r"(?m)^$", r"a|.*", r"(foo)?", r"\w@\w|b?", r"(?x) # nothing"] {
        assert!(!matches!(needs(nothing), RequiredLiterals::AnyOf(_)), "{nothing}");
    }
    assert_eq!(needs("mkfs|dd if=|xmkfs"), RequiredLiterals::Exactly(of(&["mkfs", "dd if="])));
    assert_eq!(needs(r"\$\{HOME\}"), RequiredLiterals::Exactly(of(&["${HOME}"])));
    assert_eq!(needs("a|"), RequiredLiterals::Exactly(of(&[""])));
    assert_eq!(needs("[a&&b]"), RequiredLiterals::Exactly(of(&[])));
}

#[test]
fn tools_are_mostly_names() {
    let needs = |expression: &str| Expression::whole(expression).unwrap().needs().clone();
    assert_eq!(needs("Shell"), RequiredLiterals::Exactly(of(&["Shell"])));
    assert_eq!(needs("^Edit|Write$"), RequiredLiterals::AnyOf(of(&["Edit", "Write"])));
    assert_eq!(needs("^(Edit|Write)$"), RequiredLiterals::Exactly(of(&["Edit", "Write"])));
    assert_eq!(
        needs("(?x) Edit | Write # both"),
        RequiredLiterals::Exactly(of(&["Edit", "Write"]))
    );
    assert_eq!(
        needs("Multi(Edit)?|Edit"),
        RequiredLiterals::Exactly(of(&["Edit", "Multi", "MultiEdit"]))
    );
    assert_eq!(needs("mcp__.*"), RequiredLiterals::AnyOf(of(&["mcp__"])));
    assert_eq!(needs(".*"), RequiredLiterals::Nothing);
    assert_eq!(needs(r"(?m)^Shell$"), RequiredLiterals::AnyOf(of(&["Shell"])));
}

#[test]
fn what_the_plain_matcher_refuses_is_refused_with_the_same_words() {
    for expression in expressions::NASTY {
        same_readings(expression);
    }
    for expression in [
        "a".repeat(70_000),
        "é|".repeat(200),
        "(".repeat(249) + "a" + &")".repeat(249),
        "(".repeat(251) + "a" + &")".repeat(251),
        (0..200).fold(String::new(), |list, word| format!("{list}w{word}|")),
        "(?x) a #".to_owned() + &")".repeat(300),
    ] {
        same_readings(&expression);
    }
}

/// Both matchers accept the expression, or reject it with the same message.
fn same_readings(expression: &str) {
    let readings =
        (Matcher::default().set_tool(expression), Matcher::default().set_pattern(expression));
    let plain = (Plain::default().set_tool(expression), Plain::default().set_pattern(expression));
    assert_eq!(readings, plain, "{expression:.100}");
}

/// Both matchers give the same answer for the call, whatever has been asked before.
fn same_answers(tool: Option<&str>, pattern: Option<&str>, calls: &[ToolCall]) {
    let (mut matcher, mut plain) = (Matcher::default(), Plain::default());
    if let Some(tool) = tool {
        assert_eq!(matcher.set_tool(tool), plain.set_tool(tool), "tool {tool:?}");
    }
    if let Some(pattern) = pattern {
        assert_eq!(matcher.set_pattern(pattern), plain.set_pattern(pattern), "pattern {pattern:?}");
    }
    // A stored expression has compiled nothing yet.
    let stored = |expression: &Expression| {
        let (text, needs) = (expression.text().to_owned(), expression.needs().clone());
        Expression::trusted(text, needs, expression.extent())
    };
    let again = Matcher::from_parts(matcher.tool().map(stored), matcher.pattern().map(stored));
    for call in calls.iter().rev() {
        assert_eq!(again.mismatch(call), plain.mismatch(call), "{tool:?} {pattern:?} {call:?}");
    }
    for call in calls {
        let right = plain.mismatch(call);
        let about = || {
            format!(
                "tool {tool:?}, pattern {pattern:?}, needs {:?} and {:?}, call {call:?}",
                matcher.tool().map(Expression::needs),
                matcher.pattern().map(Expression::needs),
            )
        };
        let may_match = matcher.may_match(call, &CallTexts::of(call));
        assert!(may_match || right.is_some(), "may not match: {}", about());
        if matches!(
            matcher.pattern().map(Expression::needs),
            None | Some(RequiredLiterals::Exactly(_))
        ) {
            assert_eq!(may_match, right.is_none(), "{}", about());
        }
        assert_eq!(matcher.mismatch(call), right, "{}", about());
    }
}

/// A call with the texts in several places.
fn call_of(name: &str, texts: &[String]) -> ToolCall {
    let mut made = call(name, json!({"command": texts.first(), "more": [texts.get(1), 5, true]}));
    if let Some(text) = texts.get(2) {
        made.native = Some(NativeCall {
            tool_name: format!("native_{name}"),
            tool_input: json!({"deep": {"er": [text]}}),
        });
    }
    made
}

proptest! {
    #[test]
    fn generated_hooks_and_events(
        (tool, names) in expressions::with_texts(),
        (pattern, texts) in expressions::with_texts(),
    ) {
        let named: Vec<_> = names.iter().map(|name| call_of(name, &texts)).collect();
        let mut calls: Vec<_> =
            texts.iter().map(|text| call_of("Shell", std::slice::from_ref(text))).collect();
        calls.push(call_of("Shell", &texts));
        same_readings(&tool);
        same_readings(&pattern);
        let tool = Some(&*tool).filter(|tool| compile(tool).is_ok());
        let pattern = Some(&*pattern).filter(|pattern| compile(pattern).is_ok());
        same_answers(tool, None, &named);
        same_answers(None, pattern, &calls);
    }

    #[test]
    fn any_text_as_an_expression(expression in expressions::scribble(), text in expressions::scribble()) {
        same_readings(&expression);
        if compile(&expression).is_ok() {
            let calls = [call_of(&text, std::slice::from_ref(&text)), call_of(&expression, std::slice::from_ref(&expression))];
            same_answers(Some(&*expression), Some(&*expression), &calls);
        }
    }

    #[test]
    fn nothing_compiles_to_more_than_is_foretold((expression, _) in expressions::with_texts()) {
        // Nothing relies on expressions that are predicted to be large.
        let limit = regex_syntax::parse(&expression).map(|hir| size::upper_bound(&hir));
        if let Ok(limit) = limit && limit < 32 << 20 {
            prop_assert!(
                RegexBuilder::new(&expression).size_limit(limit).build().is_ok()
                    || Regex::new(&expression).is_err(),
                "{expression:?} is foretold {limit}",
            );
        }
    }

    #[test]
    fn a_plain_text_is_read_as_by_the_parser(expression in "[a-z |é#&~-]{0,12}") {
        for extent in [MatchExtent::Whole, MatchExtent::Anywhere] {
            let text = match extent {
                MatchExtent::Whole => format!("^(?:{expression})$"),
                MatchExtent::Anywhere => expression.clone(),
            };
            let plain = RequiredLiterals::of_plain(&expression, extent);
            // A class of more letters than a letter has cases is not expanded.
            let parsed = RequiredLiterals::of(&regex_syntax::parse(&text).unwrap(), extent);
            prop_assert!(plain == Some(parsed.clone()) || !matches!(parsed, RequiredLiterals::Exactly(_)));
            prop_assert!(plain.is_some());
        }
    }

    #[test]
    fn leaves_hold_what_their_texts_hold(
        texts in proptest::collection::vec("[ab\u{e9}\u{1f600}\"\\\\\n/]{0,12}", 0..5),
        literals in proptest::collection::vec("[abc\u{e9}\u{1f600}\"\\\\\n]{0,3}", 0..4),
        padding in prop_oneof![Just(0_usize), Just(20_000)],
        written in proptest::collection::vec(0..3_u8, 5),
    ) {
        let padding = "x".repeat(padding);
        let mut texts = texts;
        texts.iter_mut().take(1).for_each(|text| text.push_str(&padding));
        let right = literals.iter().any(|literal| texts.iter().any(|text| text.contains(literal)));
        let in_call = call("Shell", json!({"texts": texts}));
        let literals = || literals.iter().map(String::as_str);
        prop_assert_eq!(CallTexts::of(&in_call).contains_any(literals()), right);

        let raw: Vec<_> = texts.iter().zip(&written).map(|(text, form)| written_as(text, *form)).collect();
        let empty = call("Shell", Value::Null);
        let mut leaves = CallTexts::of(&empty);
        // Queries in between change nothing.
        prop_assert!(!leaves.contains_any(["ab"]));
        for raw in &raw {
            leaves.add_json_string(raw);
        }
        prop_assert_eq!(leaves.contains_any(literals()), right);

        let mut leaves = CallTexts::of(&empty);
        for text in &texts {
            leaves.add_text(text);
        }
        prop_assert_eq!(leaves.contains_any(literals()), right);
    }
}

/// Writes a text as the inside of a JSON string: escaped as little as possible, fully, or every
/// other character.
fn written_as(text: &str, form: u8) -> String {
    if form == 0 {
        let quoted = Value::from(text).to_string();
        return quoted[1..quoted.len() - 1].to_owned();
    }
    let mut written = String::new();
    for (at, character) in text.chars().enumerate() {
        if form == 1 || at % 2 == 0 || "\"\\\n".contains(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                written += &format!("\\u{unit:04x}");
            }
        } else {
            written.push(character);
        }
    }
    written
}

#[test]
fn numbers_and_booleans_are_leaves_in_their_json_form() {
    let made = call("Shell", json!({"n": 12.50, "yes": true, "none": null, "key": ""}));
    let leaves = CallTexts::of(&made);
    for held in ["12.5", "true", ""] {
        assert!(leaves.contains_any([held]), "{held}");
    }
    for absent in ["null", "none", "key", "false"] {
        assert!(!leaves.contains_any([absent]), "{absent}");
    }
    assert!(!CallTexts::of(&call("Shell", json!({"none": null}))).contains_any([""]));
}
