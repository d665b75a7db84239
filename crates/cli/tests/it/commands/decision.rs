//! `anyhook decision`: a person answers an agent from another terminal.

use std::process::Child;

use anyhook_testkit::{TestEnv, begin, finish, wait_until, write};
use serde_json::{Value, json};

use crate::environment;

/// An environment in which permissions and asks wait for a person.
pub fn waiting(seconds: u32) -> TestEnv {
    let environment = environment();
    let settings =
        format!("[decisions]\nwait = [\"permission\", \"ask\"]\nwait_seconds = {seconds}\n");
    write(&environment.home().join(".config/agents/anyhook.toml"), settings, 0o644);
    environment
}

pub fn permission(environment: &TestEnv, command: &str) -> Value {
    json!({
        "session_id": "s", "cwd": environment.project(), "hook_event_name": "PermissionRequest",
        "tool_name": "Bash", "tool_input": {"command": command},
    })
}

pub fn hook(environment: &TestEnv, host: &str, payload: &Value) -> Child {
    begin(environment.command(&["hook", host]), payload.to_string().as_bytes())
}

/// Returns the open decisions.
fn open(environment: &TestEnv) -> Vec<Value> {
    environment.run(&["decision", "list", "--json"]).json().as_array().unwrap().clone()
}

/// Waits until one decision is open and returns its id.
pub fn asked(environment: &TestEnv) -> String {
    wait_until("a decision to be open", || open(environment).len() == 1);
    open(environment)[0]["inquiry"]["id"].as_str().unwrap().to_owned()
}

/// Returns what the journal says became of decisions.
pub fn journaled(environment: &TestEnv) -> Vec<Value> {
    let all = environment.journal();
    let resolved = all.iter().filter(|record| record["event"] == "decision:resolved");
    resolved.map(|record| record["payload"].clone()).collect()
}

