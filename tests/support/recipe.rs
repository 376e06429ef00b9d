//! Files too large to be kept: the manifest says how to make them.

use serde::Deserialize;

/// How to make a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    header: Vec<Part>,
    data: Vec<Part>,
    /// The header length to claim when it is not the true one, in decimal: it may need all 64 bits.
    length: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Part {
    Text(String),
    Hex(String),
    Zeros(usize),
    Repeat(Repeat),
}

/// The text so many times, with `join` between.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Repeat {
    count: u64,
    text: String,
    #[serde(default)]
    join: String,
}

impl Recipe {
    /// The bytes of the file.
    ///
    /// # Errors
    /// A sentence when the recipe makes no sense.
    pub fn expand(&self, expected_len: usize) -> Result<Vec<u8>, String> {
        let mut file = Vec::with_capacity(expected_len);
        file.extend([0; 8]);
        self.header.iter().try_for_each(|part| part.append(&mut file))?;
        let length = match &self.length {
            Some(claimed) => decimal(claimed)?,
            None => file.len() as u64 - 8,
        };
        file[..8].copy_from_slice(&length.to_le_bytes());
        self.data.iter().try_for_each(|part| part.append(&mut file))?;
        Ok(file)
    }
}

impl Part {
    fn append(&self, file: &mut Vec<u8>) -> Result<(), String> {
        match self {
            Self::Text(text) => file.extend_from_slice(text.as_bytes()),
            Self::Zeros(count) => file.resize(file.len() + count, 0),
            Self::Hex(digits) => file.extend(from_hex(digits)?),
            Self::Repeat(repeat) => repeat.append(file)?,
        }
        Ok(())
    }
}

impl Repeat {
    fn append(&self, file: &mut Vec<u8>) -> Result<(), String> {
        if self.join.is_empty() && !self.text.contains("${") {
            let count = usize::try_from(self.count).map_err(|_| "a part does not fit into memory")?;
            file.extend_from_slice(self.text.repeat(count).as_bytes());
            return Ok(());
        }
        for i in 0..self.count {
            if i > 0 {
                file.extend_from_slice(self.join.as_bytes());
            }
            fill(file, &self.text, i)?;
        }
        Ok(())
    }
}

/// The text with `${i}`, `${i*K}` and `${i*K+C}` replaced by their decimal values.
fn fill(file: &mut Vec<u8>, text: &str, i: u64) -> Result<(), String> {
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        let (formula, after) = behind.split_once('}').ok_or("a placeholder does not end")?;
        file.extend_from_slice(before.as_bytes());
        file.extend_from_slice(evaluate(formula, i)?.to_string().as_bytes());
        rest = after;
    }
    file.extend_from_slice(rest.as_bytes());
    Ok(())
}

fn evaluate(formula: &str, i: u64) -> Result<u64, String> {
    let terms = formula.strip_prefix('i').ok_or("a formula does not begin with i")?;
    let (factor, summand) = terms.split_once('+').unwrap_or((terms, "0"));
    let factor = factor.strip_prefix('*').unwrap_or("1");
    Ok(decimal(factor)? * i + decimal(summand)?)
}

fn decimal(digits: &str) -> Result<u64, String> {
    digits.parse().map_err(|_| format!("{digits:?} is not a decimal number"))
}

fn from_hex(digits: &str) -> Result<Vec<u8>, String> {
    let pair = |at: usize| digits.get(at..at + 2).and_then(|two| u8::from_str_radix(two, 16).ok());
    let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(pair).collect();
    bytes.ok_or_else(|| format!("{digits:?} is not hexadecimal"))
}
