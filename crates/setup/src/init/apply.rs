//! Does what was chosen: all of it or nothing.

use anyhook_engine::trust::TrustStore;
use anyhook_engine::{Level, now};
use anyhook_hook::environment::Environment;
use anyhook_model::report::init::{InitPack, InitReport};

use super::plan::{effects, is_imported};
use super::record::{InitRecord, RecordedPack};
use super::survey::level_of;
use super::undo;
use crate::error::SetupError;
use crate::import::carry_out;
use crate::import::plan::ImportPlan;
use crate::install::{InstallPlan, record_program_path};
use crate::packs::apply::{Addition, put};
use crate::packs::level::PackLevel;
use crate::packs::options::read_settings;
use crate::packs::source::SourcePlace;
use crate::packs::status::{self, PackStatus};
use crate::packs::{FoundPack, PackFiles};
use crate::settings;

/// Adds the chosen packs, then installs into the chosen agents. If a step fails, the earlier ones
/// are undone.
pub fn carry_out(
    report: &mut InitReport,
    environment: &Environment,
    files: PackFiles,
) -> Result<(), SetupError> {
    let state = environment.places.state.as_ref().ok_or(SetupError::NoState)?;
    let mut steps =
        Steps { environment, files, state, record: InitRecord::begin(environment.project_root()) };
    if let Err(error) = steps.take(report) {
        // The first error is reported; if this fails, too, the record stays for `--undo`.
        let _ = undo::of_record(&steps.record, environment, files);
        return Err(error);
    }
    "done".clone_into(&mut report.result);
    report.record = Some(steps.record.id);
    report.effects = effects(report);
    Ok(())
}

struct Steps<'environment> {
    environment: &'environment Environment,
    files: PackFiles,
    state: &'environment std::path::Path,
    record: InitRecord,
}

impl Steps<'_> {
    fn take(&mut self, report: &InitReport) -> Result<(), SetupError> {
        let scope = settings::scope(self.environment, false)?;
        let call = settings::call(self.environment)?;
        // All are computed before the first is written: a broken file stops us early.
        let mut plans = Vec::new();
        for agent in report.agents.iter().filter(|agent| agent.chosen) {
            plans.push(InstallPlan::wire(settings::find(&agent.id)?, &scope, &call)?);
        }
        for pack in report.packs.iter().filter(|pack| pack.chosen) {
            self.add(pack)?;
        }
        settings::put_where_they_stay(self.environment)?;
        record_program_path(self.environment)?;
        for plan in plans {
            let is_new = settings::inspect(plan.agent, &scope)?.ours.is_empty();
            if is_new {
                self.record.agents.push(plan.agent.id().to_owned());
            }
            for (path, _) in plan.changes() {
                self.record.note_folder(path.parent().unwrap_or(path));
            }
            self.record.keep(self.state)?;
            plan.install(&scope, self.environment)?;
        }
        for agent in report.agents.iter().filter(|agent| is_imported(agent)) {
            self.import(&agent.id)?;
        }
        Ok(())
    }

    /// Imports an agent's own hooks. It calls us by now.
    fn import(&mut self, agent: &str) -> Result<(), SetupError> {
        let agent = settings::find(agent)?;
        let plan = ImportPlan::of(agent, false, false, self.environment)?;
        self.record.note_folder(&plan.survey.hooks_folder);
        self.record.imports.push(agent.id().to_owned());
        self.record.keep(self.state)?;
        carry_out::all(&plan, false, self.environment).map(drop)
    }

    fn add(&mut self, chosen: &InitPack) -> Result<(), SetupError> {
        let level = PackLevel::read(level_of(chosen), self.environment)?;
        let found = FoundPack::of_place(&SourcePlace::BuiltIn(chosen.name.clone()), self.files)?;
        let values = read_settings(&found.name, found.options(), &chosen.options)?;
        // Neither values nor digests come from a `packs.lock` that is there: in a project it may be
        // anyone's, and what is added here is trusted.
        let pack = found.pack(&values)?;
        let hooks = status::hooks(&pack, &level.hooks_folder, None);
        if let Some(place) = hooks.iter().find(|place| place.standing != PackStatus::Absent) {
            let cause = std::io::ErrorKind::AlreadyExists.into();
            return Err(SetupError::NotAdded { path: place.folder.clone(), cause });
        }
        let project = level.level == Level::Project;
        self.record.note_folder(&level.hooks_folder);
        self.record.packs.push(RecordedPack { name: pack.name.clone(), project });
        self.record.keep(self.state)?;
        let record = found.locked(&pack);
        let (commands, shadow) = (&[][..], false);
        put(&Addition { level: &level, hooks: &hooks, commands, shadow, record })?;
        if project {
            // A person has just asked for exactly these, which come with the program.
            let store = TrustStore::new(self.state);
            for place in &hooks {
                store.trust(store.stage(&place.folder)?, now())?;
            }
        }
        Ok(())
    }
}
