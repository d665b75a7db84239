//! `anyhook prompt`.

use crate::environment;

#[test]
fn hooks_in_force() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", "exit 0");
    environment.user_hook(
        "gate",
        "trigger: [pre-agent-turn-stop, session_end]\npriority: 900",
        "exit 0",
    );
    environment.user_hook("broken", "trigger: never", "exit 0");
    environment.project_hook("stranger", "trigger: before_tool", "exit 0");
    assert_run!(environment, environment.run(&["prompt"]), @"
    exit code: 0
    ----- stdout -----
    These hooks check your work. A hook that blocks gives a reason; follow it.
    - gate (pre-agent-turn-stop, session_end): the hook gate [[ROOT]/home/.config/agents/hooks/gate/HOOK.md]
    - guard (before_tool): the hook guard [[ROOT]/home/.config/agents/hooks/guard/HOOK.md]
    ");
}

#[test]
fn hooks_in_force_as_json() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", "exit 0");
    assert_run!(environment, environment.run(&["prompt", "--json"]), @r#"
    exit code: 0
    ----- stdout -----
    [
      {
        "name": "guard",
        "description": "the hook guard",
        "trigger": [
          "before_tool"
        ],
        "location": "[ROOT]/home/.config/agents/hooks/guard/HOOK.md"
      }
    ]
    "#);
}

/// A description of many lines stays one line of the list.
#[test]
fn a_long_description_is_one_line() {
    let environment = environment();
    let folder = environment.user_hook("guard", "trigger: before_tool", "exit 0");
    anyhook_testkit::write(
        &folder.join("HOOK.md"),
        "---\nname: guard\ndescription: |\n  First line.\n\n  Second line.\ntrigger: before_tool\n---\n",
        0o644,
    );
    assert_run!(environment, environment.run(&["prompt"]), @"
    exit code: 0
    ----- stdout -----
    These hooks check your work. A hook that blocks gives a reason; follow it.
    - guard (before_tool): First line. Second line. [[ROOT]/home/.config/agents/hooks/guard/HOOK.md]
    ");
}

#[test]
fn nothing_is_installed() {
    let environment = environment();
    assert_run!(environment, environment.run(&["prompt"]), @"
    exit code: 0
    ----- stdout -----
    No hooks are active here.
    ");
    assert_run!(environment, environment.run(&["prompt", "--json"]), @"
    exit code: 0
    ----- stdout -----
    []
    ");
}

/// A hook in the way of a broken one, or changed since it was trusted, is not in force.
#[test]
fn a_changed_hook() {
    let environment = environment();
    environment.project_hook("ours", "trigger: before_tool", "exit 0");
    assert_eq!(environment.run(&["trust", "ours"]).code, 0);
    assert!(environment.run(&["prompt"]).stdout.contains("- ours "));
    environment.project_hook("ours", "trigger: before_tool", "exit 1");
    assert_run!(environment, environment.run(&["prompt"]), @"
    exit code: 0
    ----- stdout -----
    No hooks are active here.
    ");
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["prompt", "--help"]));
}
