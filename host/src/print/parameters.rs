//! Parameters of quantised models, several of which are packed in one integer.

use crate::context::{Context, Place};
use crate::error::not_read::NotRead;
use crate::input::model::{Model, Tensor};
use crate::input::remote;
use crate::json::{Map, object};
use crate::output::stdout::complain;
use crate::text::{grouped, shown_path};
use embedded_safetensors::Dtype;
use safetensors_remote::MAX_CONFIG;
use safetensors_remote::parameters::{Entry, Parameters, Quantization};
use serde::Serialize;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// What the `config.json` of a model says about its parameters.
pub enum Unpacked {
    /// No weights are packed, as far as is known.
    No,
    Counted(Parameters),
    /// It cannot be read, for this reason.
    Unknown(NotRead),
}

impl Unpacked {
    /// The parameters of these tensors as the Hub counts them. `config.json` is read only of a model with
    /// integers or other narrow elements; a model without it is not packed.
    pub fn of(context: &Context, model: &Model, tensors: &[Tensor<'_>]) -> Self {
        if !tensors.iter().any(|tensor| may_be_packed(&Entry::of(**tensor))) {
            return Self::No;
        }
        let config = match config(context, model.path()) {
            Ok(None) => return Self::No,
            Ok(Some(config)) => Quantization::of(&config),
            Err(reason) => return Self::Unknown(reason),
        };
        let entries: Vec<Entry<'_>> = tensors.iter().map(|tensor| Entry::of(**tensor)).collect();
        let counted = Parameters::of(&entries, &config);
        match counted == Parameters::of(&entries, &Quantization::default()) {
            true => Self::No,
            false => Self::Counted(counted),
        }
    }

    /// Prints them below the plain counts, or why they are unknown to standard error.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn print(&self, path: &Path, out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::No => Ok(()),
            Self::Counted(parameters) => {
                let list = parameters.by_dtype().iter();
                let list = list.map(|(dtype, count)| format!("{dtype} {}", grouped(*count)));
                let list: Vec<String> = list.collect();
                let total = grouped(parameters.total());
                writeln!(out, "  unpacked parameters: {total}: {}", list.join(", "))
            }
            Self::Unknown(reason) => {
                out.flush()?;
                let path = shown_path(path);
                complain(format_args!("{path}: parameters may be packed, but {reason}"));
                Ok(())
            }
        }
    }

    /// Members of the JSON of a model: none, the counts, or `null` and the reason.
    pub fn members(&self) -> impl Serialize {
        let (unpacked, reason) = match self {
            Self::No => (None, None),
            Self::Counted(counted) => {
                let dtypes = Map(counted.by_dtype().iter().map(|(dtype, count)| (dtype.name(), *count)));
                (Some(Some(object! { parameters: counted.total(), dtypes })), None)
            }
            Self::Unknown(reason) => (Some(None), Some(reason.to_string())),
        };
        let unpacked = unpacked.map(|unpacked| object! { unpacked });
        let reason = reason.map(|unpacked_error| object! { unpacked_error });
        object! { #[serde(flatten)] unpacked, #[serde(flatten)] reason }
    }
}

fn may_be_packed(entry: &Entry<'_>) -> bool {
    let is_plain = matches!(entry.dtype, Dtype::F64 | Dtype::F32 | Dtype::F16 | Dtype::BF16 | Dtype::BOOL);
    entry.dims.len() > 1 && !is_plain
}

/// The `config.json` in the directory of a model, if there is one.
fn config(context: &Context, path: &Path) -> Result<Option<serde_json::Value>, NotRead> {
    if path.as_os_str() == "-" {
        return Ok(None);
    }
    match remote::place(context, path)? {
        Place::Local(file) => config_beside(&file),
        Place::Url(url) => Ok(context.client()?.config(&url).map_err(|error| remote::of_file(&error))?),
    }
}

fn config_beside(model: &Path) -> Result<Option<serde_json::Value>, NotRead> {
    let path = if model.is_dir() { model.join("config.json") } else { model.with_file_name("config.json") };
    // A pipe could block.
    if !path.is_file() {
        return Ok(None);
    }
    let said = |why: String| NotRead::that(format!("{}: {why}", shown_path(&path)));
    let mut text = Vec::new();
    let read = File::open(&path).and_then(|file| file.take(MAX_CONFIG + 1).read_to_end(&mut text));
    read.map_err(|error| said(NotRead::from(error).to_string()))?;
    if text.len() as u64 > MAX_CONFIG {
        return Err(said(format!("it has more than {MAX_CONFIG} bytes")));
    }
    serde_json::from_slice(&text).map(Some).map_err(|error| said(error.to_string()))
}
