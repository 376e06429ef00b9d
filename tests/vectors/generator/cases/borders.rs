//! Files for readers with buffers: at each border of a buffer, counted from the start of the file or of the
//! header, something is cut in two. They are made for all sizes at once, and for each place of the cut.

use crate::case::{Body, Case, MEMBERS, bad, leak, ok, recipe};
use crate::recipe::Part::{self, Hex, Text, Zeros};
use crate::recipe::times;

/// Where the header begins in the file.
const HEADER: usize = 8;

/// Strings that are repeated have at least this many bytes: a few more than the largest border.
const LONGEST: usize = (1 << 16) + 64;

/// The sizes at whose borders something is invalid.
const SIZES: [usize; 8] = [512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536];

/// What is repeated in long strings: its id, the rule, the text, the flag, and words for it.
#[rustfmt::skip] // One kind, one line.
const PIECES: [(&str, &str, &str, &str, &str); 5] = [
    ("two-bytes", "text-1", "\u{e9}", "utf8", "characters of two bytes"),
    ("three-bytes", "text-1", "\u{6f22}", "utf8", "characters of three bytes"),
    ("four-bytes", "text-1", "\u{1f600}", "utf8", "characters of four bytes"),
    ("escape", "json-6", r"\n", "escapes", "escapes of two bytes"),
    ("pair", "json-7", r"\ud83d\ude00", "surrogates", "escapes of surrogate pairs"),
];

