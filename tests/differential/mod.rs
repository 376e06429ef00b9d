//! Hundreds of thousands of headers, valid, nearly valid and broken: this project's verdict, tensors and
//! metadata are those of the reference, except where the list of deviations says otherwise.
//!
//! Each run generates the same files, or those of `SUITE_SEED` if it is set; xtask sets it from the commit.
//! `DIFFERENTIAL_CASES` sets their number.
#![cfg(feature = "oracle")]

use std::collections::BTreeMap;

use support::agreement::verdicts;
use support::file::with_header;
use support::headers;
use support::random::Random;
use support::split::Split;
use support::verdict::Reader;

const SEED: u64 = 0x5AFE_7E45_0000_0001;
const CASES: u64 = 300_000;

/// Outcomes that must occur, and their least number in a hundred thousand cases. Otherwise the generated
/// files are too uniform or too broken to prove anything.
const REACHED: &[(&str, u64)] = &[
    ("D1", 100),
    ("D1: the earlier tensor is at fault", 600),
    ("D2", 200),
    ("D3", 900),
    ("D4", 700),
    ("D5", 700),
    ("container.header-beyond-file", 500),
    ("container.header-too-large", 200),
    ("container.short", 60),
    ("data.short", 1500),
    ("data.trailing", 900),
    ("dtype.object", 600),
    ("dtype.type", 40),
    ("dtype.unknown", 150),
    ("entry.array", 700),
    ("entry.missing", 500),
    ("entry.repeated", 10),
    ("entry.type", 100),
    ("header.type", 150),
    ("json.control", 200),
    ("json.depth", 200),
    ("json.end", 1000),
    ("json.escape", 600),
    ("json.number", 70),
    ("json.surrogate", 20),
    ("json.syntax", 4500),
    ("json.trailing", 350),
    ("layout.hole", 700),
    ("layout.overlap", 300),
    ("layout.reversed", 1000),
    ("metadata.duplicate", 10),
    ("metadata.twice", 200),
    ("metadata.type", 20),
    ("metadata.value", 15),
    ("name.duplicate", 150),
    ("offsets.count", 50),
    ("offsets.integer", 100),
    ("offsets.range", 7),
    ("offsets.type", 90),
    ("shape.integer", 250),
    ("shape.range", 20),
    ("shape.type", 90),
    ("valid: metadata alone", 900),
    ("valid: more dimensions than a shape holds", 5000),
    ("valid: not in the order of the offsets", 3000),
    ("valid: nothing", 2000),
    ("valid: tensors alone", 5000),
    ("valid: tensors and metadata", 2500),
    ("tensor.overflow", 500),
    ("tensor.size", 3000),
    ("tensor.subbyte", 70),
    ("text.utf8", 900),
];

/// The number of cases with each outcome.
type Tally = BTreeMap<&'static str, u64>;

fn from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is {text:?}, not a decimal number")))
}

#[test]
fn verdict_matches_reference() {
    // A build with checks is slow.
    let default = if cfg!(debug_assertions) { CASES / 15 } else { CASES };
    let cases = from_environment("DIFFERENTIAL_CASES").unwrap_or(default);
    let seeds = [Some(SEED), from_environment("SUITE_SEED")];
    seeds.into_iter().flatten().for_each(|seed| compare_files_of(seed, cases));
}

/// Every text of up to four of these characters as a skipped number, as a dimension and as an offset.
#[test]
fn short_numbers_match_reference() {
    const CHARACTERS: [char; 8] = ['0', '1', '9', '-', '+', '.', 'e', 'E'];
    const HEADERS: [&str; 3] = [
        r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":NUMBER}}"#,
        r#"{"a":{"dtype":"U8","shape":[NUMBER],"data_offsets":[0,1]}}"#,
        r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,NUMBER]}}"#,
    ];
    let longer = |texts: &Vec<String>| {
        Some(texts.iter().flat_map(|text| CHARACTERS.map(|next| format!("{text}{next}"))).collect())
    };
    let texts = std::iter::successors(Some(vec![String::new()]), longer).take(5).flatten();
    for (text, header) in texts.flat_map(|text| HEADERS.map(|header| (text.clone(), header))) {
        let file = with_header(&header.replace("NUMBER", &text), 1);
        for split in [Split::WHOLE, Split::Every(1)] {
            let reader = Reader { split, slots: None, text: 8, length_known: true };
            let agreement = agreement(&file, &reader);
            assert!(agreement.is_ok(), "{text} in {header}, cut {split:?}: {agreement:?}");
        }
    }
}

fn compare_files_of(seed: u64, cases: u64) {
    println!("seed {seed}, {cases} cases");
    let base = Random::new(seed).number();
    let mut tally = Tally::new();
    let mut problems = Problems::new();
    for case in 0..cases {
        let mut random = Random::new(Random::new(base.wrapping_add(case)).number());
        let file = headers::file(&mut random);
        let reader = reader(&mut random, file.len());
        match agreement(&file, &reader) {
            Ok(word) => *tally.entry(word).or_default() += 1,
            Err(problem) => keep_smallest(&mut problems, problem, Example { case, file, reader }),
        }
    }
    println!("{tally:#?}");
    let reports: Vec<String> = problems.iter().map(|(problem, example)| report(problem, example)).collect();
    assert!(reports.is_empty(), "seed {seed}:\n{}", reports.join("\n"));
    assert_reached(&tally, cases);
}

/// A case that shows a problem.
struct Example {
    case: u64,
    file: Vec<u8>,
    reader: Reader,
}

/// The shortest file for each problem: nearly minimal where thousands show it.
type Problems = BTreeMap<String, Example>;

fn keep_smallest(problems: &mut Problems, problem: String, example: Example) {
    match problems.get(&problem) {
        Some(known) if known.file.len() <= example.file.len() => {}
        _ => drop(problems.insert(problem, example)),
    }
}

fn agreement(file: &[u8], reader: &Reader) -> Result<&'static str, String> {
    let outcome = std::panic::catch_unwind(|| verdicts(file, reader).agreement(file));
    outcome.unwrap_or_else(|_| Err("a reader panics".to_owned()))
}

/// Returns a way to read the file; the verdict must not depend on it.
fn reader(random: &mut Random, len: usize) -> Reader {
    let first = random.below(len + 1);
    let split = match random.below(3) {
        0 => Split::Every(1 + random.below(64)),
        1 => Split::Once(first),
        _ => Split::Twice(first, first + random.below(len - first + 1)),
    };
    let slots = random.pick(&[None, None, Some(4)]);
    Reader { split, slots, text: 1 + random.below(40), length_known: random.percent(50) }
}

/// Returns the problem, and the file and the verdicts that show it.
fn report(problem: &str, Example { case, file, reader }: &Example) -> String {
    let text = String::from_utf8_lossy(file.get(8..).unwrap_or_default());
    let verdicts = std::panic::catch_unwind(|| verdicts(file, reader).to_string()).unwrap_or_default();
    format!(
        "case {case}: {problem}, read as {reader:?}\n  after the length: {}\n  hex: {}\n  {verdicts}",
        text.escape_debug(),
        hex(file),
    )
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn assert_reached(tally: &Tally, cases: u64) {
    // With fewer cases, rare outcomes may occur less often, or not at all.
    let share = if cases < 100_000 { 4 } else { 1 };
    for (outcome, least) in REACHED {
        let found = tally.get(outcome).copied().unwrap_or(0);
        let least = least * cases / 100_000 / share;
        assert!(found >= least, "{outcome}: {found} cases, fewer than {least}: {tally:#?}");
    }
}
