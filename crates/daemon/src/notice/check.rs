//! What is wrong with the settings of notices, before one is sent.

use anyhook_engine::settings::{NotifySettings, NtfySettings, SlackSettings, TelegramSettings};

use super::{http, secret_file};

/// Returns what is wrong with the channels, each with the name of its channel first.
pub fn check(settings: &NotifySettings) -> Vec<String> {
    let webhook = match (&settings.webhook, &settings.webhook_secret_file) {
        (Some(url), secret) => [
            http::address("the webhook", url).err(),
            secret.as_deref().and_then(|file| secret_file::read(file).err()),
        ]
        .into_iter()
        .flatten()
        .collect(),
        (None, Some(_)) => vec!["`webhook_secret_file` without `webhook`".to_owned()],
        (None, None) => Vec::new(),
    };
    let channels = [
        ("webhook", webhook),
        ("ntfy", settings.ntfy.as_ref().map(ntfy).unwrap_or_default()),
        ("slack", settings.slack.as_ref().map(slack).unwrap_or_default()),
        ("telegram", settings.telegram.as_ref().map(telegram).unwrap_or_default()),
    ];
    let named = |(name, problems): (&str, Vec<String>)| {
        let name = name.to_owned();
        problems.into_iter().map(move |problem| format!("notices by {name}: {problem}"))
    };
    channels.into_iter().flat_map(named).collect()
}

fn ntfy(settings: &NtfySettings) -> Vec<String> {
    let shares = settings.reply_topic.as_ref() == Some(&settings.topic);
    let token = settings.token_file.as_deref().map(secret_file::read_text);
    let problems = [
        http::address("the server", &settings.server).err(),
        token.and_then(Result::err),
        shares.then(|| "`reply_topic` must not be `topic`: answers would be notices".to_owned()),
    ];
    problems.into_iter().flatten().collect()
}

fn slack(settings: &SlackSettings) -> Vec<String> {
    let SlackSettings { server, bot_token_file, channel, webhook_url_file, app_token_file, users } =
        settings;
    let say = |is_wrong: bool, why: &str| is_wrong.then(|| why.to_owned());
    let read = |file: &Option<std::path::PathBuf>| file.as_deref().map(secret_file::read_text);
    let webhook = match read(webhook_url_file) {
        Some(Ok(url)) => http::address("the webhook", &url).err(),
        Some(Err(why)) => Some(why),
        None => None,
    };
    let (bot, hook) = (bot_token_file.is_some(), webhook_url_file.is_some());
    let problems = [
        http::address("the server", server).err(),
        read(bot_token_file).and_then(Result::err),
        read(app_token_file).and_then(Result::err),
        webhook,
        say(!bot && !hook, "needs `bot_token_file` and `channel`, or `webhook_url_file`"),
        say(bot && hook, "`webhook_url_file` is used, and `bot_token_file` is not: choose one"),
        say(bot && channel.is_none(), "`bot_token_file` needs a `channel`"),
        say(
            app_token_file.is_some() && (!bot || hook),
            "`app_token_file` needs `bot_token_file`: a webhook has no buttons that answer",
        ),
        say(app_token_file.is_some() && users.is_empty(), "nobody may answer: set `users`"),
        say(app_token_file.is_none() && !users.is_empty(), "`users` needs `app_token_file`"),
    ];
    problems.into_iter().flatten().collect()
}

fn telegram(settings: &TelegramSettings) -> Vec<String> {
    super::telegram::TelegramBot::of(settings).err().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    fn of(text: &str) -> Vec<String> {
        check(&toml_like(text))
    }

    /// Reads settings as a job has them: the daemon has no TOML.
    fn toml_like(json: &str) -> NotifySettings {
        serde_json::from_str(json).unwrap()
    }

    fn secret(folder: &tempfile::TempDir, mode: u32, content: &str) -> PathBuf {
        let path = folder.path().join(format!("{mode:o}"));
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn what_works_has_no_problem() {
        let scratch = tempfile::tempdir().unwrap();
        let file = secret(&scratch, 0o600, "12:ab").display().to_string();
        assert_eq!(of("{}"), Vec::<String>::new());
        let all = format!(
            r#"{{"ntfy": {{"topic": "a", "reply_topic": "b", "token_file": "{file}"}},
                "slack": {{"bot_token_file": "{file}", "channel": "C1", "app_token_file": "{file}",
                    "users": ["U1"]}},
                "telegram": {{"bot_token_file": "{file}", "chat": 7, "users": [7]}}}}"#
        );
        assert_eq!(of(&all), Vec::<String>::new());
    }

    #[test]
    fn what_is_missing_or_too_open_is_named() {
        let scratch = tempfile::tempdir().unwrap();
        let open = secret(&scratch, 0o644, "12:ab").display().to_string();
        let good = secret(&scratch, 0o600, "12:ab").display().to_string();
        for (text, says) in [
            (r#"{"ntfy": {"topic": "a", "reply_topic": "a"}}"#.to_owned(), "ntfy: `reply_topic`"),
            (r#"{"ntfy": {"topic": "a", "server": "http://x.org"}}"#.to_owned(), "use https://"),
            (format!(r#"{{"ntfy": {{"topic": "a", "token_file": "{open}"}}}}"#), "chmod 600"),
            (r#"{"slack": {}}"#.to_owned(), "slack: needs `bot_token_file`"),
            (format!(r#"{{"slack": {{"bot_token_file": "{good}"}}}}"#), "needs a `channel`"),
            (
                format!(
                    r#"{{"slack": {{"bot_token_file": "{good}", "channel": "C1", "app_token_file": "{good}"}}}}"#
                ),
                "nobody may answer",
            ),
            (
                format!(
                    r#"{{"slack": {{"bot_token_file": "{good}", "channel": "C1", "users": ["U1"]}}}}"#
                ),
                "`users` needs `app_token_file`",
            ),
            (
                format!(r#"{{"telegram": {{"bot_token_file": "{open}", "chat": 7}}}}"#),
                "telegram: the secret file",
            ),
            (
                r#"{"telegram": {"bot_token_file": "/nowhere/token", "chat": 7}}"#.to_owned(),
                "cannot be read",
            ),
            (r#"{"webhook_secret_file": "/k"}"#.to_owned(), "without `webhook`"),
        ] {
            let problems = of(&text);
            assert_eq!(problems.len(), 1, "{text}: {problems:?}");
            assert!(problems[0].contains(says), "{text}: {problems:?}");
        }
    }
}
