//! Which bytes to ask for next: without any I/O.

use crate::error::RemoteErrorKind;
use crate::exchange::{Span, Version};
use crate::options::Options;
use std::ops::Range;

/// Bytes that are read and dropped rather than requested again: a request costs a round trip, in which as
/// many arrive over most connections.
pub(crate) const GAP: u64 = 64 << 10;

/// The longest tensor that shares its request with its neighbours: of a longer one, the round trip is a small
/// part of the time.
const SMALL: u64 = 256 << 10;

/// Bytes that are going to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) range: Range<u64>,
    /// Whether they are small tensors, of which one is near the next. Otherwise they are one large tensor.
    pub(crate) is_small: bool,
}

/// Joins the small ones of these tensors with their neighbours, sorted by their offsets.
pub(crate) fn stretches(mut tensors: Vec<Range<u64>>) -> Vec<Stretch> {
    tensors.retain(|tensor| !tensor.is_empty());
    tensors.sort_by_key(|tensor| tensor.start);
    let mut all: Vec<Stretch> = Vec::new();
    for range in tensors {
        let is_small = range.end - range.start <= SMALL;
        let is_near = |last: &&mut Stretch| range.start.saturating_sub(last.range.end) <= GAP;
        match all.last_mut().filter(|last| is_small && last.is_small).filter(is_near) {
            Some(last) => last.range.end = last.range.end.max(range.end),
            None => all.push(Stretch { range, is_small }),
        }
    }
    all
}

/// What is known about how a file is read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    /// The bytes of the last request, if it was for data.
    len: u64,
    /// Where the last request ended.
    end: u64,
    /// Bytes that are going to be read.
    pub(crate) expected: Option<Range<u64>>,
    /// What is missing of a reply that was lost.
    pub(crate) lost: Option<Range<u64>>,
}

/// The open reply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    /// The offset of its next byte.
    pub(crate) position: u64,
    /// The offset where it ends, if known.
    pub(crate) end: Option<u64>,
}

/// What to do to read at an offset.
#[derive(Debug)]
pub(crate) enum Plan {
    /// Read on; bytes before the offset are skipped.
    Continue,
    /// Send a request for these bytes, or for the whole file.
    Ask(Option<Span>),
    Fail(RemoteErrorKind),
}

impl Window {
    /// Decides how to read at an offset that is in the file. `wanted` is the length of the caller's buffer.
    pub(crate) fn plan(
        &mut self,
        (offset, wanted): (u64, u64),
        open: Option<Open>,
        has_ranges: bool,
        version: &Version,
        options: &Options,
    ) -> Plan {
        let limit = if has_ranges { options.read_ahead } else { options.max_whole };
        if let Some(open) = open {
            let is_ahead = offset >= open.position && open.end.is_none_or(|end| offset < end);
            if is_ahead && offset - open.position <= limit {
                return Plan::Continue;
            }
        }
        match has_ranges {
            true => Plan::Ask(Some(self.span(offset, wanted, version.total, options))),
            false => self.without_ranges(offset, open, options),
        }
    }

    /// Only the beginning of the file may be read a second time, after a lost connection.
    fn without_ranges(&self, offset: u64, open: Option<Open>, options: &Options) -> Plan {
        let position = open.map_or(0, |open| open.position);
        match open {
            None if offset <= options.max_whole => Plan::Ask(None),
            _ => Plan::Fail(RemoteErrorKind::NoRanges { offset, position, limit: options.max_whole }),
        }
    }

