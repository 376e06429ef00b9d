//! Right checkpoints are read, and wrong ones are rejected.

use super::made::{Made, Table, block, entry, header, message, number, shape, slice, varint};
use super::slices::{Extent, key};
use super::table;
use super::{Checkpoint, Names};
use crate::TensorSource;
use crate::samples::{file, read};
use embedded_safetensors::Dtype;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn directory() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

fn open(path: &Path) -> io::Result<Checkpoint> {
    Checkpoint::open(path, Names::AsListed, |path| File::open(path))
}

fn open_made(made: &Made) -> io::Result<Checkpoint> {
    let directory = directory();
    open(&made.write(directory.path()).expect("written"))
}

/// Checks that a checkpoint is rejected with this sentence.
fn assert_rejected(made: &Made, sentence: &str) {
    let error = open_made(made).err().expect("it is rejected");
    assert_eq!((error.to_string().as_str(), error.kind()), (sentence, ErrorKind::InvalidData));
}

fn listed(checkpoint: &Checkpoint) -> Vec<(&str, Dtype, &[u64])> {
    checkpoint.tensors().iter().map(|tensor| (&*tensor.name, tensor.dtype, &*tensor.dims)).collect()
}

#[test]
fn tensors_and_their_bytes_are_read() {
    let mut made = Made::new(2);
    made.tensor("a", 1, &[2, 3], &[7; 24]).in_shard(1, "b/c", 9, &[], &[1, 2, 3, 4, 5, 6, 7, 8]);
    made.tensor("_GRAPH", 7, &[], b"text").tensor("empty", 3, &[4, 0], &[]);
    let checkpoint = open_made(&made).expect("a checkpoint");
    let expected: [(_, _, &[u64]); 3] =
        [("a", Dtype::F32, &[2, 3]), ("b/c", Dtype::I64, &[]), ("empty", Dtype::I32, &[4, 0])];
    assert_eq!(listed(&checkpoint), expected);
    assert_eq!(checkpoint.strings(), ["_GRAPH"]);
    assert!(checkpoint.metadata().is_empty());
    assert_eq!(read(&checkpoint, 0).expect("sound"), [7; 24]);
    assert_eq!(read(&checkpoint, 1).expect("sound"), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(read(&checkpoint, 2).expect("sound"), []);
    assert!(checkpoint.read(3).is_err());
}

#[test]
fn several_tensors_are_open_at_a_time() {
    let mut made = Made::new(1);
    made.tensor("a", 4, &[2], &[1, 2]).tensor("b", 4, &[2], &[3, 4]);
    let checkpoint = open_made(&made).expect("a checkpoint");
    let mut readers = [0, 1].map(|index| checkpoint.read(index).expect("open"));
    for expected in [[1, 3], [2, 4]] {
        let mut pair = [0; 2];
        readers.iter_mut().zip(&mut pair).for_each(|(reader, byte)| {
            reader.read_exact(std::slice::from_mut(byte)).expect("a byte");
        });
        assert_eq!(pair, expected);
    }
}

#[test]
fn every_dtype_is_known_or_rejected_by_name() {
    let known = [
        (1, Dtype::F32, 4),
        (2, Dtype::F64, 8),
        (3, Dtype::I32, 4),
        (4, Dtype::U8, 1),
        (5, Dtype::I16, 2),
        (6, Dtype::I8, 1),
        (8, Dtype::C64, 8),
        (9, Dtype::I64, 8),
        (10, Dtype::BOOL, 1),
        (14, Dtype::BF16, 2),
        (17, Dtype::U16, 2),
        (19, Dtype::F16, 2),
        (22, Dtype::U32, 4),
        (23, Dtype::U64, 8),
        (24, Dtype::F8_E5M2, 1),
        (25, Dtype::F8_E4M3, 1),
        (26, Dtype::F8_E4M3FNUZ, 1),
        (28, Dtype::F8_E5M2FNUZ, 1),
    ];
    for (number, dtype, width) in known {
        let mut made = Made::new(1);
        made.tensor("t", number, &[3], &vec![1; 3 * width]);
        let checkpoint = open_made(&made).expect("a known dtype");
        assert_eq!(listed(&checkpoint), [("t", dtype, &[3][..])]);
    }
    let foreign = [
        (11, "DT_QINT8"),
        (12, "DT_QUINT8"),
        (13, "DT_QINT32"),
        (15, "DT_QINT16"),
        (16, "DT_QUINT16"),
        (18, "DT_COMPLEX128"),
        (20, "DT_RESOURCE"),
        (21, "DT_VARIANT"),
        (27, "DT_FLOAT8_E4M3B11FNUZ"),
        (29, "DT_INT4"),
        (30, "DT_UINT4"),
        (31, "DT_INT2"),
        (32, "DT_UINT2"),
        (33, "DT_FLOAT4_E2M1FN"),
    ];
    for (number, name) in foreign {
        let sentence = format!("tensor \"t\": its dtype is {name}, which safetensors does not have");
        assert_rejected(Made::new(1).tensor("t", number, &[3], &[1; 3]), &sentence);
    }
    for number in [0, 34, 101, u64::MAX] {
        let sentence = format!("tensor \"t\": its dtype has the unknown number {number}");
        assert_rejected(Made::new(1).tensor("t", number, &[3], &[1; 3]), &sentence);
    }
}

#[test]
fn numbers_of_big_endian_checkpoints_are_swapped() {
    let mut made = Made::new(1);
    made.pairs[0].1 = header(1, 1);
    made.tensor("a", 1, &[2], &[1, 2, 3, 4, 5, 6, 7, 8]).tensor("b", 4, &[3], &[1, 2, 3]);
    made.tensor("c", 8, &[1], &[1, 2, 3, 4, 5, 6, 7, 8]);
    let checkpoint = open_made(&made).expect("a checkpoint");
    assert_eq!(read(&checkpoint, 0).expect("sound"), [4, 3, 2, 1, 8, 7, 6, 5]);
    assert_eq!(read(&checkpoint, 1).expect("sound"), [1, 2, 3]);
    assert_eq!(read(&checkpoint, 2).expect("sound"), [4, 3, 2, 1, 8, 7, 6, 5]);
}

#[test]
fn headers_are_validated() {
    let with_version = |version: &[u8]| [number(1, 1), message(3, version)].concat();
    let large = 1 << 31;
    for (header, reason) in [
        (vec![], "it has no shards"),
        (header(0, 0), "it has no shards"),
        (header(1, 2), "the endianness 2 is unknown"),
        (header(large, 0), "the field num_shards is 2147483648, more than 32 bits hold"),
        (header(u64::MAX, 0), "the field num_shards is negative"),
        ([number(1, 1), number(1, 2)].concat(), "the field num_shards is duplicate"),
        (message(2, b""), "the field endianness has the wrong wire type"),
        (with_version(&number(2, 2)), "it needs a reader of version 2, this one has version 1"),
        (with_version(&number(3, 1)), "it excludes readers of version 1, which this one is"),
        (with_version(&message(3, &[2, 1])), "it excludes readers of version 1, which this one is"),
        (
            message(1, b""),
            "this is a V1 checkpoint, which is not supported: load and save it with version \
             0.12 or later, which writes V2",
        ),
    ] {
        let mut made = Made::new(1);
        made.pairs[0].1 = header;
        assert_rejected(&made, &format!("the header of the index: {reason}"));
    }
    let mut made = Made::new(1);
    made.pairs[0].1 = with_version(&[number(2, 1), number(3, 2), message(3, &[0, 0x80, 1])].concat());
    assert!(open_made(&made).is_ok());
    made.pairs[0].0 = b"a".to_vec();
    assert_rejected(&made, "the index has no header");
    made.pairs.clear();
    assert_rejected(&made, "the index has no entries");
}

#[test]
fn entries_are_validated() {
    let named = |reason: &str| format!("tensor \"t\": {reason}");
    for (value, reason) in [
        (entry(1, &[3], 0, 0, &[0; 11]), "it has 11 bytes, but its dtype F32 and shape [3] need 12"),
        (
            entry(1, &[1 << 62], 0, 0, &[]),
            "its shape [4611686018427387904] has more bytes than 64 bits can count",
        ),
        (entry(1, &[u64::MAX], 0, 0, &[]), "the field size is negative"),
        (entry(4, &[1], 1, 0, &[0]), "it is in data file 1, but there are only 1"),
        (entry(4, &[1], u64::MAX, 0, &[0]), "the field shard_id is negative"),
        (entry(4, &[1], 0, u64::MAX, &[0]), "the field offset is negative"),
        (entry(4, &[1], 0, 4, &[0]), "its 1 bytes at byte 4 go beyond the 4 bytes of data file 0"),
        (
            entry(4, &[1], 0, (1 << 63) - 1, &[0]),
            "its 1 bytes at byte 9223372036854775807 go beyond the 4 \
            bytes of data file 0",
        ),
        (entry(4, &[5], 0, 0, &[0; 5]), "its 5 bytes at byte 0 go beyond the 4 bytes of data file 0"),
        ([number(1, 4), message(2, &number(3, 1))].concat(), "its shape has an unknown rank"),
        ([number(1, 4), message(2, &shape(&[0; 255]))].concat(), "its shape has more than 254 dimensions"),
        ([number(1, 4), number(1, 4)].concat(), "the field dtype is duplicate"),
        (message(1, b""), "the field dtype has the wrong wire type"),
        (vec![0x0a], "a number is truncated"),
        ([number(1, 4), number(6, 4)].concat(), "the field crc32c has the wrong wire type"),
    ] {
        let mut made = Made::new(1);
        made.shards[0] = vec![0; 4];
        assert_rejected(made.pair("t", value), &named(reason));
    }
    assert_rejected(
        Made::new(1).tensor(b"\xff", 4, &[1], &[0]),
        "tensor \"\u{fffd}\": its name is not UTF-8",
    );
    let error = open_made(Made::new(1).tensor("t", 4, &[1; 9], &[0])).err().expect("too large");
    assert_eq!(error.to_string(), "tensor \"t\": its rank is 9, at most 8 is supported");
    assert!(open_made(Made::new(1).tensor("t", 7, &[1; 9], &[0])).is_ok());
    let error = open_made(Made::new(1).tensor(b"\0t", 7, &[1; 9], &[0])).err().expect("too large");
    assert!(error.to_string().ends_with("its rank is 9, at most 8 is supported"), "{error}");
    assert_eq!(error.kind(), ErrorKind::QuotaExceeded);
}

#[test]
fn entries_that_share_bytes_are_rejected() {
    let mut made = Made::new(1);
    made.tensor("a", 4, &[4], &[0; 4]).pair("b", entry(4, &[1], 0, 3, &[0]));
    assert_rejected(&made, "tensor \"a\" and tensor \"b\" share bytes of data file 0");
    let mut made = Made::new(1);
    made.tensor("a", 7, &[4], &[0; 4]).pair("b", entry(4, &[4], 0, 0, &[0; 4]));
    let error = open_made(&made).err().expect("rejected").to_string();
    assert!(error.contains("a tensor of texts") && error.contains("share bytes"), "{error}");
    // Empty tensors have no bytes.
    let mut made = Made::new(1);
    made.tensor("a", 4, &[4], &[0; 4]).pair("b", entry(4, &[0], 0, 2, &[]));
    assert!(open_made(&made).is_ok());
}

#[test]
fn wrong_bytes_are_an_error_before_the_last_one() {
    for size in [1, 5, 100_000] {
        let mut made = Made::new(1);
        made.tensor("t", 4, &[size as u64], &vec![0; size]);
        made.shards[0][size / 2] ^= 1;
        let checkpoint = open_made(&made).expect("an index");
        for piece in [1, 3, 1 << 20] {
            let (mut reader, mut buffer, mut given) = (checkpoint.read(0).expect("open"), vec![0; piece], 0);
            let error = loop {
                match reader.read(&mut buffer) {
                    Ok(len) => given += len,
                    Err(error) => break error,
                }
            };
            assert!(given < size);
            let sentence =
                format!("tensor \"t\": the {size} bytes at byte 0 of data file 0 have a wrong checksum");
            assert_eq!((error.to_string(), error.kind()), (sentence, ErrorKind::InvalidData));
        }
    }
}

#[test]
fn data_files_are_beside_the_index_and_needed_only_for_bytes() {
    let directory = directory();
    let mut made = Made::new(3);
    made.in_shard(1, "a", 4, &[1], &[5]).in_shard(2, "b", 4, &[0], &[]);
    let path = made.write(directory.path()).expect("written");
    fs::remove_file(directory.path().join("m.data-00000-of-00003")).expect("removed");
    fs::remove_file(directory.path().join("m.data-00002-of-00003")).expect("removed");
    let mut opened: Vec<PathBuf> = Vec::new();
    let prefix = path.with_extension("");
    let checkpoint = Checkpoint::open(&prefix, Names::AsListed, |path| {
        opened.push(path.to_path_buf());
        File::open(path)
    });
    assert!(checkpoint.is_ok());
    assert_eq!(opened, ["m.index", "m.data-00001-of-00003"].map(|name| directory.path().join(name)));
    fs::remove_file(directory.path().join("m.data-00001-of-00003")).expect("removed");
    let error = open(&path).err().expect("a file is missing");
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(
        error.to_string().starts_with("data file \"m.data-00001-of-00003\" cannot be opened: "),
        "{error}"
    );
}

/// One file is opened, however many there are said to be.
#[test]
fn number_of_data_files_is_not_trusted() {
    let mut made = Made::new(1);
    made.tensor("a", 4, &[1], &[5]);
    made.pairs[0].1 = header((1 << 31) - 1, 0);
    let error = open_made(&made).err().expect("a file is missing");
    assert!(error.to_string().contains("m.data-00000-of-2147483647"), "{error}");
}

#[test]
fn saved_model_is_opened_by_its_directory() {
    let directory = directory();
    let variables = directory.path().join("variables");
    fs::create_dir(&variables).expect("created");
    let mut made = Made::new(1);
    made.tensor("a", 4, &[1], &[5]).write(&variables).expect("written");
    for (from, to) in
        [("m.index", "variables.index"), ("m.data-00000-of-00001", "variables.data-00000-of-00001")]
    {
        fs::rename(variables.join(from), variables.join(to)).expect("renamed");
    }
    let checkpoint = open(directory.path()).expect("a checkpoint");
    assert_eq!(read(&checkpoint, 0).expect("sound"), [5]);
    // An index without a name is one, too.
    for (from, to) in
        [("variables.index", ".index"), ("variables.data-00000-of-00001", ".data-00000-of-00001")]
    {
        fs::rename(variables.join(from), variables.join(to)).expect("renamed");
    }
    assert!(open(&variables.join(".index")).is_ok());
}

#[test]
fn names_are_shortened_only_if_asked_and_without_duplicates() {
    let directory = directory();
    let mut made = Made::new(1);
    made.tensor("a/.ATTRIBUTES/VARIABLE_VALUE", 4, &[1], &[1]).tensor("a/b", 4, &[1], &[2]);
    made.tensor("/.ATTRIBUTES/VARIABLE_VALUE", 4, &[1], &[3]);
    let path = made.write(directory.path()).expect("written");
    let names = |names| {
        let checkpoint = Checkpoint::open(&path, names, |path| File::open(path))?;
        let names = checkpoint.tensors().iter().map(|tensor| tensor.name.clone());
        io::Result::Ok(names.collect::<Vec<_>>())
    };
    let long = ["/.ATTRIBUTES/VARIABLE_VALUE", "a/.ATTRIBUTES/VARIABLE_VALUE", "a/b"];
    assert_eq!(names(Names::default()).expect("sound"), long);
    assert_eq!(names(Names::WithoutAttribute).expect("sound"), [long[0], "a", "a/b"]);
    made.tensor("a", 4, &[1], &[4]).write(directory.path()).expect("written");
    assert_eq!(names(Names::AsListed).expect("sound").len(), 4);
    assert_eq!(
        names(Names::WithoutAttribute).expect_err("a duplicate").to_string(),
        "without /.ATTRIBUTES/VARIABLE_VALUE, tensor \"a/.ATTRIBUTES/VARIABLE_VALUE\" would have the name of \"a\""
    );
}

/// The extents, the shape and the bytes of a slice.
type Slice<'s> = (&'s [(u64, Option<u64>)], &'s [u64], &'s [u8]);

