//! `anyhook ui device`: the devices that may use the page from the network.

use anyhook_model::{StateDir, exit_code};
use anyhook_ui::devices::{Device, DeviceError, DeviceStore};
use clap::Subcommand;

use crate::commands::CommandResult;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::ui::{Cell, Out, Tone, format};

#[derive(Subcommand)]
pub enum DeviceCommand {
    /// List the paired devices
    #[command(after_help = "Example: anyhook ui device list")]
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a device: it is refused from now on
    #[command(after_help = "Example: anyhook ui device remove phone")]
    Remove {
        /// Its name or id
        name: String,
    },
}

pub fn run(command: &DeviceCommand, environment: &Environment, out: &mut Out) -> CommandResult {
    let state = environment.places.state.as_deref();
    let state = state.ok_or_else(|| CommandError::problem("no state folder").hint("set HOME"))?;
    let store = DeviceStore::new(StateDir::new(state).ui().join("devices.json"));
    match command {
        DeviceCommand::List { json } => {
            let devices = store.list()?;
            if *json {
                out.json(&devices.iter().map(Device::listed).collect::<Vec<_>>())?;
            } else if devices.is_empty() {
                out.text("no devices")?;
            } else {
                let head = ["NAME", "ID", "SINCE", "USED", "BY"];
                let head = head.map(|head| Cell::new(Tone::Strong, head)).to_vec();
                let rows = devices.iter().map(|device| {
                    let (since, used) = (format::minute(device.since), format::minute(device.used));
                    [device.name.as_str(), &device.id, &since, &used, &device.by]
                        .map(|text| Cell::new(Tone::Plain, text))
                        .to_vec()
                });
                out.table(&std::iter::once(head).chain(rows).collect::<Vec<_>>())?;
            }
            Ok(exit_code::OK)
        }
        DeviceCommand::Remove { name } => {
            let removed = store.remove(name)?;
            out.line(&[(Tone::Strong, &removed.name), (Tone::Plain, ": removed")])?;
            Ok(exit_code::OK)
        }
    }
}

impl From<DeviceError> for CommandError {
    fn from(error: DeviceError) -> Self {
        let hint = match &error {
            DeviceError::Unknown(_) | DeviceError::TooMany => "anyhook ui device list",
            DeviceError::NoRandom => "check /dev/urandom",
            DeviceError::File(..) => "check the file's permissions and content",
        };
        Self::problem(error.to_string()).hint(hint)
    }
}
