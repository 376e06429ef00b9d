//! Work that takes a while: how far it is, and whether the user still wants it.

use crate::complaint::Complaint;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::process::exit;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Who is quicker shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

static STOPPED: AtomicBool = AtomicBool::new(false);

/// A piece of work of so many bytes. Threads may share it.
pub struct Work {
    bar: ProgressBar,
    started: Instant,
    shown: AtomicBool,
}

impl Work {
    /// Begins it. From now on the first Ctrl-C stops the work where it can be stopped.
    pub fn new(label: &str, total: u64) -> Self {
        listen();
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template(
            "{msg} [{bar:30}] {decimal_bytes} of {decimal_total_bytes}, {eta} left",
        );
        if let Ok(style) = style {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(label.to_owned());
        Self { bar, started: Instant::now(), shown: AtomicBool::new(false) }
    }

    /// So many bytes more are done.
    ///
    /// # Errors
    /// The user has stopped it: whatever was begun must go.
    pub fn advance(&self, bytes: u64) -> Result<(), Complaint> {
        self.bar.inc(bytes);
        self.show_late();
        Self::check()
    }

    /// So many are done in all.
    ///
    /// # Errors
    /// As [`advance`](Self::advance).
    pub fn reach(&self, bytes: u64) -> Result<(), Complaint> {
        self.bar.set_position(bytes);
        self.show_late();
        Self::check()
    }

    /// Whether the user has stopped it.
    ///
    /// # Errors
    /// So it is.
    pub fn check() -> Result<(), Complaint> {
        if STOPPED.load(Ordering::Relaxed) { Err(Complaint::interrupted()) } else { Ok(()) }
    }

    /// A bar appears only on a terminal: on anything else it draws nothing.
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

/// The first signal asks the work to end, the second ends the program. Where no handler can be set, the first does.
pub fn listen() {
    static LISTENING: OnceLock<()> = OnceLock::new();
    LISTENING.get_or_init(|| {
        let _ = ctrlc::set_handler(|| {
            if STOPPED.swap(true, Ordering::Relaxed) {
                exit(130);
            }
        });
    });
}
