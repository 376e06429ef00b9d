//! Texts of the protocol with lines.

/// Returns a text in quotes, as Python 2 writes it, without its quotes and escapes; `None` if it is not one.
pub(super) fn unquoted(line: &[u8]) -> Option<Vec<u8>> {
    let inner = match line.trim_ascii_end() {
        [b'\'', inner @ .., b'\''] | [b'"', inner @ .., b'"'] => inner,
        _ => return None,
    };
    let (mut text, mut left) = (Vec::new(), inner);
    while let Some((&byte, rest)) = left.split_first() {
        left = rest;
        if byte == b'\\' {
            left = unescape(left, &mut text)?;
        } else {
            text.push(byte);
        }
    }
    Some(text)
}

/// Appends the byte of an escape whose backslash was read, and returns what follows.
fn unescape<'l>(escape: &'l [u8], text: &mut Vec<u8>) -> Option<&'l [u8]> {
    let (&kind, rest) = escape.split_first()?;
    let byte = match kind {
        b'\\' | b'\'' | b'"' => kind,
        b'a' => 7,
        b'b' => 8,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 11,
        b'f' => 12,
        b'r' => b'\r',
        b'x' | b'0'..=b'7' => {
            let len = escape.iter().take(3).take_while(|digit| matches!(digit, b'0'..=b'7')).count();
            let (digits, len, radix) = if kind == b'x' { (rest, 2, 16) } else { (escape, len, 8) };
            let (digits, rest) = digits.split_at_checked(len)?;
            // As in Python, an octal value wraps.
            text.push(u8::try_from(number(digits, radix)? & 0xFF).ok()?);
            return Some(rest);
        }
        // As in Python, an unknown escape keeps its backslash.
        other => {
            text.push(b'\\');
            other
        }
    };
    text.push(byte);
    Some(rest)
}

/// Returns a line of Latin-1 with escapes of other characters as text; `None` if an escape is invalid.
pub(super) fn unescaped(line: &[u8]) -> Option<String> {
    let (mut text, mut left) = (String::new(), line);
    loop {
        left = match left {
            [] => return Some(text),
            [b'\\', kind @ (b'u' | b'U'), rest @ ..] => {
                let (digits, rest) = rest.split_at_checked(if *kind == b'u' { 4 } else { 8 })?;
                text.push(char::from_u32(number(digits, 16)?)?);
                rest
            }
            [b'\\', other, rest @ ..] => {
                text.extend(['\\', char::from(*other)]);
                rest
            }
            [byte, rest @ ..] => {
                text.push(char::from(*byte));
                rest
            }
        };
    }
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    // `from_str_radix` allows a sign.
    let text = digits.iter().all(u8::is_ascii_alphanumeric).then_some(digits)?;
    u32::from_str_radix(std::str::from_utf8(text).ok()?, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::{unescaped, unquoted};

    #[test]
    fn quoted_texts_lose_quotes_and_escapes() {
        for (line, text) in [
            (&b"'a'"[..], Some(&b"a"[..])),
            (b"\"a'\\\"\"", Some(b"a'\"")),
            (b"'\\n\\x41\\101\\0\\q' ", Some(b"\nAA\0\\q")),
            (b"''", Some(b"")),
            (b"'", None),
            (b"", None),
            (b"'a\"", None),
            (b"a", None),
            (b"'\\x4'", None),
            (b"'\\x+4'", None),
            (b"'\\'", None),
        ] {
            assert_eq!(unquoted(line).as_deref(), text, "{line:?}");
        }
    }

    #[test]
    fn escapes_are_characters() {
        for (line, text) in [
            (&b"a\\u00e9\\U0001F600"[..], Some("aé\u{1F600}")),
            (b"\xE9\\n", Some("é\\n")),
            (b"\\\\u0041", Some("\\\\u0041")),
            (b"\\", Some("\\")),
            (b"\\u12", None),
            (b"\\ud800", None),
            (b"\\u+123", None),
        ] {
            assert_eq!(unescaped(line).as_deref(), text, "{line:?}");
        }
    }
}
