//! Stores texts too long for a journal line: their beginning stays in the record, the whole text
//! goes to a file named by its content, in a folder per hour, so that old ones are dropped with
//! their segments.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhook_model::json::{Object, shorten, to_spaced};
use anyhook_model::{EventKind, LongText, Payload, Record};
use jiff::Timestamp;
use serde_json::Value;

use super::make_folder;
use crate::atomic_file::AtomicFile;
use crate::digest::{self, hex};
use crate::redact::redact;
use crate::regular_file::read_regular_up_to;
use crate::summary::SUMMARY_LIMIT;

/// The folder of the files.
pub(super) const FOLDER: &str = "long";

/// Names and paths are cut to this length.
const NAME_LIMIT: usize = 1024;
/// This much of a text stays in the line, or less if there are very many texts.
const TEXT_LIMIT: usize = 4 * 1024;
const TEXT_LEAST: usize = 256;
const TEXTS_TOGETHER: usize = 1024 * 1024;
/// A payload up to this length stays in the line.
const PAYLOAD_LIMIT: usize = 32 * 1024;
/// At most this many skipped hooks are named.
const SKIPPED_LIMIT: usize = 200;

/// A long text that is no longer available.
#[derive(Debug, thiserror::Error)]
pub enum LongTextError {
    /// The file cannot be read.
    #[error("the text of {at} cannot be read from `{}`: {error}", path.display())]
    Unreadable {
        /// Where the text is in the record.
        at: String,
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The file is not what was written.
    #[error("the text of {at} in `{}` was altered", path.display())]
    Changed {
        /// Where the text is in the record.
        at: String,
        /// The file.
        path: PathBuf,
    },
}

/// Cuts long texts, after removing secrets from them. Returns the kinds of secrets.
pub(super) fn put_aside(
    record: &mut Record,
    folder: &Path,
    sync: bool,
) -> io::Result<Vec<&'static str>> {
    cut_names(record);
    let texts = 4 + 5 * record.runs.len();
    let limit = (TEXTS_TOGETHER / texts).clamp(TEXT_LEAST, TEXT_LIMIT);
    let mut shelf =
        LongTextStore { folder, at: record.at, limit, sync, kept: Vec::new(), kinds: Vec::new() };
    if let Some(about) = &mut record.about {
        // Secrets first: a cut might leave half of one, which nothing recognises.
        shelf.redact(about);
        *about = shorten(about, SUMMARY_LIMIT);
    }
    let is_long = |payload: &mut Payload| payload.as_text().len() > PAYLOAD_LIMIT;
    if let Some(payload) = record.payload.take_if(is_long) {
        shelf.keep("/payload", payload.into_text())?;
    }
    for (index, run) in record.runs.iter_mut().enumerate() {
        let at = |name: &str| format!("/runs/{index}/{name}");
        shelf.text(&at("stdout"), &mut run.stdout)?;
        shelf.text(&at("stderr"), &mut run.stderr)?;
        let decision = &mut run.decision;
        shelf.object(&at("decision/modified_input"), decision.modified_input.as_mut())?;
        shelf.optional(&at("decision/reason"), decision.reason.as_mut())?;
        shelf.optional(&at("decision/additional_context"), decision.additional_context.as_mut())?;
        shelf.optional(&at("decision/log"), decision.log.as_mut())?;
        shelf.optional(&at("failure"), run.failure.as_mut())?;
    }
    let verdict = &mut record.verdict;
    // The same as `input`, in the host's form.
    verdict.native_input = None;
    shelf.object("/verdict/modified_input", verdict.input.as_mut())?;
    shelf.optional("/verdict/reason", verdict.reason.as_mut())?;
    shelf.optional("/verdict/additional_context", verdict.context.as_mut())?;
    for failure in &mut verdict.failed {
        shelf.short(&mut failure.why);
    }
    for warning in &mut verdict.warnings {
        shelf.short(warning);
    }
    if let Some(reply) = &mut record.reply {
        shelf.text("/reply/stdout", &mut reply.stdout)?;
        shelf.text("/reply/stderr", &mut reply.stderr)?;
    }
    record.long = shelf.kept;
    Ok(shelf.kinds)
}

/// Cuts names and paths, which no one needs in full when they are this long.
fn cut_names(record: &mut Record) {
    let cut = |text: &mut String| {
        if text.len() > NAME_LIMIT {
            *text = shorten(text, NAME_LIMIT);
        }
    };
    if let EventKind::Other(name) = &mut record.event {
        cut(name);
    }
    cut(&mut record.work_dir);
    let names = [
        &mut record.native_name,
        &mut record.session,
        &mut record.agent,
        &mut record.project_dir,
        &mut record.tool,
        &mut record.call,
    ];
    names.into_iter().flatten().for_each(cut);
    record.skipped.truncate(SKIPPED_LIMIT);
}

