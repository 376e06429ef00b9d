//! Files too large to be kept: a small language in which they are written down.

use serde_json::{Value, json};

/// How to make a file.
#[derive(Clone, Copy)]
pub struct Recipe {
    /// The header, piece by piece.
    pub header: &'static [Part],
    /// The data, piece by piece.
    pub data: &'static [Part],
    /// The header length to claim when it is not the true one.
    pub length: Option<u64>,
}

/// One piece of a file.
#[derive(Clone, Copy)]
pub enum Part {
    /// This text.
    Text(&'static str),
    /// These bytes.
    Hex(&'static [u8]),
    /// The text so many times, with `join` between; see [`fill`].
    Repeat {
        /// How many times.
        count: u64,
        /// With placeholders.
        text: &'static str,
        /// Between two of them.
        join: &'static str,
    },
    /// So many zero bytes.
    Zeros(u64),
}

/// The text so many times.
pub const fn times(count: u64, text: &'static str) -> Part {
    Part::Repeat { count, text, join: "" }
}

/// The text so many times, with commas between.
pub const fn list(count: u64, text: &'static str) -> Part {
    Part::Repeat { count, text, join: "," }
}

impl Part {
    /// Appends the bytes of the piece. Of a text that holds the marker the caller takes care.
    pub fn append(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Text(text) => out.extend_from_slice(text.as_bytes()),
            Self::Hex(bytes) => out.extend_from_slice(bytes),
            Self::Zeros(count) => out.resize(out.len() + size(count), 0),
            Self::Repeat { count, text, join } => repeat(out, count, text, join),
        }
    }

    fn to_json(self) -> Value {
        match self {
            Self::Text(text) => json!({ "text": text.replace('¦', "") }),
            Self::Hex(bytes) => json!({ "hex": crate::hex(bytes) }),
            Self::Zeros(count) => json!({ "zeros": count }),
            Self::Repeat { count, text, join: "" } => {
                json!({ "repeat": { "count": count, "text": text } })
            }
            Self::Repeat { count, text, join } => {
                json!({ "repeat": { "count": count, "join": join, "text": text } })
            }
        }
    }
}

impl Recipe {
    /// The recipe as it stands in the manifest.
    pub fn to_json(self) -> Value {
        let parts = |parts: &[Part]| parts.iter().map(|part| part.to_json()).collect::<Vec<_>>();
        let mut recipe = json!({ "header": parts(self.header), "data": parts(self.data) });
        if let Some(length) = self.length {
            recipe["length"] = json!(length.to_string());
        }
        recipe
    }
}

fn repeat(out: &mut Vec<u8>, count: u64, text: &str, join: &str) {
    for i in 0..count {
        if i > 0 {
            out.extend_from_slice(join.as_bytes());
        }
        fill(out, text, i);
    }
}

/// The text with `${i}`, `${i*K}` and `${i*K+C}` replaced by their decimal values.
fn fill(out: &mut Vec<u8>, text: &str, i: u64) {
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        let (formula, after) = behind.split_once('}').expect("a placeholder ends with a brace");
        out.extend_from_slice(before.as_bytes());
        out.extend_from_slice(evaluate(formula, i).to_string().as_bytes());
        rest = after;
    }
    out.extend_from_slice(rest.as_bytes());
}

fn evaluate(formula: &str, i: u64) -> u64 {
    let terms = formula.strip_prefix('i').expect("a formula begins with i");
    let (factor, summand) = terms.split_once('+').unwrap_or((terms, "0"));
    let factor = factor.strip_prefix('*').unwrap_or("1");
    number(factor) * i + number(summand)
}

fn number(text: &str) -> u64 {
    text.parse().expect("a formula holds decimal numbers")
}

fn size(count: u64) -> usize {
    usize::try_from(count).expect("the generator runs on a 64-bit machine")
}
