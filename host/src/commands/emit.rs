//! `safetensors emit`: writes what a program expects of a model as constants.

use super::{Context, Error, Exit, Outcome, Run};
use crate::input::model::Model;
use crate::json::{self, about, object};
use crate::output::file::{Product, check_output_path};
use crate::output::overwrite::check_not_in_model;
use crate::output::stdout::complain;
use crate::text::number;
use crate::text::{counted, shown_path};
use embedded_safetensors::tensor::MAX_RANK;
use safetensors_emit::{Constants, EmitError, check_prefix, plan};
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
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
    fn run(self, context: &Context) -> Outcome {
        let file = self.output.as_deref().filter(|output| output.as_os_str() != "-");
        file.map_or(Ok(()), |file| check_output_path(file, self.force))?;
        let language = self.language(file)?;
        let model = Model::open_in_file(context, &self.model)?;
        let output = file.unwrap_or(Path::new("-"));
        check_not_in_model(&model, output)?;
        let mut constants = Constants::of(model.one_file()?)?;
        if let Some(prefix) = &self.prefix {
            constants = constants.prefix(prefix)?;
        }
        if let Some(address) = self.at {
            constants = constants.address(address)?;
        }
        let mut product = Product::create(context, output, self.force)?;
        let written = match language {
            _ if self.json => self.write_json(&constants, &mut product),
            Language::C => constants.write_c(&mut product),
            Language::Rust => constants.write_rust(&mut product),
        };
        written.map_err(|error| product.cannot(error))?;
        product.finish()?;
        // The constants alone do not show that a declaration is incomplete.
        let list = if let Language::C = language { "requests" } else { "queries" };
        if constants.left_out() > 0 && !self.json {
            let (file, tensors) = (shown_path(&self.model), counted(constants.left_out(), "tensor"));
            complain(format_args!(
                "{file}: left out of the {list}: {tensors} of more than {MAX_RANK} dimensions"
            ));
        }
        Ok(Exit::Good)
    }
}

impl Emit {
    /// The requested language, or the language of the suffix of the output file.
    ///
    /// # Errors
    /// The suffix is unknown, or a language has it although JSON is requested.
    fn language(&self, file: Option<&Path>) -> Result<Language, Error> {
        let (Some(file), None) = (file, self.lang) else {
            return Ok(self.lang.unwrap_or(Language::C));
        };
        let suffix = file.extension().unwrap_or_default().to_ascii_lowercase();
        let sentence = match suffix.to_str().unwrap_or("?") {
            "" | "json" if self.json => return Ok(Language::C),
            _ if self.json => "wrong suffix: --json writes a .json file",
            "rs" => return Ok(Language::Rust),
            "" | "h" | "hh" | "hpp" | "hxx" | "inc" | "c" | "cc" | "cpp" | "cxx" => return Ok(Language::C),
            _ => "unknown suffix: .h (C) or .rs (Rust) needed; use --lang to choose the language",
        };
        Err(Error::about(file, sentence))
    }

    fn write_json(&self, constants: &Constants<'_>, out: &mut Product) -> io::Result<()> {
        let (plan, sizes) = (constants.plan(), &constants.plan().sizes);
        let extent = |of: plan::Extent| object! { bytes: of.bytes, elements: of.elements };
        let plan = object! {
            file_bytes: plan.file_bytes,
            header_bytes: plan.header_bytes,
            data_start: plan.data_start,
            data_bytes: plan.data_bytes,
            index: object! {
                tensors: sizes.tensors,
                dims: sizes.dims,
                name_bytes: sizes.name_bytes,
                bytes: sizes.index_bytes(),
            },
            longest_name: sizes.longest_name,
            most_dims: sizes.most_dims,
            largest_tensor: extent(plan.largest_tensor),
            largest_row: extent(plan.largest_row),
        };
        let tensors = constants.tensors().map(|tensor| {
            object! {
                name: tensor.name(),
                dtype: tensor.dtype().name(),
                shape: tensor.dims(),
                elements: tensor.elements(),
                bytes: tensor.byte_len(),
                offset: constants.offset_of(&tensor),
                begin: tensor.begin(),
                #[serde(flatten)] address: constants.address_of(&tensor).map(|address| object! { address }),
            }
        });
        let document = object! {
            #[serde(flatten)] address: self.at.map(|address| object! { address }),
            sha256: number::digits(constants.sha256()),
            crc32: constants.crc32(),
            plan,
            tensors: tensors.collect::<Vec<_>>(),
            metadata: constants.metadata().collect::<BTreeMap<_, _>>(),
        };
        let mut out = BufWriter::new(out);
        json::print(&mut out, &about(&self.model, true, document))?;
        out.flush()
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
