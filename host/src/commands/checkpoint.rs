//! `safetensors checkpoint`: files in a folder that is there whole or not at all, with their sums.

use crate::checkpoint::Contents;
use crate::commands::Run;
use crate::complaint::Outcome;
use crate::exit::Exit;
use crate::json::{Object, array};
use crate::text::{counted, shown_text};
use std::io::{self, Write};
use std::path::PathBuf;

/// Copy models into a checkpoint: a folder that takes its place in one act, with the sums of its files in SHA256SUMS.
///
/// Models are judged first; of one in several files all are copied, and its index. `safetensors hash --verify FOLDER` verifies the folder. Exit code: 0 if it is there, 1 if a
/// model is not sound, 2 if something cannot be read or written; then what was there before is there still.
#[derive(clap::Args)]
pub struct Checkpoint {
    /// The folder to make
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,

    /// The models that go into it
    #[arg(required = true, value_name = "MODEL")]
    models: Vec<PathBuf>,

    /// Copy this file too, whatever it is; may be given more than once
    #[arg(long, value_name = "FILE")]
    also: Vec<PathBuf>,

    /// Replace a checkpoint that is there
    #[arg(long)]
    force: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Run for Checkpoint {
    fn json(&self) -> bool {
        self.json
    }

    fn run(self) -> Outcome {
        let written = Contents::open(&self.models, &self.also)?.write(&self.folder, self.force)?;
        let folder = self.folder.to_string_lossy();
        let text = if self.json {
            let file =
                |(name, bytes): (String, u64)| Object::new().text("file", &name).number("bytes", bytes).end();
            let files = array(written.into_iter().map(file));
            Object::new().text("file", &folder).flag("ok", true).raw("files", &files).end()
        } else {
            let bytes: u64 = written.iter().map(|(_, bytes)| bytes).sum();
            let (files, bytes) = (counted(written.len() as u64, "file"), counted(bytes, "byte"));
            format!("{}: {files}, {bytes}", shown_text(&folder))
        };
        writeln!(io::stdout().lock(), "{text}")?;
        Ok(Exit::Good)
    }
}
