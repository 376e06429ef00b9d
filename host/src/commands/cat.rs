//! `safetensors cat`: prints a tensor or a slice of it as text or as bytes.

use super::{Context, Error, Exit, Outcome, Run};
use crate::args::slice::SliceOption;
use crate::args::whole;
use crate::input::model::Model;
use crate::json::{self, about, object};
use crate::output::file::{Product, check_terminal};
use crate::output::overwrite::{check_not_in_model, check_not_input};
use crate::print::nested::{Layout, Nested};
use crate::tensor::slice::Sliced;
use crate::text::{grouped, quoted};
use embedded_safetensors::Dtype;
use safetensors_convert::numbers::{Style, bits_of, printed};
use safetensors_convert::numpy::Header;
use serde::Serialize;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// The number of elements that a terminal gets by default.
const SHOWN: u64 = 1000;

/// Print a tensor or a slice of it as text, as a .npy array or as raw bytes
///
/// Text has the layout of numpy. Each number is the shortest decimal that reads back as the same value. Exit
/// code: 0 if the tensor is printed or written, 1 if the model is invalid, 2 for all other errors, 130 if
/// interrupted.
#[derive(clap::Args)]
pub struct Cat {
    /// Model: a file, a shard index or directory, or `-` for standard input
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// Tensor name
    #[arg(value_name = "TENSOR")]
    tensor: String,

    #[command(flatten)]
    part: SliceOption,

    /// Output format [default: from the suffix of --output (.npy, .raw, .bin, .txt), otherwise text]
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,

    /// Write BF16 as U16 bits and F8 as U8 bits; numpy has neither
    #[arg(long)]
    bits: bool,

    /// Print at most N elements [default: 1000 on a terminal, otherwise all]
    #[arg(long, value_name = "N", conflicts_with = "json", value_parser = whole::<u64>, allow_negative_numbers = true)]
    limit: Option<u64>,

    /// Output file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Overwrite an existing file, or print raw bytes to a terminal
    #[arg(long)]
    force: bool,

    /// Print the values, or a summary with --output, as one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Decimal numbers, one row per line
    Text,
    /// A .npy array
    Npy,
    /// The raw bytes of the elements, little-endian
    Raw,
}

impl Run for Cat {
    fn run(self, context: &Context) -> Outcome {
        let format = self.format()?;
        self.check(format)?;
        check_not_input(&self.model, self.target())?;
        let model = Model::open(context, &self.model)?;
        check_not_in_model(&model, self.target())?;
        let sliced = Sliced::of(&model, &self.tensor, &self.part.slice)?;
        match format {
            Format::Text if self.json && self.to_stdout() => self.print_json(context, &sliced)?,
            Format::Text => self.print_text(context, &model, &sliced)?,
            Format::Npy | Format::Raw => self.write(context, &model, format, &sliced)?,
        }
        model.check_unchanged()?;
        Ok(Exit::Good)
    }
}

impl Cat {
    /// The requested format, or the format of the output's suffix.
    ///
    /// # Errors
    /// The suffix is unknown.
    fn format(&self) -> Result<Format, Error> {
        let suffix = self.target().extension().unwrap_or_default().to_ascii_lowercase();
        match (self.format, suffix.to_str().unwrap_or("?")) {
            (Some(format), _) => Ok(format),
            (None, "npy") => Ok(Format::Npy),
            (None, "raw" | "bin") => Ok(Format::Raw),
            (None, "" | "txt") => Ok(Format::Text),
            (None, _) => {
                let sentence =
                    "unknown suffix: .npy, .raw, .bin or .txt needed; use --format to choose the format";
                Err(Error::about(self.target(), sentence))
            }
        }
    }

    fn check(&self, format: Format) -> Result<(), Error> {
        let to_stdout = self.to_stdout();
        if format != Format::Text && self.limit.is_some() {
            return Err(Error::usage("--limit works with text only; use --slice for a part of the bytes"));
        }
        if format != Format::Npy && self.bits {
            return Err(Error::usage(
                "--bits works with .npy only: text has the numbers, raw bytes are the bits",
            ));
        }
        if format != Format::Text && to_stdout && self.json {
            return Err(Error::usage("bytes and JSON cannot share standard output; use --output FILE"));
        }
        if format == Format::Text { Ok(()) } else { check_terminal(self.target(), self.force) }
    }

    /// Whether the output is standard output: by default, or as `--output -`.
    fn to_stdout(&self) -> bool {
        self.target().as_os_str() == "-"
    }

    fn target(&self) -> &Path {
        self.output.as_deref().unwrap_or(Path::new("-"))
    }

