//! Templates: texts with references to values: `${var.x}`, `${local.x}`, `${NAME:-default}` and
//! others.

use super::finding::{Finding, Span};
use super::tree::NodeText;

/// A text with references to values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    /// The text as it was written.
    pub source: String,
    /// Its parts.
    pub pieces: Vec<TemplatePiece>,
    /// Its position.
    pub span: Span,
}

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplatePiece {
    /// Literal text.
    Text(String),
    /// A reference, and its position.
    Value(TemplateReference, Span),
}

/// A reference in a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplateReference {
    /// `${var.x}`: a variable of the pipeline.
    Variable(String),
    /// `${local.x}`: a text of the pipeline.
    Local(String),
    /// `${NAME}` or `${NAME:-default}`: the environment of the caller that starts the pipeline.
    Environment {
        /// The variable's name.
        name: String,
        /// The value if it is not set, or empty.
        default: Option<String>,
    },
    /// `${workspace.root}`: where the pipeline works.
    WorkspaceRoot,
    /// `${pipeline.id}`: the id of the run.
    PipelineId,
    /// `${pipeline.name}`: the pipeline's name.
    PipelineName,
    /// `${prompt}`: the agent's prompt, in its `run`.
    Prompt,
}

/// Which references a text may contain.
#[derive(Clone, Copy, Debug)]
pub struct TemplateScope {
    /// A description of the text, with its article.
    pub what: &'static str,
    /// Whether variables and locals are available.
    pub values: bool,
    /// Whether the workspace is available.
    pub workspace: bool,
    /// Whether there is a prompt.
    pub prompt: bool,
}

impl TemplateScope {
    /// For a variable's default, from which everything else is derived.
    pub const DEFAULT: Self =
        Self { what: "a variable's default", values: false, workspace: false, prompt: false };
    /// For a local.
    pub const LOCAL: Self = Self { what: "a local", values: true, workspace: false, prompt: false };
    /// For the workspace itself.
    pub const WORKSPACE: Self =
        Self { what: "the workspace", values: true, workspace: false, prompt: false };
    /// For all other texts.
    pub const TEXT: Self = Self { what: "this text", values: true, workspace: true, prompt: false };
    /// For an agent's `run`.
    pub const AGENT: Self =
        Self { what: "an agent's `run`", values: true, workspace: true, prompt: true };

    /// Returns why a reference is not allowed here.
    fn refusal(self, reference: &TemplateReference) -> Option<(String, &'static str)> {
        let what = self.what;
        match reference {
            TemplateReference::Prompt if !self.prompt => Some((
                format!("`${{prompt}}` cannot be used in {what}"),
                "only an agent's `run` has a prompt; for a shell variable of that name, write `$prompt`",
            )),
            TemplateReference::WorkspaceRoot if !self.workspace => Some((
                format!("`${{workspace.root}}` is not known yet in {what}"),
                "use it directly in a step, a prompt or a message",
            )),
            TemplateReference::Variable(_) | TemplateReference::Local(_) if !self.values => Some((
                format!("variables and locals are not known yet in {what}"),
                "a default is a string, or `${NAME}` from the environment; to combine variables, use a local",
            )),
            _ => None,
        }
    }
}