/// A variable of bytes, and its slices.
fn partitioned(dims: &[u64], slices: &[Slice<'_>]) -> Made {
    let mut made = Made::new(1);
    let listed = slices.iter().flat_map(|(extents, ..)| message(7, &slice(extents)));
    made.pair("v", [number(1, 4), message(2, &shape(dims))].concat().into_iter().chain(listed).collect());
    for (extents, dims, bytes) in slices {
        let extents: Vec<Extent> = extents.iter().map(|&(start, len)| Extent { start, len }).collect();
        made.tensor(key(b"v", &extents), 4, dims, bytes);
    }
    made
}

#[test]
fn slices_along_any_axis_are_joined() {
    let all = |made: Made| {
        let checkpoint = open_made(&made).expect("sound");
        let bytes = read(&checkpoint, 0).expect("sound");
        assert_eq!(checkpoint.tensors().len(), 1);
        bytes
    };
    let rows = partitioned(
        &[3, 2],
        &[
            (&[(1, Some(2)), (0, None)], &[2, 2], &[3, 4, 5, 6]),
            (&[(0, Some(1)), (0, Some(2))], &[1, 2], &[1, 2]),
        ],
    );
    assert_eq!(all(rows), [1, 2, 3, 4, 5, 6]);
    let columns = partitioned(
        &[2, 3, 2],
        &[
            (&[(0, None), (0, Some(1)), (0, None)], &[2, 1, 2], &[1, 2, 7, 8]),
            (&[(0, None), (1, Some(0)), (0, None)], &[2, 0, 2], &[]),
            (&[(0, None), (1, Some(2)), (0, None)], &[2, 2, 2], &[3, 4, 5, 6, 9, 10, 11, 12]),
        ],
    );
    assert_eq!(all(columns), (1..=12).collect::<Vec<u8>>());
    assert_eq!(all(partitioned(&[], &[(&[], &[], &[9])])), [9]);
    assert_eq!(all(partitioned(&[2], &[(&[(0, None)], &[2], &[8, 9])])), [8, 9]);
    let none = partitioned(
        &[1 << 40, 2, 0],
        &[
            (&[(0, None), (0, Some(1)), (0, None)], &[1 << 40, 1, 0], &[]),
            (&[(0, None), (1, Some(1)), (0, None)], &[1 << 40, 1, 0], &[]),
        ],
    );
    assert_eq!(all(none), []);
}

#[test]
fn wrong_bytes_of_a_slice_are_an_error() {
    let mut made = partitioned(
        &[2, 2],
        &[(&[(0, None), (0, Some(1))], &[2, 1], &[1, 3]), (&[(0, None), (1, Some(1))], &[2, 1], &[2, 4])],
    );
    made.shards[0][3] ^= 1;
    let error = read(&open_made(&made).expect("an index"), 0).expect_err("a wrong byte").to_string();
    assert_eq!(error, "tensor \"v\": the 2 bytes at byte 2 of data file 0 have a wrong checksum");
}

#[test]
fn slices_must_be_the_whole_variable_once() {
    let cases: [(&[u64], &[Slice<'_>], &str); 9] = [
        (&[4], &[(&[(0, Some(2))], &[2], &[0; 2])], "its slices end at 2, but its axis at 4"),
        (&[4], &[(&[(1, Some(3))], &[3], &[0; 3])], "its slices lack what is from 0 to 1"),
        (
            &[4],
            &[(&[(0, Some(3))], &[3], &[0; 3]), (&[(2, Some(2))], &[2], &[0; 2])],
            "its slices overlap at 2",
        ),
        (&[4], &[(&[(2, Some(3))], &[3], &[0; 3])], "a slice of 3 at 2 is not within an axis of 4"),
        (&[4], &[(&[(0, Some(4)), (0, None)], &[4], &[0; 4])], "a slice has more axes than the rank 1"),
        (&[4], &[(&[], &[4], &[0; 4])], "a slice has 0 axes, but the rank is 1"),
        (&[4], &[(&[(0, Some(4))], &[2, 2], &[0; 4])], "one of its slices has another shape than listed"),
        (
            &[2, 2],
            &[(&[(0, Some(1)), (0, Some(1))], &[1, 1], &[0])],
            "it is partitioned along several axes, only one is supported",
        ),
        (
            &[2, 2],
            &[(&[(0, Some(1)), (0, None)], &[1, 2], &[0; 2]), (&[(0, None), (1, Some(1))], &[2, 1], &[0; 2])],
            "it is partitioned along several axes, only one is supported",
        ),
    ];
    for (dims, slices, reason) in cases {
        assert_rejected(&partitioned(dims, slices), &format!("tensor \"v\": {reason}"));
    }
}

#[test]
fn slices_and_their_variable_must_match() {
    let right = || partitioned(&[2], &[(&[(0, Some(1))], &[1], &[1]), (&[(1, Some(1))], &[1], &[2])]);
    assert!(open_made(&right()).is_ok());
    let mut made = right();
    made.pairs.pop();
    assert_rejected(&made, "tensor \"v\": one of its slices has no entry");
    let mut made = right();
    made.pairs.retain(|(key, _)| key != b"v");
    let error = open_made(&made).err().expect("rejected").to_string();
    assert!(error.starts_with("no variable lists the slice with the key \"\\u{0}v\\u{0}\\u{1}"), "{error}");
    let mut made = right();
    made.pairs[1].1.extend(message(7, &slice(&[(0, Some(1))])));
    assert_rejected(&made, "tensor \"v\": it lists a duplicate slice");
    let mut made = right();
    made.pairs[1].1.extend(number(5, 1));
    assert_rejected(&made, "tensor \"v\": it has bytes of its own, and slices");
    let mut made = right();
    made.pairs[2].1 = entry(6, &[1], 0, 0, &[1]);
    assert_rejected(&made, "tensor \"v\": one of its slices has another dtype");
    let mut made = right();
    made.pairs[2].1.extend(message(7, b""));
    let error = open_made(&made).err().expect("rejected").to_string();
    assert!(error.ends_with("it is a slice that has slices"), "{error}");
    // A partitioned variable of texts is left out.
    let mut made = right();
    made.pairs[1].1 = [number(1, 7), message(2, &shape(&[2]))].concat();
    for (start, pair) in [(0, 2), (1, 3)] {
        let listed = message(7, &slice(&[(start, Some(1))]));
        made.pairs[1].1.extend(listed);
        made.pairs[pair].1 = entry(7, &[1], 0, start, &[1]);
    }
    let checkpoint = open_made(&made).expect("sound");
    assert_eq!((checkpoint.tensors().len(), checkpoint.strings()), (0, &["v".to_owned()][..]));
}

#[test]
fn slices_that_alternate_are_limited_in_number() {
    let made = |rows: u64| {
        let count = 4097;
        let mut made = Made::new(1);
        let listed = (0..count).flat_map(|start| message(7, &slice(&[(0, None), (start, Some(1))])));
        let own = [number(1, 4), message(2, &shape(&[rows, count]))].concat();
        made.pair("v", own.into_iter().chain(listed).collect());
        for start in 0..count {
            let extents = [Extent { start: 0, len: None }, Extent { start, len: Some(1) }];
            let rows_len = usize::try_from(rows).expect("few rows");
            made.tensor(key(b"v", &extents), 4, &[rows, 1], &vec![start.to_le_bytes()[0]; rows_len]);
        }
        made
    };
    let expected: Vec<u8> = (0_u64..4097).map(|start| start.to_le_bytes()[0]).collect();
    assert_eq!(read(&open_made(&made(1)).expect("one row"), 0).expect("sound"), expected);
    let error = open_made(&made(2)).err().expect("beyond the limit");
    assert_eq!(error.kind(), ErrorKind::QuotaExceeded);
    assert_eq!(
        error.to_string(),
        "tensor \"v\": it has 4097 slices along axis 1, at most 4096 are supported"
    );
}

#[test]
fn number_of_tensors_is_limited() {
    let made = |count: u32| {
        let mut made = Made::new(1);
        for number in 0..count {
            made.tensor(format!("{number:05}"), 4, &[0], &[]);
        }
        made
    };
    assert_eq!(open_made(&made(5000)).expect("sound").tensors().len(), 5000);
    let error = open_made(&made(5001)).err().expect("beyond the limit");
    assert_eq!(error.kind(), ErrorKind::QuotaExceeded);
    assert_eq!(error.to_string(), "the index has more than 5000 tensors and slices");
}

/// Keys that begin alike are short in the file, but each name takes memory.
#[test]
fn long_keys_are_limited_alone_and_together() {
    let error = |lens: &[usize]| {
        let mut made = Made::new(1);
        for (number, len) in lens.iter().enumerate() {
            made.tensor(format!("{}{number}", "a".repeat(len - 1)), 4, &[0], &[]);
        }
        open_made(&made).err().map(|error| (error.kind(), error.to_string()))
    };
    let name = "a".repeat(80);
    let beyond = |sentence: String| Some((ErrorKind::QuotaExceeded, sentence));
    let long = format!("tensor \"{name}…\": its key has 65536 bytes, at most 65535 are allowed");
    assert_eq!((error(&[65_535]), error(&[65_536])), (None, beyond(long)));
    let together = "the keys of the index have more than 200000 bytes together".to_owned();
    assert_eq!((error(&[50_000; 4]), error(&[50_000, 50_000, 50_000, 50_001])), (None, beyond(together)));
}

/// The keys of a table, or why it is rejected.
fn keys(table: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let mut keys = Vec::new();
    let outcome = table::for_each(&file(table), |key, _| {
        keys.push(key.to_vec());
        Ok(())
    });
    outcome.map(|()| keys).map_err(|error| error.to_string())
}

fn pairs(keys: &[&str]) -> Vec<(Vec<u8>, Vec<u8>)> {
    keys.iter().map(|key| (key.as_bytes().to_vec(), b"value".to_vec())).collect()
}

#[test]
fn truncated_indexes_are_rejected_at_each_byte() {
    let mut made = Made::new(1);
    made.tensor("a", 1, &[2], &[7; 8]).tensor("b", 7, &[], b"text");
    let index = made.index(2);
    assert_eq!(keys(&index).map(|keys| keys.len()), Ok(3));
    for len in 0..index.len() {
        assert!(keys(&index[..len]).is_err(), "{len}");
    }
}

#[test]
fn truncated_data_files_are_rejected_at_each_byte() {
    let directory = directory();
    let mut made = Made::new(1);
    made.tensor("a", 1, &[2], &[7; 8]).tensor("b", 7, &[], b"text");
    for len in 0..made.shards[0].len() {
        let path = made.write(directory.path()).expect("written");
        let data = path.with_file_name("m.data-00000-of-00001");
        fs::write(data, &made.shards[0][..len]).expect("written");
        assert_eq!(open(&path).err().map(|error| error.kind()), Some(ErrorKind::InvalidData), "{len}");
    }
    let path = made.write(directory.path()).expect("written");
    let checkpoint = open(&path).expect("sound");
    fs::write(path.with_file_name("m.data-00000-of-00001"), [7; 3]).expect("written");
    let error = read(&checkpoint, 0).expect_err("it has become shorter").to_string();
    assert_eq!(error, "tensor \"a\": data file 0 ends 5 bytes too early");
}

/// A wrong bit in the footer may leave its numbers as they are, or make the list the other, empty block.
#[test]
fn wrong_bits_of_an_index_never_change_its_keys() {
    let mut made = Made::new(1);
    made.tensor("a", 1, &[2], &[7; 8]).tensor("b", 4, &[1], b"x");
    let mut index = made.index(1);
    let right = keys(&index).expect("sound");
    for at in 0..index.len() * 8 {
        index[at / 8] ^= 1 << (at % 8);
        let found = keys(&index).unwrap_or_default();
        assert!(found.is_empty() || (found == right && at / 8 >= index.len() - 48), "{at}");
        index[at / 8] ^= 1 << (at % 8);
    }
}

#[test]
fn keys_and_blocks_must_be_sorted() {
    let table_of = |blocks: &[(&[&str], &str)]| {
        let mut table = Table::default();
        for (keys, limit) in blocks {
            table.data(&block(&pairs(keys), 16), limit.as_bytes());
        }
        table.end()
    };
    assert_eq!(keys(&table_of(&[(&["a", "b"], "bb"), (&["c"], "d")])).map(|keys| keys.len()), Ok(3));
    for (blocks, reason) in [
        (&[(&["a", "c"][..], "b")][..], "block at byte 0: its keys go beyond the key in the list of blocks"),
        (
            &[(&["a"], "b"), (&["b"], "c")],
            "block at byte 22: its keys are not after those of the block before it",
        ),
        (
            &[(&["a"], "c"), (&["d"], "b")],
            "the list of blocks: entry at byte 6 of the block: its key is not after the key before it",
        ),
        (
            &[(&["b", "a"], "c")],
            "block at byte 0: entry at byte 9 of the block: its key is not after the key before it",
        ),
        (
            &[(&["a", "a"], "c")],
            "block at byte 0: entry at byte 9 of the block: its key is not after the key before it",
        ),
    ] {
        assert_eq!(keys(&table_of(blocks)), Err(reason.to_owned()));
    }
}

#[test]
fn places_of_blocks_are_validated() {
    let place = |at: u64, len: u64| [varint(at), varint(len)].concat();
    let table_of = |place: Vec<u8>| {
        let mut table = Table::default();
        table.data(&block(&pairs(&["a"]), 1), b"a");
        table.list.push((b"b".to_vec(), place));
        table.end()
    };
    let list = "the list of blocks: ";
    for (place, reason) in [
        (place(0, 17), "block at byte 0: it is not after the block before it".to_owned()),
        (place(21, 17), "block at byte 21: it is not after the block before it".to_owned()),
        (place(90, 1000), "block at byte 90: it claims 1000 bytes, which do not fit the file".to_owned()),
        (
            place(u64::MAX, u64::MAX),
            format!("block at byte {0}: it claims {0} bytes, which do not fit the file", u64::MAX),
        ),
        (vec![0x80], format!("{list}a number is truncated")),
        ([&[0xff; 9][..], &[2, 0]].concat(), format!("{list}a number has more than 64 bits")),
        (vec![26], format!("{list}a number is truncated")),
    ] {
        assert_eq!(keys(&table_of(place)), Err(reason));
    }
    let mut table = Table::default();
    let place = table.block(&block(&pairs(&["a"]), 1), 0);
    let mut bytes = table.end();
    let footer = bytes.len() - 48;
    bytes[footer..footer + place.len()].copy_from_slice(&place);
    assert_eq!(keys(&bytes), Ok(vec![]));
    let mut table = Table::default();
    table.data(&block(&pairs(&["a"]), 1), b"a");
    let mut bytes = table.end();
    let footer = bytes.len() - 48;
    bytes[footer..footer + place.len()].copy_from_slice(&place);
    assert_eq!(
        keys(&bytes),
        Err("the list of blocks: it has a block that is not before the blocks in the footer".to_owned())
    );
    let mut footer = table_of(place);
    let end = footer.len() - 9;
    footer[end] = 1;
    assert_eq!(
        keys(&footer),
        Err("the footer of the index: it has other bytes than the places of two blocks".to_owned())
    );
}

#[test]
fn compressed_blocks_are_decompressed() {
    let contents = block(&pairs(&["a", "b"]), 16);
    let table_of = |stored: &[u8], method| {
        let mut table = Table::default();
        let place = table.block(stored, method);
        table.list.push((b"z".to_vec(), place));
        table.end()
    };
    let compressed = snap::raw::Encoder::new().compress_vec(&contents).expect("compressed");
    assert_eq!(keys(&table_of(&compressed, 1)), keys(&table_of(&contents, 0)));
    let wrong = Err("block at byte 0: it cannot be decompressed with Snappy".to_owned());
    assert_eq!(keys(&table_of(&compressed[..5], 1)), wrong);
    assert_eq!(keys(&table_of(b"", 1)), wrong);
    // It claims more than all blocks may have.
    let claim = varint((4 << 20) + 1);
    assert_eq!(
        keys(&table_of(&claim, 1)),
        Err("block at byte 0: it has 4194305 bytes, at most 4194304 are supported".to_owned())
    );
    assert_eq!(
        keys(&table_of(&contents, 2)),
        Err("block at byte 0: it is compressed by method 2; only 0 (none) and 1 (Snappy) exist".to_owned())
    );
}

#[test]
fn blocks_are_limited_in_size() {
    let mut table = Table::default();
    table.data(&vec![0; (4 << 20) + 1], b"z");
    let error = table::for_each(&file(&table.end()), |_, _| Ok(())).expect_err("beyond the limit");
    assert_eq!(error.kind(), ErrorKind::QuotaExceeded);
    assert_eq!(error.to_string(), "block at byte 0: it has 4194305 bytes, at most 4194304 are supported");
}
