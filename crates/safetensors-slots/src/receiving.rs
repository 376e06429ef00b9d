//! How the next model arrives: as it is, or as a delta.

use super::journal::{unit, write};
use super::slots::Slots;
use super::{NorFile, NorFlash, ReadAt, form};
use crate::delta::Delta;
use crate::error::SlotError;
use crate::low_u32;
use crate::offer::Offer;
use crate::state::{Applied, Change, Installed, Phase};
use embedded_safetensors::io::NorError;

#[form]
impl<F: NorFlash> Slots<'_, F> {
    /// Begins to receive a model, or goes on. Returns from which byte of the file on. This checks no
    /// signature: [`Offer::check`] does.
    ///
    /// # Errors
    /// [`SlotError::OtherModel`] while another one arrives; [`SlotError::Phase`] while one is verified or
    /// tried; [`SlotError::Rollback`]; [`SlotError::TooLong`]; [`SlotError::NoSlot`]; those of the flash.
    pub async fn receive(&mut self, offer: &Offer) -> Result<u32, SlotError<F::Error>> {
        self.begin(offer).await?;
        self.delta = Delta::after([0; 4]);
        Ok(self.position())
    }

    /// As [`receive`](Self::receive), for a delta from the confirmed model: returns from which byte of the
    /// delta's file on. What it copies is copied at once. A model that has begun to arrive as a file begins
    /// again.
    ///
    /// # Errors
    /// Those of [`receive`](Self::receive) and [`push_delta`](Self::push_delta).
    pub async fn receive_delta(&mut self, offer: &Offer) -> Result<u32, SlotError<F::Error>> {
        let base = self.base()?;
        self.begin(offer).await?;
        if self.position() > 0 && self.delta.position() == 0 {
            self.arrive(0, [0; 4]).await?; // the begin arrived as a file
        }
        self.copy(&base).await?;
        Ok(self.delta.position())
    }

    #[inline(never)]
    async fn begin(&mut self, offer: &Offer) -> Result<(), SlotError<F::Error>> {
        match self.confirmed() {
            _ if !self.is_started => return Err(SlotError::NotStarted),
            // Also while another one arrives: an old offer is no reason to abandon that one.
            Some(model) if offer.counter < model.counter => {
                return Err(SlotError::Rollback(offer.counter, model.counter));
            }
            _ => {}
        }
        let state = &self.journal.state;
        match state.phase() {
            None => {}
            Some(Phase::Arriving(_)) if state.is_next(offer) => return Ok(()),
            Some(Phase::Arriving(_)) => return Err(SlotError::OtherModel),
            phase => return Err(SlotError::Phase(phase)),
        }
        let (_, slot_len) = self.layout.split(low_u32(F::ERASE_SIZE));
        if offer.len > slot_len {
            return Err(SlotError::TooLong(offer.len, slot_len));
        }
        let slot = self.unused_slot().ok_or(SlotError::NoSlot)?;
        self.change(&Change::Next(slot, offer)).await
    }

    /// Returns a slot that is not in use: after the confirmed one, in turn.
    fn unused_slot(&self) -> Option<u8> {
        let confirmed = self.journal.state.code(false);
        let mut code = confirmed;
        for _ in 0..self.layout.slots {
            code = if code < self.layout.slots { code.saturating_add(1) } else { 1 };
            if code != confirmed && Some(code) != self.running {
                return code.checked_sub(1);
            }
        }
        None
    }

    /// Returns how many bytes of the next model have arrived. After a reset it is the start of a sector.
    pub fn position(&self) -> u32 {
        self.written.wrapping_add(low_u32(self.filled))
    }

    /// Takes the next bytes of the file.
    ///
    /// # Errors
    /// [`SlotError::Phase`] if no model arrives; [`SlotError::Surplus`]; those of the flash. After
    /// [`SlotError::NotWritten`], [`receive`](Self::receive) says where to go on.
    pub async fn push(&mut self, mut bytes: &[u8]) -> Result<(), SlotError<F::Error>> {
        while !bytes.is_empty() {
            self.fill(&mut bytes, usize::MAX).await?;
        }
        Ok(())
    }

    /// Takes the next bytes of a delta's file.
    ///
    /// # Errors
    /// [`SlotError::OtherBase`] if it is not one from the confirmed model; [`SlotError::Delta`] if it copies
    /// from outside of it; those of [`push`](Self::push). After [`SlotError::NotWritten`],
    /// [`receive_delta`](Self::receive_delta) says where to go on.
    pub async fn push_delta(&mut self, mut bytes: &[u8]) -> Result<(), SlotError<F::Error>> {
        let base = self.base()?;
        if self.len == 0 {
            return Err(self.phase());
        }
        while !bytes.is_empty() {
            if let Err(error) = self.delta.read(&mut bytes, base.len, self.journal.state.sum(base.slot)) {
                self.go_on();
                return Err(error);
            }
            self.copy(&base).await?;
            while self.delta.new_bytes() > 0 && !bytes.is_empty() {
                self.fill(&mut bytes, self.delta.new_bytes()).await?;
            }
        }
        Ok(())
    }

    /// Returns what deltas copy from.
    fn base(&self) -> Result<Installed, SlotError<F::Error>> {
        if !self.is_started {
            return Err(SlotError::NotStarted);
        }
        self.confirmed().ok_or(SlotError::OtherBase)
    }

    /// Takes the first bytes, at most so many.
    async fn fill(&mut self, bytes: &mut &[u8], most: usize) -> Result<(), SlotError<F::Error>> {
        let room = self.room(most.min(bytes.len()))?;
        let (taken, rest) = bytes.split_at_checked(room.len()).unwrap_or_default();
        room.iter_mut().zip(taken).for_each(|(to, from)| *to = *from);
        *bytes = rest;
        self.delta.advance(0, taken.len());
        self.take(taken.len()).await
    }

    /// Copies what the piece of the delta says.
    async fn copy(&mut self, base: &Installed) -> Result<(), SlotError<F::Error>> {
        while let Some((from, len)) = self.delta.copy() {
            let len = self.room(len)?.len();
            let place = self.place(base);
            let mut file = NorFile::partition(&mut self.flash, place);
            let room = self.page.get_mut(self.filled..).unwrap_or_default();
            let room = room.get_mut(..len).unwrap_or_default();
            let copied =
                file.read_at(from.into(), room).await.map_err(|NorError(error)| SlotError::Flash(error))?;
            if copied == 0 {
                return Err(SlotError::Layout);
            }
            self.delta.advance(copied, 0);
            self.take(copied).await?;
        }
        Ok(())
    }

    /// Returns where the next bytes of the next model belong, at most so many.
    fn room(&mut self, len: usize) -> Result<&mut [u8], SlotError<F::Error>> {
        let (position, sector) = (self.position(), low_u32(F::ERASE_SIZE));
        let left = self.len.saturating_sub(position).min(sector - position % sector) as usize;
        if left == 0 {
            let arrives = matches!(self.journal.state.phase(), Some(Phase::Arriving(_)));
            return Err(if arrives { SlotError::Surplus } else { self.phase() });
        }
        let len = len.min(left).min(self.page_len().saturating_sub(self.filled));
        let room = self.page.get_mut(self.filled..).unwrap_or_default();
        Ok(room.get_mut(..len).unwrap_or_default())
    }

    /// Returns how long the whole units of the page are.
    pub(super) fn page_len(&self) -> usize {
        self.page.len() - self.page.len() % unit::<F>()
    }

    /// Takes so many bytes that were put there, and writes the page if it is full, or the sector.
    async fn take(&mut self, len: usize) -> Result<(), SlotError<F::Error>> {
        self.filled = self.filled.wrapping_add(len);
        let position = self.position();
        let is_whole = position.is_multiple_of(low_u32(F::ERASE_SIZE)) || position == self.len;
        if !is_whole && self.filled < self.page_len() {
            return Ok(());
        }
        let at = self.place_of(self.journal.state.code(true), 0).start.wrapping_add(self.written);
        let error = match self.write_page(at).await {
            Ok(true) if is_whole => return self.arrive(position, self.delta.applied()).await,
            Ok(true) => return Ok(()),
            Ok(false) => SlotError::NotWritten(at),
            Err(error) => SlotError::Flash(error),
        };
        self.go_on();
        Err(error)
    }

    /// Writes the bytes in the page, and the rest of their last unit. Erases the sector before its first
    /// byte.
    async fn write_page(&mut self, at: u32) -> Result<bool, F::Error> {
        let sector = low_u32(F::ERASE_SIZE);
        if at.is_multiple_of(sector) {
            self.flash.erase(at, at.wrapping_add(sector)).await?;
        }
        let units = self.page.get_mut(..self.filled.next_multiple_of(unit::<F>())).unwrap_or_default();
        units.iter_mut().skip(self.filled).for_each(|byte| *byte = 0xFF);
        self.written = self.written.wrapping_add(low_u32(self.filled));
        self.filled = 0;
        write(&mut self.flash, at, units).await
    }

    /// Remembers how far the next model is.
    async fn arrive(&mut self, reached: u32, applied: Applied) -> Result<(), SlotError<F::Error>> {
        self.change(&Change::Phase(Phase::Arriving(reached), applied)).await
    }
}
