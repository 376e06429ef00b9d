//! Offers, files and deltas that are not what they say; and devices on which nothing is valid.

use super::device::{Chip, DEVICE, LAYOUT, Seen, delta, is_signed, model, offer, read, run, signed};
use super::nor::{End, Fault, NorFlashErrorKind, Tear};
use safetensors_slots::{Layout, Offer, Page, Phase, SlotError, Slots, VerifyError};

type Error = SlotError<NorFlashErrorKind>;

/// A device on which version 1 is confirmed, and another model was installed before it.
fn device() -> Chip {
    let (mut chip, mut seen) = (Chip::new(0xFF), Seen::default());
    run(&mut chip, &mut seen, 1, None);
    started(&mut chip, &mut Page([0; 128]).0);
    chip
}

/// Starts, and forgets the model that arrives.
fn started<'p>(chip: &'p mut Chip, page: &'p mut [u8]) -> Slots<'p, &'p mut Chip> {
    let mut slots = Slots::new(chip, LAYOUT, page);
    slots.start().and_then(|_| slots.abandon()).expect("a valid journal");
    slots
}

fn verify(slots: &mut Slots<'_, &mut Chip>, offer: &Offer) -> Result<(), VerifyError<NorFlashErrorKind>> {
    slots.verify(offer, &is_signed, &DEVICE, &mut [])
}

/// Installs version 3 in the device, to be tried for so many starts.
fn install(chip: &mut Chip, page: &mut [u8], starts: u8) {
    let mut slots = started(chip, page);
    slots.receive(&offer(3)).and_then(|_| slots.push(&model(3))).expect("a free slot");
    verify(&mut slots, &offer(3)).and_then(|()| Ok(slots.try_for(starts)?)).expect("a valid model");
}

#[test]
fn offers_that_are_not_for_this_device_are_refused() {
    let (file, mut chip, mut page) = (model(3), device(), Page([0; 128]));
    let mut slots = started(&mut chip, &mut page.0);
    assert_eq!(slots.receive(&signed(7, DEVICE, 0, &file)), Err(SlotError::Rollback(0, 1)));
    slots.receive(&signed(7, DEVICE, 1, &file)).and_then(|_| slots.abandon()).expect("the same counter");
    let long = signed(7, DEVICE, 2, &[0; 1537]);
    assert_eq!(slots.receive(&long), Err(SlotError::TooLong(1537, 1536)));
    let good = signed(7, DEVICE, 2, &file);
    slots.receive(&good).and_then(|_| slots.push(&file)).expect("a free slot");
    let mut refused = |offer: Offer, error: Error| {
        assert_eq!(verify(&mut slots, &offer), Err(error.into()), "{offer:?}");
    };
    refused(signed(8, DEVICE, 2, &file), SlotError::Signature);
    refused(signed(7, *b"other class .. .", 2, &file), SlotError::Device);
    for bit in 32..128 * 8 {
        let mut bytes = [good.signed(), good.signature].concat();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let is_remembered = (24..64).contains(&(bit / 8));
        let offer = bytes.first_chunk().and_then(Offer::from_bytes).expect("an offer");
        refused(offer, if is_remembered { SlotError::OtherModel } else { SlotError::Signature });
    }
    assert_eq!(slots.try_for(1), Err(SlotError::Phase(Some(Phase::Arriving(good.len)))));
    assert_eq!(slots.confirm(), Err(SlotError::Phase(Some(Phase::Arriving(good.len)))));
    verify(&mut slots, &good).expect("the right offer");
    assert_eq!(slots.confirm(), Err(SlotError::Phase(Some(Phase::Verified))));
    slots.try_for(2).expect("it is verified");
    assert_eq!(slots.confirm(), Err(SlotError::Phase(Some(Phase::Trial(2)))), "it does not run yet");
}

