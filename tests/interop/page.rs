//! The tables of `docs/src/frameworks.md`, made from the results of the frameworks.

use std::collections::BTreeMap;
use std::path::Path;

use super::compare;
use super::results::{Array, FRAMEWORKS, Outcome, Results, names, values};

const BEGIN: &str = "<!-- tables: written by `cargo xtask generate interop` -->\n";
const END: &str = "<!-- end of tables -->\n";

const OF_DTYPES: &str = "`both`: the framework writes the dtype, and reads it from a file written here, with equal \
    values. A number is how many of the arrays the framework has written.\n\n";

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
            Outcome::Error { error } => return Self::Error(error.clone()),
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

    /// Returns what works, or nothing.
    fn words(&self, verb: &str) -> Option<String> {
        match self {
            Self::Equal => Some(verb.to_owned()),
            Self::As(dtype) => Some(format!("{verb} as {dtype}")),
            Self::OtherNan => Some(format!("{verb}, other NaN")),
            Self::Wrong => panic!("wrong values"),
            Self::Error(_) => None,
        }
    }
}

fn last_word(dtype: &str) -> String {
    dtype.rsplit('.').next().unwrap_or(dtype).to_lowercase()
}

/// Whether this is how a framework calls the dtype: `float8_e4m3fn` or `f8e4m3`.
fn is_named(named: &str, dtype: &str) -> bool {
    let (named, dtype) = (last_word(named), dtype.to_lowercase());
    let digits = dtype.find(|letter: char| letter.is_ascii_digit()).unwrap_or(dtype.len());
    let (kind, rest) = dtype.split_at(digits);
    let kinds = [("i", "int"), ("u", "uint"), ("f", "float"), ("bf", "bfloat"), ("c", "complex")];
    let long = kinds.iter().find(|(short, _)| *short == kind).map_or(kind, |(_, long)| *long);
    // The ends of F8_E4M3, F8_E8M0 and F4.
    let ends = ["", "fn", "fnu", "_e2m1fn"];
    named == dtype.replace('_', "") || ends.iter().any(|end| named == format!("{long}{rest}{end}"))
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

fn line(cells: impl IntoIterator<Item = String>) -> String {
    format!("| {} |\n", cells.into_iter().collect::<Vec<_>>().join(" | "))
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
    let values = values();
    let results = FRAMEWORKS.map(|(folder, _)| Results::of(folder));
    let row = |first: &str, cell: &dyn Fn(&Results) -> String| {
        line([first.to_owned()].into_iter().chain(results.iter().map(cell)))
    };
    let head = FRAMEWORKS.map(|(_, name)| name.to_owned());
    let mut text = OF_DTYPES.to_owned() + &line(["dtype".to_owned()].into_iter().chain(head));
    text += &row("---", &|_| "---".to_owned());
    for name in names() {
        let first = match name.as_str() {
            "scalar" | "empty" => format!("F32, {name}"),
            _ => name.clone(),
        };
        text += &row(&first, &|results| {
            let words = |outcomes: &BTreeMap<String, Outcome>, verb: &str| {
                Verdict::new(&outcomes[&name], &values[&name]).words(verb)
            };
            match (words(&results.written, "writes"), words(&results.read, "reads")) {
                (None, None) => "no".to_owned(),
                (Some(written), Some(read)) if written == "writes" && read == "reads" => "both".to_owned(),
                (written, read) => written.into_iter().chain(read).collect::<Vec<_>>().join("; "),
            }
        });
    }
    text += &row("F32 in a file with all dtypes", &|results| {
        if results.reads_all { "yes" } else { "no" }.to_owned()
    });
    text + &row("arrays written", &|results| results.arrays().count().to_string())
}

#[test]
fn the_page_has_these_tables() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/frameworks.md");
    let page = std::fs::read_to_string(&path).expect("a page");
    let (before, rest) = page.split_once(BEGIN).expect("the mark before the tables");
    let (_, after) = rest.split_once(END).expect("the mark after the tables");
    let tables = format!("## Versions\n\n{}\n## Dtypes\n\n{}", versions(), dtypes());
    compare(&path, format!("{before}{BEGIN}\n{tables}\n{END}{after}").as_bytes());
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
