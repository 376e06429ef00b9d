//! `safetensors convert` with numpy files: every form, and errors for damaged files.
#![cfg(unix)]

use crate::made::npy;
use crate::support::{Place, convert, model, sound, text};
use flate2::{Compression, Crc, write::DeflateEncoder};
use std::fs;
use std::io::Write;

/// A `.npy` of bytes.
pub fn plain(shape: &str, data: &[u8]) -> Vec<u8> {
    npy("'|u1'", "False", shape, data)
}

/// An entry of an archive and its claims.
#[derive(Clone)]
pub struct Entry {
    name: String,
    method: u16,
    flags: u16,
    crc: u32,
    unpacked: u32,
    packed: u32,
    bytes: Vec<u8>,
    /// The claimed offset of its header, if wrong.
    at: Option<u32>,
    /// The extra field in the list.
    extra: Vec<u8>,
}

impl Entry {
    pub fn stored(name: &str, contents: &[u8]) -> Self {
        let mut crc = Crc::new();
        crc.update(contents);
        let len = u32::try_from(contents.len()).expect("short");
        let (bytes, name) = (contents.to_vec(), name.to_owned());
        Self {
            name,
            method: 0,
            flags: 0,
            crc: crc.sum(),
            unpacked: len,
            packed: len,
            bytes,
            at: None,
            extra: Vec::new(),
        }
    }

    pub fn deflated(name: &str, contents: &[u8]) -> Self {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(contents).expect("writing to a Vec");
        let bytes = encoder.finish().expect("writing to a Vec");
        let packed = u32::try_from(bytes.len()).expect("short");
        Self { method: 8, packed, bytes, ..Self::stored(name, contents) }
    }

    fn fields(&self) -> Vec<u8> {
        let mut fields = [20, self.flags, self.method, 0, 33].map(u16::to_le_bytes).concat();
        fields.extend([self.crc, self.packed, self.unpacked].map(u32::to_le_bytes).concat());
        fields.extend(u16::try_from(self.name.len()).expect("short").to_le_bytes());
        fields.extend([0; 2]);
        fields
    }
}

/// A zip archive of these entries.
pub fn zip(entries: &[Entry]) -> Vec<u8> {
    let (mut archive, mut list) = (Vec::new(), Vec::new());
    for entry in entries {
        let at = entry.at.unwrap_or(u32::try_from(archive.len()).expect("short"));
        archive
            .extend([b"PK\x03\x04", entry.fields().as_slice(), entry.name.as_bytes(), &entry.bytes].concat());
        let (mut fields, extra) = (entry.fields(), u16::try_from(entry.extra.len()).expect("short"));
        fields.splice(fields.len() - 2.., extra.to_le_bytes());
        list.extend([b"PK\x01\x02\x14\0", fields.as_slice(), &[0; 10], &at.to_le_bytes()].concat());
        list.extend([entry.name.as_bytes(), &entry.extra].concat());
    }
    let count = u16::try_from(entries.len()).expect("few").to_le_bytes();
    let [at, len] =
        [archive.len(), list.len()].map(|number| u32::try_from(number).expect("short").to_le_bytes());
    archive.extend(list);
    archive.extend([b"PK\x05\x06\0\0\0\0", &count[..], &count, &len, &at, &[0, 0]].concat());
    archive
}

