//! `safetensors repair`: writes what a damaged file still has into a new one.

use super::{Context, Error, Exit, Outcome, Run};
use crate::input::model::{file_of, is_index};
use crate::json::{List, about, object};
use crate::output::model::NewModel;
use crate::output::stdout::show;
use crate::tensor::repair::{Change, Damaged, Entry, What};
use crate::text::{counted, grouped, quoted};
use std::io::{self, Write};
use std::path::PathBuf;

/// Write the tensors of a damaged file that are whole into a new one
///
/// Padding after the header's JSON becomes spaces, bytes that belong to no tensor are left out, and of a file
/// that ends too early the tensors that are whole are kept. Each change and each lost tensor is listed. No
/// value is guessed. Exit code: 0 if all tensors are in the new file; 1 if some are lost, or if nothing is
/// written because the file is valid or cannot be repaired; 2 for all other errors; 130 if interrupted.
#[derive(clap::Args)]
pub struct Repair {
    /// Damaged file, which stays as it is; of a sharded model, one shard
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    new: NewModel,
}

impl Run for Repair {
    fn run(self, context: &Context) -> Outcome {
        self.new.check(&[&self.file])?;
        let file = file_of(&self.file)?;
        if is_index(&file) {
            return Err(Error::about(&file, "is an index; give the path of the shard to repair"));
        }
        let Some(damaged) = Damaged::of(context, &file)? else {
            return Err(Error::bad(&self.file, "no-damage", "is valid: nothing to repair"));
        };
        let bytes = damaged.write(context, (&self.new.output, self.new.force))?;
        match self.new.is_file() {
            true => self.print(&damaged, bytes)?,
            false => list(&damaged, &mut io::stderr())?,
        }
        Ok(if damaged.lost.is_empty() { Exit::Good } else { Exit::Bad })
    }
}

impl Repair {
    fn print(&self, damaged: &Damaged, bytes: u64) -> io::Result<()> {
        let Damaged { whole, lost, changes, .. } = damaged;
        let (output, tensors) = (self.new.output.to_string_lossy(), whole.len());
        let lost_in_json = lost.iter().map(|entry| {
            let Entry { name, dtype, shape, present, .. } = entry;
            object! { name, dtype: dtype.name(), shape, bytes: entry.bytes(), present }
        });
        let done = object! { output, bytes, tensors, changes, lost: List(lost_in_json) };
        show(self.new.json, &about(&self.file, lost.is_empty(), done), |mut out| {
            writeln!(out, "{}", self.new.summary(tensors, bytes))?;
            list(damaged, &mut out)
        })
    }
}

/// Lists the changes and the lost tensors.
fn list(damaged: &Damaged, out: &mut impl Write) -> io::Result<()> {
    damaged.changes.iter().try_for_each(|change| writeln!(out, "  {}", line(change)))?;
    damaged.lost.iter().try_for_each(|entry| writeln!(out, "  lost: {}", of_lost(entry)))
}

fn line(&Change { what, at, bytes }: &Change) -> String {
    let bytes = counted(bytes, "byte");
    match what {
        What::Padding => format!("at byte {at}: {bytes} of padding after the JSON became spaces"),
        What::Gap => format!("at byte {at}: left out {bytes} between tensors"),
        What::Trailing => format!("at byte {at}: left out {bytes} after the last tensor"),
        What::Missing => format!("at byte {at}: the file ends, but {bytes} are missing"),
        What::Sum => "left out: the embedded sum; `safetensors hash --embed` embeds a new one".to_owned(),
    }
}

fn of_lost(entry: &Entry) -> String {
    let (name, dtype, bytes) = (quoted(&entry.name), entry.dtype, counted(entry.bytes(), "byte"));
    format!("{name}, {dtype} {:?}: {} of its {bytes} are in the file", entry.shape, grouped(entry.present))
}
