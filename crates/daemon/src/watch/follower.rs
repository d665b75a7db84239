//! The watching thread: finds logs, reads each in turn, and waits.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::{Instant, SystemTime};

use anyhook_hosts::log::LogRoots;
use anyhook_hosts::log_database::LogDatabase;
use jiff::{SignedDuration, Timestamp};

use super::agent_homes::AgentHomes;
use super::database::Database;
use super::event_outlet::{EventOutlet, ReceiverGone};
use super::fs_notifier::FsNotifier;
use super::locations::{PathMeaning, WatchPlaces, WatchedFolder};
use super::position::LogPositions;
use super::tail::{Tail, TailStart, TailTurn};
use super::wake_signal::{WakeCause, WakeSignal};
use super::{LogUpdate, WatchOptions};

/// A log without activity for longer is not read until it changes.
const OLD: SignedDuration = SignedDuration::from_hours(24);

/// How far the times of files may lag behind the clock.
const LAG: SignedDuration = SignedDuration::from_millis(20);

#[derive(Debug)]
pub(super) struct Follower {
    homes: LogRoots,
    agents: AgentHomes,
    places: Vec<WatchedFolder>,
    options: WatchOptions,
    bell: Arc<WakeSignal>,
    notices: Option<FsNotifier>,
    outlet: EventOutlet,
    /// Positions of logs that were not found yet.
    positions: LogPositions,
    tails: BTreeMap<PathBuf, Tail>,
    databases: BTreeMap<PathBuf, Database>,
    /// Logs to be read, each once.
    queue: VecDeque<PathBuf>,
    queued: BTreeSet<PathBuf>,
    /// Logs with a report that is held back.
    holding: BTreeSet<PathBuf>,
    /// When logs were first watched, across restarts.
    since: Timestamp,
}

impl Follower {
    pub fn new(
        places: WatchPlaces,
        positions: LogPositions,
        out: SyncSender<LogUpdate>,
        options: WatchOptions,
        bell: Arc<WakeSignal>,
    ) -> Self {
        let since = positions.since().unwrap_or_else(Timestamp::now);
        Self {
            homes: places.homes,
            agents: AgentHomes::default(),
            places: places.places,
            notices: options.is_told.then(|| FsNotifier::new(Arc::clone(&bell))).flatten(),
            outlet: EventOutlet::new(out, Arc::clone(&bell)),
            options,
            bell,
            positions,
            tails: BTreeMap::new(),
            databases: BTreeMap::new(),
            queue: VecDeque::new(),
            queued: BTreeSet::new(),
            holding: BTreeSet::new(),
            since,
        }
    }

    /// Watches until it is stopped.
    pub fn run(&mut self) {
        let mut next_look = Instant::now();
        while let Some(rung) = self.bell.take() {
            if rung.look_again || Instant::now() >= next_look {
                self.look();
                let is_told = self.notices.as_ref().is_some_and(|notices| !notices.is_blind());
                let every = if is_told { self.options.seldom } else { self.options.often };
                next_look = Instant::now() + every;
            }
            if self.heed(&rung) {
                self.bell.look_again();
            }
            match self.work() {
                Ok(true) => {}
                Ok(false) => {
                    let next = self.next_due().map_or(next_look, |due| due.min(next_look));
                    self.bell.wait_until(next);
                }
                Err(ReceiverGone) => return,
            }
        }
    }

    /// Searches all places for logs that are new, changed or gone.
    fn look(&mut self) {
        if self.options.finds_homes {
            self.find_homes();
        }
        let mut folders = HashMap::new();
        let mut logs = BTreeSet::new();
        if let Some(notices) = &mut self.notices {
            notices.begin_look();
        }
        for number in 0..self.places.len() {
            let place = self.places[number].clone();
            let found = place.look(&mut |folder, id| {
                if let Some(notices) = &mut self.notices {
                    notices.watch(folder, id);
                }
            });
            folders.extend(found.folders);
            for (path, status) in found.logs {
                self.see(&place, &path, &status);
                logs.insert(path);
            }
            self.places[number].is_new = false;
        }
        if let Some(notices) = &mut self.notices {
            notices.end_look(&folders);
        }
        self.tails.retain(|path, _| logs.contains(path));
        self.databases.retain(|path, _| logs.contains(path));
        self.holding.retain(|path| logs.contains(path));
    }

    /// Adds the places of agents that keep their logs elsewhere.
    fn find_homes(&mut self) {
        for (agent, homes) in self.agents.look(&self.homes) {
            for place in WatchedFolder::of_agent(agent, &homes) {
                if !self.places.iter().any(|known| known.place == place.place) {
                    self.places.push(place);
                }
            }
        }
    }

