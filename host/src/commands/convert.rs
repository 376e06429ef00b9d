//! `safetensors convert`: converts between models and files of other formats, and casts tensors.

use crate::args::kind::Kind;
use crate::commands::{Run, check_stdin_once};
use crate::context::Context;
use crate::convert::{
    Changer, Done, FromBits, Input, Made, Manifest, NameOf, Opening, Options, Output, Plan, Reading, Scale,
    Sums, read_bits, stem_of, write,
};
use crate::error::{Error, Outcome};
use crate::exit::Exit;
use crate::input::foreign::Readable;
use crate::input::remote::check_output_directory;
use crate::output::directory::Folder;
use crate::output::file::check_output_path;
use crate::output::overwrite::{check_not_input, is_same_place};
use crate::pack::Renames;
use crate::print::diagnostic::say;
use crate::text::shown_text;
use embedded_safetensors::Dtype;
use safetensors_convert::numbers::can_be_target;
use safetensors_convert::torch::Ties;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// What an error about the manifest adds.
const WRITTEN: &str = "; the output itself was written, and stays";

/// Convert files of other formats to safetensors and back, and cast tensors to other dtypes
///
/// Several inputs become one model, or with --each one file each. Numbers are rounded to nearest, ties to
/// even. The output shows how far the new numbers are from the old ones. Exit code: 0 if the file is written,
/// 1 if an input is invalid or not allowed, 2 for all other errors, 130 if interrupted.
#[derive(clap::Args)]
#[command(override_usage = "safetensors convert [OPTIONS] <IN>... <OUT>")]
pub struct Convert {
    /// Inputs, whose contents show their format: safetensors, PyTorch, GGUF, TensorFlow, .npy or .npz;
    /// files, shard indexes, directories, or `-` for a model in safetensors on standard input. The last one
    /// is the output, unless it is given with -o
    #[arg(value_name = "IN", required = true)]
    paths: Vec<PathBuf>,

    /// Output file; the suffix sets the format: .safetensors, .npy, .npz or .gguf
    #[arg(long, short, value_name = "OUT")]
    output: Option<PathBuf>,

    /// Convert each input to a file of its own: NAME.safetensors in the directory given with -o
    #[arg(long, requires = "output")]
    each: bool,

    /// Cast floating-point tensors to F64, F32, F16, BF16, F8_E4M3, F8_E5M2 or an integer dtype such as U8;
    /// names such as float16, half and torch.bfloat16 are known, too
    #[arg(
        long,
        visible_alias = "dtype",
        value_name = "DTYPE",
        value_parser = NameOf(can_be_target),
        hide_possible_values = true
    )]
    to: Option<Dtype>,

    /// Cast integers and BOOL too
    #[arg(long)]
    all: bool,

    /// Cast only tensors that match this glob, of any dtype (repeatable)
    #[arg(long, visible_alias = "filter", value_name = "GLOB")]
    only: Vec<String>,

    /// Do not cast tensors that match this glob (repeatable)
    #[arg(long, value_name = "GLOB")]
    except: Vec<String>,

    /// Clamp out-of-range values; NaN becomes 0 in integers
    #[arg(long)]
    saturate: bool,

    /// With --to I8, scale the largest magnitude to 127 first; the F32 divisors are stored as NAME.scale
    #[arg(long, value_name = "SCOPE")]
    scale: Option<Scale>,

    /// Multiply I8 tensors by their NAME.scale, and drop the scales
    #[arg(long, conflicts_with = "scale")]
    unscale: bool,

    /// Write BF16 as U16 bits and F8 as U8 bits; numpy has neither
    #[arg(long)]
    bits: bool,

    /// Reinterpret U16 as BF16, or U8 as an F8 dtype: the reverse of --bits; GLOB selects tensors
    /// (repeatable)
    #[arg(long, value_name = "DTYPE[=GLOB]")]
    from_bits: Vec<FromBits>,

    /// Tensor name for a .npy input [default: the file name without .npy]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Put the name of its input, without suffix, and a dot before each tensor name
    #[arg(long, conflicts_with = "name")]
    file_prefix: bool,

    #[command(flatten)]
    renames: Renames,

    /// PyTorch: what becomes of tensors that share all their memory [default: note; copy if the output has
    /// no metadata]
    #[arg(long, value_name = "WHAT")]
    ties: Option<Tied>,

    /// GGUF: keep the blocks of quantised tensors as U8, instead of their numbers as F32
    #[arg(long)]
    keep_blocks: bool,

    /// Leave out the metadata of all inputs
    #[arg(long)]
    no_metadata: bool,

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

/// What becomes of tied tensors.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Tied {
    /// Keep one, and note the names of the others in the metadata of a .safetensors
    Note,
    /// Keep each
    Copy,
    /// Reject the file
    Reject,
}

