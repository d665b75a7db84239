//! `--no-pager`: whether long output is shown a page at a time.

use clap::Args;

use crate::environment::pager;
use crate::ui::Out;

/// Of commands whose output may be long.
#[derive(Args, Debug, Clone, Copy)]
pub struct PagerArgs {
    /// Print long output at once, not in a pager (`ANYHOOK_PAGER`, `PAGER`, else `less`)
    #[arg(long, global = true)]
    no_pager: bool,
}

impl PagerArgs {
    /// Shows what is written from here to the next flush in a pager, on a terminal.
    pub fn start(self, out: &mut Out) {
        if let Some(pager) = pager().filter(|_| !self.no_pager) {
            out.page(pager);
        }
    }
}