/// Where the long texts of one record are stored.
struct LongTextStore<'journal> {
    folder: &'journal Path,
    at: Timestamp,
    limit: usize,
    sync: bool,
    kept: Vec<LongText>,
    kinds: Vec<&'static str>,
}

impl LongTextStore<'_> {
    fn redact(&mut self, text: &mut String) {
        if let Some(redacted) = redact(text) {
            *text = redacted.text;
            self.kinds.extend(redacted.kinds);
        }
    }

    /// Cuts a text whose beginning is enough.
    fn short(&mut self, text: &mut String) {
        if text.len() > self.limit {
            self.redact(text);
            *text = shorten(text, self.limit);
        }
    }

    fn optional(&mut self, at: &str, text: Option<&mut String>) -> io::Result<()> {
        text.map_or(Ok(()), |text| self.text(at, text))
    }

    fn text(&mut self, at: &str, text: &mut String) -> io::Result<()> {
        if text.len() > self.limit {
            let whole = self.keep(at, std::mem::take(text))?;
            *text = shorten(&whole, self.limit);
        }
        Ok(())
    }

    /// Stores a long object, and leaves the beginnings of some of its values.
    fn object(&mut self, at: &str, object: Option<&mut Object>) -> io::Result<()> {
        let Some(object) = object else { return Ok(()) };
        let text = to_spaced(object);
        if text.len() <= self.limit {
            return Ok(());
        }
        let whole = self.keep(at, text)?;
        // From the text without secrets, unless removing them has broken the JSON.
        let clean: Object = serde_json::from_str(&whole).unwrap_or_default();
        *object = clean
            .into_iter()
            .take(20)
            .map(|(key, value)| {
                let value = value.as_str().map_or_else(|| to_spaced(&value), str::to_owned);
                (shorten(&key, 64), Value::from(shorten(&value, 128)))
            })
            .collect();
        Ok(())
    }

    /// Removes the secrets from a text and writes it to its file. Returns what was written.
    fn keep(&mut self, at: &str, mut text: String) -> io::Result<String> {
        self.redact(&mut text);
        let sha256 = hex(&digest::sha256(text.as_bytes()));
        write_once(&hour_folder(self.folder, self.at), &sha256, text.as_bytes(), self.sync)?;
        let bytes = text.len() as u64;
        self.kept.push(LongText { at: at.to_owned(), sha256, bytes });
        Ok(text)
    }
}

/// Writes a file atomically: it is complete from the moment it is visible.
fn write_once(folder: &Path, name: &str, bytes: &[u8], sync: bool) -> io::Result<()> {
    let path = folder.join(name);
    // A file of another length was left by a power cut.
    if fs::metadata(&path).is_ok_and(|known| known.len() == bytes.len() as u64) {
        return Ok(());
    }
    AtomicFile::new(&path).synced(sync).replace_in(bytes, || {
        // The journal's folder, the folder of long texts, and the hour's.
        for above in [folder.ancestors().nth(2), folder.parent(), Some(folder)] {
            above.map_or(Ok(()), make_folder)?;
        }
        Ok(())
    })
}

/// Returns the folder for the long texts of a record from that time.
pub(super) fn hour_folder(folder: &Path, at: Timestamp) -> PathBuf {
    let text = at.to_string();
    folder.join(FOLDER).join(text.get(..13).unwrap_or("undated"))
}

/// Reads the text that a record refers to, and checks it.
pub(super) fn read(
    long: &LongText,
    record_at: Timestamp,
    folder: &Path,
) -> Result<String, LongTextError> {
    let path = hour_folder(folder, record_at).join(&long.sha256);
    let at = || long.at.clone();
    let bytes = read_regular_up_to(&path, u64::MAX).map_err(|error| LongTextError::Unreadable {
        at: at(),
        path: path.clone(),
        error,
    })?;
    if hex(&digest::sha256(&bytes)) != long.sha256 {
        return Err(LongTextError::Changed { at: at(), path });
    }
    String::from_utf8(bytes).map_err(|_| LongTextError::Changed { at: at(), path })
}

