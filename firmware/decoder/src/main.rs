//! Runs a program in an emulator, and prints its defmt log: `decoder PROGRAM EMULATOR [OPTION]…`, with the
//! program also among the emulator's options.
//!
//! The log is read from the emulator's standard output. Messages of level `info` and above are printed
//! unchanged; lower ones, with the level before them. The emulator's standard error is printed at the end.
//! The exit code is the emulator's.

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
    let table = Table::parse(&fs::read(&program)?)?.ok_or("the program contains no defmt texts")?;
    let mut child = Command::new(emulator)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let errors = read_errors(&mut child);
    print_log(&mut child, &mut *table.new_stream_decoder())?;
    let status = child.wait()?;
    io::stderr().write_all(&errors.join().map_err(|_| "the reader of standard error panicked")??)?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Reads standard error on a thread, so that its pipe cannot fill up.
fn read_errors(child: &mut Child) -> thread::JoinHandle<io::Result<Vec<u8>>> {
    let errors = child.stderr.take();
    thread::spawn(move || {
        let mut text = Vec::new();
        errors.map_or(Ok(0), |mut errors| errors.read_to_end(&mut text)).map(|_| text)
    })
}

/// Prints each message as soon as it is complete.
fn print_log(child: &mut Child, decoder: &mut dyn StreamDecoder) -> Result<(), Box<dyn Error>> {
    let Some(mut log) = child.stdout.take() else { return Ok(()) };
    let mut bytes = [0; 4096];
    loop {
        match log.read(&mut bytes)? {
            0 => return Ok(()),
            len => decoder.received(bytes.get(..len).unwrap_or_default()),
        }
        while print_next(decoder)? {}
    }
}

/// Prints the next message, and returns whether there was one.
fn print_next(decoder: &mut dyn StreamDecoder) -> Result<bool, Box<dyn Error>> {
    match decoder.decode() {
        Ok(frame) => print(&frame).map(|()| true).map_err(Into::into),
        Err(DecodeError::UnexpectedEof) => Ok(false),
        Err(DecodeError::Malformed) => Err("the log does not match the program".into()),
    }
}

fn print(frame: &Frame<'_>) -> io::Result<()> {
    let level = frame.level().map_or("", |level| level.as_str());
    let message = frame.display_message();
    match level {
        "debug" | "trace" => writeln!(io::stdout(), "{level}: {message}"),
        _ => writeln!(io::stdout(), "{message}"),
    }
}
