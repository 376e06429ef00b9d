//! `safetensors emit`: a model as constants for the compiler of a device.

use crate::commands::Run;
use crate::complaint::{Complaint, Outcome};
use crate::emit::{Listing, c, names, rust};
use crate::exit::Exit;
use crate::model::Model;
use crate::number;
use crate::product::{Product, may_be_made};
use crate::same::not_of_the_model;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Write what a model is as constants for C or Rust: names, shapes, offsets, and the memory it takes to read it.
///
/// Reads the header and no tensor. Exit code: 0 if it is written, 1 if the model is not sound, 2 for all else.
#[derive(clap::Args)]
pub struct Emit {
    /// The language [default: from the suffix of --output, else C]
    #[arg(long, value_enum)]
    lang: Option<Language>,

    /// Where to write it, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace the file if it is there already
    #[arg(long, requires = "output")]
    force: bool,

    /// What all names begin with; for C the name of the model's file, if not given
    #[arg(long, value_name = "NAME", value_parser = names::prefix)]
    prefix: Option<String>,

    /// Where in memory the model lies: every tensor gets its address
    #[arg(long, value_name = "ADDRESS", value_parser = number::address)]
    at: Option<u64>,

    /// Write one JSON object instead
    #[arg(long, conflicts_with_all = ["lang", "prefix"])]
    json: bool,

    /// The model; `-` is standard input
    #[arg(value_name = "MODEL")]
    model: PathBuf,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Language {
    /// A header for C99 and C++
    C,
    /// Constants that need no standard library
    Rust,
}

impl Run for Emit {
    fn json(&self) -> bool {
        self.json
    }

    fn run(self) -> Outcome {
        if let Some(output) = self.output.as_deref().filter(|output| output.as_os_str() != "-") {
            may_be_made(output, self.force)?;
        }
        let language = self.language()?;
        let model = Model::open(&self.model)?;
        let listing = Listing::of(&model, self.at)?;
        let output = self.output.as_deref().unwrap_or(Path::new("-"));
        not_of_the_model(&model, output)?;
        let mut product = Product::create(output, self.force)?;
        self.write(&listing, language, &mut product)?;
        model.check_unchanged()?;
        product.finish()?;
        Ok(Exit::Good)
    }
}

impl Emit {
    fn write(&self, listing: &Listing, language: Language, product: &mut Product) -> Result<(), Complaint> {
        let written = if self.json {
            writeln!(product, "{}", listing.json(&self.model.to_string_lossy()))
        } else {
            match language {
                Language::C => c::write(listing, &self.c_prefix(), product),
                Language::Rust => rust::write(listing, self.prefix.as_deref().unwrap_or_default(), product),
            }
        };
        written.map_err(|error| product.cannot(error))
    }

    /// The language that is asked for, or that the suffix of the output stands for.
    ///
    /// # Errors
    /// The suffix stands for neither, or for a language where JSON is asked for.
    fn language(&self) -> Result<Language, Complaint> {
        let path = self.output.as_deref().filter(|output| output.as_os_str() != "-");
        let (Some(path), None) = (path, self.lang) else {
            return Ok(self.lang.unwrap_or(Language::C));
        };
        let suffix = path.extension().unwrap_or_default().to_ascii_lowercase();
        match suffix.to_str().unwrap_or("?") {
            "" | "json" if self.json => Ok(Language::C),
            _ if self.json => Err(Complaint::about(path, "no .json by its suffix, which --json writes")),
            "rs" => Ok(Language::Rust),
            "" | "h" | "hh" | "hpp" | "hxx" | "inc" | "c" | "cc" | "cpp" | "cxx" => Ok(Language::C),
            _ => {
                Err(Complaint::about(path, "neither C (.h) nor Rust (.rs) by its suffix; --lang says which"))
            }
        }
    }

    fn c_prefix(&self) -> String {
        let stem = self.model.file_stem().unwrap_or_default().to_string_lossy();
        self.prefix.clone().unwrap_or_else(|| names::prefix_of(&stem))
    }
}
