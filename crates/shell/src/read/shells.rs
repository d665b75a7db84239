//! Shells, and programs that give a text to a shell.

use super::output::Output;
use super::scope::Value;
use super::{Reader, Run};
use crate::command::base_name;
use crate::programs::contains;
use crate::unknown::UnknownReason;
use crate::word::Word;

const SHELLS: &str = "sh bash dash zsh ksh ash mksh fish rbash csh tcsh yash";

/// Whether a program is a shell.
pub(super) fn is_shell(name: &str) -> bool {
    contains(SHELLS, name)
}

/// What a shell was asked to run.
enum Source {
    /// `-c`: the text and the arguments behind it, `$0` first.
    Text(Word, Vec<Word>),
    /// A file with its arguments.
    File(Word, Vec<Word>),
    /// What it reads.
    Input,
}

impl Reader {
    pub(super) fn shell(&mut self, name: &str, run: &Run) -> Option<Output> {
        if is_shell(name) {
            return Some(self.run_shell(name, run));
        }
        match name {
            "pwsh" | "powershell" => Some(self.powershell(run)),
            "cmd" => Some(self.windows_command(run)),
            "su" | "runuser" | "script" | "sg" => self.text_option(name, run, "-c --command"),
            "nodemon" => self.text_option(name, run, "-x --exec"),
            "gdb" => Some(self.debugger(run)),
            "watch" => {
                let rest = crate::wrappers::inner(run, "-n --interval -q --equexit", 0);
                let code = Word::joined(&rest);
                Some(self.run_code(&code, name))
            }
            "tmux" => Some(self.tmux(run)),
            "screen" => Some(self.screen(run)),
            "at" | "batch" => {
                let input = run.input.clone();
                Some(input.map_or_else(Output::empty, |code| self.run_output(code, name, name)))
            }
            "crontab" => Some(self.crontab(run)),
            "nix-shell" => self.text_option(name, run, "--run --command"),
            "hyperfine" | "concurrently" => {
                let values =
                    "-w --warmup -r --runs -m -M -n --names -c --prefix-colors -p --prefix";
                for code in crate::wrappers::inner(run, values, 0) {
                    self.run_code(&code, name);
                }
                Some(Output::computed())
            }
            "osascript" => Some(self.apple_script(run)),
            _ => None,
        }
    }

    fn run_shell(&mut self, name: &str, run: &Run) -> Output {
        match shell_source(run) {
            Source::Text(code, mut arguments) => self.subshell(|reader| {
                if !arguments.is_empty() {
                    reader.scope.set("0", Value::Scalar(arguments.remove(0)));
                }
                reader.scope.set_positional(Some(arguments));
                let before = std::mem::replace(&mut reader.input, run.input.clone());
                let output = reader.run_code(&code, name);
                reader.input = before;
                output
            }),
            Source::File(file, arguments) => match self.content_of(&file) {
                Some(content) => self.with_arguments(arguments, |reader| {
                    reader.run_output(content, name, &file.text)
                }),
                None if matches!(file.known(), Some("/dev/stdin" | "-")) => {
                    self.run_input(name, run)
                }
                None => Output::computed(),
            },
            Source::Input => self.run_input(name, run),
        }
    }

    fn run_input(&mut self, via: &str, run: &Run) -> Output {
        match run.input.clone() {
            Some(code) => {
                let before = self.input.take();
                let source = Word::joined(&run.words).text;
                let output = self.subshell(|reader| reader.run_output(code, via, &source));
                self.input = before;
                output
            }
            None => Output::computed(),
        }
    }

    /// Runs code in a shell of its own with arguments.
    fn with_arguments(
        &mut self,
        words: Vec<Word>,
        act: impl FnOnce(&mut Self) -> Output,
    ) -> Output {
        self.subshell(|reader| {
            reader.scope.set_positional(Some(words));
            act(reader)
        })
    }

