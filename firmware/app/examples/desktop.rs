//! Runs the same networks on a desktop, to compute what boards must print, to the last bit.
//!
//! ```console
//! $ cargo run --release --example desktop -- digits models/digits-f16.safetensors
//! $ cargo run --release --example desktop -- integer models/digits-i8.safetensors
//! $ cargo run --release --example desktop -- multiply models/quantised.safetensors
//! $ cargo run --release --example desktop -- predict models/regression.safetensors
//! $ cargo run --release --example desktop --features structures -- structure FILE
//! $ cargo run --release --example desktop -- \
//!     record models/digits-f16.safetensors recording.safetensors riscv-virt
//! $ cargo run --release --example desktop --features vectors -- \
//!     vectors ../../tests/vectors/manifest.json VECTORS.BIN
//! ```

use app::{
    Failure, FailureSink, Integer, ModelLocation, Observer, Recording, Sink, Text, multiply, origin, predict,
    read_digits, read_digits_in_integers,
};
use embedded_safetensors::{View, WriteError};
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::{Error, Write};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut console = Text(Console);
    match words[..] {
        ["digits", model] => ended(digits(model, &mut console, &mut ()), &mut console),
        ["integer", model] => integer(model, &mut console),
        ["multiply", model] => {
            let file = File::open(model).map_err(Failure::NoModel);
            ended(file.and_then(|file| multiply(file, &mut console)), &mut console)
        }
        ["predict", model] => {
            let file = File::open(model).map_err(Failure::NoModel);
            ended(file.and_then(|file| predict(file, &mut console, &mut ())), &mut console)
        }
        #[cfg(feature = "structures")]
        ["structure", model] => {
            let file = File::open(model).map_err(Failure::NoModel);
            match file.and_then(|file| app::show_structure(file, &mut console)) {
                Ok(code) => code.into(),
                Err(failure) => ended(Err(failure), &mut console),
            }
        }
        ["record", model, recording] => record(model, recording, "desktop", &mut console),
        ["record", model, recording, board] => record(model, recording, board, &mut console),
        #[cfg(feature = "vectors")]
        ["vectors", manifest, pack] => vectors(manifest, pack, &mut console),
        _ => {
            eprintln!(
                "usage: desktop digits MODEL | integer MODEL | multiply MODEL | predict MODEL | record MODEL RECORDING [BOARD]"
            );
            eprintln!("       desktop vectors MANIFEST PACK    (with the feature `vectors`)");
            eprintln!("       desktop structure FILE           (with the feature `structures`)");
            ExitCode::from(USAGE)
        }
    }
}

const USAGE: u8 = 64;

/// A stand-in for the RAM of a board.
const RAM: u32 = 65_536;

/// The size of a write.
const PAGE: usize = 4096;

struct Console;

impl fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        std::io::stdout().write_all(text.as_bytes()).map_err(|_| fmt::Error)
    }
}

fn digits(path: &str, sink: &mut impl Sink, observer: &mut impl Observer) -> Result<(), Failure<Error>> {
    let file = File::open(path).map_err(Failure::NoModel)?;
    read_digits(&ModelLocation { name: path, ram: RAM }, file, sink, observer)
}

/// Records what the board with this name records.
fn record(model: &str, recording: &str, board: &str, sink: &mut Text<Console>) -> ExitCode {
    let outcome = try_record(model, recording, board, sink);
    ended(outcome, sink)
}

fn try_record(model: &str, recording: &str, board: &str, sink: &mut impl Sink) -> Result<(), Failure<Error>> {
    // As in flash, an older recording is lost only when there is something to record.
    let storage = File::options().write(true).create(true).truncate(false).open(recording);
    let storage = storage.map_err(WriteError::Sink)?;
    let name = Path::new(model).file_name().and_then(OsStr::to_str).unwrap_or(model);
    let (origin, mut page) = (origin(board, name), [0; PAGE]);
    let mut recording = Recording::new(storage, &origin, &mut page)?;
    digits(model, sink, &mut recording)?;
    sink.event(&recording.finish()?);
    Ok(())
}

fn integer(path: &str, sink: &mut Text<Console>) -> ExitCode {
    let outcome = std::fs::read(path).map_err(Failure::NoModel);
    ended(outcome.and_then(|bytes| read_integer(path, &bytes, sink)), sink)
}

fn read_integer<E>(path: &str, bytes: &[u8], sink: &mut impl Sink) -> Result<(), Failure<E>> {
    let view = View::parse(bytes)?;
    let network = Integer::find(&view)?;
    read_digits_in_integers(&ModelLocation { name: path, ram: RAM }, view.summary(), &network, sink);
    Ok(())
}

#[cfg(feature = "vectors")]
fn vectors(manifest: &str, pack: &str, sink: &mut Text<Console>) -> ExitCode {
    use app::vectors::{self, Memory};
    let open = |file, path| File::open(path).map_err(|error| vectors::Failure::NoFile { file, error });
    let outcome = open(vectors::File::Manifest, manifest).and_then(|manifest| {
        vectors::run(manifest, open(vectors::File::Pack, pack)?, &mut Memory::new(), sink)
    });
    match outcome {
        Ok(_) => ExitCode::SUCCESS,
        Err(failure) => failure.report(sink).into(),
    }
}

fn ended<E>(outcome: Result<(), Failure<E>>, sink: &mut impl FailureSink<Failure<E>>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(sink).into(),
    }
}
