//! Files that are sound, and files that are not.

use super::quants::dequantise;
use super::{Gguf, Kind, Options, Plan, Quantised, Split, TYPES, Writer, sort_tensors};
use crate::samples::{file, noise, read};
use crate::source::{Tensor, TensorSource};
use embedded_safetensors::Dtype;
use std::io::{self, ErrorKind, Read};

const U32: u32 = 4;
const BOOL: u32 = 7;
const STRING: u32 = 8;
const ARRAY: u32 = 9;

const RAW: Options = Options { quantised: Quantised::Raw, without_metadata: false };
const PLAIN: Options = Options { quantised: Quantised::F32, without_metadata: true };

fn u32(number: u32) -> Vec<u8> {
    number.to_le_bytes().to_vec()
}

fn u64(number: u64) -> Vec<u8> {
    number.to_le_bytes().to_vec()
}

fn string(text: impl AsRef<[u8]>) -> Vec<u8> {
    [u64(text.as_ref().len() as u64), text.as_ref().to_vec()].concat()
}

fn pair(key: &str, kind: u32, value: &[u8]) -> Vec<u8> {
    [string(key), u32(kind), value.to_vec()].concat()
}

fn tensor(name: &str, dims: &[u64], kind: Kind, at: u64) -> Vec<u8> {
    let rank = u32::try_from(dims.len()).expect("few");
    let dims = dims.iter().copied().flat_map(u64).collect();
    [string(name), u32(rank), dims, u32(kind.number()), u64(at)].concat()
}

/// Makes a file of version 3 with this number of bytes of data.
fn gguf(pairs: &[Vec<u8>], tensors: &[Vec<u8>], data: usize) -> Vec<u8> {
    let counts = [tensors.len(), pairs.len()].map(|count| u64(count as u64)).concat();
    let mut bytes = [b"GGUF".to_vec(), u32(3), counts, pairs.concat(), tensors.concat()].concat();
    bytes.resize(bytes.len().next_multiple_of(32), 0);
    bytes.extend(noise(data, 0));
    bytes
}

fn open(bytes: &[u8], options: &Options) -> io::Result<Gguf> {
    Gguf::open(file(bytes), options)
}

/// Returns the error of a file that is not sound.
fn error(bytes: &[u8]) -> String {
    let error = open(bytes, &Options::default()).expect_err("not sound");
    assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
    error.to_string()
}

/// Returns the error of a file that exceeds a limit.
fn limit(bytes: &[u8]) -> String {
    let error = open(bytes, &Options::default()).expect_err("beyond a limit");
    assert_eq!(error.kind(), ErrorKind::QuotaExceeded, "{error}");
    error.to_string()
}

fn elements(source: &Gguf, index: usize) -> Vec<u8> {
    read(source, index).expect("elements")
}

/// A file with a bit of everything.
fn sample() -> Vec<u8> {
    let texts = [u32(STRING), u64(2), string("a\"\n"), string([0xFF])].concat();
    let inner = [u32(U32), u64(1), u32(7)].concat();
    let nested = [u32(ARRAY), u64(2), inner.clone(), inner].concat();
    let pairs = [
        pair("general.architecture", STRING, &string("test")),
        pair("a.count", U32, &u32(3)),
        pair("a.flag", BOOL, &[1]),
        pair("a.texts", ARRAY, &texts),
        pair("a.nested", ARRAY, &nested),
    ];
    let tensors = [
        tensor("plain", &[3, 2], Kind::F32, 0),
        tensor("blocks", &[64, 2], Kind::Q4_0, 32),
        tensor("none", &[0, 5], Kind::F16, 128),
    ];
    gguf(&pairs, &tensors, 32 + 72 + 24)
}

