//! Right checkpoints are read, and wrong ones are rejected.

use super::block::Block;
use super::made::{Made, Table, block, entry, extents, header, listed, message, number, shape, varint};
use super::slices::key;
use super::{Checkpoint, index_of, table};
use crate::TensorSource;
use crate::samples::{file, read};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn directory() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

fn open(path: &Path) -> io::Result<Checkpoint> {
    Checkpoint::open(path, |path| File::open(path))
}

fn open_made(made: &Made) -> io::Result<Checkpoint> {
    let directory = directory();
    open(&made.write(directory.path()).expect("written"))
}

/// Returns the sentence of a checkpoint's error, and whether it is a limit.
fn rejected(made: &Made) -> String {
    let error = open_made(made).err().expect("it is rejected");
    match error.kind() {
        ErrorKind::InvalidData => error.to_string(),
        kind => format!("{error} ({kind})"),
    }
}

fn all(made: &Made) -> Vec<String> {
    let checkpoint = open_made(made).expect("a checkpoint");
    let bytes = |index| read(&checkpoint, index).expect("sound");
    let tensors = checkpoint.tensors().iter().enumerate();
    let show = |(index, one): (_, &crate::Tensor)| {
        format!("{} {} {:?} {:?}", one.name, one.dtype, one.dims, bytes(index))
    };
    tensors.map(show).chain(checkpoint.left_out().iter().map(|(name, _)| name.clone())).collect()
}

#[test]
fn tensors_and_their_bytes_are_read() {
    let mut made = Made::new(2);
    made.tensor("a", 5, &[2, 1], &[1, 2, 3, 4]).fill(1).tensor("b/c", 8, &[], &[1, 2, 3, 4, 5, 6, 7, 8]);
    made.fill(0).tensor("_GRAPH", 7, &[], b"text").tensor("d", 4, &[2], &[5, 6]);
    made.tensor("empty", 3, &[4, 0], &[]);
    let little = ["a I16 [2, 1] [1, 2, 3, 4]", "b/c C64 [] [1, 2, 3, 4, 5, 6, 7, 8]", "d U8 [2] [5, 6]"];
    let big = ["a I16 [2, 1] [2, 1, 4, 3]", "b/c C64 [] [4, 3, 2, 1, 8, 7, 6, 5]", "d U8 [2] [5, 6]"];
    for (order, tensors) in [(0, little), (1, big)] {
        made.pairs[0].1 = header(2, order);
        assert_eq!(all(&made), [&tensors[..], &["empty I32 [4, 0] []", "_GRAPH"]].concat());
    }
    // Unknown fields are skipped.
    made.pairs[1].1.extend([0x78, 0x80, 0, 0x79, 1, 2, 3, 4, 5, 6, 7, 8, 0x7a, 1, b'x', 0x7d, 1, 0, 0, 0x80]);
    let checkpoint = open_made(&made).expect("a checkpoint");
    assert!(checkpoint.metadata().is_empty() && checkpoint.read(4).is_err());
    let mut readers = [0, 2].map(|index| checkpoint.read(index).expect("several are open"));
    for expected in [[2, 5], [1, 6]] {
        let mut pair = [[0], [0]];
        readers.iter_mut().zip(&mut pair).for_each(|(one, byte)| one.read_exact(byte).expect("a byte"));
        assert_eq!(pair.concat(), expected);
    }
}

