//! `safetensors emit`: writes what a program expects of a model as constants.

use crate::commands::Run;
use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::exit::Exit;
use crate::input::model::Model;
use crate::json::{Object, array, quoted};
use crate::output::file::{Product, check_output_path};
use crate::output::overwrite::check_not_in_model;
use crate::output::stdout::complain;
use crate::print::plan::{self, one_file};
use crate::text::number;
use crate::text::{counted, shown_text};
use embedded_safetensors::file::FileTensor;
use embedded_safetensors::tensor::MAX_RANK;
use safetensors_emit::{Constants, EmitError, check_prefix};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Write a model's names, shapes, offsets and memory needs as C or Rust constants
///
/// Also writes the SHA-256 and the CRC-32 of the file, for which all of it is read, and the queries (in C the
/// requests) that find the tensors. Exit code: 0 if the constants are written, 1 if the model is invalid, 2
/// for all other errors.
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
    #[arg(long, value_name = "NAME", value_parser = check_prefix)]
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

    fn run(self, context: &Context) -> Outcome {
        if let Some(output) = self.output.as_deref().filter(|output| output.as_os_str() != "-") {
            check_output_path(output, self.force)?;
        }
        let language = self.language()?;
        let model = Model::open_in_file(context, &self.model)?;
        let output = self.output.as_deref().unwrap_or(Path::new("-"));
        check_not_in_model(&model, output)?;
        let constants = self.constants(&model)?;
        let mut product = Product::create(context, output, self.force)?;
        self.write(&constants, language, &mut product)?;
        product.finish()?;
        self.tell_left_out(&constants, language);
        Ok(Exit::Good)
    }
}

impl Emit {
    /// The constants alone do not show that a declaration is incomplete.
    fn tell_left_out(&self, constants: &Constants<'_>, language: Language) {
        let (count, name) = (constants.left_out(), self.model.to_string_lossy());
        let list = match language {
            Language::C => "requests",
            Language::Rust => "queries",
        };
        if count > 0 && !self.json {
            let tensors = counted(count, "tensor");
            complain(format_args!(
                "{}: left out of the {list}: {tensors} of more than {MAX_RANK} dimensions",
                shown_text(&name)
            ));
        }
    }

    fn constants<'m>(&self, model: &'m Model) -> Result<Constants<'m>, Error> {
        let mut constants = Constants::of(one_file(model)?)?;
        if let Some(prefix) = &self.prefix {
            constants = constants.prefix(prefix)?;
        }
        if let Some(address) = self.at {
            constants = constants.address(address)?;
        }
        Ok(constants)
    }

    fn write(
        &self,
        constants: &Constants<'_>,
        language: Language,
        product: &mut Product,
    ) -> Result<(), Error> {
        let written = if self.json {
            writeln!(product, "{}", self.document(constants))
        } else {
            match language {
                Language::C => constants.write_c(product),
                Language::Rust => constants.write_rust(product),
            }
        };
        written.map_err(|error| product.cannot(error))
    }

    /// The requested language, or the language of the output's suffix.
    ///
    /// # Errors
    /// The suffix is unknown, or is that of a language although JSON is requested.
    fn language(&self) -> Result<Language, Error> {
        let path = self.output.as_deref().filter(|output| output.as_os_str() != "-");
        let (Some(path), None) = (path, self.lang) else {
            return Ok(self.lang.unwrap_or(Language::C));
        };
        let suffix = path.extension().unwrap_or_default().to_ascii_lowercase();
        match suffix.to_str().unwrap_or("?") {
            "" | "json" if self.json => Ok(Language::C),
            _ if self.json => Err(Error::about(path, "wrong suffix: --json writes a .json file")),
            "rs" => Ok(Language::Rust),
            "" | "h" | "hh" | "hpp" | "hxx" | "inc" | "c" | "cc" | "cpp" | "cxx" => Ok(Language::C),
            _ => Err(Error::about(
                path,
                "unknown suffix: .h (C) or .rs (Rust) needed; use --lang to choose the language",
            )),
        }
    }

    /// The constants as JSON.
    fn document(&self, constants: &Constants<'_>) -> String {
        let tensors = array(constants.tensors().map(|tensor| described(constants, &tensor)));
        let metadata =
            constants.metadata().fold(Object::new(), |object, (key, value)| object.text(key, value));
        let object = Object::new().text("file", &self.model.to_string_lossy()).flag("ok", true);
        let object = match self.at {
            Some(at) => object.number("address", at),
            None => object,
        };
        let object = object.text("sha256", &number::digits(constants.sha256()));
        let object = object.number("crc32", constants.crc32());
        let object = object.raw("plan", &plan::json(constants.plan())).raw("tensors", &tensors);
        object.raw("metadata", &metadata.end()).end()
    }
}

fn described(constants: &Constants<'_>, tensor: &FileTensor<'_>) -> String {
    let object = Object::new()
        .raw("name", &quoted(tensor.name()))
        .text("dtype", tensor.dtype().name())
        .raw("shape", &array(tensor.dims().iter().map(u64::to_string)))
        .number("elements", tensor.elements())
        .number("bytes", tensor.byte_len())
        .number("offset", constants.offset_of(tensor))
        .number("begin", tensor.begin());
    match constants.address_of(tensor) {
        Some(address) => object.number("address", address).end(),
        None => object.end(),
    }
}

impl From<EmitError> for Error {
    fn from(error: EmitError) -> Self {
        match error {
            EmitError::Model(error) => error.into(),
            EmitError::Address { .. } => Self::usage(format!("--at: {error}")),
            _ => Self::usage(error.to_string()),
        }
    }
}
