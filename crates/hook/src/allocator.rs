//! The allocator of the small program.
//!
//! musl's own asks the system for memory a dozen times where this one asks once. It is locked by a
//! flag instead of a mutex of C's: a hook process has one thread, so that nobody ever waits for it,
//! and locking the mutex took a tenth of all instructions of a call.

#![expect(unsafe_code, reason = "an allocator hands out raw memory")]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

use dlmalloc::Dlmalloc;

/// Memory of the system, handed out to one thread at a time.
pub struct Allocator {
    is_locked: AtomicBool,
    memory: UnsafeCell<Dlmalloc>,
}

// SAFETY: the memory is reached through `Allocator::with` alone, by one thread at a time.
unsafe impl Sync for Allocator {}

impl Allocator {
    /// Makes one that has no memory yet.
    pub const fn new() -> Self {
        Self { is_locked: AtomicBool::new(false), memory: UnsafeCell::new(Dlmalloc::new()) }
    }

    fn with<R>(&self, act: impl FnOnce(&mut Dlmalloc) -> R) -> R {
        while self.is_locked.swap(true, Ordering::Acquire) {
            std::thread::yield_now();
        }
        // SAFETY: whoever has set the flag is alone here until it is cleared. `act` is one call of the
        // allocator, which neither panics nor allocates.
        let result = act(unsafe { &mut *self.memory.get() });
        self.is_locked.store(false, Ordering::Release);
        result
    }
}

// SAFETY: every call is handed on to an allocator that keeps the rules of the trait, with the size
// and alignment it was given.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the rules of `GlobalAlloc::alloc`.
        self.with(|memory| unsafe { memory.malloc(layout.size(), layout.align()) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the rules of `GlobalAlloc::alloc_zeroed`.
        self.with(|memory| unsafe { memory.calloc(layout.size(), layout.align()) })
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the rules of `GlobalAlloc::dealloc`.
        self.with(|memory| unsafe { memory.free(start, layout.size(), layout.align()) });
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let align = layout.align();
        // SAFETY: the caller keeps the rules of `GlobalAlloc::realloc`.
        self.with(|memory| unsafe { memory.realloc(start, layout.size(), align, size) })
    }
}
