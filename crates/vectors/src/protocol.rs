//! The runner protocol: a reader gets a file on its standard input, and answers by its exit code and its
//! output.

use serde_json::{Map, Value};

/// The largest number of characters of a reader's message that is kept.
const WORDS: usize = 1000;
/// The number of characters kept of the first line of a crash's message.
const FIRST_WORDS: usize = 200;
/// The number of bytes that are shown of output that is not JSON.
const START: usize = 60;

/// How a reader's process ended.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// It exited with this code.
    Code(i32),
    /// It was killed by this signal.
    Signal(i32),
    /// It was killed after this many seconds.
    TimedOut(u64),
    /// It was killed after this many bytes on its standard output.
    Flooded(u64),
}

/// The result of a reader's process.
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
    /// Returns the messages for people: standard error, then standard output.
    fn words(&self) -> String {
        let words = [self.stderr.as_slice(), &self.stdout].concat();
        String::from_utf8_lossy(&words).trim().to_owned()
    }
}

/// A reader's verdict about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It accepted the file.
    Accept,
    /// It rejected the file.
    Reject,
    /// It did neither.
    Crash,
}

impl Outcome {
    /// Returns the word for it in the manifest.
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
    /// The reader's verdict.
    pub outcome: Outcome,
    /// For a crash or a rejection: the message.
    pub text: String,
    /// For a rejection: this project's error code, if given.
    pub code: Option<String>,
    /// For a rejection: the byte of the error, if given.
    pub at: Option<u64>,
    /// For an accepted file: the object that was printed.
    pub table: Option<Map<String, Value>>,
    /// For a crash: whether there was no answer in time.
    pub hangs: bool,
}

impl Answer {
    fn new(outcome: Outcome, text: String) -> Self {
        Self { outcome, text, code: None, at: None, table: None, hangs: false }
    }

    /// Returns the answer of a reader's process.
    pub fn of(output: &Output) -> Self {
        match output.end {
            End::Code(0) => Self::acceptance(&output.stdout),
            End::Code(1) => Self::rejection(&output.words()),
            End::Code(code) => Self::crash(&format!("exit code {code}"), &output.words()),
            End::Signal(signal) => Self::crash(&format!("signal {signal}"), &output.words()),
            End::TimedOut(seconds) => {
                let text = format!("no answer in {seconds} seconds");
                Self { hangs: true, ..Self::new(Outcome::Crash, text) }
            }
            End::Flooded(bytes) => Self::new(Outcome::Crash, format!("more than {bytes} bytes of output")),
        }
    }

    fn crash(how: &str, words: &str) -> Self {
        let first: String = words.lines().next().unwrap_or_default().chars().take(FIRST_WORDS).collect();
        Self::new(Outcome::Crash, format!("{how} {first}").trim().to_owned())
    }

    fn rejection(words: &str) -> Self {
        let (code, at) = error_line(words).map_or((None, None), |(code, at)| (Some(code.to_owned()), at));
        Self { code, at, ..Self::new(Outcome::Reject, words.chars().take(WORDS).collect()) }
    }

    /// Output that violates the protocol counts as a crash.
    fn acceptance(output: &[u8]) -> Self {
        match table(output) {
            Ok(table) => Self { table: Some(table), ..Self::new(Outcome::Accept, String::new()) },
            Err(why) => Self::new(Outcome::Crash, format!("exit code 0, but {why}")),
        }
    }
}

/// Returns the object that was printed, or how it violates the protocol.
fn table(output: &[u8]) -> Result<Map<String, Value>, String> {
    if output.trim_ascii().is_empty() {
        return Err("standard output is empty".to_owned());
    }
    let not_object = |_| {
        let start = String::from_utf8_lossy(&output[..output.len().min(START)]);
        format!("standard output is not one JSON object: {}", start.trim())
    };
    let table: Map<String, Value> = serde_json::from_slice(output).map_err(not_object)?;
    let tensors = table.get("tensors").and_then(Value::as_object).ok_or("\"tensors\" is not an object")?;
    let has_both = |tensor: &Value| ["dtype", "shape"].iter().all(|key| tensor.get(key).is_some());
    if !tensors.values().all(has_both) {
        return Err("a tensor lacks dtype or shape".to_owned());
    }
    match table.get("metadata") {
        None | Some(Value::Object(_) | Value::Null) => Ok(table),
        Some(_) => Err("\"metadata\" is neither an object nor null".to_owned()),
    }
}

/// Finds the first `error[code]`, and the byte in the `at byte N` after it.
fn error_line(words: &str) -> Option<(&str, Option<u64>)> {
    let mut starts = words.match_indices("error[");
    let (code, after) = starts.find_map(|(at, mark)| code_at(&words[at + mark.len()..]))?;
    let offset = after.strip_prefix(" at byte ").map(|rest| {
        let len = rest.bytes().take_while(u8::is_ascii_digit).count();
        rest[..len].parse().ok()
    });
    Some((code, offset.flatten()))
}

fn code_at(text: &str) -> Option<(&str, &str)> {
    let (code, after) = text.split_once(']')?;
    (!code.is_empty() && !code.contains(char::is_whitespace)).then_some((code, after))
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
    fn exit_codes_have_the_meaning_of_the_protocol() {
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
        for (output, why) in [
            (" \n", "standard output is empty"),
            ("hello {", "standard output is not one JSON object: hello {"),
            ("[]", "standard output is not one JSON object: []"),
            ("{}", "\"tensors\" is not an object"),
        ] {
            assert_eq!(answer(End::Code(0), output, "").text, format!("exit code 0, but {why}"));
        }
        let rejected = answer(End::Code(1), "error[b] at byte 2", "error[a] at byte 1\n");
        assert_eq!(
            (rejected.outcome, rejected.code.as_deref(), rejected.at),
            (Outcome::Reject, Some("a"), Some(1))
        );
        assert_eq!(answer(End::Code(101), "", "\npanicked\r\n  at x.go\n").text, "exit code 101 panicked");
        assert_eq!(answer(End::Signal(11), "", "").text, "signal 11");
        assert_eq!(
            answer(End::Code(3), "", &"é".repeat(500)).text,
            format!("exit code 3 {}", "é".repeat(200))
        );
    }
}
