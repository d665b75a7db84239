//! Notices to ntfy, Slack and Telegram: what is sent, and what becomes of it when a server fails.

use std::path::{Path, PathBuf};

use anyhook_daemon::notice::{ChannelCodes, NoticeJob};
use anyhook_engine::settings::{NtfySettings, SlackSettings, TelegramSettings};
use anyhook_model::notice::{Channel, DeliveryStatus, PostedMessage};
use anyhook_testkit::phone::{NtfyServer, SlackServer, TelegramServer};
use anyhook_testkit::write;
use serde_json::{Value, json};

use super::{SHOWN, delivered, failure, job, only};

const URL: &str = "https://box.example:7777/decisions/7k2m9x4q";

fn secret(scratch: &Path, content: &str) -> PathBuf {
    let path = scratch.join("secret");
    write(&path, format!("{content}\n"), 0o600);
    path
}

/// Returns a job with a link and with codes for a channel.
fn job_for(scratch: &Path, channel: Channel) -> NoticeJob {
    let mut job = job(scratch);
    job.notice.url = Some(URL.to_owned());
    job.codes =
        vec![ChannelCodes { channel, codes: vec!["c0de.1".to_owned(), "c0de.2".to_owned()] }];
    job.settings.timeout_seconds = 5;
    job
}

fn ntfy(url: &str) -> NtfySettings {
    serde_json::from_value(json!({"server": url, "topic": "agents", "reply_topic": "answers"}))
        .unwrap()
}

fn slack(url: &str, more: Value) -> SlackSettings {
    let mut settings = more;
    settings["server"] = format!("{url}/api").into();
    serde_json::from_value(settings).unwrap()
}

fn telegram(url: &str, token: &Path) -> TelegramSettings {
    let settings = json!({"server": url, "bot_token_file": token, "chat": 7, "users": [42]});
    serde_json::from_value(settings).unwrap()
}

#[test]
fn ntfy_gets_text_a_link_and_buttons() {
    let scratch = tempfile::tempdir().unwrap();
    let server = NtfyServer::start(Some("tk_1"));
    let mut job = job_for(scratch.path(), Channel::Ntfy);
    let token = secret(scratch.path(), "tk_1");
    let settings = NtfySettings { token_file: Some(token), ..ntfy(&server.server.url()) };
    job.settings.ntfy = Some(settings);
    let outcome = delivered(job, None);
    assert_eq!(only(&outcome, Channel::Ntfy).result, DeliveryStatus::Delivered);
    let message = server.messages("agents").remove(0);
    assert_eq!((&message["title"], &message["message"]), (&json!(SHOWN), &json!(SHOWN)));
    assert_eq!(message["click"], URL);
    let replies = format!("{}/answers", server.server.url());
    assert_eq!(
        message["actions"][1],
        json!({"action": "http", "label": "deny", "url": replies, "method": "POST",
            "body": "c0de.2", "clear": true})
    );
    assert!(!message.to_string().contains("tk_1"), "a token is not for whoever reads the topic");
}

#[test]
fn without_codes_there_are_no_buttons_but_the_link() {
    let scratch = tempfile::tempdir().unwrap();
    let (server, bot) = (NtfyServer::start(None), TelegramServer::start("1:t"));
    let mut job = job_for(scratch.path(), Channel::Slack);
    job.settings.ntfy = Some(ntfy(&server.server.url()));
    let token = secret(scratch.path(), "1:t");
    job.settings.telegram = Some(telegram(&bot.server.url(), &token));
    assert!(delivered(job, None).is_delivered());
    assert_eq!(server.messages("agents")[0]["actions"], Value::Null);
    assert_eq!(server.messages("agents")[0]["click"], URL);
    assert_eq!(bot.messages()[0].buttons(), [json!({"text": "Open", "url": URL})]);
}

#[test]
fn a_bot_in_slack_posts_and_remembers_the_message() {
    let scratch = tempfile::tempdir().unwrap();
    let server = SlackServer::start("xoxb-1", "xapp-1");
    let token = secret(scratch.path(), "xoxb-1");
    let mut job = job_for(scratch.path(), Channel::Slack);
    let bot = json!({"bot_token_file": token, "channel": "C1"});
    job.settings.slack = Some(slack(&server.server.url(), bot));
    let outcome = delivered(job, None);
    let way = only(&outcome, Channel::Slack);
    let message = server.messages().remove(0);
    let posted = PostedMessage { place: "C1".to_owned(), id: message.ts.clone() };
    assert_eq!((way.result, &way.message), (DeliveryStatus::Delivered, &Some(posted)));
    assert_eq!(message.sections(), [SHOWN, SHOWN]);
    assert_eq!(message.button("allow")["value"], "c0de.1");
    assert_eq!(message.button("Open")["url"], URL);
    // The one text that Slack reads as markup.
    let summary = message.content["text"].as_str().unwrap();
    assert!(summary.contains("&lt;b&gt;&amp;amp;") && !summary.contains('<'), "{summary}");
}

#[test]
fn a_webhook_of_slack_has_the_link_only() {
    let scratch = tempfile::tempdir().unwrap();
    let server = SlackServer::start("xoxb-1", "xapp-1");
    let url = secret(scratch.path(), &format!("{}/services/T1/B1/s3cret", server.server.url()));
    let mut job = job_for(scratch.path(), Channel::Ntfy);
    let hook = json!({"webhook_url_file": url});
    job.settings.slack = Some(slack(&server.server.url(), hook));
    let outcome = delivered(job, None);
    let way = only(&outcome, Channel::Slack);
    assert_eq!((way.result, &way.message), (DeliveryStatus::Delivered, &None));
    let message = server.messages().remove(0);
    assert_eq!((message.sections().len(), message.buttons().len()), (2, 1));
}

