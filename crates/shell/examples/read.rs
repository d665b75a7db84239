//! Prints what each line of the input runs.
#![expect(clippy::print_stdout, reason = "it is a program")]

use std::io;

fn main() -> io::Result<()> {
    for line in io::stdin().lines() {
        let line = line?;
        println!("{line}");
        let read = anyhook_shell::read(&line.replace("\\n", "\n"));
        for command in &read.commands {
            let files: Vec<_> = command
                .files()
                .iter()
                .map(|file| format!("{:?} {}", file.access, file.word.text))
                .collect();
            println!(
                "  {}.{} {:?} via {:?} in {:?} files {files:?}",
                command.pipeline,
                command.place,
                command.words.iter().map(|word| &word.text).collect::<Vec<_>>(),
                command.via,
                command.folder,
            );
        }
        for unknown in &read.unknown {
            println!("  unknown: {unknown}");
        }
    }
    Ok(())
}
