//! Memory, files of the system, and user-defined storage.

use std::convert::Infallible;

use embedded_safetensors::{ErrorKind, WriteAt, WriteError, write::Placement};
use support::verdict::full_verdict;

use crate::recording::sample::Sample;

#[test]
fn memory_has_the_length_of_the_file() {
    for sample in [Sample::short(), Sample::long()] {
        let file = sample.file();
        let mut memory = vec![7; file.len()];
        for (buffer, piece) in [(8, 1), (9, 1000), (64, 20), (1000, 50)] {
            memory.fill(7);
            sample.record(&mut memory[..], buffer, piece).expect("succeeds");
            assert_eq!(memory, file);
        }
        let needed = file.len() as u64;
        let outcome = sample.record(&mut memory[1..], 64, 50).map(drop);
        assert_eq!(outcome, Err(ErrorKind::Capacity { needed, capacity: needed - 1 }.at(needed - 1).into()));
        memory.push(7);
        let outcome = sample.record(&mut memory[..], 64, 50).map(drop);
        assert_eq!(outcome, Err(ErrorKind::Longer { len: needed + 1, file_len: needed }.at(needed).into()));
        assert_eq!(memory[..file.len()], file, "unchanged");
    }
}

#[test]
fn padding_between_tensors_is_recorded() {
    for placement in [Placement::Padded(16), Placement::Padded(512), Placement::BySize(64)] {
        let sample = Sample::long().with_placement(placement);
        let file = sample.file();
        full_verdict(&file).expect("valid file");
        for (buffer, piece) in [(8, 1), (64, 20), (100, 1000), (5000, 7)] {
            let mut memory = vec![7; file.len()];
            sample.record(&mut memory[..], buffer, piece).expect("succeeds");
            assert_eq!(memory, file, "{placement:?}, {buffer}, {piece}");
        }
    }
}

/// Memory in units of a size known only at run time, which takes one unit at a time.
struct Units {
    unit: usize,
    memory: Vec<u8>,
    capacity: Option<u64>,
    /// How many bytes more it claims to have written.
    more: isize,
}

impl WriteAt for Units {
    type Error = Infallible;

    fn unit(&self) -> usize {
        self.unit
    }

    fn capacity(&mut self) -> Result<Option<u64>, Infallible> {
        Ok(self.capacity)
    }

