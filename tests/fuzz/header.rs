//! Any bytes as the header of a file: all APIs give the same verdict, tensors and bytes, and the reference
//! agrees.
#![no_main]

use embedded_safetensors::header::{Event, HeaderParser};
use libfuzzer_sys::fuzz_target;
use support::agreement::verdicts;
use support::apis::compare_quickly;
use support::headers::file_of;
use support::random::Random;
use support::verdict::Reader;

/// Files whose tensors have more bytes than this are tested without data.
const MOST_DATA: u64 = 4096;

fuzz_target!(|header: &[u8]| {
    let file = with_data(header);
    let agreement = verdicts(&file, &Reader::default()).agreement(&file);
    let all = agreement.and_then(|_| compare_quickly(&file, &mut Random::new(seed(header))));
    if let Err(problem) = all {
        panic!("{problem}");
    }
});

/// Returns the file with this header, and with as many bytes after it as its tensors have.
fn with_data(header: &[u8]) -> Vec<u8> {
    let len = data_len(&file_of(header, 0));
    file_of(header, if len <= MOST_DATA { len } else { 0 })
}

/// Returns the largest offset up to the first error of the header.
fn data_len(mut file: &[u8]) -> u64 {
    let mut parser = HeaderParser::new();
    let mut len = 0;
    loop {
        match parser.next(&mut file) {
            Ok(Event::End(end)) => len = len.max(end),
            Ok(Event::HeaderEnd | Event::NeedInput) | Err(_) => return len,
            Ok(_) => {}
        }
    }
}

/// The same header is always read in the same pieces.
fn seed(header: &[u8]) -> u64 {
    header.iter().fold(0, |seed, &byte| Random::new(seed ^ u64::from(byte)).number())
}