/// Which file of several it is, is known without metadata too, and is not in the metadata.
#[test]
fn files_of_split_models_say_which_they_are() {
    const U16: u32 = 2;
    let u16 = |key: &str, number: u16| pair(key, U16, &number.to_le_bytes());
    let with = |pairs: &[Vec<u8>]| gguf(&[pairs, &[pair("k", U32, &u32(1))]].concat(), &[], 0);
    let file = with(&[u16("split.count", 3), u16("split.no", 2), pair("split.tensors.count", 5, &u32(7))]);
    for options in [Options::default(), PLAIN] {
        let source = open(&file, &options).expect("sound");
        assert_eq!(source.split(), Some(Split { number: 2, count: 3, tensors: Some(7) }));
        let keys: Vec<_> = source.metadata().iter().map(|(key, text)| format!("{key}={text}")).collect();
        let expected = ["gguf.k=uint32:1", "gguf_keys=[\"k\"]"];
        assert_eq!(keys, if options == PLAIN { &[][..] } else { &expected });
    }
    for only in [&[u16("split.count", 1), u16("split.no", 0)][..], &[u16("split.count", 0)], &[]] {
        assert_eq!(open(&with(only), &Options::default()).expect("sound").split(), None);
    }
    let wrong = error(&with(&[u16("split.count", 2), u16("split.no", 2)]));
    assert_eq!(wrong, "metadata value \"split.no\": it is not the number of one of 2 files");
    assert_eq!(error(&with(&[u16("split.count", 2)])), wrong);
    for (pair, reason) in [
        (pair("split.no", 5, &u32(u32::MAX)), "it is not a positive integer"),
        (pair("split.no", STRING, &string("1")), "it is not a positive integer"),
        ([u16("split.no", 1), u16("split.no", 1)].concat(), "the key is duplicate"),
    ] {
        let count = if reason.ends_with("duplicate") { 2 } else { 1 };
        let mut bytes = gguf(&[pair], &[], 0);
        bytes[16] = count;
        let error = open(&bytes, &PLAIN).expect_err(reason).to_string();
        assert_eq!(error, format!("metadata value \"split.no\": {reason}"));
    }
}

