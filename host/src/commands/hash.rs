//! `safetensors hash`: sums of files and tensors, and whether files still have theirs.

use crate::commands::{Run, stdin_once};
use crate::complaint::{Complaint, Outcome};
use crate::exit::Exit;
use crate::json::{Object, array};
use crate::model::{Model, Tensor};
use crate::parallel::{cores, in_order};
use crate::sums::{Found, Hashed, hash_model, line, verify};
use crate::text::{quoted, shown_text};
use crate::work::Work;
use std::fs;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};

/// Take the SHA-256 sums of models and their tensors, or verify that files have theirs.
///
/// The lines are those of `sha256sum`, which verifies them too. Exit code: 0 if all is well, 1 if a model is not sound or a
/// file is not what its sum says, 2 if something could not be read.
#[derive(clap::Args)]
pub struct Hash {
    /// Models; `-` is standard input
    #[arg(value_name = "MODEL", required_unless_present = "verify", conflicts_with = "verify")]
    models: Vec<PathBuf>,

    /// Take the sum of each tensor, too
    #[arg(long, conflicts_with = "verify")]
    tensors: bool,

    /// Verify the files of a list: what this command has printed, with `--json` or without; or a checkpoint, which is a folder
    #[arg(long, value_name = "MANIFEST")]
    verify: Option<PathBuf>,

    /// Follow names of the list that lead out of this folder
    #[arg(long, requires = "verify", conflicts_with = "models")]
    anywhere: bool,

    /// Print one JSON object per model, with the sums of the tensors; or one about the list
    #[arg(long)]
    json: bool,
}

impl Run for Hash {
    fn json(&self) -> bool {
        self.json
    }

    fn run(self) -> Outcome {
        match &self.verify {
            Some(list) => self.print_found(list, &verify(list, self.anywhere)?),
            None => self.hash(),
        }
    }
}

impl Hash {
    /// Several models at once, or the parts of one.
    fn hash(&self) -> Outcome {
        stdin_once(&self.models)?;
        let several = self.models.len() > 1;
        let inside = if several { NonZero::<usize>::MIN } else { cores() };
        let times = if self.with_tensors() { 2 } else { 1 };
        let work = Work::new("hashing", times * self.models.iter().map(|path| size(path)).sum::<u64>());
        let mut worst = Exit::Good;
        let text = |path: &PathBuf| self.text(path, inside, &work);
        in_order(&self.models, cores(), text, |text| {
            Work::check()?;
            worst = worst.max(self.print(text)?);
            Ok::<_, Complaint>(())
        })?;
        Ok(worst)
    }

    fn with_tensors(&self) -> bool {
        self.tensors || self.json
    }

    /// All that is said of a model.
    fn text(&self, path: &Path, threads: NonZero<usize>, work: &Work) -> Result<Vec<u8>, Complaint> {
        let model = Model::open(path)?;
        let hashed = hash_model(&model, self.with_tensors(), threads, work)?;
        Ok(if self.json { object(&model, &hashed).into_bytes() } else { lines(&hashed) })
    }

    fn print(&self, text: Result<Vec<u8>, Complaint>) -> Result<Exit, Complaint> {
        match text {
            Ok(text) => {
                io::stdout().lock().write_all(&text)?;
                Ok(Exit::Good)
            }
            Err(complaint) => Ok(complaint.say(self.json)),
        }
    }

    fn print_found(&self, list: &Path, found: &[Found]) -> Outcome {
        let worst = found.iter().map(Found::exit).max().unwrap_or(Exit::Good);
        let mut out = BufWriter::new(io::stdout().lock());
        if self.json {
            let files = array(found.iter().map(Found::json));
            let object = Object::new().text("file", &list.to_string_lossy()).flag("ok", worst == Exit::Good);
            writeln!(out, "{}", object.raw("files", &files).end())?;
        } else {
            found.iter().try_for_each(|found| found.print(&mut out))?;
        }
        out.flush()?;
        Ok(worst)
    }
}

/// How many bytes are to be read, as far as that can be known before.
fn size(path: &Path) -> u64 {
    let len = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().map(|entry| len(&entry.path())).sum(),
        Err(_) => len(path),
    }
}

fn lines(hashed: &Hashed<'_>) -> Vec<u8> {
    let mut text = Vec::new();
    for file in &hashed.files {
        text.extend(file_line(&file.sum, file.path));
        for (tensor, sum) in hashed.tensors_of(file) {
            text.extend(format!("  {sum}  {}\n", quoted(tensor.name())).into_bytes());
        }
    }
    text
}

/// As `sha256sum` writes it, but where a person looks on: names may hold what steers a terminal.
fn file_line(sum: &str, path: &Path) -> Vec<u8> {
    if io::stdout().is_terminal() {
        format!("{sum}  {}\n", shown_text(&path.to_string_lossy())).into_bytes()
    } else {
        line(sum, path)
    }
}

fn object(model: &Model, hashed: &Hashed<'_>) -> String {
    let files = hashed.files.iter().map(|file| {
        let object = Object::new().text("file", &file.path.to_string_lossy());
        let object = object.number("bytes", file.len).text("sha256", &file.sum);
        let tensors = hashed.tensors_of(file).fold(Object::new(), |object, (tensor, sum)| {
            object.raw(tensor.name(), &tensor_object(tensor, sum))
        });
        if file.part.is_some() { object.raw("tensors", &tensors.end()).end() } else { object.end() }
    });
    let object = Object::new().text("file", &model.path().to_string_lossy()).flag("ok", true);
    object.raw("files", &array(files)).end() + "\n"
}

fn tensor_object(tensor: &Tensor<'_>, sum: &str) -> String {
    let dims = array(tensor.dims().iter().map(u64::to_string));
    let object = Object::new().text("dtype", tensor.dtype().name()).raw("shape", &dims);
    object.number("bytes", tensor.byte_len()).text("sha256", sum).end()
}
