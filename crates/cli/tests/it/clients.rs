//! The clients in other languages: their own tests, against the program under test.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhook_testkit::needs::{self, MachineNeed};
use anyhook_testkit::{TestEnv, npm, require, run};

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
