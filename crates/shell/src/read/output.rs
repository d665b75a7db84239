//! What commands print, as far as it can be told.

use super::{Reader, Run, decode};
use crate::command::ShellCommand;
use crate::programs::contains;
use crate::syntax::{Escapes, escape};
use crate::unknown::UnknownReason;
use crate::word::{Part, Word};

/// The most a repeated format of `printf` is repeated.
const MAX_REPEATS: usize = 64;

/// What a command prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Output {
    /// This text, parts of which may be unknown.
    Known(Word),
    /// What is in a file that was there before.
    File,
    /// Something that cannot be told; why, if a shell ran it.
    Unknown(UnknownReason),
}

impl Output {
    pub(super) fn empty() -> Self {
        Self::Known(Word::default())
    }

    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Known(Word::literal(text))
    }

    pub(super) fn computed() -> Self {
        Self::Unknown(UnknownReason::InputCode)
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Known(word) if word.is_empty())
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Known(word) => word.text.len(),
            Self::File | Self::Unknown(_) => 0,
        }
    }

    /// Returns this output followed by another.
    pub(super) fn then(self, next: Self) -> Self {
        match (self, next) {
            (Self::Known(mut word), Self::Known(next)) => {
                word.push_word(&next);
                Self::Known(word)
            }
            (first, next) if next.is_empty() => first,
            (first, next) if first.is_empty() => next,
            (Self::Unknown(reason), _) | (_, Self::Unknown(reason)) => Self::Unknown(reason),
            (Self::File, _) | (_, Self::File) => Self::computed(),
        }
    }

    pub(super) fn known(&self) -> Option<&str> {
        match self {
            Self::Known(word) => word.known(),
            Self::File | Self::Unknown(_) => None,
        }
    }
}

/// Programs that print nothing to their output.
const SILENT: &str = "true false : cd rm rmdir mkdir touch chmod chown cp mv ln sleep export unset \
                      set shift trap test [ [[ alias local declare readonly typeset kill install";
/// Programs that print what comes from elsewhere.
const FETCHING: &str = "curl wget http https xh aria2c lynx w3m nc ncat netcat socat scp ftp gh \
                        aws gsutil";
/// Programs that print what they decode.
const DECODING: &str = "base64 base32 basenc xxd openssl uudecode gunzip gzip zcat bunzip2 bzip2 \
                        bzcat xz unxz xzcat zstd gpg rev tr";

/// Returns whether `mktemp` makes its file where temporary files usually are.
fn is_in_usual_place(arguments: &[Word]) -> bool {
    arguments.iter().all(|word| {
        let text = word.prefix();
        let names_folder = text.contains('/') || text.starts_with("-p") || text == "--tmpdir";
        word.known().is_some() && !names_folder
    })
}

/// Returns the path of a temporary file, of which only the folder can be told.
fn temporary_file() -> Output {
    let mut word = Word::literal("/tmp/");
    word.push_unknown("mktemp");
    Output::Known(word)
}

impl Reader {
    /// Returns what a program prints.
    pub(super) fn output(&mut self, name: &str, run: &Run) -> Output {
        let arguments = &run.words[1..];
        let printed = match name {
            "echo" => echo(arguments),
            "printf" => printf(arguments),
            "cat" => self.cat(run),
            "tee" => self.tee(run),
            "pwd" => Output::text(".\n"),
            "basename" => base_name_of(arguments),
            "dirname" => dir_name_of(arguments),
            "which" | "realpath" | "readlink" => last_argument(arguments),
            "mktemp" if is_in_usual_place(arguments) => temporary_file(),
            "seq" => Output::Unknown(UnknownReason::ComputedCode),
            _ if contains(SILENT, name) => Output::empty(),
            _ if contains(FETCHING, name) => Output::Unknown(UnknownReason::DownloadedCode),
            _ => self.filtered(name, run),
        };
        self.spend(printed.len());
        if matches!(name, "curl" | "wget") {
            self.remember_download(run);
        }
        printed
    }

    /// Files that a command writes, other than by redirection.
    fn remember_download(&mut self, run: &Run) {
        let command = ShellCommand { words: run.words.clone(), ..ShellCommand::default() };
        let files = command.files();
        let written = files.iter().filter(|file| file.access == crate::files::Access::Write);
        let mut paths: Vec<String> =
            written.filter_map(|file| file.word.known().map(str::to_owned)).collect();
        if paths.is_empty() {
            // Named like the end of the address.
            let ends = command.urls().into_iter().filter_map(|url| url.rsplit('/').next());
            paths = ends.map(str::to_owned).collect();
        }
        for path in paths.iter().filter(|path| !path.is_empty() && *path != "-") {
            self.write_file(path, Output::Unknown(UnknownReason::DownloadedCode), false);
        }
    }

    /// The output of programs that change what they read.
    fn filtered(&mut self, name: &str, run: &Run) -> Output {
        let reason = match &run.input {
            Some(Output::Unknown(reason)) => *reason,
            _ if contains(DECODING, name) => UnknownReason::DecodedCode,
            _ => UnknownReason::InputCode,
        };
        let file = ShellCommand { words: run.words.clone(), ..ShellCommand::default() };
        let operand = file.operands().first().and_then(|word| self.file(word.known()?));
        let input = match &operand {
            Some(content) => content.0.known(),
            None => run.input.as_ref().and_then(Output::known),
        };
        let decoded = input.and_then(|input| decode::filter(name, &run.words[1..], input));
        match decoded {
            Some(text) => Output::text(text),
            None if operand.is_some() || run.input.is_some() || contains(DECODING, name) => {
                Output::Unknown(reason)
            }
            None => Output::computed(),
        }
    }

