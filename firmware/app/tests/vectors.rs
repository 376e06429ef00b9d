//! Manifests that agree with their packs, that differ, and that are invalid.

use app::Text;
use app::vectors::{Failure, File, Memory, Totals, run};
use embedded_safetensors::{ReadAt, io::FileLen};
use std::convert::Infallible;
use std::fmt::{self, Display};

const VALID: &str = concat!(
    r#"{"b\u0000":{"dtype":"U8","shape":[2],"data_offsets":[1,3]},"#,
    r#""a":{"dtype":"I8","shape":[],"data_offsets":[0,1]},"__metadata__":{"k":"v"}}"#
);

const LISTED: &str = concat!(
    r#""ours":"accept","tensors":[{"data_offsets":[0,1],"dtype":"I8","name":"a","sha256":"0","shape":[]},"#,
    r#"{"data_offsets":[1,3],"dtype":"U8","name":"b\u0000","sha256":"0","shape":[2]}],"metadata":{"k":"v"}"#
);

const ONE: Totals = Totals { agreeing: 1, differing: 0, left_out: 0 };

/// Returns a file with this header and three bytes of data.
fn file(header: &str) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &[1, 2, 3]].concat()
}

/// Returns a manifest with these lines.
fn manifest(vectors: &[String]) -> String {
    format!("{{\"version\":1,\n\"codes\":{{\n\"x\":0}},\n\"vectors\":[\n{}\n]}}\n", vectors.join(",\n"))
}

