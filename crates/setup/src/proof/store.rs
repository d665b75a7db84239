//! What was proven, in the state folder: `proofs/AGENT-PLACE.json`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhook_engine::atomic_file::{AtomicFile, create_private_dir};
use anyhook_engine::digest::sha256_hex;
use anyhook_hosts::HostSpec;
use anyhook_hosts::wiring::SettingsScope;
use anyhook_model::StateDir;
use anyhook_model::proof::{PROOF_VERSION, Proof};

use crate::error::SetupError;

/// Returns where a proof is kept.
fn path(state: &Path, agent: &HostSpec, scope: &SettingsScope) -> PathBuf {
    let place = match &scope.project {
        Some(project) => sha256_hex(project.as_os_str().as_encoded_bytes())[..16].to_owned(),
        None => "user".to_owned(),
    };
    StateDir::new(state).proofs().join(format!("{}-{place}.json", agent.id()))
}

/// Reads the last proof; `None` if there is none, or one of a later version.
pub fn load(state: &Path, agent: &HostSpec, scope: &SettingsScope) -> Option<Proof> {
    let proof: Proof = serde_json::from_slice(&fs::read(path(state, agent, scope)).ok()?).ok()?;
    (proof.v <= PROOF_VERSION).then_some(proof)
}

/// Keeps a proof, in place of the last one.
pub fn keep(
    state: &Path,
    agent: &HostSpec,
    scope: &SettingsScope,
    proof: &Proof,
) -> Result<(), SetupError> {
    let path = path(state, agent, scope);
    let folder = path.parent().unwrap_or(&path);
    create_private_dir(folder).map_err(SetupError::unusable(folder))?;
    let text = serde_json::to_string_pretty(proof).map_err(std::io::Error::other);
    let text = text.map_err(SetupError::unusable(&path))?;
    AtomicFile::new(&path).mode(0o600).replace(text.as_bytes()).map_err(SetupError::unusable(&path))
}

/// Forgets a proof, for entries that a person has removed.
pub fn forget(state: &Path, agent: &HostSpec, scope: &SettingsScope) {
    // One that stays says that the settings no longer call us, which is true.
    let _ = fs::remove_file(path(state, agent, scope));
}
