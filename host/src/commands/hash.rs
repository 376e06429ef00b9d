//! `safetensors hash`: prints or verifies the SHA-256 sums of files and tensors.

use crate::args::remote::is_remote;
use crate::commands::{Run, check_stdin_once, each_of};
use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::exit::Exit;
use crate::input::model::{Model, Part, file_of, is_sharded};
use crate::input::remote::check_output;
use crate::json::{self, About, List};
use crate::print::diagnostic::say;
use crate::tensor::sums::{
    Found, Sum, check_embedded, embed, has_control, line, print, sum_at, sum_of_text, sums_of_part, verify,
    write_text,
};
use crate::text::number::digits;
use crate::text::{quoted, shown_text};
use crate::threads::{cores, stream};
use crate::work::Work;
use embedded_safetensors::index::IndexedTensor;
use serde::{Serialize, Serializer};
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
    fn json(&self) -> bool {
        self.json
    }

    fn run(self, context: &Context) -> Outcome {
        match &self.verify {
            Some(list) => self.verify(context, list),
            None if self.textconv => self.each_text(context),
            None if self.embed => self.each(context, |path| self.embed_in(context, path)),
            None if self.check_embedded => self.each(context, |path| self.check_in(context, path)),
            None => self.hash(context),
        }
    }
}

impl Hash {
    /// Hashes several models at once; with tensors, one model at a time and several tensors at once.
    fn hash(&self, context: &Context) -> Outcome {
        check_stdin_once(&self.models)?;
        let models = each_of(&self.models);
        let times = if self.with_tensors() { 2 } else { 1 };
        let work = context.work("hashing", times * models.iter().map(|path| size(path)).sum::<u64>());
        let (at_once, inside) = match self.with_tensors() || models.len() == 1 {
            true => (NonZero::<usize>::MIN, cores()),
            false => (cores(), NonZero::<usize>::MIN),
        };
        let (mut worst, mut models) = (Exit::Good, models.into_iter());
        let next = || Ok::<_, Error>(models.next());
        let sums = |path| self.sums(context, path, inside, &work);
        stream(at_once.get(), next, sums, |hashed| {
            context.check()?;
            worst = worst.max(match hashed {
                Ok(hashed) => {
                    let files = Files { files: List(hashed.files()) };
                    self.show(&hashed.path, true, &files, |out| hashed.print(out))?
                }
                Err(error) => say(&error, self.json),
            });
            Ok(())
        })?;
        Ok(worst)
    }

    fn with_tensors(&self) -> bool {
        self.tensors || self.json
    }

    fn sums(
        &self,
        context: &Context,
        path: PathBuf,
        threads: NonZero<usize>,
        work: &Work,
    ) -> Result<Hashed, Error> {
        let file = file_of(&path)?;
        self.must_have_line(&file)?;
        let model = Model::open(context, &file)?;
        let names = model.parts().iter().map(Part::path).chain(model.index());
        names.filter(|_| model.index().is_some()).try_for_each(|file| self.must_have_line(file))?;
        let (mut index, mut sums) = (None, Vec::new());
        if let Some(path) = model.index() {
            index = Some(match model.index_text() {
                Some(text) => sum_of_text(text),
                None => sum_at(context, path, work)?,
            });
        }
        for part in model.parts() {
            if is_remote(part.path()) {
                // Its length is known only now.
                work.expect(part.index().summary().file_len());
            }
            sums.push(sums_of_part(part, self.with_tensors(), threads, work)?);
        }
        model.check_unchanged()?;
        Ok(Hashed { path, file, model, index, sums })
    }

    /// Also applies to files and pipes, whose contents may reach a terminal later.
    ///
    /// # Errors
    /// The name has control characters that a line cannot escape in a form that `sha256sum` reads.
    fn must_have_line(&self, path: &Path) -> Result<(), Error> {
        match has_control(path) && !self.json && !io::stdout().is_terminal() {
            true => Err(Error::about(
                path,
                "name has control characters, which a list of sums cannot escape; use --json",
            )),
            false => Ok(()),
        }
    }

