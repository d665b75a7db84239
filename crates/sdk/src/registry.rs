//! The list of what runs aside: pure, so that every interleaving can be tried.
//!
//! It knows nothing of tasks: whoever starts one gets a [`RegistrySlot`] on the list, which is given up
//! when it is dropped. `tests/background.rs` compiles this file with shuttle's locks.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use crate::sync::{Mutex, MutexGuard, Notify};

/// There are as many tasks aside as there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} hooks are already running in the background")]
pub(crate) struct RegistryFull(pub(crate) usize);

/// What runs aside, by handles that can be cancelled.
#[derive(Debug)]
pub(crate) struct TaskRegistry<Handle> {
    most: usize,
    tasks: Mutex<Tasks<Handle>>,
    /// Told whenever the last task is done.
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

    /// Starts something with a place on the list. `start` is not called if there is none.
    ///
    /// The lock is not held meanwhile: a runtime that shuts down drops a task, and with it its
    /// place, before `start` returns.
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
            // Done already, or all were cancelled before this one could be.
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
            // Made before looking, it is told from here on: the last cannot end unnoticed.
            let idle = self.idle.notified();
            if self.len() == 0 {
                return;
            }
            idle.await;
        }
    }

    /// Takes all off the list and cancels them.
    pub(crate) fn cancel(&self, cancel: impl Fn(Handle)) {
        let running = std::mem::take(&mut self.lock().running);
        running.into_values().flatten().for_each(cancel);
        self.idle.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, Tasks<Handle>> {
        // Nothing that holds it can panic half-way.
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place on the list. It is given up however a task ends: also by a panic, or cancelled.
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