/// Puts the long texts back where they were cut.
pub(super) fn restore(mut record: Record, folder: &Path) -> Result<Record, LongTextError> {
    let kept = std::mem::take(&mut record.long);
    if kept.is_empty() {
        return Ok(record);
    }
    let (mut texts, at) = (Vec::new(), record.at);
    for long in &kept {
        let text = read(long, at, folder)?;
        if long.at == "/payload" {
            record.payload = Some(Payload::new(text.as_bytes()));
        } else {
            texts.push((long, text));
        }
    }
    let payload = record.payload.take();
    let Ok(mut value) = serde_json::to_value(&record) else { return Ok(record) };
    for (long, text) in texts {
        match value.pointer_mut(&long.at) {
            Some(Value::String(short)) => *short = text,
            Some(other) => *other = serde_json::from_str(&text).unwrap_or(Value::Null),
            None => {}
        }
    }
    let mut restored = serde_json::from_value(value).unwrap_or(record);
    restored.payload = payload;
    Ok(restored)
}

#[cfg(test)]
mod tests {
    use anyhook_model::{Decision, RecordId, ReplyRecord, RunRecord};
    use serde_json::json;

    use super::*;

    fn record(stdout: &str, input: &Value) -> Record {
        let mut record = Record::new(
            RecordId::from_text("a"),
            "2026-01-31T09:10:11Z".parse().unwrap(),
            "codex",
            EventKind::BeforeTool,
        );
        record.payload = Some(Payload::new(input.to_string().as_bytes()));
        record.reply = Some(ReplyRecord { stdout: stdout.to_owned(), ..ReplyRecord::default() });
        record.runs.push(RunRecord {
            hook: "guard".to_owned(),
            folder: "/guard".to_owned(),
            shadow: false,
            outcome: None,
            decision: Decision {
                modified_input: input.as_object().cloned(),
                ..Decision::default()
            },
            failure: None,
            notes: Vec::new(),
            stdout: stdout.to_owned(),
            stderr: String::new(),
            took_us: 1,
        });
        record
    }

    #[test]
    fn short_texts_stay_where_they_are() {
        let scratch = tempfile::tempdir().unwrap();
        let original = record("short", &json!({"command": "ls"}));
        let mut cut = original.clone();
        assert!(put_aside(&mut cut, scratch.path(), false).unwrap().is_empty());
        assert_eq!(cut, original);
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
    }

    #[test]
    fn long_texts_come_back_and_equal_ones_are_kept_once() {
        let scratch = tempfile::tempdir().unwrap();
        let content = "ü".repeat(100_000);
        let original = record(&content, &json!({"content": content, "n": 1.50}));
        let mut cut = original.clone();
        put_aside(&mut cut, scratch.path(), false).unwrap();
        let places: Vec<&str> = cut.long.iter().map(|long| long.at.as_str()).collect();
        assert_eq!(
            places,
            ["/payload", "/runs/0/stdout", "/runs/0/decision/modified_input", "/reply/stdout"]
        );
        assert!(cut.runs[0].stdout.len() < 5000 && cut.payload.is_none());
        assert!(serde_json::to_string(&cut).unwrap().len() < 20_000);
        let hour = scratch.path().join("long/2026-01-31T09");
        assert_eq!(fs::read_dir(&hour).unwrap().count(), 3);
        assert_eq!(restore(cut.clone(), scratch.path()).unwrap(), original);
        fs::write(hour.join(&cut.long[1].sha256), "other").unwrap();
        let lost = restore(cut.clone(), scratch.path()).unwrap_err();
        assert!(lost.to_string().contains("/runs/0/stdout"), "{lost}");
        fs::remove_dir_all(&hour).unwrap();
        assert!(matches!(restore(cut, scratch.path()), Err(LongTextError::Unreadable { .. })));
    }

    #[test]
    fn no_secret_gets_into_a_file_nor_half_of_one_into_a_line() {
        let scratch = tempfile::tempdir().unwrap();
        let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
        for place in 3_980..4_110 {
            let text = format!("{}{token}{}", " ".repeat(place), " ".repeat(5000));
            let mut cut = record(&text, &json!({"command": text}));
            cut.about = Some(text.clone());
            // What stays in the line is redacted with the line.
            cut.payload = None;
            let kinds = put_aside(&mut cut, scratch.path(), false).unwrap();
            assert!(!kinds.is_empty());
            let line = serde_json::to_string(&cut).unwrap();
            assert!(!line.contains("ghp_"), "{place}");
        }
        for file in fs::read_dir(scratch.path().join("long/2026-01-31T09")).unwrap() {
            assert!(!fs::read_to_string(file.unwrap().path()).unwrap().contains("ghp_"));
        }
    }

    #[test]
    fn very_many_hooks_still_fit_into_a_line() {
        let scratch = tempfile::tempdir().unwrap();
        let mut many = record(&"x".repeat(3000), &json!({}));
        many.runs = vec![many.runs[0].clone(); 2000];
        put_aside(&mut many, scratch.path(), false).unwrap();
        let length = serde_json::to_string(&many).unwrap().len() as u64;
        assert!(length < super::super::line::LINE_LIMIT, "{length}");
    }
}
