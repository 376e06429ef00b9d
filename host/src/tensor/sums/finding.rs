//! The result of verifying a file.

use crate::error::not_read::NotRead;
use crate::exit::Exit;
use crate::json::{self, Object};
use crate::output::stdout::complain;
use crate::text::{quoted, shown_text};
use std::io::{self, Write};
use std::path::PathBuf;

/// A file and its result.
pub struct Found {
    pub name: PathBuf,
    pub finding: Finding,
}

pub enum Finding {
    /// The sum is unchanged.
    Same,
    Changed {
        sum: String,
        expected: String,
        /// The changed tensors, if the list has sums of tensors.
        tensors: Option<Tensors>,
    },
    Missing,
    /// The file is not in the list.
    Added,
    NotRead(NotRead),
}

/// The changes in the tensors of a changed file.
pub enum Tensors {
    /// By name; if empty, only the header has changed.
    Known(Vec<(String, TensorChange)>),
    /// The file is no longer a valid model.
    Invalid,
    /// The tensors cannot be read, for this reason.
    NotRead(String),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TensorChange {
    Changed,
    Missing,
    Added,
}

impl TensorChange {
    fn word(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Missing => "missing",
            Self::Added => "added",
        }
    }
}

impl Found {
    pub fn exit(&self) -> Exit {
        match &self.finding {
            Finding::Same => Exit::Good,
            Finding::Changed { .. } | Finding::Missing | Finding::Added => Exit::Bad,
            Finding::NotRead(_) => Exit::Failed,
        }
    }

    /// Prints a line, and one for each tensor that differs.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let name = shown_text(&self.name.to_string_lossy());
        match &self.finding {
            Finding::Same => writeln!(out, "{name}: ok"),
            Finding::Missing => writeln!(out, "{name}: missing"),
            Finding::Added => writeln!(out, "{name}: added: not in the list"),
            Finding::Changed { sum, expected, tensors } => {
                writeln!(out, "{name}: changed: its sum is {sum}, and was {expected}")?;
                tensors.as_ref().map_or(Ok(()), |tensors| tensors.print(out))
            }
            Finding::NotRead(reason) => {
                out.flush()?;
                complain(format_args!("{name}: {}", reason.predicate()));
                Ok(())
            }
        }
    }

    pub fn json(&self) -> String {
        let object = Object::new().text("file", &self.name.to_string_lossy());
        let object = object.flag("ok", self.exit() == Exit::Good);
        let object = match &self.finding {
            Finding::Same => object,
            Finding::Missing => object.text("error", "missing"),
            Finding::Added => object.text("error", "added"),
            Finding::NotRead(reason) => object.text("error", "io").text("message", &reason.to_string()),
            Finding::Changed { sum, expected, tensors } => {
                let object = object.text("error", "changed").text("sha256", sum).text("expected", expected);
                tensors.iter().fold(object, |object, tensors| tensors.members(object))
            }
        };
        object.end()
    }
}

impl Tensors {
    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Invalid => writeln!(out, "    no longer a valid model; `safetensors check` shows why"),
            Self::NotRead(reason) => writeln!(out, "    its tensors cannot be compared: {reason}"),
            Self::Known(fates) if fates.is_empty() => {
                writeln!(out, "    only the header has changed")
            }
            Self::Known(fates) => fates
                .iter()
                .try_for_each(|(name, fate)| writeln!(out, "    tensor {} is {}", quoted(name), fate.word())),
        }
    }

    fn members(&self, object: Object) -> Object {
        match self {
            Self::Invalid => object.flag("sound", false),
            Self::NotRead(reason) => object.text("message", reason),
            Self::Known(fates) => {
                let one = |(name, fate): &(String, TensorChange)| {
                    Object::new().text("name", name).text("error", fate.word()).end()
                };
                object.flag("sound", true).raw("tensors", &json::array(fates.iter().map(one)))
            }
        }
    }
}
