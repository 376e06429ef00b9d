//! Reads and writes the lines of `sha256sum`.

use std::ffi::OsString;
use std::path::Path;

/// The line for a file. A name with a line break or a backslash is escaped, and its line begins with a
/// backslash.
pub fn line(sum: &str, path: &Path) -> Vec<u8> {
    let name = path.as_os_str().as_encoded_bytes();
    let is_special = |byte: &u8| matches!(byte, b'\\' | b'\n' | b'\r');
    let mark = if name.iter().any(is_special) { "\\" } else { "" };
    let mut line = format!("{mark}{sum}  ").into_bytes();
    for byte in name {
        match byte {
            b'\\' => line.extend(b"\\\\"),
            b'\n' => line.extend(b"\\n"),
            b'\r' => line.extend(b"\\r"),
            _ => line.push(*byte),
        }
    }
    line.push(b'\n');
    line
}

/// Whether a name has a control character that a line cannot escape. It would reach a terminal unescaped.
pub fn has_control(path: &Path) -> bool {
    let name = path.to_string_lossy();
    name.chars().any(|character| character.is_control() && !matches!(character, '\t' | '\n' | '\r'))
}

/// The sum in lowercase and the name of a line without its line break. None if the line is invalid.
pub fn parse(line: &[u8]) -> Option<(String, OsString)> {
    let escaped = line.starts_with(b"\\");
    let line = line.strip_prefix(b"\\").unwrap_or(line);
    let (sum, rest) = line.split_at_checked(64)?;
    let name = rest.strip_prefix(b"  ").or_else(|| rest.strip_prefix(b" *"))?;
    let sum = std::str::from_utf8(sum).ok().filter(|sum| is_sum(sum))?.to_ascii_lowercase();
    let name = if escaped { unescaped(name)? } else { name.to_vec() };
    if name.is_empty() || name.contains(&0) {
        return None;
    }
    Some((sum, text(name)?))
}

/// Whether the text is 64 hexadecimal digits.
pub fn is_sum(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn unescaped(name: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    let mut rest = name.iter();
    while let Some(byte) = rest.next() {
        plain.push(match byte {
            b'\\' => match rest.next()? {
                b'\\' => b'\\',
                b'n' => b'\n',
                b'r' => b'\r',
                _ => return None,
            },
            _ => *byte,
        });
    }
    Some(plain)
}

#[cfg(unix)]
fn text(name: Vec<u8>) -> Option<OsString> {
    use std::os::unix::ffi::OsStringExt;
    Some(OsString::from_vec(name))
}

#[cfg(not(unix))]
fn text(name: Vec<u8>) -> Option<OsString> {
    String::from_utf8(name).ok().map(OsString::from)
}

#[cfg(test)]
mod tests {
    use super::{line, parse};
    use std::path::Path;

    #[test]
    fn names_come_back_as_they_were() {
        let sum = "0123456789abcdef".repeat(4);
        for (name, spelled) in [
            ("a b", format!("{sum}  a b\n")),
            ("a\nb", format!("\\{sum}  a\\nb\n")),
            ("a\\\rb", format!("\\{sum}  a\\\\\\rb\n")),
            (" *層", format!("{sum}   *層\n")),
        ] {
            let written = line(&sum, Path::new(name));
            assert_eq!(String::from_utf8_lossy(&written), spelled);
            let read = parse(&written[..written.len() - 1]).expect("valid line");
            assert_eq!(read, (sum.clone(), name.into()));
        }
        let other = parse(format!("{} *m", sum.to_uppercase()).as_bytes());
        assert_eq!(other.expect("valid line"), (sum, "m".into()));
    }

    #[test]
    fn what_is_no_line_is_not_read() {
        let sum = "0123456789abcdef".repeat(4);
        for wrong in [
            "",
            "x",
            &sum,
            &format!("{sum}  "),
            &format!("{sum} m"),
            &format!("{sum}m"),
            &format!("g{}  m", &sum[1..]),
        ] {
            assert_eq!(parse(wrong.as_bytes()), None, "{wrong}");
        }
        for wrong in [format!("\\{sum}  a\\"), format!("\\{sum}  a\\x"), format!("{sum}  a\0")] {
            assert_eq!(parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
