//! What tests do, in the blocking form.

// The same file in both forms.
#[allow(clippy::duplicate_mod)]
#[path = "act.rs"]
mod act;

use embedded_safetensors::ReadAt;
use embedded_safetensors_macros::blocking as form;
use safetensors_remote::{Client, RemoteModel};

pub use act::{act, look};
