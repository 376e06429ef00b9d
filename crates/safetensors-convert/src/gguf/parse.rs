//! Texts of metadata as the bytes of values.

use super::DEEPEST;
use super::value::Type;

/// Appends a value with its type.
///
/// # Errors
/// The text is not one that [`value::read`](super::value::read) writes; the sentence has the reason.
pub fn value(text: &str, out: &mut Vec<u8>) -> Result<(), String> {
    let (name, rest) = text.split_once(':').ok_or("it does not begin with a type and a colon")?;
    if name == "string-hex" {
        out.extend(Type::String.number().to_le_bytes());
        return string(&hex(rest)?, out);
    }
    let kind = Type::of_name(name).ok_or_else(|| format!("{} is not a type", crate::text::quoted(name)))?;
    out.extend(kind.number().to_le_bytes());
    match kind {
        Type::String => string(rest.as_bytes(), out),
        Type::Array => array(rest, out),
        kind => number(kind, rest, out),
    }
}

fn string(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    out.extend((bytes.len() as u64).to_le_bytes());
    out.extend(bytes);
    Ok(())
}

fn hex(digits: &str) -> Result<Vec<u8>, String> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let bytes = pairs.iter().map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?));
    let bytes: Option<Vec<u8>> = bytes.collect();
    bytes.filter(|_| rest.is_empty()).ok_or_else(|| "a string has invalid hexadecimal digits".to_owned())
}

/// An array that has been begun.
struct Array {
    kind: Type,
    /// The number of items so far, and its offset in the output.
    items: u64,
    count_at: usize,
}

/// Appends an array and all arrays in it, without recursion.
fn array(text: &str, out: &mut Vec<u8>) -> Result<(), String> {
    let (first, mut rest) = begin_array(text, out)?;
    let mut arrays = vec![first];
    loop {
        let depth = arrays.len();
        let Some(array) = arrays.last_mut() else { break };
        if let Some(after) = rest.strip_prefix(']') {
            if let Some(count) = out.get_mut(array.count_at..array.count_at + 8) {
                count.copy_from_slice(&array.items.to_le_bytes());
            }
            (rest, _) = (after, arrays.pop());
            continue;
        }
        if array.items > 0 {
            rest = rest.strip_prefix(',').ok_or("a comma or a bracket is missing in an array")?;
        }
        array.items += 1;
        match array.kind {
            Type::Array if depth == DEEPEST => {
                return Err(format!("its arrays are more than {DEEPEST} deep"));
            }
            Type::Array => {
                let (inner, after) = begin_array(rest, out)?;
                arrays.push(inner);
                rest = after;
            }
            Type::String => rest = item(rest, out)?,
            kind => {
                let end = rest.find([',', ']']).unwrap_or(rest.len());
                let (text, after) = rest.split_at(end);
                number(kind, text, out)?;
                rest = after;
            }
        }
    }
    if rest.is_empty() { Ok(()) } else { Err("text follows the end of an array".to_owned()) }
}

fn begin_array<'t>(text: &'t str, out: &mut Vec<u8>) -> Result<(Array, &'t str), String> {
    let (name, rest) = text.split_once('[').ok_or("an array has no bracket after the type of its items")?;
    let kind = Type::of_name(name);
    let kind = kind.ok_or_else(|| format!("{} is not a type", crate::text::quoted(name)))?;
    out.extend(kind.number().to_le_bytes());
    let count_at = out.len();
    out.extend(0u64.to_le_bytes());
    Ok((Array { kind, items: 0, count_at }, rest))
}

/// Appends a string of an array, and returns the text after it.
fn item<'t>(text: &'t str, out: &mut Vec<u8>) -> Result<&'t str, String> {
    let Some(quoted) = text.strip_prefix('"') else {
        let (digits, rest) = text.split_at(text.find([',', ']']).unwrap_or(text.len()));
        let bytes = hex(digits)?;
        if bytes.is_empty() {
            return Err("a string of an array has no quotes".to_owned());
        }
        string(&bytes, out)?;
        return Ok(rest);
    };
    let len_at = out.len();
    out.extend(0u64.to_le_bytes());
    let rest = unquote(quoted, out)?;
    let len = (out.len() - len_at - 8) as u64;
    if let Some(bytes) = out.get_mut(len_at..len_at + 8) {
        bytes.copy_from_slice(&len.to_le_bytes());
    }
    Ok(rest)
}

/// Appends the bytes of a quoted string, whose first quote is gone, and returns the text after the last one.
pub fn unquote<'t>(text: &'t str, out: &mut Vec<u8>) -> Result<&'t str, String> {
    let mut rest = text;
    loop {
        let special = rest.find(['"', '\\']).ok_or("a string has no quote at its end")?;
        let (plain, after) = rest.split_at(special);
        out.extend(plain.as_bytes());
        let mut after = after.chars();
        if after.next() == Some('"') {
            return Ok(after.as_str());
        }
        let character = match after.next() {
            Some('n') => '\n',
            Some(character @ ('"' | '\\')) => character,
            Some('u') => {
                let (digits, tail) = after.as_str().split_at_checked(4).ok_or("an escape is truncated")?;
                after = tail.chars();
                let code = u32::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'));
                code.and_then(char::from_u32).ok_or("an escape is invalid")?
            }
            _ => return Err("an escape is invalid".to_owned()),
        };
        out.extend(character.encode_utf8(&mut [0; 4]).as_bytes());
        rest = after.as_str();
    }
}

fn number(kind: Type, text: &str, out: &mut Vec<u8>) -> Result<(), String> {
    macro_rules! parsed {
        ($number:ty) => {
            text.parse::<$number>().ok().map(|number| out.extend(number.to_le_bytes()))
        };
    }
    let bits = text.strip_prefix("0x").filter(|digits| !digits.starts_with('+'));
    let done = match (kind, bits) {
        (Type::Float32, Some(digits)) => {
            u32::from_str_radix(digits, 16).ok().map(|bits| out.extend(bits.to_le_bytes()))
        }
        (Type::Float64, Some(digits)) => {
            u64::from_str_radix(digits, 16).ok().map(|bits| out.extend(bits.to_le_bytes()))
        }
        (Type::Uint8, _) => parsed!(u8),
        (Type::Int8, _) => parsed!(i8),
        (Type::Uint16, _) => parsed!(u16),
        (Type::Int16, _) => parsed!(i16),
        (Type::Uint32, _) => parsed!(u32),
        (Type::Int32, _) => parsed!(i32),
        (Type::Uint64, _) => parsed!(u64),
        (Type::Int64, _) => parsed!(i64),
        (Type::Float32, None) => parsed!(f32),
        (Type::Float64, None) => parsed!(f64),
        (Type::Bool | Type::String | Type::Array, _) => {
            let flag = text.parse::<bool>().ok();
            flag.map(|flag| out.push(u8::from(flag)))
        }
    };
    done.ok_or_else(|| format!("{} is not a value of type {}", crate::text::quoted(text), kind.name()))
}
