//! The same model in NOR flash, where it can be updated without the program. Opening it validates it,
//! through a window of 256 bytes, and its sum is verified. The weights stay in flash and are read row by row.
//! For your board, replace `Flash` by your HAL's flash driver (any `ReadNorFlash`), and `NorFile::new` by
//! `NorFile::partition` with the offsets of the model. For your model, change `TENSORS` and `run`.
#![no_std]
#![no_main]

use cortex_m_semihosting::{debug, hprintln};
use embedded_safetensors::io::{NorError, NorFile};
use embedded_safetensors::{Dtype, Model, ReadError, integrity::Sha256, query::Query};
use embedded_storage::nor_flash::{ErrorType, NorFlashErrorKind, ReadNorFlash, check_read};
use panic_semihosting as _;

/// The tensors that `run` reads. A model with another dtype or shape is an error.
const TENSORS: [Query<'_>; 3] = [
    Query::required("fc.weight").dtype(Dtype::I8).shape(&[3, 8]),
    Query::required("fc.scale").dtype(Dtype::F16).shape(&[3]),
    Query::required("fc.bias").dtype(Dtype::F32).shape(&[3]),
];

const INPUTS: [f32; 8] = [3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0, -6.0]; // for your sensor's samples

#[cortex_m_rt::entry]
fn main() -> ! {
    let outcome = run(Flash);
    match outcome {
        Ok(outputs) => hprintln!("outputs in thousandths: {:?}", outputs.map(|output| (output * 1e3) as i32)),
        // The code names the error. Its sentence, by `{}`, would take several times the flash.
        Err(ReadError::Format(error)) => {
            let tensor = error.tensor_name(&TENSORS).unwrap_or("the model");
            hprintln!("{}: error[{}] at byte {}", tensor, error.kind.code(), error.at);
        }
        Err(ReadError::UnexpectedEof { at }) => hprintln!("error: the flash ends at byte {}", at),
        Err(ReadError::Source(NorError(error))) => hprintln!("error: the flash fails: {:?}", error),
    }
    loop {
        debug::exit(if outcome.is_ok() { debug::EXIT_SUCCESS } else { debug::EXIT_FAILURE });
    }
}

fn run<F: ReadNorFlash>(flash: F) -> Result<[f32; 3], ReadError<NorError<F::Error>>> {
    let (mut tensors, mut window) = (TENSORS, [0; 256]);
    let mut model = Model::open_with(NorFile::new(flash), &mut tensors, &mut window)?;
    model.verify_embedded(Sha256::new(), &mut window)?; // one flipped bit in a weight is an error
    let [weight, scale, bias] = &tensors;
    let (mut row, mut scales, mut outputs) = ([0.0; 8], [0.0; 3], [0.0; 3]);
    model.reader(scale)?.values().read_exact(&mut scales)?;
    model.reader(bias)?.values().read_exact(&mut outputs)?;
    let mut rows = model.reader(weight)?.rows(0..3)?;
    for (output, scale) in outputs.iter_mut().zip(scales) {
        rows.read_exact(&mut row)?; // I8 in flash, `f32` in `row`
        *output += scale * row.iter().zip(INPUTS).map(|(weight, input)| weight * input).sum::<f32>();
    }
    Ok(outputs)
}

/// Replaces the flash: reads any bytes of a file that is in the program.
struct Flash;
static PARTITION: &[u8] = include_bytes!("../../model.safetensors");

impl ErrorType for Flash {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Self::Error> {
        check_read(self, offset, bytes.len())?;
        bytes.copy_from_slice(&PARTITION[offset as usize..][..bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        PARTITION.len()
    }
}
