//! The suite `dist`: every package is made, installed, run, and removed again.
//!
//! The commands are those of the page for users: `docs/guide/get-anyhook.md`, its blocks marked `sh
//! dist`. Each kind of package gets a fresh account.

mod account;
mod kinds;
mod page;
mod start;

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result};

use self::account::Account;
use self::kinds::{KINDS, PackageKind};
use self::page::TrialPage;
use super::package::PROGRAMS;
use super::platform::Libc;
use crate::suites::SuiteOutcome;
use crate::{Workspace, tools};

/// Makes the packages with static programs and tests each of them.
pub fn suite(workspace: &Workspace) -> Result<SuiteOutcome> {
    try_all(workspace, Libc::Musl)
}

/// Makes the archive with dynamic programs and tests it.
pub fn suite_gnu(workspace: &Workspace) -> Result<SuiteOutcome> {
    try_all(workspace, Libc::Gnu)
}

fn try_all(workspace: &Workspace, libc: Libc) -> Result<SuiteOutcome> {
    if let Err(error) = tools::ensure_programs(&tools::FOR_PACKAGES) {
        return Ok(SuiteOutcome::Skipped(format!("{error:#}")));
    }
    if let Err(error) = tools::ensure_programs(&tools::FOR_STATIC) {
        return Ok(SuiteOutcome::Skipped(format!("{error:#}")));
    }
    if let Err(error) = tools::ensure_venv().and_then(|()| tools::ensure(&tools::MATURIN)) {
        return Ok(SuiteOutcome::Skipped(format!("{error:#}")));
    }
    let out = super::default_folder(workspace);
    // What an earlier version left would be installed instead.
    if out.exists() {
        std::fs::remove_dir_all(&out)?;
    }
    super::make(workspace, &out, &[libc])?;

    let page = TrialPage::read(workspace)?;
    let mut times = Vec::new();
    let checked = Account::new(&out)?;
    checked.play(&page.only("Check what you have")?)?;
    for kind in KINDS.iter().filter(|kind| kind.libc == libc) {
        let start = Instant::now();
        try_out(&Account::new(&out)?, kind, &page)
            .with_context(|| format!("the {} package", kind.name))?;
        times.push((kind.name, start.elapsed()));
    }
    if libc == Libc::Musl {
        let account = Account::new(&out)?;
        account.play(&page.first("Archive")?)?;
        start::try_out(&account)?;
    }
    for (name, time) in times {
        println!("{name}: installed, run and taken away in {:.1} s", time.as_secs_f64());
    }
    Ok(SuiteOutcome::Passed)
}

/// Installs a package, uses it, removes it.
fn try_out(account: &Account, kind: &PackageKind, page: &TrialPage) -> Result<()> {
    let [install, uninstall] = page.pair(kind.section)?;
    account.play(&(kind.adapt)(&install))?;
    for file in kind.files() {
        account.must_have(&file)?;
    }
    for name in PROGRAMS {
        account.guards(&Path::new(kind.programs).join(name)).context(name)?;
    }
    account.play(&(kind.adapt)(&uninstall))?;
    for file in kind.files() {
        account.must_not_have(&file)?;
    }
    Ok(())
}