#[test]
fn tensors_and_metadata_are_read() {
    let bytes = sample();
    let source = open(&bytes, &Options::default()).expect("sound");
    let tensors: Vec<_> =
        source.tensors().iter().map(|one| (one.name.as_str(), one.dtype, &one.dims[..])).collect();
    assert_eq!(
        tensors,
        [
            ("plain", Dtype::F32, &[2, 3][..]),
            ("blocks", Dtype::F32, &[2, 64][..]),
            ("none", Dtype::F16, &[5, 0][..])
        ]
    );
    assert_eq!(elements(&source, 0), noise(24, 0));
    assert_eq!((elements(&source, 1).len(), elements(&source, 2).len()), (512, 0));
    assert_eq!(source.kind(1), Some(Kind::Q4_0));
    assert_eq!((source.stored_type(0), source.stored_type(1)), (None, Some("Q4_0")));
    let metadata: Vec<_> =
        source.metadata().iter().map(|(key, text)| (key.as_str(), text.as_str())).collect();
    assert_eq!(
        metadata,
        [
            ("gguf.general.architecture", "string:test"),
            ("gguf.a.count", "uint32:3"),
            ("gguf.a.flag", "bool:true"),
            ("gguf.a.texts", r#"array:string["a\"\n",ff]"#),
            ("gguf.a.nested", "array:array[uint32[7],uint32[7]]"),
            ("gguf_keys", r#"["general.architecture","a.count","a.flag","a.texts","a.nested"]"#),
            ("gguf_tensors", r#"["plain","blocks","none"]"#),
        ]
    );
    let raw = open(&bytes, &RAW).expect("sound");
    assert_eq!((raw.tensors()[1].dtype, &raw.tensors()[1].dims[..]), (Dtype::U8, &[2, 36][..]));
    assert_eq!(elements(&raw, 1), noise(128, 0)[32..104]);
    let types = (TYPES.to_owned(), r#"{"blocks":"Q4_0"}"#.to_owned());
    assert_eq!(raw.metadata().last(), Some(&types));
    assert_eq!(open(&bytes, &PLAIN).expect("sound").metadata(), []);
}

/// By checksums of what gguf-py makes of the same blocks, with all NaNs made the same.
#[test]
fn blocks_are_dequantised_as_by_gguf_py() {
    for (kind, sum) in [
        (Kind::Q4_0, 0x66065729),
        (Kind::Q4_1, 0xbaf66d05),
        (Kind::Q5_0, 0xb2f3c773),
        (Kind::Q5_1, 0x1853c486),
        (Kind::Q8_0, 0x9a825434),
        (Kind::Q2_K, 0x972f1797),
        (Kind::Q3_K, 0x59e522c0),
        (Kind::Q4_K, 0xcda6b11c),
        (Kind::Q5_K, 0xb454e5b9),
        (Kind::Q6_K, 0x7e18fb7c),
        (Kind::IQ2_XXS, 0x8bc18b78),
        (Kind::IQ2_XS, 0xab69e6fc),
        (Kind::IQ3_XXS, 0xbbfe3ba6),
        (Kind::IQ1_S, 0xb5482895),
        (Kind::IQ4_NL, 0xbd93aefc),
        (Kind::IQ3_S, 0x71e5e973),
        (Kind::IQ2_S, 0xa78f1d34),
        (Kind::IQ4_XS, 0xce0b07f6),
        (Kind::IQ1_M, 0xf3d03f53),
        (Kind::TQ1_0, 0x967cd30b),
        (Kind::TQ2_0, 0x7081fa20),
        (Kind::MXFP4, 0x98c1adf5),
        (Kind::NVFP4, 0x49ab6081),
    ] {
        let size = |blocks: u64, of: u64| usize::try_from(blocks * of).expect("small");
        let blocks = noise(size(64, kind.block_bytes()), u64::from(kind.number()));
        let mut singles = vec![0; size(64 * 4, kind.block_elements())];
        dequantise(kind, &blocks, &mut singles);
        let mut crc = flate2::Crc::new();
        for single in singles.as_chunks().0 {
            let single = f32::from_le_bytes(*single);
            crc.update(&if single.is_nan() { 0x7FC0_0000u32.to_le_bytes() } else { single.to_le_bytes() });
        }
        assert_eq!(crc.sum(), sum, "{kind}");
    }
}

#[test]
fn buffers_of_any_size_get_the_same_elements() {
    let bytes = gguf(&[], &[tensor("t", &[64, 5], Kind::Q8_0, 0)], 340);
    for quantised in [Quantised::F32, Quantised::F16, Quantised::BF16, Quantised::Raw] {
        let source = open(&bytes, &Options { quantised, without_metadata: false }).expect("sound");
        let whole = elements(&source, 0);
        assert_eq!(
            whole.len() as u64,
            320 * u64::from(source.tensors()[0].dtype.bits()) / 8
                + if quantised == Quantised::Raw { 20 } else { 0 }
        );
        for size in [1, 3, 33, 34, 63, 64, 65, 127, 128, 129, 300, 100_000] {
            let (mut reader, mut buffer, mut all) =
                (source.read(0).expect("open"), vec![0; size], Vec::<u8>::new());
            assert_eq!(reader.read(&mut []).expect("nothing"), 0);
            while let len @ 1.. = reader.read(&mut buffer).expect("elements") {
                all.extend(&buffer[..len]);
            }
            assert_eq!(all, whole, "{quantised:?}, {size}");
        }
    }
}

#[test]
fn files_that_are_truncated_anywhere_are_rejected() {
    let bytes = sample();
    for len in 0..bytes.len() - 24 {
        let message = error(&bytes[..len]);
        let parts = ["bytes needed at byte", "which do not fit", "exceed the"];
        assert!(parts.iter().any(|part| message.contains(part)), "{len}: {message}");
        assert!(open(&bytes[..len], &PLAIN).is_err(), "{len}");
    }
    open(&bytes, &Options::default()).expect("sound");
}

/// A reader must not wait for what a file no longer has.
#[test]
fn files_that_become_shorter_are_an_error() {
    for kind in [Kind::F32, Kind::Q8_0] {
        let file = file(&gguf(&[], &[tensor("t", &[32, 4], kind, 0)], 1024));
        let source = Gguf::open(file.try_clone().expect("open"), &Options::default()).expect("sound");
        file.set_len(100).expect("shorter");
        let message = read(&source, 0).expect_err("shorter").to_string();
        assert!(message.starts_with("tensor \"t\": the file has become shorter"), "{message}");
    }
}

#[test]
fn other_versions_are_rejected() {
    let with = |version: [u8; 4]| [&b"GGUF"[..], &version, &[0; 16]].concat();
    assert_eq!(error(&with([1, 0, 0, 0])), "header: version 1 is not supported; versions 2 and 3 are");
    assert_eq!(error(&with([0, 0, 0, 1])), "header: version 1 has no big-endian files");
    assert_eq!(error(&with([0, 0, 0, 2])), "header: version 2 has no big-endian files");
    assert_eq!(error(&with([4, 0, 0, 0])), "header: version 4 is not supported; versions 2 and 3 are");
    assert_eq!(error(&[b"GGML".to_vec(), u32(3)].concat()), "header: the file does not begin with \"GGUF\"");
    for version in [[2, 0, 0, 0], [3, 0, 0, 0], [0, 0, 0, 3]] {
        assert!(open(&with(version), &Options::default()).expect("no tensors").tensors().is_empty());
    }
}

#[test]
fn counts_that_exceed_the_file_are_rejected() {
    let huge = 1 << 63;
    for (tensors, pairs, what) in [(huge, 0, "tensors"), (0, huge, "keys"), (u64::MAX, u64::MAX, "keys")] {
        let message = error(&[b"GGUF".to_vec(), u32(3), u64(tensors), u64(pairs), vec![0; 100]].concat());
        assert!(message.contains("it claims") && message.contains(what), "{message}");
    }
    let long = |value: Vec<u8>| error(&gguf(&[pair("k", STRING, &value)], &[], 0));
    assert!(long(u64(huge)).starts_with("metadata value \"k\": 9223372036854775808 bytes needed"));
    for kind in [0, U32, STRING, ARRAY] {
        let array = [u32(kind), u64(huge)].concat();
        let message = error(&gguf(&[pair("k", ARRAY, &array)], &[], 0));
        assert!(message.contains("an array claims 9223372036854775808 items"), "{message}");
    }
    let name = [u64(huge), vec![0; 40]].concat();
    assert!(error(&gguf(&[], &[name], 0)).starts_with("tensor 0: 9223372036854775808 bytes needed"));
    let name = gguf(&[], &[tensor(&"n".repeat(65_536), &[], Kind::I8, 0)], 1);
    assert_eq!(limit(&name), "tensor 0: its name has 65536 bytes, at most 65535 are allowed");
}

#[test]
fn too_many_tensors_are_beyond_the_limit() {
    let file = file(&[b"GGUF".to_vec(), u32(3), u64(2_000_001), u64(0)].concat());
    file.set_len(100_000_000).expect("a sparse file");
    let error = Gguf::open(file, &Options::default()).expect_err("too many");
    assert_eq!(error.kind(), ErrorKind::QuotaExceeded);
    assert_eq!(error.to_string(), "header: 2000001 tensors, at most 2000000 are supported");
}

#[test]
fn deep_arrays_are_beyond_the_limit() {
    let deep = |depth: usize| {
        let level = [u32(ARRAY), u64(1)].concat();
        let value = [level.repeat(depth - 1), u32(U32), u64(0)].concat();
        gguf(&[pair("k", ARRAY, &value)], &[], 0)
    };
    open(&deep(64), &Options::default()).expect("64 are allowed");
    assert_eq!(limit(&deep(65)), "metadata value \"k\": its arrays are more than 64 deep");
    assert!(open(&deep(100_000), &PLAIN).is_err());
}

#[test]
fn texts_have_a_limit() {
    let value = string("x".repeat(24 << 20));
    let long = gguf(&[pair("k", STRING, &value)], &[], 0);
    let message = limit(&long);
    assert!(
        message.starts_with("metadata value \"k\": with it, the texts of the metadata are longer"),
        "{message}"
    );
    open(&long, &PLAIN).expect("without metadata");
    // Numbers take more bytes as text.
    let value = [u32(0), u64(8 << 20), vec![255; 8 << 20]].concat();
    assert!(limit(&gguf(&[pair("k", ARRAY, &value)], &[], 0)).contains("longer than 24 MiB"));
}

/// Every tensor may need as much padding.
#[test]
fn alignments_are_limited() {
    let of = |alignment| gguf(&[pair("general.alignment", U32, &u32(alignment))], &[], 0);
    open(&of(1 << 16), &PLAIN).expect("allowed");
    let reason = "the alignment 131072 is too large, at most 65536 is supported";
    assert_eq!(limit(&of(1 << 17)), format!("metadata value \"general.alignment\": {reason}"));
    let pairs = [("gguf.general.alignment".to_owned(), "uint32:131072".to_owned())];
    let error = Plan::new(&[], &pairs).expect_err("too large");
    assert_eq!(error.kind(), ErrorKind::QuotaExceeded);
    assert_eq!(error.to_string(), format!("metadata value \"gguf.general.alignment\": {reason}"));
}

#[test]
fn invalid_metadata_is_rejected() {
    let of = |pairs: &[Vec<u8>]| error(&gguf(pairs, &[], 0));
    let one = || pair("k", U32, &u32(1));
    assert_eq!(of(&[one(), one()]), "metadata value \"k\": the key is duplicate");
    assert_eq!(of(&[pair("k", BOOL, &[2])]), "metadata value \"k\": a boolean is 0 or 1, but this one is 2");
    let array = [u32(BOOL), u64(2), vec![0, 3]].concat();
    assert!(of(&[pair("k", ARRAY, &array)]).contains("this one is 3"));
    assert_eq!(of(&[pair("k", 13, &[0; 8])]), "metadata value \"k\": type 13 is unknown");
    assert!(of(&[pair("k", ARRAY, &[u32(99), u64(0)].concat())]).contains("type 99 is unknown"));
    let key = [string([0xFF, 0xFE]), u32(U32), u32(0)].concat();
    assert_eq!(of(&[key]), "metadata key 0: its text is not UTF-8");
    for (kind, value, part) in [
        (U32, u32(0), "0 is not a power of two"),
        (U32, u32(48), "48 is not a power of two"),
        (10, u64(32), "its type is uint64, not uint32"),
        (STRING, string("32"), "its type is string, not uint32"),
    ] {
        let message = of(&[pair("general.alignment", kind, &value)]);
        assert_eq!(message, format!("metadata value \"general.alignment\": {part}"));
    }
    let twice = [pair("general.alignment", U32, &u32(32)), pair("general.alignment", U32, &u32(32))];
    assert!(open(&gguf(&twice, &[], 0), &PLAIN).expect_err("duplicate").to_string().contains("duplicate"));
}

#[test]
fn invalid_tensors_are_rejected() {
    let of = |tensors: &[Vec<u8>]| error(&gguf(&[], tensors, 96));
    let one = |name, at| tensor(name, &[8], Kind::F32, at);
    assert_eq!(of(&[one("a", 0), one("a", 32)]), "tensor \"a\": the name is duplicate");
    assert_eq!(of(&[one("a", 32), one("b", 32)]), "tensors \"a\" and \"b\" share bytes");
    let long = tensor("b", &[9], Kind::F32, 0);
    assert_eq!(of(&[one("a", 32), long]), "tensors \"b\" and \"a\" share bytes");
    assert_eq!(of(&[one("a", 16)]), "tensor \"a\": its offset 16 is not a multiple of 32");
    assert_eq!(of(&[one("a", 96)]), "tensor \"a\": its 32 bytes at offset 96 exceed the 96 bytes of data");
    assert!(of(&[one("a", u64::MAX - 31)]).contains("exceed the 96 bytes"));
    assert!(of(&[tensor("a", &[1 << 40], Kind::F32, 0)]).contains("exceed the 96 bytes"));
    for dims in [&[1 << 32, 1 << 32][..], &[1 << 63, 2, 0], &[0, 1 << 63, 4], &[1 << 62], &[u64::MAX]] {
        assert!(of(&[tensor("a", dims, Kind::F32, 0)]).contains("more bytes than fit into 64 bits"));
    }
    assert!(of(&[tensor("a", &[33], Kind::Q8_0, 0)]).contains("its rows have 33 elements"));
    assert!(of(&[tensor("a", &[], Kind::Q8_0, 0)]).contains("its rows have 1 elements"));
    assert_eq!(
        of(&[tensor("a", &[32], Kind::Q8_1, 0)]),
        "tensor \"a\": type Q8_1 cannot be made floats; its blocks can be kept (--keep-blocks)"
    );
    assert!(of(&[tensor("__metadata__", &[8], Kind::F32, 0)]).contains("reserves the name"));
    let mut unknown = one("a", 0);
    for (number, part) in [(5, "type 5, Q4_3, has been removed"), (42, "type 42 is unknown")] {
        let at = unknown.len() - 12;
        unknown[at..at + 4].copy_from_slice(&u32(number));
        assert!(of(&[unknown.clone()]).contains(part), "{part}");
    }
    let name = [string([0xFF]), vec![0; 24]].concat();
    assert_eq!(of(&[name]), "tensor 0: its name is not UTF-8");
    let rank = gguf(&[], &[tensor("a", &[1; 9], Kind::F32, 0)], 96);
    assert_eq!(limit(&rank), "tensor \"a\": 9 dims, at most 8 are supported");
}

/// Empty tensors share no bytes with others, wherever they are.
#[test]
fn empty_tensors_may_be_anywhere() {
    let empty = |name| tensor(name, &[4, 0, 3], Kind::F32, 0);
    let bytes = gguf(&[], &[empty("a"), tensor("b", &[8], Kind::F32, 0), empty("c")], 32);
    let source = open(&bytes, &Options::default()).expect("sound");
    assert_eq!([0, 1, 2].map(|index| elements(&source, index).len()), [0, 32, 0]);
}

fn written(source: &Gguf) -> Vec<u8> {
    let plan = Plan::new(source.tensors(), source.metadata()).expect("all of it");
    let len = plan.file_len();
    let bytes = plan.write(source, Vec::new()).expect("a vector takes all");
    assert_eq!(bytes.len() as u64, len);
    bytes
}

#[test]
fn files_are_written_back() {
    let mut bytes = sample();
    // Padding is 0.
    let begin = bytes.len() - 128;
    bytes[begin + 24..begin + 32].fill(0);
    bytes[begin + 104..].fill(0);
    assert!(written(&open(&bytes, &RAW).expect("sound")) == bytes);
    let pairs = [pair("general.alignment", U32, &u32(64))];
    let tensors = [tensor("b", &[8], Kind::F16, 0), tensor("a", &[2, 2], Kind::I64, 64)];
    let bytes = gguf(&pairs, &tensors, 128);
    let source = open(&bytes, &Options::default()).expect("sound");
    // safetensors has them in another order.
    let mut sorted = source.tensors().to_vec();
    sorted.sort_by(|one, other| one.name.cmp(&other.name));
    let (_, list) = source.metadata().last().expect("the list of tensors");
    sort_tensors(list, &mut sorted, |tensor| &tensor.name).expect("a list");
    assert_eq!((sorted.as_slice(), list.as_str()), (source.tensors(), r#"["b","a"]"#));
    let back = open(&written(&source), &Options::default()).expect("sound");
    assert_eq!((source.tensors(), source.metadata()), (back.tensors(), back.metadata()));
    assert_eq!([0, 1].map(|index| elements(&source, index)), [0, 1].map(|index| elements(&back, index)));
}

fn plan_error(dtype: Dtype, dims: &[u64], pairs: &[(&str, &str)]) -> String {
    let tensors = [Tensor { name: "t".to_owned(), dtype, dims: dims.to_vec() }];
    let pairs: Vec<_> = pairs.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect();
    Plan::new(&tensors, &pairs).expect_err("not possible").to_string()
}

#[test]
fn what_cannot_be_written_is_rejected() {
    assert_eq!(
        plan_error(Dtype::BOOL, &[1], &[]),
        "tensor \"t\": GGUF has no type for elements of dtype BOOL"
    );
    assert_eq!(plan_error(Dtype::U8, &[18], &[]), "tensor \"t\": GGUF has no type for elements of dtype U8");
    assert!(plan_error(Dtype::F32, &[1; 9], &[]).contains("9 dims, at most 8"));
    assert!(plan_error(Dtype::F64, &[1 << 62, 2], &[]).contains("64 bits"));
    let types = |text| plan_error(Dtype::U8, &[20], &[(TYPES, text)]);
    assert!(types(r#"{"t":"Q4_0"}"#).contains("its rows have 20 bytes, but blocks of Q4_0 have 18"));
    assert!(types(r#"{"t":"F32"}"#).contains("the type of tensor \"t\" is not quantised"));
    assert!(types(r#"{"t":"Q4_1","u":"Q4_1"}"#).contains("no tensor has the name \"u\""));
    for invalid in ["", "{", "{\"t\"}", "{\"t\":\"Q4_1\"", "{\"t\":\"Q4_1\"} ", "{,}", "[]"] {
        assert!(types(invalid).contains("gguf_types"), "{invalid}");
    }
    assert!(plan_error(Dtype::F32, &[1], &[(TYPES, r#"{"t":"Q4_0"}"#)]).contains("blocks of Q4_0 are U8"));
    for invalid in ["", "[\"a\"", "[\"a\" ,\"b\"]", "[a]"] {
        assert!(plan_error(Dtype::F32, &[1], &[("gguf_keys", invalid)]).contains("gguf_keys"), "{invalid}");
    }
    for invalid in ["uint32:33", "uint64:32", "32", "string:32"] {
        let message = plan_error(Dtype::F32, &[1], &[("gguf.general.alignment", invalid)]);
        assert!(message.contains("power of two"), "{message}");
    }
}

#[test]
fn invalid_texts_are_rejected() {
    for text in [
        "",
        "uint32",
        "uint32:",
        "uint8:256",
        "uint8:-1",
        "int8:1.0",
        "bool:1",
        "float32:0xg",
        "float32:x",
        "nothing:1",
        "float32:0x123456789",
        "string-hex:f",
        "string-hex:FF",
        "array:",
        "array:uint8",
        "array:uint8[",
        "array:uint8[1",
        "array:uint8[1,",
        "array:uint8[1,]",
        "array:uint8[1]]",
        "array:uint8[1] ",
        "array:uint8[1 2]",
        "array:string[a]",
        "array:string[\"a]",
        "array:string[\"\\x\"]",
        "array:string[\"\\u12\"]",
        "array:string[\"\\ud800\"]",
        "array:string[]x",
        "array:string[,]",
        "array:array[1]",
        "array:array[uint8[1]",
        "array:nothing[]",
        "array:string[\"\\u+123\"]",
    ] {
        let message = plan_error(Dtype::F32, &[1], &[("gguf.k", text)]);
        assert!(message.starts_with("metadata value \"gguf.k\": "), "{text}: {message}");
    }
    let deep = format!("array:{}uint8[]", "array[".repeat(100_000));
    assert!(plan_error(Dtype::F32, &[1], &[("gguf.k", &deep)]).contains("64 deep"));
}

#[test]
fn untyped_metadata_is_named() {
    let pairs = [("format", "pt"), ("gguf.k", "uint8:1"), ("gguf_keys", "[]")];
    let pairs = pairs.map(|(key, text)| (key.to_owned(), text.to_owned()));
    let plan = Plan::new(&[], &pairs).expect("no tensors");
    assert_eq!(plan.left_out().collect::<Vec<_>>(), ["format"]);
}

#[test]
fn tensors_with_other_lengths_are_not_written() {
    let tensors = [Tensor { name: "t".to_owned(), dtype: Dtype::F32, dims: vec![2] }];
    let begin = || Plan::new(&tensors, &[]).and_then(|plan| plan.begin(Vec::new())).expect("a plan");
    let write =
        |writer: &mut Writer<'_, _>, len| writer.write_with::<io::Error>(|out| out.write_all(&[0; 9][..len]));
    for len in [7, 9] {
        let message = write(&mut begin(), len).expect_err("another length").to_string();
        assert_eq!(message, format!("tensor \"t\": {len} bytes are given, but it has 8"));
    }
    assert!(begin().finish().is_err());
    let mut writer = begin();
    write(&mut writer, 8).expect("the same length");
    assert!(write(&mut writer, 0).is_err());
    assert_eq!(writer.finish().expect("complete").len(), 64 + 32);
}
