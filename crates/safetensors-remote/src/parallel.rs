//! Threads: opens the shards of a model, several at a time.

use crate::client::Client;
use crate::error::RemoteError;
use crate::model::ModelFile;
use crate::url::Url;
use std::sync::{MutexGuard, PoisonError};
use std::thread;

/// A mutex without poison: what it guards is whole between any two statements.
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens all files. The first error, in the order of the files, stops the rest.
pub(crate) fn open_all(client: &Client, files: Vec<(Url, String)>) -> Result<Vec<ModelFile>, RemoteError> {
    let threads = client.options().parallel.clamp(1, files.len().max(1));
    let queue = Mutex::new(files.into_iter().enumerate());
    let opened = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| work(client, &queue, &opened));
        }
    });
    let mut opened = opened.into_inner();
    opened.sort_by_key(|(number, _)| *number);
    opened.into_iter().map(|(_, outcome)| outcome).collect()
}

type Opened = Vec<(usize, Result<ModelFile, RemoteError>)>;

fn work(
    client: &Client,
    queue: &Mutex<impl Iterator<Item = (usize, (Url, String))>>,
    opened: &Mutex<Opened>,
) {
    loop {
        let next = queue.lock().next();
        let Some((number, (url, name))) = next else { return };
        let outcome =
            ModelFile::open(client.clone(), url, name.clone()).map_err(|error| error.of_shard(name));
        let has_failed = outcome.is_err();
        opened.lock().push((number, outcome));
        if has_failed {
            // The others end what they do, and find an empty queue.
            queue.lock().by_ref().for_each(drop);
            return;
        }
    }
}
