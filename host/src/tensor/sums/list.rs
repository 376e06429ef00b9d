//! Lists of sums: the lines of `sha256sum`, or the output of `safetensors hash --json`.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// The expected state of a file.
#[derive(Deserialize)]
pub struct Expected {
    #[serde(rename = "file")]
    pub name: PathBuf,
    pub sha256: String,
    /// The sums of its tensors, if known.
    pub tensors: Option<BTreeMap<String, Tensor>>,
}

#[derive(Deserialize)]
pub struct Tensor {
    pub sha256: String,
}

/// The files of a list, or the reason why the list is invalid, as a sentence.
pub fn read(text: &[u8]) -> Result<Vec<Expected>, String> {
    let is_json = text.trim_ascii_start().starts_with(b"{");
    let list = if is_json { read_json(text)? } else { read_lines(text)? };
    if list.is_empty() { Err("it lists no files".to_owned()) } else { Ok(list) }
}

fn read_lines(text: &[u8]) -> Result<Vec<Expected>, String> {
    let mut list = Vec::new();
    for (number, line) in (1..).zip(text.split_inclusive(|byte| *byte == b'\n')) {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.starts_with(b"#") || is_of_tensor(line) {
            continue;
        }
        // `sha256sum` allows spaces before a sum.
        let parsed = parse(line.trim_ascii_start());
        let (sha256, name) = parsed.ok_or_else(|| format!("line {number} is not a sum and a name"))?;
        list.push(Expected { name: name.into(), sha256, tensors: None });
    }
    Ok(list)
}

/// Whether this is the informational line of a tensor: two spaces, the sum, two spaces, the name in quotes.
fn is_of_tensor(line: &[u8]) -> bool {
    line.strip_prefix(b"  ").and_then(parse).is_some_and(|(_, name)| {
        let name = name.to_string_lossy();
        name.len() > 1 && name.starts_with('"') && name.ends_with('"')
    })
}

fn read_json(text: &[u8]) -> Result<Vec<Expected>, String> {
    #[derive(Deserialize)]
    struct Object {
        files: Vec<Expected>,
    }
    let mut list = Vec::new();
    for object in serde_json::Deserializer::from_slice(text).into_iter::<Object>() {
        let not_ours = |error| format!("not the output of `safetensors hash --json`: {error}");
        list.append(&mut object.map_err(not_ours)?.files);
    }
    let tensors = list.iter().flat_map(|file| file.tensors.iter().flat_map(BTreeMap::values));
    let sums = list.iter().map(|file| &file.sha256).chain(tensors.map(|tensor| &tensor.sha256));
    match sums.into_iter().find(|sum| !is_sum(sum)) {
        Some(wrong) => Err(format!("{wrong:?} is not a sum of 64 hexadecimal digits")),
        None => Ok(list),
    }
}

/// Whether a name is a plain relative path below the directory, with `/` as separator.
pub fn is_below(name: &Path) -> bool {
    let (mut parts, count) = (name.components(), name.components().count());
    let is_plain = |text: &str| !text.contains(char::is_control) && text.split('/').count() == count;
    parts.all(|part| matches!(part, Component::Normal(_))) && name.to_str().is_some_and(is_plain)
}

/// The bytes that a line escapes, and what follows the backslash then.
const ESCAPES: [(u8, u8); 3] = [(b'\\', b'\\'), (b'\n', b'n'), (b'\r', b'r')];

/// The line for a file. A name with a line break or a backslash is escaped, and its line begins with a
/// backslash.
pub fn line(sum: &str, path: &Path) -> Vec<u8> {
    let (mut mark, mut name) = ("", Vec::new());
    for byte in path.as_os_str().as_encoded_bytes() {
        match ESCAPES.iter().find(|(escaped, _)| escaped == byte) {
            Some((_, letter)) => {
                mark = "\\";
                name.extend([b'\\', *letter]);
            }
            None => name.push(*byte),
        }
    }
    [mark.as_bytes(), sum.as_bytes(), b"  ", &name, b"\n"].concat()
}

