//! Firmware that does nothing but judge a file.
#![no_std]
#![no_main]

#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    let (job, file) = linkcheck::request();
    let verdict = linkcheck::validate(file, job.file_len, linkcheck::slots(job.slots));
    linkcheck::exit(verdict.is_err().into())
}
