//! The daemon as a service of the user's session: the files for systemd or launchd, and the
//! commands that start it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhook_engine::atomic_file::AtomicFile;
use anyhook_hook::environment::{Environment, folder};

use crate::error::SetupError;

/// The marker in the first lines of our files; a file without it is not ours.
const OURS: &str = "Written by `anyhook daemon install`";

/// The name of the unit.
const UNIT: &str = "anyhook.service";
/// The name of the launch agent.
const LABEL: &str = "dev.anyhook.daemon";

/// A supported service manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manager {
    /// Of Linux.
    Systemd,
    /// Of macOS.
    Launchd,
}

/// What the service runs.
#[derive(Debug)]
pub struct Service {
    /// The program.
    pub program: PathBuf,
    /// The variables by which it finds its folders and programs.
    pub variables: Vec<(&'static str, String)>,
}

impl Manager {
    /// Returns the service manager of this system.
    pub fn here() -> Self {
        if cfg!(target_os = "macos") { Self::Launchd } else { Self::Systemd }
    }

    /// Returns the path of its file.
    pub fn file(self, environment: &Environment) -> Result<PathBuf, SetupError> {
        let home = environment.places.home.clone().ok_or(SetupError::NoHome);
        Ok(match self {
            Self::Systemd => match folder("XDG_CONFIG_HOME") {
                Some(config) => config,
                None => home?.join(".config"),
            }
            .join("systemd/user")
            .join(UNIT),
            Self::Launchd => home?.join("Library/LaunchAgents").join(format!("{LABEL}.plist")),
        })
    }

    /// Returns the content of its file.
    pub fn text(self, service: &Service) -> String {
        match self {
            Self::Systemd => unit(service),
            Self::Launchd => launch_agent(service),
        }
    }

    /// Returns the commands that start the service now and at every login.
    pub fn enable(self, file: &Path) -> Vec<Vec<String>> {
        match self {
            Self::Systemd => commands(&[
                &["systemctl", "--user", "daemon-reload"],
                &["systemctl", "--user", "enable", "--now", UNIT],
            ]),
            Self::Launchd => {
                let file = file.to_string_lossy();
                commands(&[&["launchctl", "bootstrap", &domain(), &file]])
            }
        }
    }

    /// Returns the command that stops the service, and disables it.
    pub fn disable(self) -> Vec<Vec<String>> {
        match self {
            Self::Systemd => commands(&[&["systemctl", "--user", "disable", "--now", UNIT]]),
            Self::Launchd => {
                commands(&[&["launchctl", "bootout", &format!("{}/{LABEL}", domain())]])
            }
        }
    }
}

/// Returns the command that makes systemd notice that a unit is gone.
pub fn reload() -> Vec<String> {
    ["systemctl", "--user", "daemon-reload"].map(str::to_owned).to_vec()
}

fn commands(all: &[&[&str]]) -> Vec<Vec<String>> {
    all.iter().map(|words| words.iter().map(|&word| word.to_owned()).collect()).collect()
}

/// Returns the domain of launchd for the user's session.
fn domain() -> String {
    format!("gui/{}", rustix::process::getuid().as_raw())
}

/// Runs a command of the service manager; returns why it failed, if so.
pub fn run(words: &[String]) -> Result<(), String> {
    let typed = words.join(" ");
    let output = Command::new(&words[0]).args(&words[1..]).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("`{typed}`: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().find(|line| !line.trim().is_empty()).map(str::trim);
    Err(format!("`{typed}`: {}", said.map_or(output.status.to_string(), str::to_owned)))
}

/// Reads a file of a service; `None` if it does not exist.
pub fn read(file: &Path) -> Result<Option<String>, SetupError> {
    match fs::read(file) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(SetupError::unusable(file)(error)),
    }
}

/// Returns whether a file of a service was written by us.
pub fn is_ours(text: &str) -> bool {
    text.lines().take(3).any(|line| line.contains(OURS))
}

/// Writes a file atomically.
pub fn write(file: &Path, text: &str) -> Result<(), SetupError> {
    write_whole(file, text).map_err(SetupError::unusable(file))
}

fn write_whole(file: &Path, text: &str) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    AtomicFile::new(file).permissions(permissions).replace(text.as_bytes())
}

