//! The walk: the scanner and the automaton side by side, through every pair of states that bytes lead to.

extern crate std;

use super::super::super::grammar::State;
use super::super::super::text::Utf8;
use super::super::{HeaderParser, METADATA};
use super::language::{Configuration, Failure, Language};
use crate::dtype::Dtype;
use crate::error::table::Fault;
use crate::error::{Error, Field};
use crate::header::Event;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::ops::RangeInclusive;
use std::string::String;
use std::vec::Vec;

impl Hash for HeaderParser {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let kinds = [self.state, self.token_kind, self.after_colon].map(|state| state as u8);
        let bytes = (kinds, self.fields, self.metadata_seen, self.utf8.missing, self.word.as_bytes());
        let objects = (1..=self.depth).map(|depth| u128::from(self.nesting.is_object(depth)) << depth);
        (bytes, self.number, self.unicode.0, self.depth, objects.sum::<u128>()).hash(hasher);
    }
}

fn is_in_string(state: State) -> bool {
    matches!(state, State::Text | State::Escape | State::UnicodeDigits | State::LowBackslash | State::LowU)
}

/// Returns the first string that begins like this, of those that matter in a token.
fn word(token_kind: State, text: &[u8]) -> Option<&'static [u8]> {
    let fields = Field::ALL.iter().map(|field| field.name().as_bytes());
    let dtypes = Dtype::ALL.iter().map(|dtype| dtype.name().as_bytes());
    let is_longer = |word: &&[u8]| word.starts_with(text);
    match token_kind {
        State::Name => Some(METADATA).filter(is_longer),
        State::Field => fields.into_iter().find(is_longer),
        State::Dtype => dtypes.into_iter().find(is_longer),
        _ => None,
    }
}

/// Returns a number with as many digits that compares alike with as many digits of the largest number.
fn like_number(number: u64) -> u64 {
    let Some(log) = number.checked_ilog10() else { return 0 };
    let limit = u64::MAX / 10u64.pow(19 - log);
    match number.cmp(&limit) {
        Ordering::Less => 10u64.pow(log),
        Ordering::Equal => limit,
        Ordering::Greater => limit + 1,
    }
}

/// Returns digits of an escape, after a one bit, that may become the same: ASCII, or half a pair.
fn like_digits(digits: u32) -> u32 {
    match digits {
        0x1 | 0x10 | 0x1D | 0x100 | 0x1000..=0x1007 => digits,
        0x11..=0x1F => 0x11,
        0x1D8..=0x1DB => 0x1D8,
        0x1DC..=0x1DF => 0x1DC,
        0x101..=0x1FF => 0x111,
        0x1D80..=0x1DBF => 0x1D80,
        0x1DC0..=0x1DFF => 0x1DC0,
        _ => 0x1111,
    }
}

/// Returns a scanner with the same future. All that its future does not depend on is the other's, and numbers
/// and strings are reduced to their comparisons.
pub(super) fn reduced(parser: &HeaderParser, other: &HeaderParser) -> HeaderParser {
    let (state, mut new) = (parser.state, other.clone());
    new.state = state;
    new.utf8 = if parser.utf8.is_open() { parser.utf8.clone() } else { Utf8::new() };
    if state == State::NonAscii {
        new.fault = parser.fault;
        new.fault_at = new.position - (parser.position - parser.fault_at);
        return new;
    }
    (new.fields, new.metadata_seen, new.depth) = (parser.fields, parser.metadata_seen, parser.depth);
    (1..=parser.depth).for_each(|depth| new.nesting.open(depth, parser.nesting.is_object(depth)));
    match state {
        State::AfterKey => new.after_colon = parser.after_colon,
        State::Digits => new.number = like_number(parser.number),
        State::LiteralLetters => new.number = parser.number,
        State::UnicodeDigits | State::LowBackslash | State::LowU => {
            let half = if parser.unicode.0 >> 20 > 0 { 0x400 << 20 } else { 0 };
            new.unicode.0 = half | like_digits(parser.unicode.0 & 0xF_FFFF);
        }
        _ => assert!(state.is_row() || is_in_string(state), "no scanner stops in this state"),
    }
    if !state.is_row() {
        new.token_kind = parser.token_kind;
    }
    let text = parser.word.as_bytes();
    if is_in_string(state) && (parser.word.is_empty() || !text.is_empty()) {
        if let Some(word) = word(parser.token_kind, text) {
            new.word.clear();
            new.word.push(&word[..text.len()]);
        }
    }
    new
}

