//! Errors with their path in the structure.

use crate::error::Error;
use crate::json::Json;
use crate::node::{Key, Node};
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
    /// Prints the sentence; with `{:#}`, without the code and the byte.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Error { kind, at } = self.error;
        let mut place = child_at(self.structure.root(), at);
        if !f.alternate() {
            let separator = if place.is_some() { ", " } else { ": " };
            write!(f, "error[{}] at byte {at} of the schema{separator}", kind.code())?;
        }
        if place.is_some() {
            f.write_str("in ")?;
            while let Some((key, node)) = place {
                write!(f, "{key}")?;
                place = child_at(node, at);
            }
            f.write_str(": ")?;
        }
        write!(f, "{kind}")?;
        match (Json { text: self.structure.schema(), at }).as_string() {
            Some(name) => write!(f, ": {name:?}"),
            None => Ok(()),
        }
    }
}

/// Returns the child whose text contains this byte.
fn child_at(node: Node<'_>, at: u32) -> Option<(Key<'_>, Node<'_>)> {
    let mut children = node.children().ok()?;
    while let Ok(Some((key, child))) = children.next() {
        if (child.json.at..child.json.end()).contains(&at) {
            return Some((key, child));
        }
    }
    None
}
