//! Agents that anyhook does not support yet: the single list of them.
//!
//! Their ids are allowed in a hook's `hosts`, so that a hook written today works as soon as they
//! are supported. Their programs and variables are known because none of them is a person. The row
//! of an agent that has its own folder is ignored and can be deleted.

use crate::find_host;

/// An agent that anyhook does not support yet.
#[derive(Debug)]
pub struct PlannedHost {
    /// Its ids in a hook's `hosts`: one for each of its programs that work differently. Empty for
    /// one that is only recognised.
    pub ids: &'static [&'static str],
    /// Other names that people write there.
    pub other_names: &'static [&'static str],
    /// Its display name.
    pub title: &'static str,
    /// The names of its programs.
    pub programs: &'static [&'static str],
    /// The npm packages it comes in.
    pub packages: &'static [&'static str],
    /// The variables that it sets for the commands it runs, and that nothing else sets.
    pub session_variables: &'static [&'static str],
    /// Why no hook works in it, if that was found out.
    pub refusal: Option<Refusal>,
}

/// Why no hook works in an agent, so that anyhook cannot be installed into it.
#[derive(Debug)]
pub struct Refusal {
    /// The version that was run.
    pub version: &'static str,
    /// What it does.
    pub why: &'static str,
    /// What to do instead.
    pub way_out: &'static str,
}

/// Returns every agent that does not have its own folder.
pub fn planned() -> impl Iterator<Item = &'static PlannedHost> {
    PLANNED.iter().filter(|host| !host.ids.iter().any(|id| find_host(id).is_some()))
}

/// Returns the agents in which no hook works, each with the reason.
pub fn refused() -> impl Iterator<Item = (&'static PlannedHost, &'static Refusal)> {
    planned().filter_map(|host| Some((host, host.refusal.as_ref()?)))
}

/// Omitted on purpose: what an editor sets in a person's terminal (`CURSOR_TRACE_ID`,
/// `CLAUDE_CODE_SSE_PORT`, `GEMINI_CLI_IDE_SERVER_PORT`, `TERM_PROGRAM`), the program `cursor`,
/// which is such an editor, and `AGENT`, which anyone may set.
const PLANNED: &[PlannedHost] = &[PlannedHost {
    ids: &["continue"],
    other_names: &["cn"],
    title: "Continue",
    programs: &["cn"],
    packages: &["@continuedev/cli"],
    session_variables: &[],
    refusal: Some(Refusal {
        version: "1.5.47",
        why: "it reads settings of hooks and never calls a hook",
        way_out: "`exclude` in ~/.continue/permissions.yaml keeps it from using a tool, except with --auto; `anyhook hosts` lists agents in which hooks work",
    }),
}];
