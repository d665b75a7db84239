//! Options and variables whose value is run: `git -c core.pager=…`, `GIT_SSH_COMMAND=…`.

use super::{Reader, Run};
use crate::command::{Folder, base_name};
use crate::programs::contains;
use crate::word::Word;

/// Variables whose value some program runs.
const VARIABLES: &str = "PROMPT_COMMAND GIT_SSH_COMMAND GIT_SSH GIT_PAGER PAGER MANPAGER EDITOR \
                         VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_EXTERNAL_DIFF GIT_ASKPASS \
                         GIT_PROXY_COMMAND SSH_ASKPASS SUDO_ASKPASS LESSOPEN LESSCLOSE BROWSER \
                         FZF_DEFAULT_COMMAND RSYNC_RSH CARGO_BUILD_RUSTC_WRAPPER RUSTC_WRAPPER";
/// Settings of git whose value is run.
const GIT_SETTINGS: &str = "core.pager core.editor core.sshcommand core.fsmonitor core.askpass \
                            core.gitproxy sequence.editor diff.external credential.helper \
                            gpg.program uploadpack.packobjectshook";
/// Options whose value is run: program, options.
const OPTIONS: &[(&str, &str)] = &[
    ("tar", "--to-command --use-compress-program -I --rsh-command --info-script -F"),
    ("gtar", "--to-command --use-compress-program -I --rsh-command --info-script -F"),
    ("bsdtar", "--use-compress-program"),
    ("rsync", "-e --rsh"),
    ("sort", "--compress-program"),
    ("zip", "-TT --unzip-command"),
    ("man", "-P --pager"),
    ("git", "--upload-pack --receive-pack --exec -x --extcmd"),
    ("split", "--filter"),
    ("ncat", "-c -e --sh-exec --exec"),
    ("nc", "-c -e"),
    ("mail", "-S"),
    ("sqlite3", "-cmd"),
    ("rg", "--pre"),
];

impl Reader {
    /// Reads values of options that a program runs.
    pub(super) fn options_that_run(&mut self, name: &str, run: &Run) {
        match name {
            "git" => self.git(run),
            "ssh" | "scp" | "sftp" => self.ssh_options(name, run),
            "tar" | "gtar" => self.tar_actions(run),
            "vim" | "vi" | "nvim" | "ex" | "ed" | "less" | "more" => self.editor(name, run),
            "sed" | "gsed" => self.stream_editor(run),
            "psql" | "sqlite3" | "mysql" => self.client_escapes(name, run),
            _ => {}
        }
        let Some((_, options)) = OPTIONS.iter().find(|(program, _)| *program == name) else {
            return;
        };
        for (index, word) in run.words.iter().enumerate().skip(1) {
            let code = if contains(options, word.prefix()) && !word.prefix().is_empty() {
                run.words.get(index + 1).cloned()
            } else {
                word.split_once('=')
                    .filter(|(name, _)| contains(options, name))
                    .map(|(_, code)| code)
            };
            if let Some(code) = code {
                self.read_text(&code, name);
            }
        }
    }

    /// Reads variables whose value is run.
    pub(super) fn executed_variables(&mut self, assignments: &[(String, Word)]) {
        for (name, value) in assignments {
            // A shell that starts reads these files.
            if contains("BASH_ENV ENV", name)
                && let Some(content) = self.content_of(value)
            {
                self.run_output(content, name, &value.text);
            }
            if contains(VARIABLES, name) && value.text.contains([' ', '/', ';', '|', '$', '`']) {
                self.read_text(value, name);
            }
        }
    }

    fn git(&mut self, run: &Run) {
        let mut index = 1;
        let mut folder: Option<Folder> = None;
        while let Some(word) = run.words.get(index) {
            let text = word.prefix();
            index += 1;
            match text {
                "-c" | "--config-env" => {
                    if let Some(setting) = run.words.get(index).cloned() {
                        self.git_setting(&setting);
                    }
                    index += 1;
                }
                "-C" => {
                    let path = run.words.get(index).and_then(Word::known);
                    let base = folder.unwrap_or_else(|| self.scope.folder().clone());
                    folder = Some(path.map_or(Folder::Unknown, |path| base.join(path)));
                    index += 1;
                }
                "--git-dir" | "--work-tree" | "--namespace" | "--exec-path" => index += 1,
                _ if text.starts_with("-c") && !text.starts_with("--") => {
                    self.git_setting(&word.after(2));
                }
                _ if text.starts_with('-') => {}
                _ => break,
            }
        }
        if let (Some(folder), Some(command)) = (folder, self.line.commands.get_mut(self.current)) {
            command.folder = folder;
        }
        self.git_subcommand(run.words.get(index - 1..).unwrap_or_default(), run);
    }

    fn git_setting(&mut self, setting: &Word) {
        let Some((name, value)) = setting.split_once('=') else { return };
        self.run_git_setting(name, &value);
    }

