//! A small language for files that are too large to be stored.

use serde_json::{Value, json};

/// How to make a file.
#[derive(Clone, Copy)]
pub struct Recipe {
    /// The header, piece by piece.
    pub header: &'static [Part],
    /// The data, piece by piece.
    pub data: &'static [Part],
    /// The claimed header length, if it is not the true one.
    pub length: Option<u64>,
}

/// One piece of a file.
#[derive(Clone, Copy)]
pub enum Part {
    /// This text.
    Text(&'static str),
    /// These bytes.
    Hex(&'static [u8]),
    /// The text `count` times, with `join` between, and `${i}`, `${i*K}` and `${i*K+C}` replaced by their
    /// decimal values.
    Repeat {
        /// How many times.
        count: u64,
        /// With placeholders.
        text: &'static str,
        /// Between two of them.
        join: &'static str,
    },
    /// This many zero bytes.
    Zeros(u64),
}

/// Returns the text this many times.
pub const fn times(count: u64, text: &'static str) -> Part {
    Part::Repeat { count, text, join: "" }
}

/// Returns the text this many times, with commas between.
pub const fn list(count: u64, text: &'static str) -> Part {
    Part::Repeat { count, text, join: "," }
}

impl Part {
    /// Appends the bytes of the piece, as every reader of the manifest makes them. The caller handles markers
    /// in the text.
    pub fn append(&self, out: &mut Vec<u8>) {
        let part: vectors::recipe::Part =
            serde_json::from_value(self.to_json()).expect("a piece of a recipe");
        part.append(out).expect("a valid piece");
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
    /// Returns the recipe in the form of the manifest.
    pub fn to_json(self) -> Value {
        let parts = |parts: &[Part]| parts.iter().map(|part| part.to_json()).collect::<Vec<_>>();
        let mut recipe = json!({ "header": parts(self.header), "data": parts(self.data) });
        if let Some(length) = self.length {
            recipe["length"] = json!(length.to_string());
        }
        recipe
    }
}
