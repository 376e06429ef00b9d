//! The header as text: UTF-8, whitespace, and what readers do to strings.

use crate::bugs::Bug;
use crate::json::Place;
use crate::reader::{Reader, Why};
use std::borrow::Cow;

/// Returns the text of a header, which is UTF-8.
pub fn header(reader: Reader, header: &[u8]) -> Result<Cow<'_, [u8]>, Why> {
    if let Some(text) = utf16(reader, header) {
        return Ok(Cow::Owned(text));
    }
    let text = trimmed(reader, header);
    let later = reader.has_any(&[Bug::Utf8InSkipped, Bug::Utf8InMetadata, Bug::Utf8InNames]);
    if !later && !reader.has(Bug::Utf8Unchecked) && !is_utf8(reader, text) {
        return Err("not UTF-8");
    }
    Ok(Cow::Borrowed(text))
}

fn trimmed(reader: Reader, header: &[u8]) -> &[u8] {
    match reader.bug() {
        Some(Bug::BomSkipped) => header.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(header),
        Some(Bug::HeaderEndsAtNul) => header.split(|byte| *byte == 0).next().unwrap_or(header),
        Some(Bug::TrimControls) => {
            let first = header.iter().position(|byte| *byte > b' ').unwrap_or(0);
            let last = header.iter().rposition(|byte| *byte > b' ').map_or(0, |last| last + 1);
            header.get(first..last).unwrap_or(header)
        }
        Some(Bug::TrimUnicode) => std::str::from_utf8(header).map_or(header, |text| text.trim().as_bytes()),
        Some(Bug::TrimErased) => {
            let last = header.iter().rposition(|byte| *byte != 0xFF).map_or(0, |last| last + 1);
            &header[..last]
        }
        _ => header,
    }
}

/// Decodes a header that is UTF-16 or UTF-32, as libraries do that detect encodings.
fn utf16(reader: Reader, header: &[u8]) -> Option<Vec<u8>> {
    let (width, big) = match (reader.bug(), header) {
        (Some(Bug::Utf16Little), [b'{', 0, 1..=0xFF, ..] | [0xFF, 0xFE, 1..=0xFF, ..]) => (2, false),
        (Some(Bug::Utf16Big), [0, b'{', 0, ..] | [0xFE, 0xFF, 0, ..]) => (2, true),
        (Some(Bug::Utf32Little), [b'{', 0, 0, 0, ..] | [0xFF, 0xFE, 0, 0, ..]) => (4, false),
        _ => return None,
    };
    let unit = |bytes: &[u8]| {
        let fold = |value: u32, byte: &u8| value << 8 | u32::from(*byte);
        if big { bytes.iter().fold(0, fold) } else { bytes.iter().rev().fold(0, fold) }
    };
    let units = header.chunks_exact(width).map(unit).filter(|unit| *unit != 0xFEFF);
    Some(units.filter_map(char::from_u32).collect::<String>().into_bytes())
}

/// Returns the length of the whitespace at the start of a text, if there is any.
pub fn space(reader: Reader, text: &[u8]) -> Option<usize> {
    let has = |bug| reader.has(bug);
    let line = || text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
    let block = || text.windows(2).position(|two| two == b"*/").map_or(text.len(), |end| end + 2);
    match text {
        [b' ', ..] => Some(1),
        [b'\t', ..] if !has(Bug::TabIsNoSpace) => Some(1),
        [b'\n', ..] if !has(Bug::LineFeedIsNoSpace) => Some(1),
        [b'\r', ..] if !has(Bug::ReturnIsNoSpace) => Some(1),
        [0x0B, ..] if has(Bug::SpaceOfC) => Some(1),
        [0x0C, ..] if has(Bug::SpaceOfC) => Some(1),
        [0x00, ..] if has(Bug::NulIsSpace) => Some(1),
        [0x1C..=0x1F, ..] if has(Bug::SeparatorIsSpace) => Some(1),
        [0x01..=0x1F, ..] if has(Bug::ControlIsSpace) => Some(1),
        [0x7F, ..] if has(Bug::DelIsSpace) => Some(1),
        [0xC2, 0xA0, ..] if has(Bug::UnicodeIsSpace) => Some(2),
        [0xC2, 0x85, ..] if has(Bug::UnicodeIsSpace) => Some(2),
        [0xE3, 0x80, 0x80, ..] if has(Bug::UnicodeIsSpace) => Some(3),
        [0xEF, 0xBB, 0xBF, ..] if has(Bug::BomIsSpace) => Some(3),
        [b'\\', b'n', ..] if has(Bug::EscapeIsSpace) => Some(2),
        [b'/', b'/', ..] if has(Bug::LineComments) => Some(line()),
        [b'/', b'*', ..] if has(Bug::BlockComments) => Some(block()),
        [b'#', ..] if has(Bug::HashComments) => Some(line()),
        _ => None,
    }
}

