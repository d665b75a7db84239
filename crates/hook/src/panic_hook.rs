//! Panic hooks: a panic ends with an exit code that means nothing else.

use std::io::{self, Write};
use std::panic::{PanicHookInfo, set_hook};

use anyhook_model::exit_code;

/// Makes a panic exit with code 70, never with a code that means something else.
pub fn exit_on_panic() {
    set_hook(Box::new(|panic| {
        tell(panic);
        #[expect(clippy::exit, reason = "a panic must not end in another exit code")]
        std::process::exit(i32::from(exit_code::FAULT));
    }));
}

/// Makes a panic end its thread's work, and nothing else.
pub fn survive_panics() {
    set_hook(Box::new(tell));
}

fn tell(panic: &PanicHookInfo<'_>) {
    // It does not matter whether anyone reads it.
    let _ = writeln!(
        io::stderr(),
        "anyhook: internal error: {panic}\nhint: please report this with the command and its input"
    );
}
