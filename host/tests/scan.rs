//! `safetensors scan`: pickles wherever they are, verdicts and exit codes.
#![cfg(unix)]

use crate::numpy::{Entry, zip};
use crate::support::{Place, Run, sound};
use serde_json::{Value, json};
use std::fs;

const EVIL: &[u8] = b"cos\nsystem\n(S'echo'\ntR.";
const DICT: &[u8] = b"\x80\x02ccollections\nOrderedDict\nq\0)Rq\x01.";

fn scan(place: &Place, arguments: &[&str]) -> Run {
    place.run([&["scan"], arguments].concat())
}

/// The JSON about one file, and the exit code.
fn judged(contents: &[u8]) -> (Option<i32>, Value) {
    let place = Place::new();
    place.put("m", contents);
    let run = scan(&place, &["m", "--json"]);
    (run.code, run.json())
}

#[test]
fn all_others_are_not() {
    let place = Place::new();
    place.put("plain.pkl", b"\x80\x02}q\0.").put("m.safetensors", &sound());
    let lines = "plain.pkl: ok, 1 pickle, no import\nm.safetensors: ok, no pickle\n";
    scan(&place, &["plain.pkl", "m.safetensors"]).is(0, lines, "");
    let names: String = (0..1500).map(|number| format!("cm\n{number}\n0")).collect();
    place.put("m.pkl", format!("{names}N.").as_bytes());
    let begin = "m.pkl: not allowed, 1 pickle, 1,500 of 1,500 uses of names not on the closed list\n";
    assert!(scan(&place, &["m.pkl"]).out.starts_with(begin));
    let eval = b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93\x8c\x011\x85R.";
    let (code, line) = judged(eval);
    assert_eq!((code, &line["ok"]), (Some(1), &json!(false)));
    let expected = json!({"use": "import", "opcode": "STACK_GLOBAL", "module": "builtins", "name": "eval",
        "listed": false, "at": 18, "pickle": 0, "times": 1});
    assert_eq!(line["pickles"][0]["findings"][0], expected);
}

/// Whatever a file is called and whatever else it is, what a loader would execute is found.
#[test]
fn pickles_are_found_where_they_are() {
    let entry = |name: &str| zip(&[Entry::deflated(name, EVIL), Entry::stored("m/data/0", &[7; 64])]);
    let nested = zip(&[Entry::stored("inner.zip", &entry("x.bin"))]);
    let proto = [b"\x80\x02", EVIL].concat();
    let objects = [&b"\x93NUMPY\x01\0\x10\0{'descr': '|O'} "[..], &proto].concat();
    for (contents, place) in [
        (entry("m/data.pkl"), json!(["m/data.pkl"])),
        (zip(&[Entry::stored("m/whatever", &proto)]), json!(["m/whatever"])),
        (zip(&[Entry::stored("a.npy", &objects)]), json!(["a.npy"])),
        (objects.clone(), json!([])),
        // Also a pickle that begins like a GGUF: `G` pushes a float of the next 8 bytes.
        ([&b"GGUF\x03\0\0\0\0"[..], EVIL].concat(), json!([])),
        ([DICT, EVIL].concat(), json!([])),
        (EVIL[..EVIL.len() - 1].to_vec(), json!([])),
    ] {
        let (code, line) = judged(&contents);
        assert_eq!(code, Some(1), "{line}");
        assert_eq!(line["pickles"][0]["entry"], place, "{line}");
        let text = line.to_string();
        assert!(text.contains("\"system\""), "{text}");
    }
    // A pickle of protocol 0 has no beginning of its own, and the name is not that of a pickle.
    let (code, line) = judged(&nested);
    assert_eq!((code, &line["pickles"][0]["entry"]), (Some(1), &json!(["inner.zip", "x.bin"])));
}

