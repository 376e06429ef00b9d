//! `safetensors hash`: sums of files and tensors, and whether files still have theirs.

use crate::commands::{Run, stdin_once};
use crate::complaint::{Complaint, Outcome};
use crate::exit::Exit;
use crate::json::{Object, array, quoted as quoted_json};
use crate::model::{Model, file_alone_in, is_sharded};
use crate::parallel::{cores, in_order};
use crate::sums::{Found, Single, Text, has_control, line, no_room, sum_at, verify};
use crate::text::shown_text;
use crate::work::Work;
use embedded_safetensors::FileModel;
use std::fs;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::iter;
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
            Some(list) => self.print_found(list, &verify(list)?),
            None => self.hash(),
        }
    }
}

impl Hash {
    /// Several models at once; with their tensors one after the other, and several tensors at once.
    fn hash(&self) -> Outcome {
        stdin_once(&self.models)?;
        let with_tensors = self.with_tensors();
        let times = if with_tensors { 2 } else { 1 };
        let work = Work::new("hashing", times * self.models.iter().map(|path| size(path)).sum::<u64>());
        let (at_once, inside) = match with_tensors || self.models.len() == 1 {
            true => (NonZero::<usize>::MIN, cores()),
            false => (cores(), NonZero::<usize>::MIN),
        };
        let mut worst = Exit::Good;
        let text = |path: &PathBuf| self.text(path, inside, &work);
        in_order(&self.models, at_once, text, |text| {
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
    fn text(&self, path: &Path, threads: NonZero<usize>, work: &Work) -> Result<Text, Complaint> {
        let alone = file_alone_in(path).map_err(|error| Complaint::not_read(path, error))?;
        match alone.as_deref() {
            None if is_sharded(path) => {
                let model = Model::open(path)?;
                let mut files = model.parts().iter().map(FileModel::path).chain(model.index());
                files.try_for_each(|file| self.must_have_line(file))?;
                let parts = model.parts().iter().map(Single::of);
                let text = self.text_of(path, model.index(), parts, threads, work)?;
                model.check_unchanged()?;
                Ok(text)
            }
            file => {
                let file = file.unwrap_or(path);
                self.must_have_line(file)?;
                self.text_of(path, None, iter::once_with(|| Single::open(file)), threads, work)
            }
        }
    }

    /// Of a model that is asked for by this path, and is in these files.
    fn text_of<'p>(
        &self,
        path: &Path,
        index: Option<&Path>,
        parts: impl Iterator<Item = Result<Single<'p>, Complaint>>,
        threads: NonZero<usize>,
        work: &Work,
    ) -> Result<Text, Complaint> {
        let mut text = Text::new();
        if self.json {
            put(&mut text, format!(r#"{{"file":{},"ok":true,"files":["#, in_json(path)).as_bytes())?;
        }
        if let Some(index) = index {
            let (len, sum) = sum_at(index, work).map_err(|trouble| trouble.about(index))?;
            self.put_sum(&mut text, index, len, &sum)?;
            put(&mut text, if self.json { b"}," } else { b"" })?;
        }
        for (number, part) in parts.enumerate() {
            put(&mut text, if self.json && number > 0 { b"," } else { b"" })?;
            self.put_part(&mut text, part?, threads, work)?;
        }
        put(&mut text, if self.json { b"]}\n" } else { b"" })?;
        Ok(text)
    }

    fn put_part(
        &self,
        text: &mut Text,
        mut part: Single<'_>,
        threads: NonZero<usize>,
        work: &Work,
    ) -> Result<(), Complaint> {
        let mut sums = part.sums(self.with_tensors(), threads, work)?;
        self.put_sum(text, part.path(), part.len(), &sums.file)?;
        if self.json {
            put(text, b",")?;
            part.print_member(&mut sums, text)?;
            put(text, b"}")?;
        } else if self.tensors {
            part.print_lines(&mut sums, text)?;
        }
        part.check_unchanged()
    }

    /// What goes into a file or a pipe may be shown on a terminal later.
    ///
    /// # Errors
    /// The name has control characters, which a line cannot escape so that `sha256sum` reads it.
    fn must_have_line(&self, path: &Path) -> Result<(), Complaint> {
        match has_control(path) && !self.json && !io::stdout().is_terminal() {
            true => Err(Complaint::about(
                path,
                "control characters in the name, which a list of sums cannot escape; use --json",
            )),
            false => Ok(()),
        }
    }

    /// A line, or the beginning of an object.
    fn put_sum(&self, text: &mut Text, file: &Path, len: u64, sum: &str) -> Result<(), Complaint> {
        match self.json {
            true => {
                let file = in_json(file);
                put(text, format!(r#"{{"file":{file},"bytes":{len},"sha256":"{sum}""#).as_bytes())
            }
            false => put(text, &file_line(sum, file)),
        }
    }

    fn print(&self, text: Result<Text, Complaint>) -> Result<Exit, Complaint> {
        match text {
            Ok(text) => text.print().map(|()| Exit::Good),
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

fn put(text: &mut Text, bytes: &[u8]) -> Result<(), Complaint> {
    text.write_all(bytes).map_err(|error| no_room(&error))
}

/// As `sha256sum` writes it, but on a terminal: there control characters are escaped.
fn file_line(sum: &str, path: &Path) -> Vec<u8> {
    match io::stdout().is_terminal() {
        true => format!("{sum}  {}\n", shown_text(&path.to_string_lossy())).into_bytes(),
        false => line(sum, path),
    }
}

fn in_json(path: &Path) -> String {
    quoted_json(&path.to_string_lossy())
}