#[test]
fn arrays_in_every_order() {
    let big: Vec<u8> = (0..6u16).flat_map(|number| (number * 1000).to_be_bytes()).collect();
    for (contents, expected) in [
        (plain("(2, 3)", &[0, 1, 2, 3, 4, 5]), "[[0, 1, 2],\n [3, 4, 5]]\n"),
        (npy("'|u1'", "True", "(2, 3)", &[0, 3, 1, 4, 2, 5]), "[[0, 1, 2],\n [3, 4, 5]]\n"),
        (npy("'>u2'", "False", "(6,)", &big), "[0, 1000, 2000, 3000, 4000, 5000]\n"),
        (npy("'>u2'", "True", "(2, 3)", &big), "[[0, 2000, 4000],\n [1000, 3000, 5000]]\n"),
        (npy("\"<f8\"", "False", "()", &0.1f64.to_le_bytes()), "0.1\n"),
        (npy("'|b1'", "False", "(0, 3)", &[]), "[]\n"),
        (npy("'>c8'", "False", "(1,)", &[0x3F, 0x80, 0, 0, 0xC0, 0, 0, 0]), "[1.0-2.0j]\n"),
    ] {
        let place = Place::new();
        place.put("a.npy", &contents);
        assert_eq!(convert(&place, &["a.npy", "m.safetensors"]).code, Some(0));
        assert_eq!(text(&place, "m.safetensors", "a"), expected);
        // The same in archives of both kinds.
        for entry in [Entry::stored("x/a.npy", &contents), Entry::deflated("x/a.npy", &contents)] {
            place.put("a.npz", &zip(&[entry]));
            assert_eq!(convert(&place, &["a.npz", "n.safetensors", "--force"]).code, Some(0));
            assert_eq!(text(&place, "n.safetensors", "x/a"), expected);
        }
    }
}

/// Expects exit code 1, one line, and no output file.
#[track_caller]
fn is_unsound(name: &str, contents: &[u8], sentence: &str) {
    let place = Place::new();
    place.put(name, contents);
    convert(&place, &[name, "o.safetensors"]).is(1, "", &format!("{name}: numpy: {sentence}\n"));
    assert_eq!(fs::read_dir(place.path(".")).expect("directory").count(), 1, "files are left");
}

#[test]
fn damaged_arrays_are_rejected() {
    let no_array = "not a .npy array: it does not begin with \\x93NUMPY and a version";
    let size = "the array's size does not fit into 64 bits: shape [9999999999, 9999999999]";
    for (contents, sentence) in [
        (Vec::new(), no_array),
        (sound(), no_array),
        (plain("(3,)", &[0; 2]), "the array has 2 bytes after its header, 3 needed"),
        (plain("(3,)", &[0; 4]), "the array has 4 bytes after its header, 3 needed"),
        (plain("(9999999999, 9999999999)", &[]), size),
        (plain("(3,)", &[0; 3])[..20].to_vec(), "the .npy ends after 10 of the 58 bytes of its header"),
    ] {
        is_unsound("a.npy", &contents, sentence);
    }
    let header = "the header of the array";
    for (descr, order, sentence) in [
        ("'|O'", "False", "its elements are Python objects (dtype \"|O\"), which are never loaded"),
        ("'<U1'", "False", "its elements are strings (dtype \"<U1\"), which safetensors does not have"),
        ("'<c16'", "False", "its elements have the dtype \"<c16\", which safetensors does not have"),
        (
            "[('x', '<f4')]",
            "False",
            &format!(
                "{header} describes records, which safetensors does not support: \"[('x', '<f4')], \
                 'fortran_order': False, \"…"
            ),
        ),
        ("exit()", "False", &format!("{header} has \"e\" where a string belongs")),
        ("'<f4'", "0", &format!("{header} has \"0\" where True or False belongs")),
    ] {
        is_unsound("a.npy", &npy(descr, order, "()", &[0; 16]), sentence);
    }
}

