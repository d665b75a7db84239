//! The list of what runs aside, under every interleaving that shuttle comes to.

mod sync {
    use shuttle::sync::atomic::{AtomicBool, Ordering};
    pub(crate) use shuttle::sync::{Mutex, MutexGuard};
    use tokio::sync::futures::Notified;

    /// Tokio's, where another thread may come in before each call.
    #[derive(Debug)]
    pub(crate) struct Notify {
        notify: tokio::sync::Notify,
        switch: AtomicBool,
    }

    impl Notify {
        pub(crate) fn new() -> Self {
            Self { notify: tokio::sync::Notify::new(), switch: AtomicBool::new(false) }
        }

        pub(crate) fn notified(&self) -> Notified<'_> {
            self.switch.load(Ordering::SeqCst);
            self.notify.notified()
        }

        pub(crate) fn notify_waiters(&self) {
            self.switch.load(Ordering::SeqCst);
            self.notify.notify_waiters();
        }
    }
}
#[path = "../src/registry.rs"]
mod registry;

use std::sync::Arc;

use registry::{RegistryFull, RegistrySlot, TaskRegistry};
use shuttle::future::block_on;
use shuttle::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use shuttle::thread;

const ITERATIONS: usize = 500;

/// Tells a task that it is cancelled.
type Flag = Arc<AtomicBool>;

fn check(scenario: impl Fn() + Send + Sync + 'static) {
    let scenario = Arc::new(scenario);
    let again = scenario.clone();
    shuttle::check_random(move || scenario(), ITERATIONS);
    shuttle::check_pct(move || again(), ITERATIONS, 3);
}

#[expect(clippy::needless_pass_by_value, reason = "the list gives its handles away")]
fn cancel(flag: Flag) {
    flag.store(true, Ordering::SeqCst);
}

/// Starts a thread with a place on the list, which ends at once.
fn start(
    registry: &Arc<TaskRegistry<Flag>>,
    done: &Arc<AtomicUsize>,
) -> Result<Flag, RegistryFull> {
    let flag = Flag::default();
    let (given, done) = (flag.clone(), done.clone());
    let begin = move |place: RegistrySlot<Flag>| {
        thread::spawn(move || {
            done.fetch_add(1, Ordering::SeqCst);
            drop(place);
        });
        given
    };
    registry.start(begin, cancel).map(|()| flag)
}

/// Starts a thread that ends only when it is cancelled.
fn start_endless(registry: &Arc<TaskRegistry<Flag>>) -> thread::JoinHandle<()> {
    let flag = Flag::default();
    let mut handle = None;
    let begin = |place: RegistrySlot<Flag>| {
        let seen = flag.clone();
        handle = Some(thread::spawn(move || {
            while !seen.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            drop(place);
        }));
        flag.clone()
    };
    registry.start(begin, cancel).expect("there is room");
    handle.expect("it was started")
}

#[test]
fn who_waits_sees_the_last_one_end() {
    check(|| {
        let registry = Arc::new(TaskRegistry::new(10));
        let done = Arc::new(AtomicUsize::new(0));
        let flags = [(); 3].map(|()| start(&registry, &done).unwrap());
        block_on(registry.wait());
        assert_eq!((registry.len(), done.load(Ordering::SeqCst)), (0, 3));
        drop(flags);
    });
}

#[test]
fn two_may_wait_while_others_start() {
    check(|| {
        let registry = Arc::new(TaskRegistry::new(10));
        let done = Arc::new(AtomicUsize::new(0));
        start(&registry, &done).unwrap();
        let starter = thread::spawn({
            let (registry, done) = (registry.clone(), done.clone());
            move || drop(start(&registry, &done).unwrap())
        });
        let waiter = thread::spawn({
            let registry = registry.clone();
            move || block_on(registry.wait())
        });
        block_on(registry.wait());
        waiter.join().unwrap();
        starter.join().unwrap();
        block_on(registry.wait());
        assert_eq!((registry.len(), done.load(Ordering::SeqCst)), (0, 2));
    });
}

#[test]
fn the_bound_holds_and_a_place_is_free_again() {
    check(|| {
        let registry = Arc::new(TaskRegistry::new(2));
        let done = Arc::new(AtomicUsize::new(0));
        let starters = [(); 3].map(|()| {
            let (registry, done) = (registry.clone(), done.clone());
            thread::spawn(move || {
                let started = start(&registry, &done).is_ok();
                assert!(registry.len() <= 2);
                usize::from(started)
            })
        });
        let started: usize = starters.into_iter().map(|one| one.join().unwrap()).sum();
        assert!(started >= 2);
        block_on(registry.wait());
        assert_eq!(done.load(Ordering::SeqCst), started);
        start(&registry, &done).unwrap();
        block_on(registry.wait());
        assert_eq!(registry.len(), 0);
    });
}

#[test]
fn all_that_are_cancelled_end_and_none_is_left() {
    check(|| {
        let registry = Arc::new(TaskRegistry::new(10));
        let one = start_endless(&registry);
        let is_over = Flag::default();
        let other = thread::spawn({
            let (registry, is_over) = (registry.clone(), is_over.clone());
            move || {
                start_endless(&registry).join().unwrap();
                is_over.store(true, Ordering::SeqCst);
            }
        });
        // Until the other thread is through, nobody knows whether it began before or after.
        while !is_over.load(Ordering::SeqCst) {
            registry.cancel(cancel);
            thread::yield_now();
        }
        other.join().unwrap();
        one.join().unwrap();
        block_on(registry.wait());
        assert_eq!(registry.len(), 0);
    });
}

#[test]
fn one_cancelled_while_it_starts_is_cancelled_all_the_same() {
    check(|| {
        let registry = Arc::new(TaskRegistry::new(10));
        let (flag, is_starting) = (Flag::default(), Flag::default());
        let starter = thread::spawn({
            let (registry, flag, is_starting) =
                (registry.clone(), flag.clone(), is_starting.clone());
            move || {
                let begin = |place: RegistrySlot<Flag>| {
                    is_starting.store(true, Ordering::SeqCst);
                    thread::yield_now();
                    // Never ends by itself.
                    std::mem::forget(place);
                    flag
                };
                registry.start(begin, cancel).unwrap();
            }
        });
        while !is_starting.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        registry.cancel(cancel);
        block_on(registry.wait());
        starter.join().unwrap();
        assert!(flag.load(Ordering::SeqCst));
        assert_eq!(registry.len(), 0);
    });
}

#[test]
fn a_place_given_up_before_the_start_is_through_is_free() {
    check(|| {
        let registry = Arc::new(TaskRegistry::new(2));
        let starters = [(); 2].map(|()| {
            let registry = registry.clone();
            thread::spawn(move || {
                for _ in 0..2 {
                    registry.start(drop, drop).unwrap();
                }
            })
        });
        for starter in starters {
            starter.join().unwrap();
        }
        assert_eq!(registry.len(), 0);
    });
}

#[test]
fn who_waits_is_told_of_a_cancellation() {
    check(|| {
        let registry = Arc::new(TaskRegistry::new(10));
        // It never gives its place up, and so tells nobody.
        let begin = |place: RegistrySlot<Flag>| {
            std::mem::forget(place);
            Flag::default()
        };
        registry.start(begin, cancel).unwrap();
        let waiter = thread::spawn({
            let registry = registry.clone();
            move || block_on(registry.wait())
        });
        registry.cancel(cancel);
        waiter.join().unwrap();
    });
}
