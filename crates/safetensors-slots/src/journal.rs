//! The journal: records of the whole state, one after another, in three or more sectors.
//!
//! A change is a record that is written twice; the second copy is written after the first was read back. The
//! last valid record of the highest generation counts. A write or an erasure that was cut may read
//! differently each time, so nothing may depend on how it reads:
//!
//! * A sector begins with the state before the change. When both copies were read back, the change is written
//!   behind them. So a sector with a third record is certain. Another one names its base, which is certain.
//! * Neither the last sector nor its base is erased next.
//! * A sector that begins with garbage, and has no record behind it, is erased at the start: the garbage
//!   might read as a record later.
//! * If the last record is not the second copy of a change, or anything is behind it, a change was
//!   interrupted. Then the start writes the state that it read into another sector.
//! * The first change after a start goes to another sector, too: nothing is written where a cut may have left
//!   bits that seem erased.

use super::{NorFlash, form};
use crate::error::SlotError;
use crate::state::{Change, RECORD, State};
use crate::{Page, low_u32};
use core::ops::Range;

/// In how many sectors a change is written if the flash does not keep it.
const TRIES: u32 = 4;

#[derive(Clone, Debug)]
pub(crate) struct Journal {
    /// The sector that is used.
    sector: u32,
    /// Where its next record begins.
    at: u32,
    /// How many sectors were erased so far.
    generation: u32,
    pub(crate) state: State,
    /// The number of the base that the records of the sector say.
    base: u8,
    /// Whether the sector has the state for certain.
    is_certain: bool,
}

/// The unit of reads and writes.
pub(crate) const fn unit<F: NorFlash>() -> usize {
    const {
        let (read, write, sector) = (F::READ_SIZE, F::WRITE_SIZE, F::ERASE_SIZE);
        let unit = if write > read { write } else { read };
        assert!(
            PART.is_multiple_of(read) && unit.is_multiple_of(read) && unit.is_multiple_of(write),
            "the units of the flash are not multiples of each other"
        );
        assert!(
            sector.is_power_of_two() && sector <= 1 << 28 && sector >= 4 * RECORD.next_multiple_of(unit),
            "the sectors of the flash are too short, or not a power of two"
        );
        unit
    }
}

/// Returns the length of a record in flash.
pub(crate) const fn record_len<F: NorFlash>() -> usize {
    RECORD.next_multiple_of(unit::<F>())
}

/// How many bytes are compared at once.
const PART: usize = 64;

/// Writes whole units. Returns whether the flash keeps them.
#[form]
pub(crate) async fn write<F: NorFlash>(flash: &mut F, mut at: u32, bytes: &[u8]) -> Result<bool, F::Error> {
    flash.write(at, bytes).await?;
    let mut part = Page([0; PART]);
    for written in bytes.chunks(PART) {
        let read = part.0.get_mut(..written.len()).unwrap_or_default();
        flash.read(at, read).await?;
        if read.iter().ne(written) {
            return Ok(false);
        }
        at = at.wrapping_add(low_u32(PART));
    }
    Ok(true)
}

/// Returns the address after so many records, or that of the next sector.
const fn after<F: NorFlash>(at: u32, records: u32) -> u32 {
    at.wrapping_add(low_u32(record_len::<F>()).wrapping_mul(records))
}

const fn sector_end<F: NorFlash>(sector: u32) -> u32 {
    sector.wrapping_add(low_u32(F::ERASE_SIZE))
}

/// Returns the sector after this one, in a circle.
fn following<F: NorFlash>(range: &Range<u32>, sector: u32) -> u32 {
    let next = sector_end::<F>(sector);
    if next < range.end { next } else { range.start }
}

/// Returns the number of a sector, from 1 on.
fn sector_number<F: NorFlash>(range: &Range<u32>, sector: u32) -> u8 {
    let sectors = sector.wrapping_sub(range.start) / low_u32(F::ERASE_SIZE);
    sectors.to_le_bytes()[0].wrapping_add(1)
}

