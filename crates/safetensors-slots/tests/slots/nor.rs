//! A NOR flash in memory that is as strict as a chip. Its writes and erasures are cut, torn, lost, rejected,
//! or disturb others, as planned. Without heap, so that firmware uses it too.

use core::ops::Range;
pub use embedded_storage::nor_flash::NorFlashErrorKind;
use embedded_storage::nor_flash::{ErrorType, NorFlash, ReadNorFlash, check_erase, check_read, check_write};

/// What a write or an erasure with a fault changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tear {
    /// So many parts from the front, and how many equal parts there are.
    Front(usize, usize),
    /// … from the back.
    Back(usize, usize),
    /// Any of the [`Call::parts`].
    Picked,
    /// Any bits.
    Bits,
    /// Any bits; and any bits read differently each time.
    Marginal,
    /// All; and a bit of the 128 bytes before or after it is programmed, in the same sector.
    Disturbing,
}

/// How a write or an erasure with a fault ends. The first two are errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// There is no power from then on.
    PowerCut,
    Failure,
    Success,
}

/// A fault of a write or an erasure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// How many such calls come before it.
    pub call: usize,
    pub tear: Tear,
    pub end: End,
    /// Equal seeds pick equal bits.
    pub seed: u64,
}

impl Fault {
    /// What can happen to a call that installs a model.
    pub const KINDS: [(Tear, End); 11] = [
        (Tear::Front(0, 16), End::PowerCut),
        (Tear::Front(1, 16), End::PowerCut),
        (Tear::Front(8, 16), End::PowerCut),
        (Tear::Front(16, 16), End::PowerCut),
        (Tear::Back(1, 16), End::PowerCut),
        (Tear::Back(8, 16), End::PowerCut),
        (Tear::Bits, End::PowerCut),
        (Tear::Marginal, End::PowerCut),
        (Tear::Front(0, 16), End::Success),
        (Tear::Bits, End::Failure),
        (Tear::Disturbing, End::Success),
    ];
}

/// A call that changes the flash, and the addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    Write(Range<u32>),
    Erase(Range<u32>),
}

impl Call {
    /// Returns the number of its parts: the bytes of a write, or the sectors of an erasure.
    pub fn parts(&self, sector: usize) -> usize {
        match self {
            Self::Write(addresses) => addresses.len(),
            Self::Erase(addresses) => addresses.len() / sector,
        }
    }

    fn place(&self) -> Range<usize> {
        let (Self::Write(addresses) | Self::Erase(addresses)) = self;
        addresses.start as usize..addresses.end as usize
    }
}

/// A count of calls, where there is no memory for a log.
impl Extend<Call> for usize {
    fn extend<I: IntoIterator<Item = Call>>(&mut self, calls: I) {
        *self += calls.into_iter().count();
    }
}

/// Flash that is written in units and erased in sectors of so many bytes, and logs or counts its calls.
///
/// An operation that a chip does not allow is a panic: a write to a unit that was written since it was
/// erased, and an access that is out of bounds or not aligned.
#[derive(Clone, Debug)]
pub struct Nor<const UNIT: usize, const SECTOR: usize, const SECTORS: usize, C = usize> {
    pub memory: [[u8; SECTOR]; SECTORS],
    /// The bits that read differently each time.
    marginal: [[u8; SECTOR]; SECTORS],
    is_written: [[bool; SECTOR]; SECTORS],
    /// Picks the bits that change, and those that read differently.
    seed: u64,
    pub has_power: bool,
    /// The next fault.
    pub fault: Option<Fault>,
    /// Sectors that are worn out: nothing changes there.
    pub worn: Range<usize>,
    /// The writes and erasures so far.
    pub calls: C,
}

