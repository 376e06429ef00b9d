//! Recipes for files that are too large to be committed.

use crate::manifest::MOST_IN_MEMORY;
use serde::Deserialize;

/// The recipe of a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    header: Vec<Part>,
    data: Vec<Part>,
    /// The header length to write if it is not the true one, in decimal, because it may need all 64 bits.
    length: Option<String>,
}

/// A piece of a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// This text.
    Text(String),
    /// These bytes, in hexadecimal.
    Hex(String),
    /// This many zero bytes.
    Zeros(u64),
    /// A text, repeated.
    Repeat(Repeat),
}

/// A text this many times, with `join` in between.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    count: u64,
    text: String,
    #[serde(default)]
    join: String,
}

impl Recipe {
    /// Returns the bytes of the file, at most `len`.
    ///
    /// # Errors
    /// The recipe is invalid, or makes more than [`MOST_IN_MEMORY`]; a sentence says why.
    pub fn expand(&self, len: u64) -> Result<Vec<u8>, String> {
        if len > MOST_IN_MEMORY as u64 {
            return Err(format!("it has {len} bytes, and at most {MOST_IN_MEMORY} are made in memory"));
        }
        self.make(&self.data, usize::try_from(len).unwrap_or(usize::MAX))
    }

    /// Returns the bytes before the zeros at the end of the file, and the number of these zeros. So a file of
    /// any length can be made where zeros take no space.
    ///
    /// # Errors
    /// The recipe is invalid, or there are more than [`MOST_IN_MEMORY`] bytes before the zeros.
    pub fn without_zeros(&self) -> Result<(Vec<u8>, u64), String> {
        let (data, zeros) = match self.data.split_last() {
            Some((Part::Zeros(count), data)) => (data, *count),
            _ => (self.data.as_slice(), 0),
        };
        Ok((self.make(data, MOST_IN_MEMORY)?, zeros))
    }

    fn make(&self, data: &[Part], limit: usize) -> Result<Vec<u8>, String> {
        let mut file = Limited { bytes: Vec::new(), limit };
        file.append(&[0; 8])?;
        self.header.iter().try_for_each(|part| part.append(&mut file))?;
        let length = match &self.length {
            Some(claimed) => decimal(claimed)?,
            None => file.bytes.len() as u64 - 8,
        };
        file.bytes[..8].copy_from_slice(&length.to_le_bytes());
        data.iter().try_for_each(|part| part.append(&mut file))?;
        Ok(file.bytes)
    }
}

/// A file that cannot grow beyond its limit, so that a damaged recipe cannot exhaust memory.
struct Limited {
    bytes: Vec<u8>,
    limit: usize,
}

impl Limited {
    fn append(&mut self, piece: &[u8]) -> Result<(), String> {
        self.check_limit(piece.len())?;
        self.bytes.extend_from_slice(piece);
        Ok(())
    }

    fn check_limit(&self, more: usize) -> Result<(), String> {
        if more > self.limit.saturating_sub(self.bytes.len()) {
            return Err(format!("its recipe makes more than the {} bytes that it has", self.limit));
        }
        Ok(())
    }

    fn append_zeros(&mut self, count: u64) -> Result<(), String> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        self.check_limit(count)?;
        self.bytes.resize(self.bytes.len() + count, 0);
        Ok(())
    }

    fn append_repeated(&mut self, piece: &[u8], count: u64) -> Result<(), String> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        self.check_limit(piece.len().saturating_mul(count))?;
        self.bytes.extend_from_slice(&piece.repeat(count));
        Ok(())
    }
}

impl Part {
    /// Returns the bytes of this piece.
    ///
    /// # Errors
    /// The piece is invalid; a sentence says why.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        let mut file = Limited { bytes: Vec::new(), limit: usize::MAX };
        self.append(&mut file)?;
        Ok(file.bytes)
    }

    fn append(&self, file: &mut Limited) -> Result<(), String> {
        match self {
            Self::Text(text) => file.append(text.as_bytes()),
            Self::Zeros(count) => file.append_zeros(*count),
            Self::Hex(digits) => {
                let bytes = from_hex(digits);
                file.append(&bytes.ok_or_else(|| format!("{digits:?} in its recipe is not hexadecimal"))?)
            }
            Self::Repeat(repeat) => repeat.append(file),
        }
    }
}

impl Repeat {
    fn append(&self, file: &mut Limited) -> Result<(), String> {
        if self.text.is_empty() && self.join.is_empty() {
            return Ok(());
        }
        if self.join.is_empty() && !self.text.contains("${") {
            return file.append_repeated(self.text.as_bytes(), self.count);
        }
        for i in 0..self.count {
            if i > 0 {
                file.append(self.join.as_bytes())?;
            }
            fill(file, &self.text, i)?;
        }
        Ok(())
    }
}

