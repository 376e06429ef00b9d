//! Stops a run when the user interrupts it.

use crate::error::Error;
use safetensors_remote::{Client, RemoteError};
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::sleep;
use std::time::Duration;

/// How long the first signal may take after the second.
const GRACE: Duration = Duration::from_secs(1);

/// The runs that listen to signals. A handler has no other way to find them.
static LISTENING: Mutex<Vec<Weak<Stop>>> = Mutex::new(Vec::new());

/// Whether a run is to stop, and the client whose requests end then.
#[derive(Default)]
pub struct Stop {
    is_set: AtomicBool,
    client: Mutex<Option<Client>>,
}

impl Stop {
    /// The first signal asks the run to stop, also where it waits for a server; the second ends the program.
    /// If no handler can be set, the first one ends it.
    pub fn listen(self: &Arc<Self>) {
        static HANDLER: OnceLock<()> = OnceLock::new();
        let mut runs = lock(&LISTENING);
        runs.retain(|run| run.strong_count() > 0);
        if !runs.iter().any(|run| std::ptr::eq(run.as_ptr(), Arc::as_ptr(self))) {
            runs.push(Arc::downgrade(self));
        }
        HANDLER.get_or_init(|| drop(ctrlc::set_handler(stop_all)));
    }

    /// # Errors
    /// The user has interrupted the run.
    pub fn check(&self) -> Result<(), Error> {
        if self.is_set.load(Ordering::Relaxed) { Err(Error::interrupted()) } else { Ok(()) }
    }

    /// The client of the run, made at its first use.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn client(&self, make: impl FnOnce() -> Result<Client, RemoteError>) -> Result<Client, RemoteError> {
        let mut client = lock(&self.client);
        match &*client {
            Some(client) => Ok(client.clone()),
            None => Ok(client.insert(make()?).clone()),
        }
    }

    /// Returns whether it was stopped before.
    fn stop(&self) -> bool {
        let client = lock(&self.client).clone();
        client.iter().for_each(Client::stop);
        self.is_set.swap(true, Ordering::Relaxed)
    }
}

fn stop_all() {
    let runs: Vec<_> = lock(&LISTENING).iter().filter_map(Weak::upgrade).collect();
    let was_stopped = runs.iter().map(|run| run.stop()).fold(runs.is_empty(), |any, was| any || was);
    if was_stopped {
        // What the first one has begun to remove is gone by then.
        sleep(GRACE);
        exit(130);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
