//! Long work: shows its progress and stops when the user interrupts it.

use crate::error::Error;
use crate::stop::Stop;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Shorter work shows no progress.
const PATIENCE: Duration = Duration::from_secs(1);

/// Work on a number of bytes. Threads may share it.
pub struct Work {
    stop: Arc<Stop>,
    bar: ProgressBar,
    shown: AtomicBool,
}

impl Work {
    /// Begins the work on so many bytes. From now on the first Ctrl-C stops it at the next check.
    pub fn new(stop: Arc<Stop>, label: &str, total: u64) -> Self {
        let template = "{msg} [{bar:30}] {decimal_bytes} of {decimal_total_bytes}, {eta} left";
        stop.listen();
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(label.to_owned());
        Self { stop, bar, shown: AtomicBool::new(false) }
    }

    /// Adds bytes that are done.
    ///
    /// # Errors
    /// The user has interrupted the work; partial output must be removed.
    pub fn advance(&self, done: u64) -> Result<(), Error> {
        self.bar.inc(done);
        self.show_late()
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
        self.show_late()
    }

    /// Checks whether the user has interrupted the work.
    ///
    /// # Errors
    /// The user has interrupted it.
    pub fn check(&self) -> Result<(), Error> {
        self.stop.check()
    }

    /// A bar appears only on a terminal; elsewhere nothing is drawn.
    fn show_late(&self) -> Result<(), Error> {
        if self.bar.elapsed() > PATIENCE && !self.shown.swap(true, Ordering::Relaxed) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.check()
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
