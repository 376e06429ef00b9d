//! Programs a model part by part, then reads it back.
//!
//! The user may stop it after each part. After every error it is known which part of the flash is correct.

use crate::chips::image::Image;
use crate::error::Error;
use crate::exit::Exit;
use crate::text::grouped;
use crate::text::number::hex;
use std::ops::Range;

/// Bytes programmed at a time, in complete pages; the probe starts a new session for each part.
const PART: u64 = 1 << 16;
/// Bytes read back at a time.
const READ: usize = 1 << 12;

/// A chip behind a probe. Errors are sentences.
pub trait Board {
    /// Erases the pages that these bytes touch, and programs them.
    ///
    /// # Errors
    /// The contents of these pages are unknown then.
    fn program(&mut self, address: u64, bytes: &[u8]) -> Result<(), String>;

    /// Reads memory.
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), String>;

    /// Starts the firmware.
    fn restart(&mut self) -> Result<(), String>;
}

/// Programs an image, reads it back, and starts the firmware. Before each part, `advance` gets the bytes that
/// are done since the last call; all have twice the length of the image.
///
/// # Errors
/// The model cannot be read, or has changed; the connection is lost; the bytes read back differ; `advance`
/// fails because the user has stopped it. The sentence describes the contents of flash.
pub fn flash(
    board: &mut impl Board,
    image: &Image<'_>,
    advance: impl Fn(u64) -> Result<(), Error>,
) -> Result<(), Error> {
    let (parts, mut done) = (image.parts(PART), 0);
    let mut is_stopped =
        |part: &Range<u64>| advance(std::mem::replace(&mut done, part.end - part.start)).is_err();
    for part in &parts {
        let written = written(image, part);
        if is_stopped(part) {
            return Err(interrupted(&written));
        }
        let bytes = image.read(part)?;
        board.program(part.start, &bytes).map_err(|reason| {
            let is_first = part.start == image.range.start;
            let gone = if is_first { ", and the previous contents of its pages may be lost" } else { "" };
            failed(format!("programming failed at {}: {reason}; {written}{gone}", hex(part.start)))
        })?;
    }
    for part in &parts {
        if is_stopped(part) {
            return Err(interrupted("everything is programmed, but not everything was read back"));
        }
        verify(board, part.start, &image.read(part)?)?;
    }
    board.restart().map_err(|reason| {
        failed(format!("the model is in flash and verified, but the chip does not start: {reason}"))
    })
}

/// An error of the connection.
pub fn failed(sentence: String) -> Error {
    Error::ended(Exit::Failed, "probe", sentence)
}

fn interrupted(state: &str) -> Error {
    Error::ended(Exit::Interrupted, "interrupted", format!("interrupted: {state}"))
}

/// The bytes programmed before a part.
fn written(image: &Image<'_>, part: &Range<u64>) -> String {
    match part.start - image.range.start {
        0 => "nothing of the model is in flash".to_owned(),
        done => format!(
            "the flash is partly written: {} of {} bytes are programmed, the bytes after them are undefined",
            grouped(done),
            grouped(image.len())
        ),
    }
}

