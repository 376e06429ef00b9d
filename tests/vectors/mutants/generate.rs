//! Files that are nearly valid: a valid model, and in most files one twist at one place.
//!
//! A model becomes a tree of JSON, the tree becomes tokens, and the tokens become bytes. Each step has its
//! twists: to sizes and ranges, to members and values, to punctuation, to bytes. What they insert comes from
//! `pieces`. The same number always gives the same file.

use crate::entries::{DTYPES, Dtype};
use crate::pieces;

/// Random numbers (xorshift).
pub struct Random(u64);

/// A JSON value; `Raw` is its text.
#[derive(Clone)]
enum Value {
    Raw(Vec<u8>),
    Array(Vec<Value>),
    Object(Vec<(Vec<u8>, Value)>),
}

/// A tensor of a model; the name is the text between its quotes.
#[derive(Clone)]
struct Tensor {
    name: Vec<u8>,
    dtype: Dtype,
    shape: Vec<u64>,
    range: [u64; 2],
}

/// A file before it becomes bytes.
struct Draft {
    tensors: Vec<Tensor>,
    data: Vec<u8>,
    metadata: Option<Value>,
}

/// Where a file has its twist.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Twist {
    None,
    Name,
    Text,
    Unknown,
    Dtype,
    Shape,
    Offsets,
    Size,
    Layout,
    Empty,
    Members,
    Entry,
    Metadata,
    Token,
    Around,
    Length,
    Data,
    Byte,
}

const TWISTS: [Twist; 20] = [
    Twist::None,
    Twist::Name,
    Twist::Text,
    Twist::Text,
    Twist::Text,
    Twist::Unknown,
    Twist::Unknown,
    Twist::Dtype,
    Twist::Shape,
    Twist::Offsets,
    Twist::Size,
    Twist::Layout,
    Twist::Empty,
    Twist::Members,
    Twist::Entry,
    Twist::Metadata,
    Twist::Token,
    Twist::Around,
    Twist::Length,
    Twist::Data,
];

impl Random {
    /// Returns the numbers of a seed.
    pub fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..4 {
            random.next();
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns a number below this one.
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() >> 11).unwrap_or_default() % end.max(1)
    }

    /// Returns true once in so many times.
    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn pick<'t, T: ?Sized>(&mut self, of: &[&'t T]) -> &'t T {
        of[self.below(of.len())]
    }
}

/// Returns the file of this number.
pub fn file(number: u64) -> Vec<u8> {
    let random = &mut Random::new(number);
    let twist = if random.once_in(25) { Twist::Byte } else { TWISTS[random.below(TWISTS.len())] };
    let mut draft = draft(random);
    match twist {
        Twist::Name => names(random, &mut draft),
        Twist::Size => size(random, &mut draft),
        Twist::Layout => layout(random, &mut draft),
        Twist::Empty => empty(random, &mut draft),
        _ => {}
    }
    let mut members = tree(random, &draft);
    if random.once_in(3) {
        shuffle(random, &mut members);
    }
    let metadata = b"\"__metadata__\"".to_vec();
    if let Some(pairs) = draft.metadata.clone() {
        let place = if random.once_in(3) { random.below(members.len() + 1) } else { 0 };
        members.insert(place, (metadata, pairs));
    }
    match twist {
        Twist::Metadata => twist_metadata(random, &mut members),
        Twist::Entry => twist_entry(random, &mut members),
        Twist::Text => twist_text(random, &mut members),
        _ => twist_member(random, twist, &mut members),
    }
    let mut tokens = Vec::new();
    write(&Value::Object(members), &mut tokens);
    if twist == Twist::Token {
        twist_token(random, &mut tokens);
    }
    if random.once_in(6) {
        spaces(random, &mut tokens);
    }
    let header = tokens.concat();
    bytes(random, twist, header, draft.data)
}