impl From<Tied> for Ties {
    fn from(tied: Tied) -> Self {
        match tied {
            Tied::Note => Self::Note,
            Tied::Copy => Self::Copy,
            Tied::Reject => Self::Reject,
        }
    }
}

/// An output and its inputs.
struct Job<'j> {
    inputs: &'j [PathBuf],
    output: PathBuf,
}

impl Run for Convert {
    fn json(&self) -> bool {
        self.json
    }

    fn run(self, context: &Context) -> Outcome {
        self.check_options().map_err(Error::usage)?;
        let (inputs, output) = self.split()?;
        check_stdin_once(inputs)?;
        if self.each {
            return self.convert_each(context, inputs, output);
        }
        let job = Job { inputs, output: output.to_path_buf() };
        self.check(&job)?;
        let mut manifest = self.begin_manifest(context, &[&job])?;
        self.convert(context, &job, manifest.as_mut())?;
        manifest.map_or(Ok(()), Manifest::finish).map_err(|complaint| complaint.and(WRITTEN))?;
        Ok(Exit::Good)
    }
}

impl Convert {
    /// # Errors
    /// An option about casts needs another one; the name is empty.
    fn check_options(&self) -> Result<(), &'static str> {
        match self.to {
            _ if self.name.as_deref() == Some("") => Err("--name is empty"),
            None if !(self.only.is_empty() && self.except.is_empty()) => Err("--only and --except need --to"),
            None if self.all => Err("--all needs --to"),
            to if self.scale.is_some() && to != Some(Dtype::I8) => Err("--scale needs --to I8"),
            Some(Dtype::F32 | Dtype::F64 | Dtype::F16 | Dtype::BF16) => Ok(()),
            _ if self.unscale => Err("--unscale needs --to F32, F64, F16 or BF16"),
            _ => Ok(()),
        }
    }

    /// The inputs and the output.
    fn split(&self) -> Result<(&[PathBuf], &Path), Error> {
        match (&self.output, &self.paths[..]) {
            (Some(output), inputs) => Ok((inputs, output)),
            (None, [inputs @ .., output]) if !inputs.is_empty() => Ok((inputs, output)),
            (None, _) => Err(Error::usage("the output is missing: give it last, or with -o")),
        }
    }

    /// Checks an output before anything is opened.
    fn check(&self, Job { inputs, output }: &Job<'_>) -> Result<(), Error> {
        if output.as_os_str() != "-" && output.is_dir() {
            let sentence = "is a directory; convert each input to a file in it with --each -o";
            return Err(Error::about(output, sentence));
        }
        let kind = Kind::of_output(output)?;
        if self.bits && !matches!(kind, Kind::Array | Kind::Archive) {
            return Err(Error::usage("--bits works with .npy and .npz only"));
        }
        if self.compress && kind != Kind::Archive {
            return Err(Error::usage("--compress works with .npz only"));
        }
        inputs.iter().try_for_each(|input| check_not_input(input, output))?;
        check_output_path(output, self.force)
    }

    /// Converts each input to a file in a directory. An error about one does not stop the others.
    fn convert_each(&self, context: &Context, inputs: &[PathBuf], folder: &Path) -> Outcome {
        check_output_directory(folder)?;
        let jobs = inputs.iter().map(|input| {
            let output = folder.join(format!("{}.safetensors", stem_of(input)?));
            Ok(Job { inputs: std::slice::from_ref(input), output })
        });
        let jobs = jobs.collect::<Result<Vec<Job<'_>>, Error>>()?;
        check_outputs(&jobs)?;
        let made = if self.dry_run { None } else { Some(Folder::make(folder)?) };
        let mut manifest = self.begin_manifest(context, &jobs.iter().collect::<Vec<_>>())?;
        let mut worst = Exit::Good;
        for job in &jobs {
            let result = self.check(job).and_then(|()| self.convert(context, job, manifest.as_mut()));
            worst = worst.max(match result {
                Ok(()) => Exit::Good,
                // It is said once.
                Err(complaint) if complaint.exit() == Exit::Interrupted => return Err(complaint),
                Err(complaint) => say(&complaint, self.json),
            });
            context.check()?;
        }
        manifest.map_or(Ok(()), Manifest::finish).map_err(|complaint| complaint.and(WRITTEN))?;
        // A directory without files is removed.
        drop(made);
        Ok(worst)
    }

    /// # Errors
    /// It would replace an input or an output; those of the system.
    fn begin_manifest(&self, context: &Context, jobs: &[&Job<'_>]) -> Result<Option<Manifest>, Error> {
        let Some(path) = self.manifest.as_deref() else { return Ok(None) };
        if path.as_os_str() == "-" {
            return Err(Error::usage("--manifest needs a file"));
        }
        if jobs.iter().any(|job| is_same_place(&job.output, path)) {
            return Err(Error::about(path, "is the output, too; give the manifest another name"));
        }
        jobs.iter().flat_map(|job| job.inputs).try_for_each(|input| check_not_input(input, path))?;
        Manifest::create(context, path, self.force).map(Some)
    }

    fn convert(
        &self,
        context: &Context,
        job: &Job<'_>,
        manifest: Option<&mut Manifest>,
    ) -> Result<(), Error> {
        let path = job.output.as_path();
        let mut input = Input::open(context, job.inputs, self.opening(path)?, path)?;
        self.check_formats(&input)?;
        input.must_not_be(path)?;
        if let Some(manifest) = &self.manifest {
            input.must_not_be(manifest)?;
        }
        read_bits(&mut input, &self.from_bits)?;
        let plan = Plan::new(&input, &self.options(), path)?;
        let metadata = if self.no_metadata { None } else { plan.metadata(&input, &self.renames)? };
        let (force, is_compressed, reports_all) = (self.force, self.compress, self.json);
        let output = Output { path, force, is_compressed, metadata, reports_all };
        let lost = output.lost()?;
        let (paths, renames, (input, plan)) = (job.inputs, &self.renames, (&input, &plan));
        let mut done = Done { paths, output: path, input, plan, renames, reports: None, bytes: None, lost };
        if self.dry_run {
            done.bytes = output.len(input, plan)?;
        } else {
            let mut changer = Changer::new(context, input, self.saturate, &plan.tensors, manifest.is_some());
            let mut files = Sums::new();
            let reports = write(context, &output, plan, &mut changer, &mut || {
                if manifest.is_some() {
                    files = input.sums(context, &context.work("summing", 0))?;
                }
                input.check_unchanged()
            })?;
            if let Some(manifest) = manifest {
                let (files, tensors) = (&files, &changer.into_sums());
                let made = Made { output: path, input, plan, renames, files, tensors };
                manifest.add(context, &made).map_err(|complaint| complaint.and(WRITTEN))?;
            }
            done.reports = Some(reports);
            done.bytes = Some(std::fs::metadata(path).map_err(|error| Error::not_read(path, error))?.len());
        }
        if self.json { done.print_json() } else { done.print() }
    }

    /// # Errors
    /// The output has no notes of tied tensors, but these are wanted.
    fn opening(&self, output: &Path) -> Result<Opening<'_>, Error> {
        let ties = self.ties_for(Kind::of_output(output)?)?;
        let (keeps_blocks, without_metadata) = (self.keep_blocks, self.no_metadata);
        let reading = Reading { name: "", ties, keeps_blocks, without_metadata };
        Ok(Opening { name: self.name.as_deref(), by_file: self.file_prefix, reading })
    }

    /// What becomes of tied tensors. Where a note would be lost, the tensors would be, too.
    fn ties_for(&self, output: Kind) -> Result<Ties, Error> {
        let has_notes = output == Kind::Model && !self.no_metadata;
        match self.ties {
            Some(Tied::Note) if !has_notes => {
                let sentence = "--ties note needs a .safetensors output with metadata; use --ties copy";
                Err(Error::usage(sentence))
            }
            Some(ties) => Ok(ties.into()),
            None => Ok(if has_notes { Ties::Note } else { Ties::Copy }),
        }
    }

    /// # Errors
    /// An option is for a format that no input has. With `--each`, it may be for another input.
    fn check_formats(&self, input: &Input) -> Result<(), Error> {
        let needs = |option: &str, format: Readable| match self.each || input.has(format) {
            true => Ok(()),
            false => {
                let name = format.name();
                Err(input.about(format!("{option} works with {name} only, and no input has this format")))
            }
        };
        self.ties.map_or(Ok(()), |_| needs("--ties", Readable::PyTorch))?;
        if self.keep_blocks { needs("--keep-blocks", Readable::Gguf) } else { Ok(()) }
    }

    fn options(&self) -> Options<'_> {
        let Self { to, all, scale, unscale, bits, no_metadata, .. } = *self;
        let (only, except, renames) = (&self.only[..], &self.except[..], &self.renames);
        Options { to, all, only, except, scale, unscale, bits, no_metadata, renames }
    }
}

/// # Errors
/// Two inputs would become one file, or one has no name.
fn check_outputs(jobs: &[Job<'_>]) -> Result<(), Error> {
    let mut seen: HashMap<&Path, &Path> = HashMap::new();
    for Job { inputs, output } in jobs {
        let Some(input) = inputs.first() else { continue };
        if input.as_os_str() == "-" {
            return Err(Error::usage("--each needs inputs with names; standard input has none"));
        }
        if let Some(other) = seen.insert(output, input) {
            let (output, other) = [output, other].map(|path| shown_text(&path.to_string_lossy())).into();
            let sentence = format!("would become {output}, as {other} would; convert them one by one");
            return Err(Error::about(input, sentence));
        }
    }
    Ok(())
}
