//! Models that are replaced at run time, in slots of a NOR flash.

use crate::error::{Cause, FILE, LIMIT, Refusal, STORAGE, USAGE, functions};
use crate::object::Object;
use crate::pointers::{array_mut, check_all, memory};
use crate::storage::{Fault, done};
use crate::tensors::{Lookup, Request, Tensor};
use core::ffi::c_void;
use embedded_storage::nor_flash::{ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash};
use safetensors_slots::{Installed, Layout, Offer, Phase, SlotError, VerifyError};

/// The unit of erasing.
const SECTOR: usize = match option_env!("SAFETENSORS_SECTOR") {
    None => 4096,
    Some(text) => match usize::from_str_radix(text, 10) {
        Ok(sector) => sector,
        Err(_) => panic!("SAFETENSORS_SECTOR is not a number"),
    },
};

/// `sft_flash`, which C lends by the header's rules for as long as it is used.
#[repr(C)]
pub struct FlashIn {
    read: Option<unsafe extern "C" fn(*mut c_void, u32, *mut c_void, usize) -> i32>,
    write: Option<unsafe extern "C" fn(*mut c_void, u32, *const c_void, usize) -> i32>,
    erase: Option<unsafe extern "C" fn(*mut c_void, u32, u32) -> i32>,
    context: *mut c_void,
    from: u32,
    to: u32,
    journal: u8,
    slots: u8,
}

type Flash = &'static FlashIn;

/// What a callback returns that is NULL.
const FAILED: i32 = -1;

impl NorFlashError for Fault {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

impl ErrorType for Flash {
    type Error = Fault;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 1;

    fn read(&mut self, at: u32, bytes: &mut [u8]) -> Result<(), Fault> {
        let (to, len) = (bytes.as_mut_ptr().cast(), bytes.len());
        // SAFETY: the header says what a callback may do; the buffer has that many bytes.
        done(self.read.map_or(FAILED, |read| unsafe { read(self.context, at, to, len) }), at.into())
    }

