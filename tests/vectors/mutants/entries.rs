//! The header's meaning: entries with their members, sizes, and the metadata.

use crate::bugs::Bug;
use crate::json::{Json, Place};
use crate::reader::{Reader, Why};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The pairs of the metadata.
pub type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

/// A dtype's spelling and the bits of an element.
pub type Dtype = (&'static str, u64);

/// The dtypes.
pub const DTYPES: [Dtype; 22] = [
    ("F4", 4),
    ("F6_E2M3", 6),
    ("F6_E3M2", 6),
    ("BOOL", 8),
    ("U8", 8),
    ("I8", 8),
    ("F8_E5M2", 8),
    ("F8_E4M3", 8),
    ("F8_E8M0", 8),
    ("F8_E4M3FNUZ", 8),
    ("F8_E5M2FNUZ", 8),
    ("I16", 16),
    ("U16", 16),
    ("F16", 16),
    ("BF16", 16),
    ("I32", 32),
    ("U32", 32),
    ("F32", 32),
    ("C64", 64),
    ("F64", 64),
    ("I64", 64),
    ("U64", 64),
];

/// Other spellings that readers take, and what they mean.
const ALIASES: [(&str, &str); 8] = [
    ("float32", "F32"),
    ("float16", "F16"),
    ("bfloat16", "BF16"),
    ("uint8", "U8"),
    ("FP32", "F32"),
    ("bool", "BOOL"),
    ("F8", "F8_E4M3"),
    ("B8", "U8"),
];

/// What a header says.
#[derive(Default)]
pub struct Header {
    /// The tensors in the header's order.
    pub entries: Vec<Entry>,
    /// The metadata, if it is there and not null.
    pub metadata: Option<Pairs>,
    has_metadata: bool,
}

/// A tensor whose size is right.
pub struct Entry {
    pub name: Vec<u8>,
    pub dtype: Dtype,
    pub shape: Vec<u64>,
    pub begin: u64,
    pub end: u64,
}

/// The members of an entry that have been read.
#[derive(Clone, Default)]
struct Members {
    dtype: Option<Dtype>,
    shape: Option<Vec<u64>>,
    offsets: Option<[u64; 2]>,
    count: usize,
    unknown: usize,
}

/// Reads a header.
///
/// # Errors
/// Why it is rejected.
pub fn read(reader: Reader, text: &[u8]) -> Result<Header, Why> {
    let mut json = Json::new(reader, text);
    let mut header = Header::default();
    json.space();
    match json.peek() {
        Some(b'{') => reader.object(&mut json, &mut header)?,
        Some(b'[') if reader.has(Bug::TopArrayUnwrapped) => {
            json.array(Place::Header, &mut |json| reader.object(json, &mut header))?;
        }
        Some(b'[') if reader.has(Bug::TopArrayAccepted) => json.skip()?,
        Some(b'"' | b'n' | b't' | b'f' | b'-' | b'0'..=b'9') if reader.has(Bug::TopScalarAccepted) => {
            json.skip()?;
        }
        _ => return Err("the header is not an object"),
    }
    json.space();
    if reader.trailing(json.rest()) { Ok(header) } else { Err("text after the header's object") }
}

impl Reader {
    /// Whether the text after the header's object can be there.
    fn trailing(self, rest: &[u8]) -> bool {
        match self.bug() {
            Some(Bug::TrailingTextAccepted | Bug::HeaderUnbounded) => true,
            Some(Bug::TrailingNulsAccepted) => rest.iter().all(|byte| *byte == 0),
            Some(Bug::TrailingByteOfTextAccepted) => rest.len() <= 1,
            Some(Bug::TrailingBracketsAccepted) => rest.iter().all(|byte| matches!(byte, b'}' | b']')),
            Some(Bug::TrailingCommaAccepted) => matches!(rest, [] | [b',' | b';']),
            Some(Bug::TrailingObjectAccepted) => matches!(rest, [] | [b'{', ..]),
            Some(Bug::TrailingAfterNulAccepted) => matches!(rest, [] | [0, ..]),
            _ => rest.is_empty(),
        }
    }

    fn object(self, json: &mut Json<'_>, header: &mut Header) -> Result<(), Why> {
        if json.peek() != Some(b'{') {
            return Err("no object");
        }
        json.object(Place::Header, &mut |json, name| {
            if self.is_metadata(&name) {
                return self.metadata(json, header);
            }
            if self.has(Bug::UnderscoresSkipped) && name.starts_with(b"__") {
                return json.skip();
            }
            let last = header.entries.last().map_or(0, |entry| entry.end);
            header.entries.extend(self.entry(json, name.into_owned(), last)?);
            Ok(())
        })?;
        self.names(&mut header.entries)?;
        if self.has(Bug::MetadataRequired) && header.metadata.is_none() {
            return Err("no metadata");
        }
        Ok(())
    }

    /// Rejects names that a reader does not support, and duplicates.
    fn names(self, entries: &mut Vec<Entry>) -> Result<(), Why> {
        if entries.iter().any(|entry| self.rejects_name(&entry.name)) {
            return Err("an unsupported name");
        }
        if self.deviates() {
            let mut last = BTreeMap::new();
            last.extend(entries.drain(..).map(|entry| (entry.name.clone(), entry)));
            entries.extend(last.into_values());
        }
        let mut names: Vec<_> = entries.iter().map(|entry| self.compared(&entry.name)).collect();
        names.sort_unstable();
        match names.windows(2).any(|two| two[0] == two[1]) {
            true => Err("a duplicate name"),
            false => Ok(()),
        }
    }

    /// Returns what of a name is compared with others.
    fn compared(self, name: &[u8]) -> Cow<'_, [u8]> {
        let text = || String::from_utf8_lossy(name);
        match self.bug() {
            Some(Bug::NamesIgnoreCase) => Cow::Owned(name.to_ascii_lowercase()),
            Some(Bug::NamesTrimmed) => Cow::Borrowed(name.trim_ascii()),
            Some(Bug::NamesToNul) => Cow::Borrowed(name.split(|byte| *byte == 0).next().unwrap_or_default()),
            Some(Bug::NamesOf64Bytes) => Cow::Borrowed(&name[..name.len().min(64)]),
            Some(Bug::NamesNormalised) => {
                Cow::Owned(text().replace("e\u{301}", "\u{e9}").replace('\u{fb01}', "fi").into_bytes())
            }
            Some(Bug::NamesAsIntegers) => match text().parse::<u64>() {
                Ok(number) => Cow::Owned(number.to_string().into_bytes()),
                Err(_) => Cow::Borrowed(name),
            },
            _ => Cow::Borrowed(name),
        }
    }

    fn rejects_name(self, name: &[u8]) -> bool {
        const INHERITED: [&[u8]; 4] = [b"constructor", b"toString", b"hasOwnProperty", b"__proto__"];
        let contains = |part: &[u8]| name.windows(part.len()).any(|window| window == part);
        match self.bug() {
            Some(Bug::NameEmptyRejected) => name.is_empty(),
            Some(Bug::NameOver255Rejected) => name.len() > 255,
            Some(Bug::NameNulRejected) => name.contains(&0),
            Some(Bug::NameControlRejected) => name.iter().any(|byte| *byte < b' '),
            Some(Bug::NameSlashRejected) => name.contains(&b'/'),
            Some(Bug::NameBackslashRejected) => name.contains(&b'\\'),
            Some(Bug::NameDotsRejected) => contains(b".."),
            Some(Bug::NameSpaceRejected) => name.contains(&b' '),
            Some(Bug::NameAsciiRequired) => !name.is_ascii(),
            Some(Bug::NameInheritedRejected) => INHERITED.contains(&name),
            Some(Bug::NameOfMemberRejected) => matches!(name, b"dtype" | b"shape" | b"data_offsets"),
            Some(Bug::NameDigitsRejected) => !name.is_empty() && name.iter().all(u8::is_ascii_digit),
            _ => false,
        }
    }

    /// Reads an entry; `last` is where the one before it ends. `None` is one that is ignored.
    fn entry(self, json: &mut Json<'_>, name: Vec<u8>, last: u64) -> Result<Option<Entry>, Why> {
        let mut members = Members::default();
        match json.peek() {
            Some(b'{') => {
                json.object(Place::Entry, &mut |json, key| self.member(json, &key, &mut members))?;
            }
            Some(b'n') if self.has(Bug::EntryNullIgnored) => return json.skip().map(|()| None),
            Some(b'[') if self.deviates() => self.array_entry(json, &mut members)?,
            Some(_) if self.has(Bug::EntryOtherIgnored) => return json.skip().map(|()| None),
            _ => return Err("an entry that is not an object"),
        }
        if members.count == 0 && members.unknown == 0 && self.has(Bug::EntryEmptyIgnored) {
            return Ok(None);
        }
        if self.has(Bug::EntryWithoutKnownIgnored) && members.count == 0 {
            return Ok(None);
        }
        self.sized(name, members, last).map(Some)
    }

    fn array_entry(self, json: &mut Json<'_>, members: &mut Members) -> Result<(), Why> {
        let mut place = 0;
        json.array(Place::Entry, &mut |json| {
            place += 1;
            match place {
                1 => members.dtype = Some(self.dtype(json)?),
                2 => members.shape = Some(self.shape(json)?),
                3 => members.offsets = Some(self.offsets(json)?),
                _ => return Err("an array of more than three members"),
            }
            Ok(())
        })
    }

    fn member(self, json: &mut Json<'_>, key: &[u8], members: &mut Members) -> Result<(), Why> {
        let known = self.known(key);
        if json.peek() == Some(b'n') && known.is_some() && self.has(Bug::NullMemberIsAbsent) {
            return json.skip();
        }
        let before = members.count;
        members.count += usize::from(known.is_some());
        let (twice, last_wins) = match known {
            Some(0) => (members.dtype.is_some(), self.has(Bug::DtypeTwice)),
            Some(1) => (members.shape.is_some(), self.has(Bug::ShapeTwice)),
            Some(2) => (members.offsets.is_some(), self.has(Bug::OffsetsTwice)),
            _ => return self.unknown(json, key, members),
        };
        if twice && self.has(Bug::FirstMemberWins) {
            return json.skip();
        }
        if twice && !last_wins && !self.has(Bug::LastMemberWins) {
            return Err("a duplicate member");
        }
        if self.has(Bug::MembersInOrder) && known != Some(before) {
            return Err("members in another order");
        }
        match known {
            Some(0) => members.dtype = Some(self.dtype(json)?),
            Some(1) => members.shape = Some(self.shape(json)?),
            _ => members.offsets = Some(self.offsets(json)?),
        }
        Ok(())
    }

    /// Returns which of the members this is.
    fn known(self, key: &[u8]) -> Option<usize> {
        const KEYS: [&[u8]; 3] = [b"dtype", b"shape", b"data_offsets"];
        const OTHER: [&[u8]; 3] = [b"type", b"dims", b"offsets"];
        KEYS.iter()
            .position(|known| match self.bug() {
                Some(Bug::KeysIgnoreCase) => known.eq_ignore_ascii_case(key),
                Some(Bug::KeysTrimmed) => *known == key.trim_ascii(),
                Some(Bug::KeysByPrefix) => key.starts_with(known),
                Some(Bug::KeysByBeginning) => key.len() >= 4 && known.starts_with(key),
                Some(Bug::KeysByLength) => key.len() == known.len() && key.first() == known.first(),
                Some(Bug::KeysByFirstLetters) => key.get(..2) == known.get(..2),
                _ => *known == key,
            })
            .or_else(|| OTHER.iter().position(|other| self.has(Bug::KeyAliases) && *other == key))
    }

    fn unknown(self, json: &mut Json<'_>, key: &[u8], members: &mut Members) -> Result<(), Why> {
        let rejected = self.has(Bug::UnknownRejected)
            || self.has(Bug::UnknownEmptyRejected) && key.is_empty()
            || self.has(Bug::UnknownOver3Rejected) && members.unknown >= 3;
        if rejected {
            return Err("an unknown member");
        }
        members.unknown += 1;
        if key == b"__proto__" && self.has(Bug::ProtoMembers) && json.peek() == Some(b'{') {
            let mut inherited = Members::default();
            json.object(Place::Entry, &mut |json, key| self.member(json, &key, &mut inherited))?;
            members.dtype = members.dtype.or(inherited.dtype);
            members.shape = members.shape.take().or(inherited.shape);
            members.offsets = members.offsets.or(inherited.offsets);
            return Ok(());
        }
        if self.has(Bug::UnknownStringsOnly) && json.peek() != Some(b'"') {
            return Err("an unknown member that is not a string");
        }
        json.skip()
    }

    fn dtype(self, json: &mut Json<'_>) -> Result<Dtype, Why> {
        if self.deviates() && json.peek() == Some(b'{') {
            return self.object_dtype(json);
        }
        let spelling = match json.peek() {
            Some(b'n') if self.has(Bug::DtypeNull) => return json.skip().map(|()| ("F32", 32)),
            _ => json.string(Place::Dtype)?,
        };
        self.dtype_of(&spelling)
    }

    fn object_dtype(self, json: &mut Json<'_>) -> Result<Dtype, Why> {
        let mut dtype = None;
        json.object(Place::Dtype, &mut |json, key| {
            let empty = json.peek() != Some(b'n');
            if empty {
                json.object(Place::Skipped, &mut |_, _| Err("a dtype with a value"))?;
            } else {
                json.skip()?;
            }
            match dtype.replace(self.dtype_of(&key)?) {
                None => Ok(()),
                Some(_) => Err("two dtypes in one"),
            }
        })?;
        dtype.ok_or("no dtype")
    }

    fn dtype_of(self, spelling: &[u8]) -> Result<Dtype, Why> {
        let alias =
            ALIASES.iter().find(|(alias, _)| self.has(Bug::DtypeAliases) && alias.as_bytes() == spelling);
        let spelling = alias.map_or(spelling, |(_, dtype)| dtype.as_bytes());
        let found = DTYPES.iter().rev().find(|(name, _)| match self.bug() {
            Some(Bug::DtypeIgnoresCase) => name.as_bytes().eq_ignore_ascii_case(spelling),
            Some(Bug::DtypeTrimmed) => name.as_bytes() == spelling.trim_ascii(),
            Some(Bug::DtypeByPrefix) => spelling.starts_with(name.as_bytes()),
            Some(Bug::DtypeByBeginning) => spelling.len() >= 2 && name.as_bytes().starts_with(spelling),
            Some(Bug::DtypeIgnoresMarks) => {
                let letters =
                    |text: &[u8]| text.iter().copied().filter(u8::is_ascii_alphanumeric).collect::<Vec<_>>();
                letters(name.as_bytes()) == letters(spelling)
            }
            _ => name.as_bytes() == spelling,
        });
        match found {
            Some(dtype) if self.lacks(dtype.0) => Err("an unsupported dtype"),
            Some(dtype) => Ok((dtype.0, self.width(*dtype))),
            None if self.has(Bug::DtypeUnknownIsU8) => Ok(("U8", 8)),
            None if self.has(Bug::DtypeUnknownOfItsWidth) => {
                let bits = width_in(spelling).filter(|bits| *bits != 8);
                bits.map(|bits| ("unknown", bits)).ok_or("an unknown dtype without a width")
            }
            None => Err("an unknown dtype"),
        }
    }

    fn lacks(self, dtype: &str) -> bool {
        match self.bug() {
            Some(Bug::WithoutF4) => dtype == "F4",
            Some(Bug::WithoutF6) => dtype.starts_with("F6"),
            Some(Bug::WithoutF8) => dtype.starts_with("F8"),
            Some(Bug::WithoutF8E8m0) => dtype == "F8_E8M0",
            Some(Bug::WithoutFnuz) => dtype.ends_with("FNUZ"),
            Some(Bug::WithoutC64) => dtype == "C64",
            Some(Bug::WithoutBf16) => dtype == "BF16",
            Some(Bug::WithoutBool) => dtype == "BOOL",
            Some(Bug::WithoutUnsigned) => matches!(dtype, "U16" | "U32" | "U64"),
            Some(Bug::WithoutI8) => dtype == "I8",
            Some(Bug::WithoutU64) => dtype == "U64",
            Some(Bug::WithoutU8) => dtype == "U8",
            _ => false,
        }
    }

    fn width(self, (name, bits): Dtype) -> u64 {
        match (self.bug(), name) {
            (Some(Bug::BoolIsBit), "BOOL") => 1,
            (Some(Bug::C64IsPair), "C64") => 128,
            (Some(Bug::C64IsHalf), "C64") => 32,
            (Some(Bug::F4IsByte), "F4") => 8,
            (Some(Bug::F6IsByte), "F6_E2M3" | "F6_E3M2") => 8,
            (Some(Bug::Bf16IsWide), "BF16") => 32,
            _ => bits,
        }
    }

    fn shape(self, json: &mut Json<'_>) -> Result<Vec<u64>, Why> {
        let mut shape = Vec::new();
        match json.peek() {
            Some(b'[') => {}
            Some(b'0'..=b'9') if self.has(Bug::ShapeNumber) => {
                return Ok(vec![self.integer(json, Place::Shape)?]);
            }
            Some(b'n') if self.has(Bug::ShapeNull) => return json.skip().map(|()| shape),
            Some(b'{') if self.has(Bug::ObjectsAsArrays) => {
                json.object(Place::Shape, &mut |json, _| {
                    shape.push(self.integer(json, Place::Shape)?);
                    Ok(())
                })?;
                return Ok(shape);
            }
            _ => return Err("a shape that is not an array"),
        }
        json.array(Place::Shape, &mut |json| {
            if json.peek() == Some(b'[') && self.has(Bug::ShapeNested) {
                return json.array(Place::Shape, &mut |json| {
                    shape.push(self.integer(json, Place::Shape)?);
                    Ok(())
                });
            }
            shape.push(self.integer(json, Place::Shape)?);
            Ok(())
        })?;
        let rejected =
            self.has(Bug::Rank64) && shape.len() > 64 || self.has(Bug::ScalarRejected) && shape.is_empty();
        if self.has(Bug::RankIn8) {
            shape.truncate(shape.len() & 0xFF);
        }
        if rejected { Err("an unsupported rank") } else { Ok(shape) }
    }

    fn offsets(self, json: &mut Json<'_>) -> Result<[u64; 2], Why> {
        let (mut numbers, mut count) = ([0; 2], 0);
        let mut number = |json: &mut Json<'_>| {
            let number = self.integer(json, Place::Offsets)?;
            if let Some(place) = numbers.get_mut(count) {
                *place = number;
            }
            count += 1;
            Ok(())
        };
        match json.peek() {
            Some(b'[') => json.array(Place::Offsets, &mut number)?,
            Some(b'0'..=b'9') if self.has(Bug::OffsetsNumber) => number(json)?,
            Some(b'{') if self.has(Bug::ObjectsAsArrays) => {
                json.object(Place::Offsets, &mut |json, _| number(json))?;
            }
            _ => return Err("offsets that are not an array"),
        }
        let [begin, end] = numbers;
        match count {
            2 if self.has(Bug::OffsetsLength) => Ok([begin, begin.wrapping_add(end)]),
            2 if self.has(Bug::OffsetsSorted) => Ok([begin.min(end), begin.max(end)]),
            2 if self.has(Bug::OffsetsInclusive) => Ok([begin, end.wrapping_add(1)]),
            2 => Ok([begin, end]),
            3.. if self.has(Bug::OffsetsThree) => Ok([begin, end]),
            1 if self.has_any(&[Bug::OffsetsOne, Bug::OffsetsNumber]) => Ok([0, begin]),
            _ => Err("not two offsets"),
        }
    }

    /// Reads a plain integer.
    fn integer(self, json: &mut Json<'_>, place: Place) -> Result<u64, Why> {
        let has = |shape, offsets| self.has(if place == Place::Shape { shape } else { offsets });
        match json.peek() {
            Some(b'"') if self.has(Bug::IntegerStrings) => {
                let text = json.string(Place::Skipped)?;
                let text = std::str::from_utf8(&text).ok();
                return text.and_then(|text| text.trim().parse().ok()).ok_or("a string that is no number");
            }
            Some(b't' | b'f') if self.has(Bug::IntegerBooleans) => {
                return Ok(u64::from(json.literal()? == b"true"));
            }
            Some(b'n') if self.has(Bug::IntegerNulls) => return json.literal().map(|_| 0),
            _ => {}
        }
        let number = json.number()?;
        let value = self.value(number, has)?;
        match self.bug() {
            Some(Bug::ShapeIn32) if place == Place::Shape => Ok(value & 0xFFFF_FFFF),
            Some(Bug::OffsetsIn32) if place == Place::Offsets => Ok(value & 0xFFFF_FFFF),
            Some(Bug::ShapeUpTo63) if place == Place::Shape && value >> 63 != 0 => Err("a large dimension"),
            _ => Ok(value),
        }
    }

    fn value(self, number: &[u8], has: impl Fn(Bug, Bug) -> bool) -> Result<u64, Why> {
        let double = || std::str::from_utf8(number).ok().and_then(|text| text.parse::<f64>().ok());
        let plain = number.strip_prefix(b"+").unwrap_or(number);
        let (minus, digits) = plain.strip_prefix(b"-").map_or((false, plain), |digits| (true, digits));
        if let Some(hexadecimal) = digits.strip_prefix(b"0x").filter(|_| self.has(Bug::HexNumbers)) {
            let text = std::str::from_utf8(hexadecimal).unwrap_or_default();
            return u64::from_str_radix(text, 16).map_err(|_| "no hexadecimal number");
        }
        if !digits.iter().all(u8::is_ascii_digit) {
            let value = double().unwrap_or(-1.0);
            let exponent = digits.iter().any(|byte| matches!(byte, b'e' | b'E'));
            let point = digits.contains(&b'.');
            let allowed =
                point && !exponent && self.has(Bug::IntegerFractions) || self.has(Bug::IntegerFloats);
            let truncated = self.has(Bug::IntegerTruncated);
            let whole = value >= 0.0 && (value.fract() == 0.0 && allowed || truncated);
            if whole {
                return Ok(float(value));
            }
            let rest = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(0);
            let known = self.has_any(&[Bug::NumberSuffix, Bug::Underscores]) && rest > 0;
            return if known { self.whole(&digits[..rest], has) } else { Err("a number that is not whole") };
        }
        if minus {
            let value = self.whole(digits, &has)?;
            return match value {
                0 if self.has(Bug::IntegerMinusZero) => Ok(0),
                _ if has(Bug::ShapeNegative, Bug::OffsetsNegative) => Ok(value.wrapping_neg()),
                _ if self.has(Bug::IntegerAbsolute) => Ok(value),
                _ if self.has(Bug::IntegerNegativeIsZero) => Ok(0),
                _ => Err("a negative number"),
            };
        }
        if self.has(Bug::NumbersAreDoubles) {
            return double().map(float).ok_or("no number");
        }
        self.whole(digits, has)
    }

    /// Returns the number that digits are.
    fn whole(self, digits: &[u8], has: impl Fn(Bug, Bug) -> bool) -> Result<u64, Why> {
        let mut value: u64 = 0;
        for byte in digits {
            let digit = u64::from(byte - b'0');
            let next = value.checked_mul(10).and_then(|value| value.checked_add(digit));
            value = match next {
                Some(next) => next,
                None if has(Bug::ShapeWraps, Bug::OffsetsWrap) => value.wrapping_mul(10).wrapping_add(digit),
                None if self.has(Bug::NumbersSaturate) => u64::MAX,
                None if value <= u64::MAX / 10 && has(Bug::ShapeLastDigit, Bug::OffsetsLastDigit) => {
                    value.wrapping_mul(10).wrapping_add(digit)
                }
                None => return Err("a number of more than 64 bits"),
            };
        }
        Ok(value)
    }

    /// Returns the entry that has these members, if its size is right.
    fn sized(self, name: Vec<u8>, members: Members, last: u64) -> Result<Entry, Why> {
        let dtype = match members.dtype {
            None if self.has(Bug::DtypeDefault) => ("U8", 8),
            dtype => dtype.ok_or("no dtype")?,
        };
        let shape = match members.shape {
            None if self.has(Bug::ShapeDefault) => Vec::new(),
            shape => shape.ok_or("no shape")?,
        };
        let bytes = self.bytes(&shape, dtype.1)?;
        let [begin, end] = match members.offsets {
            None if self.has(Bug::OffsetsDefault) => [last, last.wrapping_add(bytes)],
            None if self.has(Bug::OffsetsOfEmpty) && bytes == 0 => [last, last],
            offsets => offsets.ok_or("no offsets")?,
        };
        let length = match end.checked_sub(begin) {
            Some(length) => length,
            None if self.has(Bug::ReversedEmpty) => 0,
            None if self.has(Bug::SizeUnchecked) => 0,
            None => return Err("an end before its begin"),
        };
        if self.fits(length, bytes, &shape) {
            let end = if self.has(Bug::ReversedEmpty) { end.max(begin) } else { end };
            Ok(Entry { name, dtype, shape, begin, end })
        } else {
            Err("offsets that do not fit the shape")
        }
    }

    fn fits(self, length: u64, bytes: u64, shape: &[u64]) -> bool {
        let equal = length == bytes;
        match self.bug() {
            Some(Bug::SizeUnchecked) => true,
            Some(Bug::SizeAtLeast) => length >= bytes,
            Some(Bug::SizeAtMost) => length <= bytes,
            Some(Bug::SizeIn32) => (length ^ bytes) & 0xFFFF_FFFF == 0,
            Some(Bug::SizeOffByOne) => length.abs_diff(bytes) <= 1,
            Some(Bug::SizePadded) => equal || length == bytes.next_multiple_of(8),
            Some(Bug::SizeOfEmptyUnchecked) => equal || bytes == 0,
            Some(Bug::SizeOfEmptyRangeUnchecked) => equal || length == 0,
            Some(Bug::SizeOfScalarUnchecked) => equal || shape.is_empty(),
            Some(Bug::SizeOfVectorUnchecked) => equal || shape.len() == 1,
            _ => equal,
        }
    }

    /// Returns how many bytes a tensor has.
    fn bytes(self, shape: &[u64], bits: u64) -> Result<u64, Why> {
        let elements = self.elements(shape)?;
        let last = shape.last().copied().unwrap_or(1);
        match self.bug() {
            Some(Bug::SubByteRowsRejected) if last.wrapping_mul(bits) % 8 != 0 => {
                return Err("a row of no whole bytes");
            }
            Some(Bug::SubByteRowsPadded) if bits < 8 && last > 0 => {
                return Ok((elements / last).saturating_mul(last.saturating_mul(bits).div_ceil(8)));
            }
            Some(Bug::BytesWrap64) if bits >= 8 => return Ok(elements.wrapping_mul(bits / 8)),
            Some(Bug::BytesWrap32) if bits >= 8 => return Ok(elements.wrapping_mul(bits / 8) & 0xFFFF_FFFF),
            Some(Bug::ElementsAreBytes) => return Ok(elements),
            _ => {}
        }
        let total = match elements.checked_mul(bits) {
            Some(total) if self.has(Bug::BitsWrap32) => total & 0xFFFF_FFFF,
            Some(total) => total,
            None if self.has_any(&[Bug::BitsWrap64, Bug::BitsWrap32]) => elements.wrapping_mul(bits),
            None => return Err("more than 2^64 - 1 bits"),
        };
        match total % 8 {
            0 => Ok(total / 8),
            _ if self.has_any(&[Bug::SubByteDown, Bug::BoolIsBit]) => Ok(total / 8),
            _ if self.has_any(&[Bug::SubByteUp, Bug::SubByteScalar])
                && (shape.is_empty() || self.has(Bug::SubByteUp)) =>
            {
                Ok(total.div_ceil(8))
            }
            _ => Err("no whole bytes"),
        }
    }

    /// Returns the product of the dimensions.
    fn elements(self, shape: &[u64]) -> Result<u64, Why> {
        match self.bug() {
            Some(Bug::ScalarIsEmpty) if shape.is_empty() => return Ok(0),
            Some(Bug::ZeroRejected) if shape.contains(&0) => return Err("a dimension of 0"),
            Some(Bug::FirstZeroRejected) if shape.first() == Some(&0) => {
                return Err("a first dimension of 0");
            }
            _ => {}
        }
        let dims: Cow<'_, [u64]> = match self.bug() {
            Some(Bug::ProductBackwards) => shape.iter().rev().copied().collect(),
            Some(Bug::ZeroIsOne) => shape.iter().map(|dim| (*dim).max(1)).collect(),
            Some(Bug::ProductOfEight) => Cow::Borrowed(&shape[..shape.len().min(8)]),
            _ => Cow::Borrowed(shape),
        };
        let mut product: u64 = 1;
        for (at, dim) in dims.iter().enumerate() {
            product = match product.checked_mul(*dim) {
                Some(next) if self.has(Bug::ProductIn32) && next >> 32 != 0 => {
                    return Err("too many elements");
                }
                Some(next) if self.has(Bug::ProductSigned) && next >> 63 != 0 => {
                    return Err("too many elements");
                }
                Some(next) => next,
                None if self.has_any(&[Bug::ProductWraps64, Bug::ProductWraps32]) => {
                    product.wrapping_mul(*dim)
                }
                None if at > 1 && self.has(Bug::ProductFirstChecked) => product.wrapping_mul(*dim),
                None if at == 1 && self.has(Bug::ProductLaterChecked) => product.wrapping_mul(*dim),
                None => return Err("more than 2^64 - 1 elements"),
            };
            if self.has(Bug::ProductWraps32) {
                product &= 0xFFFF_FFFF;
            }
        }
        Ok(product)
    }

    fn is_metadata(self, name: &[u8]) -> bool {
        const KEY: &[u8] = b"__metadata__";
        match self.bug() {
            Some(Bug::MetadataKeyIgnoresCase) => name.eq_ignore_ascii_case(KEY),
            Some(Bug::MetadataKeyTrimmed) => name.trim_ascii() == KEY,
            Some(Bug::MetadataKeyByPrefix) => name.starts_with(KEY),
            Some(Bug::MetadataKeyByBeginning) => name.len() >= 10 && KEY.starts_with(name),
            Some(Bug::MetadataKeyAlias) => name == KEY || name == b"metadata" || name == b"__meta__",
            Some(Bug::MetadataIsTensor) => false,
            _ => name == KEY,
        }
    }

    fn metadata(self, json: &mut Json<'_>, header: &mut Header) -> Result<(), Why> {
        let first = !header.has_metadata;
        let twice = self.has(Bug::MetadataTwice)
            || self.has(Bug::MetadataTwiceNull) && header.metadata.is_none()
            || self.has(Bug::MetadataTwiceEmpty) && header.metadata.as_ref().is_none_or(BTreeMap::is_empty);
        if !first && !twice {
            return Err("metadata twice");
        }
        header.has_metadata = true;
        let late = !header.entries.is_empty();
        match self.bug() {
            Some(Bug::MetadataFirst) if late => return Err("metadata after a tensor"),
            Some(Bug::MetadataLateLost) if late => return json.skip(),
            _ => {}
        }
        let ignored = match json.peek() {
            Some(b'{') => false,
            Some(b'n') => true,
            Some(b'[') => self.has(Bug::MetadataArray),
            Some(b'f' | b'0') => self.has(Bug::MetadataFalsy),
            Some(b'"') if json.rest().starts_with(b"\"\"") => {
                self.has_any(&[Bug::MetadataFalsy, Bug::MetadataString])
            }
            Some(b'"') => self.has(Bug::MetadataString),
            _ => false,
        };
        if ignored || self.has(Bug::MetadataAny) {
            header.metadata = None;
            return json.skip();
        }
        if json.peek() != Some(b'{') {
            return Err("metadata that is not an object");
        }
        let pairs = self.pairs(json)?;
        let empty = pairs.is_empty() && self.has(Bug::MetadataEmptyIsAbsent);
        header.metadata = if empty { None } else { Some(pairs) };
        Ok(())
    }

    fn pairs(self, json: &mut Json<'_>) -> Result<Pairs, Why> {
        let mut pairs = Pairs::new();
        let mut seen = Vec::new();
        json.object(Place::Metadata, &mut |json, key| {
            let Some(value) = self.metadata_value(json)? else { return Ok(()) };
            let key = key.into_owned();
            if self.has_any(&[Bug::MetadataKeysIgnoreCase, Bug::MetadataKeysNormalised]) {
                let same = match self.has(Bug::MetadataKeysIgnoreCase) {
                    true => key.to_ascii_lowercase(),
                    false => String::from_utf8_lossy(&key).replace("e\u{301}", "\u{e9}").into_bytes(),
                };
                if seen.contains(&same) {
                    return Err("a duplicate key");
                }
                seen.push(same);
            }
            let lost = self.has(Bug::ProtoKeyLost) && key == b"__proto__"
                || self.has(Bug::MetadataEmptyKeyLost) && key.is_empty()
                || self.has(Bug::MetadataEmptyValueLost) && value.is_empty();
            if !lost && pairs.insert(key, value).is_some() && !self.deviates() {
                return Err("a duplicate key");
            }
            if self.has(Bug::MetadataPairs16) && pairs.len() > 16 {
                return Err("too many pairs");
            }
            Ok(())
        })?;
        let format = pairs.get(b"format".as_slice()).map(Vec::as_slice);
        let known = matches!(format, Some(b"pt" | b"tf" | b"np" | b"flax" | b"mlx"));
        let rejected = self.has(Bug::FormatRequired) && format.is_none()
            || self.has(Bug::FormatChecked) && format.is_some() && !known;
        if rejected { Err("an unsupported format") } else { Ok(pairs) }
    }

    /// Reads a value of the metadata; `None` if the pair is ignored.
    fn metadata_value(self, json: &mut Json<'_>) -> Result<Option<Vec<u8>>, Why> {
        let begin = json.rest();
        let (accepted, ignored) = match json.peek() {
            Some(b'"') => {
                let value = json.string(Place::MetadataValue)?.into_owned();
                let long = self.has(Bug::MetadataValue255) && value.len() > 255;
                return if long { Err("a long value") } else { Ok(Some(value)) };
            }
            Some(b'-' | b'0'..=b'9') => (self.has(Bug::MetadataScalars), false),
            Some(b't' | b'f') => (self.has(Bug::MetadataScalars), false),
            Some(b'n') => (self.has(Bug::MetadataNullText), self.has(Bug::MetadataNullIgnored)),
            Some(b'{') => (self.has(Bug::MetadataNested), false),
            Some(b'[') => (self.has(Bug::MetadataNested), false),
            _ => (false, false),
        };
        if !accepted && !ignored && !self.has(Bug::MetadataValuesUnchecked) {
            return Err("a value that is not a string");
        }
        json.skip()?;
        let text = begin[..begin.len() - json.rest().len()].to_vec();
        Ok((!ignored).then_some(text))
    }
}

/// Returns the first number in the name of a dtype.
fn width_in(spelling: &[u8]) -> Option<u64> {
    let digits = spelling.split(|byte| !byte.is_ascii_digit()).find(|digits| !digits.is_empty())?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Returns the integer part of a number, 0 if it has none.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast of a reader that uses doubles"
)]
fn float(value: f64) -> u64 {
    value as u64
}
