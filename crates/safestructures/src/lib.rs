#![doc = include_str!("../README.md")]
//!
//! # Which API?
//!
//! | you want | use | memory besides the schema |
//! |---|---|---|
//! | values whose path you know | [`Node::get`], [`Node::item`], [`Node::read`] | none |
//! | all values, in the file's order | [`Walk`] | a [`Frame`] of 12 bytes for each level |
//! | a type of your own | [`FromNode`] | none |
//! | to write a structure | [`Tree`] and [`write()`] | a [`TreeFrame`] for each level |
//!
//! # What holds everywhere
//!
//! - **Memory**: the text of the schema is in your buffer; everything else borrows from it. No heap, and no
//!   recursion: a type of your own nests as deep as its code does.
//! - **Panics**: none. CI links what reads structures without a panic symbol. Only the standard library's
//!   conversions between floats and texts, in [`Node::read`] of an `f32` or `f64` and in [`write()`], bring
//!   panic code into the program.
//! - **Errors**: an [`Error`] has a stable code and the byte of the schema. [`Structure::explain`] adds the
//!   path in the structure, and the name that the sentence is about.

#![no_std]
#![forbid(unsafe_code)]

mod error;
mod explain;
mod json;
mod node;
mod read;
mod structure;
mod walk;
mod write;

pub use error::{Error, ErrorKind, LoadError};
pub use explain::Explained;
pub use json::{Items, Json, Members};
pub use node::{Children, Container, Key, Node, Value};
pub use read::FromNode;
pub use structure::{SCHEMA, Structure, VERSION, VERSION_KEY, check_version};
pub use walk::{Event, Frame, Walk};
pub use write::{Tree, TreeFrame, metadata, write};

// What the documentation says about memory.
#[cfg(target_pointer_width = "32")]
const _: () = {
    assert!(size_of::<Json<'_>>() == 12 && size_of::<Node<'_>>() == 12 && size_of::<Structure<'_>>() == 8);
    assert!(size_of::<Frame>() == 12 && size_of::<Children<'_>>() == 20 && size_of::<Walk<'_, '_>>() == 24);
    assert!(size_of::<Value<'_>>() <= 32 && size_of::<Key<'_>>() <= 32 && size_of::<Event<'_>>() <= 80);
    assert!(size_of::<Tree<'_>>() <= 24 && size_of::<TreeFrame<'_>>() <= 32);
    assert!(size_of::<Error>() <= 40 && size_of::<Explained<'_>>() <= 48);
};
