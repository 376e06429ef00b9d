//! Programs a model part by part, then reads it back.
//!
//! The user may stop it after each part. After every error it is known which part of the flash is correct.

use crate::chips::image::Image;
use crate::chips::place::Place;
use crate::chips::size::grouped;
use crate::context::Context;
use crate::error::Error;
use crate::exit::Exit;
use crate::text::number::hex;
use std::ops::Range;

/// Bytes programmed at a time, in complete pages; the probe starts a new session for each part.
const PART: u64 = 1 << 16;
/// Bytes read back at a time.
const READ: u64 = 1 << 12;

/// A chip behind a probe. Errors are sentences.
pub trait Board {
    /// Erases the pages that these bytes touch, and programs them.
    ///
    /// # Errors
    /// The contents of these pages are unknown then.
    fn program(&mut self, address: u64, bytes: &[u8]) -> Result<(), String>;

    /// Reads memory.
    ///
    /// # Errors
    /// The memory cannot be read.
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), String>;

    /// Starts the firmware.
    ///
    /// # Errors
    /// The chip does not start.
    fn restart(&mut self) -> Result<(), String>;
}

/// The parts of an image in complete pages; the last one ends where the image does.
pub fn parts(place: &Place<'_>, image: &Range<u64>) -> Vec<Range<u64>> {
    let mut parts: Vec<Range<u64>> = Vec::new();
    for page in place.area.pages.each(&place.pages) {
        let end = page.end.min(image.end);
        match parts.last_mut() {
            Some(part) if part.end - part.start < PART => part.end = end,
            _ => parts.push(page.start..end),
        }
    }
    parts
}

/// Programs an image, reads it back, and starts the firmware.
///
/// # Errors
/// The model cannot be read, or has changed; the connection is lost; the bytes read back differ; the user
/// has stopped it. The sentence describes the contents of flash.
pub fn flash(
    context: &Context,
    board: &mut impl Board,
    image: &Image<'_>,
    parts: &[Range<u64>],
    stopped: impl Fn() -> bool,
) -> Result<(), Error> {
    let work = context.work("flash", 2 * image.len());
    for part in parts {
        program(board, image, part, &stopped)?;
        // Interruption is checked before each part.
        let _ = work.advance(part.end - part.start);
    }
    for part in parts {
        if stopped() {
            let sentence = "interrupted: everything is programmed, but not everything was read back";
            return Err(Error::ended(Exit::Interrupted, "interrupted", sentence));
        }
        verify(board, image, part)?;
        let _ = work.advance(part.end - part.start);
    }
    board.restart().map_err(|reason| {
        let sentence = format!("the model is in flash and verified, but the chip does not start: {reason}");
        Error::ended(Exit::Failed, "probe", sentence)
    })
}