fn verify(board: &mut impl Board, start: u64, expected: &[u8]) -> Result<(), Error> {
    for (address, expected) in (start..).step_by(READ).zip(expected.chunks(READ)) {
        let mut found = vec![0; expected.len()];
        board.read(address, &mut found).map_err(|reason| {
            let at = hex(address);
            failed(format!("everything is programmed, but cannot be read back from {at} on: {reason}"))
        })?;
        let mut pairs = (address..).zip(expected.iter().zip(&found));
        if let Some((at, (expected, found))) = pairs.find(|(_, (expected, found))| expected != found) {
            let sentence = format!("read back {found:#04x} at {}, {expected:#04x} expected", hex(at));
            return Err(Error::ended(Exit::Bad, "verify", sentence));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Board, flash};
    use crate::chips::chip::Chip;
    use crate::chips::image::Image;
    use crate::error::Error;
    use embedded_safetensors::FileModel;
    use std::cell::Cell;
    use std::fs;

    const BASE: u64 = 0x0800_0000;

    /// Flash in memory behind a probe whose cable can be pulled.
    struct Mock {
        flash: Vec<u8>,
        /// The number of calls before the connection is lost.
        lasts: usize,
        /// The offset of a bit that cannot be programmed.
        weak: Option<usize>,
        calls: Vec<String>,
    }

    impl Mock {
        fn new() -> Self {
            Self { flash: vec![0; 512 << 10], lasts: usize::MAX, weak: None, calls: Vec::new() }
        }

        fn call(&mut self, what: String) -> Result<(), String> {
            self.calls.push(what);
            self.lasts = self.lasts.checked_sub(1).ok_or("the cable was pulled")?;
            Ok(())
        }

        fn at(&mut self, address: u64, bytes: usize) -> &mut [u8] {
            let start = usize::try_from(address - BASE).expect("address in flash");
            &mut self.flash[start..start + bytes]
        }
    }

    impl Board for Mock {
        fn program(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
            self.call(format!("program {:x} {}", address - BASE, bytes.len()))?;
            self.at(address, bytes.len()).copy_from_slice(bytes);
            let start = usize::try_from(address - BASE).expect("address in flash");
            if let Some(weak) = self.weak.filter(|weak| (start..start + bytes.len()).contains(weak)) {
                self.flash[weak] ^= 0x80;
            }
            Ok(())
        }

        fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), String> {
            self.call("read".to_owned())?;
            into.copy_from_slice(self.at(address, into.len()));
            Ok(())
        }

        fn restart(&mut self) -> Result<(), String> {
            self.call("restart".to_owned())
        }
    }

    /// The bytes of a model.
    fn model(len: usize) -> Vec<u8> {
        let header = format!("{{\"a\":{{\"dtype\":\"U8\",\"shape\":[{len}],\"data_offsets\":[0,{len}]}}}}");
        let data = (0..=250).cycle().take(len).collect();
        [(header.len() as u64).to_le_bytes().to_vec(), header.into_bytes(), data].concat()
    }

    /// Flashes a model and stops before a part. Returns the kind of error and its sentence, and the board.
    fn run(mut board: Mock, stop_before: usize) -> (Result<(), (String, String)>, Mock) {
        let (chip, bytes, file) =
            (Chip::stm32f411(BASE), model(150_000), tempfile::NamedTempFile::new().expect("a file"));
        fs::write(file.path(), &bytes).expect("written");
        let model = FileModel::open(file.path()).expect("a valid model");
        let place = chip.at(BASE + 0xc000, bytes.len() as u64).expect("a page").expect("room");
        let left = Cell::new(stop_before);
        let advance = |_| {
            left.set(left.get().checked_sub(1).ok_or_else(Error::interrupted)?);
            Ok(())
        };
        let outcome = flash(&mut board, &Image::new(&model, &place), advance);
        let said = |error| {
            let error = serde_json::to_value(error).expect("JSON");
            let text = |key: &str| error[key].as_str().expect("a string").to_owned();
            (text("error"), text("message"))
        };
        (outcome.map_err(said), board)
    }

    #[test]
    fn a_model_is_programmed_in_whole_pages_and_read_back() {
        let (outcome, board) = run(Mock::new(), usize::MAX);
        assert_eq!(outcome, Ok(()));
        // 16 and 64 KiB, then the rest in the page of 128 KiB, in complete units.
        assert_eq!(board.calls[..2], ["program c000 81920", "program 20000 68608"]);
        assert_eq!(board.calls.iter().filter(|call| *call == "read").count(), 20 + 17);
        assert_eq!(board.calls.last().map(String::as_str), Some("restart"));
        let (start, mut image) = (0xc000, model(150_000));
        image.resize(image.len().next_multiple_of(1024), 0xff);
        assert_eq!(board.flash[start..start + image.len()], image);
        assert!(
            board.flash[..start].iter().chain(&board.flash[start + image.len()..]).all(|byte| *byte == 0)
        );
    }

    #[test]
    fn a_bit_that_did_not_take_is_found() {
        for weak in [0xc000, 0xc000 + 81_920, 0xc000 + 150_000] {
            let (outcome, _) = run(Mock { weak: Some(weak), ..Mock::new() }, usize::MAX);
            let (kind, sentence) = outcome.expect_err("verification fails");
            let at = format!("at {:#010x}, ", BASE + weak as u64);
            assert!(kind == "verify" && sentence.contains(&at), "{kind}: {sentence}");
        }
    }

    #[test]
    fn a_connection_that_is_lost_leaves_a_half_written_flash_that_is_told() {
        for (lasts, sentence) in [
            (
                0,
                "programming failed at 0x0800c000: the cable was pulled; nothing of the model is in flash, \
                 and the previous contents of its pages may be lost",
            ),
            (
                1,
                "programming failed at 0x08020000: the cable was pulled; the flash is partly written: 81,920 \
                 of 150,528 bytes are programmed, the bytes after them are undefined",
            ),
            (3, "everything is programmed, but cannot be read back from 0x0800d000 on: the cable was pulled"),
            (39, "the model is in flash and verified, but the chip does not start: the cable was pulled"),
        ] {
            let (outcome, _) = run(Mock { lasts, ..Mock::new() }, usize::MAX);
            assert_eq!(outcome, Err(("probe".to_owned(), sentence.to_owned())));
        }
    }

    #[test]
    fn whoever_stops_it_hears_what_is_in_flash() {
        for (part, calls, state) in [
            (0, 0, "nothing of the model is in flash"),
            (1, 1, "the flash is partly written: 81,920 of 150,528 bytes are programmed, "),
            (2, 2, "everything is programmed, but not everything was read back"),
            (3, 22, "everything is programmed, but not everything was read back"),
        ] {
            let (outcome, board) = run(Mock::new(), part);
            let (kind, sentence) = outcome.expect_err("stopped");
            assert_eq!((kind.as_str(), board.calls.len()), ("interrupted", calls));
            assert!(sentence.starts_with(&format!("interrupted: {state}")), "{sentence}");
        }
    }
}