/// Returns a valid model.
fn draft(random: &mut Random) -> Draft {
    let count = match random.below(400) {
        0 => 257,
        1..=3 => 40,
        4..=9 => 13,
        10..=40 => 0,
        _ => 1 + random.below(4),
    };
    let mut end = 0;
    let mut tensors = Vec::new();
    for at in 0..count {
        let dtype = if random.once_in(2) { DTYPES[random.below(22)] } else { ("U8", 8) };
        let shape = shape(random, dtype.1);
        let length = shape.iter().product::<u64>() * dtype.1 / 8;
        let name = match at {
            0..26 => vec![b'a' + u8::try_from(at).unwrap_or_default()],
            _ => format!("t{at}").into_bytes(),
        };
        tensors.push(Tensor { name, dtype, shape, range: [end, end + length] });
        end += length;
    }
    let data = (0..end).map(|_| if random.once_in(4) { 0xFF } else { u8::from(random.once_in(2)) }).collect();
    let pairs = || Value::Object(vec![(b"\"format\"".to_vec(), Value::Raw(b"\"pt\"".to_vec()))]);
    Draft { tensors, data, metadata: random.once_in(4).then(pairs) }
}

/// Returns a shape of whole bytes.
fn shape(random: &mut Random, bits: u64) -> Vec<u64> {
    let rank = match random.below(60) {
        0 => random.below(70),
        1 => 257,
        2 => 5 + random.below(13),
        3..=12 => 0,
        13..=30 => 2,
        31..=35 => 3 + random.below(2),
        _ => 1,
    };
    let mut shape: Vec<u64> =
        (0..rank).map(|_| if rank > 4 { 1 } else { random.below(4) as u64 + 1 }).collect();
    if let Some(dim) = shape.last_mut() {
        *dim = if random.once_in(12) { 0 } else { *dim };
    }
    if let Some(dim) = shape.first_mut() {
        *dim = if random.once_in(20) { 0 } else { *dim };
    }
    let whole = (shape.iter().product::<u64>() * bits).is_multiple_of(8);
    if whole { shape } else { vec![4, 2] }
}

fn shuffle<T>(random: &mut Random, list: &mut [T]) {
    for at in (1..list.len()).rev() {
        list.swap(at, random.below(at + 1));
    }
}

/// Changes names: to one of many, or to two that some readers mistake for one.
fn names(random: &mut Random, draft: &mut Draft) {
    let count = draft.tensors.len();
    if count == 0 {
        return;
    }
    if random.once_in(3) && count > 1 {
        let [one, other] = pieces::NAME_PAIRS[random.below(pieces::NAME_PAIRS.len())];
        draft.tensors[0].name = one.to_vec();
        draft.tensors[1].name = other.to_vec();
    } else {
        draft.tensors[random.below(count)].name = match random.below(10) {
            0 => vec![b'n'; 40 + random.below(400)],
            _ => random.pick(pieces::NAMES).to_vec(),
        };
    }
}

/// Changes shapes, ranges and dtypes so that the size may be wrong.
fn size(random: &mut Random, draft: &mut Draft) {
    if random.once_in(2) {
        let (dtype, shape, length) = pieces::SIZES[random.below(pieces::SIZES.len())];
        let dtype = DTYPES.into_iter().find(|(name, _)| *name == dtype).unwrap_or(("U8", 8));
        draft.tensors =
            vec![Tensor { name: b"a".to_vec(), dtype, shape: shape.to_vec(), range: [0, length] }];
        // As many bytes as a reader of 32 bits sees.
        draft.data = vec![1; usize::try_from(length & 0xFFFF_FFFF).unwrap_or_default().min(1 << 17)];
        return;
    }
    let Some(tensor) = draft.tensors.last_mut() else { return };
    let by = 1 + random.below(8) as u64;
    match random.below(6) {
        0 => tensor.range[1] += by,
        1 => tensor.range[1] = tensor.range[1].saturating_sub(by).max(tensor.range[0]),
        2 => tensor.dtype = DTYPES[random.below(22)],
        3 => tensor.shape.push(by),
        4 => drop(tensor.shape.pop()),
        _ => tensor.range.swap(0, 1),
    }
    let end = tensor.range[1].max(tensor.range[0]);
    if !random.once_in(4) {
        draft.data.resize(usize::try_from(end).unwrap_or_default(), 1);
    }
}