    /// The bytes to ask for: those that are expected or wanted, or a window that doubles while the file is
    /// read in sequence.
    fn span(&mut self, offset: u64, wanted: u64, total: Option<u64>, options: &Options) -> Span {
        let lost = self.lost.take().filter(|lost| lost.contains(&offset));
        let expected = lost.or_else(|| self.expected.clone().filter(|expected| expected.contains(&offset)));
        let end = match expected {
            Some(expected) => expected.end,
            None => {
                let is_next = self.len > 0 && offset == self.end;
                let doubled = if is_next { self.len.saturating_mul(2).min(options.max_window) } else { 0 };
                self.len = doubled.max(options.read_ahead).max(1);
                offset.saturating_add(self.len.max(wanted))
            }
        };
        let end = end.min(total.unwrap_or(end)).max(offset.saturating_add(1));
        self.end = end;
        Span::between(offset, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOTAL: u64 = 1 << 30;

    fn plan(window: &mut Window, offset: u64, wanted: u64, open: Option<Open>) -> Plan {
        let version = Version { total: Some(TOTAL), ..Version::default() };
        window.plan((offset, wanted), open, true, &version, &Options::new())
    }

    fn asked(plan: &Plan) -> (u64, u64) {
        match plan {
            Plan::Ask(Some(span)) => (span.first, span.end()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_window_doubles_while_it_is_read_in_sequence() {
        let mut window = Window::default();
        let (mut offset, mut requests) = (1000, 0);
        while offset < TOTAL {
            let (first, end) = asked(&plan(&mut window, offset, 4096, None));
            assert_eq!(first, offset);
            assert!(end - first <= Options::new().max_window);
            (offset, requests) = (end, requests + 1);
        }
        // 64 KiB, 128 KiB, … 64 MiB, and then one for each 64 MiB.
        assert_eq!(requests, 10 + 16);
        let (first, end) = asked(&plan(&mut window, 5, 100, None));
        assert_eq!(end - first, Options::new().read_ahead, "another offset begins small");
    }

    #[test]
    fn a_large_buffer_and_an_expectation_are_one_request() {
        let mut window = Window::default();
        assert_eq!(asked(&plan(&mut window, 8, 1 << 28, None)), (8, 8 + (1 << 28)));
        window.expected = Some(100..1 << 29);
        assert_eq!(asked(&plan(&mut window, 200, 1, None)), (200, 1 << 29));
        assert_eq!(asked(&plan(&mut window, 50, 1, None)), (50, 50 + (1 << 16)));
        assert_eq!(asked(&plan(&mut window, TOTAL - 1, 9, None)), (TOTAL - 1, TOTAL));
    }

    #[test]
    fn what_was_announced_stays_after_a_lost_reply() {
        let mut window = Window { expected: Some(100..1 << 29), lost: Some(500..1000), ..Window::default() };
        assert_eq!(asked(&plan(&mut window, 500, 1, None)), (500, 1000));
        assert_eq!(asked(&plan(&mut window, 1000, 1, None)), (1000, 1 << 29));
    }

    #[test]
    fn small_tensors_share_a_request_with_their_neighbours() {
        let (small, large) =
            (|range| Stretch { range, is_small: true }, |range| Stretch { range, is_small: false });
        let near = 20 + GAP..SMALL + 20 + GAP;
        let (far, after) = (near.end + GAP + 1..near.end + GAP + 2, near.end + GAP + 2..1 << 30);
        let tensors = [after.clone(), 10..20, near.clone(), 5..5, 0..10, far.clone()];
        assert_eq!(stretches(tensors.to_vec()), [small(0..near.end), small(far), large(after)]);
    }

    #[test]
    fn small_gaps_are_skipped() {
        let open = |position| Some(Open { position, end: Some(1 << 20) });
        let mut window = Window::default();
        assert!(matches!(plan(&mut window, 100, 1, open(100)), Plan::Continue));
        assert!(matches!(plan(&mut window, 100 + (1 << 16), 1, open(100)), Plan::Continue));
        assert!(matches!(plan(&mut window, 101 + (1 << 16), 1, open(100)), Plan::Ask(_)));
        assert!(matches!(plan(&mut window, 99, 1, open(100)), Plan::Ask(_)));
        assert!(matches!(plan(&mut window, 1 << 20, 1, open((1 << 20) - 1)), Plan::Ask(_)));
    }

    #[test]
    fn without_ranges_only_forward_within_the_limit() {
        let (version, options) = (Version::default(), Options::new());
        let mut window = Window::default();
        let mut plan = |offset, open: Option<u64>| {
            let open = open.map(|position| Open { position, end: None });
            window.plan((offset, 1), open, false, &version, &options)
        };
        assert!(matches!(plan(options.max_whole + 5, Some(5)), Plan::Continue));
        assert!(matches!(plan(options.max_whole + 6, Some(5)), Plan::Fail(_)));
        assert!(matches!(plan(4, Some(5)), Plan::Fail(_)));
        assert!(matches!(plan(options.max_whole, None), Plan::Ask(None)));
        assert!(matches!(plan(options.max_whole + 1, None), Plan::Fail(_)));
    }
}
