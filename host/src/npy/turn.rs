//! Arrays that numpy holds in another order than safetensors.

use super::part::read_full;
use super::unsound;
use embedded_safetensors::ReadAt;
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

/// So much of an array is turned at a time: each time all of its columns are looked up.
const MEMORY: usize = 64 << 20;
/// So much is read at once where pieces lie closer together.
const NEAR: usize = 1 << 14;

/// An array whose first axis is the fastest, read so that the last one is.
///
/// It is a table of columns that lie one behind the other, each an index of all axes but the first. As many rows as
/// fit into the memory are gathered from all columns; where not even one does, a part of one.
pub struct Turned<S> {
    window: Window<S>,
    memory: usize,
    width: usize,
    rows: u64,
    columns: u64,
    /// All axes but the first.
    axes: Vec<u64>,
    /// What comes next, in the order of the result.
    row: u64,
    column: u64,
    piece: Vec<u8>,
    given: usize,
}

impl<S: ReadAt<Error = io::Error>> Turned<S> {
    /// The array with these dimensions, whose elements of `width` bytes begin at `at`, and are fewer than 2^64.
    pub fn new(file: S, at: u64, width: usize, dims: &[u64]) -> Self {
        Self::within(MEMORY, file, at, width, dims)
    }

    fn within(memory: usize, file: S, at: u64, width: usize, dims: &[u64]) -> Self {
        let (rows, axes) = dims.split_first().map_or((1, &[][..]), |(rows, axes)| (*rows, axes));
        let columns = if rows == 0 { 0 } else { axes.iter().product() };
        let window = Window { file, at, start: 0, bytes: Vec::new() };
        let (axes, piece) = (axes.to_vec(), Vec::new());
        Self { window, memory, width, rows, columns, axes, row: 0, column: 0, piece, given: 0 }
    }

    fn fill(&mut self) -> io::Result<()> {
        let room = (self.memory / self.width) as u64;
        let columns = room.min(self.columns - self.column);
        let is_whole = columns == self.columns;
        // A column of them is held twice: as it is read, too.
        let rows = if is_whole { (room / (columns + 1)).clamp(1, self.rows - self.row) } else { 1 };
        self.gather(rows, columns)?;
        self.column += columns;
        if self.column == self.columns {
            (self.row, self.column) = (self.row + rows, 0);
        }
        Ok(())
    }

    /// Both fit the memory. All columns are taken in the order of the file, some of them in that of the result.
    fn gather(&mut self, rows: u64, columns: u64) -> io::Result<()> {
        let small = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let (width, row_len) = (self.width, small(columns) * self.width);
        self.piece.clear();
        self.piece.resize(small(rows) * row_len, 0);
        let is_whole = columns == self.columns;
        let axes: Vec<u64> =
            if is_whole { self.axes.iter().rev().copied().collect() } else { self.axes.clone() };
        let mut place = Place::new(&axes, self.column);
        for index in 0..columns {
            let (from, column) = if is_whole { (index, place.turned) } else { (place.turned, index) };
            let at = (from * self.rows + self.row) * width as u64;
            let run = self.window.get(at, small(rows) * width)?;
            for (row, element) in run.chunks_exact(width).enumerate() {
                let to = row * row_len + small(column) * width;
                self.piece[to..to + width].copy_from_slice(element);
            }
            place.advance(&axes);
        }
        self.given = 0;
        Ok(())
    }
}

impl<S: ReadAt<Error = io::Error>> Read for Turned<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.piece.len() {
            if self.columns == 0 || self.row == self.rows {
                return Ok(0);
            }
            self.fill()?;
        }
        let left = &self.piece[self.given..];
        let len = left.len().min(buffer.len());
        buffer[..len].copy_from_slice(&left[..len]);
        self.given += len;
        Ok(len)
    }
}

/// One column of those that are counted with the last axis as the fastest.
struct Place {
    indices: Vec<u64>,
    /// Which one it is where the first axis is the fastest.
    turned: u64,
}

impl Place {
    fn new(axes: &[u64], mut index: u64) -> Self {
        let mut indices = vec![0; axes.len()];
        for (at, axis) in indices.iter_mut().zip(axes).rev() {
            *at = index % axis;
            index /= axis;
        }
        let mut place = Self { indices, turned: 0 };
        place.count(axes);
        place
    }

    fn count(&mut self, axes: &[u64]) {
        let step = |before: u64, (at, axis): (&u64, &u64)| before * axis + at;
        self.turned = self.indices.iter().zip(axes).rev().fold(0, step);
    }

    fn advance(&mut self, axes: &[u64]) {
        for (at, axis) in self.indices.iter_mut().zip(axes).rev() {
            *at += 1;
            if *at < *axis {
                break;
            }
            *at = 0;
        }
        self.count(axes);
    }
}

/// What was read last, for pieces that lie close together.
struct Window<S> {
    file: S,
    /// Where the array begins.
    at: u64,
    /// Counted from there.
    start: u64,
    bytes: Vec<u8>,
}

impl<S: ReadAt<Error = io::Error>> Window<S> {
    fn get(&mut self, at: u64, len: usize) -> io::Result<&[u8]> {
        if self.find(at, len).is_none() {
            let is_near = self.start.abs_diff(at) < (NEAR + self.bytes.len()) as u64;
            self.bytes.resize(if is_near { len.max(NEAR) } else { len }, 0);
            let mut filled = 0;
            while filled < len {
                let place = self.at + at + filled as u64;
                match self.file.read_at(place, &mut self.bytes[filled..])? {
                    0 => return Err(unsound("the array ends before its last element")),
                    more => filled += more,
                }
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
}

#[cfg(test)]
mod tests {
    use super::{MEMORY, Swapped, Turned};
    use embedded_safetensors::{FileLen, ReadAt};
    use std::cell::Cell;
    use std::io::{self, Read, Write};

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
        Turned::within(memory, &file, 5, width, dims).read_to_end(&mut result).expect("read");
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
            Turned::new(&file, 0, 4, dims).read_to_end(&mut none).expect("read");
            assert!(none.is_empty());
        }
    }

    /// One row is more than the memory, and has a rest.
    #[test]
    fn rows_that_are_too_long_come_in_parts() {
        assert!(turned(&[2, 3, 250_000], 8, 4 << 20) == counted(1_500_000, 8));
    }

    /// Each pass over the columns reads of each what it needs, in one piece if they lie far apart.
    #[test]
    fn as_few_passes_as_the_memory_allows() {
        struct Counted(Cell<u64>);
        impl ReadAt for Counted {
            type Error = io::Error;

            fn read_at(&mut self, _: u64, buffer: &mut [u8]) -> io::Result<usize> {
                self.0.set(self.0.get() + 1);
                Ok(buffer.len())
            }

            fn file_len(&mut self) -> io::Result<FileLen> {
                Ok(FileLen::Unknown)
            }
        }
        let reads = |rows: u64| {
            let file = Counted(Cell::new(0));
            let mut array = Turned::new(file, 0, 4, &[rows, 10]);
            io::copy(&mut array, &mut io::sink()).expect("read");
            array.window.file.0.get()
        };
        assert_eq!((reads(1_000_000), reads(2_000_000)), (10, 20));
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
