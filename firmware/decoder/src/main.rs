//! Runs a program under an emulator, and says what it logs by defmt: `decoder PROGRAM EMULATOR [OPTION]…`, with the program among the
//! emulator's options, too.
//!
//! The log comes from the emulator's standard output. What is logged as `info` or above it is said word by word; below that, with
//! the level in front. What comes from its standard error is said afterwards. The exit code is the emulator's.

use defmt_decoder::{DecodeError, Frame, StreamDecoder, Table};
use std::error::Error;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::{env, fs, io, thread};

fn main() -> ExitCode {
    match run(env::args_os().skip(1)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn run(mut arguments: impl Iterator<Item = OsString>) -> Result<ExitCode, Box<dyn Error>> {
    let (Some(program), Some(emulator)) = (arguments.next(), arguments.next()) else {
        return Err("usage: decoder PROGRAM EMULATOR [OPTION]…".into());
    };
    let table = Table::parse(&fs::read(&program)?)?.ok_or("the program has no texts of defmt")?;
    let mut child = Command::new(emulator)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let said = beside(&mut child);
    listen(&mut child, &mut *table.new_stream_decoder())?;
    let status = child.wait()?;
    io::stderr().write_all(&said.join().map_err(|_| "reading has panicked")??)?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Reads standard error, so that it cannot fill up.
fn beside(child: &mut Child) -> thread::JoinHandle<io::Result<Vec<u8>>> {
    let errors = child.stderr.take();
    thread::spawn(move || {
        let mut said = Vec::new();
        errors.map_or(Ok(0), |mut errors| errors.read_to_end(&mut said)).map(|_| said)
    })
}

/// Says each message as soon as it is complete.
fn listen(child: &mut Child, decoder: &mut dyn StreamDecoder) -> Result<(), Box<dyn Error>> {
    let Some(mut log) = child.stdout.take() else { return Ok(()) };
    let mut bytes = [0; 4096];
    loop {
        match log.read(&mut bytes)? {
            0 => return Ok(()),
            len => decoder.received(bytes.get(..len).unwrap_or_default()),
        }
        while say_next(decoder)? {}
    }
}

/// Whether there was a message.
fn say_next(decoder: &mut dyn StreamDecoder) -> Result<bool, Box<dyn Error>> {
    match decoder.decode() {
        Ok(frame) => say(&frame).map(|()| true).map_err(Into::into),
        Err(DecodeError::UnexpectedEof) => Ok(false),
        Err(DecodeError::Malformed) => Err("what the program logs is not of this program".into()),
    }
}

fn say(frame: &Frame<'_>) -> io::Result<()> {
    let level = frame.level().map_or("", |level| level.as_str());
    let message = frame.display_message();
    match level {
        "debug" | "trace" => writeln!(io::stdout(), "{level}: {message}"),
        _ => writeln!(io::stdout(), "{message}"),
    }
}