/// Where else than in a name the strings are: the id, what is before and after them, and words for it.
#[rustfmt::skip] // One place, one line.
const ELSEWHERE: [(&str, &str, &str, &str); 2] = [
    ("metadata", r#"{"__metadata__":{"k":""#, r#""}}"#, "A metadata value"),
    ("skipped", r#"{"a":{"x":""#, r#"","dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#, "A skipped string"),
];

/// Returns all cases.
pub fn all() -> Vec<Case> {
    let mut cases: Vec<Case> = PIECES.iter().flat_map(|piece| names(*piece)).collect();
    cases.extend(PIECES.iter().flat_map(|piece| elsewhere(*piece)));
    cases.extend((0..ENTRY.len()).step_by(4).map(entries));
    cases.extend((0..SKIPPED.len()).step_by(3).map(skipped));
    cases.push(literals());
    cases.extend((0..PAIR.len() + HEADER).step_by(4).map(pairs));
    cases.extend(SIZES.into_iter().map(sound));
    cases
        .extend(SIZES.into_iter().flat_map(|size| FAULTS.iter().flat_map(move |fault| broken(size, *fault))));
    cases
}

fn file(header: Vec<Part>, data: &'static [Part]) -> Body {
    recipe(header.leak(), data)
}

/// Returns this piece often enough to reach beyond the largest border.
fn long(piece: &'static str) -> Part {
    times((LONGEST / piece.len()) as u64, piece)
}

type Piece = (&'static str, &'static str, &'static str, &'static str, &'static str);

/// Returns a file for each place of the cut: before the first piece are that many letters.
fn names((id, rule, piece, flag, words): Piece) -> Vec<Case> {
    let name = |shift: usize| {
        let header = vec![
            Text(leak(format!("{{\"{}", "s".repeat(shift)))),
            long(piece),
            Text("\":{"),
            Text(MEMBERS),
            Text("}}"),
        ];
        let reason =
            leak(format!("A name of {words} that begins {shift} bytes later: borders of buffers cut them."));
        ok(leak(format!("border-{id}-{shift}")), rule, file(header, &[Zeros(1)]), reason)
            .flags(vec![flag].leak())
    };
    (0..piece.len()).map(name).collect()
}

/// Returns the pieces at borders in other strings than names, each cut in its middle.
fn elsewhere((id, rule, piece, flag, words): Piece) -> Vec<Case> {
    let one = |&(place, before, after, what): &(&'static str, &'static str, &'static str, &'static str)| {
        // The borders are multiples of 4.
        let shift = (piece.len() / 2 + 4 - (HEADER + before.len()) % 4) % 4;
        let header = vec![Text(before), Text(leak("s".repeat(shift))), long(piece), Text(after)];
        let reason = leak(format!("{what} of {words}: borders of buffers cut them."));
        ok(leak(format!("border-{id}-in-{place}")), rule, file(header, &[]), reason).flags(vec![flag].leak())
    };
    ELSEWHERE.iter().map(one).collect()
}

/// An entry in which each word is longer than the distance of two places of the cut.
const ENTRY: &str = r#""tensor-#":{"dtype":"BF16","shape":[0,10240],"data_offsets":[10000,10000]},"#;

/// Returns a file with an entry over each border, and spaces between them.
fn entries(shift: usize) -> Case {
    let first = r#"{"data":{"dtype":"U8","shape":[10000],"data_offsets":[0,10000]},"#;
    let (mut header, mut at) = (vec![Text(first)], HEADER + first.len());
    for (number, size) in (8..=16).map(|power| 1_usize << power).enumerate() {
        let number = char::from(b'0' + u8::try_from(number).expect("a digit"));
        header.extend([
            times((size - shift - at) as u64, " "),
            Text(leak(ENTRY.replace('#', &number.to_string()))),
        ]);
        at = size - shift + ENTRY.len();
    }
    header.extend([Text(r#""end":{"dtype":"U8","shape":[0],"data_offsets":[10000,10000]}}"#)]);
    let reason = leak(format!(
        "Entries that begin {shift} bytes before borders of buffers, which cut keys, numbers and texts."
    ));
    ok(leak(format!("border-entries-{shift}")), "json-1", file(header, &[Zeros(10_000)]), reason)
        .flags(&["grammar", "empty-tensor"])
}

/// Values of all kinds in an array that is skipped.
const SKIPPED: &str = r#"-12.5e+100,false,null,true ,{"key":["x"]} , "#;

fn skipped(shift: usize) -> Case {
    let before = leak(format!(r#"{{"a":{{"x":[{}"#, " ".repeat(shift)));
    let header = vec![Text(before), long(SKIPPED), Text("0],"), Text(MEMBERS), Text("}}")];
    let reason = leak(format!(
        "Skipped numbers, literals and brackets, {shift} bytes later: borders of buffers cut them."
    ));
    ok(leak(format!("border-skipped-{shift}")), "entry-5", file(header, &[Zeros(1)]), reason)
        .flags(&["grammar"])
}

/// Returns a file in which each border cuts a literal in its middle.
fn literals() -> Case {
    const BOTH: &str = "true,   false,";
    let before = r#"{"a":{"x":["#;
    let (mut header, mut at) = (vec![Text(before)], HEADER + before.len());
    for size in (6..=16).map(|power| 1_usize << power) {
        header.extend([times((size - 2 - at) as u64, " "), Text(BOTH)]);
        at = size - 2 + BOTH.len();
    }
    header.extend([Text("null],"), Text(MEMBERS), Text("}}")]);
    ok(
        "border-literals",
        "json-2",
        file(header, &[Zeros(1)]),
        "Skipped literals that borders of buffers cut.",
    )
}

/// A pair of metadata.
const PAIR: &str = r#""key-#":"text-#" , "#;

/// Returns a file with a pair over each border, and spaces between them.
fn pairs(shift: usize) -> Case {
    let (mut header, mut at) = (vec![Text(r#"{"__metadata__":{"#)], HEADER + 17);
    for (number, size) in (6..=16).map(|power| 1_usize << power).enumerate() {
        let letter = char::from(b'a' + u8::try_from(number).expect("a letter"));
        let begin = size + HEADER - shift;
        header.extend([times((begin - at) as u64, " "), Text(leak(PAIR.replace('#', &letter.to_string())))]);
        at = begin + PAIR.len();
    }
    header.push(Text(r#""end":""}}"#));
    let reason = leak(format!(
        "Pairs of metadata that begin {shift} bytes before borders of the header's buffers, which cut them."
    ));
    ok(leak(format!("border-pairs-{shift}")), "json-1", file(header, &[]), reason).flags(&["metadata"])
}

/// Both borders of a size are in the middle of this many letters.
const REGION: usize = 30;

/// How many bytes of the region are before the border that is counted from the start of the file.
const BEFORE: usize = 11;

/// The start of the name: it has what the faults have, in valid form.
const START: &str = "{\"\\n\\ud83d\\ude00\u{6f22}";

/// Faults over a border: their parts, how many bytes they have, and how many are before the border.
#[rustfmt::skip] // One fault, one line.
const FAULTS: [Fault; 4] = [
    ("utf8", "text-1", "text.utf8", [Text("¦"), Hex(b"\xE6\xBC"), Text("A"), Text("")], 3, 2, "utf8", "A character of three bytes is cut short"),
    ("surrogate", "json-7", "json.surrogate", [Text(r"¦\ud83d"), Text("A"), Text(""), Text("")], 7, 6, "lone-surrogate", "Half a surrogate pair ends"),
    ("escape", "json-6", "json.escape", [Text(r"\¦q"), Text(""), Text(""), Text("")], 2, 1, "escapes", "A bad escape is cut"),
    ("control", "json-5", "json.control", [Text("a¦\u{1}"), Text(""), Text(""), Text("")], 2, 1, "control", "A raw control character begins"),
];

fn around(size: usize, region: Vec<Part>) -> Body {
    let filler = size - BEFORE - HEADER - START.len();
    let mut header = vec![Text(START), times(filler as u64, "n")];
    header.extend(region);
    header.extend([Text("\":{"), Text(MEMBERS), Text("}}")]);
    file(header, &[Zeros(1)])
}

/// Returns the twin of the faults at this border.
fn sound(size: usize) -> Case {
    let reason = leak(format!("A name over the border of {size} bytes, with nothing cut."));
    ok(leak(format!("border-at-{size}")), "name-1", around(size, vec![times(REGION as u64, "n")]), reason)
}

type Fault = (&'static str, &'static str, &'static str, [Part; 4], usize, usize, &'static str, &'static str);

/// Returns the fault at the two borders of a size.
fn broken(size: usize, (id, rule, code, parts, length, cut, flag, words): Fault) -> [Case; 2] {
    [("file", 0), ("header", HEADER)].map(|(of, start)| {
        let before = BEFORE + start - cut;
        let mut region = vec![times(before as u64, "n")];
        region.extend(parts);
        region.push(times((REGION - before - length) as u64, "n"));
        let reason = leak(format!("{words} at the border of {size} bytes of the {of}."));
        bad(leak(format!("border-{id}-of-{of}-at-{size}")), rule, code, around(size, region), reason)
            .flags(vec![flag].leak())
            .twin(leak(format!("border-at-{size}")))
    })
}
