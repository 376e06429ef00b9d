//! Runs work on several threads.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Builder, scope};

/// Does `work` with every part on at most `threads` threads, including this one; on fewer if the system
/// cannot start more.
///
/// # Errors
/// Those of `work`; other parts may then not be done.
pub fn share<T: Send>(
    parts: impl Iterator<Item = T> + Send,
    threads: usize,
    work: impl Fn(T) -> io::Result<()> + Sync,
) -> io::Result<()> {
    let parts = Mutex::new(parts);
    let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
    let run = || std::iter::from_fn(next).try_for_each(&work);
    scope(|scope| {
        let others = (1..threads).filter_map(|_| Builder::new().spawn_scoped(scope, run).ok());
        let others: Vec<_> = others.collect();
        let own = run();
        others.into_iter().fold(own, |outcome, thread| outcome.and(joined(thread.join())))
    })
}

/// Returns the outcome of a thread; a panic becomes an error.
pub fn joined(outcome: thread::Result<io::Result<()>>) -> io::Result<()> {
    outcome.unwrap_or_else(|_| Err(io::Error::other("a thread of this program has panicked")))
}

#[cfg(test)]
mod tests {
    use super::share;
    use std::io;
    use std::sync::Barrier;

    #[test]
    fn every_part_is_done_once_and_errors_are_returned() {
        for threads in [1, 2, 9] {
            let mut numbers = vec![0_u32; 100];
            let add = |(number, index): (&mut u32, u32)| {
                *number += index;
                if index == 50 { Err(io::Error::other("not this one")) } else { Ok(()) }
            };
            share(numbers.iter_mut().zip(0..50), threads, add).expect("no error");
            assert!(numbers.iter().zip(0..50).all(|(number, index)| *number == index));
            let outcome = share(numbers.iter_mut().zip(0..), threads, add);
            assert_eq!(outcome.expect_err("one fails").to_string(), "not this one");
        }
    }

    #[test]
    fn panic_of_a_thread_is_an_error() {
        let barrier = Barrier::new(2);
        let main = std::thread::current().id();
        let outcome = share(0..2, 2, |_| {
            barrier.wait();
            assert!(std::thread::current().id() == main, "the other thread");
            Ok(())
        });
        assert!(outcome.expect_err("it panics").to_string().contains("panicked"));
    }
}
