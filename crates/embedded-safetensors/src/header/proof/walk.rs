//! The walk: the scanner and the automaton side by side, through every pair of states that bytes lead to.

extern crate std;

use super::super::super::grammar::State;
use super::super::super::text::Utf8;
use super::super::{HeaderParser, METADATA, Signal, Signals};
use super::language::{Configuration, Failure, Language};
use crate::dtype::Dtype;
use crate::error::{Error, Field};
use crate::header::Event;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::iter::successors;
use std::ops::Range;
use std::string::String;
use std::vec::Vec;

impl Hash for HeaderParser {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        // The automaton's state distinguishes the others.
        (self.state as u8, self.word.as_bytes(), self.number, self.unicode.0).hash(hasher);
    }
}

fn is_in_string(state: State) -> bool {
    matches!(state, State::Text | State::Escape | State::UnicodeDigits | State::LowBackslash | State::LowU)
}

/// Returns the string so far, unless it is too long for a word.
fn text(parser: &HeaderParser) -> Option<&[u8]> {
    Some(parser.word.as_bytes()).filter(|text| !text.is_empty() || parser.word.is_empty())
}

/// Whether a word that matters in the token begins like the string so far.
fn is_prefix(parser: &HeaderParser) -> bool {
    let Some(text) = text(parser) else { return false };
    match parser.token_kind {
        State::Name => METADATA.starts_with(text),
        State::Field => Field::ALL.iter().any(|field| field.name().as_bytes().starts_with(text)),
        _ => Dtype::ALL.iter().any(|dtype| dtype.name().as_bytes().starts_with(text)),
    }
}

/// Returns the first and the last number that have as many digits, and compare alike with as many digits of
/// the largest number. Numbers below 100 are alike to no other.
fn alike_numbers(number: u64) -> [u64; 2] {
    let Some(log @ 2..) = number.checked_ilog10() else { return [number; 2] };
    let limit = u64::MAX / 10u64.pow(19 - log);
    match number.cmp(&limit) {
        Ordering::Less => [10u64.pow(log), limit - 1],
        Ordering::Equal => [limit; 2],
        Ordering::Greater => [limit + 1, 10u64.pow(log + 1) - 1],
    }
}

/// Returns the first and the last digits of an escape, after a one bit, that may become the same: ASCII, or
/// half a pair.
fn alike_digits(digits: u32) -> [u32; 2] {
    match digits {
        0x1 | 0x10 | 0x1D | 0x100 | 0x1000..=0x1007 => [digits; 2],
        0x11..=0x1F => [0x11, 0x1F],
        0x1D8..=0x1DB => [0x1D8, 0x1DB],
        0x1DC..=0x1DF => [0x1DC, 0x1DF],
        0x101..=0x1FF => [0x101, 0x1FF],
        0x1D80..=0x1DBF => [0x1D80, 0x1DBF],
        0x1DC0..=0x1DFF => [0x1DC0, 0x1DFF],
        _ => [0x1008, 0x1FFF],
    }
}

/// Replaces a number or a string by the first of those that are alike, or by the last.
fn replaced(mut parser: HeaderParser, which: usize) -> HeaderParser {
    if parser.state == State::Digits {
        parser.number = alike_numbers(parser.number)[which];
    }
    let (half, digits) = (parser.unicode.0 >> 20, parser.unicode.0 & 0xF_FFFF);
    // In a key of `__metadata__` no digit is replaced.
    let digits = if parser.token_kind == State::Key { digits } else { alike_digits(digits)[which] };
    parser.unicode.0 = if half > 0 { [0x400 << 20, 0x7FF << 20][which] | digits } else { digits };
    if !is_prefix(&parser) {
        parser.word.clear();
        if which == 0 { parser.word.rule_out() } else { parser.word.push(b"F32\"") }
    }
    parser
}

/// Returns a scanner with the same future. All that its future does not depend on is the other's.
fn used(parser: &HeaderParser, other: &HeaderParser) -> HeaderParser {
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
        State::Digits | State::LiteralLetters => new.number = parser.number,
        State::UnicodeDigits | State::LowBackslash | State::LowU => new.unicode = parser.unicode.clone(),
        _ => assert!(state.is_row() || is_in_string(state), "no scanner stops in this state"),
    }
    if !state.is_row() {
        new.token_kind = parser.token_kind;
    }
    if is_in_string(state) && matches!(parser.token_kind, State::Name | State::Field | State::Dtype) {
        new.word.clear();
        if let Some(text) = text(parser) { new.word.push(text) } else { new.word.rule_out() }
    }
    new
}