#[test]
fn telegram_gets_a_message_even_where_it_refuses_the_link() {
    let scratch = tempfile::tempdir().unwrap();
    let server = TelegramServer::start("1:t");
    let token = secret(scratch.path(), "1:t");
    let mut job = job_for(scratch.path(), Channel::Telegram);
    job.notice.url = Some("http://localhost:7777/decisions/7k2m9x4q".to_owned());
    job.settings.telegram = Some(telegram(&server.server.url(), &token));
    let outcome = delivered(job, None);
    let way = only(&outcome, Channel::Telegram);
    let posted = PostedMessage { place: "7".to_owned(), id: "100".to_owned() };
    assert_eq!((way.result, &way.message), (DeliveryStatus::Delivered, &Some(posted)));
    let message = server.messages().remove(0);
    assert_eq!(message.text(), format!("{SHOWN}\n{SHOWN}"));
    assert_eq!((message.data("allow").as_str(), message.buttons().len()), ("c0de.1", 2));
    assert_eq!(message.content["link_preview_options"]["is_disabled"], true);
}

#[test]
fn what_a_service_says_is_told_without_its_secrets() {
    let scratch = tempfile::tempdir().unwrap();
    let wrong = secret(scratch.path(), "1:s3cret");
    let telegram_server = TelegramServer::start("1:t");
    let mut job = job_for(scratch.path(), Channel::Telegram);
    job.settings.telegram = Some(telegram(&telegram_server.server.url(), &wrong));
    let why = failure(&delivered(job, None), Channel::Telegram);
    assert_eq!(why, "127.0.0.1: status 401: Unauthorized");

    let folder = tempfile::tempdir().unwrap();
    let slack_server = SlackServer::start("xoxb-1", "xapp-1");
    let mut job = job_for(folder.path(), Channel::Slack);
    let bot = json!({"bot_token_file": wrong, "channel": "C1"});
    job.settings.slack = Some(slack(&slack_server.server.url(), bot));
    let why = failure(&delivered(job, None), Channel::Slack);
    assert_eq!(why, "127.0.0.1: Slack says invalid_auth");

    let folder = tempfile::tempdir().unwrap();
    let ntfy_server = NtfyServer::start(Some("tk_1"));
    let mut job = job_for(folder.path(), Channel::Ntfy);
    job.settings.ntfy = Some(ntfy(&ntfy_server.server.url()));
    let why = failure(&delivered(job, None), Channel::Ntfy);
    assert_eq!(why, "127.0.0.1: status 403");
}

#[test]
fn a_server_that_falls_over_is_asked_three_times() {
    let scratch = tempfile::tempdir().unwrap();
    let server = NtfyServer::start(None);
    server.server.fail(Some(503));
    let mut job = job_for(scratch.path(), Channel::Ntfy);
    job.settings.ntfy = Some(ntfy(&server.server.url()));
    let why = failure(&delivered(job, None), Channel::Ntfy);
    assert_eq!((why.as_str(), server.server.requests()), ("127.0.0.1: status 503", 3));
}

#[test]
fn a_message_whose_answer_is_lost_is_not_sent_again() {
    let scratch = tempfile::tempdir().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (tell, connections) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            // It takes the request, and hangs up.
            let read = std::io::Read::read(&mut stream, &mut vec![0; 64 * 1024]);
            if tell.send(read.unwrap_or(0)).is_err() {
                return;
            }
        }
    });
    let token = secret(scratch.path(), "1:t");
    let mut job = job_for(scratch.path(), Channel::Telegram);
    job.settings.telegram = Some(telegram(&url, &token));
    let why = failure(&delivered(job, None), Channel::Telegram);
    assert!(why.starts_with("127.0.0.1: ") && !why.contains("1:t"), "{why}");
    assert_eq!(connections.try_iter().count(), 1);
}

#[test]
fn without_their_secrets_nothing_is_sent() {
    let scratch = tempfile::tempdir().unwrap();
    let server = TelegramServer::start("1:t");
    let open = scratch.path().join("open");
    write(&open, "1:t", 0o644);
    let many = secret(scratch.path(), "1:t\r\nX: y");
    for (file, says) in [
        (open.as_path(), "can be read by others"),
        (Path::new("/nowhere/token"), "cannot be read"),
        (many.as_path(), "more than one line"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut job = job_for(folder.path(), Channel::Telegram);
        job.settings.telegram = Some(telegram(&server.server.url(), file));
        let why = failure(&delivered(job, None), Channel::Telegram);
        assert!(why.contains(says), "{why}");
    }
    assert_eq!(server.server.requests(), 0);
}

#[test]
fn what_is_not_encrypted_does_not_leave_this_machine() {
    let scratch = tempfile::tempdir().unwrap();
    let mut job = job_for(scratch.path(), Channel::Ntfy);
    job.settings.ntfy = Some(ntfy("http://192.0.2.1"));
    let why = failure(&delivered(job, None), Channel::Ntfy);
    assert!(why.contains("use https://"), "{why}");
}