impl<const UNIT: usize, const SECTOR: usize, const SECTORS: usize, C> Nor<UNIT, SECTOR, SECTORS, C>
where
    C: Default + Extend<Call>,
{
    /// Creates flash in which each byte has this value: it is erased if that is 0xFF.
    pub fn new(byte: u8) -> Self {
        Self {
            memory: [[byte; SECTOR]; SECTORS],
            marginal: [[0; SECTOR]; SECTORS],
            is_written: [[byte != 0xFF; SECTOR]; SECTORS],
            seed: 0,
            has_power: true,
            fault: None,
            worn: 0..0,
            calls: C::default(),
        }
    }

    /// Returns all bytes.
    pub fn memory(&self) -> &[u8] {
        self.memory.as_flattened()
    }

    /// Restores power, and forgets the calls.
    pub fn restart(&mut self) {
        (self.has_power, self.calls) = (true, C::default());
    }

    /// Writes these bytes, or erases, as far as a fault allows. A place counts as written if the call fails:
    /// some of its bits may only seem erased.
    fn change(&mut self, call: Call, bytes: Option<&[u8]>) -> Outcome {
        if !self.has_power {
            return Err(NorFlashErrorKind::Other);
        }
        let (place, parts) = (call.place(), call.parts(SECTOR));
        self.calls.extend([call]);
        let is_written = &mut self.is_written.as_flattened_mut()[place.clone()];
        assert!(bytes.is_none() || !is_written.contains(&true), "{place:?} was not erased");
        let fault = self.fault.take_if(|fault| fault.call == 0);
        self.fault.iter_mut().for_each(|fault| fault.call -= 1);
        let (tear, end) = fault.map_or((Tear::Front(1, 1), End::Success), |fault| (fault.tear, fault.end));
        is_written.fill(bytes.is_some() || end != End::Success);
        self.seed = fault.map_or(self.seed, |fault| fault.seed);
        if !self.worn.contains(&(place.start / SECTOR)) {
            self.tear(tear, place, parts, bytes);
        }
        self.has_power = end != End::PowerCut;
        if end == End::Success { Ok(()) } else { Err(NorFlashErrorKind::Other) }
    }

    fn tear(&mut self, tear: Tear, place: Range<usize>, parts: usize, bytes: Option<&[u8]>) {
        let (memory, marginal) = (self.memory.as_flattened_mut(), self.marginal.as_flattened_mut());
        for (index, at) in place.clone().enumerate() {
            let (mask, fringe) = tear.masks(self.seed, index, place.len(), parts);
            let different = memory[at] ^ bytes.map_or(0xFF, |bytes| memory[at] & bytes[index]);
            memory[at] ^= different & mask;
            marginal[at] = marginal[at] & !mask | different & fringe;
        }
        if tear == Tear::Disturbing {
            self.disturb(place);
        }
    }

    fn disturb(&mut self, place: Range<usize>) {
        let [near, bit, side, ..] = random(self.seed, 0);
        let near = usize::from(near % 128);
        let at = if side < 128 { place.start.wrapping_sub(near + 1) } else { place.end + near };
        if at / SECTOR == place.start / SECTOR {
            self.memory.as_flattened_mut()[at] &= !(1 << (bit % 8));
        }
    }
}

impl Tear {
    /// Returns the bits of a byte that change, and those that become marginal, in a call of so many bytes and
    /// parts.
    fn masks(self, seed: u64, index: usize, len: usize, parts: usize) -> (u8, u8) {
        let random = |index| random(seed, index);
        let all_if = |is_done| if is_done { 0xFF } else { 0 };
        match self {
            Self::Front(done, of) => (all_if(index * of < done * len), 0),
            Self::Back(done, of) => (all_if((len - index) * of <= done * len), 0),
            Self::Picked => (all_if(random(index * parts / len)[0] % 2 == 0), 0),
            Self::Bits => (random(index)[0], 0),
            Self::Marginal => (random(index)[0], random(index)[1]),
            Self::Disturbing => (0xFF, 0),
        }
    }
}

/// Returns pseudorandom bytes: SplitMix64.
fn random(seed: u64, index: usize) -> [u8; 8] {
    let z = (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(seed);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (z ^ (z >> 31)).to_le_bytes()
}

/// Chips whose drivers use DMA or functions in ROM need memory that is aligned to their units.
pub fn assert_aligned(memory: &[u8], unit: usize) {
    let alignment = if unit.is_power_of_two() { unit.min(16) } else { 1 };
    assert!(memory.as_ptr().addr().is_multiple_of(alignment), "memory at {:p}", memory.as_ptr());
}

type Outcome = Result<(), NorFlashErrorKind>;

impl<const UNIT: usize, const SECTOR: usize, const SECTORS: usize, C> ErrorType
    for Nor<UNIT, SECTOR, SECTORS, C>
{
    type Error = NorFlashErrorKind;
}

impl<const UNIT: usize, const SECTOR: usize, const SECTORS: usize, C> ReadNorFlash
    for Nor<UNIT, SECTOR, SECTORS, C>
{
    const READ_SIZE: usize = 4;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Outcome {
        check_read(self, offset, bytes.len()).expect("valid use of a chip");
        assert_aligned(bytes, Self::READ_SIZE);
        if !self.has_power {
            return Err(NorFlashErrorKind::Other);
        }
        let (memory, marginal) = (self.memory.as_flattened(), self.marginal.as_flattened());
        for (at, byte) in (offset as usize..).zip(bytes) {
            *byte = memory[at];
            if marginal[at] > 0 {
                self.seed = self.seed.wrapping_add(1);
                *byte ^= marginal[at] & random(self.seed, at)[0];
            }
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        SECTORS * SECTOR
    }
}

impl<const UNIT: usize, const SECTOR: usize, const SECTORS: usize, C> NorFlash
    for Nor<UNIT, SECTOR, SECTORS, C>
where
    C: Default + Extend<Call>,
{
    const WRITE_SIZE: usize = UNIT;
    const ERASE_SIZE: usize = SECTOR;

    fn erase(&mut self, from: u32, to: u32) -> Outcome {
        check_erase(self, from, to).expect("valid use of a chip");
        self.change(Call::Erase(from..to), None)
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Outcome {
        check_write(self, offset, bytes.len()).expect("valid use of a chip");
        if UNIT <= 64 {
            assert_aligned(bytes, UNIT);
        }
        self.change(Call::Write(offset..offset + bytes.len() as u32), Some(bytes))
    }
}
