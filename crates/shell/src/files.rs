//! Which files a command reads, writes, deletes or moves.

use std::borrow::Cow;

use crate::command::{RedirectionKind, Role, ShellCommand};
use crate::programs::{Operands, contains};
use crate::word::Word;

/// What a command does with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// It is read.
    Read,
    /// It is written or created, or its permissions are changed.
    Write,
    /// It is deleted.
    Delete,
    /// It is moved elsewhere.
    Move,
}

/// A file that a command uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAccess<'a> {
    /// The file. Owned if it is only a part of an argument, as in `of=FILE`.
    pub word: Cow<'a, Word>,
    /// What is done with it.
    pub access: Access,
    /// Whether everything in it is concerned, too.
    pub recursive: bool,
}

/// Returns the files of a command.
pub(crate) fn of(command: &ShellCommand) -> Vec<FileAccess<'_>> {
    let mut found = Found { command, files: Vec::new(), recursive: false };
    found.program();
    found.redirections();
    found.files
}

/// Programs whose arguments are a command or a text for a shell, besides wrappers.
const RUNNING: &str = "xargs parallel eval trap su script watch tmux screen alias at autossh mosh \
                       sshpass hyperfine kubectl oc vagrant lxc incus nix-shell osascript cmd";

struct Found<'a> {
    command: &'a ShellCommand,
    files: Vec<FileAccess<'a>>,
    recursive: bool,
}

impl<'a> Found<'a> {
    fn add(&mut self, word: &'a Word, access: Access) {
        self.push(Cow::Borrowed(word), access);
    }

    fn add_part(&mut self, word: Word, access: Access) {
        self.push(Cow::Owned(word), access);
    }

    fn push(&mut self, word: Cow<'a, Word>, access: Access) {
        // A process substitution is no file.
        let is_file = !word.text.starts_with("/dev/fd/") && word.text != "-";
        if !word.text.is_empty() && is_file {
            self.files.push(FileAccess { word, access, recursive: self.recursive });
        }
    }

