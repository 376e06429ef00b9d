//! Uses a model from a slot of the flash, and receives the next one over the UART, in lines of hexadecimal
//! digits: the 128 bytes that `safetensors sign` has written, then bytes of the model, fewer in each line.
//! The answer is the byte of the model to send from, also after a reset in the middle. The last byte ends the
//! program, as if for a reset; the next start tries the model.
#![no_std]
#![no_main]

use core::fmt::{self, Write};
use embedded_safetensors::integrity::Sha256;
use embedded_safetensors::{Dtype, Model, ReadAt, ReadError, query::Query};
use riscv_virt::Uart;
use riscv_virt::cfi::{Cfi, CfiError};
use safetensors_slots::{Ed25519, Layout, Offer, Page, SlotError, VerifyError};

/// Whoever has `host/tests/keys/signer.pem` may install models: use a key of your own.
const OWNERS: Ed25519<'_> = Ed25519(&[(0, *include_bytes!("../../update/owner.key"))]);
const DEVICE: [u8; 16] = *b"riscv-virt\0\0\0\0\0\0";
const LAYOUT: Layout = Layout { region: 0..0x40_0000, journal: 3, slots: 2 };
/// How often a model starts before it is confirmed or given up.
const STARTS: u8 = 3;
const BIAS: Query<'_> = Query::required("fc.bias").dtype(Dtype::F32).shape(&[3]);
/// It runs if no other model does.
const BUILT_IN: &[u8] = include_bytes!("../../../minimal/model.safetensors");

type Slots<'p> = safetensors_slots::Slots<'p, Cfi>;

#[board::entry]
fn main() -> ! {
    riscv_virt::run(|_, flash| serve(flash, &mut riscv_virt::uart()).map_err(|fmt::Error| 2))
}

fn serve(flash: Cfi, uart: &mut Uart) -> fmt::Result {
    let (mut page, mut bytes, mut offer) = (Page([0; 256]), [0; 128], None);
    let mut slots = Slots::new(flash, LAYOUT, &mut page.0);
    // A model is verified already if the power was cut before its trial.
    if !start(&mut slots, uart)? || slots.try_for(STARTS).is_ok() {
        return writeln!(uart, "reset");
    }
    writeln!(uart, "waiting for an offer")?;
    loop {
        match obey(&mut slots, &mut offer, read_line(uart, &mut bytes)) {
            Ok(()) if slots.try_for(STARTS).is_ok() => return writeln!(uart, "verified"),
            Ok(()) => writeln!(uart, "send from byte {}", slots.position()),
            Err(error) => writeln!(uart, "error: {error}"),
        }?;
    }
}

/// Uses a model, and confirms it if it is tried. Returns false if another start is needed.
fn start(slots: &mut Slots<'_>, uart: &mut Uart) -> Result<bool, fmt::Error> {
    // If this start cannot be counted, the confirmed model is used.
    let active = slots.start().unwrap_or_else(|_| slots.confirmed());
    let expected = active.map(|model| *slots.sum(&model));
    let outcome = active.map(|model| run(slots.file(&model), expected.as_ref()));
    if let Some(Err(error)) = &outcome {
        writeln!(uart, "installed model: {error}")?;
    }
    let (which, sum) = match outcome {
        Some(Ok(sum)) => ("installed", sum),
        Some(Err(_)) if active != slots.confirmed() => return Ok(false),
        _ => ("built-in", run(BUILT_IN, None).unwrap_or_default()),
    };
    writeln!(uart, "{which} model: the sum is {sum} thousandths")?;
    if slots.confirm().is_ok() {
        writeln!(uart, "confirmed")?;
    }
    Ok(true)
}

/// Verifies the sum of a file, and adds the values of a tensor: in place of what your model is for.
fn run<S: ReadAt>(file: S, sum: Option<&[u8; 32]>) -> Result<i32, ReadError<S::Error>> {
    let (mut tensors, mut window, mut values) = ([BIAS], [0; 256], [0_f32; 3]);
    let mut model = Model::open_with(file, &mut tensors, &mut window)?;
    if let Some(sum) = sum {
        model.verify(Sha256::new(), sum, &mut window)?;
    }
    let [bias] = &tensors;
    model.reader(bias)?.values().read_exact(&mut values)?;
    Ok((values.iter().sum::<f32>() * 1e3) as i32)
}

/// Waits for a line of hexadecimal digits, and returns their bytes.
fn read_line<'b>(uart: &mut Uart, bytes: &'b mut [u8]) -> &'b [u8] {
    let (mut received, mut digits) = ([0], 0);
    while received != *b"\n" {
        uart.inner_mut().receive_bytes_exact(&mut received);
        let digit = char::from(received[0]).to_digit(16);
        if let (Some(digit), Some(byte)) = (digit, bytes.get_mut(digits / 2)) {
            *byte = *byte << 4 | digit as u8;
            digits += 1;
        }
    }
    &bytes[..digits / 2]
}

/// Does what a line says. Verifies the model if that was its last byte.
fn obey(slots: &mut Slots<'_>, offer: &mut Option<Offer>, line: &[u8]) -> Result<(), VerifyError<CfiError>> {
    if let Ok(bytes) = line.try_into() {
        let new = Offer::from_bytes(bytes).ok_or(SlotError::Signature)?;
        new.check(&OWNERS, &DEVICE)?;
        if let Err(SlotError::OtherModel) = slots.receive(&new) {
            slots.abandon()?;
        }
        slots.receive(&new)?;
        *offer = Some(new);
    } else {
        slots.push(line)?;
    }
    let Some(offer) = offer.filter(|offer| slots.position() == offer.len) else { return Ok(()) };
    let verified = slots.verify(&offer, &OWNERS, &DEVICE, &mut [BIAS]);
    if let Err(VerifyError::Model(_)) = verified {
        slots.abandon()?;
    }
    verified
}
