//! Notices: how a person learns that an agent needs them.
//!
//! A notice is delivered by a separate process ([`ARGUMENT`]), so that the daemon never waits and a
//! daemon that is killed neither loses nor repeats a notice. That process first claims the notice
//! ([`claim`]): of several that try, one delivers. Then it uses all configured channels at once,
//! each with its time limit, and records the outcome. A claim without an outcome is in doubt: it is
//! not tried again, and a person is shown it.
//!
//! | channel | module |
//! |---|---|
//! | a notification on the desktop, with buttons | [`desktop`] |
//! | the person's own program | [`command`] |
//! | a signed request to a server | [`webhook`] |
//! | a phone, with buttons | [`ntfy`], [`slack`], [`telegram`] |
//! | the bell of the person's terminals | [`bell`] |

pub mod bell;
pub mod check;
pub mod claim;
pub mod command;
pub mod deliver;
pub mod desktop;
pub mod http;
pub mod messages;
pub mod ntfy;
pub mod secret_file;
pub mod slack;
pub mod telegram;
pub mod text;
pub mod webhook;

use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhook_engine::run::descendants::{ASIDE, MARK};
use anyhook_engine::run::{detached, process};
use anyhook_engine::settings::NotifySettings;
use anyhook_model::notice::Channel;
use anyhook_model::{Notice, StateDir};
use serde::{Deserialize, Serialize};

pub use check::check;
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
    /// Which channels to use, and how.
    pub settings: NotifySettings,
    /// Where claims are: see [`folder`].
    pub folder: PathBuf,
    /// The program that is called with the person's choice.
    pub binary: PathBuf,
    /// The codes of buttons that answer without that program.
    #[serde(default)]
    pub codes: Vec<ChannelCodes>,
}

/// The codes that a channel's buttons answer with, one for each option.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChannelCodes {
    /// The channel.
    pub channel: Channel,
    /// The codes, in the order of the options.
    pub codes: Vec<String>,
}

/// A button that answers.
#[derive(Clone, Copy, Debug)]
pub struct Button<'job> {
    /// What it says.
    pub label: &'job str,
    /// What it sends.
    pub code: &'job str,
}

impl NoticeJob {
    /// Returns the buttons for a channel: one for each option, or none.
    fn buttons(&self, channel: Channel) -> Vec<Button<'_>> {
        let codes = self.codes.iter().find(|codes| codes.channel == channel);
        let codes = codes.map_or(&[][..], |codes| &codes.codes);
        if codes.len() != self.notice.options.len() {
            return Vec::new();
        }
        let options = self.notice.options.iter();
        options.zip(codes).map(|(option, code)| Button { label: &option.name, code }).collect()
    }
}

/// What the delivering process inherited from its environment.
#[derive(Clone, Debug, Default)]
pub struct DesktopEnv {
    /// The address of the desktop's bus.
    pub bus: Option<String>,
}

/// Returns where claims are, inside the state folder.
pub fn folder(state: &Path) -> PathBuf {
    StateDir::new(state).notices()
}

/// Starts a process that delivers the notice. Does not wait for it.
pub fn launch(binary: &Path, job: &NoticeJob) -> io::Result<()> {
    let mut file = detached::scratch_file()?;
    serde_json::to_writer(io::BufWriter::new(&mut file), job)?;
    file.rewind()?;
    // It calls `setsid` itself, which would fail for the leader of a process group.
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

/// Delivers the notice on `input`, in the process that [`launch`] has started.
pub fn run(mut input: impl Read, surroundings: &DesktopEnv) -> io::Result<Delivery> {
    // Killing the daemon's processes must not interrupt a delivery. If started by hand, we may
    // already lead a group, which is good enough.
    let _ = rustix::process::setsid();
    process::keep_exit_codes();
    let mut text = Vec::new();
    input.read_to_end(&mut text)?;
    let job: NoticeJob = serde_json::from_slice(&text)?;
    deliver(job, surroundings)
}
