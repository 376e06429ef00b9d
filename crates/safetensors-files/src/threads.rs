//! Work on several threads whose results are taken in order. For the other crates of this project.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, available_parallelism, scope};

/// The most items for each thread that wait or are worked on.
const AHEAD: usize = 16;

/// Returns the number of available cores.
pub fn cores() -> NonZero<usize> {
    available_parallelism().unwrap_or(NonZero::<usize>::MIN)
}

/// Does `work` with every item on this many threads, and passes each result to `take` in order. If `take`
/// fails, items not yet begun are skipped.
///
/// This thread runs the iterator and `take`. With fewer than two threads or items, and if the system has no
/// threads, it does the work, too. A panic of `work` becomes one of this thread.
pub fn in_order<T: Send, R: Send, E>(
    items: impl IntoIterator<Item = T>,
    threads: impl Into<usize>,
    work: impl Fn(T) -> R + Sync,
    take: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    in_order_within(usize::MAX, items, threads, work, take)
}

/// As [`in_order`], with at most `most` items and results in memory.
pub fn in_order_within<T: Send, R: Send, E>(
    most: usize,
    items: impl IntoIterator<Item = T>,
    threads: impl Into<usize>,
    work: impl Fn(T) -> R + Sync,
    mut take: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    let mut items = items.into_iter().enumerate();
    let threads = threads.into().min(items.size_hint().1.unwrap_or(usize::MAX)).min(most);
    let ((give, queue), (done, results)) = (channel(), channel());
    let queue = Mutex::new(queue);
    scope(|scope| {
        // At the end of this closure they are dropped, and then the threads end.
        let (give, results) = (give, results);
        let run = || {
            let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
            while let Ok((index, item)) = next() {
                let result = catch_unwind(AssertUnwindSafe(|| work(item)));
                if done.send((index, result)).is_err() {
                    return;
                }
            }
        };
        let others = if threads > 1 { threads } else { 0 };
        let others = (0..others).filter(|_| Builder::new().spawn_scoped(scope, run).is_ok()).count();
        if others == 0 {
            return items.try_for_each(|(_, item)| take(work(item)));
        }
        let (mut early, mut given, mut due) = (BTreeMap::new(), 0, 0);
        loop {
            let room = (AHEAD * others).min(most - early.len()) - (given - due - early.len());
            for item in items.by_ref().take(room) {
                given += usize::from(give.send(item).is_ok());
            }
            if due == given {
                return Ok(());
            }
            let (index, result) = results.recv().expect("this thread has a sender");
            early.insert(index, result);
            while let Some(result) = early.remove(&due) {
                due += 1;
                take(result.unwrap_or_else(|panic| resume_unwind(panic)))?;
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{in_order, in_order_within};
    use std::panic::catch_unwind;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::thread::{sleep, yield_now};
    use std::time::Duration;

    #[test]
    fn results_come_in_the_order_of_the_items_and_few_at_a_time() {
        for (threads, most) in [(0_usize, 1), (1, 1), (2, 3), (7, 9), (300, usize::MAX)] {
            let (open, mut seen) = (AtomicUsize::new(0), Vec::new());
            let items = (0..100_u64).inspect(|_| {
                let open = open.fetch_add(1, Ordering::Relaxed);
                assert!(open < most, "{open} items are open");
            });
            let work = |item| {
                sleep(Duration::from_micros(100 * (item % 7)));
                item
            };
            let taken = in_order_within(most, items, threads, work, |item| {
                open.fetch_sub(1, Ordering::Relaxed);
                seen.push(item);
                Ok::<_, ()>(())
            });
            assert_eq!((taken, seen), (Ok(()), (0..100).collect()));
        }
    }

    /// Both threads must run for either to end.
    #[test]
    fn as_many_work_at_once_as_there_are_threads() {
        let barrier = Barrier::new(2);
        let waited = in_order([(), ()], 2_usize, |()| barrier.wait().is_leader(), |_| Ok::<_, ()>(()));
        assert_eq!(waited, Ok(()));
    }

    #[test]
    fn a_result_that_is_not_taken_is_the_end() {
        for threads in [1_usize, 2] {
            let (begun, refused) = (AtomicUsize::new(0), AtomicBool::new(false));
            let work = |item| {
                begun.fetch_add(1, Ordering::Relaxed);
                // The first two results are on their way; no other item ends before one was rejected.
                if item >= 2 {
                    while !refused.load(Ordering::Relaxed) {
                        yield_now();
                    }
                    sleep(Duration::from_millis(10));
                }
            };
            let taken = in_order(0_u64.., threads, work, |()| {
                refused.store(true, Ordering::Relaxed);
                Err("full")
            });
            assert_eq!(taken, Err("full"));
            assert!(begun.into_inner() < 10);
        }
    }

    #[test]
    fn a_panic_of_a_thread_is_one_of_the_caller() {
        let odd = |item: u32| assert!(item != 50, "not this one");
        let panic = catch_unwind(|| in_order(0..1000, 2_usize, odd, |()| Ok::<_, ()>(())));
        assert_eq!(panic.expect_err("it panics").downcast_ref(), Some(&"not this one"));
    }
}
