//! The way in: opens, validates and lists models.

pub mod discover;
pub mod evidence;
pub mod foreign;
pub mod header;
pub mod key;
pub mod model;
pub mod open;
pub mod part;
pub mod published;
pub mod remote;
pub mod selection;
pub mod source;
pub mod validation;
pub mod walk;
