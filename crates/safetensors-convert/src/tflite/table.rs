//! Reads FlatBuffers in a file: tables, vectors and texts, wherever their offsets lead.

use crate::error::{ensure, unsound};
use crate::pages::Pages;
use std::io;
use std::ops::Range;

/// A table: where it is, and where its list of fields is.
#[derive(Clone, Copy)]
pub struct Table<'p> {
    pages: &'p Pages<'p>,
    pub at: u64,
    len: u64,
    list: u64,
    list_len: u64,
}

/// Reads a number of so many bytes.
fn number<const N: usize>(pages: &Pages<'_>, at: u64) -> io::Result<u64> {
    let mut bytes = [0; 8];
    pages.fill(at, &mut bytes[..N])?;
    Ok(u64::from_le_bytes(bytes))
}

/// Reads where an offset leads.
fn target(pages: &Pages<'_>, at: u64) -> io::Result<u64> {
    let offset = number::<4>(pages, at)?;
    ensure(offset > 0, || format!("byte {at}: an offset is 0"))?;
    pages.range(at, offset).map(|range| range.end)
}

impl<'p> Table<'p> {
    /// Returns the table to which the offset in this place leads.
    pub fn of(pages: &'p Pages<'p>, at: u64) -> io::Result<Self> {
        let at = target(pages, at)?;
        let back = i64::from(i32::from_le_bytes(pages.bytes(at)?));
        let list = at.checked_add_signed(-back);
        let list = list.ok_or_else(|| unsound(format!("byte {at}: the list of fields precedes the file")))?;
        let [list_len, len] = [number::<2>(pages, list)?, number::<2>(pages, list + 2)?];
        ensure(list_len >= 4 && list_len % 2 == 0 && len >= 4, || {
            format!("byte {list}: the list of a table's fields has {list_len} bytes, and the table {len}")
        })?;
        pages.range(list, list_len)?;
        pages.range(at, len)?;
        Ok(Self { pages, at, len, list, list_len })
    }

    /// Returns where a field of so many bytes is, if the table has it.
    fn field(&self, field: u64, width: u64) -> io::Result<Option<u64>> {
        let (at, len, entry) = (self.at, self.len, 4 + 2 * field);
        let is_there = entry < self.list_len;
        let offset = if is_there { number::<2>(self.pages, self.list + entry)? } else { 0 };
        ensure(offset == 0 || offset >= 4 && offset + width <= len, || {
            format!("byte {at}: field {field} at {offset} exceeds the {len} bytes of its table")
        })?;
        Ok((offset > 0).then_some(at + offset))
    }

    /// Returns a number of so many bytes; 0 if the table does not have it.
    pub fn number<const N: usize>(&self, field: u64) -> io::Result<u64> {
        self.field(field, N as u64)?.map_or(Ok(0), |at| number::<N>(self.pages, at))
    }

    /// Returns a table that is a field of this one.
    pub fn child(&self, field: u64) -> io::Result<Option<Self>> {
        self.field(field, 4)?.map(|at| Self::of(self.pages, at)).transpose()
    }

    /// Returns the range of a vector of elements of this width; an empty one if the table does not have it.
    pub fn vector(&self, field: u64, width: u64) -> io::Result<Range<u64>> {
        let Some(at) = self.field(field, 4)? else { return Ok(0..0) };
        let at = target(self.pages, at)?;
        self.pages.range(at + 4, number::<4>(self.pages, at)? * width)
    }

    /// Returns the elements of a vector of numbers of N bytes.
    pub fn numbers<const N: usize>(
        &self,
        field: u64,
    ) -> io::Result<impl Iterator<Item = io::Result<[u8; N]>>> {
        let pages = self.pages;
        Ok(self.vector(field, N as u64)?.step_by(N).map(|at| pages.bytes(at)))
    }

    /// Returns the tables of a vector.
    pub fn children(&self, field: u64) -> io::Result<impl Iterator<Item = io::Result<Self>> + use<'p>> {
        let pages = self.pages;
        Ok(self.vector(field, 4)?.step_by(4).map(|at| Self::of(pages, at)))
    }

    /// Returns a text; an empty one if the table does not have it.
    pub fn text(&self, field: u64) -> io::Result<String> {
        self.pages.text(self.vector(field, 1)?)
    }
}