/// Elements can look like a pickle, whose names would be strange, and whose end would be missing.
#[test]
fn elements_of_tensors_are_no_pickles() {
    let with =
        |elements: &[u8]| zip(&[Entry::stored("m/data.pkl", DICT), Entry::stored("m/data/0", elements)]);
    for elements in [
        // An import of no name, or of a number.
        &b"c\x01\n\x02\n."[..],
        b"NN\x93)R\x82\x01\0",
        // The float 66,565, and other elements that begin like a pickle.
        b"\x80\x02\x82\x47",
        b"\x80\x02N.NN\x93\x93.",
        b"\x80\x04cos\nname\n\xFF",
        b"\x80\x04cwhatever",
        b"\x80\x02\x95\x01\0\0\0\0\0\0\0cos\nname\n.",
        b"\x80\x02Nr\xFF\xFF\xFF\xFFp4294967296\n.",
        DICT,
    ] {
        let (code, line) = judged(&with(elements));
        assert_eq!((code, &line["pickles"][1]), (Some(0), &Value::Null), "{elements:?}");
    }
    let named = b"\x80\x02ccollections\nOrderedDict\n0NN\x93.";
    for elements in [EVIL, &[DICT, EVIL].concat(), &[EVIL, b"\xFF"].concat(), named] {
        let (code, line) = judged(&with(elements));
        assert_eq!((code, &line["pickles"][1]["entry"]), (Some(1), &json!(["m/data/0"])), "{elements:?}");
    }
    // They are no elements if they are called pickles, or have none beside them.
    let unfinished = [b"\x80\x02", &EVIL[..EVIL.len() - 1]].concat();
    for names in [["m/data.pkl", "m/data/0.pkl"], ["m/data.txt", "m/data/0"], ["m/x.pkl", "m/data/0"]] {
        let archive = zip(&[Entry::stored(names[0], DICT), Entry::stored(names[1], &unfinished)]);
        assert!(judged(&archive).0 == Some(1), "{names:?}");
    }
}

/// Nothing in a checkpoint of TensorFlow is a pickle; its data have no beginning of their own.
#[test]
fn checkpoints_of_tensorflow_are_no_pickles() {
    let place = Place::new();
    let index = [&[0; 40][..], &0xDB47_7524_8B80_FB57_u64.to_le_bytes()].concat();
    place.put("m.index", &index).put("m.data-00000-of-00002", b"N.N").put("n.data-00000-of-00001", b"N.N");
    place.put("m.data-00001-of-00002", EVIL).put("n.index", b"not an index");
    let run = scan(&place, &["m.index", "m.data-00000-of-00002"]);
    run.is(0, "m.index: ok, no pickle\nm.data-00000-of-00002: ok, no pickle\n", "");
    for file in ["n.data-00000-of-00001", "m.data-00001-of-00002", "n.index"] {
        assert_eq!(scan(&place, &[file]).code, Some(1), "{file}");
    }
}

/// Files of formats without pickles are named as the other commands name them.
#[test]
fn other_formats_are_named() {
    let place = Place::new();
    place.put("page", b"<!DOCTYPE html><p>Not found").put("text", b"none");
    place.put("m.gz", b"\x1F\x8B\x08\0\0\0\0\0\0\x03\x4B\x04\0");
    let begin = "not a pickle that can be read, nor an archive or a model\n  ";
    let page =
        "it looks like an HTML page, such as the error or the login of a web server: download the file again";
    scan(&place, &["page"]).is(1, &format!("page: {begin}{page}\n"), "");
    let gzip = "it looks like a file compressed with gzip: decompress it with `gunzip`";
    scan(&place, &["m.gz"]).is(1, &format!("m.gz: {begin}{gzip}\n"), "");
    let text = "byte 0x6e at byte 0 of the pickle is not an opcode";
    scan(&place, &["text"]).is(1, &format!("text: {begin}{text}\n"), "");
    // Not what an entry is in.
    place.put("m.zip", &zip(&[Entry::stored("b.txt", b"b"), Entry::stored("a.pkl", b"none")]));
    scan(&place, &["m.zip"]).is(1, &format!("m.zip: {begin}\"a.pkl\": {text}\n"), "");
    let json = scan(&place, &["--json", "m.gz"]).out;
    assert!(json.contains("gunzip"), "{json}");
}

/// An entry that cannot be unpacked is named with its compression.
#[test]
fn other_compressions_are_named() {
    let mut archive = zip(&[Entry::stored("a.pkl", b"BZh91AY"), Entry::stored("b.txt", b"b")]);
    for (signature, method) in [(b"PK\x03\x04", 8), (b"PK\x01\x02", 10)] {
        let at = archive.windows(4).position(|window| window == signature).expect("a header");
        archive[at + method] = 12;
    }
    let (code, line) = judged(&archive);
    let sentence = line["message"].as_str().expect("a sentence");
    assert!(code == Some(1) && sentence.contains("\"a.pkl\" is compressed by method 12 (bzip2)"), "{line}");
}