    fn run_git_setting(&mut self, name: &str, value: &Word) {
        let name = name.to_ascii_lowercase();
        let ends = [
            ".clean",
            ".smudge",
            ".process",
            ".textconv",
            ".command",
            ".cmd",
            ".path",
            ".helper",
            ".driver",
        ];
        if name.starts_with("alias.") {
            match value.strip_prefix("!") {
                Some(code) => {
                    self.read_text(&code, "git");
                }
                None => {
                    let mut code = Word::literal("git ");
                    code.push_word(value);
                    self.read_text(&code, "git");
                }
            }
        } else if contains(GIT_SETTINGS, &name)
            || name.starts_with("pager.")
            || ends.iter().any(|end| name.ends_with(end))
        {
            let code = value.strip_prefix("!").unwrap_or_else(|| value.clone());
            self.read_text(&code, "git");
        }
    }

    fn git_subcommand(&mut self, words: &[Word], run: &Run) {
        let rest = words.get(1..).unwrap_or_default();
        match words.first().and_then(Word::known) {
            Some("config") => {
                let operands: Vec<&Word> = rest
                    .iter()
                    .filter(|word| !word.prefix().starts_with('-') && word.text != "set")
                    .collect();
                if let [name, value, ..] = operands.as_slice()
                    && let Some(name) = name.known()
                {
                    self.run_git_setting(name, value);
                }
            }
            Some("bisect") if rest.first().is_some_and(|word| word.text == "run") => {
                self.run_inner("git", rest[1..].to_vec(), run);
            }
            Some("submodule") if rest.iter().any(|word| word.text == "foreach") => {
                let code: Vec<Word> = rest
                    .iter()
                    .skip_while(|word| word.text != "foreach")
                    .skip(1)
                    .skip_while(|word| word.prefix().starts_with("--"))
                    .cloned()
                    .collect();
                self.read_text(&Word::joined(&code), "git");
            }
            Some("filter-branch") => {
                for (index, word) in rest.iter().enumerate() {
                    if word.prefix().ends_with("-filter")
                        && let Some(code) = rest.get(index + 1)
                    {
                        self.read_text(&code.clone(), "git");
                    }
                }
            }
            _ => {}
        }
    }

    fn ssh_options(&mut self, name: &str, run: &Run) {
        for word in &run.words[1..] {
            let setting = word.strip_prefix("-o").unwrap_or_else(|| word.clone());
            let Some((key, value)) = setting.split_once('=') else { continue };
            let key = key.to_ascii_lowercase();
            if contains("proxycommand localcommand knownhostscommand", key.trim()) {
                self.read_text(&value, name);
            }
        }
    }

    fn tar_actions(&mut self, run: &Run) {
        for word in &run.words[1..] {
            let action = word.strip_prefix("--checkpoint-action=").unwrap_or_else(|| word.clone());
            if let Some(code) = action.strip_prefix("exec=") {
                self.read_text(&code, "tar");
            }
        }
    }

    /// `vim -c ':!COMMAND'`
    fn editor(&mut self, name: &str, run: &Run) {
        for word in &run.words[1..] {
            let command = word.strip_prefix("+").unwrap_or_else(|| word.clone());
            let command = command.strip_prefix(":").unwrap_or(command);
            if let Some(code) =
                command.strip_prefix("!").or_else(|| command.strip_prefix("silent !"))
            {
                self.read_text(&code, base_name(name));
            }
        }
    }

    /// `sed '1e COMMAND'`, `sed 's/.*/COMMAND/e'`
    fn stream_editor(&mut self, run: &Run) {
        for word in &run.words[1..] {
            let Some(script) = word.known() else { continue };
            if let Some(code) = executed_by_sed(script) {
                self.read_text(&Word::literal(code), "sed");
            }
        }
    }

    /// `psql -c '\! COMMAND'`, `sqlite3 x '.shell COMMAND'`
    fn client_escapes(&mut self, name: &str, run: &Run) {
        for word in &run.words[1..] {
            let codes = ["\\! ", ".shell ", ".system ", "\\!"];
            if let Some(code) = codes.iter().find_map(|code| word.strip_prefix(code)) {
                self.read_text(&code, name);
            }
        }
    }
}

/// Returns the command that a script of sed runs: that of `e`, or the replacement of `s///e`.
fn executed_by_sed(script: &str) -> Option<String> {
    let is_address = |one: char| one.is_ascii_digit() || matches!(one, '$' | ',' | ' ' | '~');
    let command = script.trim_start_matches(is_address);
    if let Some(code) = command.strip_prefix("e ") {
        return Some(code.to_owned());
    }
    let rest = command.strip_prefix('s')?;
    let delimiter = rest.chars().next().filter(char::is_ascii_punctuation)?;
    let mut parts = vec![String::new()];
    let mut letters = rest.chars().skip(1);
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => {
                let escaped = letters.next()?;
                let part = parts.last_mut()?;
                if escaped != delimiter {
                    part.push('\\');
                }
                part.push(escaped);
            }
            _ if letter == delimiter => parts.push(String::new()),
            _ => parts.last_mut()?.push(letter),
        }
    }
    match parts.as_slice() {
        [_, replacement, flags] if flags.contains('e') => Some(replacement.clone()),
        _ => None,
    }
}
