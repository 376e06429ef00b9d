//! `safetensors convert`: converts between models and files of other formats, and casts tensors.

use super::{Context, Error, Exit, Outcome, Run, check_stdin_once};
use crate::args::kind::Kind;
use crate::convert::{
    Casts, Changer, Input, Made, Plan, Reading, ZEROED, read_bits, stem_of, write_manifest,
};
use crate::input::remote::check_output_directory;
use crate::output::directory::Folder;
use crate::output::file::{Closed, Product, check_output_path};
use crate::output::overwrite::{check_not_input, is_same_place};
use crate::print::diagnostic::say;
use crate::text::shown_path;
use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Convert files of other formats to safetensors and back, and cast tensors to other dtypes
///
/// Several inputs become one model, or with --each one file each. Numbers are rounded to nearest, ties to
/// even. The output shows how far the new numbers are from the old ones. Exit code: 0 if the file is written,
/// 1 if an input is invalid or not allowed, 2 for all other errors, 130 if interrupted.
#[derive(clap::Args)]
#[command(override_usage = "safetensors convert [OPTIONS] <IN>... <OUT>")]
pub struct Convert {
    /// Inputs, whose contents show their format: safetensors, PyTorch, GGUF, TensorFlow, ONNX, TFLite, .npy
    /// or .npz;
    /// files, shard indexes, directories, or `-` for standard input: a model in safetensors, or a redirected
    /// file of any format but TensorFlow. The last one is the output, unless it is given with -o
    #[arg(value_name = "IN", required = true)]
    paths: Vec<PathBuf>,

    /// Output file; the suffix sets the format: .safetensors, .npy, .npz or .gguf
    #[arg(long, short, value_name = "OUT")]
    output: Option<PathBuf>,

    /// Convert each input to a file of its own: NAME.safetensors in the directory given with -o
    #[arg(long, requires = "output")]
    each: bool,

    #[command(flatten)]
    casts: Casts,

    #[command(flatten)]
    reading: Reading,

    /// Compress the .npz output
    #[arg(long)]
    compress: bool,

    /// Show what would be written, and write nothing; the data of tensors is not read
    #[arg(long)]
    dry_run: bool,

    /// Write what came from where, with lengths and SHA-256 sums, to this file in JSON
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    manifest: Option<PathBuf>,

    /// Overwrite an existing file
    #[arg(long)]
    force: bool,

    /// Print a summary as one JSON object, with --each one for each input
    #[arg(long)]
    json: bool,
}

/// An output that waits for its name, its entry in the manifest, and what is printed about it.
type Waiting = (Closed, Option<Made>, Vec<u8>);

/// Inputs, and the output that they become.
type Job<'j> = (&'j [PathBuf], PathBuf);

impl Run for Convert {
    fn run(self, context: &Context) -> Outcome {
        if self.reading.name.as_deref() == Some("") {
            return Err(Error::usage("--name is empty"));
        }
        self.casts.check().map_err(Error::usage)?;
        let (inputs, output) = self.split()?;
        check_stdin_once(inputs)?;
        if self.each {
            return self.convert_each(context, inputs, output);
        }
        let job = (inputs, output.to_path_buf());
        let kind = self.check(&job)?;
        let (manifest, mut made) = (self.begin_manifest(context, std::slice::from_ref(&job))?, Vec::new());
        self.convert(context, &job, kind, &mut made, None)?;
        finish(context, manifest, made)?;
        Ok(Exit::Good)
    }
}

impl Convert {
    /// The inputs and the output.
    fn split(&self) -> Result<(&[PathBuf], &Path), Error> {
        match (&self.output, &self.paths[..]) {
            (Some(output), inputs) => Ok((inputs, output)),
            (None, [inputs @ .., output]) if !inputs.is_empty() => Ok((inputs, output)),
            (None, _) => Err(Error::usage("the output is missing: give it last, or with -o")),
        }
    }

    /// Checks an output before anything is opened.
    fn check(&self, (inputs, output): &Job<'_>) -> Result<Kind, Error> {
        if output.as_os_str() != "-" && output.is_dir() {
            let sentence = "is a directory; convert each input to a file in it with --each -o";
            return Err(Error::about(output, sentence));
        }
        let kind = Kind::of_output(output)?;
        if self.casts.bits && !kind.is_numpy() {
            return Err(Error::usage("--bits works with .npy and .npz only"));
        }
        if self.compress && kind != Kind::Archive {
            return Err(Error::usage("--compress works with .npz only"));
        }
        inputs.iter().try_for_each(|input| check_not_input(input, output))?;
        check_output_path(output, self.force)?;
        Ok(kind)
    }