/// An archive in an archive comes first, as the sentence says.
#[test]
fn nested_entries_are_named_from_the_inside() {
    let place = Place::new();
    let inner = zip(&[Entry::stored("m/data.pkl", &EVIL[..EVIL.len() - 1])]);
    place.put("m.zip", &zip(&[Entry::stored("inner.pt", &inner)]));
    let run = scan(&place, &["m.zip"]);
    assert!(run.out.contains("\"m/data.pkl\" in \"inner.pt\"\n"), "{run:?}");
    assert!(run.out.contains("\n  \"m/data.pkl\" in \"inner.pt\": the pickle ends"), "{run:?}");
}

/// numpy evaluates headers as Python does, which has many spellings for the same name.
#[test]
fn objects_in_arrays_are_found_however_they_are_spelled() {
    let header = |text: &str| {
        let len = u16::try_from(text.len()).expect("short").to_le_bytes();
        [b"\x93NUMPY\x01\0", &len[..], text.as_bytes()].concat()
    };
    let spaces = " ".repeat(5000);
    for descr in
        ["'object'", "'>O'", "'=O'", "'\\x4f'", "'|' 'O'", "[('a', 'object')]", &format!("{spaces}'O'")]
    {
        let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (1,), }}\n");
        let array = [&header(&text)[..], EVIL].concat();
        for contents in [zip(&[Entry::stored("a.npy", &array)]), zip(&[Entry::deflated("a", &array)]), array]
        {
            let (code, line) = judged(&contents);
            assert_eq!(code, Some(1), "{descr}: {line}");
            // The header may be the line of a `PERSID` in a pickle that begins with the archive.
            let last = line["pickles"].as_array().and_then(|all| all.last()).expect("pickles");
            assert_eq!(last["begin"], json!(10 + text.len()), "{descr}: {line}");
        }
    }
    // Numbers, also those that `convert` does not read, and texts.
    for (descr, data) in [
        ("'<f4'", EVIL),
        ("'<c16'", &[0; 16][..]),
        ("'<U5'", b"N\0\0\0.\0\0\0"),
        ("[('a', '<f4')]", b"\x82\x01\0\0"),
        ("[('Open', '<f8')]", &[0x41; 8]),
        ("'<c8'", b"\0|O\0\0\0\0\0"),
    ] {
        let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (1,), }}\n");
        let (code, line) = judged(&[&header(&text)[..], data].concat());
        assert_eq!((code, &line["pickles"]), (Some(0), &json!([])), "{descr}");
    }
}

/// `str("os")` is a name that the scan does not know.
#[test]
fn names_that_are_computed_are_found_in_files_of_other_formats() {
    let text = |text: &str| {
        let len = u32::try_from(text.len()).expect("short").to_le_bytes();
        [&b"cbuiltins\nstr\n(X"[..], &len, text.as_bytes(), b"tR"].concat()
    };
    let call = [&text("os")[..], &text("system"), b"\x93(X\x02\0\0\0idtR."].concat();
    let whole = |begin: &[u8], call: &[u8]| [begin, call].concat();
    // Neither long lines nor many items hide what follows.
    for before in [format!("V{}\n0", "a".repeat(1 << 17)), "N".repeat(1 << 22), "Nr\n\n\n\n".to_owned()] {
        let (code, line) = judged(&[b"GGUF\x03\0\0\0\0", before.as_bytes(), EVIL].concat());
        assert!(code == Some(1) && line.to_string().contains("\"system\""), "{line}");
    }
    let memo: Vec<u8> =
        (0..20_000_u32).flat_map(|at| [&b"r"[..], &(at << 12).to_le_bytes()].concat()).collect();
    assert_eq!(judged(&[b"GGUF\x03\0\0\0\0N", &memo[..], EVIL].concat()).0, Some(2));
    let unfinished = &call[..call.len() - 1];
    for contents in [
        whole(b"GGUF\x03\0\0\0\0", &call),
        whole(b"GGUF\x03\0\0\0\0", unfinished),
        whole(b"X\x04\0\0\0\0\0\0{", &call),
        zip(&[Entry::stored("m/whatever", &call)]),
        zip(&[Entry::stored("m/whatever", unfinished)]),
    ] {
        let (code, line) = judged(&contents);
        let uses = line["pickles"][0]["findings"].as_array().expect("findings");
        let is_unknown = |one: &Value| one["use"] == json!("import") && one["name"] == Value::Null;
        assert!(code == Some(1) && uses.iter().any(is_unknown), "{line}");
    }
}

