//! Sums of files, and the sum that a file contains.

use embedded_safetensors::integrity::{Crc32, KEY, Sha256, Sum, Verifier, ZEROS};
use embedded_safetensors::{Error, ErrorKind, Model, ReadAt, ReadError, asynch, io::FileLen};
use sha2::Digest;
use support::executor::finish;
use support::file::{Stored, of_file, with_header};
use support::mock::{Failure, Fault, Plan, Reads, Replacement, Since, Storage};
use support::waiting::{Waiting, Waits};

const WINDOWS: [usize; 6] = [1, 2, 3, 7, 64, 4096];
const DATA: &[u8] = b"abcde";

fn sum<S: Sum>(mut sum: S, pieces: &[&[u8]]) -> S::Value {
    pieces.iter().for_each(|piece| sum.update(piece));
    sum.finish()
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    sha2::Sha256::digest(bytes).into()
}

fn hex(sum: &[u8]) -> String {
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A file with this text as its `__metadata__`, and two tensors.
fn with_metadata(metadata: &str, data: &[u8]) -> Vec<u8> {
    let tensors = concat!(
        r#""a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"#,
        r#""b":{"dtype":"U8","shape":[3],"data_offsets":[2,5]}"#,
    );
    let mut file = with_header(&format!(r#"{{"__metadata__":{metadata},{tensors}}}  "#), 0);
    file.extend(data);
    file
}

/// Replaces the digits by the sum, without the code under test.
fn seal(mut file: Vec<u8>) -> Vec<u8> {
    let digits = hex(&sha256(&file));
    let at = file.windows(ZEROS.len()).position(|bytes| bytes == ZEROS.as_bytes()).expect("zeros");
    file[at..at + ZEROS.len()].copy_from_slice(digits.as_bytes());
    file
}

fn sealed(data: &[u8]) -> Vec<u8> {
    seal(with_metadata(&format!(r#"{{"k":"v","{KEY}":"{ZEROS}","z":"\u0041"}}"#), data))
}

/// The outcome of opening and verifying, through a window.
fn verify<S: ReadAt>(storage: S, window: usize) -> Result<(), ReadError<S::Error>> {
    let mut window = vec![0; window];
    Model::open(storage, &mut window)?.verify_embedded(Sha256::new(), &mut window)
}

fn push(file: &[u8], piece: usize) -> Result<(), Error> {
    let mut verifier = Verifier::new(Sha256::new());
    file.chunks(piece).for_each(|piece| verifier.update(piece));
    verifier.verify()
}

/// Checks that every way to verify a file has the same outcome.
fn outcome(file: &[u8]) -> Result<(), Error> {
    let pushed = push(file, file.len());
    for window in WINDOWS.into_iter().chain(60..140) {
        assert_eq!(push(file, window), pushed, "pieces of {window}");
        assert_eq!(of_file(verify(Stored(file), window)), pushed, "window of {window}");
        assert_eq!(of_file(verify(file, window)), pushed, "in memory, window of {window}");
        let awaited = finish(async {
            let mut window = vec![0; window];
            let source = Waiting::new(Stored(file), Waits { before: 1, after: 1 });
            let mut model = asynch::Model::open(source, &mut window).await?;
            model.verify_embedded(Sha256::new(), &mut window).await
        });
        assert_eq!(of_file(awaited), pushed, "awaited, window of {window}");
    }
    pushed
}

#[test]
fn sums_are_those_of_the_standards() {
    assert_eq!(sum(Crc32::new(), &[b"123456789"]), 0xCBF4_3926);
    assert_eq!(sum(Crc32::default(), &[]), 0);
    for (text, expected) in [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        ),
    ] {
        assert_eq!(hex(&sum(Sha256::default(), &[text.as_bytes()])), expected);
    }
    let million = vec![b'a'; 1_000_000];
    let pieces: Vec<&[u8]> = million.chunks(977).collect();
    let expected = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
    assert_eq!(hex(&sum(Sha256::new(), &pieces)), expected);
}

#[test]
fn sums_do_not_depend_on_pieces() {
    let bytes: Vec<u8> = (0..=200).collect();
    for len in 0..=bytes.len() {
        let bytes = &bytes[..len];
        let (sha, crc) = (sha256(bytes), sum(Crc32::new(), &[bytes]));
        for cut in 0..=len {
            let (one, other) = bytes.split_at(cut);
            assert_eq!(sum(Sha256::new(), &[one, other]), sha, "{cut} of {len}");
            assert_eq!(sum(Crc32::new(), &[one, b"", other]), crc, "{cut} of {len}");
        }
    }
}

#[test]
fn file_data_and_tensors_have_sums() {
    let file = sealed(DATA);
    let mut partition = file.clone();
    partition.extend([0xFF; 300]);
    let end = FileLen::AtMost(partition.len() as u64);
    let storage = Storage::new(&partition, Plan { reported_len: Some(end), ..Plan::default() });
    for window in WINDOWS {
        let mut window = vec![0; window];
        let mut model = Model::open(&storage, &mut window).expect("valid");
        assert_eq!(model.sum(Sha256::new(), &mut window), Ok(sha256(&file)));
        assert_eq!(model.data_sum(Sha256::new(), &mut window), Ok(sha256(DATA)));
        assert_eq!(model.sum(Crc32::new(), &mut window), Ok(sum(Crc32::new(), &[&file])));
        let b = model.find("b", &mut window).expect("read").expect("found");
        let mut reader = model.reader(&b).expect("of this file");
        reader.seek(1).expect("inside");
        assert_eq!(reader.sum(Sha256::new(), &mut window), Ok(sha256(b"cde")));
        assert_eq!(reader.position(), 1);
        let mut memory = Model::open(&file[..], &mut window).expect("valid");
        assert_eq!(memory.sum(Sha256::new(), &mut []), Ok(sha256(&file)), "needs no window");
        assert_eq!(memory.reader(&b).expect("here").sum(Sha256::new(), &mut []), Ok(sha256(b"cde")));
    }
}

#[test]
fn verify_compares_with_the_expected_sum() {
    let file = sealed(DATA);
    let (sha, crc) = (sha256(&file), sum(Crc32::new(), &[&file]));
    for byte in 0..file.len() {
        let mut other = file.clone();
        other[byte] ^= 1;
        let Ok(mut model) = Model::open(Stored(&other), &mut [0; 64]) else { continue };
        let error = model.verify(Sha256::new(), &sha, &mut [0; 64]).unwrap_err();
        let word = |sum: &[u8]| u32::from_be_bytes(sum[..4].try_into().expect("four"));
        let kind = ErrorKind::SumMismatch { expected: word(&sha), found: word(&sha256(&other)) };
        assert_eq!(error, ReadError::Format(kind.at(file.len() as u64)), "byte {byte}");
        assert!(model.verify(Crc32::new(), &crc, &mut [0; 64]).is_err(), "byte {byte}");
    }
    let mut model = Model::open(Stored(&file), &mut [0; 64]).expect("valid");
    assert_eq!(model.verify(Sha256::new(), &sha, &mut [0; 64]), Ok(()));
    assert_eq!(model.verify(Crc32::new(), &crc, &mut [0; 64]), Ok(()));
    let error = model.verify(Crc32::new(), &0, &mut [0; 64]).unwrap_err();
    let text = format!("the sum begins with {crc:08x}, but 00000000 is expected");
    assert_eq!(error.to_string(), format!("error[integrity.sum] at byte {}: {text}", file.len()));
}

#[test]
fn embedded_sum_is_verified() {
    assert_eq!(outcome(&sealed(DATA)), Ok(()));
    // Spaces and line breaks are part of the file; the key may be the last one.
    let spaced = format!("{{ \"k\" : \"{{\", \"{KEY}\" :\n \"{ZEROS}\" }}");
    assert_eq!(outcome(&seal(with_metadata(&spaced, DATA))), Ok(()));
}

#[test]
fn every_flipped_bit_is_detected() {
    let file = sealed(DATA);
    for (byte, bit) in (0..file.len()).flat_map(|byte| (0..8).map(move |bit| (byte, bit))) {
        let mut other = file.clone();
        other[byte] ^= 1 << bit;
        assert!(verify(Stored(&other), 64).is_err(), "bit {bit} of byte {byte}");
        assert!(push(&other, 64).is_err(), "bit {bit} of byte {byte}");
    }
}

#[test]
fn partial_writes_are_detected() {
    let (file, older) = (sealed(DATA), sealed(b"ABCDE"));
    let end = FileLen::AtMost(1000);
    for cut in 0..file.len() {
        assert!(verify(Stored(&file[..cut]), 64).is_err(), "the first {cut} bytes");
        assert!(push(&file[..cut], 64).is_err(), "the first {cut} bytes");
        // The rest of a partition is erased, or has an older file of the same length.
        let erased = [&file[..cut], &vec![0xFF; 1000 - cut][..]].concat();
        let storage = Storage::new(&erased, Plan { reported_len: Some(end), ..Plan::default() });
        assert!(verify(&storage, 64).is_err(), "{cut} bytes, then 0xFF");
        let mixed = [&file[..cut], &older[cut..]].concat();
        assert_eq!(verify(Stored(&mixed), 64).is_ok(), mixed == older || mixed == file, "mixed at {cut}");
    }
    let whole = [&file[..], &vec![0xFF; 1000 - file.len()][..]].concat();
    let storage = Storage::new(&whole, Plan { reported_len: Some(end), ..Plan::default() });
    assert_eq!(verify(&storage, 64), Ok(()));
}

#[test]
fn sum_must_be_there_once_and_spelled_as_defined() {
    let value = |text: &str| with_metadata(&format!(r#"{{"{KEY}":"{text}"}}"#), DATA);
    let at = (8 + r#"{"__metadata__":{"safetensors.sha256":"#.len()) as u64;
    for text in [
        String::new(),
        "0".repeat(63),
        "0".repeat(65),
        "0".repeat(64 + 256),
        "A".repeat(64),
        format!("{}g", "0".repeat(63)),
        format!("{}é", "0".repeat(62)),
        format!(r"\u0030{}", "0".repeat(63)),
        format!(r"{}\u0030", "0".repeat(63)),
        format!(r"{}\u0030", "0".repeat(64)),
        r"\u0030".repeat(64),
    ] {
        assert_eq!(outcome(&value(&text)), Err(ErrorKind::SumSpelling.at(at)), "{text}");
    }
    // In uppercase, a sum with letters would be right but for their case.
    let sum = sealed(DATA);
    let upper: Vec<u8> = sum.iter().map(u8::to_ascii_uppercase).collect();
    let digits = sum.windows(64).position(|bytes| bytes.iter().all(u8::is_ascii_hexdigit)).expect("digits");
    let mut shouted = sum.clone();
    shouted[digits..digits + 64].copy_from_slice(&upper[digits..digits + 64]);
    assert!(outcome(&shouted).is_err_and(|error| error.kind == ErrorKind::SumSpelling));
    // The key is spelled plainly, too.
    let escaped = seal(with_metadata(&format!(r#"{{"safetensors\u002esha256":"{ZEROS}"}}"#), DATA));
    assert!(outcome(&escaped).is_err_and(|error| error.kind == ErrorKind::SumSpelling));

    for missing in ["null", "{}", r#"{"safetensors.sha25":"","safetensors.sha2567":""}"#] {
        let file = with_metadata(missing, DATA);
        let end = (file.len() - DATA.len()) as u64;
        assert_eq!(outcome(&file), Err(ErrorKind::SumMissing.at(end)), "{missing}");
    }
    let twice = with_metadata(&format!(r#"{{"{KEY}":"{ZEROS}","{KEY}":"{ZEROS}"}}"#), DATA);
    let at = at + 64 + 3;
    assert_eq!(outcome(&twice), Err(ErrorKind::DuplicateKey.at(at)));
}

#[test]
fn verifier_returns_what_a_writer_needs() {
    let file = with_metadata(&format!(r#"{{"{KEY}":"{ZEROS}"}}"#), DATA);
    let mut verifier = Verifier::new(Sha256::new());
    verifier.update(&file);
    let found = verifier.finish().expect("zeros are digits");
    assert_eq!((found.stored, found.computed), ([0; 32], sha256(&file)));
    let mut new = file.clone();
    let at = usize::try_from(found.at).expect("in the header");
    new[at..at + 64].copy_from_slice(&found.digits());
    assert_eq!(new, seal(file));
}

#[test]
fn headers_of_other_errors_are_reported() {
    assert_eq!(push(&[], 1), Err(ErrorKind::FileTooShort.at(0)));
    let cut = &sealed(DATA)[..40];
    assert_eq!(push(cut, 7).map_err(|error| error.at), Err(40));
    assert!(push(&with_header("[]", 0), 7).is_err_and(|error| error.kind == ErrorKind::HeaderType));
}

#[test]
fn header_that_changes_after_it_was_opened_is_detected() {
    let (file, other) = (sealed(DATA), sealed(b"ABCDE"));
    let since = Since::Pass(1);
    let replacement = Some(Replacement { since, file: other });
    let storage = Storage::new(&file, Plan { replacement, ..Plan::default() });
    let outcome = verify(&storage, 4096);
    assert!(
        matches!(outcome, Err(ReadError::Format(error)) if error.kind == ErrorKind::Changed),
        "{outcome:?}"
    );
}

#[test]
fn errors_of_storage_and_of_the_caller_are_reported() {
    let file = sealed(DATA);
    let storage = Storage::new(&file, Plan::default());
    let mut model = Model::open(&storage, &mut [0; 64]).expect("valid");
    let no_window = |at| Err(ReadError::Format(ErrorKind::NoWindow.at(at)));
    assert_eq!(model.sum(Crc32::new(), &mut []), no_window(0));
    let start = model.summary().data_start;
    assert_eq!(model.data_sum(Crc32::new(), &mut []), no_window(start));
    assert_eq!(model.verify_embedded(Sha256::new(), &mut []), no_window(0).map(|_: u32| ()));
    storage.set_plan(Plan { reads: Reads::Random(1), ..Plan::default() });
    assert_eq!(model.verify_embedded(Sha256::new(), &mut [0; 64]), Ok(()));
    let calls = storage.counts().calls;
    for call in 0..calls {
        let failure = Some(Failure::Once(call));
        storage.set_plan(Plan { reads: Reads::Random(1), failure, ..Plan::default() });
        let outcome = model.verify_embedded(Sha256::new(), &mut [0; 64]);
        assert_eq!(outcome, Err(ReadError::Source(Fault::Broken)), "call {call}");
        assert_eq!(model.verify_embedded(Sha256::new(), &mut [0; 64]), Ok(()), "the call can be repeated");
    }
}

#[test]
fn header_is_read_once_and_data_once() {
    let file = sealed(DATA);
    let storage = Storage::new(&file, Plan::default());
    let mut model = Model::open(&storage, &mut [0; 64]).expect("valid");
    storage.set_plan(Plan::default());
    assert_eq!(model.verify_embedded(Sha256::new(), &mut [0; 64]), Ok(()));
    assert_eq!((storage.counts().bytes, storage.counts().passes), (file.len() as u64, 1));
}
