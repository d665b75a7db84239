//! Programs that run the command in their arguments: one row each.

use crate::programs::contains;
use crate::word::Word;

/// A program that runs another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wrapper {
    pub(crate) name: &'static str,
    /// Options that take a value.
    pub(crate) values: &'static str,
    /// How many operands stand before the command.
    pub(crate) operands: usize,
    /// Words of which one must stand first, as in `uv run`; empty if there is none.
    pub(crate) subcommands: &'static str,
    /// Options whose value is a text for a shell.
    pub(crate) texts: &'static str,
    /// Options with which nothing is run.
    pub(crate) without: &'static str,
}

const fn row(name: &'static str, values: &'static str) -> Wrapper {
    Wrapper { name, values, operands: 0, subcommands: "", texts: "", without: "" }
}

impl Wrapper {
    const fn after(mut self, operands: usize) -> Self {
        self.operands = operands;
        self
    }

    const fn subcommands(mut self, subcommands: &'static str) -> Self {
        self.subcommands = subcommands;
        self
    }

    const fn texts(mut self, texts: &'static str) -> Self {
        self.texts = texts;
        self
    }

    const fn without(mut self, options: &'static str) -> Self {
        self.without = options;
        self
    }
}

static WRAPPERS: &[Wrapper] = &[
    row("apptainer", "-B --bind").subcommands("exec").after(1),
    row("ash", ""),
    row("builtin", ""),
    row("bundle", "").subcommands("exec"),
    row("bunx", "-p --package"),
    row("busybox", ""),
    row("bwrap", "--bind --ro-bind --dev --proc --tmpfs --chdir --setenv --symlink --dev-bind"),
    row("caffeinate", "-t -w"),
    row("chpst", "-u -U -b -e -d -o"),
    row("choom", "-n -p"),
    row("chroot", "--userspec --groups").after(1),
    row("chrt", "-T -P -D").after(1),
    row("command", "").without("-v -V"),
    row("conda", "-n --name -p --prefix").subcommands("run"),
    row("coproc", ""),
    row("corepack", ""),
    row("cpulimit", "-l -p -e"),
    row("cross-env", ""),
    row("dbus-run-session", ""),
    row("direnv", "").subcommands("exec").after(1),
    row("doas", "-u -C -a"),
    row("dotenv", "-e -f -c"),
    row("dtrace", ""),
    row("eatmydata", ""),
    row("entr", ""),
    row("env", "-u --unset -C --chdir -a --argv0"),
    row("exec", "-a"),
    row("faketime", "-f").after(1),
    row("fakeroot", "-l -s -i"),
    row("firejail", ""),
    row("flock", "-w --wait --timeout -E --conflict-exit-code").after(1).texts("-c --command"),
    row("gosu", "").after(1),
    row("gtimeout", "-s -k --signal --kill-after").after(1),
    row("ionice", "-c -n -p -P -u --class --classdata --pid"),
    row("linux32", ""),
    row("linux64", ""),
    row("ltrace", "-o -e -p -s -u"),
    row("mise", "").subcommands("exec x"),
    row("nice", "-n --adjustment"),
    row("nix", "-c --command").subcommands("develop shell run"),
    row("noglob", ""),
    row("nocorrect", ""),
    row("nohup", ""),
    row("npx", "-p --package -c --call").texts("-c --call"),
    row("nsenter", "-t --target -S -G --setuid --setgid -m -u -i -n -p -U"),
    row("numactl", "-N -m -i -C -p"),
    row("op", "--env-file").subcommands("run"),
    row("perf", "-e -o -F -p -g").subcommands("stat record trace"),
    row("pipenv", "").subcommands("run"),
    row("pipx", "--spec --python").subcommands("run"),
    row("pkexec", "--user"),
    row("pnpm", "-C --dir --filter -F").subcommands("exec dlx"),
    row("poetry", "-C --directory -P --project").subcommands("run"),
    row("prlimit", "-p"),
    row("proot", "-r -b -w -q"),
    row("proxychains", "-f"),
    row("proxychains4", "-f"),
    row("rlwrap", "-a -f -H"),
    row("rtk", ""),
    row("runuser", "-u -g -G --user --group"),
    row("setarch", "").after(1),
    row("setpriv", "--reuid --regid --groups --bounding-set"),
    row("setsid", ""),
    row("setuidgid", "").after(1),
    row("softlimit", "-m -d -s"),
    row("ssh-agent", "-a -t -E"),
    row("stdbuf", "-i -o -e --input --output --error"),
    row("strace", "-o -e -p -s -u -a -E -I -O -P -S -X -b"),
    row("su-exec", "").after(1),
    row(
        "sudo",
        "-u -g -h -p -C -r -t -T -D -R -U --user --group --host --prompt --chdir --chroot \
                 --close-from --role --type --other-user --command-timeout",
    )
    .without("-l -v -k -K -V -e --list --validate --edit"),
    row(
        "systemd-run",
        "-p -u --unit --property --slice -E --setenv --uid --gid -M -H \
                        --working-directory --on-active --on-calendar",
    ),
    row("systemd-inhibit", "--what --who --why --mode"),
    row("taskset", "-p"),
    row("time", "-f -o --format --output"),
    row("timeout", "-s -k --signal --kill-after").after(1),
    row("toybox", ""),
    row("trickle", "-d -u"),
    row("tsocks", ""),
    row("unbuffer", ""),
    row("unshare", "-S -G --setuid --setgid -R --root -w --wd"),
    row("uv", "--directory --project -p --python --with --env-file --group --extra --package")
        .subcommands("run"),
    row("uvx", "--from --with -p --python"),
    row("valgrind", ""),
    row("watchexec", "-w --watch -e --exts -f --filter -i --ignore -d --debounce -s --signal"),
    row("xvfb-run", "-n -s -e -f -p -w --server-num --server-args"),
    row("yarn", "--cwd").subcommands("exec dlx"),
    row("npm", "--prefix -C -w --workspace").subcommands("exec x"),
];