#[test]
fn files_that_are_not_as_offered_are_refused() {
    let (file, offer, mut chip, mut page) = (model(3), offer(3), device(), Page([0; 128]));
    let len = file.len();
    let mut slots = started(&mut chip, &mut page.0);
    assert_eq!(slots.push(b"a"), Err(SlotError::Phase(None)));
    slots.receive(&offer).and_then(|_| slots.push(&file[..len - 1])).expect("a free slot");
    let arrived = slots.next().expect("it arrives").1;
    assert_eq!(verify(&mut slots, &offer), Err(SlotError::Phase(Some(arrived)).into()));
    assert_eq!(slots.push(&[file[len - 1], 0]), Err(SlotError::Surplus));
    assert_eq!(slots.receive(&super::device::offer(4)), Err(SlotError::OtherModel));
    assert_eq!(slots.receive(&super::device::offer(0)), Err(SlotError::Rollback(0, 1)));
    slots.abandon().expect("a valid journal");
    let text = b"\x02\0\0\0\0\0\0\0{]";
    let offer = signed(7, DEVICE, 9, text);
    slots.receive(&offer).and_then(|_| slots.push(text)).expect("a free slot");
    assert!(matches!(verify(&mut slots, &offer), Err(VerifyError::Model(error)) if error.at == 9));
    assert_eq!(slots.try_for(1), Err(SlotError::Phase(Some(Phase::Arriving(10)))));
}

#[test]
fn deltas_that_are_not_from_the_base_are_refused() {
    let (right, mut chip, mut page) = (delta(1, 3), device(), Page([0; 128]));
    let mut slots = started(&mut chip, &mut page.0);
    let base_len = slots.confirmed().expect("a model").len;
    let pieces = 8 + 26 + 32;
    let mut refused = |at: usize, bytes: &[u8], error: Error| {
        let mut file = right.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        slots.receive_delta(&offer(3)).expect("a free slot");
        let pushed = file.chunks(7).try_for_each(|piece| slots.push_delta(piece));
        assert_eq!(pushed, Err(error), "{bytes:?} at {at}");
        let again = if error == SlotError::Surplus { Err(error) } else { Ok(0) };
        assert_eq!(slots.receive_delta(&offer(3)), again);
        slots.abandon().expect("a valid journal");
    };
    refused(4, &[1], SlotError::Delta(8));
    refused(8 + 26, &[!right[8 + 26]], SlotError::OtherBase);
    refused(8 + 26 + 31, &[!right[8 + 26 + 31]], SlotError::OtherBase);
    refused(pieces, &[0; 12], SlotError::Delta(pieces as u32 + 12));
    let outside = [base_len.to_le_bytes(), [1, 0, 0, 0], [0; 4]];
    refused(pieces, outside.as_flattened(), SlotError::Delta(pieces as u32 + 12));
    refused(pieces, &[0xFF; 12], SlotError::Delta(pieces as u32 + 12));
    // One that never ends: it copies the base again and again.
    let bomb = [[0; 4], base_len.to_le_bytes(), [0; 4]].concat().repeat(4);
    refused(pieces, &bomb, SlotError::Surplus);
    slots.receive(&offer(3)).and_then(|_| slots.push(&model(3)[..700])).expect("a free slot");
    assert_eq!(slots.receive_delta(&offer(3)), Ok(0), "the delta begins at its first byte");
    slots.push_delta(&right).expect("the right delta");
    verify(&mut slots, &offer(3)).expect("the model of the offer");
    let mut page = Page([0; 128]);
    let mut chip = Chip::new(0xFF);
    let mut slots = started(&mut chip, &mut page.0);
    assert_eq!(slots.receive_delta(&offer(3)), Err(SlotError::OtherBase));
}

/// "Install models at run time; the firmware must boot even if every user-installed model is invalid."
#[test]
fn the_firmware_boots_even_if_every_installed_model_is_invalid() {
    let (mut chip, mut page, mut window) = (device(), Page([0; 128]), [0; 64]);
    chip.memory[3..].iter_mut().for_each(|sector| sector[100] ^= 1);
    let mut slots = started(&mut chip, &mut page.0);
    let model = slots.start().expect("it starts").expect("a model");
    assert!(matches!(read(&mut slots, &model, &mut window), Err(VerifyError::Model(_))));
    install(&mut chip, &mut page.0, 1);
    chip.memory[..3].as_flattened_mut().chunks_mut(128).for_each(|record| record[20] ^= 1);
    assert_eq!(started(&mut chip, &mut page.0).start(), Ok(None));
    run(&mut chip, &mut Seen::default(), 0, None);
}

