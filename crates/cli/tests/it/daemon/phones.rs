//! Notices on a phone, and the answers that come back: with servers that speak the protocols of ntfy,
//! Telegram and Slack.

use std::process::Child;
use std::time::{Duration, Instant};

use anyhook_testkit::phone::{
    NtfyServer, SlackMessage, SlackServer, TelegramMessage, TelegramServer, post,
};
use anyhook_testkit::{TestEnv, finish, wait_until, write};
use serde_json::Value;

use crate::commands::decision::{asked, hook, permission};
use crate::environment;

const TOKEN: &str = "12:t0ken";
/// Markup of every kind, and what a service could take for a link, a mention or a button.
const HOSTILE: &str =
    "echo '<b>*x*</b> <https://evil.example|ok> @here /deny [a](https://evil.example) &amp;'";

/// Returns an environment in which permissions wait for an answer, with these settings, `{KEY}` in
/// which is a file with that token.
fn with_settings(seconds: u32, notify: &str) -> TestEnv {
    let environment = environment();
    let folder = environment.home().join(".config/agents");
    let mut notify = notify.to_owned();
    for (name, token) in [("TOKEN", TOKEN), ("APP", "xapp-1"), ("BOT", "xoxb-1"), ("NTFY", "tk_1")]
    {
        let file = folder.join(name.to_lowercase());
        write(&file, format!("{token}\n"), 0o600);
        notify = notify.replace(&format!("{{{name}}}"), &file.display().to_string());
    }
    let settings = format!(
        "[decisions]\nwait = [\"permission\", \"ask\"]\nwait_seconds = {seconds}\n\
         [ui]\nurl = \"https://box.example:7777\"\n\
         [notify]\ndesktop = false\n{notify}\n"
    );
    write(&folder.join("anyhook.toml"), settings, 0o644);
    environment
}

fn ntfy(seconds: u32) -> (TestEnv, NtfyServer) {
    let server = NtfyServer::start(Some("tk_1"));
    let settings = format!(
        "[notify.ntfy]\nserver = \"{}\"\ntopic = \"agents\"\nreply_topic = \"answers\"\n\
         token_file = \"{{NTFY}}\"",
        server.server.url()
    );
    (with_settings(seconds, &settings), server)
}

fn telegram_settings(server: &TelegramServer) -> String {
    format!(
        "[notify.telegram]\nserver = \"{}\"\nbot_token_file = \"{{TOKEN}}\"\nchat = 7\nusers = [42]\n",
        server.server.url()
    )
}

fn telegram() -> (TestEnv, TelegramServer) {
    let server = TelegramServer::start(TOKEN);
    (with_settings(120, &telegram_settings(&server)), server)
}

fn slack_settings(server: &SlackServer) -> String {
    format!(
        "[notify.slack]\nserver = \"{}/api\"\nbot_token_file = \"{{BOT}}\"\nchannel = \"C1\"\n\
         app_token_file = \"{{APP}}\"\nusers = [\"U42\"]\n",
        server.server.url()
    )
}

fn slack() -> (TestEnv, SlackServer) {
    let server = SlackServer::start("xoxb-1", "xapp-1");
    (with_settings(120, &slack_settings(&server)), server)
}

/// An agent asks, and its hook process waits.
fn ask(environment: &TestEnv, command: &str) -> Child {
    hook(environment, "claude-code", &permission(environment, command))
}

/// Waits for the first message about a decision.
fn notice(server: &NtfyServer) -> Value {
    wait_until("the notice", || !server.messages("agents").is_empty());
    server.messages("agents").remove(0)
}

fn telegram_message(server: &TelegramServer) -> TelegramMessage {
    wait_until("the message", || !server.messages().is_empty());
    server.messages().remove(0)
}

fn slack_message(server: &SlackServer) -> SlackMessage {
    wait_until("the message", || !server.messages().is_empty());
    server.messages().remove(0)
}

/// Returns what the waiting hook process told the agent.
fn behavior(waits: Child) -> String {
    let reply = finish(waits);
    let behavior = &reply.json()["hookSpecificOutput"]["decision"]["behavior"];
    behavior.as_str().unwrap_or_else(|| panic!("{reply:?}")).to_owned()
}

