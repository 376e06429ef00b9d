//! Reads [safetensors] models over HTTP and from the Hub of Hugging Face, without downloading them: the
//! header by one request, a tensor by another one.
//!
//! ```no_run
//! use safetensors_remote::{Client, Location, Options, RemoteModel};
//!
//! let client = Client::new(Options::from_env())?;
//! let model = RemoteModel::open(&client, &Location::parse("hf://owner/name")?)?;
//! for file in model.files() {
//!     for tensor in file.index().tensors() {
//!         println!("{} {} {:?}", tensor.name(), tensor.dtype(), tensor.dims());
//!     }
//! }
//! let counted = model.parameters(model.config()?.as_ref());
//! println!("{} parameters", counted.total());
//! let file = model.file_of("lm_head.weight").ok_or("no such tensor")?;
//! let bytes = file.read("lm_head.weight")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [safetensors]: https://github.com/huggingface/safetensors
//!
//! # What holds everywhere
//!
//! - **Requests**: one of 100,000 bytes for a header, a second one if the header is longer, and one for a
//!   tensor. Tensors of at most 256 KiB that are [announced](ModelFile::expect_all) and follow each other
//!   come from one open reply, also if several threads read them.
//! - **Servers** are not trusted: every text has a limit in [`Options`], every wait a timeout, and a reply
//!   with other bytes than the requested ones is an error. So is a file that changes between two requests.
//!   No memory is allocated for bytes that have not arrived.
//! - **Repetitions**: after 429, 500, 502, 503, 504, a timeout or a lost connection the request is repeated,
//!   with delays that double, and with `Retry-After` if the server sends it. A reply that breaks off is
//!   continued at the next byte. [`Client::stop`] ends all of it.
//! - **Redirects** are followed, but not from `https` to `http`.
//! - **Tokens** are sent only to the scheme, host and port of the Hub, and no message contains one.
//! - **A server without ranges**: the header is read, and the rest of the connection is dropped. Of a file of
//!   at most 16 MB everything can be read; of a longer one only what follows in sequence.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `async` | the module `asynch`: the same API for the runtime of tokio |

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(feature = "async")]
pub mod asynch;
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
mod stop;
mod transport;
mod url;
mod window;

// What the files import that are compiled for both forms.
use client::Answer;
use embedded_safetensors::{Model, ReadAt};
use embedded_safetensors_macros::blocking as form;
use parallel::{Mutex as Lock, open_all};
use safetensors_files::shards::ShardLimits;
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

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