/// Appends the text with `${i}`, `${i*K}` and `${i*K+C}` replaced by their decimal values.
fn fill(file: &mut Limited, text: &str, i: u64) -> Result<(), String> {
    let mut rest = text;
    while let Some((before, formula)) = rest.split_once("${") {
        let (formula, after) = formula.split_once('}').ok_or("a placeholder of its recipe does not end")?;
        file.append(before.as_bytes())?;
        file.append(evaluate(formula, i)?.to_string().as_bytes())?;
        rest = after;
    }
    file.append(rest.as_bytes())
}

fn evaluate(formula: &str, i: u64) -> Result<u64, String> {
    let terms = formula.strip_prefix('i').ok_or("a formula of its recipe does not begin with i")?;
    let (factor, summand) = terms.split_once('+').unwrap_or((terms, "0"));
    let factor = if factor.is_empty() { Some("1") } else { factor.strip_prefix('*') };
    let factor = decimal(factor.ok_or_else(|| format!("{formula:?} is no formula of a recipe"))?)?;
    let value =
        factor.checked_mul(i).zip(decimal(summand).ok()).and_then(|(product, c)| product.checked_add(c));
    value.ok_or_else(|| format!("{formula:?} of its recipe is no number of 64 bits"))
}

fn decimal(digits: &str) -> Result<u64, String> {
    let number = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok());
    number.flatten().ok_or_else(|| format!("{digits:?} in its recipe is not a decimal number"))
}

/// Returns the bytes of hexadecimal digits, if they are such.
pub fn from_hex(digits: &str) -> Option<Vec<u8>> {
    // The standard library accepts a sign as part of a number.
    let is_plain = |two: &&str| two.bytes().all(|digit| digit.is_ascii_hexdigit());
    let pair =
        |at: usize| digits.get(at..at + 2).filter(is_plain).and_then(|two| u8::from_str_radix(two, 16).ok());
    (0..digits.len()).step_by(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::Recipe;

    fn expand(recipe: &str, len: u64) -> Result<Vec<u8>, String> {
        serde_json::from_str::<Recipe>(recipe).expect("a recipe").expand(len)
    }

    #[test]
    fn example_of_the_readme_expands() {
        let recipe = concat!(
            r#"{"header":[{"text":"{"},"#,
            r#"{"repeat":{"count":2,"join":",","text":"\"t${i}\":[${i*8},${i*8+8}]"}},{"text":"}"}],"#,
            r#""data":[{"zeros":16},{"hex":"00ff"}]}"#
        );
        let file = expand(recipe, 50).expect("a file");
        assert_eq!(&file[..8], &24u64.to_le_bytes());
        assert_eq!(&file[8..32], br#"{"t0":[0,8],"t1":[8,16]}"#);
        assert_eq!(&file[32..], [[0; 16].as_slice(), &[0, 255]].concat());
    }

    #[test]
    fn invalid_recipes_are_rejected_before_they_exhaust_memory() {
        for (part, reason) in [
            (r#"{"zeros":18446744073709551615}"#, "more than the 100 bytes"),
            (r#"{"repeat":{"count":18446744073709551615,"text":"abc"}}"#, "more than the 100 bytes"),
            (r#"{"repeat":{"count":18446744073709551615,"text":"${i}"}}"#, "more than the 100 bytes"),
            (r#"{"repeat":{"count":2,"text":"${i"}}"#, "does not end"),
            (r#"{"repeat":{"count":2,"text":"${j}"}}"#, "does not begin with i"),
            (r#"{"repeat":{"count":2,"text":"${i*x}"}}"#, "not a decimal number"),
            (r#"{"repeat":{"count":2,"text":"${i8}"}}"#, "no formula"),
            (r#"{"repeat":{"count":2,"text":"${i*1+18446744073709551615}"}}"#, "no number of 64 bits"),
            (r#"{"hex":"0"}"#, "not hexadecimal"),
            (r#"{"hex":"00+f"}"#, "not hexadecimal"),
        ] {
            let result = expand(&format!(r#"{{"header":[{part}],"data":[]}}"#), 100);
            assert!(result.as_ref().is_err_and(|error| error.contains(reason)), "{part}: {result:?}");
        }
        assert_eq!(
            expand(r#"{"header":[{"repeat":{"count":18446744073709551615,"text":""}}],"data":[]}"#, 8),
            Ok(vec![0; 8])
        );
    }
}
