//! `safetensors repair`: writes what a damaged file still has into a new one.

use super::{Context, Error, Exit, Outcome, Run};
use crate::input::model::{file_of, is_index};
use crate::json::{about, object};
use crate::output::model::NewModel;
use crate::output::stdout::show;
use crate::tensor::repair::{Change, Damaged, Entry};
use crate::text::{counted, grouped, quoted};
use std::io::{self, Write};
use std::path::PathBuf;

/// Write the tensors of a damaged file that are whole into a new one
///
/// Padding after the header's JSON and bytes that belong to no tensor are left out, and of a file that ends
/// too early the tensors that are whole are kept. Each change and each lost tensor is listed. No value is
/// guessed. Exit code: 0 if all tensors are in the new file; 1 if some are lost, or if nothing is
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
        let bytes = damaged.write(context, &self.new)?;
        let Damaged { whole, lost, changes, .. } = &damaged;
        if self.new.is_file() {
            let (output, tensors) = (self.new.output.to_string_lossy(), whole.len());
            let done = object! { output, bytes, tensors, changes, lost };
            show(self.new.json, &about(&self.file, lost.is_empty(), done), |mut out| {
                writeln!(out, "{}", self.new.summary(tensors, bytes))?;
                list(&damaged, &mut out)
            })?;
        } else {
            list(&damaged, &mut io::stderr())?;
        }
        Ok(if lost.is_empty() { Exit::Good } else { Exit::Bad })
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
        "padding" => format!("at byte {at}: left out {bytes} of padding after the JSON"),
        "gap" => format!("at byte {at}: left out {bytes} between tensors"),
        "trailing" => format!("at byte {at}: left out {bytes} after the last tensor"),
        "missing" => format!("at byte {at}: the file ends, and lacks {bytes}"),
        "structure" => "left out: the nested structure in the metadata, which needs all tensors".to_owned(),
        _ => "left out: the embedded sum; `safetensors hash --embed` embeds a new one".to_owned(),
    }
}

fn of_lost(Entry { name, dtype, shape, bytes, present, .. }: &Entry) -> String {
    let (name, bytes, present) = (quoted(name), counted(*bytes, "byte"), grouped(*present));
    format!("{name}, {dtype} {shape:?}: {present} of its {bytes} are in the file")
}
