//! Every error in a header: the sentence, the excerpt, the carets.

use crate::support::{Place, file, tensor};

/// Checks a file in all four ways, and compares the reports.
#[track_caller]
fn says(contents: &[u8], report: &str) {
    let place = Place::new();
    place.put("m", contents);
    place.run(["check", "m"]).is(1, &format!("m: {report}\n"), "");
    place.run(["decode", "m"]).is(1, "", &format!("m: {report}\n"));
    // Of a pipe, not all bytes that are too many are read.
    let piped = report.replace("continues for 2 bytes", "continues");
    place.run_piped(["check", "-"], contents).is(1, &format!("-: {piped}\n"), "");
    place.run_piped(["decode"], contents).is(1, "", &format!("-: {piped}\n"));
}

/// An error in the text of a header without data: first line, excerpt, carets.
#[track_caller]
fn shows(header: impl AsRef<[u8]>, line: &str, window: &str, carets: &str) {
    says(&file(header, b""), &format!("{line}\n    {window}\n    {carets}"));
}

#[test]
fn of_the_container_and_the_data() {
    let header = format!("{{{}}}", tensor("a", 0, 3));
    for (contents, report) in [
        (
            b"abc".to_vec(),
            "container.short] at byte 3: the file is too short for the 8-byte length of its header",
        ),
        (
            100_000_001_u64.to_le_bytes().to_vec(),
            "container.header-too-large] at byte 0: header too large: its length is 100000001 bytes, at most \
             100000000 are allowed",
        ),
        (
            b"\x64\0\0\0\0\0\0\0{}".to_vec(),
            "container.header-beyond-file] at byte 10: the header has 100 bytes, but the file ends after 2 of them",
        ),
        (
            file(&header, b"x"),
            "data.short] at byte 62: the tensors need 3 bytes of data, but the file has only 1",
        ),
        (
            file(&header, b"12345"),
            "data.trailing] at byte 64: the tensors end after 3 bytes of data, but the file continues for 2 bytes",
        ),
    ] {
        says(&contents, &format!("error[{report}"));
    }
}

