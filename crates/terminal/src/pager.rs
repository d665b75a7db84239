//! The pager: a program that shows long text a page at a time, such as `less`.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use anstream::AutoStream;
use anstream::ColorChoice;

/// A program that shows long text a page at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pager {
    /// The shell command; `None` for `less`.
    command: Option<String>,
    /// Variables it is started with.
    variables: Vec<(&'static str, &'static str)>,
}

/// The options of `less`: exit at once if everything fits on the screen, pass colours on, leave the
/// text on the screen, and exit on Ctrl-C, because that ends us too.
const LESS_OPTIONS: &str = "-FRXK";

impl Pager {
    /// The default pager.
    pub fn less() -> Self {
        Self { command: None, variables: Vec::new() }
    }

    /// A pager that a person chose, as a shell command.
    pub fn chosen(command: &str) -> Self {
        Self { command: Some(command.to_owned()), variables: Vec::new() }
    }

    /// Makes it show colours if it is `less` and its options are not configured.
    pub fn with_usual_options(mut self) -> Self {
        self.variables.push(("LESS", LESS_OPTIONS));
        self
    }

    /// Shows a text and waits until the person has read it.
    ///
    /// Returns `false` if the pager could not be started, so that nothing was shown.
    pub fn show(&self, text: &[u8], colours: ColorChoice) -> bool {
        let mut command = match &self.command {
            Some(line) => {
                let mut shell = Command::new("/bin/sh");
                shell.arg("-c").arg(line);
                shell
            }
            None => {
                let mut less = Command::new("less");
                less.arg(LESS_OPTIONS);
                less
            }
        };
        command.envs(self.variables.iter().copied());
        let Ok(mut child) = command.stdin(Stdio::piped()).spawn() else { return false };
        if let Some(input) = child.stdin.take() {
            let pipe = File::from(OwnedFd::from(input));
            // A person may quit the pager before it has read everything.
            let _ = write_coloured(pipe, text, colours);
        }
        // A shell that does not find the command reports that itself, and exits with this code.
        child.wait().is_ok_and(|status| status.code() != Some(NOT_FOUND))
    }
}

/// The exit code of a shell if there is no such command.
const NOT_FOUND: i32 = 127;

fn write_coloured(pipe: File, text: &[u8], colours: ColorChoice) -> io::Result<()> {
    let mut stream = AutoStream::new(pipe, colours);
    stream.write_all(text)?;
    stream.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows a text in a pager that writes its input to a file; returns that.
    fn shown(text: &str, colours: ColorChoice) -> String {
        let name = format!("anyhook-pager-{}-{}", std::process::id(), text.len());
        let file = std::env::temp_dir().join(name);
        let pager = Pager::chosen(&format!("cat > '{}'", file.display()));
        assert!(pager.show(text.as_bytes(), colours));
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(file).unwrap();
        text
    }

    #[test]
    fn a_pager_gets_the_whole_text_with_colours_only_where_wanted() {
        let text = "\u{1b}[31mred\u{1b}[0m\n".repeat(20_000);
        assert_eq!(shown(&text, ColorChoice::Always), text);
        assert_eq!(shown("\u{1b}[1mbold\u{1b}[0m\n", ColorChoice::Never), "bold\n");
    }

    #[test]
    fn one_that_ends_early_is_no_failure_and_one_that_is_missing_is() {
        let long = "a line\n".repeat(100_000);
        assert!(Pager::chosen("true").show(long.as_bytes(), ColorChoice::Never));
        assert!(!Pager::chosen("exec /nowhere/pager 2>&-").show(b"text", ColorChoice::Never));
    }
}