#[test]
fn damaged_archives_are_rejected() {
    let array = plain("(4,)", b"abcd");
    assert_eq!(array.len(), 72);
    let (stored, deflated) = (Entry::stored("a.npy", &array), Entry::deflated("a.npy", &array));
    let sum = "the checksum of entry \"a.npy\" is not the one in the archive";
    type Change = fn(&mut Entry);
    let changes: [(&Entry, Change, &str); 10] = [
        (&stored, |entry| entry.flags = 1, "entry \"a.npy\" is encrypted"),
        (
            &stored,
            |entry| entry.method = 12,
            "entry \"a.npy\" is compressed by method 12 (bzip2); only 0 (stored) and 8 (deflated) are supported",
        ),
        (&stored, |entry| entry.crc = 1, sum),
        (&deflated, |entry| entry.crc = 1, sum),
        (
            &stored,
            |entry| entry.unpacked = 73,
            "entry \"a.npy\" is not compressed, but its two sizes differ: 72 and 73 bytes",
        ),
        (
            &stored,
            |entry| (entry.unpacked, entry.packed) = (81, 81),
            "entry \"a.npy\" claims 81 bytes, more than the archive has",
        ),
        (
            &deflated,
            |entry| entry.unpacked = 73,
            "entry \"a.npy\": the array has 5 bytes after its header, 4 needed",
        ),
        (
            &deflated,
            |entry| entry.unpacked = 71,
            "entry \"a.npy\": the array has 3 bytes after its header, 4 needed",
        ),
        (
            &deflated,
            |entry| (entry.bytes, entry.packed) = (vec![7; 9], 9),
            "entry \"a.npy\": entry \"a.npy\" cannot be unpacked",
        ),
        (
            &stored,
            |entry| entry.name = "a.txt".into(),
            "entry \"a.txt\" is not an array: its name does not end with .npy",
        ),
    ];
    for (entry, change, sentence) in changes {
        let mut entry = entry.clone();
        change(&mut entry);
        is_unsound("a.npz", &zip(&[entry]), sentence);
    }
    for name in ["../a.npy", "/a.npy", "c:a.npy"] {
        let entry = Entry { name: name.into(), ..stored.clone() };
        let sentence = format!("the archive has an entry with the unsafe name \"{name}\"");
        is_unsound("a.npz", &zip(&[entry]), &sentence);
    }
    let elsewhere = |name: &str| format!("entry \"{name}\" is not where the archive's list says it is");
    let at = |name: &str, at: u32| Entry { at: Some(at), ..Entry::stored(name, &array) };
    let text = "entry \"a.npy\": not a .npy array: it does not begin with \\x93NUMPY and a version";
    for (entries, sentence) in [
        (vec![stored.clone(), stored.clone()], "the archive has two entries named \"a.npy\""),
        (vec![stored.clone(), at("b.npy", 0)], &elsewhere("b.npy")),
        (vec![stored.clone(), at("a.npy", 3)], &elsewhere("a.npy")),
        (vec![Entry::stored("a.npy", b"text")], text),
    ] {
        is_unsound("a.npz", &zip(&entries), sentence);
    }
    let whole = zip(&[stored]);
    let no_end = "not a zip archive, or a truncated one, which ends without its directory";
    for truncated in [&[], &array[1..], &whole[..whole.len() - 1]] {
        is_unsound("a.npz", truncated, no_end);
    }
    let mut more = whole.clone();
    let count = more.len() - 12;
    more[count] = 9;
    is_unsound("a.npz", &more, "the archive claims 9 entries, which do not fit its list of 51 bytes");
}

/// Its header is inside of another entry: a small archive that unpacks to a large one.
#[test]
fn overlapping_entries_are_rejected() {
    let inner = Entry::stored("b.npy", &plain("(1,)", b"x"));
    let hidden = [b"PK\x03\x04", inner.fields().as_slice(), inner.name.as_bytes(), &inner.bytes].concat();
    let outer = [plain(&format!("({},)", hidden.len()), &[]), hidden].concat();
    let at = outer.windows(4).position(|bytes| bytes == b"PK\x03\x04").expect("a header");
    let at = u32::try_from(35 + at).expect("short");
    // The list contains it again, inside of the first entry.
    let entries = [Entry::stored("a.npy", &outer), Entry { at: Some(at), bytes: Vec::new(), ..inner }];
    is_unsound("a.npz", &zip(&entries), "entries \"a.npy\" and \"b.npy\" of the archive share bytes");
}

