//! All of the core that firmware can call, to prove that none of it can panic.
#![no_std]
#![no_main]

#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    let (job, file) = linkcheck::request();
    let (slots, text) = (linkcheck::slots(job.slots), linkcheck::text());
    let verdicts = [
        linkcheck::validate(file, job.file_len, slots).is_ok(),
        linkcheck::find_duplicates(file, slots, text).is_ok(),
        linkcheck::parse(file).is_ok(),
        linkcheck::read_entries(file, text).is_ok(),
    ];
    linkcheck::exit(verdicts.into_iter().filter(|sound| !sound).count() as u32 + trap(file, job.slots))
}

#[cfg(not(feature = "with-panic"))]
fn trap(_: &[u8], _: usize) -> u32 {
    0
}

/// An index that nobody checked: this program must not link.
#[cfg(feature = "with-panic")]
fn trap(file: &[u8], index: usize) -> u32 {
    file[index].into()
}
