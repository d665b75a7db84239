//! `anyhook daemon install` and `uninstall`: the daemon as a service of the user's session.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use anyhook_engine::atomic_file::AtomicFile;
use anyhook_hosts::folder_variables;
use anyhook_model::daemon::{Request, StartedBy};
use anyhook_model::exit_code;

use super::{END_LIMIT, LOOK_EVERY};
use crate::agents::{call, put_where_they_stay};
use crate::commands::Ended;
use crate::daemon::{self, connect_if_it_runs};
use crate::environment::{Environment, folder, shown, variable};
use crate::error::Trouble;
use crate::ui::{Out, Tone};

/// What a file of ours has in its first lines; a file without it is not ours.
const OURS: &str = "Written by `anyhook daemon install`";

/// The name of the unit.
const UNIT: &str = "anyhook.service";
/// The name of the launch agent.
const LABEL: &str = "dev.anyhook.daemon";

/// What the daemon finds its folders and programs by, beside what says where agents have theirs.
const VARIABLES: [&str; 4] = ["PATH", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"];

/// A service manager that we write for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manager {
    Systemd,
    Launchd,
}

/// What the service runs.
#[derive(Debug)]
struct Service {
    program: PathBuf,
    variables: Vec<(&'static str, String)>,
}

impl Manager {
    fn here() -> Self {
        if cfg!(target_os = "macos") { Self::Launchd } else { Self::Systemd }
    }

