//! The runner protocol: a reader gets a file on its standard input, and answers by how it ends and by what it prints.

use serde_json::{Map, Value};

/// How much of a reader's own words is kept, in characters.
const WORDS: usize = 1000;
/// And of those with which it crashed: the last.
const LAST_WORDS: usize = 200;

/// How a reader's process ended.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// By itself, with this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It was killed after so many seconds.
    TimedOut(u64),
    /// It was killed after so many bytes on its standard output.
    Flooded(u64),
}

/// What a reader's process left.
#[derive(Clone, Debug)]
pub struct Output {
    /// How it ended.
    pub end: End,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
}

impl Output {
    /// What was said to people: standard error, then standard output.
    fn words(&self) -> String {
        let words = [self.stderr.as_slice(), &self.stdout].concat();
        String::from_utf8_lossy(&words).trim().to_owned()
    }
}

/// What a reader made of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It accepted the file.
    Accept,
    /// It refused the file.
    Reject,
    /// It did neither.
    Crash,
}

impl Outcome {
    /// The word for it, as in the manifest.
    pub fn word(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Reject => "reject",
            Self::Crash => "crash",
        }
    }
}

/// An answer to one file.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What the reader made of it.
    pub outcome: Outcome,
    /// For a crash or a refusal: the words.
    pub text: String,
    /// For a refusal: this project's code of the error, if given.
    pub code: Option<String>,
    /// For a refusal: the byte where the error shows, if given.
    pub at: Option<u64>,
    /// For a file that is accepted: the object that was printed.
    pub table: Option<Map<String, Value>>,
}

impl Answer {
    fn new(outcome: Outcome, text: String) -> Self {
        Self { outcome, text, code: None, at: None, table: None }
    }

    /// What a reader's process answered.
    pub fn of(output: &Output) -> Self {
        match output.end {
            End::Code(0) => Self::acceptance(&output.stdout),
            End::Code(1) => Self::rejection(&output.words()),
            End::Code(code) => Self::crash(&format!("exit code {code}"), &output.words()),
            End::Signal(signal) => Self::crash(&format!("signal {signal}"), &output.words()),
            End::TimedOut(seconds) => Self::new(Outcome::Crash, format!("no answer in {seconds} seconds")),
            End::Flooded(bytes) => Self::new(Outcome::Crash, format!("more than {bytes} bytes of output")),
        }
    }

    fn crash(how: &str, words: &str) -> Self {
        let skipped = words.chars().count().saturating_sub(LAST_WORDS);
        let last: String = words.chars().skip(skipped).collect();
        Self::new(Outcome::Crash, format!("{how} {last}").trim().to_owned())
    }

    fn rejection(words: &str) -> Self {
        let (code, at) = error_line(words).map_or((None, None), |(code, at)| (Some(code.to_owned()), at));
        Self { code, at, ..Self::new(Outcome::Reject, words.chars().take(WORDS).collect()) }
    }

    /// Output that is not what the protocol says is a crash.
    fn acceptance(output: &[u8]) -> Self {
        match table(output) {
            Ok(table) => Self { table: Some(table), ..Self::new(Outcome::Accept, String::new()) },
            Err(why) => Self::new(Outcome::Crash, format!("the output is not what the protocol says: {why}")),
        }
    }
}

fn table(output: &[u8]) -> Result<Map<String, Value>, String> {
    let table: Map<String, Value> = serde_json::from_slice(output).map_err(|error| error.to_string())?;
    let tensors = table.get("tensors").and_then(Value::as_object).ok_or("\"tensors\" is not an object")?;
    let has_both = |tensor: &Value| ["dtype", "shape"].iter().all(|key| tensor.get(key).is_some());
    if !tensors.values().all(has_both) {
        return Err("a tensor lacks dtype or shape".to_owned());
    }
    match table.get("metadata") {
        None | Some(Value::Object(_) | Value::Null) => Ok(table),
        Some(_) => Err("metadata is neither an object nor null".to_owned()),
    }
}

/// The first `error[code]`, and the byte in the `at byte N` behind it.
fn error_line(words: &str) -> Option<(&str, Option<u64>)> {
    let mut starts = words.match_indices("error[");
    let (code, behind) = starts.find_map(|(at, mark)| code_at(&words[at + mark.len()..]))?;
    let place = behind.strip_prefix(" at byte ").map(|rest| {
        let len = rest.bytes().take_while(u8::is_ascii_digit).count();
        rest[..len].parse().ok()
    });
    Some((code, place.flatten()))
}

fn code_at(text: &str) -> Option<(&str, &str)> {
    let (code, behind) = text.split_once(']')?;
    (!code.is_empty() && !code.contains(char::is_whitespace)).then_some((code, behind))
}

#[cfg(test)]
mod tests {
    use super::{Answer, End, Outcome, Output, error_line};

    fn answer(end: End, out: &str, err: &str) -> Answer {
        Answer::of(&Output { end, stdout: out.into(), stderr: err.into() })
    }

    #[test]
    fn the_first_error_line_counts() {
        for (words, expected) in [
            ("x: error[json.end] at byte 12: text", Some(("json.end", Some(12)))),
            ("error[a] at byte x", Some(("a", None))),
            ("error[a] at byte 99999999999999999999", Some(("a", None))),
            ("error[a b] error[] error[c]", Some(("c", None))),
            ("error[a", None),
            ("Error: bad", None),
        ] {
            assert_eq!(error_line(words), expected, "{words}");
        }
    }

    #[test]
    fn ends_mean_what_the_protocol_says() {
        for good in [
            r#"{"tensors":{"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]}},"metadata":null}"#,
            r#"{"tensors":{"a":{"dtype":"U8","shape":[]}}}"#,
        ] {
            assert_eq!(answer(End::Code(0), good, "").outcome, Outcome::Accept, "{good}");
        }
        for bad in [
            "",
            "[]",
            "{}",
            r#"{"tensors":{},"metadata":1}"#,
            r#"{"tensors":{"a":{"dtype":"U8"}},"metadata":{}}"#,
            r#"{"tensors":{"a":{"shape":[]}},"metadata":{}}"#,
        ] {
            assert_eq!(answer(End::Code(0), bad, "").outcome, Outcome::Crash, "{bad}");
        }
        let refused = answer(End::Code(1), "error[b] at byte 2", "error[a] at byte 1\n");
        assert_eq!(
            (refused.outcome, refused.code.as_deref(), refused.at),
            (Outcome::Reject, Some("a"), Some(1))
        );
        assert_eq!(answer(End::Code(101), "", "panicked\n").text, "exit code 101 panicked");
        assert_eq!(answer(End::Signal(11), "", "").text, "signal 11");
        assert_eq!(
            answer(End::Code(3), "", &"é".repeat(500)).text,
            format!("exit code 3 {}", "é".repeat(200))
        );
    }
}
