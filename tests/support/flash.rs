//! NOR flash in memory that is as strict as a chip. It counts calls, and fails or loses power on demand, also
//! in the middle of a call.

use std::ops::Range;

use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashErrorKind, ReadNorFlash, check_erase, check_read, check_write,
};

use crate::mock::Fault;
use crate::random::Random;

/// Flash that is written in units of `UNIT` bytes and erased in sectors of `SECTOR` bytes.
///
/// An operation that a chip does not allow is a panic: a write to a unit that was written since it was
/// erased, and an access that is out of bounds or not aligned.
#[derive(Clone, Debug)]
pub struct Nor<const UNIT: usize, const SECTOR: usize> {
    memory: Vec<u8>,
    /// The units that were written since they were erased.
    is_written: Vec<bool>,
    calls: Vec<Call>,
    accident: Option<Accident>,
    has_power: bool,
}

/// A call that changes the flash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// A write to these addresses.
    Write(Range<u32>),
    /// An erasure of these addresses.
    Erase(Range<u32>),
}

/// An injected fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accident {
    /// The call at which it happens, counted from 0 among those that change the flash.
    pub call: usize,
    /// How much of the call is done.
    pub tear: Tear,
    /// Whether the power is gone from then on; otherwise only this call fails.
    pub cuts_power: bool,
}

/// How much of a call is done when it stops in the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tear {
    /// This many bytes of a write or sectors of an erasure: none, a part from the start, or all.
    Front(usize),
    /// This many bytes or sectors at the end.
    Back(usize),
    /// Bytes of a write, or sectors of an erasure, picked with this seed.
    Picked(u64),
    /// Bits, picked with this seed.
    TornBits(u64),
}

impl Tear {
    /// All of the call.
    pub const WHOLE: Self = Self::Front(usize::MAX);
}

impl<const UNIT: usize, const SECTOR: usize> Nor<UNIT, SECTOR> {
    /// Creates flash of `sectors` sectors with arbitrary content.
    pub fn new(sectors: usize) -> Self {
        let bytes = sectors * SECTOR;
        let memory = (0..=u8::MAX).cycle().take(bytes).collect();
        let is_written = vec![true; bytes / UNIT];
        Self { memory, is_written, calls: Vec::new(), accident: None, has_power: true }
    }

    /// Plans a fault and resets the count of calls.
    pub fn plan(&mut self, accident: Accident) {
        self.calls.clear();
        self.accident = Some(accident);
    }

    /// Restores power, removes the planned fault and resets the count of calls.
    pub fn restart(&mut self) {
        self.calls.clear();
        (self.accident, self.has_power) = (None, true);
    }

    /// Returns the calls so far.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// Returns the content of the flash.
    pub fn memory(&self) -> &[u8] {
        &self.memory
    }

    /// Records a call, and returns the fault that happens in it.
    fn admit(&mut self, call: Call) -> Result<Option<Accident>, Fault> {
        if !self.has_power {
            return Err(Fault::Broken);
        }
        let accident = self.accident.filter(|accident| accident.call == self.calls.len());
        self.calls.push(call);
        self.has_power = !accident.is_some_and(|accident| accident.cuts_power);
        Ok(accident)
    }
}

/// Returns a mix of the bits of `before` and `after`, where they differ.
fn mix_bits(random: &mut Random, before: u8, after: u8) -> u8 {
    let mask = u8::try_from(random.below(256)).expect("a byte");
    before & !mask | after & mask
}

/// Returns the bytes after a call that changes them from `before` to `after` stops early. Each block is
/// changed or not.
fn torn(tear: Tear, block: usize, before: &[u8], after: &[u8]) -> Vec<u8> {
    let mut random = Random::new(if let Tear::Picked(seed) | Tear::TornBits(seed) = tear { seed } else { 0 });
    let count = before.len().div_ceil(block);
    let blocks = before.chunks(block).zip(after.chunks(block)).enumerate();
    let left = blocks.map(|(index, (before, after))| match tear {
        Tear::Front(done) => if index < done { after } else { before }.to_vec(),
        Tear::Back(done) => if count - index <= done { after } else { before }.to_vec(),
        Tear::Picked(_) => if random.below(2) == 0 { after } else { before }.to_vec(),
        Tear::TornBits(_) => {
            before.iter().zip(after).map(|(before, after)| mix_bits(&mut random, *before, *after)).collect()
        }
    });
    left.collect::<Vec<_>>().concat()
}

fn range(from: u32, to: u32) -> Range<usize> {
    usize::try_from(from).expect("in range")..usize::try_from(to).expect("in range")
}

/// Chips whose drivers use DMA or functions in ROM need memory that is aligned to their units.
pub fn assert_aligned(memory: &[u8], unit: usize) {
    let alignment = if unit.is_power_of_two() { unit.min(16) } else { 1 };
    assert!(memory.as_ptr().addr().is_multiple_of(alignment), "memory at {:p}", memory.as_ptr());
}

fn strictly(outcome: Result<(), NorFlashErrorKind>) {
    outcome.expect("valid use of a chip");
}

impl<const UNIT: usize, const SECTOR: usize> ErrorType for Nor<UNIT, SECTOR> {
    type Error = Fault;
}

impl<const UNIT: usize, const SECTOR: usize> ReadNorFlash for Nor<UNIT, SECTOR> {
    const READ_SIZE: usize = 4;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Fault> {
        strictly(check_read(self, offset, bytes.len()));
        assert_aligned(bytes, Self::READ_SIZE);
        if !self.has_power {
            return Err(Fault::Broken);
        }
        let start = usize::try_from(offset).expect("in range");
        bytes.copy_from_slice(&self.memory[start..start + bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.memory.len()
    }
}

impl<const UNIT: usize, const SECTOR: usize> NorFlash for Nor<UNIT, SECTOR> {
    const WRITE_SIZE: usize = UNIT;
    const ERASE_SIZE: usize = SECTOR;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Fault> {
        strictly(check_erase(self, from, to));
        let accident = self.admit(Call::Erase(from..to))?;
        let place = range(from, to);
        let erased = vec![0xFF; place.len()];
        let left = match accident {
            Some(accident) => torn(accident.tear, SECTOR, &self.memory[place.clone()], &erased),
            None => erased,
        };
        for (sector, units) in
            left.chunks(SECTOR).zip(self.is_written[place.start / UNIT..].chunks_mut(SECTOR / UNIT))
        {
            let is_erased = sector.iter().all(|byte| *byte == 0xFF);
            units.iter_mut().for_each(|is_written| *is_written &= !is_erased);
        }
        self.memory[place].copy_from_slice(&left);
        accident.map_or(Ok(()), |_| Err(Fault::Broken))
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Fault> {
        strictly(check_write(self, offset, bytes.len()));
        if UNIT <= 64 {
            assert_aligned(bytes, UNIT);
        }
        let end = offset + u32::try_from(bytes.len()).expect("in range");
        let accident = self.admit(Call::Write(offset..end))?;
        let place = range(offset, end);
        let units = &mut self.is_written[place.start / UNIT..place.end / UNIT];
        assert!(units.iter().all(|is_written| !is_written), "{place:?} was not erased");
        units.fill(true);
        let left = accident.map(|accident| torn(accident.tear, 1, &self.memory[place.clone()], bytes));
        self.memory[place].copy_from_slice(left.as_deref().unwrap_or(bytes));
        accident.map_or(Ok(()), |_| Err(Fault::Broken))
    }
}