/// Headers without data, what is wrong with them, and the carets below their text.
const HEADERS: &str = r##"
{"a":{"dtype":"U8","shape":[1}}
error[json.syntax] at byte 37: tensor "a": unexpected '}' in the JSON of the header
                             ^
{"a":{"dtype":"U8"
error[json.end] at byte 26: tensor "a": the header ends before its JSON text does
                  ^
{"a":{"dtype":"U\q"}}
error[json.escape] at byte 25: tensor "a": unexpected 'q' in an escape sequence
                 ^
{"層a\ud800b":{}}
error[json.surrogate] at byte 14: unpaired surrogate
     ^^^^^^
{"ab":{"x":"\ud83d\ud83d"}}
error[json.surrogate] at byte 20: tensor "ab": unpaired surrogate
            ^^^^^^
{"a":{"dtype":"U8","shape":[01]}}
error[json.number] at byte 37: tensor "a": not a JSON number
                             ^
{"a":{"x":-}}
error[json.number] at byte 19: tensor "a": not a JSON number
           ^
[1,2]
error[header.type] at byte 8: the header is not a JSON object
^
{"a":12}
error[entry.type] at byte 13: tensor "a": the entry is not an object
     ^^
{"a":["U8",[1],[0,1]]}
error[entry.array] at byte 13: tensor "a": the entry is an array, not an object
     ^
{"a":{"dtype":"U8","shape":[]}}
error[entry.missing] at byte 37: tensor "a": the entry has no "data_offsets"
                             ^
{"a":{"dtype":"U8","dtype":"U8"}}
error[entry.repeated] at byte 27: tensor "a": the entry has a duplicate "dtype"
                   ^^^^^^^
{"a":{"dtype":7}}
error[dtype.type] at byte 22: tensor "a": "dtype" is not a string
              ^
{"a":{"dtype":{"F32":null}}}
error[dtype.object] at byte 22: tensor "a": "dtype" is an object, not a string
              ^
{"a":{"shape":"x"}}
error[shape.type] at byte 22: tensor "a": "shape" is not an array
              ^^^
{"a":{"shape":[1,2.5]}}
error[shape.integer] at byte 26: tensor "a": a number in "shape" is not a plain non-negative integer
                  ^
{"a":{"shape":[-5,2]}}
error[shape.integer] at byte 23: tensor "a": a number in "shape" is not a plain non-negative integer
               ^^
{"a":{"shape":[99999999999999999999]}}
error[shape.range] at byte 23: tensor "a": a number in "shape" is larger than 18446744073709551615
               ^^^^^^^^^^^^^^^^^^^^
{"a":{"data_offsets":[1]}}
error[offsets.count] at byte 31: tensor "a": "data_offsets" does not have exactly two numbers
                       ^
{"a":{"data_offsets":[1,2,3]}}
error[offsets.count] at byte 33: tensor "a": "data_offsets" does not have exactly two numbers
                         ^
{"__metadata__":[]}
error[metadata.type] at byte 24: "__metadata__" is neither an object nor null
                ^
{"__metadata__":{"k":5}}
error[metadata.value] at byte 29: a value in "__metadata__" is not a string
                     ^
{"__metadata__":null,"__metadata__":null}
error[metadata.twice] at byte 29: duplicate "__metadata__"
                     ^^^^^^^^^^^^^^
{"__metadata__":{"k":"v","k":"w"}}
error[metadata.duplicate] at byte 33: duplicate key: an earlier key of "__metadata__" is the same
                         ^^^
{"a":{"dtype":"U8","shape":[4294967296,4294967296,0],"data_offsets":[0,0]}}
error[tensor.overflow] at byte 47: tensor "a": tensor too large: the product of its dimensions, or its size in bits, does not fit into 64 bits
                                       ^^^^^^^^^^
{"a":{"dtype":"U64","shape":[4611686018427387904],"data_offsets":[0,0]}}
error[tensor.overflow] at byte 36: tensor "a": tensor too large: the product of its dimensions, or its size in bits, does not fit into 64 bits
                            ^
{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}}
error[tensor.subbyte] at byte 35: tensor "a": the tensor ends inside a byte: it has 3 elements of 4 bits
                           ^
{"a":{"dtype":"U8","shape":[3],"data_offsets":[0,4]}}
error[tensor.size] at byte 55: tensor "a": the offsets span 4 bytes, but dtype and shape need 3
                                               ^
{"a":{"dtype":"U8","shape":[3],"data_offsets":[4,0]}}
error[layout.reversed] at byte 55: tensor "a": the tensor begins at 4, but ends before that, at 0
                                               ^
"##;

#[test]
fn every_error_of_a_header_is_shown_where_it_is() {
    let lines: Vec<&str> = HEADERS.trim_start().lines().collect();
    for case in lines.chunks(3) {
        shows(case[0], case[1], case[0], case[2]);
    }
}

/// What is not text is escaped.
#[test]
fn excerpts_are_escaped() {
    shows(
        b"{\"a\xff\xfe\":1}",
        r#"error[text.utf8] at byte 11: the header is not valid UTF-8"#,
        r#"{"a\xff\xfe":1}"#,
        "   ^^^^",
    );
    shows(
        b"{\"a\":{\"x\":\"\xe5\xb1\xa4\xe5\"}}",
        r#"error[text.utf8] at byte 22: tensor "a": the header is not valid UTF-8"#,
        r#"{"a":{"x":"層\xe5"}}"#,
        "             ^^^^",
    );
    shows(
        b"{\"a\x1b[31m\":{}}",
        r#"error[json.control] at byte 11: unescaped control character in a string: byte 0x1b"#,
        r#"{"a\u{1b}[31m":{}}"#,
        "   ^^^^^^",
    );
    shows(
        b"{}\n\x00x",
        r#"error[json.trailing] at byte 11: unexpected byte 0x00 after the header's JSON object"#,
        r#"{}\n\u{0}x"#,
        "    ^^^^^",
    );
    shows(
        b"{\"\xe5\xb1\xa4\":{\"dtype\":\"torch.float32 \xe2\x80\xae\"}}",
        r#"error[dtype.unknown] at byte 24: tensor "層": unknown dtype; did you mean "F32"?"#,
        r#"{"層":{"dtype":"torch.float32 \u{202e}"}}"#,
        "               ^^^^^^^^^^^^^^^^^^^^^^^^",
    );
    shows(
        format!("{{\"a\":{{\"x\":{}", "[".repeat(200)),
        r#"error[json.depth] at byte 143: tensor "a": more than 127 brackets are open at once"#,
        r#"…[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[…"#,
        "                                         ^",
    );
}

/// For errors between two tensors, the excerpt is cut at its left end.
#[track_caller]
fn shows_behind(members: [String; 2], data: usize, line: &str, window: &str, token: &str) {
    let header = format!("{{{}}}", members.join(","));
    let (before, _) = window.rsplit_once(token).expect("the token is in the window");
    let (lead, carets) = (" ".repeat(before.chars().count()), "^".repeat(token.len()));
    says(&file(header, &vec![0; data]), &format!("{line}\n    {window}\n    {lead}{carets}"));
}

#[test]
fn of_the_layout() {
    shows_behind(
        [tensor("h.2", 0, 8000), tensor("h.3.bias", 8192, 8200)],
        8200,
        r#"error[layout.hole] at byte 122: tensor "h.3.bias": the tensor begins at 8192, but the tensor before it ends at 8000 (192 bytes belong to no tensor)"#,
        r#"…8000],"data_offsets":[0,8000]},"h.3.bias":{"dtype":"U8","shape":[8],"data_offsets":[8192,8200]}}"#,
        "8192",
    );
    shows_behind(
        [tensor("a", 0, 1), tensor("b", 2, 3)],
        3,
        r#"error[layout.hole] at byte 107: tensor "b": the tensor begins at 2, but the tensor before it ends at 1 (1 byte belongs to no tensor)"#,
        r#"…ype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}"#,
        "2",
    );
    shows_behind(
        [tensor("a", 0, 30), tensor("b", 20, 50)],
        50,
        r#"error[layout.overlap] at byte 110: tensor "b": the tensor begins at 20, but the tensor before it ends at 30 (an overlap of 10 bytes)"#,
        r#"…"U8","shape":[30],"data_offsets":[0,30]},"b":{"dtype":"U8","shape":[30],"data_offsets":[20,50]}}"#,
        "20",
    );
    shows_behind(
        [tensor("x", 60, 90), tensor("y", 10, 60)],
        90,
        r#"error[layout.hole] at byte 111: tensor "y": the tensor begins at 10, but the data begins at 0 (10 bytes belong to no tensor)"#,
        r#"…U8","shape":[30],"data_offsets":[60,90]},"y":{"dtype":"U8","shape":[50],"data_offsets":[10,60]}}"#,
        "10",
    );
}

#[test]
fn of_the_names() {
    shows_behind(
        [tensor("a", 0, 3), tensor(r"\u0061", 3, 6)],
        6,
        r#"error[name.duplicate] at byte 61: tensor "a": duplicate name: an earlier tensor has the same name"#,
        r#"…:"U8","shape":[3],"data_offsets":[0,3]},"\u0061":{"dtype":"U8","shape":[3],"data_offsets":[3,6]}…"#,
        r#""\u0061""#,
    );
}

#[test]
fn carets_are_below_wide_and_escaped_characters() {
    shows(
        "{\"é層😀e\u{301}\":0}",
        r#"error[entry.type] at byte 24: tensor "é層😀e\u{301}": the entry is not an object"#,
        r#"{"é層😀e\u{301}":0}"#,
        "                 ^",
    );
}

#[test]
fn excerpts_are_cut_between_characters() {
    let header = format!(r#"{{"{}":1,"{}":0}}"#, "層".repeat(200), "é".repeat(200));
    shows(
        header,
        &format!(
            r#"error[entry.type] at byte 612: tensor "{}…": the entry is not an object"#,
            "層".repeat(80)
        ),
        &format!(r#"…{}":1,"{}…"#, "層".repeat(19), "é".repeat(53)),
        &format!("{}^", " ".repeat(41)),
    );
}

#[test]
fn a_long_token_is_marked_where_visible() {
    shows(
        format!(r#"{{"a":{{"dtype":"{}"}}}}"#, "F".repeat(5000)),
        r#"error[dtype.unknown] at byte 22: tensor "a": unknown dtype"#,
        &format!(r#"{{"a":{{"dtype":"{}…"#, "F".repeat(81)),
        &format!("{}{}", " ".repeat(14), "^".repeat(82)),
    );
}

#[test]
fn names_are_escaped_and_shortened() {
    let spelled = format!("\\u001b[31m\\\"\\\\\u{202e}{}", "n".repeat(100));
    let shown = format!(r#"tensor "\u{{1b}}[31m\"\\\u{{202e}}{}…": "#, "n".repeat(72));
    let place = Place::new();
    place.put("m", &file(format!("{{\"{spelled}\":0}}"), b""));
    let run = place.run(["check", "m"]);
    assert!(run.out.contains(&shown), "{shown} is not in {run:?}");
    assert!(!run.out.contains(['\u{1b}', '\u{202e}']), "{run:?}");
}