/// Returns a scanner at any byte of a header, from which the others take what is left open.
fn blank() -> HeaderParser {
    let mut parser = HeaderParser { position: 1000, token: 7, end: 100_000_000, ..HeaderParser::new() };
    parser.word.rule_out();
    parser
}

/// As [`blank`], with other values, which would lead elsewhere.
fn junk() -> HeaderParser {
    let mut parser = HeaderParser {
        token_kind: State::Dtype,
        after_colon: State::FirstItem,
        dtype: Dtype::F64,
        fault_at: 3,
        shape_at: 4,
        begin_at: 5,
        number: u64::MAX,
        elements: u64::MAX,
        begin: u64::MAX,
        range_end: 1,
        fields: 7,
        metadata_seen: true,
        depth: 99,
        fault: Fault::Changed,
        ..blank()
    };
    (1..126).for_each(|depth| parser.nesting.open(depth, true));
    parser.word.clear();
    parser.word.push(b"F32\"");
    parser.unicode.0 = u32::MAX;
    parser
}

type Pair = (HeaderParser, Configuration);

/// The pairs, and the bytes that led to each first.
pub(super) struct Walk<'l> {
    language: &'l Language,
    blank: HeaderParser,
    junk: HeaderParser,
    pairs: Vec<Pair>,
    from: Vec<(usize, u8)>,
    known: HashMap<Pair, usize>,
    /// The pair that was found last.
    last: usize,
    transitions: u64,
}

impl<'l> Walk<'l> {
    /// Visits all pairs with so many open brackets that can be reached after `path`.
    pub(super) fn all(
        language: &'l Language,
        path: &str,
        depths: RangeInclusive<u8>,
    ) -> Result<String, String> {
        let (blank, junk) = (blank(), junk());
        let (pairs, from, known) = (Vec::new(), Vec::new(), HashMap::new());
        let mut walk = Self { language, blank, junk, pairs, from, known, last: 0, transitions: 0 };
        let mut parser = HeaderParser::new();
        100_000u64.to_le_bytes().into_iter().try_for_each(|byte| feed(&mut parser, byte)).expect("a length");
        walk.add((reduced(&parser, &walk.blank), Language::start()), (0, 0));
        let mut pair = 0;
        for byte in path.bytes() {
            pair = walk.step(pair, byte)?.ok_or_else(|| std::format!("{path} is no header"))?;
        }
        walk.visit(&depths)?;
        Ok(std::format!("{} pairs, {} transitions", walk.pairs.len(), walk.transitions))
    }

    /// Visits pairs in the order in which they are found, so that the first difference is at a shortest path.
    fn visit(&mut self, depths: &RangeInclusive<u8>) -> Result<(), String> {
        let mut pair = 0;
        while let Some((_, now)) = self.pairs.get(pair) {
            if depths.contains(&now.depth) {
                self.end(pair)?;
                (0..=255).try_for_each(|byte| self.step(pair, byte).map(drop))?;
            }
            pair += 1;
        }
        Ok(())
    }

    /// Adds a pair, unless it is known. Returns its index.
    fn add(&mut self, pair: Pair, from: (usize, u8)) -> usize {
        // Most bytes lead to the same pair as the one before.
        if self.pairs.get(self.last) != Some(&pair) {
            self.last = *self.known.entry(pair).or_insert_with_key(|pair| {
                self.pairs.push(pair.clone());
                self.from.push(from);
                self.pairs.len() - 1
            });
        }
        self.last
    }