    fn cat(&mut self, run: &Run) -> Output {
        let files: Vec<&Word> =
            run.words[1..].iter().filter(|word| !word.prefix().starts_with('-')).collect();
        if files.is_empty() {
            return run.input.clone().unwrap_or_else(Output::computed);
        }
        let mut all = Output::empty();
        for word in files {
            let content = self.files.get(&word.text).map(|content| content.0.clone());
            let content = content.or_else(|| Some(self.file(word.known()?)?.0));
            all = all.then(content.unwrap_or(Output::Unknown(UnknownReason::InputCode)));
        }
        all
    }

    fn tee(&mut self, run: &Run) -> Output {
        let input = run.input.clone().unwrap_or_else(Output::computed);
        let append = run.words.iter().any(|word| contains("-a --append", &word.text));
        for word in &run.words[1..] {
            if let Some(path) = word.known().filter(|path| !path.starts_with('-')) {
                let path = path.to_owned();
                self.write_file(&path, input.clone(), append);
            }
        }
        input
    }
}

/// Returns what `echo` prints. Escapes are read even without `-e`: some shells do.
fn echo(arguments: &[Word]) -> Output {
    let is_option = |word: &&Word| {
        word.known().is_some_and(|text| {
            text.len() > 1
                && text.starts_with('-')
                && text[1..].bytes().all(|one| b"neE".contains(&one))
        })
    };
    let count = arguments.iter().take_while(is_option).count();
    let options: String = arguments[..count].iter().map(|word| word.text.as_str()).collect();
    let mut text = Word::joined(&arguments[count..]);
    if options.contains('e') {
        text = unescaped(&text, Escapes::Echo);
    }
    if !options.contains('n') {
        text.push("\n");
    }
    Output::Known(text)
}

/// Reads escapes in the known parts.
fn unescaped(word: &Word, place: Escapes) -> Word {
    let mut read = Word::default();
    for part in word.parts() {
        match part {
            Part::Unknown(source) => read.push_unknown(source),
            Part::Known(text) => read.push(&unescaped_text(text, place)),
        }
    }
    read
}

fn unescaped_text(text: &str, place: Escapes) -> String {
    let mut read = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        read.push_str(&rest[..at]);
        let (character, length) = escape(&rest[at + 1..], place);
        read.push_str(&character);
        rest = &rest[at + 1 + length..];
    }
    read.push_str(rest);
    read
}

fn printf(arguments: &[Word]) -> Output {
    let arguments = match arguments.first().and_then(Word::known) {
        Some("--") => &arguments[1..],
        Some("-v") => return Output::empty(),
        _ => arguments,
    };
    let [format, values @ ..] = arguments else { return Output::empty() };
    let Some(format) = format.known() else {
        return Output::Known(Word::joined(arguments));
    };
    let mut text = Word::default();
    let mut values = values;
    for _ in 0..MAX_REPEATS {
        let before = values.len();
        formatted(format, &mut values, &mut text);
        if values.is_empty() || values.len() == before {
            return Output::Known(text);
        }
    }
    Output::computed()
}

fn formatted(format: &str, values: &mut &[Word], text: &mut Word) {
    let mut rest = format;
    while let Some(at) = rest.find(['\\', '%']) {
        text.push(&rest[..at]);
        let after = &rest[at + 1..];
        if rest.as_bytes()[at] == b'\\' {
            let (character, length) = escape(after, Escapes::Printf);
            text.push(&character);
            rest = &after[length..];
            continue;
        }
        let flags = after.bytes().take_while(|byte| b"-+ #0123456789.'".contains(byte)).count();
        let Some(kind) = after[flags..].chars().next() else {
            rest = "";
            break;
        };
        rest = &after[flags + kind.len_utf8()..];
        if kind == '%' {
            text.push("%");
            continue;
        }
        let value = values.first().cloned().unwrap_or_default();
        *values = values.get(1..).unwrap_or_default();
        match kind {
            's' => text.push_word(&value),
            'b' => text.push_word(&unescaped(&value, Escapes::Echo)),
            'q' => text.push_word(&super::quoted(&value)),
            'c' => match value.known() {
                Some(known) => text.push(&known.chars().take(1).collect::<String>()),
                None => text.push_unknown(&value.text),
            },
            'd' | 'i' | 'u' if value.known().is_some_and(is_number) => text.push_word(&value),
            _ => text.push_unknown(&format!("%{kind}")),
        }
    }
    text.push(rest);
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn base_name_of(arguments: &[Word]) -> Output {
    let Some(text) = arguments.first().and_then(Word::known) else { return Output::computed() };
    let name = text.trim_end_matches('/').rsplit('/').next().unwrap_or(text);
    let end = arguments.get(1).and_then(Word::known).unwrap_or("");
    Output::text(format!("{}\n", name.strip_suffix(end).unwrap_or(name)))
}

fn dir_name_of(arguments: &[Word]) -> Output {
    let Some(text) = arguments.first().and_then(Word::known) else { return Output::computed() };
    let folder = match text.trim_end_matches('/').rsplit_once('/') {
        Some(("", _)) => "/",
        Some((folder, _)) => folder,
        None if text.starts_with('/') => "/",
        None => ".",
    };
    Output::text(format!("{folder}\n"))
}

/// What names a program or file names it still.
fn last_argument(arguments: &[Word]) -> Output {
    match arguments.last() {
        Some(word) => {
            let mut word = word.clone();
            word.push("\n");
            Output::Known(word)
        }
        None => Output::computed(),
    }
}