/// Python reads arguments that files of PyTorch never have, and imports before it finds an error.
#[test]
fn whatever_python_reads_does_not_hide_what_follows() {
    let array = b"\x93NUMPY\x01\0\x3C\0{'descr': '|\\x4f', 'fortran_order': False, 'shape': (1,), }\n";
    for before in ["I+1\n0", "I 1\n0", "I1_0\n0", "I0x10\n0", "L 1L\n0", "Np+1\n0", "Np 1\n0", "V\\ud800\n0"]
    {
        let pickle = [before.as_bytes(), EVIL].concat();
        for contents in [
            [b"GGUF\x03\0\0\0\0", &pickle[..]].concat(),
            [b"X\x04\0\0\0\0\0\0{", &pickle[..]].concat(),
            [&array[..], &pickle].concat(),
            zip(&[Entry::stored("m/y", &[b"\x80\x02", &pickle[..]].concat())]),
        ] {
            let (code, line) = judged(&contents);
            assert!(code == Some(1) && line.to_string().contains("\"system\""), "{before:?}: {line}");
        }
    }
    // What is imported first exists, whatever follows.
    for import in
        ["cos\n\x01\n", "cos.\x01\na\n", "cos\na", "cosX", &format!("cos.{}\na\n", "a".repeat(1 << 17))]
    {
        let (code, line) = judged(&[b"GGUF\x03\0\0\0\0", import.as_bytes()].concat());
        assert!(code == Some(1) && line.to_string().contains("\"os"), "{import:.20}: {line}");
    }
    // Python's own machine imports `os` here: it drops what is left of a frame before a length or a line.
    let frame = b"GGUF\x03\0\0\0\0\x95\x06\0\0\0\0\0\0\0cxxxxxos\nsystem\n";
    assert_eq!(judged(frame).0, Some(1));
    // Two indices that are not the same, and a memo whose last names are not kept.
    let texts = b"Vos\np4294967295\n0Vsystem\np4294967296\n0g4294967295\ng4294967296\n\x93(Vid\ntR.";
    assert_eq!(judged(texts).0, Some(2));
    let names = b"U\x02os\x94U\x06system\x94j\0\0\x08\0j\x01\0\x08\0\x93(Vid\ntR\xFF";
    let full = [b"GGUF\x03\0\0\0\0U\x01a", &vec![0x94; 1 << 19][..], names].concat();
    assert_eq!(judged(&full).0, Some(1));
}

/// Other programs read archives that are damaged, or that follow something else.
#[test]
fn pickles_in_damaged_archives_are_found() {
    let whole = zip(&[Entry::stored("m/data.pkl", EVIL), Entry::stored("m/data/0", &[7; 64])]);
    let deflated = zip(&[Entry::deflated("m/data.pkl", &[EVIL, &[b'0'; 100]].concat())]);
    let damaged = |archive: &[u8], find: &[u8], put: &[u8]| {
        let at = archive.windows(find.len()).rposition(|window| window == find).expect("it is there");
        [&archive[..at], put, &archive[at + find.len()..]].concat()
    };
    let two = zip(&[Entry::stored("m/data.pkl", DICT), Entry::stored("m/data.pk_", EVIL)]);
    for (contents, what) in [
        (damaged(&whole, b"m/data.pkl", b"m/data.txt"), "another name in the list"),
        (damaged(&damaged(&two, b"pk_", b"pkl"), b"pk_", b"pkl"), "a name twice"),
        (damaged(&whole, EVIL, &[EVIL[..EVIL.len() - 2].to_vec(), b"0.".to_vec()].concat()), "a wrong sum"),
        (damaged(&whole, b"PK\x05\x06", b"PK\x05\x07"), "no end"),
        ([b"garbage\n", &whole[..]].concat(), "after garbage"),
        ([DICT, &whole].concat(), "after a pickle"),
        ([b"garbage\n", &deflated[..]].concat(), "deflated, after garbage"),
    ] {
        let (code, line) = judged(&contents);
        assert_eq!(code, Some(1), "{what}: {line}");
        assert!(line.to_string().contains("\"system\""), "{what}: {line}");
    }
    assert_eq!(judged(&damaged(&whole, EVIL, &[b'.'; 23])).0, Some(1));
}