/// Makes tensors of bytes with ranges that need not fit together.
fn layout(random: &mut Random, draft: &mut Draft) {
    let count = if random.once_in(8) { 13 + random.below(30) } else { 2 + random.below(4) };
    if random.once_in(50) {
        // The header and all tensors together have 2^64 bytes and more.
        let end = |at: u64| at * ((1 << 61) - 1);
        let tensors = (0..8).map(|at| bytes_of(format!("h{at}").into_bytes(), [end(at), end(at + 1)]));
        draft.tensors = tensors.collect();
        draft.data.clear();
        return;
    }
    let mut ranges: Vec<[u64; 2]> = Vec::new();
    let mut end = 0;
    for _ in 0..count {
        let length = random.below(9) as u64;
        ranges.push([end, end + length]);
        end += length;
    }
    let at = random.below(count);
    let by = *random.pick(&[&1, &1, &2, &4, &7, &8, &64, &256, &65_536, &(1 << 32)]);
    match random.below(10) {
        // A hole, of two or of all.
        0 | 1 => ranges[at..].iter_mut().flatten().for_each(|border| *border += by),
        2 => ranges.iter_mut().flatten().for_each(|border| *border += by),
        // An overlap, also one that a hole makes good.
        3 => ranges[at][0] = ranges[at][0].saturating_sub(by),
        4 => ranges[at][1] += by.min(64),
        5 => ranges[at] = ranges[random.below(count)],
        6 => ranges[at] = [ranges[random.below(count)][0], end],
        7 => {
            ranges[at] = ranges[at].map(|border| border + 1);
            end += u64::from(at + 1 == count);
        }
        8 => ranges[at].reverse(),
        _ => {}
    }
    let names = (0..count).map(|at| format!("{}{at}", if random.once_in(2) { "z" } else { "a" }));
    draft.tensors = names.zip(&ranges).map(|(name, range)| bytes_of(name.into_bytes(), *range)).collect();
    let end =
        if random.once_in(3) { end } else { ranges.iter().map(|range| range[1]).max().unwrap_or_default() };
    draft.data = vec![0; usize::try_from(end).unwrap_or_default().min(1 << 17)];
    shuffle(random, &mut draft.tensors);
}

/// Returns a tensor of bytes with this range.
fn bytes_of(name: Vec<u8>, range: [u64; 2]) -> Tensor {
    Tensor { name, dtype: ("U8", 8), shape: vec![range[1].wrapping_sub(range[0])], range }
}

/// Inserts a tensor without bytes, at a border or elsewhere.
fn empty(random: &mut Random, draft: &mut Draft) {
    let end = draft.data.len() as u64;
    for at in 0..1 + random.below(3) {
        let place = match random.below(4) {
            0 => random.below(draft.data.len() + 1) as u64,
            1 => end + random.below(2) as u64,
            _ => draft.tensors.get(random.below(draft.tensors.len())).map_or(0, |tensor| tensor.range[0]),
        };
        let tensor = bytes_of(format!("e{at}").into_bytes(), [place, place]);
        let index = random.below(draft.tensors.len() + 1);
        draft.tensors.insert(index, tensor);
    }
}

