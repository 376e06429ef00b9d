//! The tables of `docs/src/frameworks.md`, made from the results of the frameworks and of this project's
//! tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use super::board;
use super::compare;
use super::reading::{Reads, read};
use super::results::{Array, FRAMEWORKS, Outcome, Results, names, values};

const BEGIN: &str = "<!-- tables: written by `cargo xtask generate interop` -->\n";
const END: &str = "<!-- end of tables -->\n";

const OF_DTYPES: &str = "`both`: the framework writes the dtype, and reads it from a file written here, with equal \
    values. A number is the reason for what it does not, in its own words.\n\n";
/// They do not read the data of tensors.
const LISTING: [&str; 6] = [
    "validate",
    "validate_header",
    "Validator and DuplicateFinder",
    "HeaderParser",
    "Entries",
    "ModelEditor",
];
const OF_APIS: &str = "A number is how many tensors the framework has written: the API reads all of them, equal bit \
    for bit. `order`: it needs tensors in the order of their data, and reports `limit.order`. \
    APIs that only validate or list are tested with the same files.\n\n";

/// The dtypes as most frameworks call them.
const NAMES: [(&str, &str); 22] = [
    ("BOOL", "bool"),
    ("F4", "float4_e2m1fn"),
    ("F6_E2M3", "float6_e2m3fn"),
    ("F6_E3M2", "float6_e3m2fn"),
    ("U8", "uint8"),
    ("I8", "int8"),
    ("F8_E5M2", "float8_e5m2"),
    ("F8_E4M3", "float8_e4m3fn"),
    ("F8_E8M0", "float8_e8m0fnu"),
    ("F8_E4M3FNUZ", "float8_e4m3fnuz"),
    ("F8_E5M2FNUZ", "float8_e5m2fnuz"),
    ("I16", "int16"),
    ("U16", "uint16"),
    ("F16", "float16"),
    ("BF16", "bfloat16"),
    ("I32", "int32"),
    ("U32", "uint32"),
    ("F32", "float32"),
    ("C64", "complex64"),
    ("F64", "float64"),
    ("I64", "int64"),
    ("U64", "uint64"),
];

/// What a framework did with an array, compared with what it must have.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Equal,
    /// Another dtype of the framework, with the same bytes, or with wider integers that are equal.
    As(String),
    /// Equal, but for the bits of a NaN.
    OtherNan,
    Wrong,
    Error(String),
}

impl Verdict {
    fn new(outcome: &Outcome, expected: &Array) -> Self {
        let array = match outcome {
            Outcome::Array(array) => array,
            Outcome::Error { error } => return Self::Error(general(error, &expected.dtype)),
        };
        if !is_named(&array.dtype, &expected.dtype) {
            return match array.bytes == expected.bytes || is_widened(&array.data(), &expected.data()) {
                true if array.shape == expected.shape => Self::As(last_word(&array.dtype)),
                _ => Self::Wrong,
            };
        }
        match array.shape == expected.shape && array.bytes.len() == expected.bytes.len() {
            true if array.bytes == expected.bytes => Self::Equal,
            true if equal_but_nans(array, expected) => Self::OtherNan,
            _ => Self::Wrong,
        }
    }
}

fn last_word(dtype: &str) -> String {
    dtype.rsplit('.').next().unwrap_or(dtype).to_lowercase()
}

fn common(dtype: &str) -> &'static str {
    NAMES.iter().find(|(name, _)| *name == dtype).expect("a dtype").1
}

fn short(dtype: &str) -> String {
    dtype.to_lowercase().replace('_', "")
}

/// Whether this is how a framework calls the dtype.
fn is_named(named: &str, dtype: &str) -> bool {
    let named = last_word(named);
    named == common(dtype) || named == short(dtype)
}