    /// Records the current metadata of a log.
    fn see(&mut self, place: &WatchedFolder, path: &Path, status: &fs::Metadata) {
        if let Some(queries) = place.place.database() {
            self.see_database(place, queries, path, status);
            return;
        }
        if let Some(tail) = self.tails.get_mut(path) {
            if tail.look(status) {
                self.enqueue(path);
            }
            return;
        }
        let Some(name) = path.to_str() else { return };
        let beginning = if place.is_new { self.beginning(status) } else { TailStart::Start };
        let log = (path.to_path_buf(), place.place.form);
        let mut tail = Tail::new(place.agent, log, status, beginning, self.since);
        if let Some(position) = self.positions.take(name, None) {
            tail.restore(&position);
        }
        let is_awake = tail.is_awake();
        self.tails.insert(path.to_path_buf(), tail);
        if is_awake {
            self.enqueue(path);
        }
    }

    /// Returns how to read a log that existed at the start and is not known.
    fn beginning(&self, status: &fs::Metadata) -> TailStart {
        let time = |time: std::io::Result<SystemTime>| Timestamp::try_from(time.ok()?).ok();
        let is_old = |time: Timestamp| Timestamp::now().duration_since(time) > OLD;
        if time(status.modified()).is_none_or(is_old) {
            TailStart::Later
        } else if time(status.created()).is_some_and(|made| self.since.duration_since(made) < LAG) {
            TailStart::Start
        } else {
            TailStart::End
        }
    }

    fn see_database(
        &mut self,
        place: &WatchedFolder,
        queries: &'static LogDatabase,
        path: &Path,
        status: &fs::Metadata,
    ) {
        if let Some(database) = self.databases.get_mut(path) {
            database.look(self.options.pause);
            return;
        }
        let from = Timestamp::now().saturating_sub(OLD).unwrap_or(Timestamp::UNIX_EPOCH);
        let times = (from, self.since);
        let (host, path) = ((place.agent, queries), path.to_path_buf());
        let database = Database::new(host, path.clone(), status, times, &mut self.positions);
        self.databases.insert(path, database);
    }

    /// Handles changes; returns whether folders must be searched.
    fn heed(&mut self, rung: &WakeCause) -> bool {
        let mut look_again = false;
        for path in &rung.paths {
            for number in 0..self.places.len() {
                match self.places[number].meaning(path) {
                    PathMeaning::Nothing => {}
                    PathMeaning::Folder => look_again = true,
                    PathMeaning::Log(log) => self.heed_log(number, &log),
                }
            }
        }
        look_again
    }

    fn heed_log(&mut self, place: usize, log: &Path) {
        if let Some(database) = self.databases.get_mut(log) {
            database.ring(self.options.pause);
        } else if self.tails.contains_key(log) {
            self.enqueue(log);
        } else if let Ok(status) = fs::metadata(log)
            && status.is_file()
        {
            let place = self.places[place].clone();
            self.see(&place, log, &status);
        }
    }

    fn enqueue(&mut self, path: &Path) {
        if self.queued.insert(path.to_path_buf()) {
            self.queue.push_back(path.to_path_buf());
        }
    }

    /// Reads one log for one turn, and sends reports that are due; returns whether there is more to
    /// do now.
    fn work(&mut self) -> Result<bool, ReceiverGone> {
        if let Some(path) = self.queue.pop_front() {
            self.queued.remove(&path);
            self.read(&path)?;
        }
        let now = Instant::now();
        for path in self.holding.clone() {
            // A log with unread data may retract what it reported.
            let Some(tail) = self.tails.get_mut(&path).filter(|_| !self.queued.contains(&path))
            else {
                continue;
            };
            tail.tell_held(now, &self.outlet)?;
            if tail.due().is_none() {
                self.holding.remove(&path);
            }
        }
        for database in self.databases.values_mut() {
            if database.due().is_some_and(|due| due <= now) {
                database.turn(&self.outlet, self.options.pause)?;
            }
        }
        Ok(!self.queue.is_empty())
    }

    fn read(&mut self, path: &Path) -> Result<(), ReceiverGone> {
        let Some(tail) = self.tails.get_mut(path) else { return Ok(()) };
        let turn = tail.turn(&self.outlet, self.options.quiet)?;
        let is_holding = tail.due().is_some();
        match turn {
            TailTurn::Done => {}
            TailTurn::More => self.enqueue(path),
            TailTurn::Gone => _ = self.tails.remove(path),
        }
        if is_holding && turn != TailTurn::Gone {
            self.holding.insert(path.to_path_buf());
        } else {
            self.holding.remove(path);
        }
        Ok(())
    }

    fn next_due(&self) -> Option<Instant> {
        let held = self.holding.iter().filter_map(|path| self.tails.get(path)?.due());
        held.chain(self.databases.values().filter_map(Database::due)).min()
    }
}