/// Returns the text of the systemd unit.
fn unit(service: &Service) -> String {
    let program = quoted(&service.program.to_string_lossy());
    let mut text = format!(
        "# {OURS}; `anyhook daemon uninstall` removes it.\n\
         [Unit]\n\
         Description=anyhook: tracks agents and runs pipelines\n\
         \n\
         [Service]\n\
         Type=exec\n\
         ExecStart={program} daemon start --foreground\n"
    );
    for (name, value) in &service.variables {
        text.push_str(&format!("Environment={}\n", quoted(&format!("{name}={value}"))));
    }
    text.push_str(
        "Restart=on-failure\n\
         # Pipelines' commands and agents' sessions outlive the daemon.\n\
         KillMode=process\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n",
    );
    text
}

/// Returns a text as systemd reads it between quotes.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    format!("\"{escaped}\"")
}

/// Returns the text of the launch agent.
fn launch_agent(service: &Service) -> String {
    let string = |text: &str| format!("<string>{}</string>", escaped(text));
    let program = string(&service.program.to_string_lossy());
    let mut variables = String::new();
    for (name, value) in &service.variables {
        variables.push_str(&format!("    <key>{name}</key>\n    {}\n", string(value)));
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!-- {OURS}; `anyhook daemon uninstall` removes it. -->\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n\
         <dict>\n  \
           <key>Label</key>\n  <string>{LABEL}</string>\n  \
           <key>ProgramArguments</key>\n  \
           <array>\n    {program}\n    <string>daemon</string>\n    <string>start</string>\n    <string>--foreground</string>\n  </array>\n  \
           <key>EnvironmentVariables</key>\n  <dict>\n{variables}  </dict>\n  \
           <key>RunAtLoad</key>\n  <true/>\n  \
           <key>KeepAlive</key>\n  <dict>\n    <key>SuccessfulExit</key>\n    <false/>\n  </dict>\n  \
           <key>AbandonProcessGroup</key>\n  <true/>\n\
         </dict>\n\
         </plist>\n"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service() -> Service {
        Service {
            program: "/home/ann/.local/share/anyhook/bin/anyhook".into(),
            variables: vec![
                ("PATH", "/usr/bin:/bin".to_owned()),
                ("XDG_STATE_HOME", "/data/100% \"mine\" & <yours> $x \\".to_owned()),
            ],
        }
    }

    #[test]
    fn the_unit() {
        insta::assert_snapshot!(unit(&service()));
    }

    #[test]
    fn the_launch_agent() {
        insta::assert_snapshot!(launch_agent(&service()));
    }

    #[test]
    fn ours_is_known_by_its_first_lines() {
        assert!(is_ours(&unit(&service())) && is_ours(&launch_agent(&service())));
        assert!(!is_ours("[Service]\nExecStart=/bin/true\n"));
        assert!(!is_ours(&format!("[Unit]\n\n\n# {OURS}\n")), "too far down");
    }

    /// The service manager itself checks the unit.
    #[test]
    fn systemd_accepts_the_unit() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(UNIT);
        let mut service = service();
        // It checks that the program exists.
        service.program = folder.path().join("100% any hook");
        write(&service.program, "#!/bin/sh\n").unwrap();
        let mode: fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&service.program, mode).unwrap();
        let verify = |text: &str| {
            write(&file, text).unwrap();
            let mut command = Command::new("systemd-analyze");
            command.args(["verify", "--user"]).arg(&file);
            command.env("XDG_RUNTIME_DIR", folder.path()).env("HOME", folder.path());
            let verified = command.output().ok()?;
            let said = String::from_utf8_lossy(&verified.stderr).into_owned();
            Some((verified.status.success(), said))
        };
        let text = unit(&service);
        let Some((accepted, said)) = verify(&text) else { return };
        assert!(accepted, "{said}");
        assert!(!said.contains(UNIT), "{said}");
        // It does check.
        let (_, said) = verify(&text.replace("Type=exec", "Type=what")).unwrap();
        assert!(said.contains(UNIT), "{said}");
    }
}
