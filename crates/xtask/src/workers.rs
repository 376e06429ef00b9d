//! Runs work in parallel.

use std::panic::resume_unwind;
use std::sync::Mutex;
use std::{iter, thread};

/// Does the work for each item, on as many threads as there are processors, in order; the results have the
/// order of the items.
pub fn side_by_side<T, R: Send>(
    items: impl IntoIterator<Item = T, IntoIter: Send>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let queue = Mutex::new(items.into_iter().enumerate());
    // No thread panics while it holds the lock.
    let next = || queue.lock().ok().and_then(|mut queue| queue.next());
    let worker = || iter::from_fn(next).map(|(at, item)| (at, work(item))).collect::<Vec<_>>();
    let mut done = thread::scope(|scope| {
        let at_once = thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(worker)).collect();
        let ended =
            workers.into_iter().map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
        ended.flatten().collect::<Vec<_>>()
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
