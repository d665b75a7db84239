//! Watches agents' processes for their exit: one thread waits for all of them.
//!
//! By a handle (pidfd) where there is one, and by the time the process started: another process
//! with the same id is never mistaken for it. Process ids of another pid namespace mean nothing
//! here.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use anyhook_engine::process_name;
use anyhook_model::ProcessName;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How often processes without a handle are polled.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// An agent and its process.
pub type WatchedProcess = (String, ProcessName);

/// Waits for processes to exit.
#[derive(Debug)]
pub struct ProcessWatcher {
    new: Sender<WatchedProcess>,
    /// A byte in it makes the thread check for new processes; closing it ends the thread.
    wake: UnixStream,
}

impl ProcessWatcher {
    /// Starts the thread; `ended` is called with every process that has exited. At most `handles`
    /// handles are opened; the other processes are polled.
    pub fn start(
        handles: usize,
        ended: impl FnMut(WatchedProcess) + Send + 'static,
    ) -> io::Result<Self> {
        let (woken, wake) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        wake.set_nonblocking(true)?;
        let (new, to_watch) = channel();
        let ours = process_name::of(std::process::id());
        let waiter = ExitWaiter { woken, to_watch, ours, handles, ended, watched: Vec::new() };
        thread::Builder::new().name("processes".to_owned()).spawn(move || waiter.work())?;
        Ok(Self { new, wake })
    }

    /// Watches one more process. One in another pid namespace, such as a container, is never
    /// reported.
    pub fn watch(&self, watched: WatchedProcess) {
        let _ = self.new.send(watched);
        // If the socket is full, the thread wakes as well.
        let _ = rustix::io::write(&self.wake, &[0]);
    }
}

struct ExitWaiter<Ended> {
    woken: UnixStream,
    to_watch: Receiver<WatchedProcess>,
    ours: Option<ProcessName>,
    /// How many handles may be open.
    handles: usize,
    ended: Ended,
    /// Each with its handle, if it has one.
    watched: Vec<(WatchedProcess, Option<OwnedFd>)>,
}

impl<Ended: FnMut(WatchedProcess)> ExitWaiter<Ended> {
    fn work(mut self) {
        while self.wait() {
            while let Ok(watched) = self.to_watch.try_recv() {
                self.add(watched);
            }
            self.tell_ended();
        }
    }

    /// Waits until there is a new process or one has exited. Returns whether to continue.
    fn wait(&self) -> bool {
        let handles = self.watched.iter().filter_map(|(_, handle)| handle.as_ref());
        let mut descriptors = vec![PollFd::new(&self.woken, PollFlags::IN)];
        descriptors.extend(handles.map(|handle| PollFd::new(handle, PollFlags::IN)));
        let is_looked_at = self.watched.iter().any(|(_, handle)| handle.is_none());
        let limit = is_looked_at.then(|| Timespec::try_from(LOOK_EVERY).ok()).flatten();
        // If it fails, exits are found by polling.
        let _ = poll(&mut descriptors, limit.as_ref());
        let mut bytes = [0; 64];
        loop {
            match rustix::io::read(&self.woken, &mut bytes) {
                Ok(0) => return false,
                Ok(_) => {}
                Err(_) => return true,
            }
        }
    }

    fn add(&mut self, watched: WatchedProcess) {
        let is_visible =
            self.ours.as_ref().is_some_and(|ours| ours.namespace == watched.1.namespace);
        if is_visible {
            let has_room = self.watched.len() < self.handles;
            let handle = has_room.then(|| handle(&watched.1)).flatten();
            self.watched.push((watched, handle));
        }
    }

    fn tell_ended(&mut self) {
        let is_over = |(watched, _): &mut (WatchedProcess, Option<OwnedFd>)| {
            process_name::of(watched.1.pid).as_ref() != Some(&watched.1)
        };
        for (watched, _) in self.watched.extract_if(.., is_over) {
            (self.ended)(watched);
        }
    }
}

#[cfg(target_os = "linux")]
fn handle(process: &ProcessName) -> Option<OwnedFd> {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};

    let pid = Pid::from_raw(i32::try_from(process.pid).ok()?)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn handle(_process: &ProcessName) -> Option<OwnedFd> {
    None
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::process::Command;
    use std::sync::mpsc::RecvTimeoutError;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    fn started_with(handles: usize) -> (ProcessWatcher, Receiver<WatchedProcess>) {
        let (ended, told) = channel();
        let processes =
            ProcessWatcher::start(handles, move |watched| ended.send(watched).unwrap()).unwrap();
        (processes, told)
    }

    fn started() -> (ProcessWatcher, Receiver<WatchedProcess>) {
        started_with(100)
    }

    #[test]
    fn without_a_handle_it_is_seen_by_looking() {
        let (processes, told) = started_with(0);
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        processes.watch(("a".to_owned(), process_name::of(child.id()).unwrap()));
        child.kill().unwrap();
        assert_eq!(told.recv_timeout(LIMIT).unwrap().0, "a");
        child.wait().unwrap();
    }

    #[test]
    fn the_end_of_a_process_is_seen() {
        let (processes, told) = started();
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let process = process_name::of(child.id()).unwrap();
        processes.watch(("a".to_owned(), process.clone()));
        assert_eq!(told.recv_timeout(Duration::from_millis(20)), Err(RecvTimeoutError::Timeout));
        child.kill().unwrap();
        assert_eq!(told.recv_timeout(LIMIT), Ok(("a".to_owned(), process.clone())));
        child.wait().unwrap();
        processes.watch(("late".to_owned(), process));
        assert_eq!(told.recv_timeout(LIMIT).unwrap().0, "late");
    }

    #[test]
    fn another_process_of_the_same_number_is_not_waited_for() {
        let (processes, told) = started();
        let mut other = process_name::of(std::process::id()).unwrap();
        other.started += 1;
        processes.watch(("a".to_owned(), other));
        assert_eq!(told.recv_timeout(LIMIT).unwrap().0, "a");
    }

    #[test]
    fn a_process_of_another_namespace_is_never_over() {
        let (processes, told) = started();
        let ours = process_name::of(std::process::id()).unwrap();
        let namespace = Some("pid:[1]".to_owned());
        let elsewhere = ProcessName { pid: 1, started: 1, namespace };
        processes.watch(("elsewhere".to_owned(), elsewhere));
        // Processes that are added later are reported first.
        processes.watch(("here".to_owned(), ProcessName { started: 1, ..ours }));
        assert_eq!(told.recv_timeout(LIMIT).unwrap().0, "here");
        drop(processes);
        assert!(told.recv_timeout(LIMIT).is_err(), "the thread has exited");
    }
}
