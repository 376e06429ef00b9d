//! Any bytes as a file of PyTorch: no panic, no unbounded memory, and what is accepted calls nothing that the
//! scan finds fault with, but classes whose objects are left out.
//!
//! The first byte says what follows: a whole file, the pickle of an archive, or the pickle of the format
//! before 1.6.
#![no_main]

mod common;

use common::{check, file_of, read_first};
use libfuzzer_sys::fuzz_target;
use safetensors_convert::pickle::{Finding, Use, scan};
use safetensors_convert::torch::Checkpoint;
use safetensors_convert::zip::Archive;
use std::io;

/// The number of tensors that are read, and the number of bytes of each: views can be far larger than the
/// file.
const TENSORS: usize = 50;
const BYTES: u64 = 1 << 16;
/// The lengths of the storages beside a pickle, in bytes.
const STORAGES: [usize; 4] = [0, 4, 24, 96];
/// The pickles before the object in the format before 1.6.
const BEFORE: &[u8] = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}.";

fuzz_target!(|input: &[u8]| {
    let Some((kind, rest)) = input.split_first() else { return };
    let file = match kind % 4 {
        0 => rest.to_vec(),
        1 => archive(rest, false),
        2 => archive(rest, true),
        _ => [BEFORE, rest].concat(),
    };
    let found = scan(rest).expect("memory can be read");
    if let Some(accepted) = convert(&file) {
        let is_pickle = kind % 4 == 1 || kind % 4 == 2;
        let is_sound = found.problem.is_none() && found.findings.iter().all(may_be_accepted);
        assert!(!is_pickle || is_sound, "accepted, but {found:?}");
        assert!(accepted <= TENSORS as u64 * BYTES);
    }
});

fn may_be_accepted(finding: &Finding) -> bool {
    const LEFT_OUT: [&str; 6] =
        ["argparse", "types", "pathlib", "pathlib._local", "datetime", "torch.serialization"];
    let is_left_out = finding.name.as_ref().is_some_and(|name| LEFT_OUT.contains(&&*name.module));
    finding.is_listed || finding.used == Use::Import || is_left_out
}

fn archive(pickle: &[u8], is_deflated: bool) -> Vec<u8> {
    let mut archive = Archive::new(Vec::new(), is_deflated);
    let mut add = |name: &str, bytes: &[u8]| {
        archive.add::<io::Error>(name, |out| out.write_all(bytes)).expect("memory can be written");
    };
    add("a/data.pkl", pickle);
    for (key, len) in STORAGES.iter().enumerate() {
        add(&format!("a/data/{key}"), &vec![1; *len]);
    }
    archive.finish().expect("memory can be written")
}

/// Returns the number of bytes of the tensors, or `None` if the file is rejected.
fn convert(bytes: &[u8]) -> Option<u64> {
    let checkpoint = Checkpoint::open(file_of(bytes)).inspect_err(check).ok()?;
    read_first(&checkpoint, TENSORS, BYTES).map(|read| Some(read?.len() as u64)).sum()
}
