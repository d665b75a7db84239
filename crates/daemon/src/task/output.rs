//! Captures a command's output: its beginning and its end are kept, what is in between is counted.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, PipeReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhook_engine::atomic_file::AtomicFile;

use super::TaskError;

/// How much of the output is kept.
#[derive(Clone, Copy, Debug)]
struct OutputLimit {
    /// The number of bytes of its beginning.
    beginning: u64,
    /// The number of bytes of its end, and up to twice as many while it is being printed.
    end: u64,
}

/// The beginning of the output shows what a command does, and the end why it failed.
const ROOM: OutputLimit = OutputLimit { beginning: 1024 * 1024, end: 16 * 1024 * 1024 };

/// A pipe holds at most this many bytes, so after the exit no more can be waiting in it.
const PIPE_MOST: usize = 1024 * 1024;

/// The pipe that a command prints to, and the file that keeps its output.
///
/// The file is plain text at any time. When it has grown too long it is replaced by one with the
/// beginning, a line that says how much is left out, and the end; and grows again.
#[derive(Debug)]
pub(super) struct OutputPipe {
    /// `None` when no process can print any more.
    pipe: Option<PipeReader>,
    path: PathBuf,
    file: File,
    room: OutputLimit,
    /// The length of the file.
    length: u64,
    /// The length of the line that says how much is left out.
    line: u64,
    /// How much is left out between the beginning and the end.
    left_out: u64,
    /// Whether the disk is full.
    is_full: bool,
    /// How many bytes came after that.
    lost: u64,
}

