//! Files that are sound, and files that are not.

use super::quants::{dequantise, is_supported};
use super::{Gguf, Kind, Options, Plan, RawTypes, Split, TYPES, Writer, sort_tensors};
use crate::samples::{file, noise, read};
use crate::source::{Tensor, TensorSource};
use embedded_safetensors::Dtype;
use std::io::{self, ErrorKind, Read};

const U32: u32 = 4;
const BOOL: u32 = 7;
const STRING: u32 = 8;
const ARRAY: u32 = 9;

const RAW: Options = Options { keep_blocks: true, without_metadata: false };
const PLAIN: Options = Options { keep_blocks: false, without_metadata: true };

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

/// Returns the error of a file, which has this kind.
fn error_of(bytes: &[u8], kind: ErrorKind) -> String {
    let error = open(bytes, &Options::default()).expect_err("rejected");
    assert_eq!(error.kind(), kind, "{error}");
    error.to_string()
}

fn error(bytes: &[u8]) -> String {
    error_of(bytes, ErrorKind::InvalidData)
}

fn limit(bytes: &[u8]) -> String {
    error_of(bytes, ErrorKind::QuotaExceeded)
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
    let key = |key: &str, number: u8| pair(&format!("split.{key}"), 0, &[number]);
    let with = |pairs: &[Vec<u8>]| gguf(&[pairs, &[pair("k", U32, &u32(1))]].concat(), &[], 0);
    let part = with(&[key("count", 3), key("no", 2), key("tensors.count", 7)]);
    let keys =
        [("gguf.k", "uint32:1"), ("gguf_keys", "[\"k\"]")].map(|(key, text)| (key.into(), text.into()));
    for (options, keys) in [(Options::default(), &keys[..]), (PLAIN, &[])] {
        let source = open(&part, &options).expect("sound");
        assert_eq!(source.split(), Some(Split { number: 2, count: 3, tensors: Some(7) }));
        assert_eq!(source.metadata(), keys);
    }
    for only in [&[key("count", 1), key("no", 0)][..], &[key("count", 0)], &[]] {
        assert_eq!(open(&with(only), &Options::default()).expect("sound").split(), None);
    }
    for (pairs, reason) in [
        (&[key("count", 2), key("no", 2)][..], "it is not the number of one of 2 files"),
        (&[key("count", 2)], "it is not the number of one of 2 files"),
        (&[pair("split.no", 5, &u32(u32::MAX))], "it is not a positive integer"),
        (&[pair("split.no", STRING, &string("1"))], "it is not a positive integer"),
        (&[key("no", 1), key("no", 1)], "the key is duplicate"),
    ] {
        let error = open(&gguf(pairs, &[], 0), &PLAIN).expect_err(reason).to_string();
        assert_eq!(error, format!("metadata value \"split.no\": {reason}"));
    }
}

