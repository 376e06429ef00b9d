//! The runner protocol: how a reader's exit code, its output, or its line of a batch is an answer.

use serde_json::{Map, Value};

/// The largest number of characters of a rejection's message that is kept.
const LONGEST_TEXT: usize = 1000;
/// The number of characters kept of the line that tells of a crash.
const LONGEST_CRASH: usize = 200;
/// The number of bytes that are shown of output that is not JSON.
const START: usize = 60;
/// The number of digits of the longest offset. More are none.
const LONGEST_OFFSET: usize = 20;

/// Parts of lines that sanitizers print.
const REPORTS: [&str; 6] = [
    "ERROR: AddressSanitizer",
    "ERROR: HWAddressSanitizer",
    "ERROR: LeakSanitizer",
    "WARNING: MemorySanitizer",
    "WARNING: ThreadSanitizer",
    ": runtime error: ",
];
/// The start of the line before the frames of an exception that a Python program does not catch. Its last
/// line says why.
const TRACEBACK: &str = "Traceback (most recent call last):";
/// The starts of lines that other languages print about such an exception.
const UNCAUGHT: [&str; 2] = ["Node.js v", "Exception in thread \""];

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
    /// It has closed its standard output, but did not exit.
    Closed,
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

/// What a reader says about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It accepts the file.
    Accept,
    /// It rejects the file.
    Reject,
    /// Its process ended in another way.
    Crash,
    /// It did not answer in time.
    Hang,
    /// Its output says neither.
    BadOutput,
}

impl Outcome {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Reject => "reject",
            Self::Crash => "crash",
            Self::Hang => "hang",
            Self::BadOutput => "bad output",
        }
    }
}

/// An answer to one file.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What the reader says.
    pub outcome: Outcome,
    /// The message; for an accepted file without a table: what is wrong with the output.
    pub text: String,
    /// For a rejection: this project's error code, if given.
    pub code: Option<String>,
    /// For a rejection: the byte of the error, if given.
    pub at: Option<u64>,
    /// For an accepted file: the object that was printed.
    pub table: Option<Map<String, Value>>,
}

impl Answer {
    fn new(outcome: Outcome, text: impl Into<String>) -> Self {
        Self { outcome, text: text.into(), code: None, at: None, table: None }
    }

    /// Returns the answer of a process that got one file.
    pub fn of_process(output: &Output) -> Self {
        let words = || output.words();
        match output.end {
            End::Code(0) => object(&output.stdout, "standard output")
                .map_or_else(|why| Self::new(Outcome::Accept, why), Self::acceptance),
            End::Code(1) if report(&words()).is_none() => Self::rejection(&words()),
            _ => Self::of_end(output.end, &words()),
        }
    }

    /// Returns the answer of a process that ended in this way without one; `words` are its messages.
    pub fn of_end(end: End, words: &str) -> Self {
        let how = match end {
            End::Code(code) => format!("exit code {code}"),
            End::Signal(signal) => format!("signal {signal}"),
            End::TimedOut(seconds) => {
                return Self::new(Outcome::Hang, format!("no answer in {seconds} seconds"));
            }
            End::Flooded(bytes) => {
                return Self::new(Outcome::BadOutput, format!("more than {bytes} bytes of output"));
            }
            End::Closed => return Self::new(Outcome::Crash, "it has closed its output"),
        };
        let line = report(words).or_else(|| words.lines().next()).unwrap_or_default();
        let line: String = line.chars().take(LONGEST_CRASH).collect();
        Self::new(Outcome::Crash, format!("{how} {line}").trim())
    }

    /// Returns the answer of a batch that has printed more than the line that it was asked for.
    pub fn of_lines() -> Self {
        Self::new(Outcome::BadOutput, "more than one line for a file")
    }

