//! Runs a hook's program.
//!
//! - [`process`]: one run from start to answer, with its time limit;
//! - [`capture`]: what is kept of its output;
//! - [`descendants`]: how every process it started is ended;
//! - [`process_tree`]: the same for processes that are not a hook's run;
//! - [`environment`]: what it inherits of the environment;
//! - [`interruption`]: signals that ask us to end while it runs;
//! - [`detached`]: hooks that run in the background and outlive us.

pub mod capture;
pub mod descendants;
pub mod detached;
pub mod environment;
pub mod interruption;
pub mod process;
pub mod process_tree;

pub use process::{ProcessCommand, ProcessRunner};