#[test]
fn headers_are_validated() {
    let with_version = |version: &[u8]| [number(1, 1), message(3, version)].concat();
    for (header, reason) in [
        (vec![], "it has no shards"),
        (header(0, 0), "it has no shards"),
        (header(1, 2), "the endianness 2 is unknown"),
        (header(1 << 31, 0), "the field num_shards is 2147483648, more than 32 bits hold"),
        (header(u64::MAX, 0), "the field num_shards is negative"),
        ([number(1, 1), number(1, 2)].concat(), "the field num_shards is duplicate"),
        (message(2, b""), "the field endianness has the wrong wire type"),
        (with_version(&number(2, 2)), "it needs a reader of version 2, this one has version 1"),
        (with_version(&number(3, 1)), "it excludes readers of version 1, which this one is"),
        (with_version(&message(3, &[2, 1])), "it excludes readers of version 1, which this one is"),
        (
            message(1, b""),
            "this is a V1 checkpoint, which is not supported: load and save it with version 0.12 or later, \
             which writes V2",
        ),
    ] {
        let mut made = Made::new(1);
        made.pairs[0].1 = header;
        assert_eq!(rejected(&made), format!("the header of the index: {reason}"));
    }
    let mut made = Made::new(1);
    made.pairs[0].1 = with_version(&[number(2, 1), number(3, 2), message(3, &[0, 0x80, 1])].concat());
    assert!(open_made(&made).is_ok());
    made.pairs[0].0 = b"a".to_vec();
    assert_eq!(rejected(&made), "the index has no header");
    made.pairs.clear();
    assert_eq!(rejected(&made), "the index has no entries");
}

#[test]
fn entries_are_validated() {
    let at = |offset| entry(4, &[1], 0, offset, &[0]);
    let with = |field: Vec<u8>| [number(1, 4), field].concat();
    for (value, reason) in [
        (entry(1, &[3], 0, 0, &[0; 11]), "it has 11 bytes, but its dtype F32 and shape [3] need 12"),
        (entry(1, &[1 << 62, 1], 0, 0, &[]), "1] has more bytes than 64 bits can count"),
        (entry(1, &[u64::MAX], 0, 0, &[]), "the field size is negative"),
        (entry(4, &[1], 1, 0, &[0]), "it is in data file 1, but there are only 1"),
        (entry(4, &[1], u64::MAX, 0, &[0]), "the field shard_id is negative"),
        (at(u64::MAX), "the field offset is negative"),
        (at(4), "its 1 bytes at byte 4 go beyond the 4 bytes of data file 0"),
        (at((1 << 63) - 1), "at byte 9223372036854775807 go beyond the 4 bytes of data file 0"),
        (entry(4, &[5], 0, 0, &[0; 5]), "its 5 bytes at byte 0 go beyond the 4 bytes of data file 0"),
        (with(message(2, &number(3, 1))), "its shape has an unknown rank"),
        (with(message(2, &shape(&[0; 255]))), "its shape has more than 254 dims"),
        (with(number(1, 4)), "the field dtype is duplicate"),
        (with(number(6, 4)), "the field crc32c has the wrong wire type"),
        (message(1, b""), "the field dtype has the wrong wire type"),
        (number(1, 34), "its dtype has the unknown number 34"),
        (number(1, u64::MAX), "its dtype has the unknown number 18446744073709551615"),
        (vec![0x0a], "a number is truncated"),
        (vec![0x0b], "a field has the unknown wire type 3"),
        (vec![0, 1], "a field has the number 0"),
        (vec![0x7a, 3, 1, 2], "3 bytes needed, but only 2 follow"),
        (vec![0x7d, 3, 1, 2], "4 bytes needed, but only 3 follow"),
        (vec![0x79, 3], "8 bytes needed, but only 1 follow"),
    ] {
        let mut made = Made::new(1);
        made.shards[0] = vec![0; 4];
        let sentence = rejected(made.pair("t", value));
        assert!(sentence.starts_with("tensor \"t\": ") && sentence.ends_with(reason), "{sentence}");
    }
    let name = "tensor \"\u{fffd}\": its name is not UTF-8";
    assert_eq!(rejected(Made::new(1).tensor(b"\xff", 4, &[1], &[0])), name);
    for (key, dtype) in [("t", 4), ("\0t", 7)] {
        let error = rejected(Made::new(1).tensor(key, dtype, &[1; 9], &[0]));
        assert!(error.ends_with("its rank is 9, at most 8 is supported (quota exceeded)"), "{error}");
    }
    assert!(open_made(Made::new(1).tensor("t", 7, &[1; 9], &[0])).is_ok());
}

