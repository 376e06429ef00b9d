//! The verdict on a file: valid, or the error of one that is invalid or could not be read.

use super::diagnostic::painted;
use crate::error::Error;
use crate::exit::Exit;
use crate::input::model::Model;
use crate::json::{self, about};
use crate::output::stdout::complain;
use crate::text::terminal::Stream;
use crate::text::{counted, shown_path};
use embedded_safetensors::validate::Summary;
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;

/// A valid model.
#[derive(Serialize)]
pub struct Sound {
    tensors: u64,
    /// The number of files, if there is an index.
    #[serde(skip_serializing_if = "Option::is_none")]
    shards: Option<u64>,
    bytes: u64,
}

impl From<Summary> for Sound {
    fn from(summary: Summary) -> Self {
        Self { tensors: summary.tensors, shards: None, bytes: summary.file_len() }
    }
}

impl Sound {
    pub fn of(model: &Model) -> Self {
        let shards = model.index().map(|_| model.parts().len() as u64);
        Self { tensors: model.tensors().count() as u64, shards, bytes: model.file_lens() }
    }

    /// Writes one line about the file.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, file: &Path, out: &mut impl Write) -> io::Result<()> {
        let (file, tensors) = (shown_path(file), counted(self.tensors, "tensor"));
        let shards = self.shards.map(|shards| format!(" in {}", counted(shards, "shard")));
        let bytes = counted(self.bytes, "byte");
        let ok = Stream::Out.good("ok");
        writeln!(out, "{file}: {ok}, {tensors}{}, {bytes}", shards.unwrap_or_default())
    }
}

/// Prints a verdict as one line or one JSON object. Returns its exit code.
///
/// # Errors
/// Those of standard output.
pub fn print(verdict: Result<&Sound, &Error>, file: &Path, json: bool) -> io::Result<Exit> {
    let mut out = io::stdout().lock();
    match verdict {
        Ok(sound) if json => json::print(&mut out, &about(file, true, sound))?,
        Ok(sound) => sound.write(file, &mut out)?,
        Err(error) if json => json::print(&mut out, error)?,
        Err(error) if error.exit() == Exit::Bad => writeln!(out, "{}", painted(error, Stream::Out))?,
        Err(error) => complain(painted(error, Stream::Err)),
    }
    Ok(verdict.map_or_else(Error::exit, |_| Exit::Good))
}
