//! Futures polled by hand, so that a test decides how far they get.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// More waits than any test needs.
const TOO_MANY: usize = 1 << 28;

/// Polls a future to its end.
///
/// # Panics
/// If it never ends.
pub fn finish<T>(future: impl Future<Output = T>) -> T {
    let (mut future, mut context) = (pin!(future), Context::from_waker(Waker::noop()));
    for _ in 0..TOO_MANY {
        if let Poll::Ready(outcome) = future.as_mut().poll(&mut context) {
            return outcome;
        }
    }
    panic!("the future never ends");
}

/// Drops a future at one of its waits, counted from 0. Returns its outcome if it waits less often.
pub fn drop_at<T>(wait: usize, future: impl Future<Output = T>) -> Option<T> {
    finish(dropped_at(Some(wait), future))
}

/// Waits `times` times.
pub async fn wait(times: usize) {
    let mut left = times;
    poll_fn(|_| match left {
        0 => Poll::Ready(()),
        _ => {
            left -= 1;
            Poll::Pending
        }
    })
    .await;
}

/// Drops a future at one of its waits, counted from 0, if there is such a wait.
pub async fn dropped_at<T>(wait: Option<usize>, future: impl Future<Output = T>) -> Option<T> {
    let (mut future, mut left) = (pin!(future), wait);
    poll_fn(|context| match (future.as_mut().poll(context), left) {
        (Poll::Ready(outcome), _) => Poll::Ready(Some(outcome)),
        (Poll::Pending, Some(0)) => Poll::Ready(None),
        (Poll::Pending, _) => {
            left = left.map(|left| left - 1);
            Poll::Pending
        }
    })
    .await
}
