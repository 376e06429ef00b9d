//! What the journal remembers, and how a record spells it.

use crate::offer::Offer;
use core::ops::Range;

/// Where everything is in the flash: the journal, and after it slots of equal lengths. It must never change
/// while there are models.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The part of the flash, from a sector's start on.
    pub region: Range<u32>,
    /// How many sectors the journal has: three or more.
    pub journal: u8,
    /// How many slots there are: two or more.
    pub slots: u8,
}

impl Layout {
    /// Returns the part of the journal, and the length of a slot.
    #[inline(never)]
    pub(crate) const fn split(&self, sector: u32) -> (Range<u32>, u32) {
        let Range { start, end } = self.region;
        let journal_end = start.saturating_add(sector.saturating_mul(self.journal as u32));
        let slots = if self.slots > 0 { self.slots as u32 } else { 1 };
        (start..journal_end, (end.saturating_sub(journal_end) / slots) & !(sector - 1))
    }

    /// Whether all of it is in the flash, large enough, and begins at a sector.
    pub(crate) const fn is_sound(&self, capacity: usize, sector: u32) -> bool {
        let is_in_flash = self.region.end as usize <= capacity && self.region.end <= u32::MAX - 4 * sector;
        let is_in_flash = is_in_flash && self.region.start & (sector - 1) == 0;
        is_in_flash && self.split(sector).1 > 0 && self.journal > 2 && self.slots > 1
    }
}

/// A model in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Installed {
    /// The index of its slot.
    pub slot: u8,
    /// The length of the file.
    pub len: u32,
    /// The counter of its offer.
    pub counter: u32,
}

/// How far the next model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It arrives; so many bytes are in the flash, and were read back.
    Arriving(u32),
    /// It was verified.
    Verified,
    /// It is tried, and has so many starts left.
    Trial(u8),
}

/// How far a delta was applied: the next byte of its file, and the piece there: where to copy from, how many
/// bytes, and how many new bytes follow. All are 0 for a model that arrives as it is.
pub(crate) type Applied = [u32; 4];

/// All that is remembered, as a record: `sts1`, or `sts2` for the second copy; the generation; the confirmed
/// model and the next one, each with 0 for none; the phase of the next model, and its starts; the number of
/// the journal's base; how much of the model arrived; how far a delta was applied; and the CRC-64 of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(4))]
pub(crate) struct State([u8; STATE]);

pub(crate) const RECORD: usize = 128;
const COPY: usize = 3;
const GENERATION: usize = 4;
/// Where the state begins in a record, and how long it is.
const HEAD: usize = 8;
const STATE: usize = CHECK - HEAD;
const CONFIRMED: usize = 0;
/// A model is slot + 1 in 4 bytes, length, counter and sum.
const MODEL: usize = 44;
const NEXT: usize = CONFIRMED + MODEL;
const PHASE: usize = NEXT + MODEL;
const BASE: usize = PHASE + 3;
const REACHED: usize = PHASE + 4;
const APPLIED: usize = REACHED + 4;
const CHECK: usize = RECORD - 8;

impl State {
    pub(crate) const EMPTY: Self = Self([0; STATE]);

    /// Whether a record is at the front of the bytes; and whether it is the second copy.
    pub(crate) fn is_at(bytes: &[u8]) -> Option<bool> {
        let record = bytes.first_chunk()?;
        let is_record = record.starts_with(b"sts") && record.iter().skip(CHECK).eq(&check(record));
        is_record.then_some(record[COPY] == b'2')
    }

    /// Reads the record at the front of the bytes.
    pub(crate) fn read(&mut self, bytes: &[u8]) {
        put(&mut self.0, 0, bytes.get(HEAD..).unwrap_or_default());
    }

    /// Writes the record after a change to the front of the bytes.
    pub(crate) fn write(
        &self,
        change: &Change<'_>,
        base: u8,
        generation: u32,
        is_second: bool,
        bytes: &mut [u8],
    ) {
        let Some(record) = bytes.first_chunk_mut() else { return };
        put(record, 0, if is_second { b"sts2" } else { b"sts1" });
        put(record, GENERATION, &generation.to_le_bytes());
        put(record, HEAD, &self.0);
        if let Some(state) = record.get_mut(HEAD..).and_then(<[u8]>::first_chunk_mut) {
            change.apply(state);
            state[BASE] = base;
        }
        let check = check(record);
        put(record, CHECK, &check);
    }

    /// Changes the state.
    pub(crate) fn change(&mut self, change: &Change<'_>) {
        change.apply(&mut self.0);
    }

    fn part<const AT: usize, const LEN: usize>(&self) -> &[u8; LEN] {
        self.0.get(AT..).and_then(<[u8]>::first_chunk).unwrap_or(&[0; LEN])
    }

    /// Returns the generation of the record at the front of the bytes.
    pub(crate) fn generation_at(bytes: &[u8]) -> u32 {
        number(bytes.get(GENERATION..).unwrap_or_default())
    }

