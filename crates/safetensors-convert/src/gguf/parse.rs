//! Texts of metadata as the bytes of values.

use super::DEEPEST;
use super::value::{Class, STRING, Type};
use crate::text::quoted;

/// Appends a value with its type.
///
/// # Errors
/// The text is not one that [`value::read`](super::value::read) writes; the sentence has the reason.
pub fn value(text: &str, out: &mut Vec<u8>) -> Result<(), String> {
    let (name, rest) = text.split_once(':').ok_or("it does not begin with a type and a colon")?;
    if name == "string-hex" {
        out.extend(STRING.number.to_le_bytes());
        string(&hex(rest)?, out);
        return Ok(());
    }
    let kind = type_of(name)?;
    out.extend(kind.number.to_le_bytes());
    match kind.class {
        Class::String => string(rest.as_bytes(), out),
        Class::Array if array(rest, 1, out)?.is_empty() => {}
        Class::Array => return Err("text follows the end of an array".to_owned()),
        _ => number(kind, rest, out)?,
    }
    Ok(())
}

fn type_of(name: &str) -> Result<Type, String> {
    Type::of_name(name).ok_or_else(|| format!("{} is not a type", quoted(name)))
}

/// Appends a string after its length.
pub fn string(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend((bytes.len() as u64).to_le_bytes());
    out.extend(bytes);
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

/// Appends an array at this depth and all arrays in it, and returns the text after it.
fn array<'t>(text: &'t str, depth: usize, out: &mut Vec<u8>) -> Result<&'t str, String> {
    let (name, mut rest) =
        text.split_once('[').ok_or("an array has no bracket after the type of its items")?;
    let kind = type_of(name)?;
    out.extend(kind.number.to_le_bytes());
    let (count_at, mut count) = (out.len(), 0u64);
    out.extend(count.to_le_bytes());
    loop {
        if let Some(after) = rest.strip_prefix(']') {
            out[count_at..count_at + 8].copy_from_slice(&count.to_le_bytes());
            return Ok(after);
        }
        if count > 0 {
            rest = rest.strip_prefix(',').ok_or("a comma or a bracket is missing in an array")?;
        }
        count += 1;
        let (item, after) = rest.split_at(rest.find([',', ']']).unwrap_or(rest.len()));
        rest = match (kind.class, rest.strip_prefix('"')) {
            (Class::Array, _) if depth == DEEPEST => {
                return Err(format!("its arrays are more than {DEEPEST} deep"));
            }
            (Class::Array, _) => array(rest, depth + 1, out)?,
            (Class::String, Some(rest)) => {
                let (text, after) = unquote(rest)?;
                string(text.as_bytes(), out);
                after
            }
            (Class::String, None) => {
                let bytes = hex(item)?;
                if bytes.is_empty() {
                    return Err("a string of an array has no quotes".to_owned());
                }
                string(&bytes, out);
                after
            }
            _ => number(kind, item, out).map(|()| after)?,
        };
    }
}

/// Returns a quoted string, whose first quote is gone, and the text after the last one.
pub fn unquote(text: &str) -> Result<(String, &str), String> {
    let (mut string, mut rest) = (String::new(), text);
    loop {
        let special = rest.find(['"', '\\']).ok_or("a string has no quote at its end")?;
        let (plain, after) = rest.split_at(special);
        string.push_str(plain);
        let mut after = after.chars();
        if after.next() == Some('"') {
            return Ok((string, after.as_str()));
        }
        string.push(match after.next() {
            Some('n') => '\n',
            Some(character @ ('"' | '\\')) => character,
            Some('u') => {
                let (digits, tail) = after.as_str().split_at_checked(4).ok_or("an escape is truncated")?;
                after = tail.chars();
                let code = u32::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'));
                code.and_then(char::from_u32).ok_or("an escape is invalid")?
            }
            _ => return Err("an escape is invalid".to_owned()),
        });
        rest = after.as_str();
    }
}

fn number(kind: Type, text: &str, out: &mut Vec<u8>) -> Result<(), String> {
    let shift = kind.shift();
    let digits = text.strip_prefix("0x").filter(|digits| !digits.starts_with('+'));
    let bits = match (kind.class, kind.least, digits) {
        (Class::Float, 4, Some(digits)) => u32::from_str_radix(digits, 16).ok().map(u64::from),
        (Class::Float, _, Some(digits)) => u64::from_str_radix(digits, 16).ok(),
        (Class::Float, 4, None) => text.parse().ok().map(|float: f32| u64::from(float.to_bits())),
        (Class::Float, _, None) => text.parse().ok().map(f64::to_bits),
        (Class::Signed, ..) => {
            let number = text.parse().ok().filter(|number: &i64| number << shift >> shift == *number);
            number.map(i64::cast_unsigned)
        }
        (Class::Unsigned, ..) => text.parse().ok().filter(|number: &u64| number << shift >> shift == *number),
        _ => text.parse().ok().map(|flag: bool| u64::from(flag)),
    };
    let bits = bits.ok_or_else(|| format!("{} is not a value of type {}", quoted(text), kind.name))?;
    out.extend(bits.to_le_bytes().iter().zip(0..kind.least).map(|(byte, _)| byte));
    Ok(())
}
