//! A device that records what it has learned, and keeps the old file until the new one is complete. It
//! alternates between two partitions of NOR flash.

pub(crate) mod support {
    pub mod chip;
}

use embedded_safetensors::{
    Dtype, ErrorKind, Model, ReadError,
    error::Class,
    io::NorFile,
    query::Query,
    write::{FileSpec, TensorSpec, Writer},
};
use std::error::Error;
use std::ops::Range;
use support::chip::Chip;

/// Space for two files, from the linker script or the partition table. Each begins at an erase boundary.
const PARTITIONS: [Range<u32>; 2] = [0x4000..0x6000, 0x6000..0x8000];

fn main() -> Result<(), Box<dyn Error>> {
    let mut chip = Chip::new();
    start(&mut chip)?;
    record(&mut chip, [0.25, 0.5, 0.75])?;
    record(&mut chip, [0.5, 1.0, 1.5])?;

    chip.lose_power_after(3);
    if let Err(error) = record(&mut chip, [0.75, 1.5, 2.25]) {
        println!("the power goes: {error}");
    }
    chip.restart();
    start(&mut chip)?;

    chip.fail_read(1);
    if let Err(error) = record(&mut chip, [0.75, 1.5, 2.25]) {
        println!("a read fails, and nothing is recorded: {error}");
    }
    record(&mut chip, [0.75, 1.5, 2.25])?;
    start(&mut chip)
}

/// Records the gains in the partition that does not have the newest recording.
pub(crate) fn record(chip: &mut Chip, gains: [f32; 3]) -> Result<(), Box<dyn Error>> {
    let (number, partition) = newest(chip)?.map_or((1, 0), |(number, partition)| (number + 1, 1 - partition));
    println!("recording {number} goes into partition {partition}");

    let (number, tensors) = (number.to_string(), [TensorSpec::new("gains", Dtype::F32, &[3])]);
    let metadata = [("number", number.as_str())];
    let plan = FileSpec::new(&tensors).with_metadata(&metadata).plan()?;

    let storage = NorFile::partition(chip, PARTITIONS[partition].clone());
    let mut page = [0; 256];
    let mut recorder = Writer::record(storage, plan, &mut page)?;
    for gain in gains {
        recorder.write(&[gain])?; // small writes are collected in the page
    }
    recorder.finish()?; // the file is not valid before this
    Ok(())
}

/// Returns the number and partition of the newest complete recording. A partition that cannot be read is an
/// error: if it were treated as empty, the newest recording might be erased next.
pub(crate) fn newest(chip: &mut Chip) -> Result<Option<(u32, usize)>, Box<dyn Error>> {
    let mut newest = None;
    for partition in 0..PARTITIONS.len() {
        newest = newest.max(number(chip, partition)?.map(|number| (number, partition)));
    }
    Ok(newest)
}

/// Returns the number of the recording in this partition, if it has a complete one.
fn number(chip: &mut Chip, partition: usize) -> Result<Option<u32>, Box<dyn Error>> {
    let (mut text, mut window) = ([0; 10], [0; 64]);
    let storage = NorFile::partition(chip, PARTITIONS[partition].clone());
    let mut gains = [Query::required("gains").dtype(Dtype::F32).shape(&[3])];
    let mut model = match Model::open_with(storage, &mut gains, &mut window) {
        Ok(model) => model,
        Err(ReadError::Format(error)) if is_not_recording(error.kind) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    match model.metadata_value("number", &mut text, &mut window) {
        Ok(number) => Ok(number.and_then(|number| number.parse().ok())),
        Err(ReadError::Format(error)) if is_not_recording(error.kind) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether the partition is erased, has an interrupted recording, whose bits may read differently each time,
/// or a file that this program does not write.
fn is_not_recording(error: ErrorKind) -> bool {
    error.class() == Class::File || error.is_wrong_model() || error == ErrorKind::Changed
}

/// Runs when the device starts.
fn start(chip: &mut Chip) -> Result<(), Box<dyn Error>> {
    let Some((number, partition)) = newest(chip)? else {
        println!("after a start: nothing is recorded");
        return Ok(());
    };
    let mut window = [0; 64];
    let mut model = Model::open(NorFile::partition(chip, PARTITIONS[partition].clone()), &mut window)?;
    let tensor = model.find("gains", &mut window)?.ok_or("the recording has no gains")?;
    let mut gains = [0.0_f32; 3];
    model.reader(&tensor)?.values().read_exact(&mut gains)?;
    println!("after a start: recording {number} in partition {partition}, gains {gains:?}");
    Ok(())
}
