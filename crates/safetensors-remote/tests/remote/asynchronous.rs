//! What tests do, in the asynchronous form.

// The same file in both forms.
#[allow(clippy::duplicate_mod)]
#[path = "act.rs"]
mod act;

use embedded_safetensors::asynch::ReadAt;
use embedded_safetensors_macros::asynchronous as form;
use safetensors_remote::asynch::{Client, RemoteModel};

pub use act::{act, look};
