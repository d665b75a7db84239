//! The allocator of the small program, `anyhook-hook`.
//!
//! musl's own allocator asks the system for memory a dozen times where this one asks once. It is
//! locked by a flag instead of a C mutex: a hook process has one thread, so there is never
//! contention, and locking the mutex took a tenth of all instructions of a call.

#![expect(unsafe_code, reason = "an allocator hands out raw memory")]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

use dlmalloc::Dlmalloc;

/// Memory from the system, used by one thread at a time.
pub struct Allocator {
    is_locked: AtomicBool,
    memory: UnsafeCell<Dlmalloc>,
}

// SAFETY: the memory is only accessed through `Allocator::with`, by one thread at a time.
unsafe impl Sync for Allocator {}

impl Allocator {
    /// Creates an allocator that has no memory yet.
    pub const fn new() -> Self {
        Self { is_locked: AtomicBool::new(false), memory: UnsafeCell::new(Dlmalloc::new()) }
    }

    fn with<R>(&self, act: impl FnOnce(&mut Dlmalloc) -> R) -> R {
        while self.is_locked.swap(true, Ordering::Acquire) {
            std::thread::yield_now();
        }
        // SAFETY: the thread that has set the flag has exclusive access until it is cleared. `act`
        // is one call of the allocator, which neither panics nor allocates.
        let result = act(unsafe { &mut *self.memory.get() });
        self.is_locked.store(false, Ordering::Release);
        result
    }
}

// SAFETY: every call is forwarded to an allocator that upholds the contract of the trait, with the
// size and alignment it was given.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract of `GlobalAlloc::alloc`.
        self.with(|memory| unsafe { memory.malloc(layout.size(), layout.align()) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract of `GlobalAlloc::alloc_zeroed`.
        self.with(|memory| unsafe { memory.calloc(layout.size(), layout.align()) })
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of `GlobalAlloc::dealloc`.
        self.with(|memory| unsafe { memory.free(start, layout.size(), layout.align()) });
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let align = layout.align();
        // SAFETY: the caller upholds the contract of `GlobalAlloc::realloc`.
        self.with(|memory| unsafe { memory.realloc(start, layout.size(), align, size) })
    }
}
