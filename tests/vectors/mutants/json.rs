//! JSON (RFC 8259) as a cursor over the header: sequences, strings and numbers.
//!
//! Values that are skipped nest, and [`Json::skip`] calls itself: at most as often as brackets may be open.

use crate::bugs::Bug;
use crate::reader::{Reader, Why};
use crate::text;
use std::borrow::Cow;

/// What a value or a string is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The object of the whole header, and the names in it.
    Header,
    /// An entry, and the keys in it.
    Entry,
    /// The value of `dtype`.
    Dtype,
    /// The value of `shape`.
    Shape,
    /// The value of `data_offsets`.
    Offsets,
    /// The object `__metadata__`, and the keys in it.
    Metadata,
    /// A value of the metadata.
    MetadataValue,
    /// A value of an unknown member, and all that is in it.
    Skipped,
}

/// The header's text, and how far it has been read.
pub struct Json<'a> {
    reader: Reader,
    text: &'a [u8],
    at: usize,
    depth: usize,
    deepest: usize,
}

/// What reads the elements of a sequence.
type Each<'f, 'a> = &'f mut dyn FnMut(&mut Json<'a>) -> Result<(), Why>;
/// What reads the value of a member, after its key.
type EachMember<'f, 'a> = &'f mut dyn FnMut(&mut Json<'a>, Cow<'a, [u8]>) -> Result<(), Why>;

impl<'a> Json<'a> {
    /// Begins at the start of a text.
    pub fn new(reader: Reader, text: &'a [u8]) -> Self {
        Self { reader, text, at: 0, depth: 0, deepest: 0 }
    }

    fn has(&self, bug: Bug) -> bool {
        self.reader.has(bug)
    }