/// Returns the line of a vector of this length.
fn line(id: &str, length: usize, members: &str) -> String {
    format!(r#"{{"id":"{id}","length":{length},{members}}}"#)
}

/// Returns the output and the outcome.
fn judged<M: ReadAt<Error: Display>>(
    manifest: M,
    pack: impl ReadAt<Error = M::Error>,
) -> (String, Result<Totals, Failure<M::Error>>) {
    let mut sink = Text(String::new());
    let outcome = run(manifest, pack, &mut Memory::new(), &mut sink);
    (sink.0, outcome)
}

fn judged_one(header: &str, members: &str) -> (String, u8) {
    let pack = file(header);
    let manifest = manifest(&[line("it", pack.len(), members)]);
    let (text, outcome) = judged(manifest.as_bytes(), &pack[..]);
    let code = outcome.map_or_else(|failure| failure.exit_code(), |_| 0);
    (text.lines().next().expect("a verdict").to_string(), code)
}

#[track_caller]
fn agrees(header: &str, members: &str, verdict: &str) {
    assert_eq!(judged_one(header, members), (format!("vector it: {verdict}"), 0));
}

#[track_caller]
fn differs(header: &str, members: &str, sentence: &str) {
    assert_eq!(judged_one(header, members), (format!("vector it: {sentence}"), 1));
}

#[test]
fn valid_file_is_compared_in_every_detail() {
    agrees(VALID, LISTED, "ok, 2 tensors");
    let other = "ok, 2 tensors, but the tensor at byte 9 is not the manifest's";
    for (text, by) in [
        ("\"U8\"", "\"I8\""),
        ("[2]", "[2,1]"),
        ("[1,3]", "[1,2]"),
        ("b\\u0000", "b"),
        ("b\\u0000", "c"),
        ("b\\u0000", "b\\u0000 "),
    ] {
        differs(VALID, &LISTED.replace(text, by), other);
    }
    for (text, by) in [
        ("\"v\"", "\"w\""),
        ("\"k\"", "\"l\""),
        ("{\"k\":\"v\"}", "null"),
        ("\"k\":\"v\"", ""),
        ("\"k\":\"v\"", "\"k\":\"v\",\"l\":\"v\""),
    ] {
        let other = "ok, 2 tensors, but the metadata is not the manifest's";
        differs(VALID, &LISTED.replace(text, by), other);
    }
}

#[test]
fn only_the_number_of_many_tensors_is_compared() {
    agrees(VALID, r#""ours":"accept","tensor_count":2"#, "ok, 2 tensors");
    let other = "ok, 2 tensors, but the manifest says ok, 1 tensor";
    differs(VALID, r#""ours":"accept","tensor_count":1"#, other);
}

/// Returns the byte of the file where this part of its header begins.
fn offset_of(header: &str, part: &str) -> usize {
    8 + header.rfind(part).expect("found")
}

#[test]
fn error_is_compared_with_its_code_and_byte() {
    let hole = VALID.replace("[2],\"data_offsets\":[1,3]", "[1],\"data_offsets\":[2,3]");
    let at = offset_of(&hole, "2,3]");
    let expected = |code: &str, at| format!(r#""ours":"reject","code":"{code}","at":{at}"#);
    let verdict = format!("error[layout.hole] at byte {at}");
    agrees(&hole, &expected("layout.hole", at), &verdict);
    for (code, at) in [("layout.hole", at - 1), ("layout.overlap", at)] {
        let other = format!("{verdict}, but the manifest says error[{code}] at byte {at}");
        differs(&hole, &expected(code, at), &other);
    }
    differs(&hole, LISTED, &format!("{verdict}, but the manifest says ok, 2 tensors"));
    let other = format!("ok, 2 tensors, but the manifest says {verdict}");
    differs(VALID, &expected("layout.hole", at), &other);
}

#[test]
fn duplicate_names_and_keys_are_found() {
    let names = VALID.replace("\"b\\u0000\"", "\"\\u0061\"");
    let keys = VALID.replace("\"k\":\"v\"", "\"k\":\"v\",\"\\u006b\":\"\"");
    for (code, header, second) in
        [("name.duplicate", names, "\"a\""), ("metadata.duplicate", keys, "\"\\u006b\"")]
    {
        let at = offset_of(&header, second);
        let expected = format!(r#""ours":"reject","code":"{code}","at":{at}"#);
        agrees(&header, &expected, &format!("error[{code}] at byte {at}"));
    }
}

#[test]
fn shape_with_too_many_dimensions_is_valid() {
    let shape = |rank: usize| format!("[{}]", vec!["1"; rank].join(","));
    let header = |rank| {
        format!(r#"{{"a":{{"dtype":"U8","shape":[3,{}],"data_offsets":[0,3]}}}}"#, "1,".repeat(rank) + "1")
    };
    let listed = |shape: &str| {
        let tensor =
            format!(r#"{{"data_offsets":[0,3],"dtype":"U8","name":"a","sha256":"","shape":{shape}}}"#);
        format!(r#""ours":"accept","tensors":[{tensor}],"metadata":null"#)
    };
    agrees(&header(7), &listed(&shape(9)), "ok, 1 tensor");
    let other = "ok, 1 tensor, but what it holds cannot be listed: error[limit.rank]";
    differs(&header(7), &listed(&shape(8)), other);
}

#[test]
fn long_files_are_not_in_the_pack() {
    let error = r#""ours":"reject","code":"json.end","at":8"#;
    let (valid, empty) = (file(VALID), [0; 8]);
    let lines = [
        line("a", 8, error),
        line("b", 65_537, error),
        line("c", valid.len(), LISTED),
        line("d", 0, r#""ours":"reject","code":"container.short","at":1"#),
        line("e", 8, error),
    ];
    let (text, outcome) = judged(manifest(&lines).as_bytes(), &[&empty[..], &valid, &empty].concat()[..]);
    let expected = "vector a: error[json.end] at byte 8\n\
        vector b: left out, 65537 bytes\n\
        vector c: ok, 2 tensors\n\
        vector d: error[container.short] at byte 0, but the manifest says error[container.short] at byte 1\n\
        vector e: error[json.end] at byte 8\n\
        vectors: 3 of 4 as the manifest says, 1 left out\n";
    assert_eq!(text, expected);
    let failure = outcome.expect_err("one differs");
    assert_eq!(failure, Failure::Differs(Totals { agreeing: 3, differing: 1, left_out: 1 }));
    assert_eq!(failure.to_string(), "error: 1 of 4 verdicts are not the manifest's");
}

/// A truncated manifest is never taken for one with fewer vectors.
#[test]
fn truncated_manifest_fails() {
    let pack = file(VALID);
    let text = manifest(&[line("a", pack.len(), LISTED)]);
    for len in 1..text.len() {
        let cut = text.get(..len).expect("ASCII");
        let (_, outcome) = judged(cut.as_bytes(), &pack[..]);
        assert_eq!(outcome, Err(Failure::Ends { file: File::Manifest, at: len as u64 }));
    }
}

/// A storage that returns few bytes at a time, and only errors from some byte on.
struct Unreliable<'f> {
    file: &'f [u8],
    readable: u64,
    most: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pulled;

impl Display for Pulled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the card does not answer")
    }
}

impl ReadAt for Unreliable<'_> {
    type Error = Pulled;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Pulled> {
        let most = buffer.len().min(self.most);
        let len = self.file.read_at(offset, &mut buffer[..most]).map_err(|never| match never {})?;
        if offset + len as u64 > self.readable { Err(Pulled) } else { Ok(len) }
    }

    fn file_len(&mut self) -> Result<FileLen, Pulled> {
        Ok(FileLen::Exactly(self.file.len() as u64))
    }
}

#[test]
fn storage_error_is_not_a_verdict() {
    let pack = file(VALID);
    let text = manifest(&[line("a", pack.len(), LISTED)]);
    let whole = |file, most| Unreliable { file, readable: u64::MAX, most };
    for most in [1, 7, 4096] {
        let (printed, outcome) = judged(whole(text.as_bytes(), most), whole(&pack, most));
        assert_eq!(outcome, Ok(ONE), "{printed}");
    }
    let (_, outcome) = judged(whole(text.as_bytes(), 16), Unreliable { file: &pack, readable: 32, most: 16 });
    let failure = outcome.expect_err("pulled");
    assert_eq!(
        (failure.exit_code(), failure.to_string().as_str()),
        (2, "error at byte 32 of the pack: the storage cannot be read: the card does not answer")
    );
    let pulled = Unreliable { file: text.as_bytes(), readable: 64, most: 16 };
    let (_, outcome) = judged(pulled, whole(&pack, 16));
    assert_eq!(outcome, Err(Failure::Storage { file: File::Manifest, at: 64, error: Pulled }));
}

/// A storage of unknown file length.
struct Endless<'f>(&'f [u8]);

impl ReadAt for Endless<'_> {
    type Error = Infallible;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Infallible> {
        self.0.read_at(offset, buffer)
    }

    fn file_len(&mut self) -> Result<FileLen, Infallible> {
        Ok(FileLen::Unknown)
    }
}

#[test]
fn early_end_of_the_pack_is_reported() {
    let pack = [file(VALID), file(VALID)].concat();
    let each = pack.len() / 2;
    let text = manifest(&[line("a", each, LISTED), line("b", each, LISTED)]);
    let header = each + 8 + VALID.len();
    for len in [0, 1, 7, 8, 9, each - 4, each, each + 1, each + 8, each + 9, header - 1] {
        let (_, outcome) = judged(text.as_bytes(), Endless(&pack[..len]));
        assert_eq!(outcome, Err(Failure::Ends { file: File::Pack, at: len as u64 }));
    }
    assert!(judged(text.as_bytes(), Endless(&pack)).1.is_ok());
}
