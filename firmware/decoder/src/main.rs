//! Prints a defmt log: `decoder PROGRAM LOG`, where the program's ELF file has the texts of the log.

use defmt_decoder::{DecodeError, Table};
use std::error::Error;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<_> = env::args_os().skip(1).collect();
    let [program, log] = &words[..] else { return Err("usage: decoder PROGRAM LOG".into()) };
    let table = Table::parse(&fs::read(program)?)?.ok_or("the program contains no defmt texts")?;
    let mut decoder = table.new_stream_decoder();
    decoder.received(&fs::read(log)?);
    loop {
        match decoder.decode() {
            Ok(frame) => println!("{}", frame.display_message()),
            Err(DecodeError::UnexpectedEof) => return Ok(()),
            Err(DecodeError::Malformed) => return Err("the log does not match the program".into()),
        }
    }
}
