//! Whether what was proven still holds: the settings and the programs as they are now, compared with
//! the last proof. Nothing is started.

use anyhook_hook::environment::Environment;
use anyhook_hosts::AGENTS;
use anyhook_model::proof::{AgentOutcome, FileMark, Proof};
use jiff::Timestamp;

use super::entry::{self, Entries};
use super::{NOT_CALLED, Subject, is_ours, places_of, store};
use crate::error::SetupError;
use crate::settings;

/// How an agent's entries in one place stand.
#[derive(Clone, Debug)]
pub struct Standing {
    /// What it is about.
    pub subject: Subject,
    /// The last proof.
    pub proof: Option<Proof>,
    /// Why it does not count, if so.
    pub doubt: Option<Doubt>,
}

/// Why nothing is proven of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Nothing was ever proven.
    Never,
    /// The last proof failed.
    Failed(String),
    /// Its settings are not what they should be.
    Entry(String),
    /// Its entries name something else than they did.
    OtherEntry,
    /// The program of the agent is another one.
    Program {
        /// The version that was proven.
        proven: Option<String>,
        /// The version that it tells of itself now, if it does so unasked.
        now: Option<String>,
    },
    /// The program that the entries call is another one.
    OurProgram,
}

impl Doubt {
    /// Returns it in a few words.
    pub fn brief(&self) -> &'static str {
        match self {
            Self::Never => "not proven",
            Self::Failed(_) => "its proof failed",
            Self::Entry(fault) if fault == NOT_CALLED => "does not call anyhook",
            Self::Entry(_) | Self::OtherEntry => "its entry changed",
            Self::Program { .. } => "its version changed",
            Self::OurProgram => "anyhook was replaced",
        }
    }

    /// Returns it in full.
    pub fn words(&self) -> String {
        match self {
            Self::Never => "nothing was proven for it".to_owned(),
            Self::Failed(why) => format!("the last proof failed: {why}"),
            Self::Entry(fault) => format!("not as it was proven: {fault}"),
            Self::OtherEntry => "its entries were changed since they were proven".to_owned(),
            Self::Program { proven: Some(proven), now: Some(now) } if proven != now => {
                format!("its version changed since it was proven: from {proven} to {now}")
            }
            Self::Program { proven: Some(proven), .. } => {
                format!("its program changed since version {proven} was proven")
            }
            Self::Program { proven: None, .. } => {
                "its program changed since it was proven".to_owned()
            }
            Self::OurProgram => {
                "the program that its entries call was replaced since they were proven".to_owned()
            }
        }
    }
}

impl Standing {
    /// Returns when it was proven, if that still counts.
    pub fn proven(&self) -> Option<Timestamp> {
        self.doubt.is_none().then(|| self.proof.as_ref().map(|proof| proof.at)).flatten()
    }

    /// Returns whether the agent itself was seen to heed a denial.
    pub fn was_run(&self) -> bool {
        self.proof.as_ref().is_some_and(|proof| proof.run.outcome == AgentOutcome::Denied)
    }

    /// Considers the version that the agent has told.
    pub fn with_version(mut self, told: Option<&str>) -> Self {
        let proven = self.proof.as_ref().and_then(|proof| proof.version.clone());
        if let (None, Some(told), Some(proven)) = (&self.doubt, told, proven)
            && told != proven
        {
            let now = Some(told.to_owned());
            self.doubt = Some(Doubt::Program { proven: Some(proven), now });
        }
        self
    }
}

/// Returns how every agent stands that calls us, or once did.
pub fn all(environment: &Environment) -> Result<Vec<Standing>, SetupError> {
    let mut found = Vec::new();
    for agent in AGENTS {
        for subject in places_of(agent, environment)? {
            if is_ours(&subject, environment) {
                found.push(Standing::of(subject, environment));
            }
        }
    }
    Ok(found)
}

impl Standing {
    /// Returns how an agent stands in one place.
    pub fn of(subject: Subject, environment: &Environment) -> Self {
        let state = environment.places.state.as_deref();
        let proof = state.and_then(|state| store::load(state, subject.agent, &subject.scope));
        let doubt = match &proof {
            None => Some(Doubt::Never),
            Some(proof) => doubt(proof, &subject, environment),
        };
        Self { subject, proof, doubt }
    }
}

fn doubt(proof: &Proof, subject: &Subject, environment: &Environment) -> Option<Doubt> {
    let entries = match Entries::read(subject.agent, &subject.scope, environment) {
        Ok(entries) => entries,
        Err(error) => return Some(Doubt::Entry(error.to_string())),
    };
    if entries.status.ours.is_empty() && entries.status.entries.is_empty() {
        return Some(Doubt::Entry(NOT_CALLED.to_owned()));
    }
    if let Some(fault) = entries.fault.clone() {
        return Some(Doubt::Entry(fault));
    }
    if let Some(why) = proof.failure() {
        return Some(Doubt::Failed(why));
    }
    if entries.digest() != proof.entry {
        return Some(Doubt::OtherEntry);
    }
    if entries.calls() != proof.calls {
        return Some(Doubt::OurProgram);
    }
    let is_same = is_same_program(subject, proof.program.as_ref());
    (!is_same).then(|| Doubt::Program { proven: proof.version.clone(), now: None })
}

/// Returns whether an agent's program is the one that was proven. One that is not on this `PATH` is
/// looked for where it was.
fn is_same_program(subject: &Subject, proven: Option<&FileMark>) -> bool {
    let found = settings::program(subject.agent);
    match (found, proven) {
        (None, None) => true,
        (Some(found), proven) => entry::mark(&found).as_ref() == proven,
        (None, Some(proven)) => entry::mark(proven.path.as_ref()).as_ref() == Some(proven),
    }
}

/// Returns what people who look at these agents must know: which of them are not proven.
pub fn warnings(hosts: &[&str], environment: &Environment) -> Vec<String> {
    if hosts.is_empty() {
        return Vec::new();
    }
    let mut warnings: Vec<String> = Vec::new();
    for standing in all(environment).unwrap_or_default() {
        let id = standing.subject.agent.id();
        if let Some(doubt) = standing.doubt.filter(|_| hosts.contains(&id)) {
            let text = format!("{id}: {}", doubt.words());
            if !warnings.contains(&text) {
                warnings.push(text);
            }
        }
    }
    warnings
}
