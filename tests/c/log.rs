//! The log of the C programs.

/// What `sft_…` says of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Ok,
    Error { status: u8, code: String, at: u64 },
}

impl Verdict {
    fn parse(words: &[&str]) -> Option<Self> {
        match words {
            ["ok"] => Some(Self::Ok),
            ["error", status, code, at] => Some(Self::Error {
                status: status.parse().ok()?,
                code: (*code).to_owned(),
                at: at.parse().ok()?,
            }),
            _ => None,
        }
    }

    /// Returns the code of an error.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Ok => None,
            Self::Error { code, .. } => Some(code),
        }
    }
}

/// A tensor as it was printed.
#[derive(Debug, PartialEq, Eq)]
pub struct Tensor {
    pub name: Vec<u8>,
    pub dtype: String,
    pub shape: Vec<u64>,
    pub offset: u64,
    pub bytes: u64,
    pub elements: u64,
}

impl Tensor {
    fn parse(words: &[&str]) -> Option<Self> {
        let [name, dtype, rank, numbers @ ..] = words else { return None };
        let numbers: Vec<u64> = numbers.iter().map(|word| word.parse().ok()).collect::<Option<_>>()?;
        let [shape @ .., offset, bytes, elements] = &numbers[..] else { return None };
        (rank.parse() == Ok(shape.len())).then_some(Self {
            name: bytes_of(name)?,
            dtype: (*dtype).to_owned(),
            shape: shape.to_vec(),
            offset: *offset,
            bytes: *bytes,
            elements: *elements,
        })
    }
}

/// A value of the metadata.
#[derive(Debug, PartialEq, Eq)]
pub enum Value {
    Missing,
    /// It contains U+0000, at which a string of C would end.
    HasNul,
    Text(Vec<u8>),
}

impl Value {
    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "?" => Self::Missing,
            "!" => Self::HasNul,
            digits => Self::Text(bytes_of(digits)?),
        })
    }
}

/// All that was printed of a vector.
#[derive(Debug, Default)]
pub struct Judged {
    pub id: String,
    pub open: Option<Verdict>,
    pub slots: Option<Verdict>,
    pub names: Option<Verdict>,
    pub listed: Option<Verdict>,
    pub find: Option<Verdict>,
    pub pushed: Option<Verdict>,
    pub tensors: Vec<Tensor>,
    /// The sums of tensors, by their numbers.
    pub bytes: Vec<u32>,
    pub target: Option<u32>,
    /// Keys and values.
    pub values: Vec<(Vec<u8>, Value)>,
}

/// Reads the vectors of a log. Other lines are left out, such as those of a board.
///
/// # Errors
/// A line of a vector is wrong.
pub fn parse(text: &str) -> Result<Vec<Judged>, String> {
    let mut all: Vec<Judged> = Vec::new();
    for line in text.lines() {
        if let Some(id) = line.strip_prefix("vector ") {
            all.push(Judged { id: id.to_owned(), ..Judged::default() });
        } else if let (Some(line), Some(last)) = (line.strip_prefix(' '), all.last_mut()) {
            last.add(line).ok_or_else(|| format!("{}: wrong line {line:?}", last.id))?;
        }
    }
    Ok(all)
}

impl Judged {
    fn add(&mut self, line: &str) -> Option<()> {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["tensor", ref rest @ ..] => self.tensors.push(Tensor::parse(rest)?),
            ["bytes", number, sum] if number.parse() == Ok(self.bytes.len()) => {
                self.bytes.push(sum.parse().ok()?);
            }
            ["target", sum] => self.target = Some(sum.parse().ok()?),
            ["value", key, value] => self.values.push((bytes_of(key)?, Value::parse(value)?)),
            [which, ref rest @ ..] => *self.verdict_of(which)? = Some(Verdict::parse(rest)?),
            [] => return None,
        }
        Some(())
    }

    fn verdict_of(&mut self, which: &str) -> Option<&mut Option<Verdict>> {
        Some(match which {
            "open" => &mut self.open,
            "slots" => &mut self.slots,
            "names" => &mut self.names,
            "listed" => &mut self.listed,
            "find" => &mut self.find,
            "pushed" => &mut self.pushed,
            _ => return None,
        })
    }
}

/// Returns the bytes of hexadecimal digits.
fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    if digits == "-" {
        return Some(Vec::new());
    }
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}
