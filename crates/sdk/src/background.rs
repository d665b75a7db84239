//! Background tasks: counted, bounded, awaited at shutdown, cancelled, never leaked.

use std::future::Future;
use std::sync::Arc;

use tokio::task::AbortHandle;

pub(crate) use crate::registry::RegistryFull;
use crate::registry::TaskRegistry;

/// The default limit of concurrent background tasks.
pub(crate) const MOST: usize = 1024;

/// Tasks that run in the background.
///
/// Dropping it cancels them: nothing outlives its owner.
#[derive(Debug)]
pub struct Background {
    registry: Arc<TaskRegistry<AbortHandle>>,
}

impl Background {
    pub(crate) fn new(most: usize) -> Self {
        Self { registry: Arc::new(TaskRegistry::new(most)) }
    }

    /// Starts a task in the background.
    pub(crate) fn spawn(
        &self,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), RegistryFull> {
        self.registry.start(
            |place| {
                let task = tokio::spawn(async move {
                    let _place = place;
                    task.await;
                });
                task.abort_handle()
            },
            |handle| handle.abort(),
        )
    }

    /// Returns how many run.
    pub fn len(&self) -> usize {
        self.registry.len()
    }

    /// Returns whether none runs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until none runs any more.
    pub async fn wait(&self) {
        self.registry.wait().await;
    }

    /// Cancels all that run.
    pub fn cancel(&self) {
        self.registry.cancel(|handle| handle.abort());
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.cancel();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn tasks_are_counted_waited_for_and_bounded() {
        let background = Background::new(2);
        let gate = Arc::new(tokio::sync::Semaphore::new(0));
        let done = Arc::new(AtomicUsize::new(0));
        let task = || {
            let (gate, done) = (gate.clone(), done.clone());
            async move {
                gate.acquire().await.unwrap().forget();
                done.fetch_add(1, Ordering::SeqCst);
            }
        };
        background.spawn(task()).unwrap();
        background.spawn(task()).unwrap();
        assert_eq!(background.spawn(task()), Err(RegistryFull(2)));
        assert_eq!(background.len(), 2);
        gate.add_permits(2);
        background.wait().await;
        assert_eq!((background.len(), done.load(Ordering::SeqCst)), (0, 2));
    }

    #[tokio::test]
    async fn a_task_that_panics_is_off_the_list() {
        let background = Background::new(2);
        background.spawn(async { panic!("on purpose") }).unwrap();
        background.wait().await;
        assert!(background.is_empty());
    }

    #[test]
    fn a_runtime_that_shuts_down_starts_nothing_and_locks_nothing() {
        struct SpawnsWhenDropped(Arc<Background>);
        impl Drop for SpawnsWhenDropped {
            fn drop(&mut self) {
                self.0.spawn(async {}).unwrap();
            }
        }
        let background = Arc::new(Background::new(2));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let last = SpawnsWhenDropped(background.clone());
        runtime.block_on(async {
            tokio::spawn(async move {
                let _last = last;
                std::future::pending::<()>().await;
            });
            tokio::task::yield_now().await;
        });
        drop(runtime);
        assert!(background.is_empty());
    }

    struct Count(Arc<AtomicUsize>);

    impl Drop for Count {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[tokio::test]
    async fn cancelled_or_dropped_tasks_end() {
        let ended = Arc::new(AtomicUsize::new(0));
        let background = Background::new(10);
        let endless = |count: Count| async move {
            let _count = count;
            std::future::pending::<()>().await;
        };
        background.spawn(endless(Count(ended.clone()))).unwrap();
        tokio::task::yield_now().await;
        background.cancel();
        background.wait().await;
        background.spawn(endless(Count(ended.clone()))).unwrap();
        tokio::task::yield_now().await;
        drop(background);
        while ended.load(Ordering::SeqCst) < 2 {
            tokio::task::yield_now().await;
        }
    }
}