    fn print_json(&self, context: &Context, sliced: &Sliced<'_>) -> Result<(), Error> {
        let mut out = BufWriter::new(io::stdout().lock());
        let about = about(&self.model, true, described(sliced, None));
        let values = |out: &mut BufWriter<_>| {
            print(sliced, Style::Json, None, out, &Error::from, &|_| context.check())
        };
        let printed = json::print_with(&mut out, &about, ("values", values));
        out.flush()?;
        printed
    }

    fn print_text(&self, context: &Context, model: &Model, sliced: &Sliced<'_>) -> Result<(), Error> {
        let is_shown = self.to_stdout() && io::stdout().is_terminal();
        let limit = self.limit.or(is_shown.then_some(SHOWN));
        let mut product = Product::create(context, self.target(), self.force)?;
        let path = self.target();
        let cannot = |error| match self.to_stdout() {
            true => Error::from(error),
            false => Error::cannot_write(path, &error),
        };
        // Text that appears on standard output shows the progress by itself.
        let total = sliced.elements().saturating_mul(u64::from(sliced.dtype().bits())) / 8;
        let work = (!self.to_stdout()).then(|| context.work("printing", total));
        let advance = |bytes| work.as_ref().map_or_else(|| context.check(), |work| work.advance(bytes));
        print(sliced, Style::Text, limit, &mut product, &cannot, &advance)?;
        product.put(b"\n")?;
        self.finish(product, model, sliced)
    }

    fn finish(&self, product: Product, model: &Model, sliced: &Sliced<'_>) -> Result<(), Error> {
        model.check_unchanged()?;
        product.finish()?;
        if self.json {
            json::print(
                &mut io::stdout(),
                &about(&self.model, true, described(sliced, Some(self.target()))),
            )?;
        }
        Ok(())
    }

    fn write(
        &self,
        context: &Context,
        model: &Model,
        format: Format,
        sliced: &Sliced<'_>,
    ) -> Result<(), Error> {
        let byte_len = sliced.byte_len()?;
        let header = if format == Format::Npy { self.header(sliced)? } else { Vec::new() };
        let mut product = Product::create(context, self.target(), self.force)?;
        product.put(&header)?;
        let work = context.work("writing", byte_len);
        sliced.bytes(&work, &mut |chunk| product.put(chunk))?;
        self.finish(product, model, sliced)
    }

    fn header(&self, sliced: &Sliced<'_>) -> Result<Vec<u8>, Error> {
        let dtype = sliced.dtype();
        let written = if self.bits { bits_of(dtype) } else { dtype };
        Header::spelled(written, sliced.dims()).ok_or_else(|| {
            let bits = if bits_of(dtype) == dtype { "" } else { "use --bits to write its bits, or " };
            let advice = format!("{bits}cast it with `safetensors convert --to F32`");
            let sentence = format!("tensor {}: numpy has no {dtype}; {advice}", quoted(sliced.name()));
            Error::about(&self.model, sentence)
        })
    }
}

/// Members about what is printed.
fn described(sliced: &Sliced<'_>, output: Option<&Path>) -> impl Serialize {
    let (dtype, output) =
        (sliced.dtype().name(), output.map(|output| object! { output: output.to_string_lossy() }));
    object! { tensor: sliced.name(), dtype, shape: sliced.dims(), #[serde(flatten)] output }
}

/// Prints up to `limit` elements, and the number of those left out.
fn print<W: Write>(
    sliced: &Sliced<'_>,
    style: Style,
    limit: Option<u64>,
    out: &mut W,
    cannot: &dyn Fn(io::Error) -> Error,
    advance: &dyn Fn(u64) -> Result<(), Error>,
) -> Result<(), Error> {
    let (total, dtype) = (sliced.elements(), sliced.dtype());
    let shown = limit.unwrap_or(total).min(total);
    if shown > 0 || total == 0 {
        let layout = if style == Style::Json { Layout::Line } else { Layout::Lines };
        let mut nested = Nested::new(out, layout, sliced.dims());
        let (mut left, mut element) = (shown, Vec::new());
        let width = if dtype == Dtype::C64 { 2 } else { 1 };
        sliced.numbers(shown < total, advance, &mut |number| {
            element.push(number);
            if element.len() == width {
                nested.element(&printed(dtype, &element, style)).map_err(cannot)?;
                element.clear();
                left -= 1;
            }
            Ok(left > 0)
        })?;
        nested.finish().map_err(cannot)?;
    }
    if shown < total {
        let begun = if shown > 0 { "\n" } else { "" };
        write!(out, "{begun}… {} more of {}", grouped(total - shown), grouped(total)).map_err(cannot)?;
    }
    Ok(())
}
