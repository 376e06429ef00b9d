//! Threads: opens the shards of a model, several at a time, and ends the work of a client.

use crate::client::Client;
use crate::error::RemoteError;
use crate::model::ModelFile;
use crate::url::Url;
use safetensors_files::threads::in_order;
use std::sync::{MutexGuard, PoisonError};

/// A mutex without poison: what it guards is whole between any two statements.
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens all files. The first error, in the order of the files, stops the rest.
pub(crate) fn open_all(client: &Client, files: Vec<(Url, String)>) -> Result<Vec<ModelFile>, RemoteError> {
    let open = |(url, name): (Url, String)| {
        ModelFile::open(client.clone(), url, name.clone()).map_err(|error| error.of_shard(name))
    };
    let mut opened = Vec::new();
    in_order(files, client.options().parallel, open, |file| {
        opened.push(file?);
        Ok(())
    })?;
    Ok(opened)
}

impl Client {
    /// Ends all requests and delays of this client and its clones, also those of other threads, and rejects
    /// all that follow: they fail with [`RemoteErrorKind::Stopped`](crate::RemoteErrorKind::Stopped). Only
    /// the search for an address and the first step of a connection go on until their timeout.
    pub fn stop(&self) {
        self.transport().stop();
    }
}
