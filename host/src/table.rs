//! Prints the tensors of a valid file as a table, and the rest of its header in short.

use crate::decoding::Trouble;
use crate::facts::{Facts, alignment};
use crate::header::visit;
use crate::picture::{block, is_ascii, width};
use crate::rows::{Row, each_row};
use crate::source::Source;
use crate::structure;
use crate::text::{Beginning, columns, counted, grouped, is_simple, quoted, quoted_short};
use embedded_safestructures::SCHEMA;
use embedded_safetensors::{header::Event, index::IndexedTensor, validate::Summary};
use safetensors_emit::plan::Sizes;
use std::io::{self, Write};
use std::ops::ControlFlow;

const TITLES: [&str; 7] = ["tensor", "dtype", "shape", "begin", "end", "bytes", "align"];
/// Columns from this one on are numbers.
const NUMBERS: usize = 3;
/// The maximum number of dimensions shown.
const DIMS: usize = 16;

type Cells<'c> = [&'c str; TITLES.len()];
type Widths = [usize; TITLES.len()];

/// Prints the table of a validated file, and some lines below it.
pub fn print(
    source: &mut Source,
    summary: &Summary,
    listing: Option<&[IndexedTensor<'_>]>,
    out: &mut impl Write,
) -> Result<(), Trouble> {
    let (start, mut widths, mut line) = (summary.data_start, TITLES.map(columns), Vec::new());
    let mut facts = Facts::new(summary, width() - 4);
    each(source, listing, |row| {
        facts.add(row);
        widen(&mut widths, row, start);
        Ok(())
    })?;
    if facts.sizes.tensors > 0 {
        push_line(&mut line, &widths, &TITLES);
        out.write_all(&line)?;
        each(source, listing, |row| {
            line.clear();
            push_row(&mut line, &widths, row, start);
            Ok(out.write_all(&line)?)
        })?;
        writeln!(out)?;
    }
    print_layout(source, summary, &facts, out)?;
    let has_structure = print_keys(source, out)?;
    print_device(&facts, out)?;
    match listing.filter(|_| has_structure) {
        Some(listing) => structure::print(source, listing, out),
        None => Ok(()),
    }
}

/// Uses the listing if there is one.
fn each(
    source: &mut Source,
    listing: Option<&[IndexedTensor<'_>]>,
    mut see: impl FnMut(&Row<'_>) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    match listing {
        Some(listing) => listing.iter().try_for_each(|tensor| see(&(*tensor).into())),
        None => each_row(source, see),
    }
}

fn widen(widths: &mut Widths, row: &Row<'_>, data_start: u64) {
    let numbers = [row.begin, row.end, row.bytes(), alignment(data_start, row.begin)];
    let own = [name_columns(row.name), row.dtype.name().len(), shape_columns(row)];
    let own = own.into_iter().chain(numbers.map(digits));
    widths.iter_mut().zip(own).for_each(|(width, own)| *width = own.max(*width));
}

/// The width of a name as it is quoted.
fn name_columns(name: &str) -> usize {
    if is_short(name) { name.len() + 2 } else { columns(&quoted_short(name)) }
}

/// Whether the name needs no escapes and no cut.
fn is_short(name: &str) -> bool {
    name.len() <= 80 && is_simple(name)
}

fn shape_columns(row: &Row<'_>) -> usize {
    let shown = &row.dims[..row.dims.len().min(DIMS)];
    let dims: usize = shown.iter().map(|&dim| digits(dim) + 2).sum();
    let cut =
        if row.rank > DIMS as u64 { "… ".len() - 2 + 1 + digits(row.rank) + " in all".len() } else { 0 };
    2 + dims.saturating_sub(if cut > 0 { 0 } else { 2 }) + cut
}

fn digits(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

fn push_row(line: &mut Vec<u8>, widths: &Widths, row: &Row<'_>, data_start: u64) {
    let from = line.len();
    line.extend_from_slice(b"  ");
    push_name(line, row.name, widths[0]);
    push_left(line, row.dtype.name(), row.dtype.name().len(), widths[1]);
    push_shape(line, row, widths[2]);
    let numbers = [row.begin, row.end, row.bytes(), alignment(data_start, row.begin)];
    for (number, width) in numbers.into_iter().zip(&widths[NUMBERS..]) {
        push_padding(line, width - digits(number));
        push_number(line, number);
        line.extend_from_slice(b"  ");
    }
    end_line(line, from);
}

fn end_line(line: &mut Vec<u8>, from: usize) {
    while line.len() > from && line.last() == Some(&b' ') {
        line.pop();
    }
    line.push(b'\n');
}

fn push_name(line: &mut Vec<u8>, name: &str, width: usize) {
    if is_short(name) {
        line.push(b'"');
        line.extend_from_slice(name.as_bytes());
        line.push(b'"');
        push_padding(line, width - name.len());
    } else {
        let name = quoted_short(name);
        push_left(line, &name, columns(&name), width);
    }
}

fn push_left(line: &mut Vec<u8>, text: &str, columns: usize, width: usize) {
    line.extend_from_slice(text.as_bytes());
    push_padding(line, width + 2 - columns);
}

fn push_shape(line: &mut Vec<u8>, row: &Row<'_>, width: usize) {
    line.push(b'[');
    for (index, dim) in row.dims.iter().take(DIMS).enumerate() {
        line.extend_from_slice(if index == 0 { b"" } else { b", " });
        push_number(line, *dim);
    }
    if row.rank > DIMS as u64 {
        line.extend_from_slice(format!(", … {} in all", row.rank).as_bytes());
    }
    line.push(b']');
    push_padding(line, width + 2 - shape_columns(row));
}

fn push_padding(line: &mut Vec<u8>, columns: usize) {
    line.resize(line.len() + columns, b' ');
}

pub fn push_number(line: &mut Vec<u8>, number: u64) {
    line.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

fn push_line(line: &mut Vec<u8>, widths: &Widths, cells: &Cells<'_>) {
    let from = line.len();
    line.extend_from_slice(b"  ");
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let (left, right) = if column < NUMBERS { (0, width - cell.len()) } else { (width - cell.len(), 0) };
        push_padding(line, left);
        line.extend_from_slice(cell.as_bytes());
        push_padding(line, right + 2);
    }
    end_line(line, from);
}

fn print_layout(
    source: &mut Source,
    summary: &Summary,
    facts: &Facts,
    out: &mut impl Write,
) -> Result<(), Trouble> {
    let ascii = is_ascii();
    let (header, room) = (summary.data_start - 8, source.header_room()?);
    writeln!(out, "  {}", facts.picture.line(ascii))?;
    write!(out, "  {} header", block(0, ascii))?;
    for (kind, (dtype, _, bytes)) in facts.by_dtype.iter().enumerate() {
        write!(out, "  {} {dtype} {}", block(kind + 1, ascii), share(*bytes, summary))?;
    }
    writeln!(out, "\n")?;
    write!(out, "  header: {} bytes", grouped(header))?;
    let room = if room > 0 { format!(", {} of them free", grouped(room)) } else { String::new() };
    writeln!(out, "{room}")?;
    let (data, start) = (counted(summary.data_len, "byte"), grouped(summary.data_start));
    writeln!(out, "  data: {data} from byte {start}, no gaps")?;
    Ok(print_parameters(facts, out)?)
}

/// The share of the complete file.
fn share(bytes: u64, summary: &Summary) -> String {
    let permille = u128::from(bytes) * 1000 / u128::from(summary.file_len());
    format!("{}.{} %", permille / 10, permille % 10)
}

pub fn print_parameters(facts: &Facts, out: &mut impl Write) -> io::Result<()> {
    let by_dtype =
        facts.by_dtype.iter().map(|(dtype, elements, _)| format!("{dtype} {}", grouped(*elements)));
    let by_dtype: Vec<String> = by_dtype.collect();
    let list = if by_dtype.is_empty() { String::new() } else { format!(": {}", by_dtype.join(", ")) };
    writeln!(out, "  parameters: {}{list}", grouped(facts.parameters()))
}

fn print_device(facts: &Facts, out: &mut impl Write) -> io::Result<()> {
    let Sizes { tensors, dims, name_bytes, longest_name, .. } = &facts.sizes;
    let index_bytes = facts.sizes.index_bytes();
    writeln!(out, "  index: IndexStorage<{tensors}, {dims}, {name_bytes}>, {index_bytes} bytes")?;
    writeln!(out, "  longest name: {}", counted(*longest_name, "byte"))?;
    facts.notes().iter().try_for_each(|note| writeln!(out, "  note: {note}"))
}

/// Returns whether one of the keys is that of a structure.
fn print_keys(source: &mut Source, out: &mut impl Write) -> Result<bool, Trouble> {
    let (mut key, mut has_structure) = (Beginning::default(), false);
    let mut before = "  metadata: ";
    visit(source, |event, _, _| -> Result<_, Trouble> {
        match event {
            Event::Key(piece) => key.push(piece.as_bytes()),
            Event::KeyEnd => {
                write!(out, "{before}{}", quoted(key.text()))?;
                has_structure |= key.text() == SCHEMA;
                key.clear();
                before = ", ";
            }
            Event::MetadataEnd => return Ok(ControlFlow::Break(())),
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    })?;
    if before == ", " {
        writeln!(out)?;
    }
    Ok(has_structure)
}