/// Returns a wrapper by its name.
pub(crate) fn find(name: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|wrapper| wrapper.name == name)
}

/// Returns the words behind options, some of which take a value.
pub(crate) fn skip_options(words: &[Word], values: &str) -> Vec<Word> {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let text = word.prefix();
        if !text.starts_with(['-', '+']) || text == "-" {
            break;
        }
        at += 1;
        if text == "--" {
            break;
        }
        if takes_value(text, values) {
            at += 1;
        }
    }
    words.get(at..).unwrap_or_default().to_vec()
}

/// Whether an option takes the next word: also at the end of a bundle.
pub(crate) fn takes_value(option: &str, values: &str) -> bool {
    if option.starts_with("--") {
        return contains(values, option);
    }
    let is_value = |letter: char| {
        values.split(' ').any(|one| {
            one.strip_prefix('-').is_some_and(|one| {
                let mut letters = one.chars();
                letters.next() == Some(letter) && letters.next().is_none()
            })
        })
    };
    match option.char_indices().skip(1).find(|&(_, letter)| is_value(letter)) {
        Some((place, letter)) => place + letter.len_utf8() == option.len(),
        None => contains(values, option),
    }
}

/// Returns the command behind a program's options and some operands.
pub(crate) fn inner(run: &impl AsWords, values: &str, operands: usize) -> Vec<Word> {
    let words = skip_options(run.words().get(1..).unwrap_or_default(), values);
    words.get(operands..).unwrap_or_default().to_vec()
}

/// Anything with the words of a command.
pub(crate) trait AsWords {
    /// The program and its arguments.
    fn words(&self) -> &[Word];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_options_are_no_command() {
        let words: Vec<Word> = ["-Eu", "root", "-n", "--", "rm"].map(Word::literal).to_vec();
        assert_eq!(skip_options(&words, "-u"), [Word::literal("rm")]);
        assert!(!takes_value("-uroot", "-u"));
    }
}
