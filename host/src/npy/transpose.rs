//! Arrays that numpy holds in another order than safetensors.

use super::ahead::{MadeAhead, Make};
use super::part::read_full;
use super::unsound;
use crate::parallel::cores;
use embedded_safetensors::ReadAt;
use std::fs::File;
use std::io::{self, Read};

/// Numbers of `width` bytes that come with the high byte first.
pub struct Swapped<R> {
    source: R,
    width: usize,
    /// A number that a caller with a small buffer took only a part of.
    rest: Vec<u8>,
}

impl<R: Read> Swapped<R> {
    pub fn new(source: R, width: usize) -> Self {
        Self { source, width, rest: Vec::new() }
    }

    fn give_rest(&mut self, buffer: &mut [u8]) -> usize {
        let len = self.rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&self.rest[..len]);
        self.rest.drain(..len);
        len
    }
}

impl<R: Read> Read for Swapped<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() || !self.rest.is_empty() {
            return Ok(self.give_rest(buffer));
        }
        let whole = buffer.len() - buffer.len() % self.width;
        if whole > 0 {
            let len = read_full(&mut self.source, &mut buffer[..whole])?;
            buffer[..len].chunks_exact_mut(self.width).for_each(<[u8]>::reverse);
            return Ok(len);
        }
        let mut number = vec![0; self.width];
        let len = read_full(&mut self.source, &mut number)?;
        number.truncate(len);
        number.reverse();
        self.rest = number;
        Ok(self.give_rest(buffer))
    }
}

/// A piece of the result has at most so many bytes; two are held at a time.
const MEMORY: usize = 32 << 20;
/// So much is read at once where what is wanted lies close together.
const AHEAD: usize = 1 << 18;
/// So many columns are put into the result together: their elements lie side by side there.
const TOGETHER: usize = 32;
/// A thread makes no smaller part.
const WORTH: usize = 1 << 20;
/// Of each of them so much at a time.
const RUN: usize = 1 << 14;
/// Elements that lie further apart are read one by one.
const FAR: usize = 1 << 12;
/// Columns whose part in a piece is shorter are read in the order of the file, all others in that of the result.
const SHORT: usize = 256;

/// An array whose first axis is the fastest in the file, read so that the last one is.
pub type Turned<S> = MadeAhead<Pieces<S>>;

/// Makes the pieces of a [`Turned`] array.
///
/// The result is made piece by piece, in its order. A piece is a range of one axis, the split axis, with all indices of the
/// axes after it, and with one index of each axis before it. The split axis is the first one of which two indices fit the memory.
/// Threads share a piece: each makes a part of the range.
pub struct Pieces<S> {
    file: S,
    /// Where the array begins.
    at: u64,
    width: usize,
    axes: Vec<Axis>,
    /// Which axis is split.
    split: usize,
    /// How many indices of it a piece has at most.
    step: u64,
    /// The first index of the next piece on each axis up to the split one; after the last piece there is none.
    next: Option<Vec<u64>>,
}

/// One axis, and how many elements lie between two of its neighbours.
#[derive(Clone, Copy)]
struct Axis {
    len: u64,
    in_file: u64,
    in_result: u64,
}

/// The array with these dimensions, whose elements of `width` bytes begin at `at`, and are fewer than 2^64.
pub fn turned(file: File, at: u64, width: usize, dims: &[u64]) -> Turned<File> {
    MadeAhead::new(Pieces::within(MEMORY, file, at, width, dims))
}

