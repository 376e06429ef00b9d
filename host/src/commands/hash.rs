//! `safetensors hash`: prints or verifies the SHA-256 sums of files and tensors.

use crate::args::remote::is_remote;
use crate::commands::{Run, check_stdin_once, each_of};
use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::exit::Exit;
use crate::input::model::{Model, Part, file_of, is_sharded};
use crate::input::remote::check_output;
use crate::json::{Object, array, quoted as quoted_json};
use crate::print::diagnostic::say;
use crate::tensor::sums::{
    Embedded, Found, Single, Text, check_embedded, embed, has_control, line, no_room, sum_at, sum_of_text,
    verify, write_text,
};
use crate::text::shown_text;
use crate::threads::{cores, in_order};
use crate::work::Work;
use safetensors_files::SaveMethod;
use std::fs;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::iter;
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
    #[arg(long, value_name = "LIST")]
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
            Some(list) => self.print_found(list, &verify(context, list)?),
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
        let with_tensors = self.with_tensors();
        let times = if with_tensors { 2 } else { 1 };
        let work = context.work("hashing", times * models.iter().map(|path| size(path)).sum::<u64>());
        let (at_once, inside) = match with_tensors || models.len() == 1 {
            true => (NonZero::<usize>::MIN, cores()),
            false => (cores(), NonZero::<usize>::MIN),
        };
        let mut worst = Exit::Good;
        let text = |path: &PathBuf| self.text(context, path, inside, &work);
        in_order(&models, at_once, text, |text| {
            context.check()?;
            worst = worst.max(self.print(text)?);
            Ok::<_, Error>(())
        })?;
        Ok(worst)
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
        let found = check_embedded(context, path)?;
        let mut out = io::stdout().lock();
        match self.json {
            true => writeln!(out, "{}", found.json())?,
            false => found.print(&mut out)?,
        }
        Ok(found.exit())
    }

    fn embed_in(&self, context: &Context, path: &Path) -> Outcome {
        if path.as_os_str() == "-" {
            return Err(Error::usage("--embed cannot change standard input; give a file"));
        }
        check_output(path)?;
        let Embedded { sum, saved, left_out } = embed(context, path)?;
        let is_in_place = saved == SaveMethod::InPlace;
        let mut out = io::stdout().lock();
        if self.json {
            let object = Object::new().text("file", &path.to_string_lossy()).flag("ok", true);
            let object = object.text("sha256", &sum).flag("in_place", is_in_place);
            writeln!(out, "{}", object.number("padding_left_out", left_out.tensors).end())?;
        } else {
            let how = if is_in_place { "in place" } else { "rewritten: no space in the header" };
            writeln!(out, "{}: sum {sum}, {how}", shown_text(&path.to_string_lossy()))?;
            left_out.print(&mut out)?;
        }
        Ok(Exit::Good)
    }

    fn with_tensors(&self) -> bool {
        self.tensors || self.json
    }

    /// The complete output for one model.
    fn text(
        &self,
        context: &Context,
        path: &Path,
        threads: NonZero<usize>,
        work: &Work,
    ) -> Result<Text, Error> {
        let file = file_of(path)?;
        match is_sharded(context, &file)? {
            true => {
                let model = Model::open(context, &file)?;
                let mut files = model.parts().iter().map(Part::path).chain(model.index());
                files.try_for_each(|file| self.must_have_line(file))?;
                let parts = model.parts().iter().map(Single::of);
                let index = Self::sum_of_index(context, &model, work)?;
                let text = self.text_of(path, index, parts, threads, work)?;
                model.check_unchanged()?;
                Ok(text)
            }
            false => {
                self.must_have_line(&file)?;
                self.text_of(path, None, iter::once_with(|| Single::open(context, &file)), threads, work)
            }
        }
    }

    /// The length and the sum of an index.
    fn sum_of_index<'m>(
        context: &Context,
        model: &'m Model,
        work: &Work,
    ) -> Result<Option<(&'m Path, u64, String)>, Error> {
        let Some(index) = model.index() else { return Ok(None) };
        let (len, sum) = match model.index_text() {
            Some(text) => sum_of_text(text),
            None => sum_at(context, index, work).map_err(|trouble| trouble.about(index))?,
        };
        Ok(Some((index, len, sum)))
    }

    /// The output for a model that was requested by this path and has these files.
    fn text_of<'p>(
        &self,
        path: &Path,
        index: Option<(&Path, u64, String)>,
        parts: impl Iterator<Item = Result<Single<'p>, Error>>,
        threads: NonZero<usize>,
        work: &Work,
    ) -> Result<Text, Error> {
        let mut text = Text::new();
        if self.json {
            put(&mut text, format!(r#"{{"file":{},"ok":true,"files":["#, in_json(path)).as_bytes())?;
        }
        if let Some((index, len, sum)) = index {
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
    ) -> Result<(), Error> {
        if is_remote(part.path()) {
            // Its length is known only now.
            work.expect(part.len());
        }
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

    /// Writes a line, or the beginning of an object.
    fn put_sum(&self, text: &mut Text, file: &Path, len: u64, sum: &str) -> Result<(), Error> {
        match self.json {
            true => {
                let file = in_json(file);
                put(text, format!(r#"{{"file":{file},"bytes":{len},"sha256":"{sum}""#).as_bytes())
            }
            false => put(text, &file_line(sum, file)),
        }
    }

    fn print(&self, text: Result<Text, Error>) -> Result<Exit, Error> {
        match text {
            Ok(text) => text.print().map(|()| Exit::Good),
            Err(complaint) => Ok(say(&complaint, self.json)),
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

fn put(text: &mut Text, bytes: &[u8]) -> Result<(), Error> {
    text.write_all(bytes).map_err(|error| no_room(&error))
}

/// The line that `sha256sum` writes; on a terminal, control characters are escaped.
fn file_line(sum: &str, path: &Path) -> Vec<u8> {
    match io::stdout().is_terminal() {
        true => format!("{sum}  {}\n", shown_text(&path.to_string_lossy())).into_bytes(),
        false => line(sum, path),
    }
}

fn in_json(path: &Path) -> String {
    quoted_json(&path.to_string_lossy())
}