    /// Returns scanners in the state of a pair: two that differ in all that reduction leaves out, and one
    /// that was not reduced after the last byte.
    fn scanners(&self, pair: usize) -> [HeaderParser; 3] {
        let with_junk = |pair: usize| reduced(&self.pairs[pair].0, &self.junk);
        let (from, byte) = self.from[pair];
        let mut last = with_junk(from);
        if pair > 0 {
            feed(&mut last, byte).expect("this byte led to the pair");
        }
        [self.pairs[pair].0.clone(), with_junk(pair), last]
    }

    /// Takes a byte from a pair. Returns the next pair, or nothing if both fail alike.
    fn step(&mut self, pair: usize, byte: u8) -> Result<Option<usize>, String> {
        self.transitions += 1;
        let mut after = self.pairs[pair].1.clone();
        let taken = self.language.take(&mut after, byte);
        let nexts = self.scanners(pair).map(|parser| take(parser, byte, taken, &self.blank));
        let why = match nexts {
            [Ok(next), Ok(second), Ok(third)] if next == second && next == third => {
                return Ok(next.map(|next| self.add((next, after), (pair, byte))));
            }
            [Err(why), ..] | [_, Err(why), _] | [.., Err(why)] => why,
            _ => "the abstraction is wrong".into(),
        };
        Err(std::format!("{why} after {}, then {byte:#x}", self.path(pair)))
    }

    /// Ends the header at a pair.
    fn end(&mut self, pair: usize) -> Result<(), String> {
        self.transitions += 1;
        let expected = Language::end(&self.pairs[pair].1);
        for mut parser in self.scanners(pair) {
            parser.end = parser.position;
            let (before, found) = (parser.clone(), parser.next(&mut &[][..]));
            let is_same = match (expected, found) {
                (Ok(()), Ok(event)) => event == Event::HeaderEnd,
                (Err(failure), Err(error)) => is_same(failure, error, &before),
                _ => false,
            };
            if !is_same {
                return Err(std::format!("{found:?}, not {expected:?} at the end of {}", self.path(pair)));
            }
        }
        Ok(())
    }

    /// Returns the bytes that lead to a pair, as text.
    fn path(&self, pair: usize) -> String {
        let (mut path, mut at) = (Vec::new(), pair);
        while at > 0 {
            let (from, byte) = self.from[at];
            path.push(byte);
            at = from;
        }
        path.reverse();
        std::format!("b\"{}\"", path.escape_ascii())
    }
}

/// Takes a byte, of which the automaton makes `expected`. Returns the next state, or nothing if both fail
/// alike.
fn take(
    mut parser: HeaderParser,
    byte: u8,
    expected: Result<bool, Failure>,
    blank: &HeaderParser,
) -> Result<Option<HeaderParser>, String> {
    let before = parser.clone();
    match (feed(&mut parser, byte), expected) {
        (Ok(()), Ok(begins)) => {
            let begun = if begins { before.position } else { before.token };
            let in_token = is_in_string(parser.state) || parser.state == State::Digits;
            if (in_token || begins) && parser.token != begun {
                return Err(std::format!("the token is at {}, not {begun}", parser.token));
            }
            Ok(Some(reduced(&parser, blank)))
        }
        (Err(error), Err(failure)) if is_same(failure, error, &before) => Ok(None),
        (found, expected) => Err(std::format!("{found:?}, not {expected:?} at the byte {}", before.position)),
    }
}

fn is_same((code, back): Failure, error: Error, before: &HeaderParser) -> bool {
    let at = back.map_or(before.event_start(), |back| before.position() - back);
    error.kind.code() == code && error.at == at
}

/// Feeds a byte to the scanner.
fn feed(parser: &mut HeaderParser, byte: u8) -> Result<(), Error> {
    let input = [byte];
    let mut input = &input[..];
    while parser.next(&mut input)? != Event::NeedInput {}
    Ok(())
}