/// Returns the members of the header, but for the metadata.
fn tree(random: &mut Random, draft: &Draft) -> Vec<(Vec<u8>, Value)> {
    let number = |number: &u64| Value::Raw(number.to_string().into_bytes());
    let mut entries = Vec::new();
    for tensor in &draft.tensors {
        let mut members = vec![
            (b"\"dtype\"".to_vec(), Value::Raw(quoted(tensor.dtype.0.as_bytes()))),
            (b"\"shape\"".to_vec(), Value::Array(tensor.shape.iter().map(number).collect())),
            (b"\"data_offsets\"".to_vec(), Value::Array(tensor.range.iter().map(number).collect())),
        ];
        if random.once_in(6) {
            shuffle(random, &mut members);
        }
        entries.push((quoted(&tensor.name), Value::Object(members)));
    }
    entries
}

fn quoted(text: &[u8]) -> Vec<u8> {
    [&b"\""[..], text, b"\""].concat()
}

fn raw(text: &[u8]) -> Value {
    Value::Raw(text.to_vec())
}

/// Returns the members of one of the entries.
fn entry<'m>(
    random: &mut Random,
    members: &'m mut [(Vec<u8>, Value)],
) -> Option<&'m mut Vec<(Vec<u8>, Value)>> {
    let entries = members.iter_mut().filter(|(key, _)| key != b"\"__metadata__\"");
    let entries: Vec<_> = entries.collect();
    let at = random.below(entries.len());
    match entries.into_iter().nth(at)? {
        (_, Value::Object(inner)) => Some(inner),
        _ => None,
    }
}

/// Changes one entry where the twist is.
fn twist_member(random: &mut Random, twist: Twist, members: &mut [(Vec<u8>, Value)]) {
    let Some(entry) = entry(random, members) else { return };
    let at = |key: &[u8]| entry.iter().position(|(other, _)| other == key).unwrap_or_default();
    let (dtype, shape, offsets) = (at(b"\"dtype\""), at(b"\"shape\""), at(b"\"data_offsets\""));
    match twist {
        Twist::Unknown => {
            for _ in 0..if random.once_in(8) { 5 } else { 1 } {
                let key = quoted(random.pick(pieces::UNKNOWN_KEYS));
                let place = random.below(entry.len() + 1);
                entry.insert(place, (key, Value::Raw(skipped(random))));
            }
        }
        Twist::Dtype => entry[dtype].1 = twist_dtype(random, &entry[dtype].1),
        Twist::Shape => twist_numbers(random, &mut entry[shape].1, pieces::SHAPES),
        Twist::Offsets => twist_numbers(random, &mut entry[offsets].1, pieces::OFFSETS),
        Twist::Members => twist_members(random, entry),
        _ => {}
    }
}

/// Returns a value of an unknown member.
fn skipped(random: &mut Random) -> Vec<u8> {
    match random.below(12) {
        0..=3 => random.pick(pieces::NUMBERS).to_vec(),
        4..=6 => random.pick(pieces::VALUES).to_vec(),
        7 | 8 => random.pick(pieces::WRONG_VALUES).to_vec(),
        9 => deep(random),
        10 => [&b"["[..], random.pick(pieces::NUMBERS), b"]"].concat(),
        _ => [&b"{\"k\":"[..], random.pick(pieces::VALUES), b"}"].concat(),
    }
}

/// Returns brackets in brackets, of which one may be of the wrong kind.
fn deep(random: &mut Random) -> Vec<u8> {
    let depth = match random.below(4) {
        0 => 125 + random.below(2),
        1 => 62 + random.below(64),
        _ => 1 + random.below(125),
    };
    let kinds: Vec<bool> = (0..depth).map(|_| random.once_in(3)).collect();
    let mut text: Vec<u8> =
        kinds.iter().flat_map(|object| if *object { &b"{\"k\":"[..] } else { b"[" }).copied().collect();
    text.extend_from_slice(b"0");
    let wrong = if random.once_in(3) { random.below(depth) } else { depth };
    for (at, object) in kinds.iter().enumerate().rev() {
        text.push(if *object ^ (at == wrong) { b'}' } else { b']' });
    }
    text
}

