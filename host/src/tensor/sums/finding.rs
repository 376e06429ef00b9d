//! The result of verifying a file.

use crate::error::Error;
use crate::exit::Exit;
use crate::json::about;
use crate::output::stdout::complain;
use crate::print::diagnostic::painted;
use crate::text::terminal::Stream;
use crate::text::{quoted, shown_path};
use serde::{Serialize, Serializer};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file and its difference from the list, if any, or the reason why it cannot be read.
pub struct Found {
    pub name: PathBuf,
    pub difference: Result<Option<Difference>, Error>,
}

#[derive(Serialize)]
#[serde(tag = "error", rename_all = "lowercase")]
pub enum Difference {
    Changed {
        sha256: String,
        expected: String,
        /// If the list has sums of tensors.
        #[serde(flatten)]
        tensors: Option<Tensors>,
    },
    Missing,
    /// The file is not in the list.
    Added,
}

/// The changes in the tensors of a changed file.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Tensors {
    /// Only the header has changed if there are none.
    Changed {
        /// True: the file is still a valid model.
        sound: bool,
        tensors: Vec<Tensor>,
    },
    /// False: the file is no longer a valid model.
    Invalid { sound: bool },
    /// The tensors cannot be read, for this reason.
    NotRead { message: String },
}

/// A tensor that is `changed`, `missing` or `added`.
#[derive(Serialize)]
pub struct Tensor {
    pub name: String,
    pub error: &'static str,
}

impl Found {
    pub fn exit(&self) -> Exit {
        match self.difference {
            Ok(None) => Exit::Good,
            Ok(Some(_)) => Exit::Bad,
            Err(_) => Exit::Failed,
        }
    }

    /// Prints a line, and one for each tensor that differs.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        match &self.difference {
            Ok(difference) => print_difference(&self.name, difference.as_ref(), out),
            Err(error) => {
                out.flush()?;
                complain(painted(error, Stream::Err));
                Ok(())
            }
        }
    }
}

/// Prints a line about a file that was read, and one for each tensor that differs.
pub fn print_difference(file: &Path, difference: Option<&Difference>, out: &mut dyn Write) -> io::Result<()> {
    let (file, to) = (shown_path(file), Stream::Out);
    match difference {
        None => writeln!(out, "{file}: {}", to.good("ok")),
        Some(Difference::Missing) => writeln!(out, "{file}: {}", to.bad("missing")),
        Some(Difference::Added) => writeln!(out, "{file}: {}: not in the list", to.bad("added")),
        Some(Difference::Changed { sha256, expected, tensors }) => {
            writeln!(out, "{file}: {}: its sum is {sha256}, and was {expected}", to.bad("changed"))?;
            tensors.as_ref().map_or(Ok(()), |tensors| tensors.print(out))
        }
    }
}

impl Serialize for Found {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &self.difference {
            Ok(more) => about(&self.name, more.is_none(), more).serialize(to),
            Err(error) => error.serialize(to),
        }
    }
}

impl Tensors {
    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Invalid { .. } => {
                writeln!(out, "    no longer a valid model; `safetensors check` shows why")
            }
            Self::NotRead { message } => writeln!(out, "    its tensors cannot be compared: {message}"),
            Self::Changed { tensors, .. } if tensors.is_empty() => {
                writeln!(out, "    only the header has changed")
            }
            Self::Changed { tensors, .. } => tensors.iter().try_for_each(|Tensor { name, error }| {
                writeln!(out, "    tensor {} is {error}", quoted(name))
            }),
        }
    }
}