    /// Returns where its file belongs.
    fn file(self, environment: &Environment) -> Result<PathBuf, Trouble> {
        let home = environment.places.home.clone();
        let home = home.ok_or_else(|| Trouble::problem("there is no home folder").hint("set HOME"));
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

    fn text(self, service: &Service) -> String {
        match self {
            Self::Systemd => unit(service),
            Self::Launchd => launch_agent(service),
        }
    }

    /// Returns the commands that have the service started now and at every login.
    fn enable(self, file: &Path) -> Vec<Vec<String>> {
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

    /// Returns the command that ends the service, and starts it no more.
    fn disable(self) -> Vec<Vec<String>> {
        match self {
            Self::Systemd => commands(&[&["systemctl", "--user", "disable", "--now", UNIT]]),
            Self::Launchd => {
                commands(&[&["launchctl", "bootout", &format!("{}/{LABEL}", domain())]])
            }
        }
    }
}

fn commands(all: &[&[&str]]) -> Vec<Vec<String>> {
    all.iter().map(|words| words.iter().map(|&word| word.to_owned()).collect()).collect()
}

/// Returns the domain of launchd for the user's session.
fn domain() -> String {
    format!("gui/{}", rustix::process::getuid().as_raw())
}

/// Writes the service and has it started; with `print` only shows what would be written.
pub fn install(print: bool, environment: &Environment, out: &mut Out) -> Ended {
    let manager = Manager::here();
    let of_agents = folder_variables().filter(|name| !VARIABLES.contains(name));
    let variables = VARIABLES
        .into_iter()
        .chain(of_agents)
        .filter_map(|name| Some((name, variable(name).filter(|value| !value.is_empty())?)))
        .collect();
    let service = Service { program: call(environment)?.binary, variables };
    if let Some((name, _)) = service.variables.iter().find(|(_, value)| value.contains('\n')) {
        return Err(Trouble::problem(format!(
            "{name} has a line break, which no service can have"
        ))
        .hint(format!("set {name} to something else")));
    }
    let text = manager.text(&service);
    if print {
        out.text(&text)?;
        return Ok(exit_code::OK);
    }
    let file = manager.file(environment)?;
    let place = shown(&file, &environment.places);
    let there = read(&file)?;
    if there.as_deref().is_some_and(|there| !is_ours(there)) {
        return Err(Trouble::problem(format!("`{place}` is there and was not written by anyhook"))
            .hint("move it away; `anyhook daemon install --print` shows what would be written"));
    }
    put_where_they_stay(environment)?;
    if there.as_deref() == Some(&text) {
        out.line(&[(Tone::Plain, &format!("{place} is up to date"))])?;
    } else {
        write(&file, &text).map_err(|error| Trouble::at(&file, error))?;
        out.line(&[(Tone::Good, "wrote "), (Tone::Plain, &place)])?;
    }
    let all = manager.enable(&file);
    let typed = typed(&all);
    for (index, words) in all.iter().enumerate() {
        // The service manager answers: from here on it looks after the daemon.
        if index + 1 == all.len() {
            hand_over(environment)?;
        }
        run(words).map_err(|why| {
            Trouble::problem(format!("it is written, but could not be enabled: {why}"))
                .hint(typed.clone())
        })?;
    }
    out.line(&[(Tone::Good, "enabled it"), (Tone::Dim, &format!(" ({typed})"))])?;
    if manager == Manager::Systemd {
        let hint = "loginctl enable-linger has it run without a login, too";
        out.line(&[(Tone::Hint, "hint: "), (Tone::Plain, hint)])?;
    }
    Ok(exit_code::OK)
}

/// Ends the service and removes what was written.
pub fn uninstall(environment: &Environment, out: &mut Out) -> Ended {
    let manager = Manager::here();
    let file = manager.file(environment)?;
    let place = shown(&file, &environment.places);
    let Some(there) = read(&file)? else {
        out.line(&[(Tone::Plain, &format!("there is no {place}"))])?;
        return Ok(exit_code::OK);
    };
    if !is_ours(&there) {
        return Err(Trouble::problem(format!("`{place}` was not written by anyhook"))
            .hint("remove it yourself if it is not needed"));
    }
    let disabled = manager.disable().iter().try_for_each(|words| run(words));
    fs::remove_file(&file).map_err(|error| Trouble::at(&file, error))?;
    match disabled {
        Ok(()) => {
            let typed = typed(&manager.disable());
            out.line(&[(Tone::Good, "disabled it"), (Tone::Dim, &format!(" ({typed})"))])?;
            if manager == Manager::Systemd {
                // That it is gone is seen at the next login otherwise.
                let _ = run(&commands(&[&["systemctl", "--user", "daemon-reload"]])[0]);
            }
        }
        Err(why) => {
            out.line(&[(Tone::Warn, "it could not be disabled: "), (Tone::Plain, &why)])?;
        }
    }
    out.line(&[(Tone::Good, "removed "), (Tone::Plain, &place)])?;
    Ok(exit_code::OK)
}

/// Ends a daemon that something else than the service manager started, so that the service can take
/// its place. It loses nothing.
fn hand_over(environment: &Environment) -> Result<(), Trouble> {
    let Some(mut client) = connect_if_it_runs(environment)? else { return Ok(()) };
    if daemon::status(&mut client)?.started_by == StartedBy::Service {
        return Ok(());
    }
    // It answers by ending.
    let _ = client.request(&Request::Stop);
    let limit = Instant::now() + END_LIMIT;
    while connect_if_it_runs(environment)?.is_some() {
        if Instant::now() > limit {
            return Err(Trouble::problem("the daemon does not end").hint("anyhook daemon logs"));
        }
        thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

/// Runs a command of the service manager; or says why it failed.
fn run(words: &[String]) -> Result<(), String> {
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

fn typed(all: &[Vec<String>]) -> String {
    all.iter().map(|words| words.join(" ")).collect::<Vec<_>>().join(" && ")
}

fn read(file: &Path) -> Result<Option<String>, Trouble> {
    match fs::read(file) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Trouble::at(file, error)),
    }
}

fn is_ours(text: &str) -> bool {
    text.lines().take(3).any(|line| line.contains(OURS))
}

/// Writes a file, whole or not at all.
fn write(file: &Path, text: &str) -> io::Result<()> {
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
         Description=anyhook: what every agent does, and pipelines\n\
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

    /// What the service manager itself says about it.
    #[test]
    fn systemd_accepts_the_unit() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(UNIT);
        let mut service = service();
        // It looks for the program.
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
        // It does look.
        let (_, said) = verify(&text.replace("Type=exec", "Type=what")).unwrap();
        assert!(said.contains(UNIT), "{said}");
    }
}