fn twist_dtype(random: &mut Random, dtype: &Value) -> Value {
    let Value::Raw(text) = dtype else { return dtype.clone() };
    let name = &text[1..text.len() - 1];
    match random.below(8) {
        0..=2 => raw(random.pick(pieces::DTYPES)),
        3 => Value::Raw(text.to_ascii_lowercase()),
        4 => Value::Raw(
            [&b"\""[..], name, random.pick(&[&b" "[..], b"x", b"_", b"\\u0000", b"\\u0000x", b"\\t"]), b"\""]
                .concat(),
        ),
        5 => Value::Raw([&b"\" "[..], name, b"\""].concat()),
        6 => Value::Raw(escaped(random, text)),
        _ => Value::Raw(quoted(&name[..name.len() - 1])),
    }
}

/// Returns a string with one of its characters as an escape.
fn escaped(random: &mut Random, string: &[u8]) -> Vec<u8> {
    let at = 1 + random.below(string.len().saturating_sub(2));
    let Some(byte) = string.get(at).filter(|byte| byte.is_ascii() && **byte != b'"' && **byte != b'\\')
    else {
        return string.to_vec();
    };
    let escape = if random.once_in(2) { format!("\\u{byte:04x}") } else { format!("\\u{byte:04X}") };
    [&string[..at], escape.as_bytes(), &string[at + 1..]].concat()
}

/// Changes an array of numbers: one of them, or all of it.
fn twist_numbers(random: &mut Random, value: &mut Value, whole: &[&[u8]]) {
    let Value::Array(numbers) = value else { return };
    let at = random.below(numbers.len());
    let digits = match numbers.get(at) {
        Some(Value::Raw(digits)) => {
            std::str::from_utf8(digits).ok().and_then(|text| text.parse::<u64>().ok())
        }
        _ => None,
    };
    let Some(digits) = digits.filter(|_| !random.once_in(4)) else {
        match random.below(3) {
            0 => numbers.push(raw(random.pick(&[&b"0"[..], b"1", b"4", b"[1]", b"18446744073709551615"]))),
            1 => drop(numbers.pop()),
            _ => *value = raw(random.pick(whole)),
        }
        return;
    };
    let number = u128::from(digits);
    let text = match random.below(40) {
        0 => format!("{digits}.0"),
        1 => format!("{digits}e0"),
        2 => format!("{digits}0e-1"),
        3 => format!("{digits}.0e0"),
        4 => format!("{digits}.5"),
        5 => format!("{digits}.9999999999999999999999"),
        6 => format!("-{digits}"),
        7 => "-0".to_owned(),
        8 => "-0.0".to_owned(),
        9 => "-1".to_owned(),
        10 => format!("\"{digits}\""),
        11 => format!("\" {digits}\""),
        12 => random.pick(&["true", "false"]).to_owned(),
        13 => "null".to_owned(),
        14 => format!("0{digits}"),
        15 => format!("+{digits}"),
        16 => format!("0x{digits:x}"),
        17 => format!("{digits}_"),
        18 => format!("{digits}u64"),
        19 => format!("[{digits}]"),
        20 => format!("{digits}."),
        21 | 22 => (number + (1 << 32)).to_string(),
        23 | 24 => (number + (1 << 64)).to_string(),
        25 => (number + (1 << 8)).to_string(),
        26 => (number + (1 << 16)).to_string(),
        27 => (number + (1 << 63)).to_string(),
        28 => ((1 << 64) - number.max(1)).to_string(),
        29 => (number + (1 << 53)).to_string(),
        30 => (number + (10 << 64)).to_string(),
        31 => format!("{}", digits + 1),
        32 => format!("{}", digits.saturating_sub(1)),
        33 => "0.0".to_owned(),
        34 => format!(".{digits}"),
        35 => format!("{digits}/1"),
        36 => "{}".to_owned(),
        37 => format!("--{digits}"),
        38 => "1e309".to_owned(),
        _ => format!("{digits}E+00"),
    };
    numbers[at] = Value::Raw(text.into_bytes());
}

