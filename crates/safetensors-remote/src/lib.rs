#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod client;
mod error;
mod exchange;
mod file;
mod hub;
mod location;
mod model;
mod options;
mod parallel;
pub mod parameters;
mod proxy;
mod shared;
mod transport;
mod url;
mod window;

use safetensors_files::shards::ShardLimits;
// The fuzz target `replies` has another transport.
use transport::blocking::{Body, Transport};

pub use client::Client;
pub use error::{RemoteError, RemoteErrorKind};
pub use file::RemoteFile;
pub use hub::{CANDIDATES, ENDPOINT, Hub, Token};
pub use location::{HubFile, Location};
pub use model::{MAX_CONFIG, ModelFile, RemoteModel};
pub use options::Options;
pub use proxy::Proxies;
pub use shared::SharedFile;
pub use url::Url;

/// The limits of an index besides its length: there are models of half a million tensors.
const LIMITS: ShardLimits = ShardLimits { bytes: u64::MAX, tensors: 2_000_000, ..ShardLimits::USUAL };
