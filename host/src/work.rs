//! Long work: shows its progress and stops when the user interrupts it.

use crate::error::Error;
use crate::input::remote;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::process::exit;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Shorter work shows no progress.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long the first signal may take after the second.
const GRACE: Duration = Duration::from_secs(1);

static STOPPED: AtomicBool = AtomicBool::new(false);

/// Work on a number of bytes. Threads may share it.
pub struct Work {
    bar: ProgressBar,
    started: Instant,
    shown: AtomicBool,
}

impl Work {
    /// Begins the work on so many bytes. From now on the first Ctrl-C stops it at the next check.
    pub fn new(label: &str, total: u64) -> Self {
        let template = "{msg} [{bar:30}] {decimal_bytes} of {decimal_total_bytes}, {eta} left";
        listen();
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(label.to_owned());
        Self { bar, started: Instant::now(), shown: AtomicBool::new(false) }
    }

    /// Adds bytes that are done.
    ///
    /// # Errors
    /// The user has interrupted the work; partial output must be removed.
    pub fn advance(&self, done: u64) -> Result<(), Error> {
        self.bar.inc(done);
        self.show_late();
        Self::check()
    }

    /// Adds bytes that are to be done.
    pub fn expect(&self, bytes: u64) {
        self.bar.inc_length(bytes);
    }

    /// Sets the bytes that are done.
    ///
    /// # Errors
    /// As [`advance`](Self::advance).
    pub fn reach(&self, bytes: u64) -> Result<(), Error> {
        self.bar.set_position(bytes);
        self.show_late();
        Self::check()
    }

    /// Checks whether the user has interrupted the work.
    ///
    /// # Errors
    /// The user has interrupted it.
    pub fn check() -> Result<(), Error> {
        if STOPPED.load(Ordering::Relaxed) { Err(Error::interrupted()) } else { Ok(()) }
    }

    /// A bar appears only on a terminal; elsewhere nothing is drawn.
    fn show_late(&self) {
        if self.started.elapsed() > PATIENCE && !self.shown.swap(true, Ordering::Relaxed) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The first signal asks the work to stop, also where it waits for a server; the second ends the program. If
/// no handler can be set, the first one ends it.
pub fn listen() {
    static LISTENING: OnceLock<()> = OnceLock::new();
    LISTENING.get_or_init(|| {
        let _ = ctrlc::set_handler(|| {
            if STOPPED.swap(true, Ordering::Relaxed) {
                // What the first one has begun to remove is gone by then.
                sleep(GRACE);
                exit(130);
            }
            remote::stop();
        });
    });
}