/// An archive of one stored entry with these sizes, this offset, and this extra field in its list.
fn listed_as(array: &[u8], packed: u32, unpacked: u32, at: u32, extra: &[u8]) -> Vec<u8> {
    let (at, extra) = (Some(at), extra.to_vec());
    zip(&[Entry { packed, unpacked, at, extra, ..Entry::stored("a.npy", array) }])
}

/// Numbers of 64 bits, as an extra field of a large archive.
fn large(numbers: &[u64]) -> Vec<u8> {
    let len = u16::try_from(8 * numbers.len()).expect("few").to_le_bytes();
    let numbers: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    [&[1, 0], &len[..], &numbers].concat()
}

#[track_caller]
fn is_sound(contents: &[u8]) {
    let place = Place::new();
    place.put("a.npz", contents);
    assert_eq!(convert(&place, &["a.npz", "m.safetensors"]).code, Some(0));
    assert_eq!(text(&place, "m.safetensors", "a"), "[97, 98, 99, 100]\n");
}

#[test]
fn zip64_numbers_are_read_and_checked() {
    let array = plain("(4,)", b"abcd");
    let (len, max) = (array.len() as u64, u32::MAX);
    let other = [&[9, 9, 2, 0, 7, 7], large(&[len, len, 0]).as_slice()].concat();
    is_sound(&listed_as(&array, max, max, max, &large(&[len, len, 0])));
    is_sound(&listed_as(&array, max, max, max, &other));
    let short = u32::try_from(len).expect("short");
    is_sound(&listed_as(&array, short, short, max, &large(&[0])));
    let claims = |bytes: u64| format!("entry \"a.npy\" claims {bytes} bytes, more than the archive has");
    let elsewhere = "entry \"a.npy\" is not where the archive's list says it is";
    let differ = "entry \"a.npy\" is not compressed, but its two sizes differ: 73 and 72 bytes";
    for (contents, sentence) in [
        (listed_as(&array, max, max, 0, &large(&[len + 99, len + 99])), claims(len + 99)),
        (listed_as(&array, max, max, 0, &[]), claims(max.into())),
        (listed_as(&array, max, max, 0, &large(&[len, len])[..9]), claims(max.into())),
        (listed_as(&array, max, max, 0, &large(&[u64::MAX, u64::MAX])), elsewhere.to_owned()),
        (listed_as(&array, short, short, max, &large(&[u64::MAX])), elsewhere.to_owned()),
        (listed_as(&array, short, short, max, &large(&[1 << 63])), elsewhere.to_owned()),
        (listed_as(&array, short, short, max, &[]), elsewhere.to_owned()),
        (listed_as(&array, max, short, 0, &large(&[len + 1])), differ.to_owned()),
    ] {
        is_unsound("a.npz", &contents, &sentence);
    }
}

/// As in numpy, the list decides, except for the name and the offset.
#[test]
fn damaged_entry_headers_are_rejected() {
    let array = plain("(4,)", b"abcd");
    let whole = zip(&[Entry::stored("a.npy", &array)]);
    let with = |at: usize, bytes: &[u8]| {
        let mut changed = whole.clone();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        changed
    };
    // Flags, method, date, sum, and both sizes.
    for (at, bytes) in
        [(6, &[1, 0, 99, 0][..]), (10, &[255; 4]), (14, &[255; 4]), (18, &[255; 8]), (18, &[0; 8])]
    {
        is_sound(&with(at, bytes));
    }
    let elsewhere = "entry \"a.npy\" is not where the archive's list says it is";
    // Another name, a longer one, one longer than the archive, another kind of header.
    for (at, bytes) in [(30, &b"b"[..]), (26, &[6]), (26, &[255, 255]), (28, &[255, 255]), (3, &[2])] {
        is_unsound("a.npz", &with(at, bytes), elsewhere);
    }
    is_unsound("a.npz", &with(28, &[1]), "entry \"a.npy\" claims 72 bytes, more than the archive has");
}

