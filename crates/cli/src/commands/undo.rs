//! `anyhook undo`: brings back the working tree of a checkpoint.

use anyhook_guards::checkpoint::{Change, ChangeKind, Checkpoint, Repository, UndoPlan};
use anyhook_model::exit_code;
use anyhook_model::report::changes::{CheckpointReport, UndoReport, UndoneFile};
use clap::Args;

use super::CommandResult;
use crate::environment::Environment;
use crate::human_only::by_a_person;
use crate::ui::{Cell, Out, Tone, counted, format};

/// Bring back the files of a checkpoint (pack `checkpoint`)
///
/// Without an id, the newest checkpoint that differs from the working tree. Files that were created
/// since are deleted; ignored files, the index, the branch and the stash are not touched. The
/// current state becomes a checkpoint first, so that an undo can be undone.
#[derive(Args)]
#[command(after_help = "Example: anyhook undo --dry-run\n         anyhook undo --list")]
pub struct UndoArgs {
    /// The checkpoint, or the beginning of its id
    id: Option<String>,
    /// List the checkpoints of this working tree
    #[arg(long, conflicts_with_all = ["id", "dry_run"])]
    list: bool,
    /// Show the differences and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &UndoArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let repository = Repository::find(&environment.work_dir)?;
    if arguments.list {
        let checkpoints = repository.checkpoints()?;
        if arguments.json {
            let checkpoints = checkpoints.iter().map(checkpoint).collect();
            out.json(&UndoReport { checkpoints, ..UndoReport::default() })?;
        } else {
            list(&checkpoints, out)?;
        }
        return Ok(exit_code::OK);
    }
    if arguments.dry_run {
        let plan = repository.plan_undo(arguments.id.as_deref())?;
        if arguments.json {
            out.json(&UndoReport { dry_run: true, ..report(&plan) })?;
        } else {
            tell(&plan, true, out)?;
            out.text(&repository.patch_of(&plan)?)?;
        }
        return Ok(exit_code::OK);
    }
    by_a_person("undo", environment, || {
        let plan = repository.plan_undo(arguments.id.as_deref())?;
        let saved = repository.undo(&plan)?;
        if arguments.json {
            let saved = saved.map(|saved| saved.id().to_owned());
            out.json(&UndoReport { saved, ..report(&plan) })?;
            return Ok(exit_code::OK);
        }
        tell(&plan, false, out)?;
        let back = saved.as_ref().map_or_else(String::new, |saved| format!(" {}", saved.id()));
        let hint = format!("`anyhook undo{back}` brings the previous state back");
        out.line(&[(Tone::Hint, "hint: "), (Tone::Plain, &hint)])?;
        Ok(exit_code::OK)
    })
}

fn checkpoint(checkpoint: &Checkpoint) -> CheckpointReport {
    CheckpointReport {
        id: checkpoint.id().to_owned(),
        at: checkpoint.at,
        session: checkpoint.session().to_owned(),
        before: checkpoint.before.clone(),
    }
}

fn report(plan: &UndoPlan) -> UndoReport {
    let file = |change: &Change| UndoneFile {
        path: change.path.to_string_lossy().into_owned(),
        change: match change.kind {
            ChangeKind::Restore => "restored",
            ChangeKind::Delete => "deleted",
            ChangeKind::Skip => "skipped",
        }
        .to_owned(),
    };
    UndoReport {
        checkpoint: Some(checkpoint(&plan.target)),
        files: plan.changes.iter().map(file).collect(),
        ..UndoReport::default()
    }
}

fn list(checkpoints: &[Checkpoint], out: &mut Out) -> std::io::Result<()> {
    if checkpoints.is_empty() {
        return out.line(&[(Tone::Dim, "no checkpoints")]);
    }
    let titles = ["checkpoint", "made", "session", "before"];
    let mut rows: Vec<Vec<Cell>> =
        vec![titles.into_iter().map(|title| Cell::new(Tone::Dim, title)).collect()];
    rows.extend(checkpoints.iter().map(|one| {
        vec![
            Cell::new(Tone::Strong, one.id()),
            Cell::new(Tone::Plain, format::second(one.at)),
            Cell::new(Tone::Plain, one.session()),
            Cell::new(Tone::Plain, &one.before),
        ]
    }));
    out.table(&rows)
}

fn tell(plan: &UndoPlan, is_trial: bool, out: &mut Out) -> std::io::Result<()> {
    let (target, files) = (&plan.target, counted(plan.changes.len(), "file"));
    let words = if is_trial { "would go back to " } else { "back to " };
    let when = format!(" of {}, before {}: {files}", format::second(target.at), target.before);
    out.line(&[(Tone::Good, words), (Tone::Strong, target.id()), (Tone::Plain, &when)])?;
    for Change { kind, path } in &plan.changes {
        let (tone, word) = match kind {
            ChangeKind::Restore => (Tone::Plain, "  restored  "),
            ChangeKind::Delete => (Tone::Warn, "  deleted   "),
            ChangeKind::Skip => (Tone::Bad, "  left alone"),
        };
        out.line(&[(tone, word), (Tone::Plain, &format!("  {}", path.display()))])?;
    }
    Ok(())
}