/// Replaces the names of the dtype in an error.
fn general(error: &str, dtype: &str) -> String {
    let common = common(dtype);
    let names = [format!("{common}_x2"), common.to_owned(), dtype.to_owned(), short(dtype)];
    // Longer names contain shorter ones.
    names.iter().fold(error.to_owned(), |error, name| error.replace(name, "DTYPE"))
}

/// Whether these are the bytes of unsigned integers of 32 bits that are equal to those of 16 bits.
fn is_widened(wide: &[u8], narrow: &[u8]) -> bool {
    let widened = narrow.chunks(2).flat_map(|pair| [pair, &[0, 0]].concat());
    widened.eq(wide.iter().copied())
}

/// Whether elements of 16 bits are equal where they are no NaN.
fn equal_but_nans(array: &Array, expected: &Array) -> bool {
    let exponent = if expected.dtype == "F16" { 0x7c00 } else { 0x7f80 };
    let is_nan = |bits: u16| bits & 0x7fff > exponent;
    let [found, expected] = [array, expected].map(|array| {
        let bytes = array.data();
        bytes.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect::<Vec<_>>()
    });
    let mut pairs = found.into_iter().zip(expected);
    ["F16", "BF16"].contains(&&*array.dtype.to_uppercase())
        && pairs.all(|(a, b)| a == b || is_nan(a) && is_nan(b))
}

/// The reasons in the order in which they are numbered.
#[derive(Default)]
struct Reasons(Vec<String>);

impl Reasons {
    fn number(&mut self, reason: String) -> usize {
        let known = self.0.iter().position(|known| *known == reason);
        let at = known.unwrap_or_else(|| {
            self.0.push(reason);
            self.0.len() - 1
        });
        at + 1
    }
}

/// Returns a cell: what works, and the numbers of the reasons why the rest does not.
fn cell(written: Verdict, read: Verdict, reasons: &mut Reasons) -> String {
    let mut works = Vec::new();
    let mut whys = BTreeSet::new();
    for (verb, verdict) in [("writes", written), ("reads", read)] {
        match verdict {
            Verdict::Equal => works.push(verb.to_owned()),
            Verdict::As(dtype) => works.push(format!("{verb} as {dtype}")),
            Verdict::OtherNan => works.push(format!("{verb}, other NaN")),
            Verdict::Wrong => panic!("wrong values"),
            Verdict::Error(error) => {
                whys.insert(reasons.number(error));
            }
        }
    }
    let numbers = whys.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match works.join("; ").as_str() {
        "writes; reads" => "both".to_owned(),
        "" => format!("no ({numbers})"),
        works if whys.is_empty() => works.to_owned(),
        works => format!("{works} ({numbers})"),
    }
}

fn line(cells: impl IntoIterator<Item = String>) -> String {
    format!("| {} |\n", cells.into_iter().collect::<Vec<_>>().join(" | "))
}

fn head(first: &str) -> String {
    let names = FRAMEWORKS.iter().map(|(_, name)| (*name).to_owned());
    let rule = FRAMEWORKS.iter().map(|_| "---".to_owned());
    line([first.to_owned()].into_iter().chain(names)) + &line(["---".to_owned()].into_iter().chain(rule))
}

fn versions() -> String {
    let rows = FRAMEWORKS.iter().map(|(folder, name)| {
        let versions = Results::of(folder).versions;
        let versions = versions.iter().map(|(package, version)| format!("{package} {version}"));
        line([(*name).to_owned(), versions.collect::<Vec<_>>().join(", ")])
    });
    format!("| framework | packages |\n|---|---|\n{}", rows.collect::<String>())
}

