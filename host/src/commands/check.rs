//! `safetensors check`: prints a verdict for every file.

use super::{Context, Error, Exit, Outcome, Run, check_stdin_once};
use crate::args::count;
use crate::error::Fails;
use crate::input::model::{Model, Tensor, bytes_of, is_sharded};
use crate::input::published::check_published;
use crate::input::source::Data;
use crate::input::validation::open_valid;
use crate::input::walk::{Found, MODELS, expand};
use crate::print::verdict::{self, Sound};
use crate::tensor::compare::index_of;
use crate::tensor::stats::{NotFinite, first_not_finite};
use crate::text::{counted, grouped, quoted, shown_text};
use crate::threads::{cores, in_order};
use std::io::{IsTerminal, stderr};
use std::num::NonZero;
use std::path::{Path, PathBuf};

/// Validate files, or show what is wrong with them
///
/// Reads the header of each file, and tensor data only with --finite. In a directory, checks all
/// *.safetensors and *.safetensors.index.json files below it, except hidden files and directories, sorted by
/// path. Exit code: 2 if at least one cannot be read, otherwise 1 if at least one is invalid, otherwise 0.
#[derive(clap::Args)]
pub struct Check {
    /// Print one JSON object per file
    #[arg(long)]
    json: bool,

    /// Read all data, too, and reject NaN and infinities
    #[arg(long)]
    finite: bool,

    /// Also reject what the published text of the format rejects, although the reference accepts it
    #[arg(long, conflicts_with = "finite")]
    as_published: bool,

    /// Number of files to check at once [default: number of cores]
    #[arg(long, short, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    jobs: Option<NonZero<usize>>,

    /// Files or directories to check; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Run for Check {
    fn run(self, context: &Context) -> Outcome {
        check_stdin_once(&self.files)?;
        let files: Vec<Found> = self.files.iter().flat_map(|file| expand(file, &MODELS)).collect();
        let (mut worst, mut counts) = (Exit::Good, [0; 3]);
        let check = |found| check_file(context, found, self.finite, self.as_published);
        in_order(&files, self.jobs.unwrap_or_else(cores), check, |(file, verdict)| {
            if let Err(error) = &verdict
                && error.exit() == Exit::Interrupted
            {
                return verdict.map(drop);
            }
            let is_told = |shard: &str| files.iter().any(|(path, _)| path == Path::new(shard));
            let verdict = verdict.map_err(|error| error.of_index(file, is_told));
            let exit = verdict::print(verdict.as_ref(), file, self.json)?;
            worst = worst.max(exit);
            counts[usize::from(exit.code())] += 1;
            Ok(())
        })?;
        tell(counts);
        Ok(worst)
    }
}

/// Tells how many files are good, bad and not read. Only for a terminal, and only if there are several.
fn tell(counts: [u64; 3]) {
    let all: u64 = counts.iter().sum();
    if all > 1 && stderr().is_terminal() {
        let [good, bad, failed] = counts.map(grouped);
        eprintln!("{}: {good} valid, {bad} invalid, {failed} not read", counted(all, "file"));
    }
}

fn check_file<'f>(
    context: &Context,
    (file, found): &'f Found,
    finite: bool,
    as_published: bool,
) -> (&'f Path, Result<Sound, Error>) {
    let verdict = match found {
        Ok(()) if finite => check_values(context, file),
        Ok(()) => is_sharded(context, file).and_then(|is_sharded| match is_sharded {
            true => check_shards(context, file, as_published),
            false => check_header(context, file, as_published),
        }),
        Err(reason) => Err(Error::not_read(file, reason.clone())),
    };
    (file, verdict)
}

/// Validates a model, and reads its data until a value is NaN or infinite.
fn check_values(context: &Context, file: &Path) -> Result<Sound, Error> {
    let model = Model::open(context, file)?;
    let tensors: Vec<Tensor<'_>> = model.tensors().collect();
    let found = first_not_finite(&tensors, &context.work("reading", bytes_of(&tensors)))?;
    model.check_unchanged()?;
    match found {
        Some(found) => Err(not_finite(&model, &found)),
        None => Ok(Sound::of(&model)),
    }
}

fn not_finite(model: &Model, found: &NotFinite<'_>) -> Error {
    let tensor = &found.tensor;
    let (tensor, index) = (tensor.name(), index_of(found.index, tensor.dtype(), tensor.dims()));
    let file = found.tensor.model().file_name().to_string_lossy();
    let of = model.index().map_or(String::new(), |_| format!(" of {}", shown_text(&file)));
    let message = format!("tensor {}: {} at index {index:?}{of}", quoted(tensor), found.what);
    let value = Some((tensor.to_owned(), index));
    Error::fails(model.path(), Fails { code: "values.not-finite", at: found.byte, message, value })
}

/// Validates a sharded model; by the published text, also each of its shards.
fn check_shards(context: &Context, file: &Path, as_published: bool) -> Result<Sound, Error> {
    let model = Model::open(context, file)?;
    for shard in model.parts().iter().filter(|_| as_published) {
        let source = shard.source().map_err(|reason| Error::not_read(shard.path(), reason));
        check_published(shard.path(), &mut source?)?;
    }
    Ok(Sound::of(&model))
}

fn check_header(context: &Context, file: &Path, as_published: bool) -> Result<Sound, Error> {
    let (mut source, summary) = open_valid(context, file, Data::Count)?;
    if as_published {
        check_published(file, &mut source)?;
    }
    Ok(summary.into())
}