    fn prepare(&mut self, _: u64, file_len: u64) -> Result<(), WriteError<Infallible>> {
        self.memory = vec![0xFF; usize::try_from(file_len).unwrap().next_multiple_of(self.unit)];
        Ok(())
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<usize, Infallible> {
        let offset = usize::try_from(offset).unwrap();
        assert!(offset.is_multiple_of(self.unit) && bytes.len().is_multiple_of(self.unit));
        self.memory[offset..offset + self.unit].copy_from_slice(&bytes[..self.unit]);
        Ok(self.unit.saturating_add_signed(self.more))
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

fn record(
    unit: usize,
    capacity: Option<u64>,
    sample: &Sample,
    buffer: usize,
) -> Result<Vec<u8>, WriteError<Infallible>> {
    let storage = Units { unit, memory: vec![], capacity, more: 0 };
    sample.record(storage, buffer, 50).map(|storage| storage.memory)
}

#[test]
fn counts_that_no_write_can_have_are_errors() {
    let sample = Sample::short().with_data_unit(16);
    for (more, is_error) in [(0, false), (1, true), (16, true), (1 << 30, true), (-1, true)] {
        for outcome in [
            sample.record(Units { unit: 16, memory: vec![], capacity: None, more }, 64, 50).map(drop),
            sample.receive(Units { unit: 16, memory: vec![], capacity: None, more }, 64, 50).map(drop),
        ] {
            let kind = outcome.map_err(|error| match error {
                WriteError::Format(error) => error.kind,
                error => panic!("{error}"),
            });
            assert_eq!(matches!(kind, Err(ErrorKind::Count { .. })), is_error, "{more}: {kind:?}");
        }
    }
}

#[test]
fn storage_may_take_one_unit_at_a_time() {
    for unit in [1, 2, 4, 8, 16, 32, 64, 128, 256, 4096] {
        let sample = Sample::long().with_data_unit(unit);
        for buffer in [unit.max(8), 3 * unit + 8, 10_000] {
            let memory = record(unit, None, &sample, buffer).expect("succeeds");
            let (file, after) = memory.split_at(sample.file().len());
            assert_eq!(file, sample.file());
            assert!(after.len() < unit && after.iter().all(|byte| *byte == 0xFF));
        }
    }
}

#[test]
fn unaligned_data_and_small_buffers_are_rejected() {
    let sample = Sample::short(); // 405 bytes, the data from byte 72 on
    let inside = |unit| Err(ErrorKind::Unit { unit }.at(72).into());
    assert_eq!(record(16, None, &sample, 64), inside(16));
    assert_eq!(record(256, None, &sample, 512), inside(256));
    assert_eq!(record(24, None, &sample, 64), inside(24), "no power of two");
    assert_eq!(record(0, None, &sample, 64), inside(0));
    let small = |needed, capacity| Err(ErrorKind::BufferLength { needed, capacity }.at(0).into());
    assert_eq!(record(8, None, &sample, 7), small(8, 7));
    assert_eq!(record(1, None, &sample, 0), small(8, 0));
    assert_eq!(record(256, None, &sample.clone().with_data_unit(256), 255), small(256, 255));
    let full = |needed, capacity| Err(ErrorKind::Capacity { needed, capacity }.at(capacity).into());
    assert_eq!(record(8, Some(407), &sample, 64), full(408, 407), "the last unit is written completely");
    assert!(record(8, Some(408), &sample, 64).is_ok());
    let message = record(8, Some(100), &sample, 64).unwrap_err().to_string();
    assert_eq!(
        message,
        "error[limit.capacity] at byte 100: storage too small for the file: 408 bytes needed, 100 available"
    );
}

#[cfg(all(feature = "std", any(unix, windows)))]
mod files {
    use super::*;
    use embedded_safetensors::write::Writer;
    use std::fs::File;

    #[test]
    fn files_are_truncated_to_their_length() {
        let path = std::env::temp_dir().join(format!("recording-{}", std::process::id()));
        for old in [vec![], vec![1; 20], vec![1; 10_000]] {
            for sample in [Sample::short(), Sample::long()] {
                std::fs::write(&path, &old).expect("creatable");
                let file = File::options().write(true).open(&path).expect("present");
                sample.record(&file, 64, 50).expect("succeeds");
                assert_eq!(std::fs::read(&path).expect("present"), sample.file());
                sample.record(file, 1000, 7).expect("succeeds");
                assert_eq!(std::fs::read(&path).expect("present"), sample.file());
            }
        }
        sample_begun_only(&path);
        std::fs::remove_file(&path).expect("present");
    }

    fn sample_begun_only(path: &std::path::Path) {
        let file = File::options().write(true).open(path).expect("present");
        Sample::short().with_plan(|plan| {
            Writer::record(&file, plan, &mut [0; 8]).expect("fits");
        });
        assert!(std::fs::read(path).expect("present").starts_with(&[0xFF; 8]));
    }

    #[test]
    fn append_only_file_is_rejected() {
        let path = std::env::temp_dir().join(format!("recording-growing-{}", std::process::id()));
        let file = File::options().append(true).create_new(true).open(&path).expect("creatable");
        let error = Sample::short().record(&file, 64, 50).map(drop).expect_err("only opened for appending");
        assert_eq!(error.to_string(), "the file cannot be written: the file is open for appending");
        std::fs::remove_file(&path).expect("present");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn full_device_is_reported() {
        let full = File::options().write(true).open("/dev/full").expect("exists on Linux");
        let outcome = Sample::short().record(&full, 64, 50).map(drop);
        let Err(WriteError::Sink(error)) = outcome else { panic!("{outcome:?}") };
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    }

    #[test]
    fn read_only_file_returns_the_system_error() {
        let file = File::open(std::env::current_exe().expect("path of this program")).expect("readable");
        let error = Sample::short().record(&file, 64, 50).map(drop).expect_err("not writable");
        assert!(matches!(error, WriteError::Sink(_)), "{error}");
    }
}
