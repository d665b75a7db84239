//! Runbooks: definitions of pipelines and agents, in HCL or TOML.
//!
//! ```text
//! text ──hcl, toml──▶ tree ──read──▶ Runbook ──check──▶ findings
//!                                       └──────plan──▶ PipelinePlan
//! ```
//!
//! Both formats become the same tree, so that everything after it exists once. Nothing here reads a
//! file or the environment: the caller that asks for a plan provides both.

use std::collections::HashSet;

mod check;
mod definition;
mod duplicates;
pub(crate) mod finding;
mod hcl;
mod plan;
mod read;
mod shell;
mod template;
mod toml;
pub(crate) mod tree;

pub use check::circles;
pub use definition::{
    AgentDefinition, LocalDefinition, NotifyDefinition, PipelineDefinition, PromptDefinition,
    ReactionText, Runbook, SpannedName, StepDefinition, VariableDefinition, WorkDefinition,
    WorkspaceDefinition,
};
pub use finding::{Finding, Severity, Span};
pub use plan::{PlanRequest, plan};
pub use read::TreeReader;
pub use template::{Template, TemplatePiece, TemplateReference};
pub use tree::{MapEntry, MapKey, Node, NodeKind, NodeMap, NodeText};

/// The formats of runbooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunbookFormat {
    /// HCL, in files that end with `.hcl`.
    Hcl,
    /// TOML, in files that end with `.toml`.
    Toml,
}

impl RunbookFormat {
    /// Every format, by the extension of its files.
    pub const ALL: [(Self, &'static str); 2] = [(Self::Hcl, "hcl"), (Self::Toml, "toml")];

    /// Returns the format of files with an extension.
    pub fn of_extension(extension: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == extension).map(|(format, _)| *format)
    }
}

/// Maximum number of findings per file: no one reads more.
const FINDINGS: usize = 100;

/// A runbook as far as it could be read, and the findings.
#[derive(Clone, Debug, Default)]
pub struct ParsedRunbook {
    /// The runbook; only usable if there are no errors.
    pub runbook: Runbook,
    /// Errors and notes, in the order of the text.
    pub findings: Vec<Finding>,
}

impl ParsedRunbook {
    /// Returns whether it can be used.
    pub fn is_usable(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity == Severity::Note)
    }
}

/// Reads a text as a tree; `None` if it is not in its format at all.
pub fn tree(text: &str, format: RunbookFormat) -> (Option<Node>, Vec<Finding>) {
    match format {
        RunbookFormat::Hcl => hcl::tree(text),
        RunbookFormat::Toml => toml::tree(text),
    }
}

/// Sorts findings by their place in the text; those without one come last.
pub fn sort_by_place(findings: &mut [Finding]) {
    let place = |finding: &Finding| finding.span.as_ref().map_or(usize::MAX, |span| span.start);
    findings.sort_by_key(place);
}

/// Returns findings in the order of the text, without duplicates, and at most a fixed number.
pub fn in_order(mut findings: Vec<Finding>) -> Vec<Finding> {
    let place = |finding: &Finding| finding.span.as_ref().map_or(0, |span| span.start);
    let mut seen = HashSet::new();
    findings.retain(|finding| {
        seen.insert((finding.code, finding.message.clone(), finding.span.clone()))
    });
    findings.sort_by_key(place);
    if findings.len() > FINDINGS {
        let more = findings.len() - FINDINGS;
        // A note must not displace an error.
        findings.sort_by_key(|finding| finding.severity == Severity::Note);
        findings.truncate(FINDINGS);
        findings.sort_by_key(place);
        findings.push(Finding::error("more", format!("and {more} more")).note());
    }
    findings
}

/// Reads a runbook.
pub fn read(text: &str, format: RunbookFormat) -> ParsedRunbook {
    let (tree, mut findings) = tree(text, format);
    let Some(tree) = tree else {
        return ParsedRunbook { runbook: Runbook::default(), findings: in_order(findings) };
    };
    let (runbook, more) = read::runbook(&tree);
    findings.extend(more);
    findings.extend(check::check(&runbook));
    let findings = in_order(findings);
    ParsedRunbook { runbook, findings }
}

#[cfg(test)]
mod tests;
