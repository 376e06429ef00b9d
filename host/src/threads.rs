//! Runs work on several threads and delivers the results in order.

use std::collections::{BTreeMap, VecDeque};
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

/// Does `work` with the items of `next` on this many threads, and passes each result to `take` in order. This
/// thread runs `next` and `take`, and with fewer than two threads all of the work, one item after another;
/// at most two items for each of the others are in memory.
pub fn stream<T: Send, R: Send, E>(
    threads: usize,
    mut next: impl FnMut() -> Result<Option<T>, E>,
    work: impl Fn(T) -> R + Sync,
    mut take: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    scope(|scope| {
        let others = if threads > 1 { threads } else { 0 };
        let lanes: Vec<Lane<T, R>> = (0..others).filter_map(|_| Lane::begin(scope, &work)).collect();
        // Also if the system has no threads, this one does the work.
        if lanes.is_empty() {
            while let Some(item) = next()? {
                take(work(item))?;
            }
            return Ok(());
        }
        let mut waiting = VecDeque::new();
        for lane in lanes.iter().cycle() {
            let item = next()?;
            while waiting.len() >= 2 * lanes.len() || item.is_none() && !waiting.is_empty() {
                let result = waiting.pop_front().and_then(|lane: &Lane<T, R>| lane.results.recv().ok());
                // A thread that is gone has panicked, and so does the scope.
                result.map_or(Ok(()), &mut take)?;
            }
            match item.map(|item| lane.items.send(item)) {
                Some(Ok(())) => waiting.push_back(lane),
                _ => break,
            }
        }
        Ok(())
    })
}

/// A thread that returns results in the order of its items.
struct Lane<T, R> {
    items: Sender<T>,
    results: Receiver<R>,
}

impl<T: Send, R: Send> Lane<T, R> {
    fn begin<'s, 'e, W: Fn(T) -> R + Sync>(scope: &'s Scope<'s, 'e>, work: &'e W) -> Option<Self>
    where
        T: 's,
        R: 's,
    {
        let ((items, given), (done, results)) = (channel(), channel());
        let run = move || given.into_iter().try_for_each(|item| done.send(work(item)));
        Builder::new().spawn_scoped(scope, run).is_ok().then_some(Self { items, results })
    }
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

    /// Runs until no items are left or the receiver of results is gone.
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
    use super::{in_order, stream};
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

    #[test]
    fn streamed_results_come_in_order_and_few_at_a_time() {
        for count in [0, 1, 2, 7] {
            let (mut items, open, mut seen) = (0..100, AtomicUsize::new(0), Vec::new());
            let next = || {
                let open = open.fetch_add(1, Ordering::Relaxed);
                assert!(open <= 2 * count, "{open} items are open");
                Ok::<_, &str>(items.next())
            };
            let taken = stream(
                count,
                next,
                |item| item,
                |item: u32| {
                    open.fetch_sub(1, Ordering::Relaxed);
                    seen.push(item);
                    Ok(())
                },
            );
            assert_eq!((taken, seen), (Ok(()), (0..100).collect()));
        }
    }

    #[test]
    fn an_error_ends_the_stream() {
        for count in [0, 2] {
            let endless = || Ok(Some(()));
            assert_eq!(stream(count, endless, |()| (), |()| Err("full")), Err("full"));
            assert_eq!(stream(count, || Err::<Option<()>, _>("gone"), |()| (), |()| Ok(())), Err("gone"));
        }
    }
}
