//! The verdict on a file: valid, invalid with the reason, or not validated.

use crate::error::Complaint;
use crate::exit::Exit;
use crate::input::model::{Model, Tensor, bytes_of};
use crate::input::published::Violation;
use crate::json::{Object, array};
use crate::output::stdout::complain;
use crate::tensor::compare::index_of;
use crate::tensor::stats::{NotFinite, first_not_finite};
use crate::text::{counted, quoted, shown_text};
use crate::work::Work;
use embedded_safetensors::validate::Summary;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub enum Verdict {
    Valid(Summary),
    /// A sharded model, by its index.
    Shards {
        shards: u64,
        tensors: u64,
        bytes: u64,
    },
    /// The file is valid, but one of its values is NaN or infinite.
    NotFinite(Box<NotFiniteAt>),
    /// The file, of a sharded model a shard, is valid, but not by the published text.
    Unpublished(PathBuf, Violation),
    /// The reason why it is invalid or was not validated.
    Other(Complaint),
}

/// A value that is not finite.
pub struct NotFiniteAt {
    tensor: String,
    /// The file of the model that has it, if there are several.
    file: Option<String>,
    index: Vec<u64>,
    byte: u64,
    what: &'static str,
}

impl NotFiniteAt {
    /// Its stable code.
    const CODE: &'static str = "values.not-finite";

    fn of(model: &Model, found: &NotFinite<'_>) -> Self {
        Self {
            tensor: found.tensor.name().to_owned(),
            file: model.index().map(|_| found.tensor.model().file_name().to_string_lossy().into_owned()),
            index: index_of(found.index, &found.tensor),
            byte: found.byte,
            what: found.what,
        }
    }

    fn message(&self) -> String {
        let file = self.file.as_deref().map_or(String::new(), |file| format!(" of {}", shown_text(file)));
        format!("tensor {}: {} at index {:?}{file}", quoted(&self.tensor), self.what, self.index)
    }
}

impl Verdict {
    pub fn exit(&self) -> Exit {
        match self {
            Self::Valid(_) | Self::Shards { .. } => Exit::Good,
            Self::NotFinite(_) | Self::Unpublished(..) => Exit::Bad,
            Self::Other(complaint) => complaint.exit(),
        }
    }

    /// The verdict on a model that has been validated.
    pub fn of(model: &Model) -> Self {
        match (model.index(), model.parts()) {
            (None, [part]) => Self::Valid(part.index().summary()),
            (_, parts) => {
                let (shards, tensors) = (parts.len() as u64, model.tensors().count() as u64);
                Self::Shards { shards, tensors, bytes: model.file_lens() }
            }
        }
    }

    /// Validates a model, and reads its data until a value is NaN or infinite.
    pub fn of_values(path: &Path) -> Self {
        Self::judge_values(path).unwrap_or_else(Self::Other)
    }

    fn judge_values(path: &Path) -> Result<Self, Complaint> {
        let model = Model::open(path)?;
        let tensors: Vec<Tensor<'_>> = model.tensors().collect();
        let found = first_not_finite(&tensors, &Work::new("reading", bytes_of(&tensors)))?;
        model.check_unchanged()?;
        Ok(match found {
            Some(found) => Self::NotFinite(Box::new(NotFiniteAt::of(&model, &found))),
            None => Self::of(&model),
        })
    }

    /// Prints one line, and the excerpt of the header if there is an error.
    pub fn print(&self, file: &Path) -> io::Result<()> {
        self.write(file, &mut io::stdout().lock())
    }

    /// Writes the same.
    pub fn write(&self, file: &Path, out: &mut impl Write) -> io::Result<()> {
        let file = shown_text(&file.to_string_lossy());
        match self {
            Self::Valid(summary) => {
                let (tensors, bytes) =
                    (counted(summary.tensors, "tensor"), counted(summary.file_len(), "byte"));
                writeln!(out, "{file}: ok, {tensors}, {bytes}")
            }
            Self::Shards { shards, tensors, bytes } => {
                let (tensors, shards) = (counted(*tensors, "tensor"), counted(*shards, "shard"));
                writeln!(out, "{file}: ok, {tensors} in {shards}, {}", counted(*bytes, "byte"))
            }
            Self::NotFinite(value) => {
                writeln!(
                    out,
                    "{file}: error[{}] at byte {}: {}",
                    NotFiniteAt::CODE,
                    value.byte,
                    value.message()
                )
            }
            Self::Unpublished(file, Violation { code, at, message }) => {
                let file = shown_text(&file.to_string_lossy());
                writeln!(out, "{file}: error[{code}] at byte {at}: {message}")
            }
            Self::Other(complaint) if complaint.exit() == Exit::Bad => writeln!(out, "{}", complaint.line()),
            Self::Other(complaint) => {
                complain(complaint.line());
                Ok(())
            }
        }
    }

    /// Prints one JSON object.
    pub fn print_json(&self, file: &Path) -> io::Result<()> {
        writeln!(io::stdout(), "{}", self.json(file))
    }

    fn json(&self, file: &Path) -> String {
        let object = Object::new().text("file", &file.to_string_lossy()).flag("ok", true);
        match self {
            Self::Valid(summary) => {
                object.number("tensors", summary.tensors).number("bytes", summary.file_len()).end()
            }
            Self::Shards { shards, tensors, bytes } => {
                let object = object.number("tensors", *tensors);
                object.number("shards", *shards).number("bytes", *bytes).end()
            }
            Self::NotFinite(value) => {
                let object = Object::new().text("file", &file.to_string_lossy()).flag("ok", false);
                let object = object.text("code", NotFiniteAt::CODE).number("at", value.byte);
                let object = object.text("message", &value.message()).text("tensor", &value.tensor);
                object.raw("index", &array(value.index.iter().map(u64::to_string))).end()
            }
            Self::Unpublished(file, Violation { code, at, message }) => {
                let object = Object::new().text("file", &file.to_string_lossy()).flag("ok", false);
                object.text("code", code).number("at", *at).text("message", message).end()
            }
            Self::Other(complaint) => complaint.json(),
        }
    }
}