/// Only pickles are counted, not archives that cannot be read.
#[test]
fn damaged_archives_are_no_pickles() {
    let place = Place::new();
    let broken = |at: usize| (format!("n{at}"), [&b"PK\x05\x06"[..], &[0; 100]].concat());
    let all: Vec<_> = (0..3).map(broken).chain([("a.pkl".to_owned(), DICT.to_vec())]).collect();
    place.put("m.zip", &zip(&all.iter().map(|(name, bytes)| Entry::stored(name, bytes)).collect::<Vec<_>>()));
    let run = scan(&place, &["m.zip"]);
    let begin = "m.zip: not scanned completely, 1 pickle, 2 uses of names on the closed list\n";
    assert!(run.code == Some(1) && run.out.starts_with(begin), "{run:?}");
}

#[test]
fn other_files_and_damaged_ones_have_a_reason() {
    for (contents, code, reason) in [
        (&b"\x80\x02}q\0"[..], 1, "\"problem\":{"),
        (b"not a pickle", 1, "it looks like a text"),
        (b"import os\nprint(1)\n", 1, "\"findings\":[],\"problem\":{\"at\":19,"),
        (b"\x82\x01\xFF", 1, "\"findings\":[]"),
        (b"PK\x03\x04 torn", 1, "\"error\":\"pickle\""),
        (b"", 1, "\"problem\":{"),
    ] {
        let (found, line) = judged(contents);
        assert!(found == Some(code) && line.to_string().contains(reason), "{line}");
    }
    let place = Place::new();
    place.refuses("scan none", 2, "none: cannot be read: no such file or directory");
    fs::create_dir(place.path("empty")).expect("a directory");
    let error = "empty: contains no file with a suffix of pickles, such as .pt, .bin and .pkl\n";
    scan(&place, &["empty"]).is(2, "", error);
    place.put("empty/a.bin", DICT).put("empty/b.txt", EVIL);
    let line = "empty/a.bin: ok, 1 pickle, 2 uses of names, all on the closed list\n";
    scan(&place, &["empty"]).is(0, line, "");
    place.put("empty/.hidden/.a.bin", DICT);
    let line = format!("empty/.hidden/.a.bin{}{line}", line.trim_start_matches("empty/a.bin"));
    scan(&place, &["empty"]).is(0, &line, "");
    place.put("empty/EVIL.PT", EVIL);
    let run = scan(&place, &["empty"]);
    assert!(run.code == Some(1) && run.out.contains("\nempty/EVIL.PT: not allowed"), "{run:?}");
    let run = place.run_piped(["scan", "-"], EVIL);
    assert!(run.code == Some(1) && run.out.starts_with("-: not allowed"), "{run:?}");
}

/// Old files of PyTorch have elements after their pickles.
#[test]
fn elements_after_old_pickles_are_none() {
    let number = b"\x8A\nl\xFC\x9CF\xF9 j\xA8P\x19.";
    let frame = b"\x80\x04\x95\x0D\0\0\0\0\0\0\0";
    let oldest = b"L119547037146038801333356L\n.";
    for magic in [[&b"\x80\x02"[..], number], [b"\x80\x03", number], [frame, number], [b"", oldest]] {
        let magic = magic.concat();
        let pickles: [&[u8]; 5] = [&magic, b"\x80\x02M\xE9\x03.", b"\x80\x02}.", DICT, b"\x80\x02]."];
        let old = |elements: &[u8]| judged(&[&pickles.concat()[..], elements].concat()).0;
        assert_eq!(old(&[0xFF; 100]), Some(0));
        // The number of elements begins like `EXT1`, `EXT2`, `EXT4`, `GLOBAL` and `INST`.
        for count in [0x82_u64, 0x183, 0x284, 99, 105] {
            let elements = [&count.to_le_bytes()[..], b"\n\n\0\0", &[7; 500]].concat();
            assert_eq!(old(&elements), Some(0), "{count}");
        }
        assert_eq!(old(EVIL), Some(1));
    }
    assert_eq!(judged(&[DICT, &[0xFF; 100]].concat()).0, Some(1));
}

/// Neither nesting nor the size of an inner archive makes the scan endless.
#[test]
fn deep_archives_exceed_a_limit() {
    let mut archive = zip(&[Entry::stored("x.pkl", DICT)]);
    for _ in 0..4 {
        archive = zip(&[Entry::stored("inner", &archive)]);
    }
    assert_eq!(judged(&archive).0, Some(0));
    let (code, line) = judged(&zip(&[Entry::stored("inner", &archive)]));
    assert_eq!((code, &line["error"]), (Some(2), &json!("limit")));
}
