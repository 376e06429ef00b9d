//! Slots for models, and the journal that says which one counts.

use super::journal::{Journal, record_len, unit};
use super::{Model, NorFile, NorFlash, form};
use crate::delta::Delta;
use crate::error::{SlotError, VerifyError};
use crate::low_u32;
use crate::offer::{Authority, Offer};
use crate::state::{Change, Installed, Layout, Phase, State};
use core::ops::Range;
use embedded_safetensors::integrity::{Sha256, Sum};
use embedded_safetensors::io::NorError;
use embedded_safetensors::query::Query;
use embedded_safetensors::{ErrorKind, ReadError};

/// Models in slots of a NOR flash. One is confirmed; another may arrive, and is tried before it replaces it.
///
/// After any interruption the confirmed model is the old one or the new one, and whole. Models that were not
/// verified never count.
///
/// *Memory*: at most 200 bytes and the driver; the page is yours.
#[form]
#[derive(Debug)]
pub struct Slots<'p, F> {
    pub(super) flash: F,
    pub(super) layout: Layout,
    pub(super) page: &'p mut [u8],
    pub(super) journal: Journal,
    /// The length of the model that arrives, or 0.
    pub(super) len: u32,
    /// How many bytes of it are in the flash.
    pub(super) written: u32,
    /// How many bytes are in the page.
    pub(super) filled: usize,
    pub(super) delta: Delta,
    /// The code of this start's model.
    pub(super) running: Option<u8>,
    /// Whether the last `start` succeeded.
    pub(super) is_started: bool,
}

#[form]
impl<'p, F: NorFlash> Slots<'p, F> {
    /// Creates slots that are not started. A flash whose sectors are no power of two, or shorter than four
    /// records of 128 bytes in whole units, does not compile.
    ///
    /// The page has at least 128 bytes, or a unit of the flash if that is longer; a page of the flash is
    /// fast. A [`Page`](crate::Page) has the alignment that drivers need.
    pub fn new(flash: F, layout: Layout, page: &'p mut [u8]) -> Self {
        let (journal, delta, running, is_started) = (Journal::new(), Delta::after([0; 4]), None, false);
        Self { flash, layout, page, journal, len: 0, written: 0, filled: 0, delta, running, is_started }
    }

    /// Reads the journal. If the last change was interrupted, it is completed or undone first. A journal
    /// without any record is that of a new flash.
    ///
    /// Returns the model to use from this start on: the one that is tried, if it has starts left, else the
    /// confirmed one. This takes one of the starts, or ends the trial if none is left; once, also if it is
    /// called again. A call that fails may have taken one, too.
    ///
    /// # Errors
    /// [`SlotError::Layout`], also if a model is in no slot; [`SlotError::Page`]; those of the flash.
    /// If it is the journal that cannot be written, there is the [`confirmed`](Self::confirmed) model
    /// nevertheless. Nothing else can be called until a start succeeds.
    #[inline(never)]
    pub async fn start(&mut self) -> Result<Option<Installed>, SlotError<F::Error>> {
        (self.is_started, self.len) = (false, 0);
        let (len, unit) = (self.page.len(), record_len::<F>());
        if !self.layout.is_sound(self.flash.capacity(), low_u32(F::ERASE_SIZE)) {
            return Err(SlotError::Layout);
        }
        let record = self.page.get_mut(..unit).ok_or(SlotError::Page(len, unit))?;
        let (journal, slot_len) = self.layout.split(low_u32(F::ERASE_SIZE));
        let outcome = self.journal.read(&mut self.flash, &journal, record).await;
        let is_in_slots = self.journal.state.is_in_slots(self.layout.slots, slot_len);
        if outcome.is_err() || !is_in_slots {
            self.journal.state = State::EMPTY;
        }
        let is_settled = outcome.map_err(SlotError::Flash)?;
        if !is_in_slots {
            return Err(SlotError::Layout);
        }
        let phase = self.journal.state.phase();
        let change = match (phase, self.running) {
            (Some(Phase::Trial(0)), None) => Change::Forget,
            (Some(Phase::Trial(starts)), None) => Change::Phase(Phase::Trial(starts - 1), [0; 4]),
            _ => Change::None,
        };
        if !is_settled || !matches!(change, Change::None) {
            self.write(&change).await?;
        }
        self.go_on();
        let state = &self.journal.state;
        let is_tried = matches!(phase, Some(Phase::Trial(1..)));
        let running = *self.running.get_or_insert(state.code(is_tried));
        self.is_started = true;
        Ok(if running == state.code(true) { state.next() } else { None }.or_else(|| state.confirmed()))
    }