#[test]
fn entries_that_share_bytes_are_rejected() {
    for (dtype, second, sentence) in [
        (4, entry(4, &[1], 0, 3, &[0]), "tensor \"a\" and tensor \"b\" share bytes of data file 0"),
        (7, entry(4, &[1], 0, 3, &[0]), "a tensor of texts and tensor \"b\" share bytes of data file 0"),
    ] {
        let made = &mut Made::new(1);
        assert_eq!(rejected(made.tensor("a", dtype, &[4], &[0; 4]).pair("b", second)), sentence);
    }
    // Empty tensors have no bytes.
    assert!(
        open_made(Made::new(1).tensor("a", 4, &[4], &[0; 4]).pair("b", entry(4, &[0], 0, 2, &[]))).is_ok()
    );
}

#[test]
fn wrong_bytes_are_an_error_before_the_last_one() {
    for size in [1, 5, 100_000] {
        let mut made = Made::new(1);
        made.tensor("t", 4, &[size as u64], &vec![0; size]);
        made.shards[0][size / 2] ^= 1;
        let checkpoint = open_made(&made).expect("an index");
        for piece in [1, 3, 1 << 20] {
            let (mut reader, mut given) = (checkpoint.read(0).expect("open"), Vec::new());
            let error = loop {
                if let Err(error) = reader.by_ref().take(piece).read_to_end(&mut given) {
                    break error;
                }
            };
            assert!(given.len() < size);
            let sentence = format!("the {size} bytes at byte 0 of data file 0 have a wrong checksum");
            assert_eq!(error.to_string(), format!("tensor \"t\": {sentence}"));
            assert_eq!(error.kind(), ErrorKind::InvalidData);
        }
    }
    let mut made = Made::partitioned(&[2, 2], &[("-:0,1", &[1, 3]), ("-:1,1", &[2, 4])]);
    made.shards[0][3] ^= 1;
    let error = read(&open_made(&made).expect("an index"), 0).expect_err("a wrong byte").to_string();
    assert_eq!(error, "tensor \"v\": the 2 bytes at byte 2 of data file 0 have a wrong checksum");
}

#[test]
fn data_files_are_beside_the_index_and_needed_only_for_bytes() {
    let directory = directory();
    let at = |name: &str| directory.path().join(name);
    let mut made = Made::new(3);
    made.fill(1).tensor("a", 4, &[1], &[5]).fill(2).tensor("b", 4, &[0], &[]);
    let path = made.write(directory.path()).expect("written");
    fs::remove_file(at("m.data-00000-of-00003")).expect("removed");
    fs::remove_file(at("m.data-00002-of-00003")).expect("removed");
    let mut opened: Vec<PathBuf> = Vec::new();
    let checkpoint = Checkpoint::open(&path.with_extension(""), |path| {
        opened.push(path.to_path_buf());
        File::open(path)
    });
    assert!(checkpoint.is_ok());
    assert_eq!(opened, ["m.index", "m.data-00001-of-00003"].map(at));
    // An index may have no name. One file is opened, however many there are said to be.
    made.pairs[0].1 = header((1 << 31) - 1, 0);
    fs::write(at(".index"), made.index(2)).expect("written");
    let error = open(&at(".index")).err().expect("a file is missing");
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let error = error.to_string();
    assert!(error.starts_with("data file \".data-00001-of-2147483647\" cannot be opened: "), "{error}");
}

#[test]
fn index_is_found_by_prefix_and_directory() {
    let directory = directory();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir_all(at("model/variables")).expect("created");
    for name in ["a.index", "model/variables/variables.index", "model/variables.index", "tiny"] {
        fs::write(at(name), b"").expect("written");
    }
    fs::write(at("old"), b"\x57\xfb\x80\x8b\x24\x75\x47\xdb").expect("written");
    for (name, index) in [
        ("a", "a.index"),
        ("model", "model/variables/variables.index"),
        ("model/variables", "model/variables.index"),
    ] {
        assert_eq!(index_of(&at(name)).expect("found"), at(index));
    }
    for (name, kind, part) in [
        ("", ErrorKind::InvalidData, "it has no variables/variables.index"),
        ("old", ErrorKind::InvalidData, "this may be a V1 checkpoint"),
        ("tiny", ErrorKind::InvalidData, "not a checkpoint, which has an index"),
        ("/dev/null", ErrorKind::InvalidData, "this is neither a file nor a directory"),
        ("missing", ErrorKind::NotFound, ""),
    ] {
        let error = index_of(&at(name)).expect_err(name);
        assert!(error.kind() == kind && error.to_string().contains(part), "{error}");
    }
}