/// Whether all of a text is UTF-8.
pub fn is_utf8(reader: Reader, text: &[u8]) -> bool {
    let mut rest = text;
    while let Some(lead) = rest.first() {
        let length = if *lead < 0x80 { Some(1) } else { character(reader, rest) };
        match length.and_then(|length| rest.get(length..)) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    true
}

/// Returns the length of the first character of a text, which is not ASCII.
fn character(reader: Reader, text: &[u8]) -> Option<usize> {
    if reader.has(Bug::NonAsciiRejected) {
        return None;
    }
    let (length, second) = lead(reader, text[0])?;
    if length == 1 {
        return Some(1);
    }
    let wrong = |byte: &u8| !continuation(reader, *byte);
    match text.get(1..length) {
        None => return None,
        Some(rest) if rest.iter().skip(1).any(wrong) && !reader.has(Bug::LaterContinuations) => {
            return if reader.has(Bug::Utf8CutByAscii) { Some(1) } else { None };
        }
        Some(_) => {}
    }
    let right = second.contains(&text[1]) || reader.has(Bug::ContinuationMask) && text[1] >= 0x80;
    match &text[..length] {
        _ if right => rejected_character(reader, &text[..length]),
        [0xC0, 0x80] if reader.has(Bug::OverlongNul) => Some(2),
        _ if reader.has(Bug::Utf8CutByAscii) && text[1] < 0x80 => Some(1),
        _ if reader.has(Bug::FirstContinuation) => Some(length),
        _ => None,
    }
}

/// Returns how long a character with this first byte is, and what its second byte can be.
fn lead(reader: Reader, lead: u8) -> Option<(usize, std::ops::RangeInclusive<u8>)> {
    let has = |bug| reader.has(bug);
    let any = 0x80..=if has(Bug::ContinuationToBe) { 0xBE } else { 0xBF };
    Some(match lead {
        0x80..=0xBF if has(Bug::LoneContinuations) => (1, any),
        0xC0 if has(Bug::OverlongTwo) || has(Bug::OverlongNul) => {
            (2, 0x80..=if has(Bug::OverlongTwo) { 0xBF } else { 0x80 })
        }
        0xC1 if has(Bug::OverlongTwo) => (2, any),
        0xC2 if has(Bug::LeadC2Rejected) => return None,
        0xDF if has(Bug::LeadDfRejected) => return None,
        0xC2..=0xDF => (2, any),
        0xE0 if has(Bug::OverlongThree) => (3, any),
        0xE0 if has(Bug::LeadE0Strict) => (3, 0xA1..=0xBF),
        0xE0 => (3, 0xA0..=0xBF),
        0xED if has(Bug::Surrogates) => (3, any),
        0xED if has(Bug::LeadEdStrict) => (3, 0x80..=0x9E),
        0xED => (3, 0x80..=0x9F),
        0xEC if has(Bug::LeadEcRejected) => return None,
        0xEE..=0xEF if has(Bug::LeadEeRejected) => return None,
        0xE1..=0xEF => (3, any),
        0xF0..=0xF7 if has(Bug::FourBytesRejected) => return None,
        0xF0 if has(Bug::OverlongFour) => (4, any),
        0xF0 if has(Bug::LeadF0Strict) => (4, 0x91..=0xBF),
        0xF0 => (4, 0x90..=0xBF),
        0xF3 if has(Bug::LeadF3Rejected) => return None,
        0xF1..=0xF3 => (4, any),
        0xF4 if has(Bug::LeadF4Rejected) => return None,
        0xF4 if has(Bug::Above10ffff) => (4, any),
        0xF4 if has(Bug::LeadF4Strict) => (4, 0x80..=0x8E),
        0xF4 => (4, 0x80..=0x8F),
        0xF5..=0xF7 if has(Bug::LeadsAboveF4) => (4, any),
        0xF8..=0xFB if has(Bug::LongForms) => (5, any),
        0xFC..=0xFD if has(Bug::LongForms) => (6, any),
        0xFE..=0xFF if has(Bug::FeAndFf) => (1, any),
        _ => return None,
    })
}

fn continuation(reader: Reader, byte: u8) -> bool {
    match byte {
        0xBF if reader.has(Bug::ContinuationToBe) => false,
        0x80..=0xBF => true,
        0xC0.. => reader.has(Bug::ContinuationMask),
        _ => false,
    }
}

/// Returns the length of a character that is right, unless a reader rejects it all the same.
fn rejected_character(reader: Reader, character: &[u8]) -> Option<usize> {
    let rejected = match character {
        [0xC2, 0x80..=0x9F] => reader.has(Bug::C1Rejected),
        [0xE2, 0x80, 0xA8 | 0xA9] => reader.has(Bug::LineSeparatorRejected),
        [0xEF, 0xB7, 0x90..=0xAF] | [0xEF, 0xBF, 0xBE | 0xBF] => reader.has(Bug::NoncharactersRejected),
        [0xEF, 0xBF, 0xBD] => reader.has(Bug::ReplacementRejected),
        [0xEF, 0xBB, 0xBF] => reader.has(Bug::BomInStringRejected),
        _ => false,
    };
    (!rejected).then_some(character.len())
}

/// Returns what a reader makes of a string: `raw` between the quotes, and with its escapes decoded.
pub fn string<'a>(
    reader: Reader,
    place: Place,
    raw: &'a [u8],
    decoded: Cow<'a, [u8]>,
) -> Result<Cow<'a, [u8]>, Why> {
    if reader.bug().is_none() {
        return Ok(decoded);
    }
    let has = |bug| reader.has(bug);
    let metadata = matches!(place, Place::Metadata | Place::MetadataValue);
    let unchecked = has(Bug::Utf8InSkipped) && place == Place::Skipped
        || has(Bug::Utf8InMetadata) && metadata
        || has(Bug::Utf8InNames) && place == Place::Header;
    let later = reader.has_any(&[Bug::Utf8InSkipped, Bug::Utf8InMetadata, Bug::Utf8InNames]);
    if later && !unchecked && !is_utf8(reader, raw) {
        return Err("not UTF-8");
    }
    let undecoded = has(Bug::EscapesInNames) && place == Place::Header
        || has(Bug::EscapesInKeys) && place == Place::Entry
        || has(Bug::EscapesInDtype) && place == Place::Dtype
        || has(Bug::EscapesInMetadata) && place == Place::MetadataValue
        || has(Bug::EscapesInMetadataKeys) && place == Place::Metadata;
    if undecoded {
        return Ok(Cow::Borrowed(raw));
    }
    let cut = has(Bug::NulEndsStrings)
        || has(Bug::NulEndsNames) && place == Place::Header
        || has(Bug::NulEndsKeys) && place == Place::Entry
        || has(Bug::NulEndsDtype) && place == Place::Dtype
        || has(Bug::NulEndsMetadata) && metadata;
    if cut {
        return Ok(Cow::Owned(decoded.split(|byte| *byte == 0).next().unwrap_or_default().to_vec()));
    }
    Ok(if has(Bug::StringsTrimmed) { Cow::Owned(decoded.trim_ascii().to_vec()) } else { decoded })
}