    fn add_all(&mut self, words: &[&'a Word], access: Access) {
        for word in words {
            self.add(word, access);
        }
    }

    fn redirections(&mut self) {
        self.recursive = false;
        for redirection in &self.command.redirections {
            let target = &redirection.target;
            match redirection.kind {
                RedirectionKind::Read => self.add(target, Access::Read),
                RedirectionKind::Write | RedirectionKind::Append => self.add(target, Access::Write),
                RedirectionKind::ReadWrite => {
                    self.add(target, Access::Read);
                    self.add(target, Access::Write);
                }
                RedirectionKind::HereDocument
                | RedirectionKind::HereString
                | RedirectionKind::Duplicate => {}
            }
        }
    }

    fn program(&mut self) {
        let command = self.command;
        let Some(name) = command.program() else { return };
        let table = command.table();
        self.recursive = table.recursive == "*"
            || !table.recursive.is_empty()
                && table.recursive.split(' ').any(|flag| command.has_flag(flag));
        self.options(table.reads, Access::Read);
        self.options(table.writes, Access::Write);
        let operands = command.operands();
        let rest = operands.get(1..).unwrap_or_default();
        match table.operands {
            Operands::None => {}
            Operands::Unknown => self.may_be_paths(name),
            Operands::Read => {
                self.add_all(&operands, Access::Read);
            }
            Operands::Write => self.add_all(&operands, Access::Write),
            Operands::Delete => self.add_all(&operands, Access::Delete),
            Operands::Copies => self.sources_and_target(&operands, Access::Read),
            Operands::Move => self.sources_and_target(&operands, Access::Move),
            Operands::ReadAfterFirst if name == "yq" && command.has_flag("-i") => {
                self.add_all(rest, Access::Write);
            }
            Operands::ReadAfterFirst => {
                let given = ["-e", "--regexp", "-f", "--file"];
                let pattern_given = given.iter().any(|flag| command.has_flag(flag));
                self.add_all(if pattern_given { &operands } else { rest }, Access::Read);
            }
            Operands::WriteAfterFirst => {
                // `chmod -x FILE`: the mode looks like a flag.
                let is_mode = |word: &Word| is_removed_mode(word.prefix());
                let all = command.has_flag("--reference")
                    || name == "chmod" && command.arguments().iter().any(is_mode);
                self.add_all(if all { &operands } else { rest }, Access::Write);
            }
            Operands::WriteFirst => {
                self.add_all(&operands[..operands.len().min(1)], Access::Write);
                self.add_all(rest, Access::Read);
            }
            Operands::ReadFirst => self.script(name, &operands),
            Operands::Special => self.special(name, &operands),
        }
    }

    /// Adds the values of some options: `-o FILE`, `-oFILE`, `--output=FILE`.
    fn options(&mut self, options: &str, access: Access) {
        if options.is_empty() {
            return;
        }
        for value in values_of(self.command, options) {
            self.push(value, access);
        }
    }

    fn sources_and_target(&mut self, operands: &[&'a Word], access: Access) {
        let target = "-t --target-directory";
        if contains("cp mv ln install", self.command.program().unwrap_or(""))
            && ["-t", "--target-directory"].iter().any(|flag| self.command.has_flag(flag))
        {
            self.add_all(operands, access);
            self.options(target, Access::Write);
            return;
        }
        match operands {
            [] => {}
            [only] => self.add(only, access),
            [others @ .., last] => {
                self.add_all(others, access);
                self.add(last, Access::Write);
            }
        }
    }

    /// The file an interpreter runs, unless the code is an argument.
    fn script(&mut self, name: &str, operands: &[&'a Word]) {
        if contains("perl ruby", name)
            && self.command.flags().any(|flag| flag == "-i" || flag.starts_with("-i"))
        {
            return self.add_all(operands, Access::Write);
        }
        let code = ["-c", "-e", "-E", "-r", "-m", "--eval", "--command", "-Command"];
        if name != "unzip" && code.iter().any(|flag| self.command.has_flag(flag)) {
            // What is behind the code is its input, for those that read line by line.
            let is_filter = ["-n", "-p"].iter().any(|flag| self.command.has_flag(flag));
            if contains("perl ruby", name) && is_filter {
                self.add_all(operands, Access::Read);
            }
            return;
        }
        self.add_all(&operands[..operands.len().min(1)], Access::Read);
    }

    /// What a program that is not in the table may do.
    fn may_be_paths(&mut self, name: &str) {
        if crate::wrappers::find(name).is_some() || contains(RUNNING, name) {
            return;
        }
        for (word, role) in self.command.roles() {
            let value = match role {
                Role::Operand => Cow::Borrowed(word),
                Role::Flag => match word.split_once('=') {
                    Some((_, value)) => Cow::Owned(value),
                    None => continue,
                },
                Role::Value | Role::End => continue,
            };
            if looks_like_path(&value) {
                self.push(value, Access::Read);
            }
        }
    }

    fn special(&mut self, name: &str, operands: &[&'a Word]) {
        match name {
            "dd" => self.dd(),
            "sed" => self.sed(operands),
            "find" | "fd" => self.find(name, operands),
            "tar" => self.tar(operands),
            "7z" | "7za" => {
                let rest = operands.get(1..).unwrap_or_default();
                let reads = operands.first().is_some_and(|word| contains("x e l t", &word.text));
                let first = if reads { Access::Read } else { Access::Write };
                self.add_all(&rest[..rest.len().min(1)], first);
                self.add_all(rest.get(1..).unwrap_or_default(), Access::Read);
            }
            "curl" => self.curl(),
            "wget" => {
                let written = "-O --output-document -o --output-file -a --append-output -P \
                               --directory-prefix --save-cookies";
                self.options(written, Access::Write);
                let read = "--post-file --body-file -i --input-file --load-cookies \
                            --ca-certificate --certificate --private-key";
                self.options(read, Access::Read);
            }
            "openssl" => {
                self.options(
                    "-in -inkey -key -cert -CA -CAkey -CAfile -kfile -config",
                    Access::Read,
                );
                self.options("-out -keyout", Access::Write);
            }
            "rsync" => self.rsync(operands),
            "git" => self.git(operands),
            "aws" | "gcloud" => self.cloud(operands),
            _ => {}
        }
    }

    fn dd(&mut self) {
        for word in self.command.arguments() {
            match word.split_once('=') {
                Some(("if", file)) => self.add_part(file, Access::Read),
                Some(("of", file)) => self.add_part(file, Access::Write),
                _ => {}
            }
        }
    }

    fn sed(&mut self, operands: &[&'a Word]) {
        let given = ["-e", "--expression", "-f", "--file"];
        let script_given = given.iter().any(|flag| self.command.has_flag(flag));
        let files = operands.get(usize::from(!script_given)..).unwrap_or_default();
        let in_place = ["-i", "--in-place"].iter().any(|flag| self.command.has_flag(flag));
        self.add_all(files, if in_place { Access::Write } else { Access::Read });
    }

    fn find(&mut self, name: &str, operands: &[&'a Word]) {
        self.recursive = true;
        if name == "fd" {
            return self.add_all(operands.get(1..).unwrap_or_default(), Access::Read);
        }
        let arguments = self.command.arguments();
        let global = |word: &&Word| contains("-H -L -P", &word.text);
        let start = arguments.iter().take_while(global).count();
        let is_folder = |word: &&Word| !word.prefix().starts_with(['-', '(', '!']);
        let folders: Vec<_> = arguments[start..].iter().take_while(is_folder).collect();
        let access = if find_deletes(self.command) { Access::Delete } else { Access::Read };
        if folders.is_empty() {
            self.add_part(Word::literal("."), access);
        }
        self.add_all(&folders, access);
        self.recursive = false;
        self.options("-fprint -fprint0 -fprintf -fls", Access::Write);
    }

    fn tar(&mut self, operands: &[&'a Word]) {
        // The letters may stand without a dash: `tar czf FILE …`.
        let letters = operands.first().filter(|word| self.is_first(word)).map(|word| &word.text);
        let old = letters
            .is_some_and(|letters| letters.bytes().all(|letter| letter.is_ascii_alphabetic()));
        let has = |letter: &str, long: &str| {
            self.command.has_flag(&format!("-{letter}"))
                || self.command.has_flag(long)
                || old && letters.is_some_and(|letters| letters.contains(letter))
        };
        let writes = has("c", "--create") || has("r", "--append") || has("u", "--update");
        let removes = self.command.has_flag("--remove-files");
        let archive = if writes { Access::Write } else { Access::Read };
        let mut files = operands.get(usize::from(old)..).unwrap_or_default();
        if old && letters.is_some_and(|letters| letters.contains('f')) {
            self.add_all(&files[..files.len().min(1)], archive);
            files = files.get(1..).unwrap_or_default();
        }
        self.options("-f --file", archive);
        self.options("-T --files-from -X --exclude-from", Access::Read);
        self.options("-C --directory", if writes { Access::Read } else { Access::Write });
        if writes {
            self.recursive = true;
            self.add_all(files, if removes { Access::Delete } else { Access::Read });
        }
    }

    fn is_first(&self, word: &Word) -> bool {
        self.command.arguments().first().is_some_and(|first| std::ptr::eq(first, word))
    }

    fn curl(&mut self) {
        let written = "-o --output --output-dir -c --cookie-jar -D --dump-header --trace \
                       --trace-ascii --stderr";
        self.options(written, Access::Write);
        let read = "-T --upload-file -K --config -E --cert --key --cacert --netrc-file";
        self.options(read, Access::Read);
        // A file of cookies; `NAME=VALUE` is a cookie.
        for value in values_of(self.command, "-b --cookie") {
            if !value.text.contains('=') {
                self.push(value, Access::Read);
            }
        }
        for word in self.command.operands() {
            if let Some(path) = word.strip_prefix("file://") {
                self.add_part(path, Access::Read);
            }
        }
        let data = "-d --data --data-ascii --data-binary --data-urlencode --json -H --header";
        for value in values_of(self.command, data) {
            if let Some((_, file)) = value.split_once('@').filter(|(name, _)| is_field(name)) {
                self.add_part(file, Access::Read);
            }
        }
        for value in values_of(self.command, "-F --form") {
            let Some((_, content)) = value.split_once('=') else { continue };
            let file = content.strip_prefix("@").or_else(|| content.strip_prefix("<"));
            if let Some(file) = file {
                let end = file.prefix().find(';');
                let file = end.map_or(file.clone(), |end| Word::literal(&file.text[..end]));
                self.add_part(file, Access::Read);
            }
        }
    }

    fn rsync(&mut self, operands: &[&'a Word]) {
        self.recursive = true;
        let [others @ .., last] = operands else { return };
        let moves = self.command.has_flag("--remove-source-files");
        self.add_all(others, if moves { Access::Move } else { Access::Read });
        self.add(last, Access::Write);
        let deletes = |flag: &str| flag.starts_with("--del");
        if self.command.flags().any(deletes) {
            self.add(last, Access::Delete);
        }
    }

    fn git(&mut self, operands: &[&'a Word]) {
        let [subcommand, rest @ ..] = operands else { return };
        self.recursive = true;
        match subcommand.known() {
            Some("rm") if !self.command.has_flag("--cached") => {
                self.recursive = self.command.has_flag("-r");
                self.add_all(rest, Access::Delete);
            }
            Some("clean") if rest.is_empty() => self.add_part(Word::literal("."), Access::Delete),
            Some("clean") => self.add_all(rest, Access::Delete),
            Some("checkout") => {
                let files = self.after_double_dash();
                self.add_all(&files, Access::Write);
                if files.is_empty() && rest.iter().any(|word| word.text == ".") {
                    self.add_part(Word::literal("."), Access::Write);
                }
            }
            Some("restore") => self.add_all(rest, Access::Write),
            Some("mv") => self.sources_and_target(rest, Access::Move),
            Some("apply" | "am") => self.add_all(rest, Access::Read),
            Some("worktree") if rest.first().is_some_and(|word| word.text == "remove") => {
                self.add_all(&rest[1..], Access::Delete);
            }
            Some("add") => {
                self.recursive = false;
                self.add_all(rest, Access::Read);
            }
            _ => {}
        }
    }

    fn after_double_dash(&self) -> Vec<&'a Word> {
        let arguments = self.command.arguments().iter();
        arguments.skip_while(|word| word.text != "--").skip(1).collect()
    }

    /// Copies between this machine and a bucket.
    fn cloud(&mut self, operands: &[&'a Word]) {
        let [service, action, rest @ ..] = operands else { return };
        if !contains("s3 storage", &service.text) || !contains("cp mv sync rsync", &action.text) {
            return;
        }
        let is_local =
            |word: &Word| !["s3://", "gs://"].iter().any(|start| word.prefix().starts_with(start));
        let local: Vec<&Word> = rest.iter().copied().filter(|word| is_local(word)).collect();
        let upload = rest.first().is_some_and(|word| is_local(word));
        self.add_all(&local, if upload { Access::Read } else { Access::Write });
    }
}

/// Whether an argument of `chmod` takes permissions away: `-x`, `-rw`.
fn is_removed_mode(text: &str) -> bool {
    text.strip_prefix('-').is_some_and(|letters| {
        !letters.is_empty() && letters.bytes().all(|letter| b"rwxXst".contains(&letter))
    })
}

/// Whether `find` deletes what it finds.
fn find_deletes(command: &ShellCommand) -> bool {
    command.arguments().iter().any(|word| word.known() == Some("-delete"))
}

/// Whether this can stand before the `@` of `--data name@file`.
fn is_field(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// Whether an argument of any program may be a path.
fn looks_like_path(word: &Word) -> bool {
    let text = &word.text;
    let path = text.contains('/') || text.starts_with(['~', '.']);
    path && !text.contains("://") && !text.contains(['\n', ' '])
}

/// Returns the values of some options.
pub(crate) fn values_of<'a>(command: &'a ShellCommand, options: &str) -> Vec<Cow<'a, Word>> {
    let table = command.table();
    let mut values = Vec::new();
    let mut wanted = false;
    for (word, role) in command.roles() {
        match role {
            Role::Value if wanted => values.push(Cow::Borrowed(word)),
            Role::Flag => {
                if let Some(value) = attached_value(word, options, table) {
                    values.push(Cow::Owned(value));
                }
            }
            Role::Value | Role::Operand | Role::End => {}
        }
        wanted = role == Role::Flag && names_option(word.prefix(), options, table);
    }
    values
}

/// Whether a flag, or the last of a bundle, is one of the options.
fn names_option(flag: &str, options: &str, table: &crate::programs::Program) -> bool {
    if contains(options, flag) {
        return true;
    }
    let bundle = !flag.starts_with("--") && !table.has_long_flags() && flag.len() > 2;
    bundle && flag.is_ascii() && contains(options, &format!("-{}", &flag[flag.len() - 1..]))
}

/// Returns the value within a flag: `--output=FILE`, `-oFILE`.
fn attached_value(word: &Word, options: &str, table: &crate::programs::Program) -> Option<Word> {
    let text = word.prefix();
    if text.starts_with("--") || table.has_long_flags() {
        let (name, value) = word.split_once('=')?;
        return contains(options, name).then_some(value);
    }
    let letters = &text.as_bytes()[1..];
    let place = letters.iter().position(|&letter| table.is_value_letter(letter))?;
    let letter = char::from(letters[place]);
    let more = place + 2 < word.text.len();
    (more && contains(options, &format!("-{letter}"))).then(|| word.after(place + 2))
}
