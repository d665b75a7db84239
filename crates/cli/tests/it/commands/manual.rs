//! `anyhook __manual`, which packages are made with.

use std::fs;

use super::general::COMMANDS;
use crate::environment;

#[test]
fn every_command_has_a_page() {
    let environment = environment();
    let folder = environment.root().join("man1");
    fs::create_dir(&folder).unwrap();
    let ran = environment.run(&["__manual", &folder.to_string_lossy()]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
    let page = fs::read_to_string(folder.join("anyhook.1")).unwrap();
    assert!(page.contains(".TH anyhook 1"), "{page}");
    for command in COMMANDS {
        let page = fs::read_to_string(folder.join(format!("anyhook-{command}.1"))).unwrap();
        assert!(page.contains("SYNOPSIS"), "{command}");
    }
    assert!(folder.join("anyhook-daemon-start.1").exists());
}

#[test]
fn no_folder() {
    let environment = environment();
    assert_run!(environment, environment.run(&["__manual"]), @"
    exit code: 64
    ----- stderr -----
    error: the manual needs a folder, and nothing else
    hint: anyhook __manual FOLDER
    ");
    let missing = environment.root().join("missing");
    assert_run!(environment, environment.run(&["__manual", &missing.to_string_lossy()]), @"
    exit code: 1
    ----- stderr -----
    error: cannot access `[ROOT]/missing`: No such file or directory
    hint: the folder must already exist
    ");
}