fn dtypes() -> String {
    let (values, mut reasons) = (values(), Reasons::default());
    let results = FRAMEWORKS.map(|(folder, _)| Results::of(folder));
    let mut text = OF_DTYPES.to_owned() + &head("dtype");
    for name in names() {
        let verdict = |outcomes: &BTreeMap<String, Outcome>| Verdict::new(&outcomes[&name], &values[&name]);
        let cells = results
            .iter()
            .map(|results| cell(verdict(&results.written), verdict(&results.read), &mut reasons));
        let cells: Vec<String> = cells.collect();
        let first = match name.as_str() {
            "scalar" | "empty" => format!("F32, {name}"),
            _ => name.clone(),
        };
        text += &line([first].into_iter().chain(cells));
    }
    let rest = results.iter().map(|results| if results.reads_all { "yes" } else { "no" }.to_owned());
    text += &line(["F32 in a file with all dtypes".to_owned()].into_iter().chain(rest));
    text += "\n";
    for (at, reason) in reasons.0.iter().enumerate() {
        writeln!(text, "{}. `{}`", at + 1, reason.replace('`', "'")).expect("a string");
    }
    text
}

/// Returns a row for each API that reads data: how many tensors, all of them or none.
fn apis() -> String {
    let reads = FRAMEWORKS.map(|(folder, _)| {
        let mut reads = read(folder);
        reads.extend(board::read(folder));
        (Results::of(folder).arrays().count(), reads)
    });
    let mut text = OF_APIS.to_owned() + &head("API");
    let names = reads.iter().flat_map(|(_, reads)| reads.iter().map(|(name, _)| name));
    let mut rows: Vec<&String> = Vec::new();
    for name in names.filter(|name| !LISTING.contains(&name.as_str())) {
        if !rows.contains(&name) {
            rows.push(name);
        }
    }
    for name in rows {
        let cells = reads.iter().map(|(count, reads)| match reads.iter().find(|(known, _)| known == name) {
            Some((_, Reads::All)) => count.to_string(),
            Some((_, Reads::NotInOrder)) => "no (order)".to_owned(),
            None => "one file only".to_owned(),
        });
        text += &line([name.clone()].into_iter().chain(cells));
    }
    text
}

#[test]
fn the_page_has_these_tables() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/frameworks.md");
    let page = std::fs::read_to_string(&path).expect("a page");
    let (before, rest) = page.split_once(BEGIN).expect("the mark before the tables");
    let (_, after) = rest.split_once(END).expect("the mark after the tables");
    let tables = format!("## Versions\n\n{}\n## Dtypes\n\n{}\n## APIs\n\n{}", versions(), dtypes(), apis());
    if cfg!(feature = "std") {
        compare(&path, format!("{before}{BEGIN}\n{tables}\n{END}{after}").as_bytes());
    } else {
        // Some rows are for files on a disk.
        let missing = tables.lines().find(|line| !page.contains(line));
        assert_eq!(missing, None, "not in {}", path.display());
    }
}

#[test]
fn another_dtype_must_have_equal_values() {
    let array = |dtype: &str, shape: &[u64], bytes: &str| Array {
        dtype: dtype.to_owned(),
        shape: shape.to_vec(),
        bytes: bytes.to_owned(),
    };
    let expected = array("U16", &[2], "0100ff80");
    for (found, is_equal) in [
        (array("bfloat16", &[2], "0100ff80"), true),
        (array("u32", &[2], "01000000ff800000"), true),
        (array("u32", &[2], "01000000ff80ffff"), false),
        (array("u32", &[4], "01000000ff800000"), false),
        (array("bfloat16", &[2], "0100ff81"), false),
        (array("bfloat16", &[1, 2], "0100ff80"), false),
    ] {
        let verdict = Verdict::new(&Outcome::Array(found.clone()), &expected);
        assert_eq!(verdict == Verdict::As(found.dtype.clone()), is_equal, "{found:?}");
    }
}

#[test]
fn frameworks_write_and_read_what_they_must() {
    let values = values();
    for (folder, _) in FRAMEWORKS {
        let results = Results::of(folder);
        for outcomes in [&results.written, &results.read] {
            assert!(outcomes.keys().eq(values.keys()), "{folder} has not tried everything");
            assert_eq!(Verdict::new(&outcomes["F32"], &values["F32"]), Verdict::Equal, "{folder}");
        }
    }
}