/// Returns the records of decisions that were made, once there is one.
fn made(environment: &TestEnv) -> Vec<Value> {
    let made = || {
        let mut records = environment.all_records();
        records.retain(|record| record["event"] == "decision:resolved");
        records
    };
    wait_until("the decision in the journal", || !made().is_empty());
    made()
}

/// Returns who decided, according to the journal.
fn decided_by(environment: &TestEnv) -> String {
    let made = made(environment);
    assert_eq!(made.len(), 1, "{made:#?}");
    made[0]["payload"]["by"].as_str().unwrap_or_else(|| panic!("{made:#?}")).to_owned()
}

/// Waits until that many answers were refused, and returns who gave each and why.
fn refused(environment: &TestEnv, count: usize) -> Vec<(String, String)> {
    let refused = || -> Vec<(String, String)> {
        let records = environment.all_records();
        let resolves =
            records.iter().filter(|record| record["event"] == "command:decision_resolve");
        let payloads = resolves.map(|record| &record["payload"]);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        payloads
            .filter(|payload| payload["outcome"] == "refused")
            .map(|payload| (text(&payload["by"]), text(&payload["why"])))
            .collect()
    };
    wait_until("the refusals in the journal", || refused().len() >= count);
    let refused = refused();
    assert_eq!(refused.len(), count, "{refused:#?}");
    refused
}

#[test]
fn a_button_of_ntfy_answers_a_waiting_hook() {
    let (environment, server) = ntfy(120);
    let waits = ask(&environment, HOSTILE);
    let id = asked(&environment);
    let message = notice(&server);
    assert_eq!(message["title"], "claude-code-project wants to run Shell");
    let body = message["message"].as_str().unwrap();
    assert!(body.starts_with(HOSTILE), "{body}");
    assert_eq!(message["click"], format!("https://box.example:7777/decisions/{id}"));
    assert_eq!(message["priority"], 4);
    assert_eq!(message["markdown"], Value::Null, "text, whatever it contains");
    let labels: Vec<&Value> =
        message["actions"].as_array().unwrap().iter().map(|action| &action["label"]).collect();
    assert_eq!(labels, ["allow", "deny"]);
    server.press(&message, "deny");
    assert_eq!(behavior(waits), "deny");
    assert_eq!(decided_by(&environment), "ntfy");
    let key = environment.state().join("daemon/answer-key");
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&key.metadata().unwrap()) & 0o777, 0o600);
}

#[test]
fn what_is_forged_altered_or_repeated_is_refused_and_journaled() {
    let (environment, server) = ntfy(120);
    let first = ask(&environment, "ls one");
    asked(&environment);
    let message = notice(&server);
    let code = |message: &Value, number: usize| {
        message["actions"][number]["body"].as_str().unwrap().to_owned()
    };
    let (allow, deny) = (code(&message, 0), code(&message, 1));
    let second = ask(&environment, "ls two");
    wait_until("the second notice", || server.messages("agents").len() == 2);
    let other = code(&server.messages("agents")[1], 0);

    let replies = format!("{}/answers", server.server.url());
    let (id, tag) = (allow.split('.').next().unwrap(), allow.rsplit('.').next().unwrap());
    let other_id = other.split('.').next().unwrap();
    let forged = [
        // The agent guesses, changes an option, uses the code for another call, or a tag for another option.
        "allow".to_owned(),
        format!("{id}.1.7fffffff.{}", "0".repeat(32)),
        allow.replacen(".1.", ".2.", 1),
        allow.replacen(id, other_id, 1),
        deny.replace(deny.rsplit('.').next().unwrap(), tag),
        format!("zzzzzzzz{}", &allow[id.len()..]),
        "x".repeat(4000),
    ];
    for forged in &forged {
        assert_eq!(post(&replies, forged), 200);
    }
    let reasons = refused(&environment, forged.len());
    let counts = |what: &str| reasons.iter().filter(|(_, why)| why.contains(what)).count();
    assert_eq!(
        (counts("not a code"), counts("was not made for"), counts("there is no decision")),
        (2, 4, 1),
        "{reasons:#?}"
    );
    assert!(reasons.iter().all(|(by, _)| by == "ntfy"), "{reasons:#?}");

    // The decisions are still open, and each takes its own code.
    assert_eq!(post(&replies, &other), 200);
    assert_eq!(behavior(second), "allow");
    assert_eq!(post(&replies, &deny), 200);
    assert_eq!(behavior(first), "deny");
    // Again, and the other button after it.
    assert_eq!(post(&replies, &deny), 200);
    assert_eq!(post(&replies, &allow), 200);
    let reasons = refused(&environment, forged.len() + 2);
    assert!(reasons[forged.len()..].iter().all(|(_, why)| why.contains("already made: deny")));
    wait_until("both decisions in the journal", || made(&environment).len() == 2);
}