/// Removes, repeats and renames members of an entry.
fn twist_members(random: &mut Random, entry: &mut Vec<(Vec<u8>, Value)>) {
    let at = random.below(entry.len());
    let (key, value) = entry[at].clone();
    match random.below(9) {
        0 => drop(entry.remove(at)),
        1 => entry.push((key, value)),
        2 => entry.insert(0, (key, value)),
        // A duplicate that is wrong, so that it matters which one counts.
        3 => entry.insert(at, (key, raw(random.pick(pieces::WRONG_MEMBERS)))),
        4 => entry.push((key, raw(random.pick(pieces::WRONG_MEMBERS)))),
        5 => entry[at].0 = escaped(random, &key),
        6 => {
            entry.push((escaped(random, &key), value));
        }
        7 => {
            let name = &key[1..key.len() - 1];
            entry[at].0 = match random.below(9) {
                0 => key.to_ascii_uppercase(),
                1 => [&b"\""[..], name, b" \""].concat(),
                2 => [&b"\" "[..], name, b"\""].concat(),
                3 => [&b"\""[..], name, b"s\""].concat(),
                4 => [&b"\""[..], name, b"\\u0000\""].concat(),
                5 => [&b"\""[..], &name[..name.len() - 1], b"\""].concat(),
                6 => [&b"\""[..], &name[..name.len() - 1], b"x\""].concat(),
                7 => random.pick(pieces::KEY_ALIASES).to_vec(),
                _ => name.to_vec(),
            };
        }
        _ => {
            let inner = Value::Object(std::mem::take(entry));
            entry.push((b"\"__proto__\"".to_vec(), inner));
        }
    }
}

/// Replaces an entry, or adds one that is none.
fn twist_entry(random: &mut Random, members: &mut Vec<(Vec<u8>, Value)>) {
    let wrong = raw(random.pick(pieces::WRONG_ENTRIES));
    let place = random.below(members.len() + 1);
    match random.below(4) {
        0 if !members.is_empty() => {
            let at = random.below(members.len());
            members[at].1 = wrong;
        }
        // The same entry again: the same name, or another one.
        1 if !members.is_empty() => {
            let (key, value) = members[random.below(members.len())].clone();
            let key = if random.once_in(3) { b"\"again\"".to_vec() } else { key };
            members.insert(place, (key, value));
        }
        2 => members.insert(place, (quoted(random.pick(pieces::NAMES)), wrong)),
        _ => members.insert(place, (b"\"w\"".to_vec(), wrong)),
    }
}

/// Changes the metadata, or adds it.
fn twist_metadata(random: &mut Random, members: &mut Vec<(Vec<u8>, Value)>) {
    let key = b"\"__metadata__\"";
    let value = match random.below(8) {
        0 | 1 => raw(random.pick(pieces::METADATA)),
        2 | 3 => Value::Object(vec![(b"\"k\"".to_vec(), Value::Raw(skipped(random)))]),
        4 => Value::Object(vec![(quoted(random.pick(pieces::NAMES)), raw(b"\"v\""))]),
        5 => {
            let [one, other] = pieces::NAME_PAIRS[random.below(pieces::NAME_PAIRS.len())];
            Value::Object(vec![(quoted(one), raw(b"\"v\"")), (quoted(other), raw(b"\"\""))])
        }
        6 if random.once_in(40) => raw(&quoted_long(65_536)),
        6 => raw(&quoted_long(200 + random.below(200))),
        _ => {
            let pair = |at| (format!("\"k{at}\"").into_bytes(), raw(b"\"v\""));
            Value::Object((0..random.below(20)).map(pair).collect())
        }
    };
    members.retain(|(other, _)| other != key);
    let place = random.below(members.len() + 1);
    let spelling = match random.below(8) {
        0 => escaped(random, key),
        1 => random.pick(pieces::METADATA_KEYS).to_vec(),
        _ => key.to_vec(),
    };
    members.insert(place, (spelling, value));
    if random.once_in(6) {
        let again = raw(random.pick(&[&b"null"[..], b"{}", b"{\"a\":\"b\"}"]));
        members.insert(random.below(members.len() + 1), (key.to_vec(), again));
    }
}