    /// Returns the number of the sector with the state before this one.
    pub(crate) fn base(&self) -> u8 {
        self.0[BASE]
    }

    /// Returns the slot + 1 of the next model, or of the confirmed one; or 0 for none.
    pub(crate) fn code(&self, is_next: bool) -> u8 {
        if is_next { self.0[NEXT] } else { self.0[CONFIRMED] }
    }

    fn model(&self, at: usize) -> Option<Installed> {
        let part = |from: usize| number(self.0.get(at + from..).unwrap_or_default());
        let slot = self.0.get(at)?.checked_sub(1)?;
        Some(Installed { slot, len: part(4), counter: part(8) })
    }

    pub(crate) fn confirmed(&self) -> Option<Installed> {
        self.model(CONFIRMED)
    }

    pub(crate) fn next(&self) -> Option<Installed> {
        self.model(NEXT)
    }

    /// Whether the models are in one of so many slots of this length.
    pub(crate) fn is_in_slots(&self, slots: u8, slot_len: u32) -> bool {
        let models = [self.confirmed(), self.next()];
        models.iter().flatten().all(|model| model.slot < slots && model.len <= slot_len)
    }

    /// Returns the sum of the model in this slot.
    pub(crate) fn sum(&self, slot: u8) -> &[u8; 32] {
        match slot.wrapping_add(1) {
            code if code == self.0[NEXT] => self.part::<{ NEXT + 12 }, 32>(),
            code if code == self.0[CONFIRMED] => self.part::<{ CONFIRMED + 12 }, 32>(),
            _ => &[0; 32],
        }
    }

    /// Returns the length of the next model.
    pub(crate) fn next_len(&self) -> u32 {
        number(&self.0[NEXT + 4..])
    }

    pub(crate) fn phase(&self) -> Option<Phase> {
        let phase = match self.0[PHASE] {
            0 => Phase::Arriving(number(&self.0[REACHED..])),
            1 => Phase::Verified,
            _ => Phase::Trial(self.0[PHASE + 1]),
        };
        (self.0[NEXT] > 0).then_some(phase)
    }

    /// How much of a delta was applied.
    pub(crate) fn applied(&self) -> Applied {
        core::array::from_fn(|index| number(self.0.get(APPLIED + 4 * index..).unwrap_or_default()))
    }

    /// Whether the next model is this one.
    pub(crate) fn is_next(&self, offer: &Offer) -> bool {
        let said = (self.next_len(), number(&self.0[NEXT + 8..]), self.part::<{ NEXT + 12 }, 32>());
        said == (offer.len, offer.counter, &offer.sum)
    }
}

/// What changes.
pub(crate) enum Change<'o> {
    /// Nothing.
    None,
    /// A model is to arrive in this slot.
    Next(u8, &'o Offer),
    /// The next model is in this phase.
    Phase(Phase, Applied),
    /// The next model is forgotten.
    Forget,
    /// The next model is the confirmed one.
    Confirm,
}

impl Change<'_> {
    fn apply(&self, state: &mut [u8; STATE]) {
        let (phase, applied) = match *self {
            Change::Phase(phase, applied) => (phase, applied),
            Change::Next(slot, offer) => {
                put(state, NEXT, &[slot.wrapping_add(1)]);
                put(state, NEXT + 4, &offer.len.to_le_bytes());
                put(state, NEXT + 8, &offer.counter.to_le_bytes());
                put(state, NEXT + 12, &offer.sum);
                (Phase::Arriving(0), [0; 4])
            }
            Change::None => return,
            Change::Forget | Change::Confirm => {
                let (confirmed, next) = state.split_at_mut(NEXT);
                if let Change::Confirm = self {
                    put(confirmed, CONFIRMED, next);
                }
                put(next, 0, &[0]);
                return;
            }
        };
        let (code, starts, reached) = match phase {
            Phase::Arriving(reached) => (0, 0, reached),
            Phase::Verified => (1, 0, 0),
            Phase::Trial(starts) => (2, starts, 0),
        };
        put(state, PHASE, &[code, starts]);
        put(state, REACHED, &reached.to_le_bytes());
        put(state, APPLIED, applied.map(u32::to_le_bytes).as_flattened());
    }
}

/// Returns the CRC-64 of a record's fields, as in ECMA-182; bit by bit, which takes neither a table nor
/// stack.
#[inline(never)] // it is called in two places
fn check(record: &[u8; RECORD]) -> [u8; 8] {
    let mut sum = 0u64;
    for byte in &record[..CHECK] {
        sum ^= u64::from(*byte) << 56;
        for _ in 0..8 {
            sum = sum << 1 ^ if sum >> 63 == 1 { 0x42F0_E1EB_A9EA_3693 } else { 0 };
        }
    }
    sum.to_le_bytes()
}

/// Returns a number in little-endian.
pub(crate) fn number(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.first_chunk().copied().unwrap_or_default())
}

pub(crate) fn put(bytes: &mut [u8], at: usize, from: &[u8]) {
    bytes.iter_mut().skip(at).zip(from).for_each(|(to, from)| *to = *from);
}
