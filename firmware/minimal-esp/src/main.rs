//! A model in a partition of an ESP32-C3's flash. Opening it validates it, through a window of 256 bytes.
//! Its sum is verified. Write it with `espflash write-bin 0x110000 model.safetensors`.
//! For another chip, change the features in `Cargo.toml`, and target and runner in `.cargo/config.toml`.
//! For your model, change `partitions.csv` (the partition must hold it), `TENSORS` and `run`.
#![no_std]
#![no_main]

use embedded_safetensors::io::{NorError, NorFile};
use embedded_safetensors::{Dtype, Model, ReadError, integrity::Sha256, query::Query};
use embedded_storage::nor_flash::ReadNorFlash;
use esp_println::println;
use esp_storage::FlashStorage;

mod device;

/// The tensors that `run` reads. A model with another dtype or shape is an error.
const TENSORS: [Query<'_>; 3] = [
    Query::required("fc.weight").dtype(Dtype::I8).shape(&[3, 8]),
    Query::required("fc.scale").dtype(Dtype::F16).shape(&[3]),
    Query::required("fc.bias").dtype(Dtype::F32).shape(&[3]),
];
const INPUTS: [f32; 8] = [3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0, -6.0]; // for your sensor's samples

esp_bootloader_esp_idf::esp_app_desc!();

#[esp_hal::main]
fn main() -> ! {
    let mut flash = FlashStorage::new(esp_hal::init(esp_hal::Config::default()).FLASH);
    match device::partition(&mut flash, "model").map(|addresses| run(NorFile::partition(flash, addresses))) {
        None => println!("error: the flash has no partition `model`"),
        Some(Ok(outputs)) => {
            println!("outputs in thousandths: {:?}", outputs.map(|output| (output * 1e3) as i32));
        }
        // The code names the error. Its sentence, by `{}`, would take several times the flash.
        Some(Err(ReadError::Format(error))) => {
            let tensor = error.tensor_name(&TENSORS).unwrap_or("the model");
            println!("{}: error[{}] at byte {}", tensor, error.kind.code(), error.at);
        }
        Some(Err(ReadError::UnexpectedEof { at })) => println!("error: the partition ends at byte {}", at),
        Some(Err(ReadError::Source(NorError(error)))) => println!("error: the flash fails: {:?}", error),
    }
    device::stop()
}

fn run<F: ReadNorFlash>(file: NorFile<F>) -> Result<[f32; 3], ReadError<NorError<F::Error>>> {
    let (mut tensors, mut window) = (TENSORS, [0; 256]);
    let mut model = Model::open_with(file, &mut tensors, &mut window)?;
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
