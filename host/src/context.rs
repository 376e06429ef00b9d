//! What one run of the command has for itself and passes down.

use crate::args::remote::{Secrets, Settings};
use crate::error::Error;
use crate::error::not_read::NotRead;
use crate::stop::Stop;
use crate::work::Work;
use safetensors_remote::{Client, Location, Options, RemoteError, RemoteFile, Url};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// One run. Threads share it.
#[derive(Default)]
pub struct Context {
    settings: Settings,
    secrets: Arc<Secrets>,
    options: OnceLock<Options>,
    stop: Arc<Stop>,
    found: Mutex<HashMap<PathBuf, Found>>,
}

/// Where a model is.
#[derive(Clone)]
pub enum Place {
    /// As given, or in the cache of the Hub.
    Local(PathBuf),
    Url(Url),
}

/// The place that was found for a path, and a file that was opened to find it.
pub type Found = (Result<Place, NotRead>, Option<RemoteFile>);

impl Context {
    pub fn new(settings: Settings, secrets: Arc<Secrets>) -> Self {
        Self { settings, secrets, ..Self::default() }
    }

    /// Begins the work on so many bytes. From now on the first Ctrl-C stops it at the next check.
    pub fn work(&self, label: &str, total: u64) -> Work {
        Work::new(self.stop.clone(), label, total)
    }

    /// From now on the first Ctrl-C stops this run at the next check.
    pub fn listen(&self) {
        self.stop.listen();
    }

    /// Checks whether the user has interrupted the run.
    ///
    /// # Errors
    /// The user has interrupted it.
    pub fn check(&self) -> Result<(), Error> {
        self.stop.check()
    }

    /// The options about servers: those of the environment, and those that were given.
    pub fn options(&self) -> &Options {
        self.options.get_or_init(|| self.settings.options())
    }

    /// The client, which is the same in a run.
    ///
    /// # Errors
    /// The certificates or the proxy in the environment cannot be used.
    pub fn client(&self) -> Result<Client, RemoteError> {
        self.stop.client(|| Client::new(self.options().clone()))
    }

    /// The location that a path means, with its secrets.
    ///
    /// # Errors
    /// It is not one.
    pub fn location(&self, path: &Path) -> Result<Location, NotRead> {
        let url = self.secrets.url_of(path);
        Ok(Location::parse(&url.unwrap_or_else(|| path.to_string_lossy().into_owned()))?)
    }

    /// What was found for a path.
    pub fn found(&self) -> MutexGuard<'_, HashMap<PathBuf, Found>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
