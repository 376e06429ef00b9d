//! A walk over all values of a structure.

use crate::error::{Error, ErrorKind};
use crate::node::{Children, Key, Node, Value};
use crate::structure::Structure;

/// A container that a [`Walk`] is in.
///
/// *Memory*: 12 bytes, `Copy`.
#[derive(Clone, Copy, Debug)]
pub enum Frame {
    /// Of a list, a tuple or a set: the offset of what is next, and its index.
    #[doc(hidden)]
    Sequence { next: u32, index: u32 },
    /// Of a data class.
    #[doc(hidden)]
    Fields { next: u32 },
    /// Of a dictionary: also the offset of what is next in its keys.
    #[doc(hidden)]
    Entries { next: u32, key: u32 },
}

impl Frame {
    /// A frame for the memory of a walk.
    pub const NONE: Self = Self::Fields { next: u32::MAX };
}

/// An event of a [`Walk`].
///
/// *Memory*: at most 80 bytes on a 32-bit target, `Copy`; borrows the text of the schema.
#[derive(Clone, Copy, Debug)]
pub enum Event<'t> {
    /// A value. If it is a container, its values follow, and then [`End`](Self::End).
    Value {
        /// Where it is in its container.
        key: Key<'t>,
        /// Its place in the schema.
        node: Node<'t>,
        /// What it is.
        value: Value<'t>,
        /// How many containers it is in.
        depth: usize,
    },
    /// The innermost open container is complete.
    End,
}

/// Visits all values of a structure, each container before its values.
///
/// A value of a type that the package does not know is one event: what it contains is not visited.
///
/// *Memory*: 24 bytes on a 32-bit target, and the caller's frames: one for each level of containers.
///
/// ```
/// use embedded_safestructures::{Event, Frame, Key, Structure, Value};
///
/// let schema = r#"{"data_type": "list", "value": [{"data_type": "int", "value": "7"}]}"#;
/// let mut frames = [Frame::NONE; 4];
/// let mut walk = Structure::parse(schema)?.walk(&mut frames);
/// while let Some(event) = walk.next()? {
///     match event {
///         Event::Value { key: Key::Index(index), value: Value::Int(digits), .. } => {
///             println!("{index}: {digits}");
///         }
///         Event::Value { value: Value::Container(container, values), .. } => {
///             println!("{} of {}", container.data_type(), values.count());
///         }
///         _ => {}
///     }
/// }
/// # Ok::<(), embedded_safestructures::Error>(())
/// ```
#[derive(Debug)]
pub struct Walk<'t, 'f> {
    structure: Structure<'t>,
    frames: &'f mut [Frame],
    depth: usize,
    has_begun: bool,
}

impl<'t, 'f> Walk<'t, 'f> {
    pub(crate) fn new(structure: Structure<'t>, frames: &'f mut [Frame]) -> Self {
        Self { structure, frames, depth: 0, has_begun: false }
    }

    /// Returns the next event, or `None` after the last one.
    ///
    /// # Errors
    /// The first error in the structure; [`ErrorKind::Frames`] when it has more levels than there are frames.
    /// Every further call returns the same error.
    #[allow(clippy::should_implement_trait)] // as for `Children`
    pub fn next(&mut self) -> Result<Option<Event<'t>>, Error> {
        if !self.has_begun {
            let event = self.enter(Key::Root, self.structure.root())?;
            self.has_begun = true;
            return Ok(Some(event));
        }
        let (text, open) = (self.structure.schema(), self.depth.wrapping_sub(1));
        let Some(&frame) = self.frames.get(open) else { return Ok(None) };
        let mut children = Children { text, frame };
        let Some((key, node)) = children.next()? else {
            self.depth = open;
            return Ok(Some(Event::End));
        };
        let event = self.enter(key, node)?;
        if let Some(frame) = self.frames.get_mut(open) {
            *frame = children.frame;
        }
        Ok(Some(event))
    }

    /// Opens the value if it is a container.
    fn enter(&mut self, key: Key<'t>, node: Node<'t>) -> Result<Event<'t>, Error> {
        let (value, depth) = (node.value()?, self.depth);
        if let Value::Container(_, children) = value {
            let capacity = u32::try_from(self.frames.len()).unwrap_or(u32::MAX);
            let too_deep = || ErrorKind::Frames { needed: self.structure.frames(), capacity }.at(node.at());
            *self.frames.get_mut(depth).ok_or_else(too_deep)? = children.frame;
            self.depth += 1;
        }
        Ok(Event::Value { key, node, value, depth })
    }
}
