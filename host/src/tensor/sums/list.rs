//! Reads lists of sums: output of `sha256sum` or of `safetensors hash --json`.

use crate::tensor::sums::lines::{is_sum, parse};
use serde::Deserialize;
use std::collections::BTreeMap;
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

/// An object printed by `safetensors hash --json`.
#[derive(Deserialize)]
struct Object {
    files: Vec<Expected>,
}

/// The files of a list, or the reason why the list is invalid, as a sentence.
pub fn read(text: &[u8]) -> Result<Vec<Expected>, String> {
    let is_json = text.trim_ascii_start().starts_with(b"{");
    let list = if is_json { read_json(text)? } else { read_lines(text)? };
    if list.is_empty() {
        return Err("it lists no files".to_owned());
    }
    Ok(list)
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
    let parsed = line.strip_prefix(b"  ").and_then(parse);
    parsed.is_some_and(|(_, name)| {
        let name = name.to_string_lossy();
        name.len() > 1 && name.starts_with('"') && name.ends_with('"')
    })
}

fn read_json(text: &[u8]) -> Result<Vec<Expected>, String> {
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

#[cfg(test)]
mod tests {
    use super::{is_below, read};
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

    #[test]
    fn both_forms_are_read() {
        let sum = "ab".repeat(32);
        let lines = read(format!("# sums\n{sum}  a\r\n{sum} *b").as_bytes()).expect("valid list");
        let names: Vec<_> = lines.iter().map(|file| (file.name.to_str(), file.sha256.as_str())).collect();
        assert_eq!(names, [(Some("a"), sum.as_str()), (Some("b"), sum.as_str())]);
        let object = |name: &str| {
            let tensors = format!(r#"{{"t":{{"sha256":"{sum}"}}}}"#);
            let file = format!(r#"{{"file":"{name}","sha256":"{sum}","tensors":{tensors}}}"#);
            format!(r#"{{"file":"m","ok":true,"files":[{file}]}}"#)
        };
        let objects = read(format!("{}\n{}\n", object("a"), object("b")).as_bytes()).expect("valid list");
        assert_eq!(objects.len(), 2);
        assert_eq!(objects[1].tensors.as_ref().map(|tensors| &tensors["t"].sha256), Some(&sum));
    }

    /// `sha256sum -c` accepts leading spaces: no line that it would check may be skipped.
    #[test]
    fn only_sums_of_tensors_are_passed_over() {
        let sum = "ab".repeat(32);
        let list = read(format!("{sum}  a\n  {sum}  \"t u\"\n  {sum}  b\n {sum}  \"c\"\n").as_bytes());
        let list = list.expect("valid list");
        let names: Vec<_> = list.iter().map(|file| file.name.to_str()).collect();
        assert_eq!(names, [Some("a"), Some("b"), Some("\"c\"")]);
    }

    #[test]
    fn what_is_no_list_is_refused_in_a_sentence() {
        let sum = "ab".repeat(32);
        for (text, why) in [
            (String::new(), "it lists no files"),
            ("# nothing\n".into(), "it lists no files"),
            (format!("{sum}  a\n\n"), "line 2 is not a sum and a name"),
            (format!("{sum}  a\n  a comment\n"), "line 2 is not a sum and a name"),
            (format!("{sum}  a\n{}  b", &sum[1..]), "line 2 is not"),
            ("{}".into(), "missing field `files`"),
            (r#"{"files":[]}"#.into(), "it lists no files"),
            (r#"{"files":[{"file":"m","sha256":"00"}]}"#.into(), "\"00\" is not a sum"),
            (r#"{"files":[]"#.into(), "EOF"),
        ] {
            let said = read(text.as_bytes()).err().unwrap_or_default();
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
