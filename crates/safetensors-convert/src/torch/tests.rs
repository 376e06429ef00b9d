//! Files that are damaged, or made to mislead.

use super::{Checkpoint, Options};
use crate::pickle::{Opcode, scan};
use crate::samples::{file, read};
use crate::source::TensorSource;
use crate::zip::Archive;
use std::io::{self, ErrorKind};

/// The pickles before the object in the format before 1.6.
const BEFORE: &[u8] = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}.";

fn zip_of(entries: &[(&str, &[u8])], is_deflated: bool) -> Vec<u8> {
    let mut archive = Archive::new(Vec::new(), is_deflated);
    for (name, bytes) in entries {
        archive.add::<io::Error>(name, |out| out.write_all(bytes)).expect("written");
    }
    archive.finish().expect("written")
}

/// Returns an archive with a pickle, and a storage of 24 bytes with the key 0.
fn archive(pickle: &[u8]) -> Vec<u8> {
    let storage: Vec<u8> = (0..24).collect();
    zip_of(&[("a/data.pkl", pickle), ("a/data/0", &storage), ("a/version", b"3\n")], false)
}

fn text(text: &str) -> Vec<u8> {
    let len = u32::try_from(text.len()).expect("short").to_le_bytes();
    [b"X", &len[..], text.as_bytes()].concat()
}

/// Returns the opcodes of a storage: its class, its key and its number of elements, which are opcodes, too.
fn storage(class: &str, key: &str, count: &[u8]) -> Vec<u8> {
    let class = format!("ctorch\n{class}Storage\n");
    [b"(", &text("storage")[..], class.as_bytes(), &text(key), &text("cpu"), count, b"tQ"].concat()
}

/// Returns the opcodes of a tensor of a storage: its offset, shape and strides are opcodes, too.
fn tensor_of(storage: &[u8], offset: &[u8], shape: &[u8], strides: &[u8]) -> Vec<u8> {
    let numbers = [offset, b"(", shape, b"t(", strides, b"t"].concat();
    let end = b"\x89ccollections\nOrderedDict\n)RtR";
    [b"ctorch._utils\n_rebuild_tensor_v2\n(", storage, &numbers, end].concat()
}

fn tensor(offset: &[u8], shape: &[u8], strides: &[u8]) -> Vec<u8> {
    tensor_of(&storage("Float", "0", b"K\x06"), offset, shape, strides)
}

/// Returns the opcodes of a tensor of one element.
fn one() -> Vec<u8> {
    tensor(b"K\0", b"K\x01", b"K\x01")
}

/// Returns such a tensor between other opcodes.
fn one_in(begin: &[u8], end: &[u8]) -> Vec<u8> {
    [begin, &one(), end].concat()
}

/// Returns the pickle of a dictionary with one tensor.
fn pickle(tensor: &[u8]) -> Vec<u8> {
    [b"\x80\x02}", &text("w")[..], tensor, b"s."].concat()
}

/// Returns the pickle of a dictionary with a tensor `w` and a value `v`.
fn with(value: &[u8]) -> Vec<u8> {
    [b"}Vw\n", &one()[..], b"sVv\n", value, b"s."].concat()
}