    /// Returns the answer of a line of a batch about the file with this path.
    pub fn of_line(line: &[u8], path: &str) -> Self {
        let found = object(line, "the line").or_else(|why| {
            // The text of an error may have half a surrogate pair.
            let whole = object(&with_whole_pairs(line), "the line").ok();
            whole.filter(|object| object.contains_key("error")).ok_or(why)
        });
        let answer = match found {
            Ok(object) => Self::of_object(object, line, path),
            // What is printed of an invalid file that was accepted may not be text.
            Err(why) if contains(line, b"\"tensors\"") => Ok(Self::new(Outcome::Accept, why)),
            Err(why) => Err(why),
        };
        answer.unwrap_or_else(|why| Self::new(Outcome::BadOutput, why))
    }

    fn of_object(object: Map<String, Value>, line: &[u8], path: &str) -> Result<Self, String> {
        match (object.get("error"), object.contains_key("tensors")) {
            (None, false) | (Some(_), true) => {
                Err(format!("the line has not one of \"tensors\" and \"error\": {}", start(line)))
            }
            (Some(error), _) if !error.is_string() => Err("\"error\" is not a string".to_owned()),
            _ if object.get("file").is_some_and(|file| file != path) => {
                Err(format!("\"file\" is not the one that was asked: {}", start(line)))
            }
            (Some(error), _) => Ok(Self::rejection(error.as_str().unwrap_or_default().trim())),
            (None, true) => Ok(Self::acceptance(object)),
        }
    }

    fn rejection(words: &str) -> Self {
        let (code, at) = error_line(words).map_or((None, None), |(code, at)| (Some(code.to_owned()), at));
        Self { code, at, ..Self::new(Outcome::Reject, words.chars().take(LONGEST_TEXT).collect::<String>()) }
    }

    fn acceptance(table: Map<String, Value>) -> Self {
        match violation(&table) {
            None => Self { table: Some(table), ..Self::new(Outcome::Accept, "") },
            Some(why) => Self::new(Outcome::Accept, why),
        }
    }
}

/// Returns the line that tells of a bug found by a sanitizer, or of an exception that was not caught.
fn report(words: &str) -> Option<&str> {
    words.lines().find_map(|line| match () {
        () if line.starts_with(TRACEBACK) => words.lines().last(),
        () if REPORTS.iter().any(|part| line.contains(part)) => Some(line),
        () if UNCAUGHT.iter().any(|start| line.starts_with(start)) => words.lines().next(),
        () => None,
    })
}

/// Returns the JSON object that the bytes are.
fn object(output: &[u8], what: &str) -> Result<Map<String, Value>, String> {
    if output.trim_ascii().is_empty() {
        return Err(format!("{what} is empty"));
    }
    let text = std::str::from_utf8(output).map_err(|_| format!("{what} is not UTF-8: {}", start(output)))?;
    serde_json::from_str(text).map_err(|_| format!("{what} is not one JSON object: {}", start(output)))
}

/// Returns a line of JSON with the escape of U+FFFD for each half of a surrogate pair.
fn with_whole_pairs(line: &[u8]) -> Vec<u8> {
    const ESCAPE: usize = 6;
    let mut line = line.to_vec();
    let mut at = 0;
    while at < line.len() {
        at += match (surrogate(&line[at..]), line.get(at + ESCAPE..).and_then(surrogate)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 2 * ESCAPE,
            (Some(_), _) => {
                line[at..at + ESCAPE].copy_from_slice(b"\\ufffd");
                ESCAPE
            }
            (None, _) if line[at] == b'\\' => 2,
            (None, _) => 1,
        };
    }
    line
}