    /// Prints an object about a file, or text.
    fn show(
        &self,
        file: &Path,
        ok: bool,
        more: &impl Serialize,
        print: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Outcome {
        let mut out = BufWriter::new(io::stdout().lock());
        match self.json {
            true => json::print(&mut out, &About { file: &file.to_string_lossy(), ok, more })?,
            false => print(&mut out)?,
        }
        out.flush()?;
        Ok(if ok { Exit::Good } else { Exit::Bad })
    }

    /// Treats one model after another, each in one file. An error of one does not stop the others.
    fn each(&self, context: &Context, treat: impl Fn(&Path) -> Outcome) -> Outcome {
        check_stdin_once(&self.models)?;
        let mut worst = Exit::Good;
        for path in &each_of(&self.models) {
            let exit = only_file_of(context, path)
                .and_then(|file| treat(&file))
                .unwrap_or_else(|error| say(&error, self.json));
            worst = worst.max(exit);
            context.check()?;
        }
        Ok(worst)
    }

    fn each_text(&self, context: &Context) -> Outcome {
        check_stdin_once(&self.models)?;
        let mut out = BufWriter::new(io::stdout().lock());
        self.models.iter().try_for_each(|path| write_text(context, path, &mut out))?;
        out.flush()?;
        Ok(Exit::Good)
    }

    fn check_in(&self, context: &Context, path: &Path) -> Outcome {
        let changed = check_embedded(context, path)?;
        self.show(path, changed.is_none(), &changed, |out| print(path, changed.as_ref(), out))
    }

    fn embed_in(&self, context: &Context, path: &Path) -> Outcome {
        if path.as_os_str() == "-" {
            return Err(Error::usage("--embed cannot change standard input; give a file"));
        }
        check_output(path)?;
        let embedded = embed(context, path)?;
        self.show(path, true, &embedded, |mut out| {
            let (file, sum) = (shown_text(&path.to_string_lossy()), &embedded.sha256);
            let how = if embedded.in_place { "in place" } else { "rewritten: no space in the header" };
            writeln!(out, "{file}: sum {sum}, {how}")?;
            embedded.padding_left_out.print(&mut out)
        })
    }

    fn verify(&self, context: &Context, list: &Path) -> Outcome {
        let found = verify(context, list)?;
        let worst = found.iter().map(Found::exit).max().unwrap_or(Exit::Good);
        let print = |out: &mut dyn Write| found.iter().try_for_each(|found| found.print(out));
        self.show(list, worst == Exit::Good, &Files { files: &found }, print)?;
        Ok(worst)
    }
}

/// A model and its sums.
struct Hashed {
    /// The requested path.
    path: PathBuf,
    /// The file that it means.
    file: PathBuf,
    model: Model,
    /// The length and the sum of the index.
    index: Option<(u64, String)>,
    /// The sum of each file, and those of its tensors in header order.
    sums: Vec<(Sum, Vec<Sum>)>,
}

impl Hashed {
    fn files(&self) -> impl Iterator<Item = FileSums<'_>> + Clone {
        let index = self.model.index().zip(self.index.as_ref()).map(|(file, (bytes, sha256))| FileSums {
            file,
            bytes: *bytes,
            sha256: sha256.clone(),
            tensors: None,
        });
        let parts = self.model.parts().iter().zip(&self.sums).map(|(part, (sum, tensors))| FileSums {
            // A single file keeps its name, which may be that of a model in a cache.
            file: if self.index.is_some() { part.path() } else { &self.file },
            bytes: part.index().summary().file_len(),
            sha256: digits(sum),
            tensors: Some(TensorSums(part, tensors)),
        });
        index.into_iter().chain(parts)
    }

    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        for FileSums { file, sha256, tensors, .. } in self.files() {
            out.write_all(&file_line(&sha256, file))?;
            for (tensor, sum) in tensors.iter().flat_map(TensorSums::each) {
                writeln!(out, "  {}  {}", digits(sum), quoted(tensor.name()))?;
            }
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct Files<T> {
    files: T,
}

#[derive(Clone, Serialize)]
struct FileSums<'h> {
    #[serde(serialize_with = "lossy")]
    file: &'h Path,
    bytes: u64,
    sha256: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tensors: Option<TensorSums<'h>>,
}

fn lossy<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    path.to_string_lossy().serialize(to)
}

/// A file and the sums of its tensors, if they are to be printed.
#[derive(Clone)]
struct TensorSums<'h>(&'h Part, &'h [Sum]);

impl<'h> TensorSums<'h> {
    fn each(&self) -> impl Iterator<Item = (IndexedTensor<'h>, &'h Sum)> {
        self.0.index().in_header_order().zip(self.1)
    }
}

impl Serialize for TensorSums<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.each().map(|(tensor, sum)| {
            let (dtype, shape, bytes) = (tensor.dtype().name(), tensor.dims(), tensor.byte_len());
            (tensor.name(), TensorSum { dtype, shape, bytes, sha256: digits(sum) })
        }))
    }
}

#[derive(Serialize)]
struct TensorSum<'h> {
    dtype: &'static str,
    shape: &'h [u64],
    bytes: u64,
    sha256: String,
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

/// The line that `sha256sum` writes; on a terminal, control characters are escaped.
fn file_line(sum: &str, path: &Path) -> Vec<u8> {
    match io::stdout().is_terminal() {
        true => format!("{sum}  {}\n", shown_text(&path.to_string_lossy())).into_bytes(),
        false => line(sum, path),
    }
}
