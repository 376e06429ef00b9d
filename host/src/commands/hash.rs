//! `safetensors hash`: prints or verifies the SHA-256 sums of files and tensors.

use super::{Context, Error, Exit, Outcome, Run, check_stdin_once, each_of};
use crate::args::remote::is_remote;
use crate::input::model::{Model, Part, file_of, is_sharded};
use crate::input::remote::check_output;
use crate::json::{about, object};
use crate::output::stdout::show;
use crate::print::diagnostic::say;
use crate::tensor::sums::{
    FileSum, Found, TensorSums, check_embedded, embed, has_control, line, print_difference, sum_of_index,
    sums_of_part, verify, write_text,
};
use crate::text::number::digits;
use crate::text::{quoted, shown_path};
use crate::threads::{cores, in_order};
use crate::work::Work;
use serde::Serialize;
use std::fs;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};

/// Print, verify or embed the SHA-256 sums of models and their tensors
///
/// `sha256sum` can also verify output made without options. Exit code: 130 if interrupted, otherwise 2 if
/// something cannot be read or written, otherwise 1 if a model is invalid, does not match its sum or contains
/// none, otherwise 0.
#[derive(clap::Args)]
pub struct Hash {
    /// Models; `-` is standard input
    #[arg(value_name = "MODEL", required_unless_present = "verify", conflicts_with = "verify")]
    models: Vec<PathBuf>,

    /// Print the sum of each tensor too
    #[arg(long, conflicts_with = "verify")]
    tensors: bool,

    /// Verify files against a list of sums (of `sha256sum` or of this command) or against a checkpoint
    /// directory
    #[arg(short = 'c', long, visible_alias = "check", value_name = "LIST")]
    verify: Option<PathBuf>,

    /// Embed the sum of each model in it, as the value of `safetensors.sha256` in its metadata; writes just
    /// the header if it has space, otherwise the entire file
    #[arg(long, conflicts_with_all = ["tensors", "verify", "check_embedded"])]
    embed: bool,

    /// Verify each model against the sum embedded in it
    #[arg(long, conflicts_with_all = ["tensors", "verify"])]
    check_embedded: bool,

    /// Print a text of each model for `git diff`: a line for each metadata key and each tensor, sorted by
    /// name; of an invalid file the text is its error, and the exit code is 0
    #[arg(long, conflicts_with_all = ["tensors", "verify", "embed", "check_embedded", "json"])]
    textconv: bool,

    /// Print one JSON object per model with the sums of its tensors, or one object for the list
    #[arg(long)]
    json: bool,
}

impl Run for Hash {
    fn run(self, context: &Context) -> Outcome {
        match &self.verify {
            Some(list) => self.verify(context, list),
            None if self.textconv => self.each_text(context),
            None if self.embed => self.embed(context),
            None if self.check_embedded => self.check_embedded(context),
            None => self.hash(context),
        }
    }
}

impl Hash {
    /// Hashes several models at once; with tensors, one model at a time and several tensors at once.
    fn hash(&self, context: &Context) -> Outcome {
        let models = each_of(&self.models);
        let times = if self.with_tensors() { 2 } else { 1 };
        let work = context.work("hashing", times * models.iter().map(|path| size(path)).sum::<u64>());
        let (at_once, inside) = match self.with_tensors() || models.len() == 1 {
            true => (NonZero::<usize>::MIN, cores()),
            false => (cores(), NonZero::<usize>::MIN),
        };
        let sums = |path: &Path| self.sums(context, path, inside, &work);
        self.each(context, at_once, sums, |path, files| {
            self.show(path, true, &object! { files: &files }, |out| print(&files, out))
        })
    }

    /// Treats so many models at once, and prints the results in order. An error of one does not stop the
    /// others.
    fn each<T: Send>(
        &self,
        context: &Context,
        at_once: NonZero<usize>,
        treat: impl Fn(&Path) -> Result<T, Error> + Sync,
        mut print: impl FnMut(&Path, T) -> Outcome,
    ) -> Outcome {
        check_stdin_once(&self.models)?;
        let (models, mut worst) = (each_of(&self.models), Exit::Good);
        let treat = |path| (path, treat(PathBuf::as_path(path)));
        in_order(&models, at_once, treat, |(path, treated)| {
            context.check()?;
            worst = worst.max(match treated {
                Ok(treated) => print(path, treated)?,
                Err(error) => say(&error, self.json),
            });
            Ok::<_, Error>(())
        })?;
        Ok(worst)
    }

    fn with_tensors(&self) -> bool {
        self.tensors || self.json
    }

