//! What tests do, in the asynchronous form.

#[path = "act.rs"]
mod act;

use embedded_safetensors::asynch::ReadAt;
use embedded_safetensors_macros::asynchronous as form;
use safetensors_remote::asynch::{Client, RemoteModel};

pub use act::{act, look, values};