#[test]
fn sizes_may_follow_their_entry() {
    let array = plain("(4,)", b"abcd");
    let mut archive = zip(&[Entry { flags: 8, ..Entry::stored("a.npy", &array) }]);
    archive[14..26].fill(0);
    let end = archive.len() - 22;
    let list = u32::from_le_bytes(archive[end + 16..end + 20].try_into().expect("4 bytes")) as usize;
    let descriptor = [b"PK\x07\x08", &archive[list + 16..list + 28]].concat();
    let moved = u32::try_from(list + descriptor.len()).expect("short").to_le_bytes();
    archive[end + 16..end + 20].copy_from_slice(&moved);
    archive.splice(list..list, descriptor);
    is_sound(&archive);
}

#[test]
fn data_around_archives_is_rejected() {
    let array = plain("(4,)", b"abcd");
    let (one, other) = (Entry::stored("a.npy", &array), Entry::stored("b.npy", &array));
    let whole = zip(std::slice::from_ref(&one));
    is_unsound("a.npz", &[&whole[..], b"x"].concat(), "bytes follow the end of the archive");
    let no_entry = "the archive's list has an invalid entry";
    is_unsound("a.npz", &[&whole[..], &zip(std::slice::from_ref(&other))].concat(), no_entry);
    let moved = "the archive's list is not at byte 107, where its end record says it is";
    is_unsound("a.npz", &[b"#!/bin/sh\n", &whole[..]].concat(), moved);
    // A comment is valid, but not one that contains an end record.
    let mut commented = whole.clone();
    let len = commented.len();
    commented[len - 2] = 22;
    is_sound(&[&commented[..], &[b'x'; 22]].concat());
    is_unsound("a.npz", &[&commented[..], &whole[len - 22..]].concat(), no_entry);
    let mut two = zip(&[one, other]);
    let claimed = two.len() - 12;
    two[claimed] = 1;
    is_unsound("a.npz", &two, "the archive claims 1 entries, but lists 2");
    let mut beyond = whole.clone();
    beyond[len - 4] = 255;
    let sentence = "the archive's list of 51 bytes at byte 16711787 goes beyond its end at 158";
    is_unsound("a.npz", &beyond, sentence);
    for (bytes, sentence) in [
        (52, "the archive's list of 52 bytes at byte 107 goes beyond its end at 158"),
        (50, "the archive's list has 51 bytes, but its end record says 50"),
    ] {
        let mut lying = whole.clone();
        lying[len - 10] = bytes;
        is_unsound("a.npz", &lying, sentence);
    }
}

#[test]
fn missing_and_special_files_are_errors() {
    let place = Place::new();
    fs::create_dir(place.path("dir.npz")).expect("directory");
    convert(&place, &["dir.npz", "o.safetensors"]).fails(2, "dir.npz: contains no *.safetensors");
    std::os::unix::fs::symlink("/dev/zero", place.path("zero.npy")).expect("a link");
    let error = "zero.npy: cannot be read: not a regular file; this format needs random access\n";
    convert(&place, &["zero.npy", "o.safetensors"]).is(2, "", error);
}

