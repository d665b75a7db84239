//! Wrappers, and programs that run a command for each of many things.

use super::output::Output;
use super::{Reader, Run};
use crate::programs::contains;
use crate::word::{Part, Word};
use crate::wrappers::{self, AsWords, Wrapper};

/// What stands for something that is read.
const INPUT: &str = "…";
/// The most words that are taken from a known input.
const MAX_INPUT: usize = 256;

impl AsWords for Run {
    fn words(&self) -> &[Word] {
        &self.words
    }
}

impl Reader {
    /// Runs the command in a wrapper's arguments.
    pub(super) fn wrapper(&mut self, wrapper: &Wrapper, run: &Run) -> Output {
        let arguments = &run.words[1..];
        let is_without =
            |word: &Word| contains(wrapper.without, &word.text) && !word.text.is_empty();
        let options = arguments.iter().take_while(|word| word.prefix().starts_with('-'));
        if !wrapper.without.is_empty() && options.clone().any(is_without) {
            return self.output("which", run);
        }
        if !wrapper.texts.is_empty()
            && let Some(place) =
                arguments.iter().position(|word| contains(wrapper.texts, &word.text))
            && let Some(code) = arguments.get(place + 1)
        {
            return self.run_code(&code.clone(), wrapper.name);
        }
        let mut words = wrappers::skip_options(arguments, wrapper.values);
        if !wrapper.subcommands.is_empty() {
            if !words.first().is_some_and(|word| contains(wrapper.subcommands, &word.text)) {
                return self.output(wrapper.name, run);
            }
            words = wrappers::skip_options(&words[1..], wrapper.values);
        }
        if wrapper.name == "env" {
            return self.env(run);
        }
        if wrapper.name == "nix" {
            words = behind(arguments, "-c --command").unwrap_or_default();
        }
        words.drain(..wrapper.operands.min(words.len()));
        if words.first().is_some_and(|word| word.text == "--") {
            words.remove(0);
        }
        let assigned = words.iter().take_while(|word| is_assignment(word)).count();
        let mut outer = Run {
            words: Vec::new(),
            assignments: run.assignments.clone(),
            redirections: run.redirections.clone(),
            input: run.input.clone(),
        };
        for word in words.drain(..assigned) {
            outer
                .assignments
                .extend(word.split_once('=').map(|(name, value)| (name.to_owned(), value)));
        }
        if words.is_empty() && matches!(wrapper.name, "sudo" | "doas" | "chroot" | "unshare") {
            // A shell that reads its input.
            words.push(Word::literal("sh"));
        }
        self.run_inner(wrapper.name, words, &outer)
    }

    fn env(&mut self, run: &Run) -> Output {
        let mut words = Vec::new();
        let mut outer = Run {
            words: Vec::new(),
            assignments: run.assignments.clone(),
            redirections: run.redirections.clone(),
            input: run.input.clone(),
        };
        let mut at = 1;
        let mark = self.scope.mark();
        while let Some(word) = run.words.get(at) {
            let text = word.prefix();
            at += 1;
            let split = match text {
                "-S" | "--split-string" | "-vS" | "-iS" => {
                    at += 1;
                    run.words.get(at - 1).cloned()
                }
                _ if text.starts_with("-S") => Some(word.after(2)),
                _ => word.strip_prefix("--split-string="),
            };
            if let Some(split) = split {
                let code = Word::joined(
                    &std::iter::once(split)
                        .chain(run.words[at..].iter().cloned())
                        .collect::<Vec<_>>(),
                );
                return self.run_code(&code, "env");
            }
            if matches!(text, "-C" | "--chdir") {
                let folder = run
                    .words
                    .get(at)
                    .and_then(Word::known)
                    .map(|path| self.scope.folder().join(path));
                self.scope.set_folder(folder.unwrap_or(crate::command::Folder::Unknown));
                at += 1;
            } else if text != "--" && text.starts_with('-') && text != "-" {
                at += usize::from(wrappers::takes_value(text, "-u --unset -a --argv0"));
            } else if is_assignment(word) {
                outer
                    .assignments
                    .extend(word.split_once('=').map(|(name, value)| (name.to_owned(), value)));
            } else if !matches!(word.known(), Some("-" | "--")) {
                words = run.words[at - 1..].to_vec();
                break;
            }
        }
        for (name, value) in &outer.assignments {
            self.scope.set(name, super::Value::Scalar(value.clone()));
        }
        self.executed_variables(&outer.assignments);
        let output = self.run_inner("env", words, &outer);
        self.scope.undo(mark);
        output
    }

