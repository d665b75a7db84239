//! The version of the data on disk, and how older versions are migrated.

use std::path::Path;

use serde_json::Value;

use super::{StoreError, migrations};

/// The version of segments and snapshots, of their format and their content.
///
/// - 1: the first.
/// - 2: agents' sessions have no kind; pending side effects are in an outbox.
pub const VERSION: u32 = 2;

/// What a migration is applied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MigratedKind {
    /// One entry of the log.
    Entry,
    /// The state in a snapshot.
    Snapshot,
}

/// A step from one version to the next.
#[derive(Clone, Copy, Debug)]
pub struct Migration {
    /// The version it migrates from.
    pub from: u32,
    /// Migrates an entry or a state; the error describes what it cannot read.
    pub apply: fn(MigratedKind, Value) -> Result<Value, String>,
}

/// A version, and the migrations to it from each older one.
#[derive(Clone, Copy, Debug)]
pub struct StoreSchema {
    /// The version that is written.
    pub version: u32,
    /// One step for each older version that is still read.
    pub migrations: &'static [Migration],
}

/// The version this program writes, and the older versions it reads.
pub const CURRENT: StoreSchema =
    StoreSchema { version: VERSION, migrations: &[Migration { from: 1, apply: migrations::to_2 }] };

impl StoreSchema {
    /// Migrates the content of a file of version `from` to this version.
    pub(super) fn migrate(
        &self,
        file: &Path,
        from: u32,
        kind: MigratedKind,
        mut value: Value,
    ) -> Result<Value, StoreError> {
        for version in from..self.version {
            let failed =
                |why: String| StoreError::Migration { file: file.to_owned(), from: version, why };
            let step = self.migrations.iter().find(|step| step.from == version);
            let step = step.ok_or_else(|| failed("it is too old".to_owned()))?;
            value = (step.apply)(kind, value).map_err(failed)?;
        }
        Ok(value)
    }
}
