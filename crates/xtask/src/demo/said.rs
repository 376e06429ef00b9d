//! What a board says, line by line, understood.

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub enum Said {
    Board,
    Model {
        name: String,
        bytes: u64,
        tensors: u64,
        times_ram: String,
    },
    Digit {
        number: u64,
        label: u64,
        guess: u64,
    },
    Score {
        right: u64,
        of: u64,
    },
    Storage {
        bytes: u64,
        reads: u64,
    },
    Recorded {
        bytes: u64,
    },
    Ram {
        used: u64,
        statics: u64,
        stack: u64,
    },
    /// Something that is shown as it came.
    Other(String),
}

impl Said {
    pub fn of(line: &str) -> Self {
        Self::understood(line).unwrap_or_else(|| Self::Other(line.to_owned()))
    }

    fn understood(line: &str) -> Option<Self> {
        let (kind, rest) = line.split_once(' ')?;
        let number = |index| rest.split(' ').nth(index)?.trim_end_matches([',', ':']).parse().ok();
        Some(match kind {
            "board:" => Self::Board,
            "model:" => model(rest)?,
            "digit" => Self::Digit { number: number(0)?, label: number(2)?, guess: number(5)? },
            "score:" => Self::Score { right: number(0)?, of: number(2)? },
            "storage:" => Self::Storage { bytes: number(0)?, reads: number(3)? },
            "recorded:" => Self::Recorded { bytes: number(0)? },
            "RAM:" => Self::Ram { used: number(0)?, statics: number(4)?, stack: number(7)? },
            _ => return None,
        })
    }
}

/// The name may have commas and spaces in it.
fn model(text: &str) -> Option<Said> {
    let (text, times_ram) = text.strip_suffix(" times the RAM")?.rsplit_once(", ")?;
    let (text, tensors) = text.strip_suffix(" tensors")?.rsplit_once(", ")?;
    let (name, bytes) = text.strip_suffix(" bytes")?.rsplit_once(", ")?;
    let (bytes, tensors) = (bytes.parse().ok()?, tensors.parse().ok()?);
    Some(Said::Model { name: name.to_owned(), bytes, tensors, times_ram: times_ram.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_understood() {
        let name = "A, B.ST".to_owned();
        let model = Said::Model { name, bytes: 702_928, tensors: 8, times_ram: "10.7".to_owned() };
        assert_eq!(Said::of("model: A, B.ST, 702928 bytes, 8 tensors, 10.7 times the RAM"), model);
        assert_eq!(
            Said::of("digit 12: a 6, read as 8, logits c1a2b3c4 00000000"),
            Said::Digit { number: 12, label: 6, guess: 8 }
        );
        assert_eq!(Said::of("score: 63 of 64 digits read right"), Said::Score { right: 63, of: 64 });
        assert_eq!(
            Said::of("storage: 45035520 bytes in 51264 reads"),
            Said::Storage { bytes: 45_035_520, reads: 51_264 }
        );
        assert_eq!(
            Said::of("RAM: 6012 of 8192 bytes, 28 static and 5984 of stack"),
            Said::Ram { used: 6012, statics: 28, stack: 5984 }
        );
        let recorded = "recorded: 310048 bytes, 64 guesses and 1210 activations for each";
        assert_eq!(Said::of(recorded), Said::Recorded { bytes: 310_048 });
        let error = "error at byte 0: there is no model, for the storage is erased";
        assert_eq!(Said::of(error), Said::Other(error.to_owned()));
        assert_eq!(Said::of("digit twelve: "), Said::Other("digit twelve: ".to_owned()));
    }
}