impl<S: Sync> Pieces<S>
where
    for<'s> &'s S: ReadAt<Error = io::Error>,
{
    fn within(memory: usize, file: S, at: u64, width: usize, dims: &[u64]) -> Self {
        let axes = axes(dims);
        let room = (memory / width).max(1) as u64;
        let fits = |axis: &Axis| axis.in_result <= room / 2 || (axis.len == 1 && axis.in_result <= room);
        let split = axes.iter().position(fits).unwrap_or(axes.len().saturating_sub(1));
        let step = axes.get(split).map_or(1, |axis| (room / axis.in_result.max(1)).max(1));
        let next = (!dims.contains(&0)).then(|| vec![0; (split + 1).min(axes.len())]);
        Self { file, at, width, axes, split, step, next }
    }

    /// Makes a piece, which begins there in the file.
    fn make_from(&self, start: u64, split: Axis, piece: &mut [u8]) -> io::Result<()> {
        let (file, at, width) = (&self.file, self.at, self.width);
        let rest = self.axes.get(self.split + 1..).unwrap_or_default();
        let threads = cores().get().min(piece.len() / WORTH).max(1) as u64;
        let share = split.len.div_ceil(threads);
        let mut parts = piece.chunks_mut(small(share * split.in_result) * width).zip(0..);
        let work = |(piece, number): (&mut [u8], u64)| {
            let split = Axis { len: share.min(split.len - number * share), ..split };
            let start = start + number * share * split.in_file;
            let span = rest.iter().chain([&split]).map(|axis| (axis.len - 1) * axis.in_file).sum::<u64>() + 1;
            let end = (start + span) * width as u64;
            let source = Ahead { file, at, end, start: 0, bytes: Vec::new() };
            Turn { source, start, split, rest, piece }.fill_of(width)
        };
        if threads == 1 {
            return parts.try_for_each(work);
        }
        let work = &work;
        std::thread::scope(|scope| {
            let threads: Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
            threads.into_iter().try_for_each(|thread| {
                thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread has ended early")))
            })
        })
    }

    /// Where the piece begins that follows one of so many indices.
    fn after(&self, mut first: Vec<u64>, count: u64) -> Option<Vec<u64>> {
        let mut more = count;
        for (index, axis) in first.iter_mut().zip(&self.axes).rev() {
            *index += more;
            if *index < axis.len {
                return Some(first);
            }
            (*index, more) = (0, 1);
        }
        None
    }
}

impl<S: Send + Sync + 'static> Make for Pieces<S>
where
    for<'s> &'s S: ReadAt<Error = io::Error>,
{
    fn make(&mut self, piece: &mut Vec<u8>) -> io::Result<()> {
        let first = self.next.take().unwrap_or_default();
        let start: u64 = first.iter().zip(&self.axes).map(|(index, axis)| index * axis.in_file).sum();
        // An array without axes has one element.
        let whole = Axis { len: 1, in_file: 1, in_result: 1 };
        let split = self.axes.get(self.split).copied().unwrap_or(whole);
        let count = self.step.min(split.len - first.last().copied().unwrap_or(0));
        // All of it is written anew.
        piece.resize(small(count * split.in_result) * self.width, 0);
        self.make_from(start, Axis { len: count, ..split }, piece)?;
        self.next = self.after(first, count);
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.next.is_none()
    }
}

fn axes(dims: &[u64]) -> Vec<Axis> {
    let mut in_file = 1;
    let mut axes: Vec<Axis> = Vec::new();
    for &len in dims {
        axes.push(Axis { len, in_file, in_result: 1 });
        in_file *= len;
    }
    let mut in_result = 1;
    for axis in axes.iter_mut().rev() {
        axis.in_result = in_result;
        in_result *= axis.len;
    }
    axes
}

/// A part of a piece that is being made.
struct Turn<'t, S> {
    source: Ahead<S>,
    /// Its first element in the file.
    start: u64,
    /// The split axis, as far as it is in the piece.
    split: Axis,
    /// The axes after it, of which a column has one index each.
    rest: &'t [Axis],
    piece: &'t mut [u8],
}

