//! The registry of background tasks: pure, so that every interleaving can be tested.
//!
//! It knows nothing of tasks: starting one takes a [`RegistrySlot`] in the registry, which is freed
//! when it is dropped. `tests/background.rs` compiles this file with shuttle's locks.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use crate::sync::{Mutex, MutexGuard, Notify};

/// The limit of background tasks is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} hooks are already running in the background")]
pub(crate) struct RegistryFull(pub(crate) usize);

/// The background tasks, by handles that can be cancelled.
#[derive(Debug)]
pub(crate) struct TaskRegistry<Handle> {
    most: usize,
    tasks: Mutex<Tasks<Handle>>,
    /// Notified whenever the last task has ended.
    idle: Notify,
}

#[derive(Debug)]
struct Tasks<Handle> {
    /// A task without a handle is just being started.
    running: HashMap<u64, Option<Handle>>,
    next: u64,
}

impl<Handle> TaskRegistry<Handle> {
    pub(crate) fn new(most: usize) -> Self {
        let tasks = Tasks { running: HashMap::new(), next: 0 };
        Self { most, tasks: Mutex::new(tasks), idle: Notify::new() }
    }

    /// Starts something with a slot in the registry. `start` is not called if there is none.
    ///
    /// The lock is not held meanwhile: a runtime that shuts down drops a task, and with it its
    /// slot, before `start` returns.
    pub(crate) fn start(
        self: &Arc<Self>,
        start: impl FnOnce(RegistrySlot<Handle>) -> Handle,
        cancel: impl FnOnce(Handle),
    ) -> Result<(), RegistryFull> {
        let number = {
            let mut tasks = self.lock();
            if tasks.running.len() >= self.most {
                return Err(RegistryFull(self.most));
            }
            let number = tasks.next;
            tasks.next += 1;
            tasks.running.insert(number, None);
            number
        };
        let handle = start(RegistrySlot { registry: self.clone(), number });
        let mut tasks = self.lock();
        if let Some(place) = tasks.running.get_mut(&number) {
            *place = Some(handle);
        } else {
            drop(tasks);
            // Already ended, or all were cancelled before this one could be.
            cancel(handle);
        }
        Ok(())
    }

    /// Returns how many run.
    pub(crate) fn len(&self) -> usize {
        self.lock().running.len()
    }

    /// Waits until none runs any more.
    pub(crate) async fn wait(&self) {
        loop {
            // Created before the check, it is notified from here on: the last task cannot end
            // unnoticed.
            let idle = self.idle.notified();
            if self.len() == 0 {
                return;
            }
            idle.await;
        }
    }

    /// Removes all tasks from the registry and cancels them.
    pub(crate) fn cancel(&self, cancel: impl Fn(Handle)) {
        let running = std::mem::take(&mut self.lock().running);
        running.into_values().flatten().for_each(cancel);
        self.idle.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, Tasks<Handle>> {
        // No code that holds the lock can panic half-way.
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A slot in the registry. It is freed however a task ends: also on a panic, or when cancelled.
#[derive(Debug)]
pub(crate) struct RegistrySlot<Handle> {
    registry: Arc<TaskRegistry<Handle>>,
    number: u64,
}

impl<Handle> Drop for RegistrySlot<Handle> {
    fn drop(&mut self) {
        let mut tasks = self.registry.lock();
        tasks.running.remove(&self.number);
        if tasks.running.is_empty() {
            self.registry.idle.notify_waiters();
        }
    }
}