    /// Programs that run a command many times.
    pub(super) fn many(&mut self, name: &str, run: &Run) -> Option<Output> {
        match name {
            "xargs" | "gxargs" => Some(self.xargs(run)),
            "parallel" => Some(self.parallel(run)),
            "find" | "gfind" => Some(self.find(run)),
            "fd" | "fdfind" => Some(self.fd(run)),
            _ => None,
        }
    }

    fn xargs(&mut self, run: &Run) -> Output {
        let values = "-I -i -n -P -L -l -d -s -a -E -J -R --replace --max-args --max-procs --max-lines \
                      --delimiter --arg-file --max-chars --eof";
        let arguments = &run.words[1..];
        let mut words = wrappers::skip_options(arguments, values);
        if words.is_empty() {
            return run.input.clone().unwrap_or_else(Output::computed);
        }
        let options = &arguments[..arguments.len() - words.len()];
        let mark = replacement(options);
        let file = options
            .iter()
            .any(|word| word.prefix().starts_with("-a") || word.prefix().starts_with("--arg-file"));
        let input = if file { None } else { run.input.as_ref() };
        let whole_lines =
            mark.is_some() || options.iter().any(|word| word.prefix().starts_with("-d"));
        let items = items(input, whole_lines);
        match mark {
            Some(mark) => self.for_each(&words, &mark, &items, "xargs", run),
            None => {
                words.extend(items);
                self.run_inner("xargs", words, run)
            }
        }
    }

    /// Runs a command for each item, in the place of a mark.
    fn for_each(
        &mut self,
        words: &[Word],
        mark: &str,
        items: &[Word],
        via: &str,
        run: &Run,
    ) -> Output {
        let mut output = Output::empty();
        for item in items.iter().take(16) {
            let words = words.iter().map(|word| replaced(word, mark, item)).collect();
            output = output.then(self.run_inner(via, words, run));
        }
        if items.len() > 16 {
            let words =
                words.iter().map(|word| replaced(word, mark, &Word::unknown(mark))).collect();
            self.run_inner(via, words, run);
        }
        output
    }

    fn parallel(&mut self, run: &Run) -> Output {
        let values = "-j --jobs -S --sshlogin -a --arg-file -I -N -n -L -d --delimiter --joblog \
                      --results --tmpdir --timeout --retries --wd -C --colsep";
        let words = wrappers::skip_options(&run.words[1..], values);
        let is_mark = |word: &Word| contains("::: :::: :::+", &word.text);
        let place = words.iter().position(is_mark);
        let template = &words[..place.unwrap_or(words.len())];
        let given = place.filter(|&place| words[place].text == ":::");
        let items = match given {
            Some(place) => {
                words[place + 1..].iter().filter(|word| !is_mark(word)).cloned().collect()
            }
            None => items(run.input.as_ref(), true),
        };
        if template.is_empty() {
            for code in &items {
                self.run_code(code, "parallel");
            }
            return Output::computed();
        }
        let has_mark = template.iter().any(|word| word.text.contains("{}"));
        for item in items.iter().take(16) {
            let mut words: Vec<Word> =
                template.iter().map(|word| replaced(word, "{}", item)).collect();
            if !has_mark {
                words.push(item.clone());
            }
            // The words are joined and given to a shell.
            let code = Word::joined(&words);
            if code.known().is_some() {
                self.run_code(&code, "parallel");
            } else {
                self.run_inner("parallel", words, run);
            }
        }
        Output::computed()
    }

    fn find(&mut self, run: &Run) -> Output {
        let start =
            run.words[1..].iter().take_while(|word| contains("-H -L -P", &word.text)).count() + 1;
        let is_folder = |word: &&Word| !word.prefix().starts_with(['-', '(', '!']);
        let folders: Vec<Word> = run.words[start..].iter().take_while(is_folder).cloned().collect();
        let tests = &run.words[start + folders.len()..];
        let finds_all = finds_all(tests);
        let mut at = 1;
        while at < run.words.len() {
            let word = &run.words[at];
            at += 1;
            if !word.known().is_some_and(|text| contains("-exec -execdir -ok -okdir", text)) {
                continue;
            }
            let end =
                run.words[at..].iter().position(|word| matches!(word.known(), Some(";" | "+")));
            let end = end.map_or(run.words.len(), |length| at + length);
            let words: Vec<Word> =
                run.words[at..end].iter().map(|word| found(word, &folders, finds_all)).collect();
            self.run_inner("find", words, run);
            at = end + 1;
        }
        Output::computed()
    }