    /// Returns the text that has not been read.
    pub fn rest(&self) -> &'a [u8] {
        &self.text[self.at..]
    }

    /// Returns the next byte.
    pub fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Reads the next byte if it is this one.
    pub fn take(&mut self, byte: u8) -> bool {
        let taken = self.peek() == Some(byte);
        self.at += usize::from(taken);
        taken
    }

    /// Reads whitespace.
    pub fn space(&mut self) {
        while let Some(length) = text::space(self.reader, self.rest()) {
            self.at += length;
        }
    }

    /// Reads an object: its brackets, keys, colons and commas.
    pub fn object(&mut self, place: Place, each: EachMember<'_, 'a>) -> Result<(), Why> {
        self.sequence(place, b'}', &mut |json| {
            let key = json.key(place)?;
            json.colon()?;
            each(json, key)
        })
    }

    /// Reads an array: its brackets and commas.
    pub fn array(&mut self, place: Place, each: Each<'_, 'a>) -> Result<(), Why> {
        self.sequence(place, b']', each)
    }

    fn sequence(&mut self, place: Place, close: u8, each: Each<'_, 'a>) -> Result<(), Why> {
        self.open()?;
        if !self.has(Bug::SpaceInEmpty) {
            self.space();
        }
        if self.has(Bug::ExtraCommas) && self.take(b',') {
            self.space();
        }
        if self.closes(close) {
            return Ok(());
        }
        loop {
            each(self)?;
            if !self.has(Bug::SpaceBeforeComma) {
                self.space();
            }
            if self.comma() {
                self.space();
                if self.trailing_comma(place) && self.closes(close) {
                    return Ok(());
                }
            } else if self.closes(close) {
                return Ok(());
            } else if !self.missing_comma(close) {
                return Err("neither a comma nor a closing bracket");
            }
        }
    }

    fn open(&mut self) -> Result<(), Why> {
        let limit = if self.has(Bug::Depth126) { 126 } else { 127 };
        self.at += 1;
        self.depth += 1;
        self.deepest = if self.depth <= 2 { self.depth } else { self.deepest.max(self.depth) };
        if self.depth > limit { Err("too many brackets") } else { Ok(()) }
    }

    fn closes(&mut self, close: u8) -> bool {
        let closed = match self.peek() {
            Some(byte) if byte == close => true,
            Some(b'}' | b']') => {
                self.has(Bug::BracketKinds)
                    || self.has(Bug::BracketKinds64) && self.deepest >= self.depth + 64
            }
            Some(_) => false,
            None => self.has(Bug::UnclosedObject),
        };
        if closed {
            self.at = self.text.len().min(self.at + 1);
            self.depth -= 1;
        }
        closed
    }

    fn comma(&mut self) -> bool {
        let comma = self.take(b',') || self.has(Bug::OtherPunctuation) && self.take(b';');
        if comma && self.has(Bug::ExtraCommas) {
            self.space();
            self.take(b',');
        }
        comma
    }

    fn trailing_comma(&self, place: Place) -> bool {
        match place {
            Place::Header | Place::Entry | Place::Metadata => self.has(Bug::TrailingCommaInObject),
            Place::Shape | Place::Offsets => self.has(Bug::TrailingCommaInArray),
            _ => self.has(Bug::TrailingCommaInSkipped),
        }
    }

    fn missing_comma(&self, close: u8) -> bool {
        match close {
            b'}' => self.has(Bug::MissingCommaInObject),
            _ => self.has(Bug::MissingCommaInArray),
        }
    }

    fn key(&mut self, place: Place) -> Result<Cow<'a, [u8]>, Why> {
        if self.has(Bug::BareKeys) {
            let rest = self.rest();
            let bare = self.run(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if bare > 0 {
                return Ok(Cow::Borrowed(&rest[..bare]));
            }
        }
        self.string(place)
    }

    fn colon(&mut self) -> Result<(), Why> {
        if !self.has(Bug::SpaceBeforeColon) {
            self.space();
        }
        let colon = self.take(b':') || self.has(Bug::OtherPunctuation) && self.take(b'=');
        if !colon && !self.has(Bug::MissingColon) {
            return Err("no colon after a key");
        }
        self.space();
        Ok(())
    }

    /// Reads a value of a member that has no meaning.
    pub fn skip(&mut self) -> Result<(), Why> {
        match self.peek() {
            Some(b'{' | b'[') if self.has(Bug::SkipCountsBrackets) => self.skip_brackets(true),
            Some(b'{' | b'[') if self.has(Bug::SkipCountsAllBrackets) => self.skip_brackets(false),
            Some(b'{' | b'[') if self.has(Bug::NestedRejected) && self.depth >= 3 => Err("nested"),
            Some(b'{') => self.skip_object(),
            Some(b'[') => self.array(Place::Skipped, &mut |json| json.skip()),
            Some(b'"' | b'\'') => self.string(Place::Skipped).map(|_| ()),
            Some(b'-' | b'+' | b'.' | b'0'..=b'9') => self.skip_number(),
            Some(_) => self.literal().map(|_| ()),
            None => Err("the end where a value should be"),
        }
    }

    fn skip_object(&mut self) -> Result<(), Why> {
        self.object(Place::Skipped, &mut |json, _| json.skip())
    }

    /// Skips to the bracket that closes this one, without a look at what is between; `strings` skips those.
    fn skip_brackets(&mut self, strings: bool) -> Result<(), Why> {
        let mut open = 0;
        while let Some(byte) = self.peek() {
            if byte == b'"' && strings {
                self.string(Place::Skipped)?;
                continue;
            }
            self.at += 1;
            match byte {
                b'{' | b'[' => open += 1,
                b'}' | b']' if open == 1 => return Ok(()),
                b'}' | b']' => open -= 1,
                _ => {}
            }
        }
        Err("a skipped value that is not closed")
    }

    fn skip_number(&mut self) -> Result<(), Why> {
        let number = self.number()?;
        let has = |bug| self.has(bug);
        let rejected = has(Bug::SkippedNegative) && number.starts_with(b"-")
            || has(Bug::SkippedFraction) && number.contains(&b'.')
            || has(Bug::SkippedExponent) && number.iter().any(|byte| matches!(byte, b'e' | b'E'))
            || has(Bug::SkippedUpperExponent) && number.contains(&b'E')
            || has(Bug::SkippedExponentPlus) && number.contains(&b'+')
            || has(Bug::SkippedOver64) && whole(number).is_some_and(|number| number > u128::from(u64::MAX))
            || has(Bug::SkippedOver53) && whole(number).is_some_and(|number| number > 1 << 53)
            || has(Bug::SkippedLong) && number.len() > 63;
        if rejected { Err("an unsupported number") } else { Ok(()) }
    }

    /// Reads `null`, `true` or `false`.
    pub fn literal(&mut self) -> Result<&'a [u8], Why> {
        let letters = self.rest().iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let word = &self.rest()[..letters];
        let known: [&[u8]; 3] = [b"null", b"true", b"false"];
        let is = |words: &[&[u8]]| words.contains(&word);
        let right = is(&known)
            || self.has(Bug::LiteralAny) && letters > 0
            || self.has(Bug::LiteralCase) && known.iter().any(|known| known.eq_ignore_ascii_case(word))
            || self.has(Bug::LiteralFirstLetter) && matches!(word.first(), Some(b'n' | b't' | b'f'))
            || self.has(Bug::LiteralPython) && is(&[b"None", b"True", b"False"])
            || self.has(Bug::LiteralNan) && is(&[b"NaN", b"Infinity", b"undefined"]);
        // One that only looks at the first letters leaves the rest to what follows.
        let cut = known.iter().find(|known| word.starts_with(known));
        let letters = match cut {
            Some(known) if self.has(Bug::LiteralTail) => known.len() + usize::from(letters > known.len()),
            _ if right => letters,
            _ => return Err("no value"),
        };
        self.at += letters;
        Ok(word)
    }

    /// Reads a number and returns its text.
    pub fn number(&mut self) -> Result<&'a [u8], Why> {
        let start = self.at;
        if self.has(Bug::NumberAny) {
            self.run(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
        } else {
            self.sign();
            self.integer_part()?;
            self.fraction_and_exponent()?;
        }
        if self.has(Bug::NumberSuffix) {
            self.run(|byte| byte.is_ascii_alphabetic());
        }
        let number = &self.text[start..self.at];
        let double = || std::str::from_utf8(number).ok().and_then(|text| text.parse::<f64>().ok());
        if self.reader.deviates() && double().is_some_and(f64::is_infinite) {
            return Err("a number that is too large for a double");
        }
        if number.is_empty() { Err("no number") } else { Ok(number) }
    }

    fn sign(&mut self) {
        let minus = self.take(b'-');
        if self.has(Bug::PlusSign) && !minus {
            self.take(b'+');
        }
    }

    fn integer_part(&mut self) -> Result<(), Why> {
        let infinity = self.has(Bug::LiteralNan) && self.rest().starts_with(b"Infinity");
        if infinity {
            self.at += 8;
            return Ok(());
        }
        match self.peek() {
            Some(b'0') if self.has(Bug::HexNumbers) && matches!(self.rest().get(1), Some(b'x' | b'X')) => {
                self.at += 2;
                self.run(|byte| byte.is_ascii_hexdigit());
            }
            Some(b'0') if !self.has(Bug::LeadingZeros) => self.at += 1,
            Some(b'0'..=b'9') => {
                self.digits();
            }
            Some(b'.') if self.has(Bug::PointAlone) => {}
            _ if self.has(Bug::MinusAlone) => {}
            _ => return Err("no digit"),
        }
        Ok(())
    }

    fn fraction_and_exponent(&mut self) -> Result<(), Why> {
        if self.take(b'.') && self.digits() == 0 && !self.has(Bug::PointAlone) {
            return Err("no digit after a point");
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            if self.digits() == 0 && !self.has(Bug::ExponentEmpty) {
                return Err("no digit in an exponent");
            }
        }
        Ok(())
    }

    fn digits(&mut self) -> usize {
        let underscores = self.has(Bug::Underscores);
        self.run(|byte| byte.is_ascii_digit() || byte == b'_' && underscores)
    }

    fn run(&mut self, of: impl Fn(u8) -> bool) -> usize {
        let count = self.rest().iter().take_while(|byte| of(**byte)).count();
        self.at += count;
        count
    }

    /// Reads a string and decodes its escapes.
    pub fn string(&mut self, place: Place) -> Result<Cow<'a, [u8]>, Why> {
        let quote = self.peek().unwrap_or_default();
        if quote != b'"' && !(quote == b'\'' && self.has(Bug::SingleQuotes)) {
            return Err("no string");
        }
        self.at += 1;
        let start = self.at;
        // Where the text begins that is not yet decoded.
        let (mut decoded, mut copied) = (Vec::new(), start);
        let end = loop {
            let here = self.at;
            let byte = self.peek().ok_or("a string that is not closed")?;
            self.at += 1;
            match byte {
                _ if byte == quote => break here,
                b'\\' => {
                    decoded.extend_from_slice(&self.text[copied..here]);
                    self.escape(place, &mut decoded)?;
                    copied = self.at;
                }
                0..=0x1F if !self.control(byte, place) => return Err("a control character in a string"),
                0x7F if self.has(Bug::DelRejected) => return Err("a DEL in a string"),
                _ => {}
            }
        };
        let raw = &self.text[start..end];
        if copied == start {
            return text::string(self.reader, place, raw, Cow::Borrowed(raw));
        }
        decoded.extend_from_slice(self.text.get(copied..end).unwrap_or_default());
        text::string(self.reader, place, raw, Cow::Owned(decoded))
    }

    fn control(&self, byte: u8, place: Place) -> bool {
        match byte {
            _ if self.has(Bug::ControlsAllowed) => true,
            _ if self.has(Bug::ControlsInSkipped) => place == Place::Skipped,
            _ if self.has(Bug::ControlsInMetadata) => matches!(place, Place::Metadata | Place::MetadataValue),
            0 => self.has(Bug::NulAllowed),
            b'\t' => self.has(Bug::TabAllowed),
            b'\n' | b'\r' => self.has(Bug::LineFeedAllowed),
            0x1F => self.has(Bug::LastControlAllowed),
            _ => false,
        }
    }

    fn escape(&mut self, place: Place, decoded: &mut Vec<u8>) -> Result<(), Why> {
        let escape = self.peek().ok_or("the end after a backslash")?;
        self.at += 1;
        if place == Place::Skipped && self.has(Bug::EscapesInSkipped) {
            return Ok(());
        }
        let mut byte = match escape {
            b'"' | b'\\' => escape,
            b'/' if !self.has(Bug::SlashEscapeRejected) => b'/',
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => return self.unicode(decoded),
            _ => return self.wrong_escape(escape, decoded),
        };
        let letter = matches!(escape, b'b' | b'f') && self.has(Bug::RareEscapesAsLetters);
        if letter || self.has(Bug::EscapesAsLetters) {
            byte = escape;
        }
        decoded.push(byte);
        Ok(())
    }

    fn wrong_escape(&mut self, escape: u8, decoded: &mut Vec<u8>) -> Result<(), Why> {
        let allowed = match escape {
            _ if self.has(Bug::EscapeAny) => true,
            b'\'' => self.has(Bug::EscapedSingleQuote),
            b'0' | b'a' | b'v' | b'e' => self.has(Bug::EscapesOfC),
            b'\n' | b' ' => self.has(Bug::EscapedLineEnd),
            b'B' | b'F' | b'N' | b'R' | b'T' => self.has(Bug::EscapeCase),
            b'U' if self.has(Bug::EscapeCase) => return self.unicode(decoded),
            b'x' if self.has(Bug::EscapesOfC) => {
                self.at = self.text.len().min(self.at + 2);
                true
            }
            _ => false,
        };
        if !allowed {
            return Err("an unknown escape");
        }
        decoded.push(escape);
        Ok(())
    }

    fn unicode(&mut self, decoded: &mut Vec<u8>) -> Result<(), Why> {
        let first = self.four_digits()?;
        let character = match first {
            0xD800..=0xDBFF => self.pair(first)?,
            0xDC00..=0xDFFF if self.has(Bug::LoneLow) || self.has(Bug::LoneSurrogates) => 0xFFFD,
            0xDFFF if self.has(Bug::LastLowIsCharacter) => 0xFFFD,
            0xDC00..=0xDFFF => return Err("a low surrogate alone"),
            0 if self.has(Bug::EscapedNulRejected) => return Err("an escaped NUL"),
            _ => first,
        };
        let character = match character {
            0x80.. if self.has(Bug::UnicodeLowByte) => character & 0xFF,
            0x80.. if self.has(Bug::UnicodeQuestionMark) => u32::from(b'?'),
            0x10000.. if self.has(Bug::PairsWithoutOffset) => character - 0x10000,
            0x10000.. if self.has(Bug::PairsReplaced) => 0xFFFD,
            _ => character,
        };
        let character = char::from_u32(character).unwrap_or(char::REPLACEMENT_CHARACTER);
        decoded.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    fn pair(&mut self, high: u32) -> Result<u32, Why> {
        if self.has(Bug::PairsRejected) {
            return Err("a surrogate");
        }
        let alone = self.has(Bug::LoneHigh) || self.has(Bug::LoneSurrogates);
        let after = self.at;
        if !self.rest().starts_with(b"\\u") {
            return if alone { Ok(0xFFFD) } else { Err("a high surrogate alone") };
        }
        self.at += 2;
        let low = self.four_digits()?;
        let lowest = if self.has(Bug::LowOffByOne) { 0xDBFF } else { 0xDC00 };
        let highest = if self.has(Bug::LowOffByOne) { 0xE000 } else { 0xDFFF };
        let any = self.has(Bug::LowAny);
        if any || (lowest..=highest).contains(&low) {
            return Ok(0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF));
        }
        self.at = after;
        if alone { Ok(0xFFFD) } else { Err("a high surrogate without a low one") }
    }

    fn four_digits(&mut self) -> Result<u32, Why> {
        let four = self.rest().get(..4).ok_or("the end in an escape")?;
        let lenient = match four {
            [b'{', ..] if self.has(Bug::EscapeBraces) => self.rest().iter().position(|byte| *byte == b'}'),
            [b'+' | b'-' | b' ', ..] if self.has(Bug::EscapeSigns) => Some(3),
            _ if self.has(Bug::EscapeDigitsAny) => Some(3),
            _ if self.has(Bug::EscapeDigitsShort) => four.iter().position(|byte| !byte.is_ascii_hexdigit()),
            _ => None,
        };
        if let Some(last) = lenient.filter(|_| !four.iter().all(u8::is_ascii_hexdigit)) {
            let consumed = if self.has(Bug::EscapeDigitsShort) { last } else { last + 1 };
            self.at += consumed;
            return Ok(0x41);
        }
        let rejected = |byte: &u8| match byte {
            b'a'..=b'f' => self.has(Bug::HexUpperOnly),
            b'A'..=b'F' => self.has(Bug::HexLowerOnly),
            _ => false,
        };
        let mut code = 0;
        for byte in four {
            let digit = match byte {
                b'g' | b'G' if self.has(Bug::HexUpToG) => Some(15),
                b':' | b'@' | b'`' | b'/' if self.has(Bug::HexNeighbours) => Some(0),
                _ => char::from(*byte).to_digit(16),
            };
            code = code * 16 + digit.filter(|_| !rejected(byte)).ok_or("no hexadecimal digit")?;
        }
        self.at += 4;
        Ok(code)
    }
}

fn whole(number: &[u8]) -> Option<u128> {
    let digits = number.strip_prefix(b"-").unwrap_or(number);
    let short = digits.iter().all(u8::is_ascii_digit).then_some(digits)?;
    Some(
        short
            .iter()
            .fold(0, |value: u128, digit| value.saturating_mul(10).saturating_add(u128::from(digit - 48))),
    )
}