/// Returns the surrogate whose escape the bytes begin with.
fn surrogate(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    let unit = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    (0xd800..=0xdfff).contains(&unit).then_some(unit)
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Returns the first bytes of an output as text.
fn start(output: &[u8]) -> String {
    String::from_utf8_lossy(&output[..output.len().min(START)]).trim().to_owned()
}

/// Returns how a JSON object violates the protocol.
fn violation(table: &Map<String, Value>) -> Option<String> {
    let Some(tensors) = table.get("tensors").and_then(Value::as_object) else {
        return Some("\"tensors\" is not an object".to_owned());
    };
    let has_both = |tensor: &Value| ["dtype", "shape"].iter().all(|key| tensor.get(key).is_some());
    if !tensors.values().all(has_both) {
        return Some("a tensor lacks dtype or shape".to_owned());
    }
    match table.get("metadata") {
        None | Some(Value::Object(_) | Value::Null) => None,
        Some(_) => Some("\"metadata\" is neither an object nor null".to_owned()),
    }
}

/// Finds the first `error[code]`, and the byte in the `at byte N` after it.
fn error_line(words: &str) -> Option<(&str, Option<u64>)> {
    let mut starts = words.match_indices("error[");
    let (code, after) = starts.find_map(|(at, mark)| code_at(&words[at + mark.len()..]))?;
    let offset = after.strip_prefix(" at byte ").map(|rest| {
        let len = rest.bytes().take_while(u8::is_ascii_digit).count();
        rest[..len].parse().ok().filter(|_| len <= LONGEST_OFFSET)
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

    fn answer(end: End, out: impl Into<Vec<u8>>, err: &str) -> Answer {
        Answer::of_process(&Output { end, stdout: out.into(), stderr: err.into() })
    }

    #[test]
    fn the_first_error_line_counts() {
        for (words, expected) in [
            ("x: error[json.end] at byte 12: text", Some(("json.end", Some(12)))),
            ("error[a] at byte x", Some(("a", None))),
            ("error[a] at byte 99999999999999999999", Some(("a", None))),
            ("error[a] at byte 00000000000000000012", Some(("a", Some(12)))),
            ("error[a] at byte 000000000000000000012", Some(("a", None))),
            ("error[a] at byte 12\u{663}", Some(("a", Some(12)))),
            ("error[a] at byte \u{663}", Some(("a", None))),
            ("error[a b] error[] error[c]", Some(("c", None))),
            ("error[a", None),
            ("Error: bad", None),
        ] {
            assert_eq!(error_line(words), expected, "{words}");
        }
    }

    #[test]
    fn exit_code_0_accepts_whatever_is_printed() {
        for good in [
            r#"{"tensors":{"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]}},"metadata":null}"#,
            r#"{"tensors":{"a":{"dtype":"U8","shape":[]}}}"#,
        ] {
            let said = answer(End::Code(0), good, "");
            assert!(said.outcome == Outcome::Accept && said.table.is_some(), "{good}");
        }
        let in_tensor = |members: &str| format!(r#"{{"tensors":{{"a":{{{members}}}}}}}"#).into_bytes();
        for (bad, why) in [
            (Vec::from(" \n"), "standard output is empty"),
            (b"{\"\xff\":1}".into(), "standard output is not UTF-8: {\"\u{fffd}\":1}"),
            ("hello {".into(), "standard output is not one JSON object: hello {"),
            ("[]".into(), "standard output is not one JSON object: []"),
            (r#"{"\ud800":1}"#.into(), r#"standard output is not one JSON object: {"\ud800":1}"#),
            ("{}".into(), "\"tensors\" is not an object"),
            (in_tensor(r#""dtype":"U8""#), "a tensor lacks dtype or shape"),
            (in_tensor(r#""shape":[]"#), "a tensor lacks dtype or shape"),
            (r#"{"tensors":{},"metadata":1}"#.into(), "\"metadata\" is neither an object nor null"),
        ] {
            let said = answer(End::Code(0), bad, "");
            assert_eq!((said.outcome, said.text.as_str()), (Outcome::Accept, why));
            assert!(said.table.is_none());
        }
    }

    #[test]
    fn exit_code_1_rejects_unless_an_exception_is_uncaught() {
        let rejected = answer(End::Code(1), "error[b] at byte 2", "error[a] at byte 1\n");
        assert_eq!(
            (rejected.outcome, rejected.code.as_deref(), rejected.at),
            (Outcome::Reject, Some("a"), Some(1))
        );
        for (words, line) in [
            ("=====\n==1==ERROR: AddressSanitizer: heap-use\n #0", "==1==ERROR: AddressSanitizer: heap-use"),
            ("a.c:1:2: runtime error: overflow", "a.c:1:2: runtime error: overflow"),
            ("Traceback (most recent call last):\n  File\nKeyError: 'a'\n", "KeyError: 'a'"),
            ("/a.js:3\n  throw\n\nNode.js v20.1.0", "/a.js:3"),
            ("Exception in thread \"main\" java.lang.Error", "Exception in thread \"main\" java.lang.Error"),
        ] {
            let said = answer(End::Code(1), "", words);
            assert_eq!((said.outcome, said.text), (Outcome::Crash, format!("exit code 1 {line}")));
        }
    }

    #[test]
    fn every_other_end_is_told_apart() {
        assert_eq!(answer(End::Code(101), "", "\npanicked\r\n  at x.go\n").text, "exit code 101 panicked");
        assert_eq!(answer(End::Signal(11), "", "").text, "signal 11");
        let long = answer(End::Code(3), "", &"é".repeat(500));
        assert_eq!((long.outcome, long.text), (Outcome::Crash, format!("exit code 3 {}", "é".repeat(200))));
        let said = [End::TimedOut(5), End::Flooded(9)].map(|end| answer(end, "", ""));
        assert_eq!(said.each_ref().map(|said| said.outcome), [Outcome::Hang, Outcome::BadOutput]);
        assert_eq!(said.map(|said| said.text), ["no answer in 5 seconds", "more than 9 bytes of output"]);
    }

    #[test]
    fn a_line_of_a_batch_is_an_answer() {
        let said = |line: &str| Answer::of_line(line.as_bytes(), "/a");
        let tensors = r#"{"tensors":{"a":{"dtype":"U8","shape":[]}},"file":"/a"}"#;
        assert!(said(tensors).table.is_some());
        let rejected = said(r#"{"error":"error[a.b] at byte 7","file":"/a"}"#);
        assert_eq!((rejected.outcome, rejected.at), (Outcome::Reject, Some(7)));
        let form = said(r#"{"tensors":[]}"#);
        assert_eq!((form.outcome, form.text.as_str()), (Outcome::Accept, "\"tensors\" is not an object"));
        for (text, kept) in [
            (r"\ud800", "\u{fffd}"),
            (r"\uDC00\ud83d\udE00\uD800\ud800a", "\u{fffd}\u{1f600}\u{fffd}\u{fffd}a"),
            (r"\\ud800 \ud800\u0041\\", "\\ud800 \u{fffd}A\\"),
        ] {
            let rejected = said(&format!(r#"{{"error":"{text}"}}"#));
            assert_eq!((rejected.outcome, rejected.text.as_str()), (Outcome::Reject, kept));
        }
        let half = said(r#"{"tensors":{"\ud800":{}}}"#);
        assert_eq!((half.outcome, half.table), (Outcome::Accept, None));
        for (line, why) in [
            ("", "the line is empty"),
            (r#"{"error":"","more":1e400}"#, r#"the line is not one JSON object: {"error":"","more":1e400}"#),
            ("Loading", "the line is not one JSON object: Loading"),
            ("{}", "the line has not one of \"tensors\" and \"error\": {}"),
            (r#"{"error":1}"#, "\"error\" is not a string"),
            (
                r#"{"error":"","file":"/b"}"#,
                r#""file" is not the one that was asked: {"error":"","file":"/b"}"#,
            ),
        ] {
            let bad = said(line);
            assert_eq!((bad.outcome, bad.text.as_str()), (Outcome::BadOutput, why));
        }
    }
}
