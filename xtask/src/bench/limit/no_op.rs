//! The smallest possible process: it starts and exits. No runtime, no libc, one page.
//!
//! `bench/limit.rs` compiles it on its own. It is not part of the workspace, whose rules forbid
//! what the first instruction of a program must be.

#![no_std]
#![no_main]

use core::arch::naked_asm;

#[unsafe(naked)]
#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    // exit_group(0)
    #[cfg(target_arch = "x86_64")]
    naked_asm!("mov eax, 231", "xor edi, edi", "syscall");
    #[cfg(target_arch = "aarch64")]
    naked_asm!("mov x8, #94", "mov x0, #0", "svc #0");
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