fn quoted_long(length: usize) -> Vec<u8> {
    [&b"{\"long\":\""[..], &*vec![b'v'; length], b"\"}"].concat()
}

/// Puts a text into a name, a key or a value.
fn twist_text(random: &mut Random, members: &mut Vec<(Vec<u8>, Value)>) {
    let piece = random.pick(pieces::TEXTS);
    let text = match random.below(3) {
        0 => quoted(piece),
        1 => [&b"\"x"[..], piece, b"\""].concat(),
        _ => [&b"\"x"[..], piece, b"y\""].concat(),
    };
    let place = random.below(8);
    if place < 2 {
        let pair = if place == 0 { (text, raw(b"\"v\"")) } else { (b"\"k\"".to_vec(), Value::Raw(text)) };
        members.retain(|(key, _)| key != b"\"__metadata__\"");
        members.insert(0, (b"\"__metadata__\"".to_vec(), Value::Object(vec![pair])));
        return;
    }
    if place < 5 && !members.is_empty() {
        let at = random.below(members.len());
        members[at].0 = text;
        return;
    }
    let Some(entry) = entry(random, members) else { return };
    match place {
        5 => entry.push((text, raw(b"0"))),
        6 => entry.push((b"\"u\"".to_vec(), Value::Array(vec![Value::Raw(text)]))),
        _ => entry.push((b"\"u\"".to_vec(), Value::Raw(text))),
    }
}

/// Writes a value as tokens.
fn write(value: &Value, tokens: &mut Vec<Vec<u8>>) {
    let separate = |tokens: &mut Vec<Vec<u8>>, at: usize| {
        if at > 0 {
            tokens.push(b",".to_vec());
        }
    };
    match value {
        Value::Raw(text) => tokens.push(text.clone()),
        Value::Array(values) => {
            tokens.push(b"[".to_vec());
            for (at, value) in values.iter().enumerate() {
                separate(tokens, at);
                write(value, tokens);
            }
            tokens.push(b"]".to_vec());
        }
        Value::Object(members) => {
            tokens.push(b"{".to_vec());
            for (at, (key, value)) in members.iter().enumerate() {
                separate(tokens, at);
                tokens.extend([key.clone(), b":".to_vec()]);
                write(value, tokens);
            }
            tokens.push(b"}".to_vec());
        }
    }
}

/// Returns a piece of these, or one that is as wrong at any place.
fn stray(random: &mut Random, pieces: &'static [&'static [u8]]) -> &'static [u8] {
    let of = if random.once_in(2) { pieces::ANYWHERE } else { pieces };
    random.pick(of)
}

/// Inserts, removes, repeats or replaces a token.
fn twist_token(random: &mut Random, tokens: &mut Vec<Vec<u8>>) {
    let at = random.below(tokens.len());
    let closing =
        tokens[at..].iter().position(|token| matches!(&**token, b"}" | b"]")).map_or(at, |next| at + next);
    match random.below(9) {
        8 => tokens.insert(closing, b",".to_vec()),
        0..=3 => tokens.insert(at, stray(random, pieces::TOKENS).to_vec()),
        4 => drop(tokens.remove(at)),
        5 => tokens.insert(at, tokens[at].clone()),
        6 => tokens[at] = stray(random, pieces::TOKENS).to_vec(),
        _ => tokens.truncate(at),
    }
}

/// Inserts whitespace at some places.
fn spaces(random: &mut Random, tokens: &mut Vec<Vec<u8>>) {
    for _ in 0..1 + random.below(6) {
        let at = 1 + random.below(tokens.len());
        tokens.insert(at.min(tokens.len()), random.pick(pieces::SPACES).to_vec());
    }
}