impl<S: ReadAt<Error = io::Error>> Turn<'_, S> {
    fn fill_of(mut self, width: usize) -> io::Result<()> {
        match width {
            1 => self.fill::<1>(),
            2 => self.fill::<2>(),
            4 => self.fill::<4>(),
            _ => self.fill::<8>(),
        }
    }

    fn fill<const WIDTH: usize>(&mut self) -> io::Result<()> {
        let is_long = self.split.in_file == 1 && small(self.split.len) * WIDTH >= SHORT;
        match self.rest {
            [.., _] if is_long => self.by_result::<WIDTH>(),
            _ => self.by_file::<WIDTH>(),
        }
    }

    /// Blocks of neighbouring columns as they lie in the file, or parts of one column where they lie too far apart. A column is a
    /// range of elements, with gaps unless the split axis is the first.
    fn by_file<const WIDTH: usize>(&mut self) -> io::Result<()> {
        let alone = Axis { len: 1, in_file: 1, in_result: 1 };
        let (next, rest) = self.rest.split_first().map_or((alone, &[][..]), |(next, rest)| (*next, rest));
        let (at_once, columns) = self.block_of::<WIDTH>(next);
        let mut places = Column::new(rest.iter().copied());
        while let Some((from, to)) = places.next() {
            for column in (0..next.len).step_by(columns) {
                for first in (0..self.split.len).step_by(at_once) {
                    let split = Steps::of::<WIDTH>(self.split, at_once, first);
                    let next = Steps::of::<WIDTH>(next, columns, column);
                    let at = (self.start + from) * WIDTH as u64 + split.from + next.from;
                    let span = (split.count - 1) * split.gap + (next.count - 1) * next.gap + WIDTH;
                    let ahead = if columns > 1 { AHEAD } else { 0 };
                    let elements = self.source.get(at, span, ahead)?;
                    let target = &mut self.piece[small(to) * WIDTH + split.to + next.to..];
                    let (outer, inner) = if split.count < next.count { (split, next) } else { (next, split) };
                    for index in 0..outer.count {
                        let elements = &elements[index * outer.gap..];
                        inner.copy::<WIDTH>(elements, &mut target[index * outer.to_gap..]);
                    }
                }
            }
        }
        Ok(())
    }

    /// How many elements of a column, and how many neighbouring columns, are read at once.
    fn block_of<const WIDTH: usize>(&self, next: Axis) -> (usize, usize) {
        let Axis { len, in_file, .. } = self.split;
        let (gap, next_gap) = (small(in_file) * WIDTH, small(next.in_file) * WIDTH);
        let column = small(len - 1) * gap + WIDTH;
        // What lies between them is read, too.
        let is_near = next_gap <= FAR.max(2 * column);
        match gap < FAR {
            true if is_near && column <= AHEAD => (small(len), (AHEAD / next_gap).max(1)),
            true => (AHEAD / gap, 1),
            false => (1, 1),
        }
    }

    /// Some columns at once that are neighbours in the result. Each of them is one range of elements in the file.
    fn by_result<const WIDTH: usize>(&mut self) -> io::Result<()> {
        let (column_len, row_len) = (small(self.split.len) * WIDTH, small(self.split.in_result) * WIDTH);
        let mut columns = Column::new(self.rest.iter().rev().copied());
        // Equal places of the columns must not share a place in the processor's cache.
        let apart = RUN.min(column_len) + 64;
        let mut runs = vec![0; TOGETHER * apart];
        for to in (0..row_len).step_by(TOGETHER * WIDTH) {
            let together = TOGETHER.min((row_len - to) / WIDTH);
            let froms: Vec<u64> =
                (0..together).filter_map(|_| columns.next()).map(|(from, _)| from).collect();
            for first in (0..column_len).step_by(RUN) {
                let len = RUN.min(column_len - first);
                for (from, run) in froms.iter().zip(runs.chunks_mut(apart)) {
                    let at = (self.start + from) * WIDTH as u64 + first as u64;
                    self.source.read(at, &mut run[..len])?;
                }
                let rows = self.piece[first / WIDTH * row_len..].chunks_mut(row_len);
                for (at, row) in (0..len).step_by(WIDTH).zip(rows) {
                    let places = row[to..to + together * WIDTH].chunks_exact_mut(WIDTH);
                    for (place, run) in places.zip(runs.chunks(apart)) {
                        place.copy_from_slice(&run[at..at + WIDTH]);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Some indices of an axis, in bytes.
#[derive(Clone, Copy)]
struct Steps {
    count: usize,
    gap: usize,
    to_gap: usize,
    /// Where the first of them is in the file.
    from: u64,
    /// And in the result.
    to: usize,
}

impl Steps {
    /// At most so many, from the first on.
    fn of<const WIDTH: usize>(axis: Axis, most: usize, first: u64) -> Self {
        let (gap, to_gap) = (small(axis.in_file) * WIDTH, small(axis.in_result) * WIDTH);
        let count = most.min(small(axis.len - first));
        Self { count, gap, to_gap, from: first * gap as u64, to: small(first) * to_gap }
    }
}

impl Steps {
    /// Copies elements from the first one on, with their gaps here and there.
    fn copy<const WIDTH: usize>(self, from: &[u8], to: &mut [u8]) {
        if self.to_gap > WIDTH {
            for (element, place) in from.chunks(self.gap).zip(to.chunks_mut(self.to_gap)).take(self.count) {
                place[..WIDTH].copy_from_slice(&element[..WIDTH]);
            }
            return;
        }
        // Side by side: in a form that the compiler makes fast.
        let mut places = to.as_chunks_mut::<WIDTH>().0.iter_mut().take(self.count);
        let mut elements = from.chunks_exact(self.gap);
        for (element, place) in elements.by_ref().zip(places.by_ref()) {
            if let Some(element) = element.first_chunk::<WIDTH>() {
                *place = *element;
            }
        }
        // The last one has no gap behind it.
        if let (Some(element), Some(place)) = (elements.remainder().first_chunk::<WIDTH>(), places.next()) {
            *place = *element;
        }
    }
}

/// What a piece is made of fits the memory.
fn small(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Counts through all indices of some axes, the first of them fastest.
struct Column {
    axes: Vec<(Axis, u64)>,
    from: u64,
    to: u64,
    is_over: bool,
}

impl Column {
    fn new(axes: impl Iterator<Item = Axis>) -> Self {
        Self { axes: axes.map(|axis| (axis, 0)).collect(), from: 0, to: 0, is_over: false }
    }

    /// Where the next one begins in the file, and in the result.
    fn next(&mut self) -> Option<(u64, u64)> {
        let here = (!self.is_over).then_some((self.from, self.to));
        for (axis, index) in &mut self.axes {
            *index += 1;
            self.from += axis.in_file;
            self.to += axis.in_result;
            if *index < axis.len {
                return here;
            }
            self.from -= axis.len * axis.in_file;
            self.to -= axis.len * axis.in_result;
            *index = 0;
        }
        self.is_over = true;
        here
    }
}

/// A file with what was read of it last.
struct Ahead<S> {
    file: S,
    /// Where the array begins.
    at: u64,
    /// Behind this nothing is wanted; counted from there.
    end: u64,
    /// Counted from there, too.
    start: u64,
    bytes: Vec<u8>,
}

impl<S: ReadAt<Error = io::Error>> Ahead<S> {
    /// So many bytes; if they are not there yet, up to `ahead` bytes are read.
    fn get(&mut self, at: u64, len: usize, ahead: usize) -> io::Result<&[u8]> {
        if self.find(at, len).is_none() {
            self.bytes.resize(len.max(ahead.min(small(self.end - at))), 0);
            let mut filled = 0;
            while filled < len {
                filled += read_some(&mut self.file, self.at + at + filled as u64, &mut self.bytes[filled..])?;
            }
            self.bytes.truncate(filled);
            self.start = at;
        }
        let from = self.find(at, len).unwrap_or(0);
        Ok(&self.bytes[from..from + len])
    }

    fn find(&self, at: u64, len: usize) -> Option<usize> {
        let from = usize::try_from(at.checked_sub(self.start)?).ok()?;
        (from.checked_add(len)? <= self.bytes.len()).then_some(from)
    }

    /// Fills the buffer, and keeps nothing.
    fn read(&mut self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        let mut filled = 0;
        while filled < buffer.len() {
            filled += read_some(&mut self.file, self.at + at + filled as u64, &mut buffer[filled..])?;
        }
        Ok(())
    }
}

/// At least one byte.
fn read_some(file: &mut impl ReadAt<Error = io::Error>, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match file.read_at(at, buffer) {
            Ok(0) => return Err(unsound("the array ends before its last element")),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MEMORY, MadeAhead, Pieces, Swapped, Turned};
    use embedded_safetensors::{FileLen, ReadAt};
    use std::io::{self, Read, Write};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Elements that say where they are in the result.
    fn turned(dims: &[u64], width: usize, memory: usize) -> Vec<u8> {
        let elements: u64 = dims.iter().product();
        let mut bytes = vec![0xAA; 5];
        for place in 0..elements {
            let (mut rest, mut index, mut stride) = (place, 0, elements);
            for dim in dims {
                stride /= dim;
                index += rest % dim * stride;
                rest /= dim;
            }
            bytes.extend(&index.to_le_bytes()[..width]);
        }
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&bytes).expect("written");
        let mut result = Vec::new();
        let pieces = Pieces::within(memory, file, 5, width, dims);
        MadeAhead::new(pieces).read_to_end(&mut result).expect("read");
        result
    }

    fn counted(elements: u64, width: usize) -> Vec<u8> {
        (0..elements).flat_map(|index| index.to_le_bytes()[..width].to_vec()).collect()
    }

    #[test]
    fn the_last_axis_becomes_the_fastest() {
        for dims in [&[][..], &[5], &[2, 3], &[3, 1, 4], &[4, 3, 2, 5], &[1, 7], &[7, 1], &[600, 700]] {
            let expected = counted(dims.iter().product(), 4);
            for memory in [MEMORY, 1 << 20, 100] {
                assert!(turned(dims, 4, memory) == expected, "{dims:?} in {memory}");
            }
        }
        for dims in [&[0][..], &[0, 3], &[3, 0], &[2, 0, 5]] {
            let file = tempfile::tempfile().expect("a file");
            let mut none = Vec::new();
            super::turned(file, 0, 4, dims).read_to_end(&mut none).expect("read");
            assert!(none.is_empty());
        }
    }

    /// One row is more than the memory, and has a rest.
    #[test]
    fn rows_that_are_too_long_come_in_parts() {
        assert!(turned(&[2, 3, 250_000], 8, 4 << 20) == counted(1_500_000, 8));
    }

    /// Blocks of several columns, parts of long columns, elements that lie far apart, and the threads' parts.
    #[test]
    fn every_shape_is_turned() {
        for dims in [
            &[3, 40_000][..],
            &[40_000, 3],
            &[9000, 34],
            &[300, 33],
            &[70, 500, 3],
            &[3, 5, 7, 11, 2],
            &[6000, 2, 5],
            &[2, 9000, 4],
        ] {
            for width in [1, 2, 4, 8] {
                let elements: u64 = dims.iter().product();
                let expected = counted(elements, width);
                for memory in [MEMORY, 100_000, 3000, 8] {
                    if elements < 200 * memory as u64 {
                        assert!(turned(dims, width, memory) == expected, "{dims:?} of {width} in {memory}");
                    }
                }
            }
        }
    }

    /// Nothing is read twice where a piece has all rows, or long parts of the columns.
    #[test]
    fn as_little_is_read_as_the_memory_allows() {
        struct Counted(Arc<AtomicUsize>);
        impl ReadAt for &Counted {
            type Error = io::Error;

            fn read_at(&mut self, _: u64, buffer: &mut [u8]) -> io::Result<usize> {
                self.0.fetch_add(buffer.len(), Ordering::Relaxed);
                Ok(buffer.len())
            }

            fn file_len(&mut self) -> io::Result<FileLen> {
                Ok(FileLen::Unknown)
            }
        }
        for rows in [500_000, 2_000_000] {
            let read = Arc::new(AtomicUsize::new(0));
            let pieces = Pieces::within(MEMORY, Counted(read.clone()), 0, 4, &[rows, 10]);
            let mut array: Turned<Counted> = MadeAhead::new(pieces);
            let bytes = io::copy(&mut array, &mut io::sink()).expect("read");
            assert_eq!((bytes, read.load(Ordering::Relaxed) as u64), (40 * rows, 40 * rows));
        }
    }

    #[test]
    fn bytes_are_swapped_whatever_the_buffer() {
        let source: Vec<u8> = (0..24).collect();
        let swapped = [7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8, 23, 22, 21, 20, 19, 18, 17, 16];
        for size in 1..30 {
            let (mut reader, mut result) = (Swapped::new(&source[..], 8), Vec::<u8>::new());
            let mut buffer = vec![0; size];
            while let Ok(len @ 1..) = reader.read(&mut buffer) {
                result.extend(&buffer[..len]);
            }
            assert_eq!(result, swapped, "{size}");
        }
    }
}