#[test]
fn slices_along_any_axis_are_the_whole_variable_once() {
    let (huge, none, one, two, three) = (1 << 40, &[][..], &[0][..], &[0; 2][..], &[0; 3][..]);
    let several = "it is partitioned along several axes, only one is supported";
    for (dims, slices, outcome) in [
        (&[3, 2][..], &[("1,2:-", &[3, 4, 5, 6][..]), ("0,1:0,2", &[1, 2])][..], Ok(&[1, 2, 3, 4, 5, 6][..])),
        (
            &[2, 3, 2],
            &[("-:0,1:-", &[1, 2, 7, 8]), ("-:1,0:-", none), ("-:1,2:-", &[3, 4, 5, 6, 9, 10, 11, 12])],
            Ok(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
        ),
        (&[], &[("", &[9])], Ok(&[9])),
        (&[2], &[("-", &[8, 9])], Ok(&[8, 9])),
        (&[huge, 2, 0], &[("-:0,1:-", none), ("-:1,1:-", none)], Ok(none)),
        (&[4], &[("0,2", two)], Err("its slices end at 2, but its axis at 4")),
        (&[4], &[("1,3", three)], Err("its slices lack what is from 0 to 1")),
        (&[4], &[("0,3", three), ("2,2", two)], Err("its slices overlap at 2")),
        (&[4], &[("2,3", three)], Err("a slice of 3 at 2 is not within an axis of 4")),
        (&[4], &[("0,4:-", &[0; 4])], Err("a slice has more axes than the rank 1")),
        (&[4], &[("", one)], Err("a slice has 0 axes, but the rank is 1")),
        (&[2, 2], &[("0,1:0,1", one)], Err(several)),
        (&[2, 2], &[("0,1:-", two), ("-:1,1", two)], Err(several)),
    ] {
        let made = Made::partitioned(dims, slices);
        match outcome {
            Ok(bytes) => assert_eq!(all(&made), [format!("v U8 {dims:?} {bytes:?}")]),
            Err(reason) => assert_eq!(rejected(&made), format!("tensor \"v\": {reason}")),
        }
    }
}

#[test]
fn slices_and_their_variable_must_match() {
    for (change, reason) in [
        ((|made| drop(made.pairs.pop())) as fn(&mut Made), "tensor \"v\": one of its slices has no entry"),
        (|made| drop(made.pairs.remove(1)), "no variable lists the slice with the key \"\\u{0}v\\u{0}\\u{1}"),
        (|made| made.pairs[1].1.extend(listed("0,1")), "tensor \"v\": it lists a duplicate slice"),
        (|made| made.pairs[1].1.extend(number(5, 1)), "tensor \"v\": it has bytes of its own, and slices"),
        (
            |made| made.pairs[2].1 = entry(6, &[1], 0, 0, &[1]),
            "tensor \"v\": one of its slices has another dtype",
        ),
        (
            |made| made.pairs[2].1 = entry(4, &[1, 1], 0, 0, &[1]),
            "tensor \"v\": one of its slices has another shape",
        ),
        (|made| made.pairs[2].1.extend(message(7, b"")), "tensor \"\\u{0}v\\u{0}\\u{1}"),
    ] {
        let mut made = Made::partitioned(&[2], &[("0,1", &[1]), ("1,1", &[2])]);
        assert!(open_made(&made).is_ok());
        change(&mut made);
        let sentence = rejected(&made);
        assert!(sentence.starts_with(reason), "{sentence}");
    }
    // A partitioned variable of texts is left out.
    let mut made = Made::partitioned(&[2], &[("0,1", &[1]), ("1,1", &[2])]);
    made.pairs[1].1 = [number(1, 7), message(2, &shape(&[2])), listed("0,1"), listed("1,1")].concat();
    [0, 1].into_iter().for_each(|at| made.pairs[2 + at].1 = entry(7, &[1], 0, at as u64, &[1]));
    assert_eq!(all(&made), ["v"]);
}

#[test]
fn slices_that_alternate_are_limited_in_number() {
    let made = |rows: u64| {
        let spec: Vec<String> = (0..4097).map(|start| format!("-:{start},1")).collect();
        let slices: Vec<_> =
            spec.iter().map(|spec| (&**spec, &[7, 7][..rows.try_into().expect("few")])).collect();
        Made::partitioned(&[rows, 4097], &slices)
    };
    assert_eq!(read(&open_made(&made(1)).expect("one row"), 0).expect("sound"), [7; 4097]);
    let reason = "it has 4097 slices along axis 1, at most 4096 are supported (quota exceeded)";
    assert_eq!(rejected(&made(2)), format!("tensor \"v\": {reason}"));
}

/// As TensorFlow encodes them.
#[test]
fn keys_of_slices_are_those_of_tensorflow() {
    assert_eq!(key(b"part", &extents("0,10:200,100")), b"\0part\0\x01\x01\x02\x80\x8a\xc0\xc8\xc0\x64");
    assert_eq!(key(b"a\0b\xff", &[]), b"\0a\0\xffb\xff\0\0\x01\0");
    assert_eq!(key(b"", &extents("-")), b"\0\0\x01\x01\x01\x80\x7f");
    let numbers = (0..63).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit]).chain([u64::MAX >> 1]);
    let keys: Vec<_> = numbers.map(|start| key(b"", &extents(&format!("{start},0")))).collect();
    assert!(keys.is_sorted(), "they are sorted as their numbers are");
}

