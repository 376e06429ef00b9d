//! A model in a partition of an ESP32-C3's flash. Opening it validates it, through a window of 256 bytes.
//! The weights are read row by row. To write the model: `espflash write-bin 0x110000 model.safetensors`.
//! For another chip, change the features in `Cargo.toml`, and target and runner in `.cargo/config.toml`.
//! For your model, change `partitions.csv` (the partition must hold it), `TENSORS` and `run`.
#![no_std]
#![no_main]

use core::{ops::Range, panic::PanicInfo};
use embedded_safetensors::io::{NorError, NorFile};
use embedded_safetensors::{ErrorKind, Model, ReadError, query::Query, tensor::Located};
use embedded_storage::nor_flash::ReadNorFlash;
use esp_bootloader_esp_idf::partitions::{PARTITION_TABLE_MAX_LEN, read_partition_table};
use esp_println::println;
use esp_storage::FlashStorage;

/// The names and shapes of the tensors that `run` reads.
const TENSORS: [(&str, &[u64]); 3] = [("fc.weight", &[4, 8]), ("fc.scale", &[4]), ("fc.bias", &[4])];

/// Replaces the samples of a sensor.
const INPUTS: [f32; 8] = [3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0, -6.0];

esp_bootloader_esp_idf::esp_app_desc!();

#[esp_hal::main]
fn main() -> ! {
    let peripherals = esp_hal::init(esp_hal::Config::default());
    let mut flash = FlashStorage::new(peripherals.FLASH);
    match partition(&mut flash, "model").map(|addresses| run(NorFile::partition(flash, addresses))) {
        None => println!("error: the flash has no partition `model`"),
        Some(Ok(outputs)) => {
            println!("outputs in thousandths: {:?}", outputs.map(|output| (output * 1e3) as i32));
        }
        // The code names the error. Its sentence, by `{}`, would take several times the flash.
        Some(Err(ReadError::Format(error))) => println!("error[{}] at byte {}", error.kind.code(), error.at),
        Some(Err(ReadError::UnexpectedEof { at })) => println!("error: the partition ends at byte {}", at),
        Some(Err(ReadError::Source(NorError(error)))) => println!("error: the flash fails: {:?}", error),
    }
    loop {
        core::hint::spin_loop();
    }
}

/// Returns the addresses of the partition with this label.
fn partition(flash: &mut FlashStorage<'_>, label: &str) -> Option<Range<u32>> {
    let mut buffer = [0; PARTITION_TABLE_MAX_LEN];
    let table = read_partition_table(flash, &mut buffer).ok()?;
    let entry = table.iter().find(|entry| entry.label_as_str() == label)?;
    Some(entry.offset()..entry.offset() + entry.len())
}

/// Computes the layer.
fn run<F: ReadNorFlash>(file: NorFile<F>) -> Result<[f32; 4], ReadError<NorError<F::Error>>> {
    let mut window = [0; 256];
    let mut tensors = TENSORS.map(|(name, _)| Query::required(name));
    let mut model = Model::open_with(file, &mut tensors, &mut window)?;
    for (tensor, (_, shape)) in tensors.iter().zip(TENSORS) {
        if tensor.dims() != shape {
            let begin = tensor.info().map_or(0, |info| info.begin());
            return Err(ErrorKind::ShapeMismatch.at(model.summary().data_start + begin).into());
        }
    }
    let [weight, scale, bias] = &tensors;
    let (mut row, mut scales, mut outputs) = ([0.0; 8], [0.0; 4], [0.0; 4]);
    model.reader(scale)?.values().read_exact(&mut scales)?;
    model.reader(bias)?.values().read_exact(&mut outputs)?;
    let mut rows = model.reader(weight)?.rows(0..4)?;
    for (output, scale) in outputs.iter_mut().zip(scales) {
        rows.read_exact(&mut row)?; // I8 in flash, `f32` in `row`
        *output += scale * row.iter().zip(INPUTS).map(|(weight, input)| weight * input).sum::<f32>();
    }
    Ok(outputs)
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    println!("{}", info);
    loop {
        core::hint::spin_loop();
    }
}
