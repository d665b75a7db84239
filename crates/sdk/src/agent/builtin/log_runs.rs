//! A log line for each run.

use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::mask_secrets::Detector;
use crate::agent::hook::{HookContext, PostHook, PreHook};
use crate::function::{BoxFuture, HookError};

/// Writes a line of JSON for each run; made by [`log_runs`].
#[derive(Clone)]
#[must_use]
pub struct LogRuns {
    name: String,
    texts: bool,
    writer: Arc<Mutex<dyn Write + Send>>,
}

/// Writes a line of JSON before and one after each run, in the background: nothing waits for it.
///
/// Texts are left out, only their lengths are logged.
///
/// ```
/// use anyhook_sdk::agent::builtin::log_runs;
///
/// let log = log_runs("log", std::io::stderr());
/// let (before, after) = log.hooks();
/// # let _ = (before, after);
/// ```
pub fn log_runs(name: impl Into<String>, writer: impl Write + Send + 'static) -> LogRuns {
    LogRuns { name: name.into(), texts: false, writer: Arc::new(Mutex::new(writer)) }
}

impl LogRuns {
    /// Logs the texts, too, with their secrets and personal data masked.
    pub fn with_texts(mut self) -> Self {
        self.texts = true;
        self
    }

    /// Makes both hooks, in the background.
    pub fn hooks(&self) -> (PreHook, PostHook) {
        let this = self.clone();
        let before = PreHook::boxed(&self.name, move |context| {
            let mut line = this.line("before", context);
            this.note_text(&mut line, "message", &context.user_message);
            this.write(line)
        });
        let this = self.clone();
        let after = PostHook::boxed(&self.name, move |context, run| {
            let mut line = this.line("after", context);
            line["run"] = json!(run.id);
            line["status"] = json!(run.status);
            line["tool_calls"] = json!(run.tool_calls.len());
            line["usage"] = json!(run.usage);
            line["took_ms"] = json!(u64::try_from(run.duration.as_millis()).unwrap_or(u64::MAX));
            this.note_text(&mut line, "output", &run.output);
            this.write(line)
        });
        (before.in_background(), after.in_background().always())
    }

    fn line(&self, phase: &str, context: &HookContext) -> Value {
        json!({
            "at": jiff::Timestamp::now().to_string(),
            "hook": self.name,
            "phase": phase,
            "agent": context.agent.id,
            "session": context.session.session_id,
            "user": context.session.user_id,
        })
    }

    fn note_text(&self, line: &mut Value, field: &str, text: &str) {
        line[format!("{field}_characters")] = json!(text.chars().count());
        if self.texts {
            line[field] = json!(Detector::default().masked(text));
        }
    }

    fn write(&self, line: Value) -> BoxFuture<'static, Result<(), HookError>> {
        let writer = self.writer.clone();
        let write = move || {
            let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
            // In one write, so that two programs may write to the same file.
            writer.write_all(format!("{line}\n").as_bytes())?;
            writer.flush()
        };
        // A disk or a pipe may be slow: the runtime never waits for it.
        Box::pin(async move {
            match tokio::task::spawn_blocking(write).await {
                Ok(written) => written.map_err(HookError::of),
                Err(error) => Err(HookError::of(error)),
            }
        })
    }
}

impl fmt::Debug for LogRuns {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LogRuns").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::builtin::tests::context;
    use crate::agent::run::{Run, RunStatus};

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    async fn lines(log: impl Fn(Written) -> LogRuns) -> Vec<Value> {
        let written = Written::default();
        let (before, after) = log(written.clone()).hooks();
        assert!(!before.config.blocking && !after.config.blocking);
        let mut context = context("ann");
        context.user_message = "I am a@b.org".into();
        (before.function)(&mut context).await.unwrap();
        let mut run = Run { id: "7".into(), output: "ok\n".into(), ..Run::default() };
        run.status = RunStatus::Failed("no\nmodel".into());
        (after.function)(&context, &mut run).await.unwrap();
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[tokio::test]
    async fn one_line_each_without_texts() {
        let lines = lines(|writer| log_runs("log", writer)).await;
        assert_eq!(lines.len(), 2);
        assert_eq!((&lines[0]["phase"], &lines[0]["user"]), (&json!("before"), &json!("ann")));
        assert_eq!(lines[0]["message_characters"], json!(12));
        assert!(lines[0].get("message").is_none());
        assert_eq!(lines[1]["status"], json!({"failed": "no\nmodel"}));
    }

    #[tokio::test]
    async fn texts_on_request_and_masked() {
        let lines = lines(|writer| log_runs("log", writer).with_texts()).await;
        assert_eq!(lines[0]["message"], json!("I am [redacted email]"));
        assert_eq!(lines[1]["output"], json!("ok\n"));
    }

    #[tokio::test]
    async fn a_writer_that_fails_is_the_hooks_failure() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(std::io::Error::other("closed"))
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let (before, _) = log_runs("log", Closed).hooks();
        let error = (before.function)(&mut context("ann")).await.unwrap_err();
        assert_eq!(error.to_string(), "closed");
    }
}