#[test]
fn nothing_waits() {
    let environment = environment();
    assert_run!(environment, environment.run(&["decision", "list"]), @"
    exit code: 0
    ----- stdout -----
    no decisions waiting
    ");
    assert_run!(environment, environment.run(&["decision", "resolve", "nope", "1"]), @"
    exit code: 65
    ----- stderr -----
    error: there is no decision `nope`
    hint: anyhook decision list
    ");
    assert_run!(environment, environment.run(&["decision", "show", "nope"]), @"
    exit code: 65
    ----- stderr -----
    error: there is no decision `nope`
    hint: anyhook decision list --all
    ");
}

#[test]
fn without_the_setting_nobody_waits() {
    let environment = environment();
    let ran = finish(hook(&environment, "claude-code", &permission(&environment, "ls")));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert!(environment.daemon().is_none(), "no daemon is needed");
    write(
        &environment.project().join(".agents/anyhook.toml"),
        "[decisions]\nwait = [\"permission\"]\n",
        0o644,
    );
    let ran = finish(hook(&environment, "claude-code", &permission(&environment, "ls")));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "a project has no say");
    assert!(environment.daemon().is_none());
}

#[test]
fn a_permission_is_allowed_from_another_terminal() {
    let environment = waiting(60);
    let waits = hook(&environment, "claude-code", &permission(&environment, "touch f"));
    let id = asked(&environment);
    let shown = environment.run(&["decision", "show", &id]);
    assert!(
        shown.stdout.starts_with(&format!("{id} claude-code wants to use Shell\n")),
        "{shown:?}"
    );
    assert!(shown.stdout.contains("  1 allow  the call is allowed\n  2 deny"), "{shown:?}");
    // What is pasted says what it does.
    let hints = format!(
        "hint: anyhook decision resolve {id} allow\nhint: anyhook decision resolve {id} deny\n"
    );
    assert!(shown.stdout.ends_with(&hints), "{shown:?}");
    let agent = environment.run(&["agent", "list"]);
    assert!(agent.stdout.contains("prompting (permission)"), "{agent:?}");
    let mut resolve = environment.command(&["decision", "resolve", &id[..4], "1"]);
    resolve.env("USER", "ann");
    let resolved = anyhook_testkit::run(resolve, b"");
    assert_eq!((resolved.code, resolved.stdout), (0, format!("{id}: allow\n")));
    let reply = finish(waits);
    assert_eq!(reply.json()["hookSpecificOutput"]["decision"]["behavior"], "allow", "{reply:?}");

    let again = environment.run(&["decision", "resolve", &id, "2"]);
    assert_eq!(again.code, 1, "{again:?}");
    assert!(
        again.stderr.contains(&format!("decision {id} was already made: allow, by ann")),
        "{again:?}"
    );

    wait_until("the decision to be journaled", || journaled(&environment).len() == 1);
    let record = &journaled(&environment)[0];
    assert_eq!((record["choice"].as_str(), record["by"].as_str()), (Some("allow"), Some("ann")));
    assert!(record["at"].is_string() && record["digest"].is_string());
    // Whoever says to be ann: this is the process it was.
    let program = environment.command(&[]).get_program().to_str().unwrap().to_owned();
    assert_eq!(record["process"]["program"], program.as_str());
    let all = environment.journal();
    let request = all.iter().find(|record| record["event"] == "permission_request").unwrap();
    assert_eq!(request["answered"]["by"], "ann");
    assert_eq!(request["verdict"]["by"], format!("decision {id}"));
}

/// A host ends a hook with all that comes from it, and the daemon is everybody's.
#[test]
fn the_daemon_does_not_come_from_the_hook_that_starts_it() {
    let environment = waiting(60);
    let waits = hook(&environment, "claude-code", &permission(&environment, "ls"));
    wait_until("the hook to start a daemon", || environment.daemon().is_some());
    let id = asked(&environment);
    let parent = |process: u32| -> u32 {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("PPid:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    let mut ancestor = environment.daemon().unwrap();
    while ancestor > 1 {
        assert_ne!(ancestor, waits.id());
        ancestor = parent(ancestor);
    }
    environment.run(&["decision", "resolve", &id, "deny"]);
    assert_eq!(finish(waits).code, 0);
}

#[test]
fn a_permission_is_denied_with_a_word_for_the_agent() {
    let environment = waiting(60);
    let waits = hook(&environment, "claude-code", &permission(&environment, "touch f"));
    let id = asked(&environment);
    environment.run(&["decision", "resolve", &id, "deny", "--message", "not on \"this\" branch"]);
    let reply = finish(waits).json();
    let decision = &reply["hookSpecificOutput"]["decision"];
    assert_eq!(decision["behavior"], "deny");
    let message = decision["message"].as_str().unwrap();
    assert!(message.contains("denied it: not on \"this\" branch"), "{message}");
}

#[test]
fn an_ask_waits_even_where_the_host_cannot_ask() {
    let environment = waiting(60);
    environment.user_hook(
        "careful",
        "trigger: before_tool\nmatcher:\n  pattern: deploy",
        r#"echo '{"decision": "ask", "reason": "this goes to production"}'"#,
    );
    let call = json!({
        "session_id": "s", "cwd": environment.project(), "hook_event_name": "PreToolUse", "turn_id": "t",
        "tool_name": "Bash", "tool_input": {"command": "make deploy"}, "tool_use_id": "c1",
    });
    let waits = hook(&environment, "codex", &call);
    let id = asked(&environment);
    assert_eq!(open(&environment)[0]["inquiry"]["question"], "this goes to production");
    environment.run(&["decision", "resolve", &id, "deny"]);
    let reply = finish(waits);
    assert_eq!(reply.code, 2, "{reply:?}");
    assert!(reply.stderr.contains("denied it"), "{reply:?}");
    let waits = hook(&environment, "codex", &call);
    let id = asked(&environment);
    environment.run(&["decision", "resolve", &id, "allow"]);
    assert_eq!(finish(waits).code, 0);
}

#[test]
fn nobody_answers_and_the_hosts_own_dialog_stands() {
    let environment = waiting(1);
    let ran = finish(hook(&environment, "claude-code", &permission(&environment, "ls")));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "no opinion: {ran:?}");
    let all = environment.run(&["decision", "list", "--all", "--json"]).json();
    assert_eq!(all[0]["resolution"]["ending"], "expired");
    assert_eq!(environment.run(&["agent", "list", "--json"]).json()[0]["state"], "prompting");
    wait_until("its end to be journaled", || journaled(&environment).len() == 1);
}

#[test]
fn the_callers_deadline_ends_the_wait() {
    let environment = waiting(600);
    let command = environment.command(&["hook", "claude-code", "--deadline-ms", "2500"]);
    let waits = begin(command, permission(&environment, "ls").to_string().as_bytes());
    let ran = finish(waits);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
}

#[test]
fn a_hook_process_that_is_killed_asks_no_more() {
    let environment = waiting(60);
    let mut waits = hook(&environment, "claude-code", &permission(&environment, "ls"));
    let id = asked(&environment);
    waits.kill().unwrap();
    waits.wait().unwrap();
    wait_until("the decision to be dismissed", || open(&environment).is_empty());
    let late = environment.run(&["decision", "resolve", &id, "1"]);
    assert!(late.stderr.contains("dismissed: the process that asked is gone"), "{late:?}");
}

#[test]
fn a_host_that_needs_no_answer_any_more_says_so_by_a_signal() {
    let environment = waiting(60);
    let waits = hook(&environment, "claude-code", &permission(&environment, "ls"));
    asked(&environment);
    let status = std::process::Command::new("kill").arg(waits.id().to_string()).status().unwrap();
    assert!(status.success());
    let reply = finish(waits);
    assert_eq!((reply.code, reply.stdout.as_str()), (0, ""), "no opinion: {reply:?}");
    let all = environment.journal();
    assert!(all.iter().any(|record| record["event"] == "permission_request"), "it is journaled");
    wait_until("the decision to be dismissed", || open(&environment).is_empty());
}

#[test]
fn an_agent_that_goes_on_by_itself_needs_no_answer() {
    let environment = waiting(60);
    let waits = hook(&environment, "claude-code", &permission(&environment, "ls"));
    asked(&environment);
    let mut done = permission(&environment, "ls");
    done["hook_event_name"] = "PostToolUse".into();
    done["tool_use_id"] = "t1".into();
    finish(hook(&environment, "claude-code", &done));
    let reply = finish(waits);
    assert_eq!((reply.code, reply.stdout.as_str()), (0, ""), "no opinion: {reply:?}");
    let all = environment.run(&["decision", "list", "--all", "--json"]).json();
    assert_eq!(all[0]["resolution"]["by"], "the agent continued on its own");
}

#[test]
fn a_daemon_that_is_killed_still_knows_what_was_asked() {
    let environment = waiting(60);
    let waits = hook(&environment, "claude-code", &permission(&environment, "touch f"));
    let id = asked(&environment);
    environment.kill_daemon();
    // Asking for the list starts it again, and the hook process comes back by itself.
    assert_eq!(asked(&environment), id);
    environment.run(&["decision", "resolve", &id, "allow"]);
    let reply = finish(waits);
    assert_eq!(reply.json()["hookSpecificOutput"]["decision"]["behavior"], "allow", "{reply:?}");
    wait_until("the decision to be journaled", || journaled(&environment).len() == 1);
}

#[test]
fn an_answer_while_the_hook_process_is_cut_off_still_reaches_it() {
    let environment = waiting(60);
    let mut waits = hook(&environment, "claude-code", &permission(&environment, "touch f"));
    let id = asked(&environment);
    environment.kill_daemon();
    environment.run(&["decision", "resolve", &id, "deny"]);
    environment.kill_daemon();
    environment.run(&["daemon", "start"]);
    wait_until("the hook process to end", || waits.try_wait().unwrap().is_some());
    let reply = finish(waits);
    assert_eq!(reply.json()["hookSpecificOutput"]["decision"]["behavior"], "deny", "{reply:?}");
}

#[test]
fn time_goes_on_while_the_daemon_is_away() {
    let environment = waiting(1);
    let waits = hook(&environment, "claude-code", &permission(&environment, "touch f"));
    wait_until("a decision to be made", || {
        !environment
            .run(&["decision", "list", "--all", "--json"])
            .json()
            .as_array()
            .unwrap()
            .is_empty()
    });
    environment.kill_daemon();
    let reply = finish(waits);
    assert_eq!((reply.code, reply.stdout.as_str()), (0, ""), "no opinion: {reply:?}");
    let all = environment.run(&["decision", "list", "--all", "--json"]).json();
    assert_eq!(all[0]["resolution"]["ending"], "expired", "{all}");
}

#[test]
fn an_agent_cannot_answer_for_a_person() {
    let environment = waiting(60);
    let waits = hook(&environment, "claude-code", &permission(&environment, "ls"));
    let id = asked(&environment);
    let mut told = environment.command(&["decision", "resolve", &id, "allow"]);
    told.env("CLAUDECODE", "1");
    let refused = anyhook_testkit::run(told, b"");
    assert_run!(environment, refused, @"
    exit code: 1
    ----- stderr -----
    error: `anyhook decision resolve` is refused: only a person may do this, and this runs under Claude Code (CLAUDECODE is set)
    hint: run it in your own terminal
    ");

    // One that hides what it is is known by its process.
    let claude = environment.root().join("claude");
    std::os::unix::fs::symlink("/usr/bin/python3", &claude).unwrap();
    let code = r#"
import subprocess, sys
program, prompt, *command = sys.argv[1:]
subprocess.run([program, 'hook', 'claude-code'], input=prompt, text=True, check=True)
sys.exit(subprocess.run(['sh', '-c', '"$@"; exit $?', 'sh', program, *command]).returncode)
"#;
    let mut prompt = permission(&environment, "ls");
    prompt["hook_event_name"] = "UserPromptSubmit".into();
    prompt["prompt"] = "go on".into();
    prompt["session_id"] = "other".into();
    let hidden = |command: &[&str]| {
        let ours = environment.command(&[]);
        let mut agent = std::process::Command::new(&claude);
        agent.args(["-c", code]).arg(ours.get_program()).arg(prompt.to_string()).args(command);
        agent.env_clear().envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
        anyhook_testkit::run(agent, b"")
    };
    let refused = hidden(&["decision", "resolve", &id, "allow"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("runs under Claude Code (process "), "{refused:?}");
    // Nor does it trust its own hooks, or approve its own work.
    for command in [&["trust", "--all"][..], &["workflow", "approve", "requirements", "--by", "me"]]
    {
        let refused = hidden(command);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.stderr.contains("runs under Claude Code (process "), "{refused:?}");
    }
    assert_eq!(open(&environment).len(), 1);
    environment.run(&["decision", "resolve", &id, "allow"]);
    assert_eq!(finish(waits).code, 0);
}

#[test]
fn wrong_answers() {
    let environment = waiting(60);
    let waits = hook(&environment, "claude-code", &permission(&environment, "ls"));
    let id = asked(&environment);
    for choice in ["3", "0", "perhaps", "", "-1"] {
        let ran = environment.run(&["decision", "resolve", &id, "--", choice]);
        assert_eq!(ran.code, 65, "{choice}: {ran:?}");
        assert!(ran.stderr.contains("has no option"), "{ran:?}");
    }
    let misspelled = environment.run(&["decision", "resolve", &id, "alow"]);
    assert!(misspelled.stderr.ends_with("\nhint: did you mean `allow`?\n"), "{misspelled:?}");
    let misspelled = environment.run(&["decision", "resolve", "--all", "--yes", "deni"]);
    assert!(misspelled.stderr.ends_with("\nhint: did you mean `deny`?\n"), "{misspelled:?}");
    environment.run(&["decision", "resolve", &id, "1"]);
    assert_eq!(finish(waits).code, 0);
}

/// Runs a command as somebody.
fn as_person(environment: &TestEnv, name: &str, arguments: &[&str]) -> anyhook_testkit::CommandRun {
    let mut command = environment.command(arguments);
    command.env("USER", name);
    anyhook_testkit::run(command, b"")
}

#[test]
fn a_decision_can_be_claimed() {
    let environment = waiting(60);
    let waits = hook(&environment, "claude-code", &permission(&environment, "ls"));
    let id = asked(&environment);
    let claimed = as_person(&environment, "ann", &["decision", "claim", &id[..4]]);
    assert_eq!((claimed.code, claimed.stdout), (0, format!("{id} claimed by ann\n")));
    // It is stored.
    environment.kill_daemon();
    environment.run(&["daemon", "start"]);
    let listed = environment.run(&["decision", "list"]);
    assert!(listed.stdout.contains("ann claimed it: 1 allow, 2 deny"), "{listed:?}");
    let shown = environment.run(&["decision", "show", &id]);
    assert!(shown.stdout.contains("claimed    by ann, "), "{shown:?}");
    let released = as_person(&environment, "ann", &["decision", "release", &id]);
    assert_eq!((released.code, released.stdout), (0, format!("{id} released by ann\n")));
    assert_eq!(environment.run(&["decision", "release", &id]).code, 1);
    environment.run(&["decision", "claim", &id, "--by", "cleo"]);
    // Somebody else may still answer, by the name of the agent, too.
    let resolve = ["decision", "resolve", "claude-code-project", "allow", "--by", "bob"];
    let resolved = environment.run(&resolve);
    assert_eq!(resolved.stdout, format!("{id}: allow (cleo had claimed it)\n"), "{resolved:?}");
    finish(waits);
    wait_until("the decision to be journaled", || journaled(&environment).len() == 1);
    let record = &journaled(&environment)[0];
    assert_eq!((&record["by"], &record["claimed_by"]), (&json!("bob"), &json!("cleo")));
    assert_eq!(record["agent_name"], "claude-code-project");
    assert!(record["asked"].is_string());
    assert_eq!(environment.run(&["decision", "claim", &id]).code, 1, "it is made");
    // How long it waited is known afterwards.
    let all = environment.run(&["decision", "list", "--all", "--json"]).json();
    assert!(all[0]["waited_ms"].is_u64(), "{all}");
    let stats = environment.run(&["stats", "--json"]).json();
    assert_eq!(stats["waiting"]["all"]["count"], 1, "{stats}");
    assert_eq!(stats["waiting"]["agents"][0]["name"], "claude-code-project");
    assert!(environment.run(&["stats"]).stdout.contains("waited (median)"));
}

#[test]
fn decisions_are_answered_in_bulk() {
    let environment = waiting(60);
    let commands = ["git status", "git status -s", "rm x"];
    let waiting: Vec<Child> = commands
        .iter()
        .map(|command| hook(&environment, "claude-code", &permission(&environment, command)))
        .collect();
    wait_until("all to be open", || open(&environment).len() == 3);
    let refused = environment.run(&["decision", "resolve", "--all", "--about", "git*", "allow"]);
    assert_eq!(refused.code, 1, "nobody can say that it is meant: {refused:?}");
    assert!(refused.stderr.contains("Shell: git status -s"), "{refused:?}");
    assert_eq!(open(&environment).len(), 3);
    let answered = environment.run(&[
        "decision", "resolve", "--all", "--tool", "Shell", "--about", "git*", "allow", "--yes",
    ]);
    assert_eq!((answered.code, answered.stdout.matches(": allow\n").count()), (0, 2));
    let left = open(&environment);
    assert_eq!((left.len(), &left[0]["inquiry"]["about"]), (1, &json!("rm x")));
    wait_until("both to be journaled", || journaled(&environment).len() == 2);
    for (arguments, code) in [
        (&["--all", "--tool", "Edit", "allow", "--yes"][..], 65),
        (&["--all", "perhaps", "--yes"], 65),
        (&["--all", "1", "--yes"], 64),
        (&["--all", "x", "allow", "--yes"], 64),
        (&["--tool", "Shell", "x", "allow"], 64),
        (&["--all", "--again", "allow"], 64),
        (&["x", "allow", "--by", " "], 64),
    ] {
        let ran = environment.run(&[&["decision", "resolve"], arguments].concat());
        assert_eq!(ran.code, code, "{arguments:?}: {ran:?}");
    }
    let denied = environment.run(&["decision", "resolve", "--all", "deny", "--yes", "--json"]);
    assert_eq!(denied.json()[0]["choice"], "deny", "{denied:?}");
    for child in waiting {
        finish(child);
    }
}

#[test]
fn the_same_call_is_allowed_again_until_the_session_ends() {
    let environment = waiting(60);
    let begin =
        |command: &str| hook(&environment, "claude-code", &permission(&environment, command));
    let allowed = |ran: &anyhook_testkit::CommandRun| {
        ran.json()["hookSpecificOutput"]["decision"]["behavior"] == "allow"
    };
    let waits = begin("make");
    let id = asked(&environment);
    assert_eq!(environment.run(&["decision", "resolve", &id, "deny", "--again"]).code, 65);
    let resolved =
        environment.run(&["decision", "resolve", &id, "allow", "--again", "--by", "ann"]);
    assert_eq!(
        resolved.stdout,
        format!("{id}: allow, and for identical calls until the session ends\n")
    );
    assert!(allowed(&finish(waits)));
    // Exactly the same call: nobody is asked, and the daemon may have been away.
    environment.kill_daemon();
    assert!(allowed(&finish(begin("make"))));
    let standing = environment.run(&["decision", "list", "--standing", "--json"]).json();
    assert_eq!((&standing[0]["id"], &standing[0]["used"]), (&json!(id), &json!(1)));
    assert!(environment.run(&["decision", "list", "--standing"]).stdout.contains("Shell: make"));
    wait_until("both to be journaled", || journaled(&environment).len() == 2);
    let again = &journaled(&environment)[1];
    assert_eq!((&again["choice"], &again["follows"]), (&json!("allow"), &json!(id)));
    assert_eq!(state_of(&environment), "working", "it is at no prompt");
    // Another call is another question.
    let other = begin("make install");
    let second = asked(&environment);
    environment.run(&["decision", "resolve", &second, "deny"]);
    finish(other);
    // It can be taken back.
    let revoked = environment.run(&["decision", "revoke", &id[..5]]);
    assert_eq!(revoked.stdout, format!("{id}: revoked, will ask again: make\n"), "{revoked:?}");
    assert_eq!(environment.run(&["decision", "revoke", &id]).code, 65);
    let asks = begin("make");
    let third = asked(&environment);
    environment.run(&["decision", "resolve", &third, "allow", "--again"]);
    finish(asks);
    // It ends with the session.
    let mut over = permission(&environment, "");
    over["hook_event_name"] = json!("SessionEnd");
    over["reason"] = json!("other");
    finish(hook(&environment, "claude-code", &over));
    let standing = environment.run(&["decision", "list", "--standing", "--exit-code"]);
    assert_eq!(standing.code, 3, "{standing:?}");
    let asks = begin("make");
    let fourth = asked(&environment);
    environment.run(&["decision", "resolve", &fourth, "deny"]);
    assert!(!allowed(&finish(asks)));
}

fn state_of(environment: &TestEnv) -> String {
    let agents = environment.run(&["agent", "list", "--json"]).json();
    agents[0]["state"].as_str().unwrap().to_owned()
}

#[test]
fn no_agent_claims_releases_or_revokes() {
    let environment = waiting(60);
    let waits = hook(&environment, "claude-code", &permission(&environment, "ls"));
    let id = asked(&environment);
    for arguments in [
        &["claim", &id][..],
        &["release", &id],
        &["revoke", &id],
        &["resolve", "--all", "allow", "--yes"],
        &["resolve", &id, "allow", "--again"],
    ] {
        let mut command = environment.command(&[&["decision"], arguments].concat());
        command.env("CLAUDECODE", "1");
        let ran = anyhook_testkit::run(command, b"");
        assert_eq!(ran.code, 1, "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains("only a person may do this"), "{ran:?}");
    }
    let shown = environment.run(&["decision", "show", &id, "--json"]).json();
    assert!(shown["claimed"].is_null() && shown["resolution"].is_null(), "{shown}");
    environment.run(&["decision", "resolve", &id, "deny"]);
    finish(waits);
}

#[test]
fn whoever_is_not_named_decides_by_their_login() {
    let environment = waiting(60);
    let waits = hook(&environment, "claude-code", &permission(&environment, "ls"));
    let id = asked(&environment);
    let mut command = environment.command(&["decision", "resolve", &id, "deny", "--json"]);
    command.env_remove("USER").env_remove("LOGNAME");
    let by = anyhook_testkit::run(command, b"").json()["by"].as_str().unwrap().to_owned();
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap();
    assert!(passwd.lines().any(|line| line.starts_with(&format!("{by}:"))), "{by}");
    finish(waits);
}