    /// Runs a file that this line wrote.
    pub(super) fn run_file(&mut self, name: &str, content: &Output, run: &Run) -> Output {
        let first = content.known().and_then(|text| text.lines().next()).unwrap_or("");
        let interpreter = first.strip_prefix("#!").map_or("sh", str::trim).to_owned();
        let mut words: Vec<Word> = interpreter.split_whitespace().map(Word::literal).collect();
        if words.first().is_some_and(|word| base_name(&word.text) == "env") && words.len() > 1 {
            words.remove(0);
        }
        words.push(run.words[0].clone());
        words.extend(run.words[1..].iter().cloned());
        let inner = Run {
            words,
            assignments: Vec::new(),
            redirections: Vec::new(),
            input: run.input.clone(),
        };
        let program = base_name(&inner.words[0].text).to_owned();
        self.nested(name, |reader| {
            reader
                .shell(&program, &inner)
                .or_else(|| reader.interpreter(&program, &inner))
                .unwrap_or_else(Output::computed)
        })
    }

    /// Runs the value of an option as shell, if it is given.
    fn text_option(&mut self, name: &str, run: &Run, options: &str) -> Option<Output> {
        let words = &run.words;
        for (index, word) in words.iter().enumerate().skip(1) {
            let text = word.prefix();
            let is_bundle = !text.starts_with("--") && text.len() > 2 && text.starts_with('-');
            let code = if contains(options, text)
                || is_bundle && text.ends_with('c') && contains(options, "-c")
            {
                words.get(index + 1).cloned()
            } else if is_bundle && text.starts_with("-c") && contains(options, "-c") {
                Some(word.after(2))
            } else {
                word.split_once('=')
                    .filter(|(name, _)| contains(options, name))
                    .map(|(_, code)| code)
            };
            if let Some(code) = code {
                return Some(self.run_code(&code, name));
            }
        }
        match name {
            "su" => Some(self.run_input(name, run)),
            // `runuser -u USER COMMAND` is a wrapper.
            _ => None,
        }
    }

    fn tmux(&mut self, run: &Run) -> Output {
        let Some(place) = run.words.iter().position(|word| {
            let commands = "new new-session neww new-window splitw split-window respawn-pane respawnp \
                            send-keys send run-shell run if-shell popup display-popup pipe-pane";
            word.known().is_some_and(|text| contains(commands, text))
        }) else {
            return Output::empty();
        };
        let sends = run.words[place].text.starts_with("send");
        let values = if sends { "-t -N" } else { "-t -s -n -c -x -y -F -e -l -w -h -p" };
        let rest = crate::wrappers::skip_options(&run.words[place + 1..], values);
        let keys = ["Enter", "C-m", "KPEnter"];
        let words: Vec<Word> =
            rest.into_iter().filter(|word| !keys.contains(&word.text.as_str())).collect();
        let code = Word::joined(&words);
        self.run_code(&code, "tmux")
    }

    fn screen(&mut self, run: &Run) -> Output {
        if let Some(place) = run.words.iter().position(|word| word.text == "stuff") {
            let code = Word::joined(&run.words[place + 1..]);
            return self.run_code(&code, "screen");
        }
        let values = "-S -c -e -h -p -s -t -T -X";
        let words = crate::wrappers::skip_options(&run.words[1..], values);
        self.run_inner("screen", words, run)
    }

    /// `gdb -ex 'shell COMMAND'`
    fn debugger(&mut self, run: &Run) -> Output {
        for word in &run.words[1..] {
            if let Some(code) = word.strip_prefix("shell ").or_else(|| word.strip_prefix("!")) {
                self.run_code(&code, "gdb");
            }
        }
        Output::computed()
    }

