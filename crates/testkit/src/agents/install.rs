//! Installs agents into a cache folder of this project, at a pinned version.

use std::path::PathBuf;

use super::Agent;
use crate::npm::{self, InstallError};

impl Agent {
    /// Installs the agent, unless it is there already, and returns its folder.
    pub fn install(self) -> Result<PathBuf, InstallError> {
        let (name, version) = self.package();
        npm::install(&format!("agents/{}", self.name()), &[&format!("{name}@{version}")])
    }
}
