//! Work that several threads share.

use crate::error::Failure;
use pyo3::prelude::*;
use std::cell::Cell;
use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// More threads do not read faster: memory is the limit.
const MOST_THREADS: usize = 8;

/// Less work than this many bytes is done sooner than threads are started.
const LEAST: usize = 1 << 25;

/// The number of bytes in a piece of work.
pub const PIECE: usize = 1 << 22;

/// Calls `work` with each task, in several threads if the tasks have many bytes. After an error no new task
/// is begun. `check` is called in this thread before each of its tasks.
pub fn in_parallel<T: Send, E: Send>(
    bytes: usize,
    tasks: Vec<T>,
    check: impl Fn() -> Result<(), E>,
    work: impl Fn(T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    // The number of processors takes longer to find out than a small tensor to read.
    let processors = || thread::available_parallelism().map_or(1, NonZero::get);
    let threads = if bytes < LEAST { 1 } else { processors().min(MOST_THREADS).min(tasks.len()) };
    if threads < 2 {
        return tasks.into_iter().try_for_each(|task| check().and_then(|()| work(task)));
    }
    let (tasks, error) = (Mutex::new(tasks.into_iter()), Mutex::new(None));
    let lock = || tasks.lock().unwrap_or_else(PoisonError::into_inner);
    let run = |check: &dyn Fn() -> Result<(), E>| {
        // The lock is released before the work begins.
        while let Some(task) = { lock().next() } {
            if let Err(reason) = check().and_then(|()| work(task)) {
                lock().by_ref().for_each(drop);
                error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // If the system has no more threads, this one does the work.
            let _ = thread::Builder::new().spawn_scoped(scope, || run(&|| Ok(())));
        }
        run(&check);
    });
    error.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
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
