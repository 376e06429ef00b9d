//! `safetensors report`: one HTML page about a model.

use crate::args::kind::Kind;
use crate::commands::Run;
use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::exit::Exit;
use crate::input::model::{Model, Tensor, bytes_of};
use crate::json::Object;
use crate::lint::lint;
use crate::output::file::{Product, check_output_path, check_stdout_use};
use crate::output::overwrite::{check_not_in_model, check_not_input};
use crate::print::diagnostic::line;
use crate::report;
use crate::tensor::stats::measure;
use crate::text::{grouped, shown_text};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Write one HTML page about a model: layout, tensors, statistics, metadata and findings
///
/// The page needs no network and no other file. It is written for an invalid file, too, and says what is
/// wrong. Exit code: 0 if the model is valid, 1 if it is invalid, 2 for all other errors, and then no page is
/// written.
#[derive(clap::Args)]
pub struct Report {
    /// Page to write; `-` is standard output
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,

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
    fn json(&self) -> bool {
        self.json
    }

    fn run(self, context: &Context) -> Outcome {
        check_stdout_use(self.json, Some(&self.output))?;
        if self.output.as_os_str() != "-" {
            check_output_path(&self.output, self.force)?;
            Kind::must_be_page(&self.output)?;
        }
        match Model::open(context, &self.model) {
            Ok(model) => {
                check_not_in_model(&model, &self.output)?;
                let len = self.write(context, &self.page(context, &model)?)?;
                self.tell(len)?;
                Ok(Exit::Good)
            }
            Err(complaint) if complaint.exit() == Exit::Bad => {
                check_not_input(&self.model, &self.output)?;
                self.write(context, &report::invalid(&self.name(), &line(&complaint, usize::MAX)))?;
                Err(complaint)
            }
            Err(complaint) => Err(complaint),
        }
    }
}

impl Report {
    fn page(&self, context: &Context, model: &Model) -> Result<String, Error> {
        let tensors: Vec<Tensor<'_>> = model.tensors().collect();
        let rows = measure(&tensors, &context.work("reading", bytes_of(&tensors)))?;
        let findings = lint(context, model, &[])?;
        Ok(report::valid(&self.name(), model, &rows, &findings))
    }

    /// The last part of the path.
    fn name(&self) -> String {
        self.model.file_name().unwrap_or(self.model.as_os_str()).to_string_lossy().into_owned()
    }

    fn write(&self, context: &Context, page: &str) -> Result<u64, Error> {
        let mut product = Product::create(context, &self.output, self.force)?;
        product.expect(page.len() as u64);
        product.put(page.as_bytes())?;
        product.finish()?;
        Ok(page.len() as u64)
    }

    fn tell(&self, len: u64) -> io::Result<()> {
        let name = |path: &Path| path.to_string_lossy().into_owned();
        let (model, output) = (name(&self.model), name(&self.output));
        if self.json {
            let object = Object::new().text("file", &model).flag("ok", true).text("output", &output);
            writeln!(io::stdout(), "{}", object.number("bytes", len).end())
        } else if output == "-" {
            Ok(())
        } else {
            writeln!(
                io::stdout(),
                "{}: the report on {}, {} bytes",
                shown_text(&output),
                shown_text(&model),
                grouped(len)
            )
        }
    }
}