/// Returns the opcodes of an array of numpy. Its shape, bytes and the state of its dtype are opcodes, too.
fn array(dtype: &str, state: &str, shape: &[u8], bytes: &[u8]) -> Vec<u8> {
    let begin = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\0tC\x01btR(K\x01(";
    let dtype = format!("tcnumpy\ndtype\n(V{dtype}\nI0\nI1\ntR{state}I00\n");
    [begin, shape, dtype.as_bytes(), bytes, b"tb"].concat()
}

/// Returns the opcodes of bytes that are spelled as a text.
fn latin(text: &[u8]) -> Vec<u8> {
    [b"c_codecs\nencode\n(", text, b"Vlatin1\ntR"].concat()
}

fn plain() -> Vec<u8> {
    pickle(&tensor(b"K\0", b"K\x02K\x03", b"K\x03K\x01"))
}

/// Opens a file and reads all of its tensors.
fn all(bytes: &[u8]) -> io::Result<Vec<(String, Vec<u8>)>> {
    let source = Checkpoint::open(file(bytes))?;
    let tensors = source.tensors().iter().enumerate();
    tensors.map(|(index, tensor)| Ok((tensor.name.clone(), read(&source, index)?))).collect()
}

#[track_caller]
fn rejected(bytes: &[u8], kind: ErrorKind, sentence: &str) {
    let error = all(bytes).map(|found| found.len()).expect_err(sentence);
    assert!(error.to_string().contains(sentence), "{error}, not {sentence}");
    assert_eq!(error.kind(), kind, "{error}");
}

fn unsound_pickles<P: AsRef<[u8]>>(cases: &[(P, &str)]) {
    for (pickle, sentence) in cases {
        rejected(&archive(pickle.as_ref()), ErrorKind::InvalidData, sentence);
        rejected(&archive(pickle.as_ref()), ErrorKind::InvalidData, "entry \"a/data.pkl\": ");
    }
}

/// Neither a truncated file nor one with a changed byte causes a panic, or becomes other tensors.
#[test]
fn damaged_files_are_rejected() {
    let sample = [plain(), pickle(b"]"), pickle(b"cnumpy\ndtype\n(X\x02\0\0\0f4I0\nI1\ntRNb")];
    for pickle in &sample {
        for bytes in [archive(pickle), [BEFORE, pickle, b"]."].concat()] {
            for len in 0..bytes.len() {
                let error = all(&bytes[..len]).map(|found| found.len()).expect_err("truncated");
                assert_eq!(error.kind(), ErrorKind::InvalidData, "{len}: {error}");
            }
            for (at, mask) in (0..bytes.len()).flat_map(|at| [(at, 1), (at, 0x80), (at, 0xFF)]) {
                let mut flipped = bytes.clone();
                flipped[at] ^= mask;
                if let Err(error) = all(&flipped) {
                    let kinds = [ErrorKind::InvalidData, ErrorKind::QuotaExceeded];
                    assert!(kinds.contains(&error.kind()), "{at}: {error}");
                }
            }
        }
    }
}

/// Every opcode with its argument missing, and with nothing or the wrong items on the stack.
#[test]
fn every_opcode_alone_is_rejected_or_harmless() {
    let before: [&[u8]; 8] = [b"", b"N", b"K\x01K\x01", b"(", b"]N", b"}NN", b"NN)", b"(NNN"];
    let after: [&[u8]; 6] = [b"", b".", b"\0", b"\0.", b"\0\0\0\0.", b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF."];
    for opcode in Opcode::ALL {
        for (before, after) in before.iter().flat_map(|before| after.map(|after| (before, after))) {
            let pickle = [*before, &[*opcode as u8], after].concat();
            if let Ok(found) = all(&archive(&pickle)) {
                assert!(found.is_empty() && scan(&pickle[..]).expect("read").is_listed(), "{pickle:?}");
            }
        }
    }
}

/// Names outside the list are named with their offset.
#[test]
fn names_and_storages_that_are_not_known_are_rejected() {
    let id = |key: &str, count: &[u8]| [&storage("Float", key, count)[..], b"."].concat();
    let two = |one: &[u8], other: &[u8]| [one, b"0", other, b"."].concat();
    let (floats, doubles) = (storage("Float", "0", b"K\x06"), storage("Double", "0", b"K\x03"));
    let other_dtype = "names storage 0 with another dtype than before";
    unsound_pickles(&[
        (&b"cos\nsystem\n."[..], "GLOBAL at byte 0 of the pickle imports os.system, which is not on the"),
        (b"N0Vos\nVsystem\n\x93.", "STACK_GLOBAL at byte 14 of the pickle imports os."),
        (b"(ios\nsystem\n.", "INST at byte 1 of the pickle is not used in this format"),
        (b"\x82\x01.", "EXT1 at byte 0 of the pickle is not used in this format"),
        (b"P0\n.", "PERSID at byte 0"),
        (b"\x97.", "NEXT_BUFFER at byte 0"),
        (b"NQ.", "has an id that is not a tuple"),
        (b"N)R.", "REDUCE at byte 2 of the pickle calls a value of type None"),
        (b"N}b.", "sets the state of a value of type None"),
        (b"K\x01K\x02\x93.", "imports a name that is not a text"),
        (b"ctorch\nTensor\n}b.", "sets the state of a value of type type"),
        (b"c\x1b[31m\nx\n.", "imports \\u{1b}[31m.x"),
        (&id("1", b"K\x06"), "needs storage 1, which the file does not have"),
        (&id("0", b"K\x05"), "needs 20 bytes of storage 0, which has 24"),
        (&id("../0", b"K\x06"), "is not a number"),
        (&id("00", b"K\x06"), "is not a number"),
        (&id("0", b"\x8a\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F"), "invalid id of a storage"),
        (&id("0", b"K\x06N(t"), "names a view of a storage"),
        (&two(&floats, &doubles), other_dtype),
        (&two(&storage("Untyped", "0", b"K\x18"), &floats), other_dtype),
    ]);
    assert!(all(&archive(&two(&floats, &floats))).is_ok());
}

#[test]
fn unsound_tensors_and_containers_are_rejected() {
    let unknown = "calls torch._utils._rebuild_tensor_v2 in an unknown way";
    let too_large = "shape or strides are too large";
    let view = |offset: &[u8], shape: &[u8], strides: &[u8]| pickle(&tensor(offset, shape, strides));
    unsound_pickles(&[
        (view(b"K\x01", b"K\x06", b"K\x01"), "ends at element 7 of a storage with 6"),
        (view(b"K\0", b"K\x07", b"K\x01"), "ends at element 7"),
        (view(b"K\0", b"K\x03", b"K\x03"), "ends at element 7"),
        (view(b"J\xFF\xFF\xFF\xFF", b"K\x01", b"K\x01"), unknown),
        (view(b"K\0", b"K\x02", b"J\xFF\xFF\xFF\xFF"), unknown),
        (view(b"K\0", b"J\xFF\xFF\xFF\xFF", b"K\x01"), unknown),
        (view(b"K\0", b"K\x02", b"K\x01K\x01"), unknown),
        (view(b"K\0", b"N", b"K\x01"), unknown),
        (view(b"K\0", &b"K\x01".repeat(65), &b"K\x01".repeat(65)), unknown),
        (view(b"K\0", b"\x8a\x08\0\0\0\0\0\0\0\x40", b"K\0"), too_large),
        (view(b"K\0", b"K\x04", b"\x8a\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F"), too_large),
    ]);
    let frame = |len: u64, rest: &[u8]| [b"\x80\x04\x95", &len.to_le_bytes()[..], rest].concat();
    let mutable = |begin: &[u8], end: &[u8]| [begin, b"ccollections\ndeque\n)R", end].concat();
    let again = |key: &[u8]| one_in(b"}K\x01", &[b"s", key, b"Ns."].concat());
    for key in [&b"K\0"[..], b"G?\xF8\0\0\0\0\0\0", b"V1\n", b"N"] {
        assert_eq!(all(&archive(&again(key))).expect("another key").len(), 1);
    }
    let (duplicate, is_mutable) = ("at \"\" has the duplicate key \"w\"", "which Python rejects");
    let part = |callee: &[u8], end: &[u8]| [callee, &storage("Float", "0", b"K\x06"), end].concat();
    unsound_pickles(&[
        // In PyTorch, each becomes a tensor.
        (part(b"ctorch._utils\n_rebuild_parameter\n(", b"\x89)tR."), "_parameter in an unknown way"),
        (part(b"ctorch\nTensor\n", b"\x85R."), "calls torch.Tensor in an unknown way"),
        // PyTorch would replace the elements of the tensor by those that the state names.
        (one_in(b"}Vw\n", b"}Va\nNsbs."), "sets the state of a value of type tensor"),
        (one_in(b"}Vw\n", b"Nbs."), "sets the state of a value of type tensor"),
        // In Python, the later value replaces the tensor, and `OrderedDict.__new__` ignores its arguments.
        (one_in(b"}Vw\n", b"sVw\nK\x01s."), duplicate),
        (again(b"K\x01"), "the dictionary at \"\" has the duplicate key 1"),
        (again(b"\x88"), "has the duplicate key 1"),
        (again(b"G?\xF0\0\0\0\0\0\0"), "has the duplicate key 1"),
        (one_in(b"ccollections\nOrderedDict\n](Vw\n", b"\x86Vw\nK\x01\x86e\x85R."), duplicate),
        (
            one_in(b"ccollections\nOrderedDict\n](Vw\n", b"\x86e\x85\x81."),
            "empty container, but gives arguments",
        ),
        (frame(3, b"N."), "of the pickle contradicts its frame"),
        (frame(u64::MAX, b"N."), "of the pickle contradicts its frame"),
        (frame(1, b"K\x010N."), "opcode at byte 11 of the pickle contradicts its frame, which ends"),
        (b"}]Ns.".to_vec(), "has a key of type list, which Python rejects"),
        (mutable(b"}(", b"Nu."), is_mutable),
        (mutable(b"(", b"Nd."), is_mutable),
        (mutable(b"cbuiltins\ndict\n](", b"N\x86e\x85R."), is_mutable),
    ]);
    assert!(all(&archive(&frame(2, b"N."))).is_ok());
    for (pickle, sentence) in [
        ([one_in(b"}Vw.0\n", b"s"), one_in(b"Vw\n]", b"as.")].concat(), "two tensors have the name"),
        (one_in(b"}V__metadata__\n", b"s."), "which safetensors reserves"),
    ] {
        rejected(&archive(&pickle), ErrorKind::InvalidData, sentence);
    }
}

#[test]
fn archives_of_other_programs_are_rejected() {
    let plain = plain();
    let with = |name: &str| zip_of(&[("a/data.pkl", &plain), ("a/data/0", &[0; 24]), (name, b"1")], false);
    assert!(all(&zip_of(&[("a/data.pkl", &plain), ("a/data/0", &[0; 24])], false)).is_ok());
    for (name, sentence) in [
        ("a/constants.pkl", "TorchScript"),
        ("a/code/x.py", "TorchScript"),
        ("a/other", "is not part of a file that torch.save writes"),
        ("a/data/x", "a storage key that is not a number"),
        ("a/data/01", "a storage key that is not a number"),
        ("b/data/1", "is not in the directory"),
        ("a/../x", "unsafe name"),
        ("a/data/0", "two entries"),
    ] {
        rejected(&with(name), ErrorKind::InvalidData, sentence);
    }
    for (entries, sentence) in [
        (&[("a/data/0", &[0; 24][..])][..], "no entry \"a/data.pkl\""),
        (&[("data.pkl", b"N.")], "is not in a directory"),
        (&[("a/data.pkl", b"N."), ("a/version", b"11\n")], "has the version \"11\""),
        (&[("a/data.pkl", b"N."), ("a/version", &[b'1'; 65])], "has 65 bytes, too many"),
        (&[("a/data.pkl", b"N."), ("a/version", b"\xFF\n")], "entry \"a/version\" is not UTF-8"),
        (&[("a/data.pkl", b"N."), ("a/byteorder", b"pdp")], "unknown byte order \"pdp\""),
        (&[("a/data.pkl", b"N.N.")], "bytes follow the pickle, which ends at 2"),
        (&[("a/data.pkl", b"NN.")], "leaves other values on the stack"),
    ] {
        rejected(&zip_of(entries, false), ErrorKind::InvalidData, sentence);
    }
    let mut tar = vec![b'a'; 600];
    tar[257..262].copy_from_slice(b"ustar");
    rejected(&tar, ErrorKind::InvalidData, "a tar archive");
    let neither = "it is neither an archive nor of the format before 1.6, and as a pickle of arrays: ";
    rejected(b"", ErrorKind::InvalidData, neither);
    rejected(b"N.N.", ErrorKind::InvalidData, &format!("{neither}bytes follow the pickle, which ends at 2"));
    rejected(&super::tests::plain(), ErrorKind::InvalidData, "needs storage 0, which the file does not have");
    rejected(b"PK\x03\x04", ErrorKind::InvalidData, "not a zip archive, or a truncated one");
}

#[test]
fn legacy_storages_must_follow_the_pickle() {
    let storage: Vec<u8> = (0..24).collect();
    let keys = |keys: &str| [b"](", &text(keys)[..], b"e."].concat();
    let file = |list: &[u8], rest: &[u8]| [BEFORE, &plain(), list, rest].concat();
    let data = |count: u64, bytes: &[u8]| [&count.to_le_bytes()[..], bytes].concat();
    let whole = file(&keys("0"), &data(6, &storage));
    assert_eq!(all(&whole).expect("a file"), [("w".to_owned(), storage.clone())]);
    for (bytes, sentence) in [
        (file(&keys("1"), &data(6, &storage)), "storage \"1\" at byte"),
        (file(b"].", b""), "storage 0 of the pickle is missing"),
        (file(&[b"](", &text("0")[..], &text("0"), b"e."].concat(), b""), "or a duplicate"),
        (file(&keys("0"), &data(7, &storage)), "has 7 elements, but the pickle says 6"),
        (file(&keys("0"), &data(u64::MAX, &storage)), "but the pickle says 6"),
        (file(&keys("0"), &data(6, &storage[..23])), "within storage 0"),
        (file(&keys("0"), &data(6, &storage)[..7]), "before storage 0"),
        (file(&keys("0"), &data(6, &[&storage[..], b"x"].concat())), "1 bytes follow the last storage"),
        (file(b"cos\nsystem\n.", b""), "not expected in a list of keys"),
        ([&BEFORE[..15], b"\x80\x02K\x01."].concat(), "another version"),
        ([&BEFORE[..15], b"\x80\x02M\xe9\x03.cos\nsystem\n)R."].concat(), "GLOBAL at byte 21"),
    ] {
        rejected(&bytes, ErrorKind::InvalidData, sentence);
    }
}

#[test]
fn values_that_contain_themselves_end() {
    let (beyond, sentence) = (ErrorKind::QuotaExceeded, "nested more than 200 deep, or contain themselves");
    // The last is its own attributes.
    for pickle in ["]q\0h\0a.", "}q\0Va\nh\0s.", "(]q\0(h\0h\0eh\0t.", "}q\0Va\nNsh\0b."] {
        rejected(&archive(pickle.as_bytes()), beyond, sentence);
    }
    rejected(&archive(b"\x8fq\0(h\0\x90."), beyond, sentence);
    // Each list contains the one before twice: 2^40 values.
    let mut bomb = b"]q\0".to_vec();
    for _ in 0..40 {
        bomb.extend(b"0](h\0h\0eq\0");
    }
    bomb.push(b'.');
    rejected(&archive(&bomb), beyond, "values, counted where they occur");
    let deep = [b"]".repeat(100_000), b"a".repeat(99_999), b".".to_vec()].concat();
    rejected(&archive(&deep), beyond, "nested more than 200 deep");
}

#[test]
fn what_is_too_large_is_beyond_the_limit() {
    let beyond = ErrorKind::QuotaExceeded;
    let stack = [&b"(".repeat((1 << 21) + 1)[..], b"."].concat();
    rejected(&archive(&stack), beyond, "the stack has more than 2097152 items");
    let texts = [b"](".to_vec(), text(&"x".repeat(4000)).repeat(12_000), b"e.".to_vec()].concat();
    rejected(&archive(&texts), beyond, "the values of the pickle take");
    rejected(&zip_of(&[("a/data.pkl", &texts)], true), beyond, "the values of the pickle take");
    rejected(&archive(b"Nr\xFF\xFF\xFF\x7F."), beyond, "has an index beyond 67108863");
    // Views that nothing needs any more stay in memory.
    let ones = b"K\x01".repeat(62);
    let view = tensor(b"K\0", &[b"K\x02K\x02", &ones[..]].concat(), &[b"K\x01K\x02", &ones[..]].concat());
    let views = [&view[..view.len() - 1], b"q\x000q\x010", &b"h\x01h\0R0".repeat(40_000), b"N."].concat();
    rejected(&archive(&views), beyond, "the values of the pickle take");
    // Tensors without elements are not tied, and each has a shape of its own.
    let empty = tensor(b"K\0", &[b"K\0", &b"K\x01".repeat(63)[..]].concat(), &b"K\x01".repeat(64));
    let lists = [b"]", &empty[..], b"q\x000(", &b"h\0".repeat(400), b"eq\x010](", &b"h\x01".repeat(400)];
    let lists = [&lists.concat()[..], b"e."].concat();
    rejected(&archive(&lists), beyond, "tensors of the same views have more than 8388608 axes");
    let expanded = tensor(b"K\0", b"J\0\0\0\x40K\x06", b"K\0K\x01");
    rejected(&archive(&pickle(&expanded)), beyond, "but are views of 24 bytes");
}

/// Only the types of a history of losses, or of a list of words, matter.
#[test]
fn long_lists_of_plain_values_take_no_memory() {
    let values = [&b"G?\xF0\0\0\0\0\0\0"[..], b"K\x07", b"J\0\0\0\x01", &text(&"x".repeat(100))].concat();
    let appended = [b"(", &values.repeat(250)[..], b"e"].concat().repeat(1200);
    let pickle = with(&[b"]", &appended[..]].concat());
    let source = Checkpoint::open(file(&archive(&pickle))).expect("a list");
    assert_eq!((source.tensors().len(), source.left_out_count()), (1, 1_200_000));
    let kinds: Vec<_> = source.left_out().iter().take(4).map(|value| &*value.kind).collect();
    assert_eq!(kinds, ["float", "int", "int", "str"]);
    // A tensor among them has its name.
    let mixed = [b"](", &b"K\x01".repeat(100)[..], &one(), b"e."].concat();
    assert_eq!(all(&archive(&mixed)).expect("a list")[0].0, "100");
}

/// Protocol 2 gives some of them the names that they had in Python 2.
#[test]
fn harmless_types_are_left_out() {
    for (value, kind) in [
        (&b"ccollections\ndefaultdict\nc__builtin__\nlong\n\x85R"[..], "dict"),
        (b"c__builtin__\nunicode\n", "type"),
        (b"c__builtin__\ncomplex\nG?\xF0\0\0\0\0\0\0K\0\x86R", "complex"),
        (b"c__builtin__\nbytearray\nVa\nVlatin-1\n\x86R", "bytearray"),
        (b"c__builtin__\nxrange\nK\0K\x05K\x01\x87R", "range"),
        (b"cbuiltins\nslice\nNNK\x02\x87R", "slice"),
        (b"ccollections\ndeque\n)K\x05\x86R(K\x01K\x02e", "deque"),
        // The versions of modules are not worth a line.
        (b"ccollections\nOrderedDict\n)R}X\x09\0\0\0_metadata}X\x01\0\0\0aK\x01ssb", "dict"),
    ] {
        let source = Checkpoint::open(file(&archive(&with(value)))).expect(kind);
        assert_eq!((source.tensors().len(), &*source.left_out()[0].kind), (1, kind));
        assert_eq!(source.left_out_count(), 1);
        assert!(scan(&with(value)[..]).expect("read").is_listed());
    }
    let counter = with(b"ccollections\nCounter\n}Va\nK\x02s\x85R");
    let source = Checkpoint::open(file(&archive(&counter))).expect("a counter");
    assert_eq!(source.left_out()[0].path, "v.a");
    unsound_pickles(&[
        (one_in(b"ccollections\ndeque\n)R", b"a."), "it is in a set or a deque"),
        (one_in(b"ccollections\ndeque\n](", b"e\x85R."), "in an unknown way"),
        (one_in(b"cbuiltins\nslice\nNN", b"\x87R."), "in an unknown way"),
        (one_in(b"ccollections\nCounter\n]", b"a\x85R."), "in an unknown way"),
    ]);
}

/// Whatever is no tensor is left out, and a class can be the key of one.
#[test]
fn objects_of_other_classes_are_left_out() {
    let open = |pickle: &[u8], skip_unsupported| {
        let options = Options { skip_unsupported, ..Options::default() };
        Checkpoint::open_with(file(&archive(pickle)), options)
    };
    for (value, kind) in [
        (&b"cargparse\nNamespace\n)\x81}X\x02\0\0\0lrG?\xF0\0\0\0\0\0\0sb"[..], "argparse.Namespace"),
        (b"cpathlib\nPosixPath\n(X\x01\0\0\0/tR", "pathlib.PosixPath"),
        (b"cdatetime\ndatetime\n(C\x0A\x07\xE8\x01\x01\0\0\0\0\0\0tR", "datetime.datetime"),
        (b"clightning\nCallback\n", "type"),
        (&array("U1", "(I3\nV<\ntb", b"K\x01", b"C\x04a\0\0\0"), "array of text"),
        (&array("O8", "(I3\nV|\ntb", b"K\x01", b"]Na"), "array of objects"),
    ] {
        let source = open(&with(value), false).expect(kind);
        assert_eq!((source.tensors().len(), &*source.left_out()[0].kind), (1, kind));
    }
    let key = open(&with(&one_in(b"}clightning\nCallback\n}Vbest\n", b"ss")), false);
    assert_eq!(key.expect("a class as a key").metadata()[0].0, "w");
    let sparse =
        [&b"ctorch._utils\n_rebuild_sparse_tensor\n(N("[..], &one(), &one(), b"K\x02K\x03\x86ttR"].concat();
    let namespace = one_in(b"cargparse\nNamespace\n)\x81}Va\n", b"sb");
    let module = one_in(b"cmine\nModule\n)\x81}Va\n", b"sb");
    let (plain, end) = (one(), b"ctorch._utils\n_rebuild_tensor_v2\n".len());
    let (function, arguments) = plain[..plain.len() - 1].split_at(end);
    let typed = b"ctorch._tensor\n_rebuild_from_type_v2\n(";
    let subclass = [&typed[..], function, b"cmine\nKind\n", arguments, b"}tR"].concat();
    let conjugated = [&plain[..plain.len() - 2], b"}Vconj\n\x88stR"].concat();
    // The state of an optimizer has parameters as its keys.
    let as_key = one_in(b"cmine\nModule\n)\x81}", b"Nsb");
    let in_attributes = one_in(b"cmine\nModule\n)\x81ccollections\nOrderedDict\n)R}Va\n", b"sbb");
    for (value, sentence, skipped) in [
        (b"cos\nsystem\nVid\n\x85R".to_vec(), "imports os.system, which is not on", &["os.system"][..]),
        (sparse, ": a sparse tensor, which", &["torch._utils._rebuild_sparse_tensor: a sparse"]),
        (array("c16", "", b"K\x01", b"C\x01."), "a dtype that safetensors", &["an array of a"]),
        // Its objects are in a list; what else has a tensor is not lost.
        (array("O8", "", b"K\x01", &one()), "a dtype that safetensors", &["an array of a"]),
        (namespace, "it is in an object of the class \"argparse.Namespace\"", &["a tensor in that"]),
        (module.clone(), "imports mine.Module", &["mine.Module", "a tensor in that"]),
        (subclass, "imports mine.Kind, which", &["mine.Kind, which is not on the closed list"]),
        (conjugated, "makes a tensor with flags, as for a conjugated", &["a tensor with flags"]),
        (as_key, "imports mine.Module", &["mine.Module", "a tensor in that"]),
        (in_attributes, "imports mine.Module", &["mine.Module", "a tensor in that"]),
    ] {
        unsound_pickles(&[(with(&value), sentence)]);
        let source = open(&with(&value), true).expect("skipped");
        let found: Vec<_> = source.skipped().iter().collect();
        assert!(source.tensors().len() == 1 && found.len() == skipped.len(), "{found:?}");
        assert!(found.iter().zip(skipped).all(|(one, kind)| one.path == "v" && one.kind.starts_with(kind)));
    }
    // A whole module is no list of tensors.
    assert!(open(&[&module[..], b"."].concat(), true).is_err());
}

/// As `pickle.dump` writes them, also of Python 2, whose texts are the bytes of arrays.
#[test]
fn pickles_of_arrays_are_read() {
    let dtype = b"cnumpy\ndtype\n(S'u1'\nI0\nI1\ntR(I3\nS'|'\nNNNI-1\nI-1\nI0\ntb";
    let empty = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR(I1\n(I2\nt";
    let of = |bytes: &[u8]| [b"(dS'w'\n", &empty[..], dtype, b"I00\n", bytes, b"tbs."].concat();
    assert_eq!(all(&of(b"S'\\xff\\x01'\n")).expect("a pickle"), [("w".to_owned(), vec![0xFF, 1])]);
    for bytes in [&b"U\x02\xFF\x01"[..], b"T\x02\0\0\0\xC3\xA9", b"C\x02\xFF\x01", b"X\x02\0\0\0ab"] {
        let end = bytes[bytes.len() - 2..].to_vec();
        assert_eq!(all(&of(bytes)).expect("a pickle"), [("w".to_owned(), end)], "{bytes:?}");
    }
    // To numpy, each character of a text of Python 3 is a byte.
    rejected(&of(b"X\x02\0\0\0\xC3\xA9"), ErrorKind::InvalidData, "an array of other than its 2 bytes");
}

/// A tensor that gets no name is an error wherever it is, so that none is lost.
#[test]
fn tensors_without_names_are_rejected() {
    let of_key = |key: &[u8]| one_in(&[b"}", key].concat(), b"s.");
    let long = |len: usize| text(&"k".repeat(len));
    // Only the tensors of a key that is too long are an error.
    let other = one_in(&[b"}", &long(4097)[..], b"NsVw\n"].concat(), b"s.");
    let empty = b"ccollections\nOrderedDict\n)R";
    let attributes = "has no name: it is in the attributes of a value";
    unsound_pickles(&[
        (one_in(b"}", b"K\x01s."), "has no name: it is in a key of a dictionary"),
        (one_in(b"}", b"\x85K\x01s."), "has no name: it is in a key of a dictionary"),
        (one_in(b"\x8F(", b"\x90."), "has no name: it is in a set"),
        (one_in(&[empty, &b"}Vx\n"[..]].concat(), b"sb."), attributes),
        (one_in(&[empty, &empty[..], b"}Vx\n"].concat(), b"sbVa\nNsb."), attributes),
        (of_key(b"N"), "has no name: its key is of type None, neither a text nor an integer"),
        (of_key(b"C\x01a"), "has no name: its key is of type bytes"),
        (of_key(b"U\x01\xFF"), "has no name: its key is of type bytes"),
        (of_key(b"S'\xFF'\n"), "has no name: its key is of type bytes"),
    ]);
    let named = [of_key(&long(4096)), of_key(b"U\x02\xC3\xA9"), other].map(|pickle| all(&archive(&pickle)));
    assert!(named.iter().all(|found| found.as_ref().expect("a key").len() == 1));
    for (key, sentence) in [
        (long(4097), "its key has more than 4096 bytes"),
        (long(70_000), "its key has more than 4096 bytes"),
        ([&b"V"[..], &b"k".repeat(4097), b"\n"].concat(), "its key has more than 4096 bytes"),
        (b"\x8A\x09\0\0\0\0\0\0\0\0\x01".to_vec(), "its key is an integer beyond 64 bits"),
    ] {
        rejected(&archive(&of_key(&key)), ErrorKind::QuotaExceeded, sentence);
    }
}

/// A few bytes of a pickle cost a bounded amount of work.
#[test]
fn arguments_of_calls_are_limited() {
    unsound_pickles(&[(b"cnumpy\ndtype\n(Vf4\nI0\nI1\nNtR.", "calls numpy.dtype in an unknown way")]);
    let plain = one();
    let flags = [b"}(\x89", &b"2".repeat((1 << 20) - 1)[..], b"uq\x000"].concat();
    let calls = [&plain[..plain.len() - 2], b"h\0tR0"].concat();
    let pickle = |count| [&flags[..], &calls.repeat(count), b"N."].concat();
    assert!(all(&archive(&pickle(1))).expect("few calls").is_empty());
    let many = pickle(65);
    rejected(&archive(&many), ErrorKind::QuotaExceeded, "calls copy too many values");
}

/// A checksum is checked even if only a part of a storage is read.
#[test]
fn views_of_damaged_storages_are_rejected() {
    for is_deflated in [false, true] {
        let entries =
            [("a/data.pkl", &pickle(&tensor(b"K\x01", b"K\x02", b"K\x02"))[..]), ("a/data/0", &[7; 24])];
        let mut bytes = zip_of(&entries, is_deflated);
        assert_eq!(all(&bytes).expect("sound")[0].1, [7; 8]);
        let at = bytes.windows(8).position(|window| window == b"a/data/0").expect("a name") + 8 + 20;
        bytes[at + if is_deflated { 1 } else { 23 }] ^= 1;
        let error = all(&bytes).map(|found| found.len()).expect_err("damaged");
        assert!(error.to_string().starts_with("tensor \"w\": "), "{error}");
    }
}

/// A deflated storage is unpacked once, however many tensors are parts of it.
#[test]
fn parts_of_deflated_storages_are_read() {
    let storage: Vec<u8> = (0..24).collect();
    let parts: [[&[u8]; 4]; 4] = [
        [b"K\x01", b"K\x02", b"K\x01", &storage[4..12]],
        [b"K\x05", b"K\x01", b"K\x01", &storage[20..]],
        [b"K\0", b"K\x02", b"K\x05", &[0, 1, 2, 3, 20, 21, 22, 23]],
        [b"K\0", b"K\x06", b"K\x01", &storage],
    ];
    let tensors = parts.map(|[offset, shape, strides, _]| tensor(offset, shape, strides)).concat();
    let pickle = [b"](", &tensors[..], b"e."].concat();
    for is_deflated in [false, true] {
        let archive = zip_of(&[("a/data.pkl", &pickle), ("a/data/0", &storage)], is_deflated);
        let source = Checkpoint::open(file(&archive)).expect("a checkpoint");
        // In any order, and several times.
        for index in [3, 0, 1, 2, 0] {
            assert_eq!(read(&source, index).expect("read"), parts[index][3], "{index} {is_deflated}");
        }
        let unpacked = source.bytes.spool.file.get().map(|file| file.metadata().expect("a length").len());
        assert_eq!(unpacked, is_deflated.then_some(24));
    }
}

/// Arrays in a pickle may share their bytes, which makes a huge model of a small file. While they are read,
/// errors name the tensor.
#[test]
fn arrays_of_the_same_bytes_are_limited() {
    let bytes = latin(&text(&format!("{}\u{100}", "x".repeat(4999))));
    let invalid = pickle(&array("u1", "", b"M\x88\x13", &bytes));
    let bytes = [text(&"x".repeat(1 << 21)), b"q\x000".to_vec()].concat();
    let of = |count| {
        [&bytes[..], b"](", &array("u1", "", b"J\0\0\x20\0", &latin(b"h\0")).repeat(count), b"e."].concat()
    };
    for is_deflated in [false, true] {
        let archive = |count| zip_of(&[("a/data.pkl", &of(count)[..])], is_deflated);
        let few = all(&archive(2)).expect("arrays");
        assert!(few.iter().all(|(_, bytes)| bytes.len() == 1 << 21) && few.len() == 2);
        rejected(&archive(514), ErrorKind::QuotaExceeded, "but are views of");
        let invalid = zip_of(&[("a/data.pkl", &invalid)], is_deflated);
        rejected(&invalid, ErrorKind::InvalidData, "tensor \"w\": an array in the pickle is spelled as");
    }
}

/// A failed read says nothing about the format.
#[cfg(unix)]
#[test]
fn errors_of_the_system_stay() {
    let directory = tempfile::tempdir().expect("a directory");
    let directory = std::fs::File::open(directory.path()).expect("opened");
    let error = super::legacy::object_at(&directory, 100).expect_err("a directory");
    assert!(error.raw_os_error().is_some(), "{error}");
}

#[test]
fn big_endian_storages_are_reversed() {
    let bytes: Vec<u8> = (0..24).collect();
    for (class, count, width) in
        [("Byte", 24, 1), ("Short", 12, 2), ("Float", 6, 4), ("ComplexFloat", 3, 4), ("Double", 3, 8)]
    {
        let object = tensor_of(&storage(class, "0", &[b'K', count]), b"K\0", &[b'K', count], b"K\x01");
        let entries: [(&str, &[u8]); 3] =
            [("a/data.pkl", &pickle(&object)), ("a/byteorder", b"big"), ("a/data/0", &bytes)];
        let reversed = bytes.chunks(width).flat_map(|number| number.iter().rev().copied()).collect();
        assert_eq!(all(&zip_of(&entries, false)).expect("a file"), [("w".to_owned(), reversed)], "{class}");
    }
}
