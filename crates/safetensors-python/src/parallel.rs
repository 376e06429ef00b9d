//! Work that several threads share.

use crate::error::Failure;
use pyo3::prelude::*;
use safetensors_files::threads::{cores, in_order};
use std::cell::Cell;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::scope;
use std::time::{Duration, Instant};

/// More threads do not read faster: memory is the limit.
const MOST_THREADS: usize = 8;

/// Less work than this many bytes is done sooner than threads are started.
const LEAST: usize = 1 << 25;

/// The number of bytes in a piece of work.
pub const PIECE: usize = 1 << 22;

/// Calls `work` with each task, in several threads if the tasks have many bytes. After an error no new task
/// is begun. `check` is called in this thread at the beginning and after each task.
pub fn in_parallel<T: Send, E: Send>(
    bytes: usize,
    tasks: Vec<T>,
    check: impl Fn() -> Result<(), E>,
    work: impl Fn(T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    // The number of processors takes longer to find out than a small tensor to read.
    let threads = if bytes < LEAST { 1 } else { cores().get().min(MOST_THREADS) };
    check()?;
    in_order(tasks, threads, work, |done| done.and_then(|()| check()))
}

/// How often a long call asks for signals: another thread of Python may make it wait.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(50);

/// Returns a function that fails with the exception of a signal, such as that of Ctrl-C, if there was one. No
/// lock may be held that a thread of Python waits for.
pub fn signals() -> impl Fn() -> Result<(), Failure> {
    let last = Cell::new(Instant::now());
    move || {
        if last.get().elapsed() < BETWEEN_SIGNALS {
            return Ok(());
        }
        last.set(Instant::now());
        Ok(Python::attach(|py| py.check_signals())?)
    }
}

/// Does work in another thread. A signal such as that of Ctrl-C ends it by `stop`.
pub fn stoppable<T: Send>(
    py: Python<'_>,
    stop: impl Fn() + Send,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    let ((done, outcome), check) = (channel(), signals());
    py.detach(move || {
        scope(move |scope| {
            scope.spawn(move || done.send(work()));
            loop {
                match outcome.recv_timeout(BETWEEN_SIGNALS) {
                    Err(RecvTimeoutError::Timeout) => check().inspect_err(|_| stop())?,
                    outcome => return outcome.expect("the thread sends what it has done"),
                }
            }
        })
    })
}
