//! The GitHub Action: its scripts are run as a runner does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhook_testkit::{CommandRun, TestEnv, run, write};
use serde_json::Value;

use crate::environment;

const GOOD: &str =
    "---\nname: guard\ndescription: Guards\ntrigger: before_tool\nmatcher: {pattern: rm}\n---\n";
const BAD: &str = "---\nname: guard\ndescription: Guards\ntrigger: befor_tool\n---\n";
const CASE: &str = r#"{"event": {"event_type": "before_tool", "tool_name": "Shell", "tool_input": {"command": "rm x"}}, "expect": {"decision": "deny"}}"#;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// A job of a runner, and what it left.
struct Job {
    environment: TestEnv,
    ran: CommandRun,
}

impl Job {
    /// Runs one of the scripts with inputs; `programs` are on the `PATH`.
    fn run(environment: TestEnv, script: &str, programs: &Path, inputs: &[(&str, &str)]) -> Self {
        let at = |name: &str| environment.root().join(name);
        let path = repository().join(".github/actions/check-hooks").join(script);
        let mut command = Command::new("bash");
        command.arg(path).env_clear().current_dir(environment.root());
        let system = std::env::var("PATH").unwrap();
        command
            .env("HOME", environment.home())
            .env("PATH", format!("{}:{system}", programs.display()))
            .env("GITHUB_ACTION_PATH", repository())
            .env("GITHUB_WORKSPACE", environment.project())
            .env("GITHUB_OUTPUT", at("output"))
            .env("GITHUB_PATH", at("path"))
            .env("GITHUB_STEP_SUMMARY", at("summary"))
            .env("RUNNER_TEMP", at("temp"))
            .envs(inputs.iter().copied());
        let ran = run(command, b"");
        Self { environment, ran }
    }

    /// Checks the hooks of a project.
    fn check(hook: &str, script: &str, inputs: &[(&str, &str)]) -> Self {
        let environment = environment();
        let folder = environment.project_hooks().join("guard");
        write(&folder.join("HOOK.md"), hook, 0o644);
        write(&folder.join("scripts/run"), script, 0o755);
        write(&folder.join("tests/denied.json"), CASE, 0o644);
        let program = Path::new(env!("CARGO_BIN_EXE_anyhook"));
        let defaults = [
            ("ANYHOOK_HOOKS", ".agents/hooks"),
            ("ANYHOOK_TEST", "true"),
            ("ANYHOOK_SARIF", "out/anyhook.sarif"),
        ];
        let inputs = [&defaults[..], inputs].concat();
        Self::run(environment, "check.sh", program.parent().unwrap(), &inputs)
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.environment.root().join(name)).unwrap_or_default()
    }

    fn sarif(&self) -> Value {
        let file = self.environment.project().join("out/anyhook.sarif");
        serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
    }
}

#[test]
fn good_hooks_pass() {
    let job = Job::check(GOOD, "#!/bin/sh\necho no >&2\nexit 2\n", &[]);
    assert_eq!(job.ran.code, 0, "{:?}", job.ran);
    assert_eq!(job.file("output"), "problems=0\nfailed-tests=false\nsarif=out/anyhook.sarif\n");
    let summary = job.file("summary");
    assert!(
        summary.contains("no problems in 1 hook") && summary.contains("1 passed, 0 failed"),
        "{summary}"
    );
    assert_eq!(job.sarif()["runs"][0]["results"], Value::Array(Vec::new()));
}