impl OutputPipe {
    /// Creates the file, readable only by the current user.
    pub(super) fn make(folder: &Path, pipe: PipeReader) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&pipe, true)?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let path = path(folder);
        let file = options.open(&path)?;
        Ok(Self {
            pipe: Some(pipe),
            path,
            file,
            room: ROOM,
            length: 0,
            line: 0,
            left_out: 0,
            is_full: false,
            lost: 0,
        })
    }

    /// Returns the pipe, for polling.
    pub(super) fn pipe(&self) -> Option<&PipeReader> {
        self.pipe.as_ref()
    }

    /// Reads what is in the pipe; bounded, in case a process prints endlessly.
    pub(super) fn take(&mut self) {
        let mut buffer = [0; 16 * 1024];
        let mut taken = 0;
        while taken < PIPE_MOST {
            let Some(pipe) = &mut self.pipe else { return };
            match pipe.read(&mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(length) => {
                    taken += length;
                    self.keep(&buffer[..length]);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.pipe = None,
            }
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let more = bytes.len() as u64;
        // A full disk must not end the command.
        if self.is_full || self.file.write_all(bytes).is_err() {
            self.is_full = true;
            self.lost += more;
            return;
        }
        self.length += more;
        let OutputLimit { beginning, end } = self.room;
        if self.length > beginning + self.line + 2 * end {
            self.is_full = self.leave_out().is_err();
        }
    }

    /// Drops everything but the beginning and the end.
    fn leave_out(&mut self) -> io::Result<()> {
        let OutputLimit { beginning, end } = self.room;
        let left_out = self.left_out + self.length - beginning - self.line - end;
        let line = format!("\n[{left_out} bytes omitted]\n");
        let place = AtomicFile::new(&self.path);
        let mut new = place.begin()?;
        // Opened separately: if this fails, the old file is still written to at its position.
        let mut old = File::open(&self.path)?;
        io::copy(&mut (&old).take(beginning), &mut new.file)?;
        new.file.write_all(line.as_bytes())?;
        old.seek(SeekFrom::Start(self.length - end))?;
        io::copy(&mut old, &mut new.file)?;
        self.file = place.put(new)?;
        self.line = line.len() as u64;
        self.length = beginning + self.line + end;
        self.left_out = left_out;
        Ok(())
    }

    /// Appends how much is missing at the end.
    pub(super) fn finish(mut self) {
        if self.lost > 0 {
            let _ = writeln!(self.file, "\n[{} more bytes discarded]", self.lost);
        }
    }
}

fn path(folder: &Path) -> PathBuf {
    folder.join("output")
}

/// Returns the last bytes of a task's output as text; empty if it has printed nothing.
pub fn output_end(folder: &Path, bytes: usize) -> Result<String, TaskError> {
    let path = path(folder);
    let read = || {
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let length = file.metadata()?.len();
        let most = bytes as u64;
        file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
        let mut end = Vec::new();
        file.take(most).read_to_end(&mut end)?;
        if length > most {
            // The first character may have been cut.
            let is_inner = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
            let cut = end.iter().take(3).take_while(|byte| is_inner(byte)).count();
            end.drain(..cut);
        }
        Ok(end)
    };
    let end = read().map_err(TaskError::file(&path))?;
    Ok(String::from_utf8_lossy(&end).into_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    const SMALL: OutputLimit = OutputLimit { beginning: 3, end: 4 };

    fn printed(folder: &Path, room: OutputLimit) -> (OutputPipe, io::PipeWriter) {
        let (pipe, writer) = io::pipe().unwrap();
        (OutputPipe { room, ..OutputPipe::make(folder, pipe).unwrap() }, writer)
    }

    /// Prints pieces, and returns the content of the file after each and at the end.
    fn files(pieces: &[&[u8]]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let (mut printed, mut writer) = printed(folder.path(), SMALL);
        let mut files = Vec::new();
        for piece in pieces {
            writer.write_all(piece).unwrap();
            printed.take();
            assert!(printed.pipe().is_some());
            files.push(fs::read_to_string(path(folder.path())).unwrap());
        }
        drop(writer);
        printed.take();
        assert!(printed.pipe().is_none(), "its end does not wake anybody");
        printed.finish();
        files.push(output_end(folder.path(), 1000).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
        files
    }

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        let whole = "abc0123ABCD";
        assert_eq!(files(&[b"abc", b"0123", b"ABCD"]), ["abc", "abc0123", whole, whole]);
        let cut = "abc\n[5 bytes omitted]\nBCDE";
        assert_eq!(files(&[b"abc0123ABCDE"]), [cut, cut]);
        let grown = "abc\n[5 bytes omitted]\nBCDEFGHI";
        let again = "abc\n[10 bytes omitted]\nGHIJ";
        assert_eq!(files(&[b"abc0123ABCDE", b"FGHI", b"J"]), [cut, grown, again, again]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_full_disk_cannot_take_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let (mut printed, mut writer) = printed(folder.path(), SMALL);
        writer.write_all(b"ab").unwrap();
        printed.take();
        let own = std::mem::replace(
            &mut printed.file,
            OpenOptions::new().write(true).open("/dev/full").unwrap(),
        );
        writer.write_all(b"cde").unwrap();
        printed.take();
        printed.file = own;
        writer.write_all(b"f").unwrap();
        printed.take();
        printed.finish();
        let told = "ab\n[4 more bytes discarded]\n";
        assert_eq!(output_end(folder.path(), 1000).unwrap(), told, "there is no hole in it");
    }

    #[test]
    fn what_cannot_be_made_shorter_does_not_grow() {
        let folder = tempfile::tempdir().unwrap();
        let (mut printed, mut writer) = printed(folder.path(), SMALL);
        printed.path = folder.path().join("nowhere/output");
        for piece in [b"abc0123ABCDE", b"FGHIJKLMNOPQ"] {
            writer.write_all(piece).unwrap();
            printed.take();
        }
        printed.finish();
        let told = "abc0123ABCDE\n[12 more bytes discarded]\n";
        assert_eq!(output_end(folder.path(), 1000).unwrap(), told);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        /// However it is printed, its beginning and its end are kept, and the sum is right.
        #[test]
        fn nothing_is_miscounted(pieces in prop::collection::vec("[a-z]{1,30}", 1..20)) {
            let whole: String = pieces.concat();
            let bytes: Vec<&[u8]> = pieces.iter().map(String::as_bytes).collect();
            let file = files(&bytes).pop().unwrap();
            let Some((beginning, rest)) = file.split_once("\n[") else {
                prop_assert_eq!(&file, &whole);
                return Ok(());
            };
            let (left_out, end) = rest.split_once(" bytes omitted]\n").unwrap();
            prop_assert_eq!(beginning, &whole[..3]);
            prop_assert!(whole.ends_with(end) && (4..=8).contains(&end.len()), "{}", end);
            let left_out: usize = left_out.parse().unwrap();
            prop_assert_eq!(left_out, whole.len() - 3 - end.len());
        }
    }

    #[test]
    fn the_end_begins_with_a_whole_letter() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(output_end(folder.path(), 10).unwrap(), "", "nothing was printed");
        fs::write(path(folder.path()), "a€b\n").unwrap();
        assert_eq!(output_end(folder.path(), 4).unwrap(), "b\n");
        assert_eq!(output_end(folder.path(), 5).unwrap(), "€b\n");
        assert_eq!(output_end(folder.path(), 100).unwrap(), "a€b\n");
        fs::write(path(folder.path()), b"\xff\xfe\n").unwrap();
        assert_eq!(output_end(folder.path(), 100).unwrap(), "\u{fffd}\u{fffd}\n");
    }
}