/// Puts the header and the data together.
fn bytes(random: &mut Random, twist: Twist, mut header: Vec<u8>, mut data: Vec<u8>) -> Vec<u8> {
    if twist == Twist::Around {
        let around = stray(random, pieces::AROUND);
        header = match random.below(8) {
            0..=1 => [around, &header].concat(),
            2 => utf16(random, &header),
            4 if random.once_in(3) => [&b"["[..], &header, b"]"].concat(),
            4 => {
                data.clear();
                random.pick(pieces::TOPS).to_vec()
            }
            3 if random.once_in(12) => [&header[..], &[b' '; 66_000]].concat(),
            3 => [header, vec![b' '; 900 + random.below(5000)]].concat(),
            _ => [&header[..], around].concat(),
        };
    } else if random.once_in(3) {
        header.resize(header.len().next_multiple_of(8), b' ');
    }
    if twist == Twist::Byte && !header.is_empty() {
        twist_byte(random, &mut header);
    }
    if twist == Twist::Data {
        twist_data(random, &mut data);
    }
    let mut length = header.len() as u64;
    if twist == Twist::Length {
        length = match random.below(16) {
            0 => length + 1,
            1 => length.saturating_sub(1),
            2 => length + 8,
            3 => length + data.len() as u64,
            4 => length.swap_bytes(),
            5 => length + (1 << 32),
            6 => length + (1 << 31),
            7 => length + (1 << 63),
            8 => length + (1 << 16),
            9 => length + (1 << 8),
            10 => u64::MAX - random.below(10) as u64,
            11 => u64::from(u32::MAX) - random.below(10) as u64,
            12 => 0,
            13 => 100_000_000 + random.below(2) as u64,
            14 => length + random.below(20) as u64,
            _ => length.saturating_sub(random.below(20) as u64),
        };
    }
    let mut file = [&length.to_le_bytes()[..], &header, &data].concat();
    match random.below(40) {
        0 if twist == Twist::Length => file.truncate(random.below(12)),
        1 if twist == Twist::Length => file = [&length.to_le_bytes()[..4], &header, &data].concat(),
        2 if twist == Twist::Length => file.truncate(8),
        3 if twist == Twist::Length => file.truncate(0),
        4 if twist == Twist::Length => file = vec![0; 8],
        _ => {}
    }
    file
}

fn utf16(random: &mut Random, header: &[u8]) -> Vec<u8> {
    let mark = random.once_in(2);
    let form = random.below(3);
    let units = mark.then_some('\u{feff}').into_iter().chain(header.iter().map(|byte| char::from(*byte)));
    let bytes = |unit: char| {
        let unit = u32::from(unit);
        match form {
            0 => unit.to_le_bytes()[..2].to_vec(),
            1 => unit.to_be_bytes()[2..].to_vec(),
            _ => unit.to_le_bytes().to_vec(),
        }
    };
    units.flat_map(bytes).collect()
}

fn twist_byte(random: &mut Random, header: &mut Vec<u8>) {
    let at = random.below(header.len());
    let byte = u8::try_from(random.below(256)).unwrap_or_default();
    match random.below(5) {
        0 => header[at] = byte,
        1 => header.insert(at, byte),
        2 => drop(header.remove(at)),
        3 => header[at] ^= 1 << random.below(8),
        _ => {
            let other = random.below(header.len());
            header.swap(at, other);
        }
    }
}

fn twist_data(random: &mut Random, data: &mut Vec<u8>) {
    match random.below(7) {
        0 => data.push(0),
        1 => drop(data.pop()),
        2 => data.extend(vec![0; 1 + random.below(16)]),
        3 => data.truncate(random.below(data.len() + 1)),
        4 => data.resize(data.len().next_multiple_of(8), 0),
        5 => data.fill(0xFF),
        _ if random.once_in(8) => data.resize(data.len() + 65_536, 0),
        _ => data.fill(b' '),
    }
}
