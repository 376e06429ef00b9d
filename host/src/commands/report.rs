//! `safetensors report`: one HTML page about a model.

use super::{Context, Error, Exit, Outcome, Run};
use crate::args::kind::Kind;
use crate::args::remote::is_remote;
use crate::input::model::{Model, Tensor, bytes_of};
use crate::json::{about, object};
use crate::lint::lint;
use crate::output::file::{Product, check_output_path, check_stdout_use};
use crate::output::overwrite::{check_not_in_model, check_not_input};
use crate::output::stdout::show;
use crate::print::diagnostic::line;
use crate::report;
use crate::tensor::stats::measure;
use crate::text::{grouped, shown_path};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Write one HTML page about a model: layout, tensors, statistics, metadata and findings
///
/// The page needs no network and no other file. It is written for an invalid file, too, and says what is
/// wrong. Exit code: 0 if the model is valid, 1 if it is invalid, 2 for all other errors, and then no page is
/// written.
#[derive(clap::Args)]
pub struct Report {
    /// Page to write; `-` is standard output [default: the model's name with .html]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Overwrite an existing file
    #[arg(long)]
    force: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Model; `-` is standard input
    #[arg(value_name = "MODEL")]
    model: PathBuf,
}

impl Run for Report {
    fn run(self, context: &Context) -> Outcome {
        let output = self.output.clone().map_or_else(|| page_of(&self.model), Ok)?;
        check_stdout_use(self.json, Some(&output))?;
        if output.as_os_str() != "-" {
            check_output_path(&output, self.force)?;
            Kind::must_be_page(&output)?;
        }
        // The last part of the path.
        let name = self.model.file_name().unwrap_or(self.model.as_os_str()).to_string_lossy();
        let create = || Product::create(context, &output, self.force);
        let (mut product, verdict) = match Model::open(context, &self.model) {
            Ok(model) => {
                check_not_in_model(&model, &output)?;
                let tensors: Vec<Tensor<'_>> = model.tensors().collect();
                let rows = measure(&tensors, &context.work("reading", bytes_of(&tensors)))?;
                let (findings, mut product) = (lint(context, &model, &[])?, create()?);
                report::valid(&name, &model, &rows, &findings, &mut product)?;
                (product, Ok(()))
            }
            Err(error) if error.exit() == Exit::Bad => {
                check_not_input(&self.model, &output)?;
                let mut product = create()?;
                product.put(report::invalid(&name, &line(&error, usize::MAX)).as_bytes())?;
                (product, Err(error))
            }
            Err(error) => return Err(error),
        };
        let bytes = product.position()?;
        product.finish()?;
        verdict?;
        let members = object! { output: output.to_string_lossy(), bytes };
        show(self.json, &about(&self.model, true, members), |out| {
            let (page, of) = (shown_path(&output), shown_path(&self.model));
            match &*page {
                "-" => Ok(()),
                _ => writeln!(out, "{page}: the report on {of}, {} bytes", grouped(bytes)),
            }
        })?;
        Ok(Exit::Good)
    }
}

/// The page of a model for which none is named: in the current directory.
///
/// # Errors
/// The path has no name.
fn page_of(model: &Path) -> Result<PathBuf, Error> {
    let path = model.to_string_lossy();
    let path = path.split_once(['?', '#']).filter(|_| is_remote(model)).map_or(&*path, |(path, _)| path);
    let name = Path::new(path).file_name().map(OsStr::to_string_lossy).filter(|name| *name != "-");
    let name = name.ok_or_else(|| Error::about(model, "it has no name for the page; give one with -o"))?;
    let name = name.strip_suffix(".index.json").unwrap_or(&name);
    Ok(format!("{}.html", name.strip_suffix(".safetensors").unwrap_or(name)).into())
}
