//! A model in flash that is read asynchronously: while a task awaits the flash, other tasks run. Opening it
//! validates it, through a window of 256 bytes, and its sum is verified. A row is read while one is used.
//!
//! For your board, replace `flash.rs` by your HAL's flash driver (any async `ReadNorFlash`), `NorFile::new`
//! by `NorFile::partition` with the offsets of the model. For your model, change `TENSORS` and `run`.
#![no_std]
#![no_main]

mod flash;

use core::slice;
use core::sync::atomic::{AtomicU32, Ordering};
use cortex_m_semihosting::{debug, hprintln};
use embassy_executor::Spawner;
use embassy_futures::yield_now;
use embedded_safetensors::asynch::{Model, NorFile};
use embedded_safetensors::{Dtype, ReadError, integrity::Sha256, io::NorError, query::Query};
use embedded_storage_async::nor_flash::ReadNorFlash;
use flash::Flash;
use panic_semihosting as _;

/// The tensors that `run` reads. A model with another dtype or shape is an error.
const TENSORS: [Query<'_>; 3] = [
    Query::required("fc.weight").dtype(Dtype::I8).shape(&[3, 8]),
    Query::required("fc.scale").dtype(Dtype::F16).shape(&[3]),
    Query::required("fc.bias").dtype(Dtype::F32).shape(&[3]),
];

const INPUTS: [f32; 8] = [3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0, -6.0]; // for your sensor's samples

static RUNS: AtomicU32 = AtomicU32::new(0);

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    spawner.spawn(other_work().expect("the only one"));
    let outcome = run(Flash).await;
    match outcome {
        Ok(outputs) => {
            hprintln!("outputs in thousandths: {:?}", outputs.map(|output| (output * 1e3) as i32));
            hprintln!("meanwhile the other task ran {} times", RUNS.load(Ordering::Relaxed));
        }
        // The code names the error. Its sentence, by `{}`, would take several times the flash.
        Err(ReadError::Format(error)) => {
            let tensor = error.tensor_name(&TENSORS).unwrap_or("the model");
            hprintln!("{}: error[{}] at byte {}", tensor, error.kind.code(), error.at);
        }
        Err(ReadError::UnexpectedEof { at }) => hprintln!("error: the flash ends at byte {}", at),
        Err(ReadError::Source(NorError(error))) => hprintln!("error: the flash fails: {:?}", error),
    }
    debug::exit(if outcome.is_ok() { debug::EXIT_SUCCESS } else { debug::EXIT_FAILURE });
}

/// Replaces all else that the device does.
#[embassy_executor::task]
async fn other_work() {
    loop {
        RUNS.fetch_add(1, Ordering::Relaxed);
        yield_now().await;
    }
}

async fn run<F: ReadNorFlash>(flash: F) -> Result<[f32; 3], ReadError<NorError<F::Error>>> {
    let (mut tensors, mut window) = (TENSORS, [0; 256]);
    let mut model = Model::open_with(NorFile::new(flash), &mut tensors, &mut window).await?;
    model.verify_embedded(Sha256::new(), &mut window).await?; // one flipped bit in a weight is an error
    let [weight, scale, bias] = &tensors;
    let (mut scales, mut outputs) = ([0.0; 3], [0.0; 3]);
    model.reader(scale)?.values().read_exact(&mut scales).await?;
    model.reader(bias)?.values().read_exact(&mut outputs).await?;
    let (mut one, mut other) = ([0.0; 8], [0.0; 8]); // one is read while the other is used
    let (mut rows, mut sums) = (model.read_ahead(slice::from_ref(weight))?, outputs.iter_mut().zip(scales));
    rows.for_each([&mut one, &mut other], async |part| {
        for (row, (output, scale)) in part.values.chunks(8).zip(&mut sums) {
            let products = row.iter().zip(INPUTS).map(|(weight, input)| weight * input); // I8 in flash
            *output += scale * products.sum::<f32>();
        }
    })
    .await?;
    Ok(outputs)
}