#[test]
fn a_bad_hook_is_a_finding_at_its_line() {
    let job = Job::check(BAD, "#!/bin/sh\n", &[("ANYHOOK_TEST", "false")]);
    assert_eq!(job.ran.code, 1, "{:?}", job.ran);
    let found = &job.sarif()["runs"][0]["results"][0];
    let place = &found["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], ".agents/hooks/guard/HOOK.md", "{found:#}");
    assert_eq!(
        (&place["region"]["startLine"], &place["region"]["startColumn"]),
        (&4.into(), &10.into())
    );
    assert_eq!(job.file("output"), "problems=1\nfailed-tests=false\nsarif=out/anyhook.sarif\n");
    assert!(job.file("summary").contains("1 problem in 1 hook"), "{}", job.file("summary"));
}

#[test]
fn a_failed_test_fails_the_job() {
    let job = Job::check(GOOD, "#!/bin/sh\n", &[]);
    assert_eq!(job.ran.code, 1, "{:?}", job.ran);
    assert!(
        job.file("output").contains("problems=0\nfailed-tests=true\n"),
        "{}",
        job.file("output")
    );
    assert!(job.ran.stdout.contains("0 passed, 1 failed"), "{:?}", job.ran);
}

#[test]
fn hooks_are_one_per_line() {
    let job = Job::check(
        GOOD,
        "#!/bin/sh\necho no >&2\nexit 2\n",
        &[("ANYHOOK_HOOKS", "\n  .agents/hooks/guard  \n\n.agents/hooks\n")],
    );
    assert_eq!(job.ran.code, 0, "{:?}", job.ran);
    assert!(job.ran.stdout.contains("no problems in 2 hooks"), "{:?}", job.ran);
}

#[test]
fn hooks_that_are_not_there_are_an_error() {
    let job = Job::check(GOOD, "#!/bin/sh\n", &[("ANYHOOK_HOOKS", "elsewhere")]);
    assert!(job.ran.code > 1, "{:?}", job.ran);
    assert!(job.ran.stdout.contains("::error::the hooks cannot be checked"), "{:?}", job.ran);
}

#[test]
fn the_version_of_the_action_is_installed() {
    let environment = environment();
    let programs = environment.root().join("programs");
    // An npm that installs a program which says how.
    let npm = "#!/bin/sh\nmkdir -p \"$4/bin\"\nprintf '#!/bin/sh\\necho installed by %s' \"$*\" > \"$4/bin/anyhook\"\nchmod +x \"$4/bin/anyhook\"\n";
    write(&programs.join("npm"), npm.replace("$4", "$RUNNER_TEMP/anyhook"), 0o755);
    let job = Job::run(environment, "install.sh", &programs, &[]);
    assert_eq!(job.ran.code, 0, "{:?}", job.ran);
    let wanted = format!("anyhook@{}", env!("CARGO_PKG_VERSION"));
    assert!(job.ran.stdout.contains(&wanted), "{:?}", job.ran);
    let folder = job.environment.root().join("temp/anyhook/bin");
    assert_eq!(job.file("path"), format!("{}\n", folder.display()));
}

#[test]
fn a_version_that_is_none_is_refused() {
    for version in ["1.0; rm -r /", "--registry=x", "$(id)"] {
        let job = Job::run(
            environment(),
            "install.sh",
            Path::new("/nowhere"),
            &[("ANYHOOK_VERSION", version)],
        );
        assert_eq!(job.ran.code, 2, "{version}: {:?}", job.ran);
    }
}

/// The action runs these scripts, and no input gets into a command line.
#[test]
fn the_action_passes_inputs_as_variables() {
    let action = fs::read_to_string(repository().join("action.yml")).unwrap();
    for line in action.lines().filter(|line| line.trim_start().starts_with("run:")) {
        assert!(!line.contains("${{"), "{line}");
        let script = line.split("$GITHUB_ACTION_PATH/").nth(1).unwrap().trim_end_matches('"');
        assert!(repository().join(script).is_file(), "{script}");
    }
    for variable in ["ANYHOOK_HOOKS", "ANYHOOK_TEST", "ANYHOOK_SARIF", "ANYHOOK_VERSION"] {
        assert_eq!(action.matches(&format!("{variable}: ${{{{ inputs.")).count(), 1, "{variable}");
    }
}