    /// The sums of an index, if there is one, and of the files of a model.
    ///
    /// # Errors
    /// A name has control characters, which `sha256sum` cannot read from a line; those of the model.
    fn sums(
        &self,
        context: &Context,
        path: &Path,
        threads: NonZero<usize>,
        work: &Work,
    ) -> Result<Vec<FileSum>, Error> {
        let file = file_of(path)?;
        let model = Model::open(context, &file)?;
        let mut names = model.parts().iter().map(Part::path).chain(model.index());
        // Also in files and pipes, whose contents may reach a terminal later.
        let are_lines = !self.json && !io::stdout().is_terminal();
        if let Some(name) = names.find(|name| are_lines && has_control(name)) {
            let sentence = "name has control characters, which a list of sums cannot escape; use --json";
            return Err(Error::about(name, sentence));
        }
        let index = sum_of_index(context, &model, work)?;
        let sums = model.parts().iter().map(|part| {
            if is_remote(part.path()) {
                // Its length is known only now.
                work.expect(part.index().summary().file_len());
            }
            sums_of_part(part, self.with_tensors(), threads, work)
        });
        let (sums, is_single) = (sums.collect::<Result<Vec<_>, _>>()?, index.is_none());
        model.check_unchanged()?;
        let parts = model.into_parts().into_iter().zip(sums).map(|(part, (sum, tensors))| {
            // A single file keeps its requested name: the model may be in a cache.
            let name = if is_single { &file } else { part.path() };
            let whole = FileSum::new(name, part.index().summary().file_len(), &sum);
            FileSum { tensors: self.with_tensors().then_some(TensorSums(part, tensors)), ..whole }
        });
        Ok(index.into_iter().chain(parts).collect())
    }

    /// Prints an object about a file, or text.
    fn show(
        &self,
        file: &Path,
        ok: bool,
        more: &impl Serialize,
        print: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Outcome {
        show(self.json, &about(file, ok, more), print)?;
        Ok(if ok { Exit::Good } else { Exit::Bad })
    }

    fn each_text(&self, context: &Context) -> Outcome {
        check_stdin_once(&self.models)?;
        let mut out = BufWriter::new(io::stdout().lock());
        self.models.iter().try_for_each(|path| write_text(context, path, &mut out))?;
        out.flush()?;
        Ok(Exit::Good)
    }

    fn check_embedded(&self, context: &Context) -> Outcome {
        let check = |path: &Path| {
            let file = only_file_of(context, path)?;
            Ok((check_embedded(context, &file)?, file))
        };
        self.each(context, NonZero::<usize>::MIN, check, |_, (changed, file)| {
            self.show(&file, changed.is_none(), &changed, |out| {
                print_difference(&file, changed.as_ref(), out)
            })
        })
    }

    fn embed(&self, context: &Context) -> Outcome {
        let embed = |path: &Path| {
            let file = only_file_of(context, path)?;
            if file.as_os_str() == "-" {
                return Err(Error::usage("--embed cannot change standard input; give a file"));
            }
            check_output(&file)?;
            Ok((embed(context, &file)?, file))
        };
        self.each(context, NonZero::<usize>::MIN, embed, |_, ((sha256, in_place, padding), file)| {
            let embedded = object! { sha256: &sha256, in_place, padding_left_out: padding };
            self.show(&file, true, &embedded, |mut out| {
                let how = if in_place { "in place" } else { "rewritten: no space in the header" };
                writeln!(out, "{}: sum {sha256}, {how}", shown_path(&file))?;
                padding.print(&mut out)
            })
        })
    }

    fn verify(&self, context: &Context, list: &Path) -> Outcome {
        let found = verify(context, list)?;
        let worst = found.iter().map(Found::exit).max().unwrap_or(Exit::Good);
        let print = |out: &mut dyn Write| found.iter().try_for_each(|found| found.print(out));
        self.show(list, worst == Exit::Good, &object! { files: &found }, print)?;
        Ok(worst)
    }
}

fn print(files: &[FileSum], out: &mut dyn Write) -> io::Result<()> {
    for FileSum { file, sha256, tensors, .. } in files {
        match io::stdout().is_terminal() {
            // Control characters are escaped.
            true => writeln!(out, "{sha256}  {}", shown_path(file))?,
            false => out.write_all(&line(sha256, file))?,
        }
        for (tensor, sum) in tensors.iter().flat_map(TensorSums::each) {
            writeln!(out, "  {}  {}", digits(sum), quoted(tensor.name()))?;
        }
    }
    Ok(())
}

/// The only file of a model.
///
/// # Errors
/// The path is the index or the directory of several files, or of invalid ones.
fn only_file_of(context: &Context, path: &Path) -> Result<PathBuf, Error> {
    match is_sharded(context, path)? {
        true => Ok(Model::open(context, path)?.one_part()?.path().to_path_buf()),
        false => Ok(path.to_path_buf()),
    }
}

/// The number of bytes to read, as far as it is known in advance.
fn size(path: &Path) -> u64 {
    let len = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().map(|entry| len(&entry.path())).sum(),
        Err(_) => len(path),
    }
}