#[test]
fn whoever_floods_the_topic_neither_fills_the_journal_nor_drowns_an_answer() {
    let (environment, server) = ntfy(120);
    let waits = ask(&environment, "ls");
    asked(&environment);
    let message = notice(&server);
    let replies = format!("{}/answers", server.server.url());
    for number in 0..100 {
        assert_eq!(post(&replies, &format!("forged {number}")), 200);
    }
    server.press(&message, "allow");
    assert_eq!(behavior(waits), "allow");
    refused(&environment, 30);
}

#[test]
fn an_answer_that_is_too_late_is_refused() {
    let (environment, server) = ntfy(2);
    let waits = ask(&environment, "ls");
    let message = notice(&server);
    assert_eq!(finish(waits).stdout, "", "the agent's own dialog stands");
    server.press(&message, "allow");
    let (_, why) = refused(&environment, 1).remove(0);
    assert!(why.contains("expired") || why.contains("no answer in time"), "{why}");
}

#[test]
fn an_answer_given_while_the_daemon_was_killed_is_found() {
    let (environment, server) = ntfy(120);
    let waits = ask(&environment, "ls");
    asked(&environment);
    let message = notice(&server);
    environment.kill_daemon();
    server.press(&message, "allow");
    // The waiting hook process brings the daemon back.
    assert_eq!(behavior(waits), "allow");
    assert_eq!(decided_by(&environment), "ntfy");
    // Killed again, it does not answer again.
    environment.kill_daemon();
    let next = ask(&environment, "ls two");
    wait_until("the second notice", || server.messages("agents").len() == 2);
    server.press(&server.messages("agents")[1], "deny");
    assert_eq!(behavior(next), "deny");
    wait_until("both decisions in the journal", || made(&environment).len() == 2);
}

#[test]
fn a_button_in_telegram_answers_for_those_who_may() {
    let (environment, server) = telegram();
    let waits = ask(&environment, HOSTILE);
    asked(&environment);
    let message = telegram_message(&server);
    let buttons = message.buttons();
    let labels: Vec<&Value> = buttons.iter().map(|button| &button["text"]).collect();
    assert_eq!(labels, ["allow", "deny", "Open"]);
    assert!(message.text().contains(HOSTILE), "{}", message.text());
    assert_eq!(message.content["parse_mode"], Value::Null);
    // Every character of the agent's text is in an entity of code.
    let entities = message.content["entities"].as_array().unwrap();
    let covered: u64 = entities.iter().map(|entity| entity["length"].as_u64().unwrap()).sum();
    let length = u64::try_from(message.text().encode_utf16().count()).unwrap();
    assert_eq!(covered + 1, length, "all but the line break");
    assert!(entities.iter().all(|entity| entity["type"] == "code"));

    server.press(13, &message.data("allow"));
    assert_eq!(
        refused(&environment, 1),
        [("telegram:13".to_owned(), "this user may not answer".to_owned())]
    );
    server.press(42, "7k2m9x4q.1.0.0");
    assert_eq!(refused(&environment, 2)[1].0, "telegram:42");
    server.press(42, &message.data("deny"));
    assert_eq!(behavior(waits), "deny");
    assert_eq!(decided_by(&environment), "telegram:42");
    wait_until("the people to be told", || server.toasts().len() == 3);
    let toasts = server.toasts();
    assert_eq!(
        (toasts[0].as_str(), toasts[2].as_str()),
        ("Refused: this user may not answer", "Answered: deny")
    );
    wait_until("the message to say so", || server.messages()[0].edits == 1);
    let edited = server.messages().remove(0);
    assert!(edited.text().ends_with("\ndeny, by telegram:42"), "{}", edited.text());
    assert!(edited.text().contains(HOSTILE) && edited.buttons().is_empty());
    wait_until("the updates to be confirmed", || server.unconfirmed() == 0);
}