    fn capacity(&self) -> usize {
        self.to as usize
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = 16;
    const ERASE_SIZE: usize = SECTOR;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Fault> {
        // SAFETY: the header says what a callback may do.
        done(self.erase.map_or(FAILED, |erase| unsafe { erase(self.context, from, to) }), from.into())
    }

    fn write(&mut self, at: u32, bytes: &[u8]) -> Result<(), Fault> {
        let (from, len) = (bytes.as_ptr().cast(), bytes.len());
        // SAFETY: the header says what a callback may do; there are that many bytes.
        done(self.write.map_or(FAILED, |write| unsafe { write(self.context, at, from, len) }), at.into())
    }
}

/// `sft_installed`.
#[repr(C)]
#[derive(Default)]
pub struct InstalledOut {
    flash: Option<Flash>,
    address: u32,
    len: u32,
    counter: u32,
    phase: u32,
    number: u32,
    sum: [u8; 32],
}

/// `sft_slots`.
pub type Slots = Object<State, 0x534C_4F54>;

crate::abi::fits!(Slots, crate::abi::words("SFT_SLOTS_WORDS"));

type Opened = safetensors_slots::Slots<'static, Flash>;

/// The slots, their flash, and what takes bytes: a program without deltas does not link their code. What C
/// lends lives as long as its objects, by the header's rules.
pub struct State(Opened, Flash, fn(&mut Opened, &[u8]) -> Result<(), SlotError<Fault>>);

impl State {
    /// Returns what C sees of a model, with its phase as the header numbers them.
    fn describe(&self, model: Option<Installed>) -> InstalledOut {
        let Some(model) = model else { return InstalledOut::default() };
        let (phase, number) = match self.0.next().filter(|(next, _)| *next == model) {
            None => (0, 0),
            Some((_, Phase::Arriving(reached))) => (1, reached),
            Some((_, Phase::Verified)) => (2, 0),
            Some((_, Phase::Trial(starts))) => (3, starts.into()),
        };
        let (flash, address) = (Some(self.1), self.0.place(&model).start);
        let (Installed { len, counter, .. }, sum) = (model, *self.0.sum(&model));
        InstalledOut { flash, address, len, counter, phase, number, sum }
    }
}

impl From<SlotError<Fault>> for Cause {
    #[inline(never)] // most functions use it
    fn from(error: SlotError<Fault>) -> Self {
        let at = if let SlotError::NotWritten(at) | SlotError::Delta(at) = error { at } else { 0 };
        let refusal: &Refusal = match error {
            SlotError::Flash(fault) => return Self::Storage(fault),
            SlotError::NotWritten(_) => &(STORAGE, "storage.lost", "the flash does not keep what is written"),
            SlotError::Layout => &(USAGE, "c.layout", "the layout does not fit the sectors of the flash"),
            SlotError::Page(..) => &(LIMIT, "limit.page", "the page has less than 128 bytes"),
            SlotError::TooLong(..) => &(LIMIT, "limit.slot", "the model is longer than a slot"),
            SlotError::NotStarted => &(USAGE, "c.start", "the slots were not started"),
            SlotError::Phase(_) => &(USAGE, "c.phase", "the next model is missing, or in another phase"),
            SlotError::NoSlot => &(LIMIT, "limit.no-slot", "no slot is free until the next reset"),
            SlotError::Surplus => &(USAGE, "usage.surplus", "more bytes than the offer says"),
            SlotError::OtherModel => &(USAGE, "usage.other-model", "another model arrives: abandon it first"),
            SlotError::OtherBase => &(USAGE, "usage.base", "the delta is not one from the confirmed model"),
            SlotError::Delta(_) => &(FILE, "delta.piece", "the delta copies what is not in its base"),
            SlotError::Signature => &(USAGE, "usage.signature", "no key of this device signed the offer"),
            SlotError::Device => &(USAGE, "usage.device", "the offer is for another class of devices"),
            SlotError::Rollback(..) => &(USAGE, "usage.rollback", "the confirmed model has a higher counter"),
        };
        Self::Refused(refusal, at)
    }
}

/// `sft_signed_callback`.
type SignedIn = Option<unsafe extern "C" fn(u32, *const u8, &[u8; 64]) -> i32>;

type OfferIn = [u8; 128];

fn offer(bytes: OfferIn) -> Result<Offer, Cause> {
    let refusal = Cause::Refused(&(USAGE, "usage.offer", "these bytes are no offer of a model"), 0);
    Offer::from_bytes(&bytes).ok_or(refusal)
}

functions! {
    unsafe fn sft_slots_begin(slots: *mut Slots, flash: *const FlashIn, page: *mut c_void, page_len: usize) {
        Object::open(slots, || {
            check_all(&[memory(slots, 1), memory(flash, 1), memory(page, page_len)])?;
            let (flash, page) = (&*flash, array_mut(page.cast::<u8>(), page_len));
            let layout = Layout { region: flash.from..flash.to, journal: flash.journal, slots: flash.slots };
            Ok(State(Opened::new(flash, layout, page), flash, Opened::push))
        })
    }

    unsafe fn sft_slots_start(slots: *mut Slots, model: *mut InstalledOut) {
        Object::with(slots, |it| {
            check_all(&[memory(slots, 1), memory(model, 1)])?;
            let found = it.0.start()?;
            model.write(it.describe(found));
            Ok(())
        })
    }

    unsafe fn sft_slots_models(slots: *mut Slots, confirmed: *mut InstalledOut, next: *mut InstalledOut) {
        Object::with(slots, |it| {
            check_all(&[memory(slots, 1), memory(confirmed, 1), memory(next, 1)])?;
            confirmed.write(it.describe(it.0.confirmed()));
            next.write(it.describe(it.0.next().map(|(next, _)| next)));
            Ok(())
        })
    }

    unsafe fn sft_slots_receive(slots: *mut Slots, bytes: *const OfferIn, from: *mut u32) {
        Object::with(slots, |it| {
            check_all(&[memory(slots, 1), memory(bytes, 1), memory(from, 1)])?;
            from.write(it.0.receive(&offer(*bytes)?)?);
            it.2 = Opened::push;
            Ok(())
        })
    }

    unsafe fn sft_slots_receive_delta(slots: *mut Slots, bytes: *const OfferIn, from: *mut u32) {
        Object::with(slots, |it| {
            check_all(&[memory(slots, 1), memory(bytes, 1), memory(from, 1)])?;
            from.write(it.0.receive_delta(&offer(*bytes)?)?);
            it.2 = Opened::push_delta;
            Ok(())
        })
    }

    unsafe fn sft_slots_push(slots: *mut Slots, bytes: *const c_void, len: usize) {
        Object::with_array(slots, bytes.cast(), len, |it, bytes| Ok(it.2(&mut it.0, bytes)?))
    }

    unsafe fn sft_slots_verify(
        slots: *mut Slots,
        bytes: *const OfferIn,
        device: *const [u8; 16],
        is_signed: SignedIn,
        requests: *const Request,
        tensors: *mut Tensor,
        count: usize,
    ) {
        Object::with(slots, |it| {
            let others = [memory(slots, 1), memory(bytes, 1), memory(device, 1)];
            let lookup = Lookup::new(others, (requests, tensors, count))?;
            let has_signed = |key: u32, message: &[u8], signature: &[u8; 64]| {
                // The header says what a callback may do.
                is_signed.is_some_and(|is_signed| is_signed(key, message.as_ptr(), signature) == 1)
            };
            let verify = |offer| it.0.verify(&offer, &has_signed, &*device, lookup.queries());
            let outcome = offer(*bytes).map(verify);
            lookup.forget();
            outcome?.map_err(|error| match error {
                VerifyError::Slots(error) => error.into(),
                VerifyError::Model(error) => error.into(),
            })
        })
    }

    unsafe fn sft_slots_try(slots: *mut Slots, starts: u8) {
        Object::with(slots, |it| Ok(it.0.try_for(starts)?))
    }

    unsafe fn sft_slots_confirm(slots: *mut Slots) {
        Object::with(slots, |it| Ok(it.0.confirm()?))
    }

    unsafe fn sft_slots_abandon(slots: *mut Slots) {
        Object::with(slots, |it| Ok(it.0.abandon()?))
    }
}

#[cfg(feature = "ed25519")]
#[unsafe(no_mangle)]
extern "C" fn sft_ed25519(
    key: Option<&[u8; 32]>,
    message: Option<&[u8; 64]>,
    signature: Option<&[u8; 64]>,
) -> i32 {
    let (Some(key), Some(message), Some(signature)) = (key, message, signature) else { return 0 };
    let keys = [(0, *key)];
    safetensors_slots::Authority::has_signed(&safetensors_slots::Ed25519(&keys), 0, message, signature).into()
}
