//! The clients in other languages: their own tests, against the program under test.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhook_testkit::needs::{self, MachineNeed};
use anyhook_testkit::{TestEnv, npm, pypi, require, run, write};

use serde_json::Value;

use crate::environment;

fn clients() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients")
}

/// Runs a program with nothing but the test's variables; it must end well.
fn must_run(environment: &TestEnv, program: &str, arguments: &[&str], folder: &Path) {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env_clear();
    for (name, value) in environment.command(&[]).get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command.env("ANYHOOK_BIN", env!("CARGO_BIN_EXE_anyhook"));
    let ran = run(command, b"");
    assert_eq!(ran.code, 0, "{program} {arguments:?}\n{}\n{}", ran.stdout, ran.stderr);
}

#[test]
fn each_is_short() {
    for file in ["python/anyhook.py", "typescript/anyhook.ts"] {
        let lines = std::fs::read_to_string(clients().join(file)).unwrap().lines().count();
        assert!(lines < 200, "{file}: {lines}");
    }
}

#[test]
fn python() {
    require!(MachineNeed::Program("python3"));
    let environment = environment();
    // No bytecode beside the sources, and every warning is an error.
    let arguments = ["-B", "-W", "error", "-m", "unittest"];
    must_run(&environment, "python3", &arguments, &clients().join("python"));
}

/// Other programs read our findings: they are valid by the schema of the standard.
#[test]
fn sarif() {
    let schema = match npm::sarif_schema() {
        Ok(file) => std::fs::read_to_string(file).unwrap(),
        Err(error) => return needs::skip("the schema of SARIF", &error.to_string()),
    };
    let mut schema: Value = serde_json::from_str(&schema).unwrap();
    // Its expression for languages has a bracket too many; we name none.
    for owner in ["run", "toolComponent"] {
        let language = schema["definitions"][owner]["properties"]["language"].as_object_mut();
        language.unwrap().remove("pattern").unwrap();
    }
    let schema = jsonschema::validator_for(&schema).unwrap();
    let environment = environment();
    let hook = |name: &str, matter: &str| {
        let folder = environment.project().join("hooks").join(name);
        write(&folder.join("HOOK.md"), format!("---\n{matter}\n---\n"), 0o644);
        folder
    };
    let broken = "name: guärd\ndescription: Guards\ntrigger: befor_tool\nmatcher: {pattern: '('}";
    for (name, matter) in
        [("guärd", broken), ("empty", ""), ("no-script", "name: x\ntrigger: stop")]
    {
        hook(name, matter);
    }
    let ran = environment.run(&["check", "--format", "sarif", "hooks"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let log = ran.json();
    assert!(log["runs"][0]["results"].as_array().unwrap().len() > 2, "{log:#}");
    let errors: Vec<String> = schema
        .iter_errors(&log)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}\n{log:#}");
}

#[test]
fn typescript() {
    require!(MachineNeed::Program("node"));
    let compiler = match npm::typescript() {
        Ok(folder) => folder.join("node_modules"),
        Err(error) => return needs::skip("the TypeScript client", &error.to_string()),
    };
    // As its page says, with what `npm install` would fetch.
    let environment = environment();
    let folder = environment.root().join("typescript");
    std::fs::create_dir(&folder).unwrap();
    for entry in std::fs::read_dir(clients().join("typescript")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
        }
    }
    std::os::unix::fs::symlink(compiler, folder.join("node_modules")).unwrap();
    must_run(&environment, "npm", &["run", "build"], &folder);
    assert!(folder.join("dist/anyhook.js").is_file() && folder.join("dist/anyhook.d.ts").is_file());
    must_run(&environment, "npm", &["test"], &folder);
}

/// The official SDK reads what `anyhook mcp` serves, in each way that it knows to begin.
#[test]
fn the_python_sdk_reads_the_journal() {
    let folder = match pypi::install("mcp-sdk", &["mcp==2.3.0"], 10) {
        Ok(folder) => folder,
        Err(error) => return needs::skip("the Python SDK of MCP", &error.to_string()),
    };
    let environment = environment();
    environment.shell("ls");
    let record = environment.journal()[0]["id"].as_str().unwrap().to_owned();
    let python = folder.join("bin/python3");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/mcp_client.py");
    for (mode, version) in
        [("auto", "2026-07-28"), ("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")]
    {
        let program = env!("CARGO_BIN_EXE_anyhook");
        let arguments = ["-B", script.to_str().unwrap(), program, mode, version, &record];
        must_run(&environment, python.to_str().unwrap(), &arguments, &environment.project());
    }
    assert!(environment.daemon().is_none());
}
