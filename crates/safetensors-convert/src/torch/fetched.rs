//! Finds which items of the memo are fetched, so that no others are kept.

use crate::error::beyond_limit;
use crate::pickle::{Argument, Opcode, Opcodes};
use std::io::{self, Read};

/// The largest index in the memo: far more than two million tensors have.
const LARGEST: usize = 1 << 26;

/// A set of indices of the memo.
#[derive(Debug, Default)]
pub(super) struct Indices {
    bits: Vec<u64>,
    count: usize,
    storages: usize,
}

impl Indices {
    /// Returns the indices that a pickle fetches, and leaves the opcodes after it.
    pub fn fetched<R: Read>(opcodes: &mut Opcodes<R>) -> io::Result<Self> {
        let mut fetched = Self::default();
        for op in opcodes {
            let op = op?;
            fetched.storages += usize::from(op.code == Opcode::BinPersId);
            if let (Opcode::Get | Opcode::BinGet | Opcode::LongBinGet, Argument::Int(index)) =
                (op.code, op.argument)
            {
                fetched.insert(index)?;
            }
        }
        Ok(fetched)
    }

    /// Adds an index.
    pub fn insert(&mut self, index: i128) -> io::Result<()> {
        let Some(index) = usize::try_from(index).ok().filter(|index| *index < LARGEST) else {
            return Err(beyond_limit(format!("item {index} of the pickle's memo is beyond {LARGEST}")));
        };
        let (word, bit) = (index / 64, 1 << (index % 64));
        if self.bits.len() <= word {
            self.bits.resize(word + 1, 0);
        }
        if let Some(bits) = self.bits.get_mut(word) {
            self.count += usize::from(*bits & bit == 0);
            *bits |= bit;
        }
        Ok(())
    }

    pub fn contains(&self, index: i128) -> bool {
        let Ok(index) = usize::try_from(index) else { return false };
        self.bits.get(index / 64).is_some_and(|bits| bits >> (index % 64) & 1 == 1)
    }

    /// Returns how often the pickle names a storage, which usually is the number of its tensors.
    pub fn storages(&self) -> usize {
        self.storages
    }

    /// Returns the number of indices.
    pub fn count(&self) -> usize {
        self.count
    }
}
