//! `safetensors emit`: writes a model's layout as constants for firmware.

use crate::commands::Run;
use crate::complaint::{Complaint, Outcome};
use crate::exit::Exit;
use crate::json::{Object, array, quoted};
use crate::model::{Model, Tensor};
use crate::number;
use crate::overwrite::check_not_in_model;
use crate::plan::{self, one_file};
use crate::product::{Product, check_output_path};
use safetensors_emit::{Listing, c, names, rust};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Write a model's names, shapes, offsets and memory needs as C or Rust constants
///
/// Reads the header and no tensor data. Exit code: 0 if the constants are written, 1 if the model is
/// invalid, 2 for all other errors.
#[derive(clap::Args)]
pub struct Emit {
    /// Language [default: from the suffix of --output, otherwise C]
    #[arg(long, value_enum)]
    lang: Option<Language>,

    /// Output file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Overwrite an existing file
    #[arg(long, requires = "output")]
    force: bool,

    /// Prefix of all names [default for C: the model's file name]
    #[arg(long, value_name = "NAME", value_parser = names::prefix)]
    prefix: Option<String>,

    /// Address of the model in memory; adds the address of every tensor
    #[arg(long, value_name = "ADDRESS", value_parser = number::address)]
    at: Option<u64>,

    /// Write one JSON object instead
    #[arg(long, conflicts_with_all = ["lang", "prefix"])]
    json: bool,

    /// Model; `-` is standard input
    #[arg(value_name = "MODEL")]
    model: PathBuf,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Language {
    /// Header for C99 and C++
    C,
    /// Constants for Rust, `no_std`
    Rust,
}

impl Run for Emit {
    fn json(&self) -> bool {
        self.json
    }

    fn run(self) -> Outcome {
        if let Some(output) = self.output.as_deref().filter(|output| output.as_os_str() != "-") {
            check_output_path(output, self.force)?;
        }
        let language = self.language()?;
        let model = Model::open(&self.model)?;
        let listing = Listing::of(one_file(&model)?, self.at)
            .map_err(|sentence| Complaint::usage(format!("--at: {sentence}")))?;
        let output = self.output.as_deref().unwrap_or(Path::new("-"));
        check_not_in_model(&model, output)?;
        let mut product = Product::create(output, self.force)?;
        self.write(&listing, language, &mut product)?;
        model.check_unchanged()?;
        product.finish()?;
        Ok(Exit::Good)
    }
}

impl Emit {
    fn write(
        &self,
        listing: &Listing<'_>,
        language: Language,
        product: &mut Product,
    ) -> Result<(), Complaint> {
        let written = if self.json {
            writeln!(product, "{}", self.document(listing))
        } else {
            match language {
                Language::C => c::write(listing, &self.c_prefix(), product),
                Language::Rust => rust::write(listing, self.prefix.as_deref().unwrap_or_default(), product),
            }
        };
        written.map_err(|error| product.cannot(error))
    }

    /// The requested language, or the language of the output's suffix.
    ///
    /// # Errors
    /// The suffix is unknown, or is that of a language although JSON is requested.
    fn language(&self) -> Result<Language, Complaint> {
        let path = self.output.as_deref().filter(|output| output.as_os_str() != "-");
        let (Some(path), None) = (path, self.lang) else {
            return Ok(self.lang.unwrap_or(Language::C));
        };
        let suffix = path.extension().unwrap_or_default().to_ascii_lowercase();
        match suffix.to_str().unwrap_or("?") {
            "" | "json" if self.json => Ok(Language::C),
            _ if self.json => Err(Complaint::about(path, "wrong suffix: --json writes a .json file")),
            "rs" => Ok(Language::Rust),
            "" | "h" | "hh" | "hpp" | "hxx" | "inc" | "c" | "cc" | "cpp" | "cxx" => Ok(Language::C),
            _ => Err(Complaint::about(
                path,
                "unknown suffix: .h (C) or .rs (Rust) needed; use --lang to choose the language",
            )),
        }
    }

    fn c_prefix(&self) -> String {
        let stem = self.model.file_stem().unwrap_or_default().to_string_lossy();
        self.prefix.clone().unwrap_or_else(|| names::prefix_of(&stem))
    }

    /// The constants as JSON.
    fn document(&self, listing: &Listing<'_>) -> String {
        let tensors = array(listing.tensors().map(|tensor| described(listing, &tensor)));
        let metadata = listing.metadata().fold(Object::new(), |object, (key, value)| object.text(key, value));
        let object = Object::new().text("file", &self.model.to_string_lossy()).flag("ok", true);
        let object = match self.at {
            Some(at) => object.number("address", at),
            None => object,
        };
        let object = object.raw("plan", &plan::json(listing.plan())).raw("tensors", &tensors);
        object.raw("metadata", &metadata.end()).end()
    }
}

fn described(listing: &Listing<'_>, tensor: &Tensor<'_>) -> String {
    let object = Object::new()
        .raw("name", &quoted(tensor.name()))
        .text("dtype", tensor.dtype().name())
        .raw("shape", &array(tensor.dims().iter().map(u64::to_string)))
        .number("elements", tensor.elements())
        .number("bytes", tensor.byte_len())
        .number("offset", listing.offset(tensor))
        .number("begin", tensor.begin());
    match listing.address(tensor) {
        Some(address) => object.number("address", address).end(),
        None => object.end(),
    }
}
