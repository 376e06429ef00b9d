//! Runs work on several threads and delivers the results in order.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, Scope, available_parallelism, scope};

/// The number of available cores.
pub fn cores() -> NonZero<usize> {
    available_parallelism().unwrap_or(NonZero::<usize>::MIN)
}

/// Does `work` with every item on this many threads, and passes each result to `take` in order. If `take`
/// fails, items not yet begun are skipped.
pub fn in_order<'i, T: Sync, R: Send, E>(
    items: &'i [T],
    threads: NonZero<usize>,
    work: impl Fn(&'i T) -> R + Sync,
    mut take: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    let threads = threads.get().min(items.len());
    if threads < 2 {
        return items.iter().try_for_each(|item| take(work(item)));
    }
    let queue = Queue { items, next: AtomicUsize::new(0), work };
    scope(|scope| {
        let (results, taken) = channel();
        // If the system has no more threads, this thread does the work.
        let begun = (0..threads).filter(|_| queue.begin(scope, results.clone())).count();
        if begun == 0 {
            queue.run(&results);
        }
        drop(results);
        sort(taken, &mut take)
    })
}

/// Results arrive as they are ready.
fn sort<R, E>(results: Receiver<(usize, R)>, take: &mut impl FnMut(R) -> Result<(), E>) -> Result<(), E> {
    let (mut early, mut due) = (BTreeMap::new(), 0);
    for (index, result) in results {
        early.insert(index, result);
        while let Some(result) = early.remove(&due) {
            take(result)?;
            due += 1;
        }
    }
    Ok(())
}

struct Queue<'i, T, W> {
    items: &'i [T],
    next: AtomicUsize,
    work: W,
}

impl<'i, T: Sync, R: Send, W: Fn(&'i T) -> R + Sync> Queue<'i, T, W> {
    /// Returns whether a thread could be started.
    fn begin<'s, 'e>(&'e self, scope: &'s Scope<'s, 'e>, results: Sender<(usize, R)>) -> bool
    where
        R: 's,
    {
        Builder::new().spawn_scoped(scope, move || self.run(&results)).is_ok()
    }

    /// Runs until no items are left or nobody receives results.
    fn run(&self, results: &Sender<(usize, R)>) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = self.items.get(index) else { return };
            if results.send((index, (self.work)(item))).is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::in_order;
    use std::num::NonZero;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    fn threads(count: usize) -> NonZero<usize> {
        NonZero::new(count).expect("not zero")
    }

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..100).collect();
        for count in [1, 2, 7, 1000] {
            let mut seen = Vec::new();
            let work = |item: &u64| {
                std::thread::sleep(Duration::from_micros(100 * (item % 7)));
                *item
            };
            let taken = in_order(&items, threads(count), work, |item| {
                seen.push(item);
                Ok::<_, ()>(())
            });
            assert_eq!((taken, &seen), (Ok(()), &items));
        }
    }

    /// Both threads must run for either to end.
    #[test]
    fn as_many_work_at_once_as_there_are_threads() {
        let barrier = Barrier::new(2);
        let waited = in_order(&[(), ()], threads(2), |()| barrier.wait().is_leader(), |_| Ok::<_, ()>(()));
        assert_eq!(waited, Ok(()));
    }

    #[test]
    fn a_result_that_is_not_taken_is_the_end() {
        for count in [1, 2] {
            let (items, begun, refused) = (vec![(); 1000], AtomicUsize::new(0), AtomicBool::new(false));
            let work = |(): &()| {
                // The first two results are on their way; no other item begins before a result was
                // rejected.
                if begun.fetch_add(1, Ordering::Relaxed) >= 2 {
                    while !refused.load(Ordering::Relaxed) {
                        std::thread::yield_now();
                    }
                    std::thread::sleep(Duration::from_millis(10));
                }
            };
            let taken = in_order(&items, threads(count), work, |()| {
                refused.store(true, Ordering::Relaxed);
                Err("full")
            });
            assert_eq!(taken, Err("full"));
            assert!(begun.into_inner() < items.len());
        }
    }
}
