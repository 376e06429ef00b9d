//! A device that uses a model and installs the next one, over and over. Without heap, so that firmware
//! runs it too.

use super::nor::{Fault, Nor};
use core::fmt::Write;
use core::ops::Range;
use embedded_safetensors::ErrorKind;
use embedded_safetensors::integrity::{Sha256, Sum};
use embedded_safetensors::query::Query;
use embedded_storage::nor_flash::NorFlashErrorKind;
use safetensors_slots::{Installed, Layout, Offer, Page, Phase, SlotError, Slots, VerifyError};

pub const LAYOUT: Layout = Layout { region: 0..4608, journal: 3, slots: 2 };
pub const DEVICE: [u8; 16] = *b"a class of chips";
/// The bytes of a sector.
pub const SECTOR: usize = 512;
pub type Chip = Nor<8, SECTOR, 9>;
/// The number of models.
pub const VERSIONS: u8 = 5;
/// It is never confirmed.
pub const BAD: u8 = 2;
/// It arrives as a delta.
const DELTA: u8 = 3;
/// How often a model is tried.
const STARTS: u8 = 2;

/// Whether its owner signed a message: by repeating it.
pub fn is_signed(key: u32, message: &[u8], signature: &[u8; 64]) -> bool {
    key == 7 && *message == *signature
}

pub type File = heapless::Vec<u8, 1400>;

/// Returns the model of a version. Most are longer than two sectors.
pub fn model(version: u8) -> File {
    let len = [1033_usize, 440, 1190][usize::from(version.min(2))]; // the second one has one sector
    let (mut file, start) = (File::new(), "@\0\0\0\0\0\0\0{\"weight\":{\"dtype\":\"U8\"");
    write!(file, "{start},\"shape\":[{len:4}],\"data_offsets\":[0,{len:4}]}}}}").expect("it has room");
    file.extend((0..len).map(|at| at as u8 ^ (version * u8::from(at % 400 < 100))));
    file
}

pub fn offer(version: u8) -> Offer {
    signed(7, DEVICE, version.into(), &model(version))
}

/// Returns the offer of a file with this counter, signed.
pub fn signed(key: u32, device: [u8; 16], counter: u32, file: &[u8]) -> Offer {
    let mut sum = Sha256::new();
    sum.update(file);
    let (len, sum, signature) = (file.len() as u32, sum.finish(), [0; 64]);
    let unsigned = Offer { key, device, len, counter, sum, signature };
    Offer { signature: unsigned.signed(), ..unsigned }
}

/// Returns a delta between models: where they differ, 100 bytes are new. A device skips its header.
pub fn delta(from: u8, to: u8) -> File {
    let (base, target, mut file, mut at) = (model(from), model(to), File::new(), 0);
    file.extend(*b"\x1A\0\0\0\0\0\0\0{\"__metadata__\":{\"a\":\"b\"}}");
    file.extend(offer(from).sum);
    while at < target.len() {
        let copy = base.iter().zip(&target).skip(at).take_while(|(one, other)| one == other).count();
        let new = (target.len() - at - copy).min(100);
        file.extend([at, copy, new].into_iter().flat_map(|number| (number as u32).to_le_bytes()));
        file.extend(target[at + copy..][..new].iter().copied());
        at += copy + new;
    }
    file
}

/// What was seen of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// 1 + the version that was confirmed last, or 0.
    pub confirmed: u8,
    /// How many bytes had arrived, and whether those of the next version were damaged once.
    arrived: u32,
    was_damaged: bool,
    /// How often the bad version was tried.
    tried: u8,
    /// Whether it was given up.
    is_over: bool,
}

type Outcome = Result<(), VerifyError<NorFlashErrorKind>>;

/// What a device does after a start: uses a model, confirms it, and goes on with the next one.
pub fn start(chip: &mut Chip, seen: &mut Seen) -> Outcome {
    let (mut page, mut files) = (Page([0; 256]), Page([0; 64]));
    let mut slots = Slots::new(chip, LAYOUT, &mut page.0);
    let active = slots.start()?;
    let version = match &active {
        Some(model) => 1 + read(&mut slots, model, &mut files.0)?,
        None => 0,
    };
    assert!(version >= seen.confirmed, "a confirmed model is lost: {version} of {seen:?}");
    match slots.next() {
        Some((model, Phase::Trial(_))) if active == Some(model) && version == BAD + 1 => {
            seen.tried += 1;
            assert!(seen.tried <= STARTS + 1, "a model that is not confirmed is tried again and again");
        }
        Some((model, Phase::Trial(_))) if active == Some(model) => {
            slots.confirm()?;
            *seen = Seen { confirmed: version, arrived: 0, ..*seen };
        }
        _ => {}
    }
    let confirmed = slots.confirmed().map_or(0, |model| 1 + model.counter as u8);
    if confirmed > seen.confirmed {
        *seen = Seen { confirmed, arrived: 0, ..*seen }; // the power was cut at the end of `confirm`
    }
    seen.is_over |= seen.tried > 0 && slots.next().is_none();
    let version = if confirmed == BAD && seen.is_over { BAD + 1 } else { confirmed };
    match slots.next() {
        _ if version == VERSIONS => {}
        None | Some((_, Phase::Arriving(_))) => receive(&mut slots, version, seen)?,
        Some((_, Phase::Verified)) => slots.try_for(STARTS)?,
        Some((_, Phase::Trial(_))) => {}
    }
    Ok(())
}

