//! The machine that was measured on, and the date.

use std::fs;
use std::process::Command;

use anyhow::Result;

use crate::process;

/// What the figures depend on.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Machine {
    pub processor: String,
    pub cores: usize,
    pub kernel: String,
}

impl Machine {
    /// Inspects the machine we run on.
    pub fn look() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        Self {
            processor: processor(&read("/proc/cpuinfo")),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: match read("/proc/sys/kernel/osrelease").trim() {
                "" => std::env::consts::OS.to_owned(),
                release => format!("Linux {release}"),
            },
        }
    }
}

/// Today's date, in UTC.
pub fn today() -> Result<String> {
    Ok(process::output(Command::new("date").args(["-u", "+%Y-%m-%d"]))?.trim().to_owned())
}

/// Returns the processor's name; some machines do not report it.
fn processor(cpuinfo: &str) -> String {
    let name = cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "model name").then(|| value.trim())
    });
    name.unwrap_or(std::env::consts::ARCH).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_named() {
        assert_eq!(processor("processor\t: 0\nmodel name\t: Some CPU @ 2GHz\n"), "Some CPU @ 2GHz");
        assert_eq!(processor("processor\t: 0\n"), std::env::consts::ARCH);
    }

    #[test]
    fn this_machine_has_a_kernel_and_a_date() {
        let machine = Machine::look();
        assert!(machine.cores > 0 && !machine.kernel.is_empty());
        assert_eq!(today().unwrap().len(), 10);
    }
}