#[test]
fn worn_out_sectors_keep_the_model_that_is_confirmed() {
    for sector in 0..3 {
        let (mut chip, mut seen) = (device(), Seen::default());
        chip.worn = sector..sector + 1;
        run(&mut chip, &mut seen, 4, None);
    }
    let (mut chip, mut page) = (device(), Page([0; 128]));
    chip.worn = 0..9;
    let mut slots = Slots::new(&mut chip, LAYOUT, &mut page.0);
    let model = slots.start().expect("nothing is to be written");
    assert_eq!(model.map(|model| model.counter), Some(1));
    assert!(matches!(slots.receive(&offer(3)), Err(SlotError::NotWritten(0..1536))));
    assert_eq!(slots.confirmed(), model);
}

/// One bit of a record is programmed by a write beside it.
#[test]
fn a_disturbed_record_loses_none_of_those_behind_it() {
    let (mut chip, mut page) = (device(), Page([0; 128]));
    install(&mut chip, &mut page.0, 1);
    let mut slots = Slots::new(&mut chip, LAYOUT, &mut page.0);
    slots.start().and_then(|_| slots.confirm()).expect("it is tried");
    let confirmed = slots.confirmed();
    chip.memory[..3].iter_mut().for_each(|sector| sector[20] = 0);
    let mut slots = Slots::new(&mut chip, LAYOUT, &mut page.0);
    assert_eq!(slots.start(), Ok(confirmed));
    assert_eq!(slots.start(), Ok(confirmed));
}

#[test]
fn a_second_start_takes_none_of_those_that_are_left() {
    let (mut chip, mut page) = (device(), Page([0; 128]));
    install(&mut chip, &mut page.0, 2);
    let mut slots = Slots::new(&mut chip, LAYOUT, &mut page.0);
    for _ in 0..2 {
        let model = slots.start().expect("it is tried");
        assert_eq!(slots.next(), model.map(|model| (model, Phase::Trial(1))));
    }
    slots.abandon().expect("a valid journal");
    assert_eq!(slots.receive(&offer(3)), Err(SlotError::NoSlot), "the model still runs");
}

#[test]
fn nothing_can_be_called_after_a_start_that_fails() {
    let (mut chip, mut page) = (device(), Page([0; 128]));
    chip.fault = Some(Fault { call: 1, tear: Tear::Bits, end: End::PowerCut, seed: 0 });
    let mut slots = Slots::new(&mut chip, LAYOUT, &mut page.0);
    slots.start().expect("a valid journal");
    assert_eq!(slots.receive(&offer(3)), Err(SlotError::Flash(NorFlashErrorKind::Other)));
    assert!(slots.start().is_err());
    assert_eq!(slots.receive(&offer(3)), Err(SlotError::NotStarted));
    assert_eq!(slots.receive_delta(&offer(3)), Err(SlotError::NotStarted));
    for outcome in
        [slots.push(b"a"), slots.push_delta(b"a"), slots.try_for(1), slots.confirm(), slots.abandon()]
    {
        assert_eq!(outcome, Err(SlotError::NotStarted));
    }
    assert_eq!(verify(&mut slots, &offer(3)), Err(SlotError::NotStarted.into()));
}

#[test]
fn a_caller_s_mistake_has_its_own_error() {
    let (mut chip, mut page) = (Chip::new(0xFF), Page([0; 128]));
    run(&mut chip, &mut Seen::default(), 0, None);
    let mut slots = Slots::new(&mut chip, LAYOUT, &mut page.0);
    assert!(size_of_val(&slots) <= 200 + size_of::<&mut Chip>());
    assert_eq!(slots.receive(&offer(3)), Err(SlotError::NotStarted));
    assert_eq!(Slots::new(&mut chip, LAYOUT, &mut page.0[..127]).start(), Err(SlotError::Page(127, 128)));
    let changes: [fn(&mut Layout); 7] = [
        |layout| layout.region.end -= 1024, // the model is longer than a slot
        |layout| layout.journal = 2,
        |layout| layout.slots = 1,
        |layout| layout.slots = 100,
        |layout| layout.region.start = 8,
        |layout| layout.region.end = 4609,
        |layout| layout.region.end = 0,
    ];
    for change in changes {
        let mut layout = LAYOUT;
        change(&mut layout);
        assert_eq!(
            Slots::new(&mut chip, layout.clone(), &mut page.0).start(),
            Err(SlotError::Layout),
            "{layout:?}"
        );
    }
}