    /// Converts each input to a file in a directory. An error about one does not stop the others, but if
    /// numbers became 0, nothing is written.
    fn convert_each(&self, context: &Context, inputs: &[PathBuf], folder: &Path) -> Outcome {
        check_output_directory(folder)?;
        let jobs = jobs_of(inputs, folder)?;
        let folder = if self.dry_run { None } else { Some(Folder::make(folder)?) };
        let (manifest, mut made) = (self.begin_manifest(context, &jobs)?, Vec::new());
        let (mut worst, mut waiting) = (Exit::Good, Vec::new());
        for job in &jobs {
            let waiting = self.casts.rejects_zeros().then_some(&mut waiting);
            let converted = |kind| self.convert(context, job, kind, &mut made, waiting);
            worst = worst.max(match self.check(job).and_then(converted) {
                Ok(()) => Exit::Good,
                // It is said once.
                Err(error) if error.exit() == Exit::Interrupted => return Err(error),
                Err(error) if error.kind() == Some(ZEROED) => return Err(error),
                Err(error) => say(&error, self.json),
            });
            context.check()?;
        }
        for (file, entry, text) in waiting {
            if let Err(error) = file.finish() {
                worst = worst.max(say(&error, self.json));
                continue;
            }
            made.extend(entry);
            io::stdout().write_all(&text)?;
        }
        finish(context, manifest, made)?;
        // A directory without files is removed.
        drop(folder);
        Ok(worst)
    }

    /// # Errors
    /// It would replace an input or an output; those of the system.
    fn begin_manifest(&self, context: &Context, jobs: &[Job<'_>]) -> Result<Option<Product>, Error> {
        let Some(path) = self.manifest.as_deref() else { return Ok(None) };
        if path.as_os_str() == "-" {
            return Err(Error::usage("--manifest needs a file"));
        }
        if jobs.iter().any(|(_, output)| is_same_place(output, path)) {
            return Err(Error::about(path, "is the output, too; give the manifest another name"));
        }
        jobs.iter().flat_map(|(inputs, _)| *inputs).try_for_each(|input| check_not_input(input, path))?;
        Product::create(context, path, self.force).map(Some)
    }

    /// Converts inputs to one output. It is put in place and printed about at once, or waits for that.
    fn convert(
        &self,
        context: &Context,
        (inputs, path): &Job<'_>,
        kind: Kind,
        made: &mut Vec<Made>,
        waiting: Option<&mut Vec<Waiting>>,
    ) -> Result<(), Error> {
        let output = (path.as_path(), kind);
        let mut input = Input::open(context, inputs, &self.reading, output)?;
        // With `--each`, an option may be for another input.
        if !self.each {
            self.reading.check_formats(&input)?;
        }
        input.must_not_be(path)?;
        self.manifest.iter().try_for_each(|manifest| input.must_not_be(manifest))?;
        read_bits(&mut input, &self.casts.from_bits)?;
        let plan = Plan::new(&input, &self.casts, &self.reading, output)?;
        let print = |reports, bytes, out: &mut dyn Write| match self.json {
            true => plan.print_json(inputs, reports, bytes, out),
            false => plan.print(reports, bytes, out),
        };
        let mut out = BufWriter::new(io::stdout());
        if self.dry_run {
            print(None, plan.len()?, &mut out)?;
            return Ok(out.flush()?);
        }
        let has_manifest = self.manifest.is_some();
        let (product, reports, sums) = {
            let mut changer = Changer::new(context, &plan, has_manifest);
            let product = Product::create(context, path, self.force)?;
            let written = plan.write(product, self.compress, &mut changer).map_err(|error| {
                // It is not about standard output.
                error.of_output().map(|reason| Error::cannot_write(path, reason)).unwrap_or(error)
            });
            (written?, changer.reports, changer.sums)
        };
        let files = has_manifest.then(|| input.sums(context)).transpose()?;
        input.check_unchanged()?;
        let entry = files.zip(sums).map(|(files, sums)| Made::new(&plan, files, &sums));
        let file = product.close()?;
        if let Some(waiting) = waiting {
            let mut text = Vec::new();
            print(Some(&reports), plan.len()?, &mut text)?;
            waiting.push((file, entry, text));
            return Ok(());
        }
        file.finish()?;
        made.extend(entry);
        let written = std::fs::metadata(path).map_err(|error| Error::not_read(path, error))?;
        print(Some(&reports), Some(written.len()), &mut out)?;
        Ok(out.flush()?)
    }
}

fn finish(context: &Context, manifest: Option<Product>, made: Vec<Made>) -> Result<(), Error> {
    let finished = manifest.map_or(Ok(()), |manifest| write_manifest(context, manifest, made));
    finished.map_err(|error| error.and("; the output itself was written, and stays"))
}

/// # Errors
/// Two inputs would become one file, or one has no name.
fn jobs_of<'j>(inputs: &'j [PathBuf], folder: &Path) -> Result<Vec<Job<'j>>, Error> {
    let mut seen = HashMap::new();
    let jobs = inputs.iter().map(|input| {
        if input.as_os_str() == "-" {
            return Err(Error::usage("--each needs inputs with names; standard input has none"));
        }
        let output = folder.join(format!("{}.safetensors", stem_of(input)?));
        if let Some(other) = seen.insert(output.clone(), input) {
            let [output, other] = [&output, other].map(|path| shown_path(path));
            let sentence = format!("would become {output}, as {other} would; convert them one by one");
            return Err(Error::about(input, sentence));
        }
        Ok((std::slice::from_ref(input), output))
    });
    jobs.collect()
}
