//! Recordings of a running network, and their validity after errors.

use app::{COUNT, Event, Failure, Observer, Recording, origin};
use embedded_safetensors::{ErrorKind, View, WriteAt, WriteError};
use std::ops::Range;

const LAYERS: [usize; 4] = [400, 400, 400, 10];
const VALUES: usize = 1210;
const FILE_LEN: usize = 8 + 1488 + (COUNT * VALUES * 4) + COUNT;

/// Returns the value at this index in the row of an image.
fn value(image: usize, index: usize) -> f32 {
    (image * VALUES + index) as f32 / 8.0
}

/// Feeds the observer as a network does, for this many images.
fn work(observer: &mut impl Observer, images: usize) {
    for image in 0..images {
        let mut index = 0;
        for width in LAYERS {
            let outputs: Vec<f32> = (index..index + width).map(|index| value(image, index)).collect();
            observer.layer(&outputs);
            index += width;
        }
        observer.guess(image as u8 % 10);
    }
}

/// Records this many images in this storage.
fn record<W: WriteAt>(storage: W, images: usize) -> Result<Event<'static>, Failure<W::Error>> {
    let (origin, mut page) = (origin("a board", "a model"), [0; 64]);
    let mut recording = Recording::new(storage, &origin, &mut page)?;
    work(&mut recording, images);
    Ok(recording.finish()?)
}

#[test]
fn recording_has_all_outputs_and_digits() {
    let mut memory = vec![0; FILE_LEN];
    let event = record(&mut memory[..], COUNT).expect("enough space");
    assert_eq!(
        event.to_string(),
        format!("recorded: {FILE_LEN} bytes, 64 guesses and 1210 activations for each")
    );

    let file = View::parse(&memory).expect("valid file");
    let names = ["first.fc1", "first.fc2", "first.fc3", "first.fc4", "others"];
    let floats = names.map(|name| file.tensor(name).expect("found").bytes().as_chunks().0).concat();
    let floats = floats.iter().map(|bytes| f32::from_le_bytes(*bytes)).enumerate();
    assert!(floats.clone().all(|(index, float)| float == value(index / VALUES, index % VALUES)));
    assert_eq!(floats.count(), COUNT * VALUES);
    let guesses = file.tensor("guesses").expect("found").bytes();
    assert!(guesses.iter().enumerate().all(|(image, &guess)| usize::from(guess) == image % 10));
    assert!(String::from_utf8_lossy(&memory).contains(r#","board":"a board","model":"a model"}"#));
}

#[test]
fn older_recording_stays_without_new_outputs() {
    let mut memory = vec![0xAA; FILE_LEN];
    let (origin, mut page) = (origin("a board", "a model"), [0; 64]);
    assert!(Recording::new(&mut memory[..], &origin, &mut page).is_ok());
    assert_eq!(memory, [0xAA; FILE_LEN]);
}

#[test]
fn incomplete_recording_is_invalid() {
    let mut memory = vec![0; FILE_LEN];
    let failure = record(&mut memory[..], COUNT - 1).expect_err("an image is missing");
    let Failure::NotRecorded(WriteError::Format(error)) = failure else { panic!("{failure}") };
    assert!(matches!(error.kind, ErrorKind::Incomplete { .. }), "{error}");
    assert_eq!(failure.exit_code(), 5);
    assert_eq!(memory.first_chunk(), Some(&[0xFF; 8]));
}

/// Memory that loses these writes, counted from 0.
struct Worn<'m> {
    memory: &'m mut [u8],
    writes: u32,
    lost: Range<u32>,
}

impl WriteAt for Worn<'_> {
    type Error = &'static str;

    fn capacity(&mut self) -> Result<Option<u64>, &'static str> {
        Ok(Some(self.memory.len() as u64))
    }

    fn prepare(&mut self, data_start: u64, file_len: u64) -> Result<(), WriteError<&'static str>> {
        self.memory.prepare(data_start, file_len).map_err(|_| WriteError::Sink("the memory is too large"))
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<usize, &'static str> {
        let write = self.writes;
        self.writes += 1;
        if self.lost.contains(&write) {
            return Err("the memory is worn out");
        }
        let Ok(len) = self.memory.write_at(offset, bytes);
        Ok(len)
    }

    fn flush(&mut self) -> Result<(), &'static str> {
        Ok(())
    }
}

/// Records in memory that loses these writes; returns the failure, and the number of writes.
fn worn(lost: Range<u32>, memory: &mut [u8]) -> (Option<Failure<&'static str>>, u32) {
    let mut worn = Worn { memory, writes: 0, lost };
    (record(&mut worn, COUNT).err(), worn.writes)
}

#[test]
fn recording_is_complete_or_invalid() {
    let mut memory = vec![0; FILE_LEN];
    let (failure, writes) = worn(0..0, &mut memory);
    assert!(failure.is_none() && writes > 256);
    for first in (0..writes).step_by(16).chain(writes - 8..writes) {
        for lost in [first..writes, first..first + 1] {
            let failure = worn(lost, &mut memory).0.expect("a write is missing");
            let sentence = "error: the file cannot be written: the memory is worn out";
            assert_eq!((failure.to_string(), failure.exit_code()), (sentence.to_owned(), 2));
            assert!(View::parse(&memory).is_err(), "from write {first} on");
        }
    }
}