#[form]
impl Journal {
    pub(crate) const fn new() -> Self {
        Self { sector: 0, at: 0, generation: 0, state: State::EMPTY, base: 0, is_certain: false }
    }

    /// Reads the state. Returns whether it is certain that it reads the same next time; else a change must be
    /// written, possibly none. `record` has the length of a record.
    pub(crate) async fn read<F: NorFlash>(
        &mut self,
        flash: &mut F,
        range: &Range<u32>,
        record: &mut [u8],
    ) -> Result<bool, F::Error> {
        self.sector = range.end.wrapping_sub(low_u32(F::ERASE_SIZE));
        (self.at, self.generation, self.state, self.is_certain) = (range.end, 0, State::EMPTY, false);
        let (mut is_settled, mut at, mut is_garbage) = (true, range.start, false);
        while at < range.end {
            flash.read(at, record).await?;
            let sector = at - at % low_u32(F::ERASE_SIZE);
            let is_last = sector == self.sector && self.generation > 0;
            let (copy, generation) = (State::is_at(record), State::generation_at(record));
            let is_erased = record.iter().all(|byte| *byte == 0xFF);
            if let Some(is_second) =
                copy.filter(|_| generation > self.generation || is_last && generation == self.generation)
            {
                self.state.read(record);
                (self.sector, self.generation) = (sector, generation);
                (is_settled, self.is_certain) = (is_second && at >= after::<F>(sector, 3), false);
            } else if is_last && !is_erased {
                is_settled = false;
            }
            self.is_certain |= sector == self.sector && !is_erased && at >= after::<F>(sector, 2);
            is_garbage = copy.is_none() && if at == sector { !is_erased } else { is_garbage };
            let (next, end) = (after::<F>(at, 1), sector_end::<F>(sector));
            at = if after::<F>(next, 1) > end { end } else { next };
            if at == end && is_garbage {
                flash.erase(sector, end).await?;
            }
        }
        self.base = self.state.base();
        Ok(is_settled)
    }

    /// Changes the state.
    pub(crate) async fn write<F: NorFlash>(
        &mut self,
        flash: &mut F,
        range: &Range<u32>,
        change: &Change<'_>,
        record: &mut [u8],
    ) -> Result<(), SlotError<F::Error>> {
        for _ in 0..TRIES {
            let records = if self.is_certain { 2 } else { 4 };
            let is_full = after::<F>(self.at, records) > sector_end::<F>(self.sector);
            if is_full {
                self.turn(flash, range).await?;
            }
            self.is_certain = self.is_certain || self.append(flash, &Change::None, record).await?;
            if self.is_certain && self.append(flash, change, record).await? {
                self.state.change(change);
                return Ok(());
            }
            self.at = sector_end::<F>(self.sector);
        }
        Err(SlotError::NotWritten(self.sector))
    }

    /// Erases the next sector that is not the base.
    async fn turn<F: NorFlash>(
        &mut self,
        flash: &mut F,
        range: &Range<u32>,
    ) -> Result<(), SlotError<F::Error>> {
        let next = following::<F>(range, self.sector);
        let is_base = sector_number::<F>(range, next) == self.base;
        let next = if is_base { following::<F>(range, next) } else { next };
        if self.is_certain {
            self.base = sector_number::<F>(range, self.sector);
        }
        flash.erase(next, sector_end::<F>(next)).await.map_err(SlotError::Flash)?;
        (self.sector, self.at, self.is_certain) = (next, next, false);
        self.generation = self.generation.wrapping_add(1);
        Ok(())
    }

    /// Writes both records of a change. Returns whether the flash keeps them.
    async fn append<F: NorFlash>(
        &mut self,
        flash: &mut F,
        change: &Change<'_>,
        record: &mut [u8],
    ) -> Result<bool, SlotError<F::Error>> {
        for is_second in [false, true] {
            let at = self.at;
            self.at = after::<F>(at, 1);
            self.state.write(change, self.base, self.generation, is_second, record);
            if !write(flash, at, record).await.map_err(SlotError::Flash)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