    /// Returns the confirmed model.
    pub fn confirmed(&self) -> Option<Installed> {
        self.journal.state.confirmed()
    }

    /// Returns the model that is to replace it, and how far it is.
    pub fn next(&self) -> Option<(Installed, Phase)> {
        self.journal.state.next().zip(self.journal.state.phase())
    }

    /// Returns the SHA-256 of the confirmed model or of the next one; of another one, zeros.
    pub fn sum(&self, model: &Installed) -> &[u8; 32] {
        self.journal.state.sum(model.slot)
    }

    /// Returns where a model is in the flash.
    pub fn place(&self, model: &Installed) -> Range<u32> {
        self.place_of(model.slot.wrapping_add(1), model.len)
    }

    pub(super) fn place_of(&self, code: u8, len: u32) -> Range<u32> {
        let (journal, slot_len) = self.layout.split(low_u32(F::ERASE_SIZE));
        let begin = journal.end.wrapping_add(slot_len.wrapping_mul(u32::from(code).wrapping_sub(1)));
        begin..begin.wrapping_add(len)
    }

    /// Returns the file of a model.
    pub fn file(&mut self, model: &Installed) -> NorFile<&mut F> {
        let place = self.place(model);
        let file_len = place.end.wrapping_sub(place.start).into();
        NorFile::partition(&mut self.flash, place).with_file_len(file_len)
    }