    /// A table of commands: those behind the five fields of each line.
    fn crontab(&mut self, run: &Run) -> Output {
        let reads = run.words.len() == 1 || run.words.iter().any(|word| word.text == "-");
        let Some(input) = run.input.clone().filter(|_| reads) else { return Output::computed() };
        let Some(text) = input.known().map(str::to_owned) else {
            self.unknown_code(UnknownReason::InputCode, "crontab");
            return Output::empty();
        };
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let fields = if line.starts_with('@') { 1 } else { 5 };
            let mut rest = line.trim_start();
            for _ in 0..fields {
                rest = rest.split_once([' ', '\t']).map_or("", |(_, rest)| rest.trim_start());
            }
            self.run_code(&Word::literal(rest), "crontab");
        }
        Output::empty()
    }

    fn apple_script(&mut self, run: &Run) -> Output {
        for word in &run.words[1..] {
            let Some((_, rest)) = word.text.split_once("do shell script \"") else { continue };
            let code = rest.split_once('"').map_or(rest, |(code, _)| code).to_owned();
            self.run_code(&Word::literal(code), "osascript");
        }
        Output::computed()
    }

    fn windows_command(&mut self, run: &Run) -> Output {
        let is_run = |word: &Word| {
            word.text.eq_ignore_ascii_case("/c") || word.text.eq_ignore_ascii_case("/k")
        };
        match run.words.iter().position(is_run) {
            Some(place) => {
                let code = Word::joined(&run.words[place + 1..]);
                self.run_code(&code, "cmd")
            }
            None => Output::computed(),
        }
    }

    /// Reads the simplest form of `PowerShell`: commands with words.
    fn powershell(&mut self, run: &Run) -> Output {
        let is = |word: &Word, flags: &str| contains(flags, &word.text.to_ascii_lowercase());
        if run.words.iter().any(|word| is(word, "-encodedcommand -enc -e -ec")) {
            self.unknown_code(UnknownReason::PowerShell, &Word::joined(&run.words).text);
            return Output::computed();
        }
        if run.words.iter().any(|word| is(word, "-file -f")) {
            return Output::computed();
        }
        let place = run.words.iter().position(|word| is(word, "-command -c"));
        let code = match place {
            Some(place) => Word::joined(&run.words[place + 1..]),
            None if run.words.len() > 1 => {
                Word::joined(&crate::wrappers::inner(run, "-ExecutionPolicy -ep", 0))
            }
            None => return Output::computed(),
        };
        let plain = |one: char| one.is_alphanumeric() || " '\"./\\:~-_;|*,\n@=".contains(one);
        let text = code.text.to_ascii_lowercase();
        let runs = ["iex", "invoke-expression", "invoke-command", "start-process", "&"];
        let invokes = runs.iter().any(|name| text.contains(name));
        if code.known().is_none() || invokes || !code.text.chars().all(plain) {
            self.unknown_code(UnknownReason::PowerShell, &code.text);
            return Output::computed();
        }
        let start = self.line.commands.len();
        // Backslashes are no escapes there.
        self.read_text(&Word::literal(code.text.replace('\\', "\\\\")), "powershell");
        for command in &mut self.line.commands[start..] {
            rename_remove(&mut command.words);
        }
        Output::computed()
    }
}

/// Gives the aliases of `Remove-Item` its name.
fn rename_remove(words: &mut [Word]) {
    let Some(first) = words.first_mut() else { return };
    let name = first.text.to_ascii_lowercase();
    if contains("remove-item ri rm del rd erase rmdir", &name) {
        *first = Word::literal("Remove-Item");
        for word in &mut words[1..] {
            let flag = word.text.to_ascii_lowercase();
            match flag.as_str() {
                "-recurse" | "-r" | "-rec" => *word = Word::literal("-Recurse"),
                "-force" | "-fo" => *word = Word::literal("-Force"),
                _ => {}
            }
        }
    }
}

/// Says what a shell runs by its arguments.
fn shell_source(run: &Run) -> Source {
    let words = &run.words;
    let mut is_text = false;
    let mut reads_input = false;
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let text = word.prefix();
        if text == "--" || text == "-" && is_text {
            at += 1;
            break;
        }
        if !text.starts_with(['-', '+']) || text == "-" {
            break;
        }
        at += 1;
        if text.starts_with("--") {
            match text {
                "--command" => is_text = true,
                "--rcfile" | "--init-file" => at += 1,
                _ => {
                    if let Some(("--command", code)) = word.split_once('=') {
                        return Source::Text(code, Vec::new());
                    }
                }
            }
            continue;
        }
        is_text |= text.starts_with('-') && text.contains('c');
        reads_input |= text.contains('s');
        if text.ends_with(['o', 'O']) {
            at += 1;
        }
    }
    let rest = words.get(at..).unwrap_or_default();
    match rest {
        [code, arguments @ ..] if is_text => Source::Text(code.clone(), arguments.to_vec()),
        [file, arguments @ ..] if !reads_input => Source::File(file.clone(), arguments.to_vec()),
        _ => Source::Input,
    }
}