/// Whether a name has a control character that a line cannot escape. It would reach a terminal unescaped.
pub fn has_control(path: &Path) -> bool {
    let name = path.to_string_lossy();
    name.chars().any(|character| character.is_control() && !matches!(character, '\t' | '\n' | '\r'))
}

/// The sum in lowercase and the name of a line without its line break. None if the line is invalid.
fn parse(line: &[u8]) -> Option<(String, OsString)> {
    let escaped = line.starts_with(b"\\");
    let line = line.strip_prefix(b"\\").unwrap_or(line);
    let (sum, rest) = line.split_at_checked(64)?;
    let name = rest.strip_prefix(b"  ").or_else(|| rest.strip_prefix(b" *"))?;
    let sum = std::str::from_utf8(sum).ok().filter(|sum| is_sum(sum))?.to_ascii_lowercase();
    let name = if escaped { unescaped(name)? } else { name.to_vec() };
    if name.is_empty() || name.contains(&0) { None } else { Some((sum, text(name)?)) }
}

/// Whether the text is 64 hexadecimal digits.
fn is_sum(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn unescaped(name: &[u8]) -> Option<Vec<u8>> {
    let (mut plain, mut rest) = (Vec::new(), name.iter());
    while let Some(&byte) = rest.next() {
        plain.push(match byte {
            b'\\' => {
                let letter = rest.next()?;
                ESCAPES.iter().find(|(_, known)| known == letter)?.0
            }
            _ => byte,
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
    use super::{is_below, line, parse, read};
    use std::path::Path;

    #[test]
    fn names_below_a_folder_are_known() {
        for below in ["m", "..m", "a/b", "a b"] {
            assert!(is_below(Path::new(below)), "{below}");
        }
        for other in ["./m", "m/", "..", "", "/m", "a//b", "a/../b", "a\nb"] {
            assert!(!is_below(Path::new(other)), "{other}");
        }
    }

    /// `sha256sum -c` accepts leading spaces: no line that it would check may be skipped.
    #[test]
    fn only_comments_and_sums_of_tensors_are_passed_over() {
        let sum = "ab".repeat(32);
        let object = |name: &str| {
            let file =
                format!(r#"{{"file":"{name}","sha256":"{sum}","tensors":{{"t":{{"sha256":"{sum}"}}}}}}"#);
            format!(r#"{{"file":"m","ok":true,"files":[{file}]}}"#)
        };
        for (text, expected) in [
            (format!("# sums\n{sum}  a\r\n{sum} *b"), &["a", "b"][..]),
            (format!("{sum}  a\n  {sum}  \"t u\"\n  {sum}  b\n {sum}  \"c\"\n"), &["a", "b", "\"c\""]),
            (format!("{}\n{}\n", object("a"), object("b")), &["a", "b"]),
        ] {
            let list = read(text.as_bytes()).expect("valid list");
            let names: Vec<_> = list.iter().filter_map(|file| file.name.to_str()).collect();
            assert!(names == expected && list.iter().all(|file| file.sha256 == sum), "{names:?}");
        }
    }

    #[test]
    fn what_is_no_list_is_refused_in_a_sentence() {
        let sum = "ab".repeat(32);
        for (text, why) in [
            ("# nothing\n".into(), "it lists no files"),
            (format!("{sum}  a\n\n"), "line 2 is not a sum and a name"),
            (format!("{sum}  a\n  a comment\n"), "line 2 is not a sum and a name"),
            (format!("{sum}  a\n{}  b", &sum[1..]), "line 2 is not"),
            ("{}".into(), "missing field `files`"),
            (r#"{"files":[]}"#.into(), "it lists no files"),
            (r#"{"files":[{"file":"m","sha256":"00"}]}"#.into(), "\"00\" is not a sum"),
        ] {
            let said = read(text.as_bytes()).err().unwrap_or_default();
            assert!(said.contains(why), "{text}: {said}");
        }
    }

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
            &format!("\\{sum}  a\\"),
            &format!("\\{sum}  a\\x"),
            &format!("{sum}  a\0"),
        ] {
            assert_eq!(parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