#[test]
fn telegram_repeats_what_a_killed_daemon_has_not_confirmed() {
    let (environment, server) = telegram();
    let waits = ask(&environment, "ls");
    asked(&environment);
    let message = telegram_message(&server);
    environment.kill_daemon();
    server.press(42, &message.data("allow"));
    assert_eq!(behavior(waits), "allow");
    assert_eq!(decided_by(&environment), "telegram:42");
    wait_until("the update to be confirmed", || server.unconfirmed() == 0);
}

#[test]
fn a_button_in_slack_answers_for_those_who_may() {
    let (environment, server) = slack();
    let waits = ask(&environment, HOSTILE);
    let id = asked(&environment);
    let message = slack_message(&server);
    let sections = message.sections();
    assert_eq!(sections[0], "claude-code-project wants to run Shell");
    assert!(sections[1].starts_with(HOSTILE), "{sections:?}");
    let blocks = message.content["blocks"].to_string();
    assert!(!blocks.contains("mrkdwn"), "{blocks}");
    assert_eq!(message.button("Open")["url"], format!("https://box.example:7777/decisions/{id}"));

    server.press("U13", &message.button("allow"));
    assert_eq!(
        refused(&environment, 1),
        [("slack:U13".to_owned(), "this user may not answer".to_owned())]
    );
    // A link is reported, too, and is no answer.
    server.press("U42", &message.button("Open"));
    wait_until("the envelopes to be acknowledged", || server.unacknowledged() == 0);
    // Slack renews connections.
    server.refresh();
    wait_until("another connection", || server.connections() == 2);
    server.press("U42", &message.button("allow"));
    assert_eq!(behavior(waits), "allow");
    assert_eq!(decided_by(&environment), "slack:U42");
    wait_until("the message to say so", || server.messages()[0].edits == 1);
    let edited = server.messages().remove(0);
    assert_eq!(edited.sections()[2], "allow, by slack:U42");
    assert!(edited.buttons().iter().all(|button| button["text"]["text"] == "Open"));
    wait_until("the envelope to be acknowledged", || server.unacknowledged() == 0);
    refused(&environment, 1);
}

#[test]
fn slack_repeats_what_a_killed_daemon_has_not_acknowledged() {
    let (environment, server) = slack();
    let waits = ask(&environment, "ls");
    asked(&environment);
    let message = slack_message(&server);
    wait_until("the connection", || server.connections() == 1);
    environment.kill_daemon();
    server.press("U42", &message.button("deny"));
    assert_eq!(behavior(waits), "deny");
    assert_eq!(decided_by(&environment), "slack:U42");
}

#[test]
fn a_code_of_one_channel_is_no_answer_on_another() {
    let (ntfy, telegram) = (NtfyServer::start(None), TelegramServer::start(TOKEN));
    let settings = format!(
        "[notify.ntfy]\nserver = \"{}\"\ntopic = \"agents\"\nreply_topic = \"answers\"\n{}",
        ntfy.server.url(),
        telegram_settings(&telegram)
    );
    let environment = with_settings(120, &settings);
    let waits = ask(&environment, "ls");
    asked(&environment);
    let message = telegram_message(&telegram);
    // Somebody in the chat, who may not answer there, knows the code.
    let replies = format!("{}/answers", ntfy.server.url());
    assert_eq!(post(&replies, &message.data("allow")), 200);
    let (by, why) = refused(&environment, 1).remove(0);
    assert!(by == "ntfy" && why.contains("this channel"), "{by}: {why}");
    ntfy.press(&notice(&ntfy), "deny");
    assert_eq!(behavior(waits), "deny");
}