impl Template {
    /// Reads a text. What cannot be read is reported and left as it is.
    pub fn read(
        text: &NodeText,
        span: std::ops::Range<usize>,
        scope: TemplateScope,
    ) -> (Self, Vec<Finding>) {
        let mut findings = Vec::new();
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text.text.as_str();
        // The number of `${` so far, to find the position of the next.
        let mut seen = 0;
        while let Some(at) = rest.find("${") {
            let (before, found) = rest.split_at(at);
            let mark = text.marks.get(seen).copied();
            seen += 1;
            if let Some(before) = before.strip_suffix('$') {
                plain.push_str(before);
                plain.push_str("${");
                rest = &found[2..];
                continue;
            }
            plain.push_str(before);
            let Some(length) = found.find('}').map(|end| end + 1) else {
                // No later one is closed either.
                let place = mark.map_or(span.clone(), |mark| mark..mark + 2);
                findings.push(malformed("`${` is not closed by a `}`").at(place));
                break;
            };
            let place = mark.map_or(span.clone(), |mark| mark..(mark + length).min(span.end));
            let inner = &found[2..length - 1];
            let (reference, wrong) = read_reference(inner);
            findings.extend(wrong.into_iter().map(|finding| finding.at(place.clone())));
            if let Some(reference) = reference {
                if let Some((message, hint)) = scope.refusal(&reference) {
                    findings.push(Finding::error("not-here", message).at(place.clone()).hint(hint));
                }
                if !plain.is_empty() {
                    pieces.push(TemplatePiece::Text(std::mem::take(&mut plain)));
                }
                pieces.push(TemplatePiece::Value(reference, place.into()));
            }
            seen += inner.matches("${").count();
            rest = &found[length..];
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(TemplatePiece::Text(plain));
        }
        (Self { source: text.text.clone(), pieces, span: span.into() }, findings)
    }

    /// Returns the references, and their positions.
    pub fn references(&self) -> impl Iterator<Item = (&TemplateReference, &Span)> {
        self.pieces.iter().filter_map(|piece| match piece {
            TemplatePiece::Text(_) => None,
            TemplatePiece::Value(reference, span) => Some((reference, span)),
        })
    }

    /// Returns the text if it has no references.
    pub fn as_plain(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [TemplatePiece::Text(text)] => Some(text),
            _ => None,
        }
    }
}

const NAMES: [&str; 6] =
    ["var.…", "local.…", "workspace.root", "pipeline.id", "pipeline.name", "prompt"];

/// Reports a malformed reference.
fn malformed(message: impl Into<String>) -> Finding {
    Finding::error("template", message)
        .hint("write `$${` for a literal `${`, and shell variables as `$name`")
}

/// Reads the text between `${` and `}`, as far as it is valid, and reports what is wrong with it.
fn read_reference(inner: &str) -> (Option<TemplateReference>, Vec<Finding>) {
    if inner.contains("${") {
        return (None, vec![malformed("a `${…}` cannot contain another one")]);
    }
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name.trim(), Some(default)),
        None => (inner.trim(), None),
    };
    let mut findings = Vec::new();
    let reference = match name.split_once('.') {
        Some(("var", name)) if is_name(name) => Some(TemplateReference::Variable(name.to_owned())),
        Some(("local", name)) if is_name(name) => Some(TemplateReference::Local(name.to_owned())),
        Some(("workspace", "root")) => Some(TemplateReference::WorkspaceRoot),
        Some(("pipeline", "id")) => Some(TemplateReference::PipelineId),
        Some(("pipeline", "name")) => Some(TemplateReference::PipelineName),
        Some((one, other)) if is_name(one) && is_name(other) => {
            findings.push(unknown(name));
            None
        }
        None if name == "prompt" => Some(TemplateReference::Prompt),
        None if is_variable(name) => {
            let default = default.map(str::to_owned);
            let reference = TemplateReference::Environment { name: name.to_owned(), default };
            return (Some(reference), findings);
        }
        _ => {
            findings.push(malformed(format!("`${{{inner}}}` is not a valid reference")));
            return (None, findings);
        }
    };
    if default.is_some() {
        let message = format!("only environment variables can have a default here, not `{name}`");
        let hint = "set a variable's default in `vars`: `name = \"default\"`";
        findings.push(Finding::error("template", message).hint(hint));
    }
    (reference, findings)
}

/// Reports an unknown value.
fn unknown(name: &str) -> Finding {
    let hint = format!("available: {}, and environment variables: `${{NAME}}`", NAMES.join(", "));
    Finding::error("unknown-value", format!("there is no `{name}`")).hint(hint)
}

/// Returns whether a word can be the name of a pipeline, a step, an agent or a value.
pub fn is_name(word: &str) -> bool {
    !word.is_empty()
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Returns whether a word can be the name of an environment variable.
pub fn is_variable(word: &str) -> bool {
    !word.starts_with(|first: char| first.is_ascii_digit())
        && !word.is_empty()
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
