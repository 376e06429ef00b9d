//! Large pages of memory. They are faster to get than small ones, unless the computer is a virtual one whose
//! host has to provide them first: then one can take 50 times as long.

use std::mem::MaybeUninit;

/// Requests the large pages that begin in these bytes and end in the same block, whose end is an address. A
/// byte of each is written at once. After one that took long, small pages are used for a while.
#[cfg(target_os = "linux")]
pub fn request(bytes: &mut [MaybeUninit<u8>], end: usize) {
    use rustix::mm::{Advice, madvise};
    use rustix::time::{ClockId, clock_gettime};
    use std::hint::black_box;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::time::Duration;

    /// The length of a large page of most processors.
    const LARGE: usize = 1 << 21;
    /// Small pages of the same length take 0.7 ms. A large page takes 0.09 ms, or 4.7 ms if the host of a
    /// virtual computer provides it.
    const SLOW: Duration = Duration::from_millis(1);
    /// For so many large pages small ones are used after a slow one: a gigabyte.
    const PAUSE: usize = 512;
    static PAUSED: AtomicUsize = AtomicUsize::new(0);

    // The time of the thread, which stands still while the processor has other work.
    let now = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default();
    let address = bytes.as_ptr().addr();
    let begin = address.next_multiple_of(LARGE) - address;
    let pages = bytes.get_mut(begin..).unwrap_or_default().chunks_mut(LARGE);
    for page in pages.take(end.saturating_sub(address + begin) / LARGE) {
        if PAUSED.fetch_update(Relaxed, Relaxed, |pages| pages.checked_sub(1)).is_ok() {
            continue;
        }
        // SAFETY: the page is a part of the block, and the advice does not change its bytes.
        let _ = unsafe { madvise(page.as_mut_ptr().cast(), LARGE, Advice::LinuxHugepage) };
        let before = now();
        black_box(page[0].write(0));
        if now().saturating_sub(before) > SLOW {
            PAUSED.store(PAUSE, Relaxed);
        }
    }
}

/// Does nothing: the system decides.
#[cfg(not(target_os = "linux"))]
pub fn request(_: &mut [MaybeUninit<u8>], _: usize) {}