#[test]
fn messages_say_that_a_decision_was_made_elsewhere() {
    let (telegram, slack) = (TelegramServer::start(TOKEN), SlackServer::start("xoxb-1", "xapp-1"));
    let settings = telegram_settings(&telegram) + &slack_settings(&slack);
    let environment = with_settings(120, &settings);
    let waits = ask(&environment, "ls");
    let id = asked(&environment);
    let message = telegram_message(&telegram);
    slack_message(&slack);
    let ran = environment.run(&["decision", "resolve", &id, "allow", "--by", "ann"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(behavior(waits), "allow");
    wait_until("both messages to say so", || {
        telegram.messages()[0].edits == 1 && slack.messages()[0].edits == 1
    });
    assert!(telegram.messages()[0].text().ends_with("\nallow, by ann"));
    assert_eq!(slack.messages()[0].sections()[2], "allow, by ann");
    // A button that somebody still sees is refused, and changes nothing.
    telegram.press(42, &message.data("deny"));
    let (_, why) = refused(&environment, 1).remove(0);
    assert!(why.contains("already made: allow, by ann"), "{why}");
    assert_eq!((telegram.messages()[0].edits, slack.messages()[0].edits), (1, 1));
}

#[test]
fn servers_that_are_down_cost_no_decision_and_are_asked_ever_less_often() {
    let (ntfy, telegram) = (NtfyServer::start(None), TelegramServer::start(TOKEN));
    let slack = SlackServer::start("xoxb-1", "xapp-1");
    for server in [&ntfy.server, &telegram.server, &slack.server] {
        server.fail(Some(500));
    }
    let settings = format!(
        "timeout_seconds = 2\n\
         [notify.ntfy]\nserver = \"{}\"\ntopic = \"agents\"\nreply_topic = \"answers\"\n{}{}",
        ntfy.server.url(),
        telegram_settings(&telegram),
        slack_settings(&slack)
    );
    let environment = with_settings(120, &settings);
    let waits = ask(&environment, "ls");
    let began = Instant::now();
    let id = asked(&environment);
    let ran = environment.run(&["decision", "resolve", &id, "allow"]);
    assert_eq!((ran.code, behavior(waits).as_str()), (0, "allow"));
    // Of ntfy's requests three are the notice's: the fourth to listen comes after 1.75 s.
    wait_until("seven requests", || ntfy.server.requests() >= 7);
    assert!(began.elapsed() >= Duration::from_millis(1500), "{:?}", began.elapsed());

    // And when they are back, so are the answers.
    for server in [&ntfy.server, &telegram.server, &slack.server] {
        server.fail(None);
    }
    let waits = ask(&environment, "ls two");
    asked(&environment);
    let message = telegram_message(&telegram);
    telegram.press(42, &message.data("deny"));
    assert_eq!(behavior(waits), "deny");
}

#[test]
fn without_settings_nothing_listens_and_there_is_no_key() {
    let environment = with_settings(120, "bell = false");
    assert_eq!(environment.run(&["daemon", "start"]).code, 0);
    assert!(!environment.state().join("daemon/answer-key").exists());
    let process = environment.daemon().unwrap();
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    assert!(names.into_iter().all(|name| name.trim() != "replies"));
}

#[test]
fn doctor_names_channels_that_cannot_work() {
    let environment = with_settings(
        120,
        "[notify.ntfy]\ntopic = \"a\"\nreply_topic = \"a\"\n\
         [notify.slack]\nbot_token_file = \"{BOT}\"\napp_token_file = \"/nowhere/app\"\n\
         [notify.telegram]\nbot_token_file = \"{TOKEN}\"\nchat = 7\n",
    );
    let token = environment.home().join(".config/agents/token");
    write(&token, TOKEN, 0o644);
    let findings = environment.run(&["doctor", "--json"]).json();
    let about = findings["findings"].as_array().unwrap().iter();
    let said: Vec<String> = about
        .filter(|finding| finding["about"] == "notices" || finding["subject"] == "notices")
        .map(Value::to_string)
        .collect();
    for what in [
        "ntfy: `reply_topic` must not be `topic`",
        "slack: `bot_token_file` needs a `channel`",
        "slack: nobody may answer",
        "/nowhere/app` cannot be read",
        "telegram: the secret file",
        "chmod 600",
    ] {
        assert!(said.iter().any(|finding| finding.contains(what)), "{what}: {findings:#}");
    }
}
