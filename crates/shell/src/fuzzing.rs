//! The fuzz target's entry point: takes any bytes and must return.

/// Reads bytes as a command line, and asks everything about each command.
pub fn command_line(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let line = crate::read(&text);
    for command in &line.commands {
        let flags: Vec<_> = command.flags().collect();
        assert!(flags.iter().all(|flag| command.has_flag(flag)), "{flags:?}");
        let files = command.files();
        assert!(files.iter().all(|file| !file.word.text.is_empty()), "{files:?}");
        command.subcommand();
        command.urls();
    }
}
