//! Errors with their path in the structure.

use crate::error::Error;
use crate::json::Json;
use crate::structure::Structure;
use core::fmt;

/// An error of a structure, from [`Structure::explain`]. `Display` is its sentence, with the path and the
/// name that it is about: `error[structure.tensor] at byte 83 of the schema, in ["layers"][0]: the file has
/// no tensor of this name: "7"`.
///
/// *Memory*: 48 bytes on a 32-bit target, `Copy`. Printing takes no memory for the path.
#[derive(Clone, Copy, Debug)]
pub struct Explained<'t> {
    pub(crate) structure: Structure<'t>,
    pub(crate) error: Error,
}

impl fmt::Display for Explained<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (root, Error { kind, at }) = (self.structure.root().json, self.error);
        write!(f, "error[{}] at byte {at} of the schema", kind.code())?;
        print_path(root, at, f)?;
        write!(f, ": {kind}")?;
        match (Json { text: self.structure.schema(), at }).as_string() {
            Some(name) => write!(f, ": {name:?}"),
            None => Ok(()),
        }
    }
}

/// Prints where in a structure a byte of the schema is: `, in ["layers"][0]`.
fn print_path(root: Json<'_>, at: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (mut json, mut separator) = (root, ", in ");
    loop {
        // A value is at the place that its object has.
        if let (Some(_), Some(value)) = (json.member("data_type"), json.member("value")) {
            if !contains(value, at) {
                return Ok(());
            }
            json = value;
        }
        let item = json.items().zip(0u32..).find(|(item, _)| contains(*item, at));
        let member = json.members().find(|(_, value)| contains(*value, at));
        json = match (item, member) {
            (Some((item, index)), _) => {
                write!(f, "{separator}[{index}]")?;
                item
            }
            (_, Some((key, value))) => {
                write!(f, "{separator}[{key:?}]")?;
                value
            }
            _ => return Ok(()),
        };
        separator = "";
    }
}

fn contains(json: Json<'_>, at: u32) -> bool {
    (json.at..json.end()).contains(&at)
}