/// Returns two scanners at the same byte. The one has read nothing, the other a header up to an error.
fn others() -> [HeaderParser; 2] {
    let nested = [r#"{"":"#.repeat(125), "0".into(), "}".repeat(125)].concat();
    let tensor = r#""dtype":"F64","shape":[18446744073709551615],"data_offsets":[18446744073709551615,1]"#;
    let read = std::format!(
        r#"{{"__metadata__":null,"":{{{tensor},"\uD83D\uDE00":{nested}}},"":{{"dtype":"F32\"\0"#
    );
    [String::new(), read].map(|text| {
        let mut parser = HeaderParser::new();
        let mut bytes = 100_000_000u64.to_le_bytes().into_iter().chain(text.bytes());
        let has_failed = bytes.any(|byte| feed::<false>(&mut parser, byte).is_err());
        assert_eq!((has_failed, bytes.next()), (!text.is_empty(), None), "{text}");
        HeaderParser { position: 10_000, token: 7, ..parser }
    })
}

/// The states of both, and whether the scanner's is reduced.
type Pair = (HeaderParser, Configuration, bool);

/// The pairs, and the bytes that led to each first.
pub(super) struct Walk<'l> {
    language: &'l Language,
    others: [HeaderParser; 2],
    pairs: Vec<Pair>,
    from: Vec<(usize, u8)>,
    known: HashMap<Pair, usize>,
    /// The pair that was found last.
    last: usize,
    transitions: u64,
    /// Whether numbers and strings that are replaced take a byte, too.
    follows: bool,
}

impl<'l> Walk<'l> {
    /// Visits the pairs along `path`, and all pairs with so many open brackets that can be reached from them.
    pub(super) fn all(language: &'l Language, path: &str, depths: Range<u8>) -> Result<String, String> {
        let (others, follows) = (others(), super::bound(true, false));
        let (pairs, from, known) = (Vec::new(), Vec::new(), HashMap::new());
        let mut walk = Self { language, others, pairs, from, known, last: 0, transitions: 0, follows };
        let mut pair = walk.add((walk.others[0].clone(), Language::start(), true), (0, 0));
        for byte in path.bytes() {
            walk.visit(pair)?;
            pair = walk.step(pair, byte)?.ok_or_else(|| std::format!("{path} is no header"))?;
        }
        // In the order in which they are found, so that the first difference is at a shortest path.
        pair = 0;
        while let Some((_, now, _)) = walk.pairs.get(pair) {
            if depths.contains(&now.depth) {
                walk.visit(pair)?;
            }
            pair += 1;
        }
        let reduced = walk.pairs.iter().filter(|pair| pair.2).count();
        Ok(std::format!("{pair} pairs, {reduced} of them reduced, {} transitions", walk.transitions))
    }

    /// Takes every byte from a pair, and the end of the header.
    fn visit(&mut self, pair: usize) -> Result<(), String> {
        (0..=255).try_for_each(|byte| self.step(pair, byte).map(drop))?;
        self.end(pair)
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

    /// Returns a scanner with the same future, which differs from this one in all that does not matter.
    fn reduced(&self, parser: &HeaderParser, which: usize) -> HeaderParser {
        used(&replaced(parser.clone(), which), &self.others[which])
    }

    /// Returns the scanner of a pair, and another one.
    fn scanners(&self, pair: usize) -> [HeaderParser; 2] {
        let first = &self.pairs[pair].0;
        [first.clone(), self.reduced(first, 1)]
    }

    /// Takes a byte from a pair. Returns the next pair, or nothing if both fail alike.
    fn step(&mut self, pair: usize, byte: u8) -> Result<Option<usize>, String> {
        self.transitions += 1;
        let (mut after, from) = (self.pairs[pair].1.clone(), (pair, byte));
        let expected = self.language.take(&mut after, byte);
        let [first, second] = self.scanners(pair);
        let why = match (take::<false>(first, byte, expected), take::<true>(second, byte, expected)) {
            (Ok(None), Ok(None)) => return Ok(None),
            (Ok(Some(first)), Ok(Some(second))) if self.reduced(&first, 0) == self.reduced(&second, 0) => {
                let next = self.reduced(&first, 0);
                if self.pairs[pair].2 && self.follows && matches!(next.state, State::Text | State::Digits) {
                    let nexts = [first, second].map(|parser| used(&parser, &self.others[0]));
                    for parser in nexts.into_iter().filter(|parser| *parser != next) {
                        self.add((parser, after.clone(), false), from);
                    }
                }
                return Ok(Some(self.add((next, after, true), from)));
            }
            (Err(why), _) | (_, Err(why)) => why,
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
        let pairs = successors(Some(pair), |at| Some(self.from[*at].0)).take_while(|at| *at > 0);
        let mut path: Vec<u8> = pairs.map(|at| self.from[at].1).collect();
        path.reverse();
        std::format!("b\"{}\"", path.escape_ascii())
    }
}

/// Takes a byte, after which the automaton says `expected`. Returns the next state, or nothing if both fail
/// alike.
fn take<const IN_CONST: bool>(
    mut parser: HeaderParser,
    byte: u8,
    expected: Result<bool, Failure>,
) -> Result<Option<HeaderParser>, String> {
    let before = parser.clone();
    match (feed::<IN_CONST>(&mut parser, byte), expected) {
        (Ok(()), Ok(begins)) => {
            let begun = if begins { before.position } else { before.token };
            let in_token = is_in_string(parser.state) || parser.state == State::Digits;
            if (in_token || begins) && parser.token != begun {
                return Err(std::format!("the token is at {}, not {begun}", parser.token));
            }
            Ok(Some(parser))
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
fn feed<const IN_CONST: bool>(parser: &mut HeaderParser, byte: u8) -> Result<(), Error> {
    let (mut input, mut run) = (&[byte][..], &[][..]);
    loop {
        match parser.advance::<IN_CONST>(&mut input, &mut run, Signals::ALL) {
            Signal::Failed => return Err(parser.error()),
            Signal::NeedInput => return Ok(()),
            _ => {}
        }
    }
}
