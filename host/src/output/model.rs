//! The output of commands that write one model.

use crate::args::kind::Kind;
use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::exit::Exit;
use crate::input::model::Model;
use crate::input::open::is_interrupted;
use crate::json::about;
use crate::output::file::{Product, check_output_path, check_stdout_use, check_terminal};
use crate::output::overwrite::check_not_input;
use crate::output::stdout::{complain, show};
use crate::output::writer::{Take, begin, fill};
use crate::text::{counted, shown_path};
use embedded_safetensors::write::{FileSpec, TensorSpec};
use safetensors_files::{ModelEditor, SaveMethod};
use serde::Serialize;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Arguments of commands that write one model.
#[derive(clap::Args)]
pub struct NewModel {
    /// Output file; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// Overwrite an existing file
    #[arg(long)]
    pub force: bool,

    /// Print a summary as one JSON object
    #[arg(long)]
    pub json: bool,
}

impl NewModel {
    /// Whether the model goes to a file, and not to standard output.
    pub fn is_file(&self) -> bool {
        self.output.as_os_str() != "-"
    }

    /// The first line of what is printed about the file.
    pub fn summary(&self, tensors: usize, bytes: u64) -> String {
        let (tensors, bytes) = (counted(tensors as u64, "tensor"), counted(bytes, "byte"));
        format!("{}: {tensors}, {bytes}", shown_path(&self.output))
    }

    /// Says what was done with the input, unless the output went to standard output.
    pub fn say(
        &self,
        input: &Path,
        done: impl Serialize,
        text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Outcome {
        if self.is_file() {
            show(self.json, &about(input, true, done), text)?;
        }
        Ok(Exit::Good)
    }

    /// Checks the arguments. An output that is an input is reported before all other errors.
    ///
    /// # Errors
    /// The output cannot be written, or is not the place for a model.
    pub fn check(&self, inputs: &[&Path]) -> Result<(), Error> {
        check_stdout_use(self.json, Some(&self.output))?;
        check_terminal(&self.output, self.force)?;
        check_new(inputs, &self.output, self.force)
    }

    /// Writes a model with this metadata and these tensors, and returns its length. `make` produces the bytes
    /// of the tensor at an index of `tensors` from `models`.
    ///
    /// # Errors
    /// Those of `make`; one of `models` has changed; those of the system; interruption by the user.
    pub fn write(
        &self,
        context: &Context,
        models: &[&Model],
        metadata: Option<Vec<(&str, &str)>>,
        tensors: &[TensorSpec<'_>],
        make: impl FnMut(usize, Take<'_>) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let spec = FileSpec::new(tensors);
        let spec = metadata.as_ref().map_or(spec, |pairs| spec.with_metadata(pairs));
        let mut product = Product::create(context, &self.output, self.force)?;
        let (bytes, places) = begin(spec, (&mut product, &self.output))?;
        fill(places, (&mut product, &self.output), make)?;
        models.iter().try_for_each(|model| model.check_unchanged())?;
        context.check()?;
        product.finish()?;
        Ok(bytes)
    }
}

/// Waits for an edit in place that is writing this file, or restores what was there before it.
///
/// # Errors
/// Those of the system.
pub fn restore(path: &Path) -> Result<(), Error> {
    if is_interrupted(path) && ModelEditor::open(path)?.is_restored() {
        complain(format_args!("{}: restored the old bytes after an interrupted edit", shown_path(path)));
    }
    Ok(())
}

/// Saves an edited model at its path. `task` is shown while the file is copied.
pub fn save(
    context: &Context,
    editor: ModelEditor<'_>,
    path: &Path,
    task: &str,
) -> Result<SaveMethod, Error> {
    context.listen();
    let mut work = None;
    let saved = editor.save_watched(path, &mut |done, total| {
        let work = work.get_or_insert_with(|| context.work(task, total));
        if work.reach(done).is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    Ok(saved?)
}

/// # Errors
/// This cannot be the name of a new model made of the inputs.
pub fn check_new<P: AsRef<Path>>(
    inputs: impl IntoIterator<Item = P>,
    output: &Path,
    force: bool,
) -> Result<(), Error> {
    if output.as_os_str() == "-" {
        return Ok(());
    }
    inputs.into_iter().try_for_each(|input| check_not_input(input.as_ref(), output))?;
    Kind::must_be_model(output)?;
    check_output_path(output, force)
}