#[test]
fn tensors_and_metadata_are_read() {
    let bytes = sample();
    let source = open(&bytes, &Options::default()).expect("sound");
    let tensors = source.tensors().iter().map(|one| format!("{} {} {:?}", one.name, one.dtype, one.dims));
    assert_eq!(tensors.collect::<Vec<_>>(), ["plain F32 [2, 3]", "blocks F32 [2, 64]", "none F16 [5, 0]"]);
    assert_eq!(elements(&source, 0), noise(24, 0));
    assert_eq!((elements(&source, 1).len(), elements(&source, 2).len()), (512, 0));
    assert_eq!((source.stored_type(0), source.stored_type(1)), (None, Some("Q4_0")));
    let metadata = source.metadata().iter().map(|(key, text)| format!("{key}={text}"));
    assert_eq!(
        metadata.collect::<Vec<_>>(),
        [
            "gguf.general.architecture=string:test",
            "gguf.a.count=uint32:3",
            "gguf.a.flag=bool:true",
            r#"gguf.a.texts=array:string["a\"\n",ff]"#,
            "gguf.a.nested=array:array[uint32[7],uint32[7]]",
            r#"gguf_keys=["general.architecture","a.count","a.flag","a.texts","a.nested"]"#,
            r#"gguf_tensors=["plain","blocks","none"]"#,
        ]
    );
    let raw = open(&bytes, &RAW).expect("sound");
    assert_eq!((raw.tensors()[1].dtype, &raw.tensors()[1].dims[..]), (Dtype::U8, &[2, 36][..]));
    assert_eq!(elements(&raw, 1), noise(128, 0)[32..104]);
    let types = (TYPES.to_owned(), r#"{"blocks":"Q4_0"}"#.to_owned());
    assert_eq!(raw.metadata().last(), Some(&types));
    assert_eq!(RawTypes::list([("blocks", Kind::Q4_0)].into_iter()), Some(types.1));
    assert_eq!(RawTypes::list(std::iter::empty()), None);
    assert_eq!(open(&bytes, &PLAIN).expect("sound").metadata(), []);
}

/// By checksums of what gguf-py makes of the same blocks, with all NaNs made the same.
#[test]
fn blocks_are_dequantised_as_by_gguf_py() {
    let sums: [u32; 23] = [
        0x66065729, 0xbaf66d05, 0xb2f3c773, 0x1853c486, 0x9a825434, 0x972f1797, 0x59e522c0, 0xcda6b11c,
        0xb454e5b9, 0x7e18fb7c, 0x8bc18b78, 0xab69e6fc, 0xbbfe3ba6, 0xb5482895, 0xbd93aefc, 0x71e5e973,
        0xa78f1d34, 0xce0b07f6, 0xf3d03f53, 0x967cd30b, 0x7081fa20, 0x98c1adf5, 0x49ab6081,
    ];
    let kinds: Vec<Kind> = Kind::ALL.iter().copied().filter(|kind| is_supported(*kind)).collect();
    assert_eq!(kinds.len(), sums.len());
    for (kind, sum) in kinds.into_iter().zip(sums) {
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
    for (options, len) in [(Options::default(), 1280), (RAW, 340)] {
        let source = open(&bytes, &options).expect("sound");
        let whole = elements(&source, 0);
        assert_eq!(whole.len(), len);
        for size in [1, 3, 33, 34, 63, 64, 65, 127, 128, 129, 300, 100_000] {
            let (mut reader, mut all) = (source.read(0).expect("open"), Vec::new());
            assert_eq!(reader.read(&mut []).expect("nothing"), 0);
            while reader.by_ref().take(size).read_to_end(&mut all).expect("elements") > 0 {}
            assert_eq!(all, whole, "{options:?}, {size}");
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
    for (version, reason) in [
        ([1, 0, 0, 0], "version 1 is not supported; versions 2 and 3 are"),
        ([0, 0, 0, 1], "version 1 has no big-endian files"),
        ([0, 0, 0, 2], "version 2 has no big-endian files"),
        ([4, 0, 0, 0], "version 4 is not supported; versions 2 and 3 are"),
    ] {
        assert_eq!(error(&with(version)), format!("header: {reason}"));
    }
    assert_eq!(error(&[b"GGML".to_vec(), u32(3)].concat()), "header: the file does not begin with \"GGUF\"");
    for version in [[2, 0, 0, 0], [3, 0, 0, 0], [0, 0, 0, 3]] {
        assert!(open(&with(version), &Options::default()).expect("no tensors").tensors().is_empty());
    }
}

#[test]
fn counts_that_exceed_the_file_are_rejected() {
    let huge = 1 << 63;
    let header = |tensors, pairs| [b"GGUF".to_vec(), u32(3), u64(tensors), u64(pairs), vec![0; 100]].concat();
    let key = |kind, value: &[u8]| gguf(&[pair("k", kind, value)], &[], 0);
    let array = |kind| key(ARRAY, &[u32(kind), u64(huge)].concat());
    for (bytes, sentence) in [
        (header(huge, 0), "header: it claims 9223372036854775808 tensors, which do not fit the 100 bytes"),
        (header(0, huge), "header: it claims 9223372036854775808 keys, which do not fit the 100 bytes"),
        (header(u64::MAX, u64::MAX), "header: it claims 18446744073709551615 keys"),
        (key(STRING, &u64(huge)), "metadata value \"k\": 9223372036854775808 bytes needed at byte"),
        (array(0), "metadata value \"k\": an array claims 9223372036854775808 items of type uint8"),
        (array(STRING), "metadata value \"k\": an array claims 9223372036854775808 items of type string"),
        (array(ARRAY), "metadata value \"k\": an array claims 9223372036854775808 items of type array"),
        (gguf(&[], &[[u64(huge), vec![0; 40]].concat()], 0), "tensor 0: 9223372036854775808 bytes needed"),
    ] {
        let message = error(&bytes);
        assert!(message.starts_with(sentence), "{message}");
    }
    let name = gguf(&[], &[tensor(&"n".repeat(65_536), &[], Kind::I8, 0)], 1);
    assert_eq!(limit(&name), "tensor 0: byte 32: a text has 65536 bytes, at most 65535 are allowed");
    let file = file(&[b"GGUF".to_vec(), u32(3), u64(2_000_001), u64(0)].concat());
    file.set_len(100_000_000).expect("a sparse file");
    let error = Gguf::open(file, &Options::default()).expect_err("too many");
    assert_eq!(error.kind(), ErrorKind::QuotaExceeded);
    assert_eq!(error.to_string(), "header: 2000001 tensors, at most 2000000 are supported");
}

#[test]
fn depth_and_length_of_texts_are_limited() {
    let key = |kind, value: &[u8]| gguf(&[pair("k", kind, value)], &[], 0);
    let deep = |depth: usize| {
        key(ARRAY, &[[u32(ARRAY), u64(1)].concat().repeat(depth - 1), u32(U32), u64(0)].concat())
    };
    open(&deep(64), &Options::default()).expect("64 are allowed");
    assert_eq!(limit(&deep(65)), "metadata value \"k\": its arrays are more than 64 deep");
    assert!(open(&deep(100_000), &PLAIN).is_err());
    // Numbers take more bytes as text.
    let numbers = [u32(0), u64(8 << 20), vec![255; 8 << 20]].concat();
    for long in [key(STRING, &string("x".repeat(24 << 20))), key(ARRAY, &numbers)] {
        let message = limit(&long);
        assert!(message.contains("with it, the texts of the metadata are longer than 24 MiB"), "{message}");
        open(&long, &PLAIN).expect("without metadata");
    }
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
    let array = |kind: u32, items: &[u8]| pair("k", ARRAY, &[&u32(kind)[..], &u64(2), items].concat());
    let alignment = |kind, value: &[u8]| pair("general.alignment", kind, value);
    for (pairs, sentence) in [
        (&[pair("k", U32, &u32(1)), pair("k", U32, &u32(1))][..], "value \"k\": the key is duplicate"),
        (&[pair("k", BOOL, &[2])], "value \"k\": a boolean is 0 or 1, but this one is 2"),
        (&[array(BOOL, &[0, 3])], "value \"k\": a boolean is 0 or 1, but this one is 3"),
        (&[pair("k", 13, &[0; 8])], "value \"k\": type 13 is unknown"),
        (&[array(99, &[])], "value \"k\": type 99 is unknown"),
        (&[[string([0xFF, 0xFE]), u32(U32), u32(0)].concat()], "key 0: byte 32: a text is not UTF-8"),
        (&[alignment(U32, &u32(0))], "value \"general.alignment\": 0 is not a power of two"),
        (&[alignment(U32, &u32(48))], "value \"general.alignment\": 48 is not a power of two"),
        (&[alignment(10, &u64(32))], "value \"general.alignment\": its type is uint64, not uint32"),
        (&[alignment(STRING, &string("32"))], "value \"general.alignment\": its type is string, not uint32"),
    ] {
        assert_eq!(error(&gguf(pairs, &[], 0)), format!("metadata {sentence}"));
    }
    let twice = [alignment(U32, &u32(32)), alignment(U32, &u32(32))];
    assert!(open(&gguf(&twice, &[], 0), &PLAIN).expect_err("duplicate").to_string().contains("duplicate"));
}

#[test]
fn invalid_tensors_are_rejected() {
    let at = |name, at| tensor(name, &[8], Kind::F32, at);
    let of = |kind, dims: &[u64]| tensor("a", dims, kind, 0);
    let unknown = |number| [string("a"), u32(1), u64(8), u32(number), u64(0)].concat();
    let (kept, none) = ("its blocks can be kept (--keep-blocks)", "more bytes than fit into 64 bits");
    for (tensors, sentence) in [
        (&[at("a", 0), at("a", 32)][..], "\"a\": the name is duplicate"),
        (&[at("a", 32), at("b", 32)], "s \"a\" and \"b\" share bytes"),
        (&[at("a", 32), tensor("b", &[9], Kind::F32, 0)], "s \"b\" and \"a\" share bytes"),
        (&[at("a", 16)], "\"a\": its offset 16 is not a multiple of 32"),
        (&[at("a", 96)], "\"a\": its 32 bytes at offset 96 exceed the 96 bytes of data"),
        (&[at("a", u64::MAX - 31)], "exceed the 96 bytes of data"),
        (&[of(Kind::F32, &[1 << 40])], "exceed the 96 bytes of data"),
        (&[of(Kind::F32, &[1 << 32, 1 << 32])], none),
        (&[of(Kind::F32, &[1 << 63, 2, 0])], none),
        (&[of(Kind::F32, &[0, 1 << 63, 4])], none),
        (&[of(Kind::F32, &[1 << 62])], none),
        (&[of(Kind::F32, &[u64::MAX])], none),
        (&[of(Kind::Q8_0, &[33])], "its rows have 33 elements, but blocks of Q8_0 have 32"),
        (&[of(Kind::Q8_0, &[])], "its rows have 1 elements, but blocks of Q8_0 have 32"),
        (&[of(Kind::Q8_1, &[32])], kept),
        (&[tensor("__metadata__", &[8], Kind::F32, 0)], "0: safetensors reserves the name \"__metadata__\""),
        (&[unknown(5)], "\"a\": type 5, Q4_3, has been removed from the format"),
        (&[unknown(42)], "\"a\": type 42 is unknown"),
        (&[[string([0xFF]), vec![0; 24]].concat()], "0: byte 32: a text is not UTF-8"),
    ] {
        let message = error(&gguf(&[], tensors, 96));
        assert!(message.starts_with("tensor") && message.ends_with(sentence), "{message}");
    }
    let rank = gguf(&[], &[of(Kind::F32, &[1; 9])], 96);
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
    let types = |text| (Dtype::U8, &[20][..], TYPES, text);
    let of = |dtype, dims: &'static [u64]| (dtype, dims, "gguf.k", "uint8:1");
    let alignment = |text| (Dtype::F32, &[1][..], "gguf.general.alignment", text);
    for ((dtype, dims, key, text), part) in [
        (of(Dtype::BOOL, &[1]), "tensor \"t\": GGUF has no type for elements of dtype BOOL"),
        (of(Dtype::F32, &[1; 9]), "9 dims, at most 8"),
        (of(Dtype::F64, &[1 << 62, 2]), "64 bits"),
        (types(r#"{"t":"Q4_0"}"#), "its rows have 20 bytes, but blocks of Q4_0 have 18"),
        (types(r#"{"t":"Q4_1","t":"Q4_1"}"#), "tensor \"t\" has two types"),
        (types(r#"{"t":"F32"}"#), "the type of tensor \"t\" is not quantised"),
        (types(r#"{"t":"Q4_1","u":"Q4_1"}"#), "no tensor has the name \"u\""),
        ((Dtype::F32, &[1][..], TYPES, r#"{"t":"Q4_0"}"#), "blocks of Q4_0 are U8"),
        (alignment("uint32:33"), "\"uint32:33\" is not a uint32 that is a power of two"),
        (alignment("uint64:32"), "power of two"),
        (alignment("32"), "power of two"),
    ] {
        let message = plan_error(dtype, dims, &[(key, text)]);
        assert!(message.contains(part), "{message}");
    }
    for (key, texts) in [
        (TYPES, "|{|{\"t\"}|{\"t\":\"Q4_1\"|{\"t\":\"Q4_1\"} |{,}|[]"),
        ("gguf_keys", "|[\"a\"|[\"a\" ,\"b\"]|[a]"),
        (
            "gguf.k",
            "|uint32|uint32:|uint8:256|uint8:-1|int8:1.0|int8:128|int8:-129|uint16:-0|bool:1|float32:0xg|\
             float32:x|nothing:1|float32:0x123456789|string-hex:f|string-hex:FF|\
             array:|array:uint8|array:uint8[|array:uint8[1|array:uint8[1,|array:uint8[1,]|array:uint8[1]]|\
             array:uint8[1] |array:uint8[1 2]|array:string[a]\
             |array:string[\"a]|array:string[\"\\x\"]|array:string[\"\\u12\"]|array:string[\"\\ud800\"]\
             |array:string[]x|array:string[,]|array:array[1]|array:array[uint8[1]|array:nothing[]\
             |array:string[\"\\u+123\"]",
        ),
    ] {
        for text in texts.split('|') {
            let message = plan_error(Dtype::F32, &[1], &[(key, text)]);
            assert!(message.starts_with(&format!("metadata value \"{key}\": ")), "{text}: {message}");
        }
    }
    let deep = format!("array:{}uint8[]", "array[".repeat(100_000));
    assert!(plan_error(Dtype::F32, &[1], &[("gguf.k", &deep)]).contains("64 deep"));
}

#[test]
fn tensors_with_other_lengths_and_untyped_keys_are_not_written() {
    let tensors = [Tensor { name: "t".to_owned(), dtype: Dtype::F32, dims: vec![2] }];
    let begin = || Plan::new(&tensors, &[]).and_then(|plan| plan.begin(Vec::new())).expect("a plan");
    let write =
        |writer: &mut Writer<'_, _>, len| writer.write_with::<io::Error>(|out| out.write_all(&[0; 9][..len]));
    for len in [7, 9] {
        let message = write(&mut begin(), len).expect_err("another length").to_string();
        assert_eq!(message, format!("tensor \"t\": {len} bytes are given, but it has 8"));
    }
    assert!(begin().finish().is_err());
    let pairs = [("format", "pt"), ("gguf.k", "uint8:1"), ("gguf_keys", "[]"), ("gguf_tensors", "[]")];
    let pairs = pairs.map(|(key, text)| (key.to_owned(), text.to_owned()));
    let plan = Plan::new(&[], &pairs).expect("no tensors");
    assert_eq!(plan.left_out().collect::<Vec<_>>(), ["format"], "it has no type");
    let mut writer = begin();
    write(&mut writer, 8).expect("the same length");
    assert!(write(&mut writer, 0).is_err());
    assert_eq!(writer.finish().expect("complete").len(), 64 + 32);
}