    fn fd(&mut self, run: &Run) -> Output {
        let place = run.words.iter().position(|word| {
            word.known().is_some_and(|text| contains("-x -X --exec --exec-batch", text))
        });
        if let Some(place) = place {
            let mut words: Vec<Word> = run.words[place + 1..]
                .iter()
                .take_while(|word| word.text != ";")
                .map(|word| found(word, &[], false))
                .collect();
            if !run.words[place..].iter().any(|word| word.text.contains("{}")) {
                words.push(Word::unknown("{}"));
            }
            self.run_inner("fd", words, run);
        }
        Output::computed()
    }
}

/// Returns the words behind an option.
fn behind(words: &[Word], options: &str) -> Option<Vec<Word>> {
    let place = words.iter().position(|word| contains(options, &word.text))?;
    Some(words[place + 1..].to_vec())
}

/// Whether a word is `NAME=…`.
pub(super) fn is_assignment(word: &Word) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.as_bytes()[0].is_ascii_digit()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// Returns what `xargs` replaces, if it does.
fn replacement(options: &[Word]) -> Option<String> {
    for (index, word) in options.iter().enumerate() {
        let text = word.prefix();
        match text {
            "-I" | "-J" => return Some(options.get(index + 1)?.text.clone()),
            "-i" | "--replace" => return Some("{}".to_owned()),
            _ if text.starts_with("-I") || text.starts_with("-i") => {
                return Some(text[2..].to_owned());
            }
            _ => {}
        }
    }
    None
}

/// Returns the items of an input, or one that is not known.
fn items(input: Option<&Output>, whole_lines: bool) -> Vec<Word> {
    let known = input.and_then(Output::known).map(|text| {
        let text = text.replace('\0', "\n");
        let quotes: &[char] = &['\'', '"', '\\'];
        if whole_lines {
            text.lines().map(|line| Word::literal(line.trim())).collect::<Vec<_>>()
        } else {
            text.split_whitespace().map(|item| Word::literal(item.replace(quotes, ""))).collect()
        }
    });
    match known {
        Some(items) if !items.is_empty() && items.len() <= MAX_INPUT => items,
        _ => vec![Word::unknown(INPUT)],
    }
}

/// Puts an item in the place of a mark.
fn replaced(word: &Word, mark: &str, item: &Word) -> Word {
    if mark.is_empty() || !word.text.contains(mark) {
        return word.clone();
    }
    let mut result = Word::default();
    for part in word.parts() {
        match part {
            Part::Unknown(source) => result.push_unknown(source),
            Part::Known(text) => {
                for (index, piece) in text.split(mark).enumerate() {
                    // Each of them once is enough to see what happens.
                    if index > 0 && result.text.len() < 4096 {
                        result.push_word(item);
                    }
                    result.push(piece);
                }
            }
        }
    }
    result
}

/// Whether `find` runs its command for the folders it starts in, too.
fn finds_all(tests: &[Word]) -> bool {
    let neutral = "-maxdepth -depth -xdev -mount -print -print0 -follow -noleaf -d";
    for word in tests {
        let text = word.prefix();
        if text.starts_with("-exec") || text.starts_with("-ok") {
            return true;
        }
        if text.starts_with(['-', '(', '!']) && !contains(neutral, text) {
            return false;
        }
    }
    false
}

/// What `{}` stands for: the folders that are searched, or something below.
fn found(word: &Word, folders: &[Word], finds_all: bool) -> Word {
    let mut item = Word::default();
    if let [folder] = folders {
        if finds_all {
            return replaced(word, "{}", folder);
        }
        item.push_word(folder);
        if !folder.text.ends_with('/') {
            item.push("/");
        }
    }
    item.push_unknown("{}");
    replaced(word, "{}", &item)
}
