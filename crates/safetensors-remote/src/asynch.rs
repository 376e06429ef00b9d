//! The same API for programs that are asynchronous, with the same names, limits and errors. It needs the
//! runtime of tokio, with its I/O and time enabled.
//!
//! ```no_run
//! use safetensors_remote::{Location, Options, RemoteError, asynch::{Client, RemoteModel}};
//!
//! async fn parameters(location: &str) -> Result<u64, RemoteError> {
//!     let client = Client::new(Options::from_env())?;
//!     let model = RemoteModel::open(&client, &Location::parse(location)?).await?;
//!     Ok(model.parameters(model.config().await?.as_ref()).total())
//! }
//! ```

// These are the same files as in the blocking form, for which a macro removes `async` and `.await`. Their
// imports from `super` are here.
#![allow(clippy::duplicate_mod)]

#[path = "client.rs"]
mod client;
#[path = "file.rs"]
mod file;
#[path = "model.rs"]
mod model;
#[path = "shared.rs"]
mod shared;

use crate::error::{RemoteError, RemoteErrorKind};
use crate::transport::asynchronous::{Body, Transport};
use crate::url::Url;
use client::Answer;
use embedded_safetensors::asynch::{Model, ReadAt};
use embedded_safetensors_macros::asynchronous as form;
use tokio::sync::Mutex as Lock;
use tokio::task::JoinSet;

pub use client::Client;
pub use file::RemoteFile;
pub use model::{ModelFile, RemoteModel};
pub use shared::SharedFile;

/// Opens all files, several at a time. The first error stops the rest.
async fn open_all(client: &Client, files: Vec<(Url, String)>) -> Result<Vec<ModelFile>, RemoteError> {
    let mut queue = files.into_iter().enumerate();
    let mut running = JoinSet::new();
    let mut opened = Vec::new();
    loop {
        while running.len() < client.options().parallel.max(1) {
            let Some((number, (url, name))) = queue.next() else { break };
            let client = client.clone();
            running.spawn(async move {
                let outcome = ModelFile::open(client, url, name.clone()).await;
                outcome.map(|file| (number, file)).map_err(|error| error.of_shard(name))
            });
        }
        match running.join_next().await {
            None => break,
            Some(Ok(outcome)) => opened.push(outcome?),
            Some(Err(panic)) if panic.is_panic() => std::panic::resume_unwind(panic.into_panic()),
            // The runtime ends.
            Some(Err(_)) => return Err(RemoteError::new("the client", RemoteErrorKind::Stopped)),
        }
    }
    opened.sort_by_key(|(number, _)| *number);
    Ok(opened.into_iter().map(|(_, file)| file).collect())
}
