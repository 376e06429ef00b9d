//! Hundreds of thousands of headers, valid, nearly valid and broken: this project's verdict, tensors and
//! metadata are those of the reference, except where the list of deviations says otherwise.
//!
//! Each run generates the same files, or those of `SUITE_SEED` if it is set; xtask sets it from the commit.
//! `DIFFERENTIAL_CASES` sets their number.
#![cfg(feature = "oracle")]

use std::collections::BTreeMap;

use embedded_safetensors::{ErrorKind, error::Class};
use support::agreement::verdicts;
use support::file::with_header;
use support::headers;
use support::random::Random;
use support::split::Split;
use support::verdict::Reader;

const SEED: u64 = 0x5AFE_7E45_0000_0001;
const CASES: u64 = 300_000;

/// Outcomes that must occur, besides each error of a file. Otherwise the generated files are too uniform or
/// too broken to prove anything.
const REACHED: [&str; 12] = [
    "D1",
    "D1: the earlier tensor is at fault",
    "D2",
    "D3",
    "D4",
    "D5",
    "valid: metadata alone",
    "valid: more dimensions than a shape holds",
    "valid: not in the order of the offsets",
    "valid: nothing",
    "valid: tensors alone",
    "valid: tensors and metadata",
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
    let codes = ErrorKind::ALL.iter().filter(|(class, ..)| *class == Class::File).map(|(_, code, ..)| *code);
    // With fewer cases, rare errors may not occur. Sums are no verdict on the format.
    let codes = codes.filter(|code| cases >= CASES && !code.starts_with("integrity."));
    let missing: Vec<_> = codes.chain(REACHED).filter(|outcome| !tally.contains_key(outcome)).collect();
    assert!(missing.is_empty(), "{missing:?} do not occur: {tally:#?}");
}
