//! Recipes for files that are too large to be committed.

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
    /// Returns the bytes of the file.
    ///
    /// # Errors
    /// The recipe is invalid; a sentence says why.
    pub fn expand(&self) -> Result<Vec<u8>, String> {
        let mut file = vec![0; 8];
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
    /// Appends the bytes of this piece.
    ///
    /// # Errors
    /// The piece is invalid; a sentence says why.
    pub fn append(&self, file: &mut Vec<u8>) -> Result<(), String> {
        match self {
            Self::Text(text) => file.extend(text.as_bytes()),
            Self::Zeros(count) => file.resize(file.len() + addressable(*count)?, 0),
            Self::Hex(digits) => {
                let bytes = from_hex(digits);
                file.extend(bytes.ok_or_else(|| format!("{digits:?} in its recipe is not hexadecimal"))?);
            }
            Self::Repeat(repeat) => repeat.append(file)?,
        }
        Ok(())
    }
}

impl Repeat {
    fn append(&self, file: &mut Vec<u8>) -> Result<(), String> {
        if self.join.is_empty() && !self.text.contains("${") {
            file.extend(self.text.as_bytes().repeat(addressable(self.count)?));
            return Ok(());
        }
        for i in 0..self.count {
            if i > 0 {
                file.extend(self.join.as_bytes());
            }
            fill(file, &self.text, i)?;
        }
        Ok(())
    }
}

fn addressable(count: u64) -> Result<usize, String> {
    usize::try_from(count).map_err(|_| format!("{count} bytes of its recipe are more than memory can hold"))
}

/// Appends the text with `${i}`, `${i*K}` and `${i*K+C}` replaced by their decimal values.
fn fill(file: &mut Vec<u8>, text: &str, i: u64) -> Result<(), String> {
    let mut rest = text;
    while let Some((before, formula)) = rest.split_once("${") {
        let (formula, after) = formula.split_once('}').ok_or("a placeholder of its recipe does not end")?;
        file.extend(before.as_bytes());
        file.extend(evaluate(formula, i)?.to_string().as_bytes());
        rest = after;
    }
    file.extend(rest.as_bytes());
    Ok(())
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

    fn expand(recipe: &str) -> Result<Vec<u8>, String> {
        serde_json::from_str::<Recipe>(recipe).expect("a recipe").expand()
    }

    #[test]
    fn example_of_the_readme_expands() {
        let recipe = concat!(
            r#"{"header":[{"text":"{"},"#,
            r#"{"repeat":{"count":2,"join":",","text":"\"t${i}\":[${i*8},${i*8+8}]"}},{"text":"}"}],"#,
            r#""data":[{"zeros":16},{"hex":"00ff"}]}"#
        );
        let file = expand(recipe).expect("a file");
        assert_eq!(&file[..8], &24u64.to_le_bytes());
        assert_eq!(&file[8..32], br#"{"t0":[0,8],"t1":[8,16]}"#);
        assert_eq!(&file[32..], [[0; 16].as_slice(), &[0, 255]].concat());
    }

    #[test]
    fn invalid_recipes_are_rejected() {
        for (part, reason) in [
            (r#"{"repeat":{"count":2,"text":"${i"}}"#, "does not end"),
            (r#"{"repeat":{"count":2,"text":"${j}"}}"#, "does not begin with i"),
            (r#"{"repeat":{"count":2,"text":"${i*x}"}}"#, "not a decimal number"),
            (r#"{"repeat":{"count":2,"text":"${i8}"}}"#, "no formula"),
            (r#"{"repeat":{"count":2,"text":"${i*1+18446744073709551615}"}}"#, "no number of 64 bits"),
            (r#"{"hex":"0"}"#, "not hexadecimal"),
            (r#"{"hex":"00+f"}"#, "not hexadecimal"),
        ] {
            let result = expand(&format!(r#"{{"header":[{part}],"data":[]}}"#));
            assert!(result.as_ref().is_err_and(|error| error.contains(reason)), "{part}: {result:?}");
        }
    }
}