/// Keys that begin alike are short in the file, but each name takes memory.
#[test]
fn number_and_length_of_keys_are_limited() {
    let error = |lens: &mut dyn Iterator<Item = usize>| {
        let mut made = Made::new(1);
        for (number, len) in lens.enumerate() {
            made.tensor(format!("{}{number:04}", "a".repeat(len - 4)), 4, &[0], &[]);
        }
        open_made(&made).err().map(|error| (error.kind(), error.to_string()))
    };
    let beyond = |sentence: &str| Some((ErrorKind::QuotaExceeded, sentence.to_owned()));
    let long = format!("tensor \"{}…\": its key has 65536 bytes, at most 65535 are allowed", "a".repeat(80));
    assert_eq!(error(&mut [65_535].into_iter()), None);
    assert_eq!(error(&mut [65_536].into_iter()), beyond(&long));
    let together = "the keys of the index have more than 200000 bytes together";
    assert_eq!(error(&mut [50_000; 4].into_iter()), None);
    assert_eq!(error(&mut [50_000, 50_000, 50_000, 50_001].into_iter()), beyond(together));
    assert_eq!(error(&mut std::iter::repeat_n(4, 5000)), None);
    let many = "the index has more than 5000 tensors and slices";
    assert_eq!(error(&mut std::iter::repeat_n(4, 5001)), beyond(many));
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

/// The contents of a block with these keys.
fn block_of(keys: &[&str]) -> Vec<u8> {
    block(&keys.iter().map(|key| (key.as_bytes().to_vec(), b"value".to_vec())).collect::<Vec<_>>(), 16)
}

#[test]
fn files_that_are_truncated_anywhere_are_rejected() {
    let directory = directory();
    let mut made = Made::new(1);
    made.tensor("a", 1, &[2], &[7; 8]).tensor("b", 7, &[], b"text");
    let index = made.index(2);
    assert_eq!(keys(&index).map(|keys| keys.len()), Ok(3));
    (0..index.len()).for_each(|len| assert!(keys(&index[..len]).is_err(), "{len}"));
    let path = made.write(directory.path()).expect("written");
    let checkpoint = open(&path).expect("sound");
    let data = path.with_file_name("m.data-00000-of-00001");
    for len in 0..made.shards[0].len() {
        fs::write(&data, &made.shards[0][..len]).expect("written");
        assert_eq!(open(&path).err().map(|error| error.kind()), Some(ErrorKind::InvalidData), "{len}");
    }
    fs::write(data, [7; 3]).expect("written");
    let error = read(&checkpoint, 0).expect_err("it has become shorter").to_string();
    assert_eq!(error, "tensor \"a\": data file 0 ends 5 bytes too early");
}

/// A wrong bit in the footer may leave its numbers as they are, or make the list the other, empty block.
#[test]
fn wrong_bits_of_an_index_never_change_its_keys() {
    let mut made = Made::new(1);
    let mut index = made.tensor("a", 1, &[2], &[7; 8]).tensor("b", 4, &[1], b"x").index(1);
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
    let unsorted = "entry at byte 9 of the block: its key is not after the key before it";
    for (blocks, outcome) in [
        (&[("a b", "bb"), ("c", "d")][..], Ok(3)),
        (&[("a c", "b")], Err("block at byte 0: its keys go beyond the key in the list of blocks")),
        (
            &[("a", "b"), ("b", "c")],
            Err("block at byte 22: its keys are not after those of the block before it"),
        ),
        (
            &[("a", "c"), ("d", "b")],
            Err("the list of blocks: entry at byte 6 of the block: its key is not after the key before it"),
        ),
        (&[("b a", "c")], Err(&*format!("block at byte 0: {unsorted}"))),
        (&[("a a", "c")], Err(&*format!("block at byte 0: {unsorted}"))),
    ] {
        let mut table = Table::default();
        for (keys, limit) in blocks {
            table.data(&block_of(&keys.split(' ').collect::<Vec<_>>()), 0, limit.as_bytes());
        }
        assert_eq!(keys(&table.end()).map(|keys| keys.len()), outcome.map_err(str::to_owned));
    }
}

#[test]
fn places_of_blocks_are_validated() {
    let place = |at: u64, len: u64| [varint(at), varint(len)].concat();
    let table_of = |place: Vec<u8>| {
        let mut table = Table::default();
        table.data(&block_of(&["a"]), 0, b"a").list.push((b"b".to_vec(), place));
        table.end()
    };
    for (place, reason) in [
        (place(0, 17), "block at byte 0: it is not after the block before it"),
        (place(21, 17), "block at byte 21: it is not after the block before it"),
        (place(90, 1000), "block at byte 90: it claims 1000 bytes, which do not fit the file"),
        (place(1, u64::MAX), "block at byte 1: it is not after the block before it"),
        (
            place(99, u64::MAX),
            "block at byte 99: it claims 18446744073709551615 bytes, which do not fit the file",
        ),
        (vec![0x80], "the list of blocks: a number is truncated"),
        ([&[0xff; 9][..], &[2, 0]].concat(), "the list of blocks: a number has more than 64 bits"),
        (vec![26], "the list of blocks: a number is truncated"),
    ] {
        assert_eq!(keys(&table_of(place)), Err(reason.to_owned()));
    }
    // The other block of the footer is before the only one.
    let before = "the list of blocks: it has a block that is not before the blocks in the footer";
    for (is_listed, outcome) in [(false, Ok(vec![])), (true, Err(before.to_owned()))] {
        let mut table = Table::default();
        let place = table.block(&block_of(&["a"]), 0);
        table.list.extend(is_listed.then(|| (b"a".to_vec(), place.clone())));
        let mut bytes = table.end();
        let footer = bytes.len() - 48;
        bytes[footer..footer + place.len()].copy_from_slice(&place);
        assert_eq!(keys(&bytes), outcome);
    }
    let mut bytes = table_of(place(22, 0));
    let end = bytes.len() - 9;
    bytes[end] = 1;
    let other = "the footer of the index: it has other bytes than the places of two blocks";
    assert_eq!(keys(&bytes), Err(other.to_owned()));
}

#[test]
fn blocks_are_decompressed_and_limited_in_size() {
    let contents = block_of(&["a", "b"]);
    let compressed = snap::raw::Encoder::new().compress_vec(&contents).expect("compressed");
    let wrong = Err("it cannot be decompressed with Snappy");
    let large = Err("it has 4194305 bytes, at most 4194304 are supported");
    for (stored, method, outcome) in [
        (&contents[..], 0, Ok(2)),
        (&compressed, 1, Ok(2)),
        (&compressed[..5], 1, wrong),
        (b"", 1, wrong),
        // It claims more than all blocks may have.
        (&varint((4 << 20) + 1), 1, large),
        (&vec![0; (4 << 20) + 1], 0, large),
        (&contents, 2, Err("it is compressed by method 2; only 0 (none) and 1 (Snappy) exist")),
    ] {
        let found = keys(&Table::default().data(stored, method, b"z").end()).map(|keys| keys.len());
        assert_eq!(found, outcome.map_err(|reason| format!("block at byte 0: {reason}")));
    }
}

#[test]
fn entries_of_a_block_are_validated() {
    let keys = |entries: &[u8], points: &[u32]| {
        let count = u32::try_from(points.len()).expect("few points");
        let points = points.iter().chain([&count]).flat_map(|point| point.to_le_bytes());
        let contents: Vec<u8> = entries.iter().copied().chain(points).collect();
        let (mut block, mut keys) = (Block::new(&contents)?, Vec::new());
        while let Some(value) = block.next()? {
            keys.push(String::from_utf8_lossy(&[block.key(), b"=", value].concat()).into_owned());
        }
        Ok::<_, String>(keys.join(" "))
    };
    let (two, three) = (b"\0\x02\x01ab1\x01\x01\x01c2", b"\0\x02\x01ab1\x01\x01\x01c2\0\x01\0b");
    for (entries, points, expected) in [
        (&three[..], &[0, 11][..], "ab=1 ac=2 b="),
        (three, &[0], "ab=1 ac=2 b="),
        (b"", &[0], ""),
        (b"\0\0\0", &[0], "="),
    ] {
        assert_eq!(keys(entries, points), Ok(expected.to_owned()));
    }
    let (no_entry, order) =
        ("a restart point is not the offset of an entry", "its key is not after the key before it");
    for (entries, points, reason) in [
        (&two[..], &[][..], "its first restart point is not its first entry"),
        (two, &[6], "its first restart point is not its first entry"),
        (two, &[0, 5], no_entry),
        (two, &[0, 0], no_entry),
        (two, &[0, 11], no_entry),
        (two, &[0, u32::MAX], no_entry),
        (b"", &[0, 0], no_entry),
        (two, &[0, 6], "byte 6 of the block: it is a restart point, but shares bytes with the key before it"),
        (b"\x01\x01\0ab", &[0], "it is a restart point, but shares bytes with the key before it"),
        (b"\0\x02\x01ab1\x03\x01\0c", &[0], "it shares 3 bytes with the key before it, which has 2"),
        (b"\0\x02\x01ab1\x01\x01\0b", &[0], order),
        (b"\0\x02\x01ab1\x01\x01\0a", &[0], order),
        (b"\0\x02\x01ab1\x02\0\0", &[0], order),
        (b"\0\x02\x02ab1", &[0], "entry at byte 0 of the block: 2 bytes needed, but only 1 follow"),
        (b"\0\x7f\x02ab1", &[0], "127 bytes needed, but only 3 follow"),
        (b"\0\x80", &[0], "a number is truncated"),
    ] {
        let found = keys(entries, points).expect_err(reason);
        assert!(found.ends_with(reason), "{found}");
    }
    assert_eq!(Block::new(&[0, 0, 0]).err().as_deref(), Some("it has no restart points"));
    let claim = "it claims 4294967295 restart points, which do not fit its 4 bytes";
    assert_eq!(Block::new(&[0xff; 8]).err().as_deref(), Some(claim));
}
