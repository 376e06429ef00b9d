//! Added to the copy of the core that has all changes: a process makes one of them, which `MUTANT` numbers.

extern crate std;

use core::intrinsics::const_eval_select;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::io::Write;
use std::sync::OnceLock;

/// Whether this change is made. Const evaluation is never changed, so every build is that of the library.
#[inline(always)]
pub(crate) const fn on(number: u32) -> bool {
    const_eval_select((number,), in_consts, in_programs)
}

const fn in_consts(_: u32) -> bool {
    false
}

static CHANGE: AtomicU32 = AtomicU32::new(u32::MAX);

#[inline]
fn in_programs(number: u32) -> bool {
    let change = CHANGE.load(Relaxed);
    change == number || (change == u32::MAX && is_first(number))
}

/// Reads the number of the change. Without one, writes the numbers that are asked for to the file `REACHED`.
#[cold]
fn is_first(number: u32) -> bool {
    static NUMBER: OnceLock<u32> = OnceLock::new();
    static REACHED: [AtomicBool; 1 << 16] = [const { AtomicBool::new(false) }; 1 << 16];
    let change = *NUMBER
        .get_or_init(|| std::env::var("MUTANT").map_or(u32::MAX, |text| text.parse().expect("a number")));
    CHANGE.store(change, Relaxed);
    let is_reached = &REACHED[number as usize];
    if change == u32::MAX && !is_reached.load(Relaxed) && !is_reached.swap(true, Relaxed) {
        let path = std::env::var_os("REACHED").expect("REACHED or MUTANT is set");
        let mut file = std::fs::File::options().append(true).create(true).open(path).expect("a file");
        file.write_all(std::format!("{number}\n").as_bytes()).expect("written");
    }
    change == number
}