/// Reads an entire model. Returns its version.
pub fn read(
    slots: &mut Slots<'_, &mut Chip>,
    model: &Installed,
    window: &mut [u8],
) -> Result<u8, VerifyError<NorFlashErrorKind>> {
    let sum = *slots.sum(model);
    let mut file = slots.model(model, &mut [Query::required("weight")], window)?;
    file.verify(Sha256::new(), &sum, window)?;
    Ok((0..VERSIONS).find(|version| offer(*version).sum == sum).expect("a known model"))
}

/// Receives this version, verifies it, and tries it.
fn receive(slots: &mut Slots<'_, &mut Chip>, version: u8, seen: &mut Seen) -> Outcome {
    let offer = offer(version);
    let is_delta = version == DELTA;
    let mut file = if is_delta { delta(BAD - 1, version) } else { model(version) };
    if version == 0 && !seen.was_damaged {
        *file.last_mut().expect("a byte") ^= 1;
    }
    let mut at = if is_delta { slots.receive_delta(&offer)? } else { slots.receive(&offer)? } as usize;
    assert!(
        slots.position() + SECTOR as u32 >= seen.arrived,
        "more than a sector is sent again: {} of {seen:?}",
        slots.position()
    );
    while at < file.len() {
        let piece = &file[at..file.len().min(at + 100)];
        if is_delta {
            slots.push_delta(piece)?;
        } else {
            slots.push(piece)?;
        }
        seen.arrived = slots.position();
        at += piece.len();
    }
    let verified = slots.verify(&offer, &is_signed, &DEVICE, &mut [Query::required("weight")]);
    match verified {
        Ok(()) => {
            assert!(version > 0 || seen.was_damaged, "a damaged model is verified");
            seen.arrived = 0;
            Ok(slots.try_for(STARTS)?)
        }
        Err(VerifyError::Model(error)) => {
            assert!(matches!(error.kind, ErrorKind::SumMismatch { .. }), "{error}");
            (seen.was_damaged, seen.arrived) = (true, 0);
            Ok(slots.abandon()?)
        }
        Err(error) => Err(error),
    }
}

/// Starts until this version is confirmed. After the first power cut, the second fault is planned.
pub fn run(chip: &mut Chip, seen: &mut Seen, version: u8, mut second: Option<Fault>) {
    for _ in 0..50 {
        if seen.confirmed > version {
            return;
        }
        match start(chip, seen) {
            Ok(()) | Err(VerifyError::Slots(SlotError::Flash(_) | SlotError::NotWritten(_))) => {}
            Err(error) => panic!("{error}"),
        }
        chip.has_power = true;
        if chip.fault.is_none() {
            chip.fault = second.take();
        }
    }
    panic!("version {version} is never confirmed: {seen:?}");
}

/// Runs each update with each fault at each call, and with a second one at calls after it, for each seed.
/// Makes one of so many of these runs, and returns how many it made. 7 and 11 would skip some cases for all
/// calls.
pub fn sweep(seeds: Range<u64>, step: u64) -> u64 {
    let (mut chip, mut seen, mut number) = (Chip::new(0xFF), Seen::default(), 0u64);
    for version in (0..VERSIONS).filter(|version| *version != BAD) {
        for call in 0..calls(chip.clone(), seen, version) {
            for fault in 0..Fault::KINDS.len() {
                for after in [None, Some(0), Some(1), Some(2), Some(3), Some(5), Some(9)] {
                    for seed in seeds.clone() {
                        number += 1;
                        if number.is_multiple_of(step) {
                            interrupt(chip.clone(), seen, version, (call, fault, after, seed));
                        }
                    }
                }
            }
        }
        run(&mut chip, &mut seen, version, None);
    }
    number / step
}

/// Returns how many writes and erasures an update takes.
#[inline(never)] // the chips of two copies do not fit into the stack of firmware
fn calls(mut chip: Chip, mut seen: Seen, version: u8) -> usize {
    let before = chip.calls;
    run(&mut chip, &mut seen, version, None);
    chip.calls - before
}

/// The call with a fault, the number of the fault, how many calls later there is a second one, and the seed.
type Case = (usize, usize, Option<usize>, u64);

/// Runs an update with one case of faults.
#[inline(never)]
fn interrupt(mut chip: Chip, mut seen: Seen, version: u8, (call, number, after, seed): Case) {
    let seed = seed * 1_000_000 + (call * 100 + number) as u64;
    let fault = |number: usize, call| {
        let (tear, end) = Fault::KINDS[number % Fault::KINDS.len()];
        Fault { call, tear, end, seed }
    };
    chip.fault = Some(fault(number, call));
    run(&mut chip, &mut seen, version, after.map(|after| fault(seed as usize + after, after)));
}