    /// Opens a model, and finds its tensors.
    ///
    /// # Errors
    /// Those of [`Model::open_with`].
    pub async fn model(
        &mut self,
        model: &Installed,
        tensors: &mut [Query<'_>],
        window: &mut [u8],
    ) -> Result<Model<NorFile<&mut F>>, ReadError<NorError<F::Error>>> {
        let place = self.place(model);
        open_at(&mut self.flash, place, tensors, window).await
    }

    /// Verifies the next model: checks the signature of the offer and its class of devices; then reads the
    /// file back, with the verdict on its header, these tensors, and its sum. After that it can be tried. The
    /// counter was checked when the model began to arrive.
    ///
    /// # Errors
    /// [`SlotError::Phase`] unless the whole model has arrived; [`SlotError::OtherModel`] if the offer is for
    /// another one; [`SlotError::Signature`]; [`SlotError::Device`]; [`VerifyError::Model`]; of the flash.
    pub async fn verify(
        &mut self,
        offer: &Offer,
        authority: &impl Authority,
        device: &[u8; 16],
        tensors: &mut [Query<'_>],
    ) -> Result<(), VerifyError<F::Error>> {
        let state = &self.journal.state;
        if state.phase() != Some(Phase::Arriving(state.next_len())) {
            return Err(self.phase().into());
        }
        if !state.is_next(offer) {
            return Err(SlotError::OtherModel.into());
        }
        offer.check(authority, device)?;
        let place = self.place_of(state.code(true), offer.len);
        open_at(&mut self.flash, place.clone(), tensors, self.page).await?;
        let found = self.sum_at(place).await.map_err(SlotError::Flash)?;
        if found != offer.sum {
            let [expected, found] = [&offer.sum, &found].map(Sha256::head);
            return Err(ErrorKind::SumMismatch { expected, found }.at(offer.len.into()).into());
        }
        Ok(self.enter(Phase::Verified).await?)
    }

    /// Returns the SHA-256 of these bytes in the flash.
    #[inline(never)] // its stack is not needed while the header is read
    async fn sum_at(&mut self, mut place: Range<u32>) -> Result<[u8; 32], F::Error> {
        let (mut sum, page_len) = (Sha256::new(), self.page_len());
        while !place.is_empty() {
            let part = page_len.min(place.len());
            let units = self.page.get_mut(..part.next_multiple_of(unit::<F>())).unwrap_or_default();
            self.flash.read(place.start, units).await?;
            sum.update(units.get(..part).unwrap_or_default());
            place.start = place.start.wrapping_add(low_u32(part));
        }
        Ok(sum.finish())
    }

    /// Tries the verified model for so many starts, from the next one on. With 0, the next one forgets it.
    ///
    /// # Errors
    /// [`SlotError::Phase`] unless a model is verified; those of the flash.
    pub async fn try_for(&mut self, starts: u8) -> Result<(), SlotError<F::Error>> {
        match self.journal.state.phase() {
            Some(Phase::Verified) => self.enter(Phase::Trial(starts)).await,
            _ => Err(self.phase()),
        }
    }

    /// Makes the model that is tried, and that [`start`](Self::start) returned, the confirmed one.
    ///
    /// # Errors
    /// [`SlotError::Phase`] if it does not run; those of the flash.
    pub async fn confirm(&mut self) -> Result<(), SlotError<F::Error>> {
        let state = &self.journal.state;
        match state.phase() {
            Some(Phase::Trial(_)) if self.running == Some(state.code(true)) => {
                self.change(&Change::Confirm).await
            }
            _ => Err(self.phase()),
        }
    }

    /// Forgets the next model, however far it is.
    ///
    /// # Errors
    /// Those of the flash.
    pub async fn abandon(&mut self) -> Result<(), SlotError<F::Error>> {
        self.change(&Change::Forget).await
    }

    pub(super) fn phase(&self) -> SlotError<F::Error> {
        if self.is_started { SlotError::Phase(self.journal.state.phase()) } else { SlotError::NotStarted }
    }

    async fn enter(&mut self, phase: Phase) -> Result<(), SlotError<F::Error>> {
        self.change(&Change::Phase(phase, [0; 4])).await
    }

    /// Changes the state.
    pub(super) async fn change(&mut self, change: &Change<'_>) -> Result<(), SlotError<F::Error>> {
        if self.is_started { self.write(change).await } else { Err(SlotError::NotStarted) }
    }

    async fn write(&mut self, change: &Change<'_>) -> Result<(), SlotError<F::Error>> {
        let record = self.page.get_mut(..record_len::<F>()).unwrap_or_default();
        let (journal, _) = self.layout.split(low_u32(F::ERASE_SIZE));
        let outcome = self.journal.write(&mut self.flash, &journal, change, record).await;
        self.go_on(); // also after an error: the record was in the page
        outcome
    }

    /// Goes on at what has arrived for certain.
    pub(super) fn go_on(&mut self) {
        let state = &self.journal.state;
        (self.filled, self.delta) = (0, Delta::after(state.applied()));
        (self.len, self.written) = match state.phase() {
            Some(Phase::Arriving(reached)) => (state.next_len(), reached),
            _ => (0, 0),
        };
    }
}

/// One copy of the code, for the models of the slots and of their user.
#[form]
#[inline(never)]
async fn open_at<'f, F: NorFlash>(
    flash: &'f mut F,
    place: Range<u32>,
    tensors: &mut [Query<'_>],
    window: &mut [u8],
) -> Result<Model<NorFile<&'f mut F>>, ReadError<NorError<F::Error>>> {
    let file_len = place.end.wrapping_sub(place.start).into();
    Model::open_with(NorFile::partition(flash, place).with_file_len(file_len), tensors, window).await
}