fn program(
    board: &mut impl Board,
    image: &Image<'_>,
    part: &Range<u64>,
    stopped: &impl Fn() -> bool,
) -> Result<(), Error> {
    let written = written(image, part);
    let is_first = part.start == image.range.start;
    if stopped() {
        return Err(Error::ended(Exit::Interrupted, "interrupted", format!("interrupted: {written}")));
    }
    let bytes = image.read(part)?;
    board.program(part.start, &bytes).map_err(|reason| {
        let gone = if is_first { ", and the previous contents of its pages may be lost" } else { "" };
        let sentence = format!("programming failed at {}: {reason}; {written}{gone}", hex(part.start));
        Error::ended(Exit::Failed, "probe", sentence)
    })
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

fn verify(board: &mut impl Board, image: &Image<'_>, part: &Range<u64>) -> Result<(), Error> {
    let expected = image.read(part)?;
    for (index, expected) in (0..).zip(expected.chunks(usize::try_from(READ).unwrap_or(usize::MAX))) {
        let address = part.start + index * READ;
        let mut found = vec![0; expected.len()];
        board.read(address, &mut found).map_err(|reason| {
            let at = hex(address);
            let sentence =
                format!("everything is programmed, but cannot be read back from {at} on: {reason}");
            Error::ended(Exit::Failed, "probe", sentence)
        })?;
        compare(address, expected, &found)?;
    }
    Ok(())
}

fn compare(address: u64, expected: &[u8], found: &[u8]) -> Result<(), Error> {
    let mut pairs = (address..).zip(expected.iter().zip(found));
    match pairs.find(|(_, (expected, found))| expected != found) {
        None => Ok(()),
        Some((at, (expected, found))) => {
            let sentence = format!("read back {found:#04x} at {}, {expected:#04x} expected", hex(at));
            Err(Error::ended(Exit::Bad, "verify", sentence))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Board, flash, parts};
    use crate::chips::chip::{Area, Chip};
    use crate::chips::image::Image;
    use crate::chips::pages::{Pages, Run};
    use crate::chips::place;
    use crate::context::Context;
    use embedded_safetensors::FileModel;
    use std::cell::Cell;
    use std::io::Write;

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

    /// An STM32F411.
    fn chip() -> Chip {
        let mut pages = Pages::default();
        for (start, end, page) in [(0, 64, 16), (64, 128, 64), (128, 512, 128)] {
            let range = BASE + (start << 10)..BASE + (end << 10);
            pages.append(Run { range, page: page << 10 }).expect("adjacent pages");
        }
        let area = Area { pages, boot: true, unit: 1024, erased: 0xff, uneven: false };
        Chip { name: "chip".into(), areas: vec![area], others: Vec::new(), ram: 0 }
    }

    fn model(bytes: usize) -> (tempfile::NamedTempFile, FileModel) {
        let header =
            format!("{{\"a\":{{\"dtype\":\"U8\",\"shape\":[{bytes}],\"data_offsets\":[0,{bytes}]}}}}");
        let mut file = tempfile::NamedTempFile::new().expect("temporary file");
        file.write_all(&(header.len() as u64).to_le_bytes()).expect("written");
        file.write_all(header.as_bytes()).expect("written");
        let data: Vec<u8> = (0..bytes).map(|index| u8::try_from(index % 251).expect("small")).collect();
        file.write_all(&data).expect("written");
        let model = FileModel::open(file.path()).expect("sound");
        (file, model)
    }

    /// The sentence at the end, and the board.
    fn run(mut board: Mock, stop_after: Option<usize>) -> (Result<(), String>, Mock, Vec<u8>) {
        let chip = chip();
        let (file, model) = model(150_000);
        let bytes = std::fs::read(file.path()).expect("readable file");
        let place = place::at(&chip, &[], BASE + 0xc000, bytes.len() as u64).expect("room");
        let image = Image::new(&model, bytes.len() as u64, &place);
        let asked = Cell::new(0);
        let stopped = || {
            asked.set(asked.get() + 1);
            stop_after.is_some_and(|parts| asked.get() > parts)
        };
        let outcome = flash(&Context::default(), &mut board, &image, &parts(&place, &image.range), stopped);
        (outcome.map_err(|error| serde_json::to_string(&error).expect("JSON")), board, bytes)
    }

    fn message(json: &str) -> (String, String) {
        let complaint: serde_json::Value = serde_json::from_str(json).expect("JSON");
        let text = |key: &str| complaint[key].as_str().expect("a string").to_owned();
        (text("error"), text("message"))
    }

    #[test]
    fn a_model_is_programmed_in_whole_pages_and_read_back() {
        let (outcome, board, bytes) = run(Mock::new(), None);
        assert_eq!(outcome, Ok(()));
        // 16 and 64 KiB, then the rest in the page of 128 KiB, in complete units.
        assert_eq!(board.calls[..2], ["program c000 81920", "program 20000 68608"]);
        assert_eq!(board.calls.iter().filter(|call| *call == "read").count(), 20 + 17);
        assert_eq!(board.calls.last().map(String::as_str), Some("restart"));
        let start = 0xc000;
        assert_eq!(board.flash[start..start + bytes.len()], bytes);
        let end = start + bytes.len().next_multiple_of(1024);
        assert!(board.flash[start + bytes.len()..end].iter().all(|&byte| byte == 0xff));
        assert!(board.flash[..start].iter().chain(&board.flash[end..]).all(|&byte| byte == 0));
    }

    #[test]
    fn a_bit_that_did_not_take_is_found() {
        for weak in [0xc000, 0xc000 + 81_920, 0xc000 + 150_000] {
            let board = Mock { weak: Some(weak), ..Mock::new() };
            let (outcome, ..) = run(board, None);
            let (kind, sentence) = message(&outcome.expect_err("verification fails"));
            assert_eq!(kind, "verify");
            let at = format!("at {:#010x}, ", BASE + weak as u64);
            assert!(sentence.contains(&at), "{sentence}");
        }
    }

    #[test]
    fn a_connection_that_is_lost_leaves_a_half_written_flash_that_is_told() {
        let told = |lasts| {
            let (outcome, ..) = run(Mock { lasts, ..Mock::new() }, None);
            message(&outcome.expect_err("connection lost")).1
        };
        assert_eq!(
            told(0),
            "programming failed at 0x0800c000: the cable was pulled; nothing of the model is in flash, and \
             the previous contents of its pages may be lost"
        );
        assert_eq!(
            told(1),
            "programming failed at 0x08020000: the cable was pulled; the flash is partly written: 81,920 of \
             150,528 bytes are programmed, the bytes after them are undefined"
        );
        assert_eq!(
            told(3),
            "everything is programmed, but cannot be read back from 0x0800d000 on: the cable was pulled"
        );
        assert_eq!(
            told(39),
            "the model is in flash and verified, but the chip does not start: the cable was pulled"
        );
    }

    #[test]
    fn whoever_stops_it_hears_what_is_in_flash() {
        let (outcome, board, _) = run(Mock::new(), Some(0));
        let json = outcome.expect_err("stopped");
        assert_eq!(
            message(&json),
            ("interrupted".into(), "interrupted: nothing of the model is in flash".into())
        );
        assert!(board.calls.is_empty());
        let (outcome, board, _) = run(Mock::new(), Some(1));
        let (_, sentence) = message(&outcome.expect_err("stopped"));
        assert!(
            sentence.starts_with("interrupted: the flash is partly written: 81,920 of 150,528"),
            "{sentence}"
        );
        assert_eq!(board.calls.len(), 1);
        let (outcome, board, _) = run(Mock::new(), Some(2));
        let (_, sentence) = message(&outcome.expect_err("stopped"));
        assert_eq!(sentence, "interrupted: everything is programmed, but not everything was read back");
        assert_eq!(board.calls.len(), 2);
    }
}
