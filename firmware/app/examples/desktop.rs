//! The same network on a desktop: what a board must say, to the last bit.
//!
//! ```console
//! $ cargo run --release --example desktop -- digits models/digits-f16.safetensors
//! $ cargo run --release --example desktop -- integer models/digits-i8.safetensors
//! ```

use app::{Failure, Integer, Place, Sink, Text, read_digits, read_digits_in_integers};
use embedded_safetensors::View;
use std::fmt;
use std::fs::File;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut console = Text(Console);
    match words[..] {
        ["digits", model] => digits(model, &mut console),
        ["integer", model] => integer(model, &mut console),
        _ => {
            eprintln!("usage: desktop digits MODEL | desktop integer MODEL");
            ExitCode::from(USAGE)
        }
    }
}

const USAGE: u8 = 64;

/// Stands for the RAM of a board, which a desktop does not run out of.
const RAM: u32 = 65_536;

struct Console;

impl fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        std::io::stdout().write_all(text.as_bytes()).map_err(|_| fmt::Error)
    }
}

fn digits(path: &str, sink: &mut impl Sink) -> ExitCode {
    let outcome = File::open(path)
        .map_err(Failure::NoModel)
        .and_then(|file| read_digits(&Place { name: path, ram: RAM }, file, sink, &mut ()));
    ended(outcome, sink)
}

fn integer(path: &str, sink: &mut impl Sink) -> ExitCode {
    let outcome = std::fs::read(path).map_err(Failure::NoModel);
    ended(outcome.and_then(|bytes| read_integer(path, &bytes, sink)), sink)
}

fn read_integer<E>(path: &str, bytes: &[u8], sink: &mut impl Sink) -> Result<(), Failure<E>> {
    let view = View::parse(bytes)?;
    let network = Integer::find(&view)?;
    read_digits_in_integers(&Place { name: path, ram: RAM }, view.summary(), &network, sink);
    Ok(())
}

fn ended<E: fmt::Display>(outcome: Result<(), Failure<E>>, sink: &mut impl Sink) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            sink.failure(&failure);
            failure.exit_code().into()
        }
    }
}
