//! How a person learns that an agent needs them.
//!
//! A notice is delivered by a process of its own ([`ARGUMENT`]), so that the daemon never waits
//! and a daemon that is killed neither loses nor repeats a notice. That process first claims the
//! notice ([`claim`]): of many that try, one delivers. Then it goes every configured way at once,
//! each with its time limit, and writes down what became of it. A claim without that is in doubt:
//! nobody tries again, and a person is shown it.
//!
//! | way | file |
//! |---|---|
//! | a notification on the desktop, with buttons | [`desktop`] |
//! | a program of the person | [`command`] |
//! | a signed request to a server | [`webhook`] |
//! | the bell of the person's terminals | [`bell`] |

pub mod bell;
pub mod claim;
pub mod command;
pub mod deliver;
pub mod desktop;
pub mod messages;
pub mod text;
pub mod webhook;

use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhook_engine::run::descendants::{ASIDE, MARK};
use anyhook_engine::run::{detached, process};
use anyhook_engine::settings::NotifySettings;
use anyhook_model::{Notice, StateDir};
use serde::{Deserialize, Serialize};

pub use claim::{forget, outcomes};
pub use deliver::{Delivery, deliver};
pub use desktop::bus_at;
pub use messages::of_name;

/// The argument that makes the program deliver a notice.
pub const ARGUMENT: &str = "__notice";

/// One notice to deliver.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NoticeJob {
    /// The notice.
    pub notice: Notice,
    /// How.
    pub settings: NotifySettings,
    /// Where claims are: see [`folder`].
    pub folder: PathBuf,
    /// The program that is told what a person chose.
    pub binary: PathBuf,
}

/// What the delivering process was given by its surroundings.
#[derive(Clone, Debug, Default)]
pub struct DesktopEnv {
    /// The address of the desktop's bus.
    pub bus: Option<String>,
}

/// Returns where claims are, inside the state folder.
pub fn folder(state: &Path) -> PathBuf {
    StateDir::new(state).notices()
}

/// Starts a process of ours that delivers the notice. Does not wait.
pub fn launch(binary: &Path, job: &NoticeJob) -> io::Result<()> {
    let mut file = detached::scratch_file()?;
    serde_json::to_writer(io::BufWriter::new(&mut file), job)?;
    file.rewind()?;
    // It begins a session of its own, which the leader of a process group could not.
    Command::new(binary)
        .arg(ARGUMENT)
        .stdin(file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .env(MARK, ASIDE)
        .current_dir("/")
        .spawn()
        .map(detached::remember_detached)
}

/// Delivers the notice on `input`, as the process that [`launch`] has started.
pub fn run(mut input: impl Read, surroundings: &DesktopEnv) -> io::Result<Delivery> {
    // Whoever ends the daemon's processes must not end a notice half-way. Started by hand we may
    // lead a group already, which will do.
    let _ = rustix::process::setsid();
    process::keep_exit_codes();
    let mut text = Vec::new();
    input.read_to_end(&mut text)?;
    let job: NoticeJob = serde_json::from_slice(&text)?;
    deliver(job, surroundings)
}
