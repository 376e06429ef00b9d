//! Models that are split into several files, as llama.cpp splits them.

use super::input::Place;
use std::io;

/// The keys of a file's number, of the number of files, and of that of the tensors in all of them.
const KEYS: [&str; 3] = ["split.no", "split.count", "split.tensors.count"];

/// The place of a file among those of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// The number of the file, from 0.
    pub number: u64,
    /// The number of files, at least 2.
    pub count: u64,
    /// The number of tensors in all files, if the file has it.
    pub tensors: Option<u64>,
}

/// The values of these keys.
#[derive(Default)]
pub struct Values([Option<u64>; 3]);

impl Values {
    /// Whether a key is one of them.
    pub fn have(key: &str) -> bool {
        KEYS.contains(&key)
    }

    /// Stores the value of one of them, which has this text.
    pub fn set(&mut self, key: &str, text: &str) -> io::Result<()> {
        let invalid = |reason: &str| Place::Value(key.to_owned()).unsound(reason);
        let (kind, digits) = text.split_once(':').unwrap_or_default();
        let value = digits.parse().ok().filter(|_| kind.contains("int"));
        let value = value.ok_or_else(|| invalid("it is not a positive integer"))?;
        let place = self.0.iter_mut().zip(KEYS).find(|(_, own)| *own == key);
        match place.and_then(|(place, _)| place.replace(value)) {
            Some(_) => Err(invalid("the key is duplicate")),
            None => Ok(()),
        }
    }

    /// Returns the place of the file; `None` if it is the only one.
    pub fn split(&self) -> io::Result<Option<Split>> {
        match self.0 {
            [Some(number), Some(count), tensors] if number < count => {
                Ok((count > 1).then_some(Split { number, count, tensors }))
            }
            [_, Some(count @ 1..), _] => {
                let reason = format!("it is not the number of one of {count} files");
                Err(Place::Value(KEYS[0].to_owned()).unsound(reason))
            }
            _ => Ok(None),
        }
    }
}