/// Bits that were written are read back, also from ml_dtypes, whose arrays numpy calls `V2` and `V1`.
#[test]
fn bits_round_trip() {
    let place = Place::new();
    let rows = [
        ("b", "BF16", &[2][..], vec![0x80, 0x3F, 0x81, 0x7F]),
        ("f", "F8_E5M2", &[3], vec![1, 0x7F, 0xFC]),
        ("u", "U8", &[1], vec![9]),
    ];
    place.put("m.safetensors", &model("", &rows));
    assert_eq!(convert(&place, &["m.safetensors", "m.npz", "--bits"]).code, Some(0));
    let back = ["m.npz", "n.safetensors", "--from-bits", "BF16", "--from-bits", "f8_e5m2=f"];
    let run = convert(&place, &back);
    assert!(run.out.ends_with("\n  read as BF16: \"b\"\n  read as F8_E5M2: \"f\"\n"), "{run:?}");
    assert_eq!(place.run(["diff", "m.safetensors", "n.safetensors"]).code, Some(0));
    // With a cast too.
    let cast = ["m.npz", "f.safetensors", "--from-bits", "BF16", "--to", "F32"];
    assert_eq!(convert(&place, &cast).code, Some(0));
    assert_eq!(text(&place, "f.safetensors", "b"), "[1.0, nan]\n");
    for (descr, dtype, data, expected) in [
        ("<V2", "BF16", &[0x80, 0x3F][..], "[1.0]\n"),
        ("<V1", "F8_E4M3", &[0x38], "[1.0]\n"),
        ("|V1", "F8_E8M0", &[0x7F], "[1.0]\n"),
    ] {
        place.put("a.npy", &npy(&format!("'{descr}'"), "False", "(1,)", data));
        let bits = 8 * data.len();
        let error = format!(
            "a.npy: tensor \"a\": {bits} raw bits per element, the form in which numpy stores unknown \
             dtypes; set the dtype with --from-bits, for example --from-bits {}\n",
            if bits == 16 { "BF16" } else { "F8_E4M3" }
        );
        convert(&place, &["a.npy", "a.safetensors", "--force"]).is(2, "", &error);
        let run = convert(&place, &["a.npy", "a.safetensors", "--force", "--from-bits", dtype]);
        assert_eq!(run.code, Some(0), "{run:?}");
        assert_eq!(text(&place, "a.safetensors", "a"), expected);
        assert!(place.run(["inspect", "a.safetensors"]).out.contains(&format!(" {dtype} ")));
    }
    // ml_dtypes has a name of its own, `f1`, only for F8_E5M2, so its dtype is known.
    place.put("a.npy", &npy("'<f1'", "False", "(1,)", &[0x3C]));
    let error = "a.npy: no selected tensor is U8, the integer with the bits of F8_E4M3\n";
    convert(&place, &["a.npy", "a.safetensors", "--from-bits", "F8_E4M3", "--force"]).is(2, "", error);
    let run = convert(&place, &["a.npy", "a.safetensors", "--force", "--from-bits", "F8_E5M2"]);
    assert_eq!((run.code, text(&place, "a.safetensors", "a").as_str()), (Some(0), "[1.0]\n"));
}

/// An archive may have raw bits of two dtypes, and ordinary integers.
#[test]
fn raw_bits_differ_from_integers() {
    let place = Place::new();
    let entries = [("a.npy", "'<V1'", 0x38), ("b.npy", "'<V1'", 0x40), ("c.npy", "'|u1'", 7)];
    let entries =
        entries.map(|(name, descr, byte)| Entry::stored(name, &npy(descr, "False", "(1,)", &[byte])));
    place.put("m.npz", &zip(&entries));
    let two = ["m.npz", "n.safetensors", "--from-bits", "F8_E4M3=a", "--from-bits", "F8_E4M3FNUZ=b*"];
    let run = convert(&place, &two);
    assert!(run.out.ends_with("\n  read as F8_E4M3: \"a\"\n  read as F8_E4M3FNUZ: \"b\"\n"), "{run:?}");
    let run = convert(&place, &["m.npz", "n.safetensors", "--force", "--from-bits", "F8_E4M3"]);
    assert!(run.out.ends_with("\n  read as F8_E4M3: \"a\", \"b\"\n"), "{run:?}");
    assert_eq!(text(&place, "n.safetensors", "c"), "[7]\n");
    let error = "m.npz: tensor \"a\": F8_E4M3 and F8_E5M2 both match its bits; choose with --from-bits \
        'F8_E4M3=NAME'\n";
    let both = ["m.npz", "o.safetensors", "--from-bits", "F8_E4M3", "--from-bits", "F8_E5M2"];
    convert(&place, &both).is(2, "", error);
}
