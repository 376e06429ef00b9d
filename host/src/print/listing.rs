//! Prints the tensors of a valid file as a table, and the rest of its header in short.

use crate::input::header::visit;
use crate::input::source::Source;
use crate::print::decoding::Trouble;
use crate::print::facts::{Facts, alignment};
use crate::print::overview::print_total;
use crate::print::picture::block;
use crate::print::rows::{Row, each_row};
use crate::print::structure;
use crate::table::{USUAL, names_of};
use crate::text::share_of;
use crate::text::terminal::{is_ascii, terminal_width, width};

use crate::text::{Beginning, columns, counted, fitted, grouped, human, is_simple, quoted, quoted_whole};
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
/// Longer names do not move the columns of other rows.
const WIDEST: usize = 82;

type Widths = [usize; TITLES.len()];

/// Prints the table of a validated file, and some lines below it.
pub fn print(
    source: &mut Source,
    summary: &Summary,
    listing: Option<&[IndexedTensor<'_>]>,
    out: &mut impl Write,
) -> Result<(), Trouble> {
    let terminal = terminal_width();
    let mut form = Form {
        start: summary.data_start,
        widths: TITLES.map(columns),
        shown: TITLES.map(|_| true),
        human: terminal.is_some(),
    };
    let mut line = Vec::new();
    let mut facts = Facts::new(summary, width() - 4);
    each(source, listing, |row| {
        facts.add(row);
        form.widen(row);
        Ok(())
    })?;
    if facts.sizes.tensors > 0 {
        form.fit(terminal);
        form.push_titles(&mut line);
        out.write_all(&line)?;
        each(source, listing, |row| {
            line.clear();
            form.push_row(&mut line, row);
            Ok(out.write_all(&line)?)
        })?;
        writeln!(out)?;
    }
    print_layout(source, summary, &facts, out)?;
    let has_structure = print_pairs(source, out)?;
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

/// How rows are printed.
struct Form {
    /// The offset of the data.
    start: u64,
    widths: Widths,
    /// The columns that fit.
    shown: [bool; TITLES.len()],
    /// Whether it is for a terminal: names are shortened, and sizes have units.
    human: bool,
}

impl Form {
    fn widen(&mut self, row: &Row<'_>) {
        let numbers = [row.begin, row.end, alignment(self.start, row.begin)].map(digits);
        let [begin, end, align] = numbers;
        let bytes = if self.human { human(row.bytes()).len() } else { digits(row.bytes()) };
        let dtype = row.dtype.name().len();
        let own = [self.name_columns(row), dtype, shape_columns(row), begin, end, bytes, align];
        self.widths.iter_mut().zip(own).for_each(|(width, own)| *width = own.max(*width));
    }

    /// The width of a name as it is quoted; 0 for a long one that does not move the other columns.
    fn name_columns(&self, row: &Row<'_>) -> usize {
        let width = if is_short(row.name) { row.name.len() + 2 } else { columns(&whole_name(row)) };
        if self.human || width <= WIDEST { width } else { 0 }
    }

    /// Makes the table as narrow as a terminal: without the offsets if whole names do not fit beside them,
    /// and with shorter shapes and names.
    fn fit(&mut self, terminal: Option<usize>) {
        const LEAST: usize = 12;
        const SHAPE: usize = 2;
        // In this order: align, end, begin; then dtype and bytes.
        let Some(columns) = terminal else { return };
        let names = names_of(columns);
        for (column, name) in [(6, names), (4, names), (3, names), (1, LEAST), (5, LEAST)] {
            let shape = self.widths[SHAPE] - self.widths[SHAPE].min(LEAST);
            if self.others() - shape + self.widths[0].min(name) + 2 > columns {
                self.shown[column] = false;
            }
        }
        let over = (self.others() + self.widths[0].min(USUAL) + 2).saturating_sub(columns);
        self.widths[SHAPE] = self.widths[SHAPE].saturating_sub(over).max(self.widths[SHAPE].min(LEAST));
        self.widths[0] = self.widths[0].min(columns.saturating_sub(self.others() + 2).max(1));
    }

    /// The width of all columns that are shown, but the first.
    fn others(&self) -> usize {
        let shown = self.widths.iter().zip(self.shown).skip(1).filter(|(_, shown)| *shown);
        shown.map(|(width, _)| width + 2).sum()
    }

    fn push_titles(&self, line: &mut Vec<u8>) {
        let from = line.len();
        line.extend_from_slice(b"  ");
        for (column, (title, width)) in TITLES.iter().zip(self.widths).enumerate() {
            // With the names, titles are cut.
            let title = if column == 0 { fitted(title, width) } else { (*title).to_owned() };
            let room = width - title.chars().count();
            let (left, right) = if column < NUMBERS { (0, room) } else { (room, 0) };
            if self.shown[column] {
                push_padding(line, left);
                line.extend_from_slice(title.as_bytes());
                push_padding(line, right + 2);
            }
        }
        end_line(line, from);
    }

    fn push_row(&self, line: &mut Vec<u8>, row: &Row<'_>) {
        let (from, widths) = (line.len(), &self.widths);
        line.extend_from_slice(b"  ");
        self.push_name(line, row);
        if self.shown[1] {
            push_left(line, row.dtype.name(), row.dtype.name().len(), widths[1]);
        }
        self.push_shape(line, row);
        let numbers = [row.begin, row.end, row.bytes(), alignment(self.start, row.begin)];
        for (column, number) in (NUMBERS..).zip(numbers).filter(|(column, _)| self.shown[*column]) {
            if self.human && column == 5 {
                let size = human(number);
                push_padding(line, widths[column] - size.len());
                push_left(line, &size, size.len(), size.len());
            } else {
                push_right(line, number, widths[column]);
            }
        }
        end_line(line, from);
    }

    fn push_shape(&self, line: &mut Vec<u8>, row: &Row<'_>) {
        let (width, needed) = (self.widths[2], shape_columns(row));
        if needed <= width {
            push_shape(line, row.dims, row.rank);
            return push_padding(line, width + 2 - needed);
        }
        let mut shape = Vec::new();
        push_shape(&mut shape, row.dims, row.rank);
        let shape = fitted(&String::from_utf8_lossy(&shape), width);
        push_left(line, &shape, columns(&shape), width);
    }

    fn push_name(&self, line: &mut Vec<u8>, row: &Row<'_>) {
        let width = self.widths[0];
        if is_short(row.name) && row.name.len() + 2 <= width {
            line.push(b'"');
            line.extend_from_slice(row.name.as_bytes());
            line.push(b'"');
            return push_padding(line, width - row.name.len());
        }
        let name = whole_name(row);
        let name = if self.human { fitted(&name, width) } else { name };
        push_left(line, &name, columns(&name), width);
    }
}

/// In quotes. Only the beginning of an extremely long one is known.
fn whole_name(row: &Row<'_>) -> String {
    let cut = if row.name_bytes > row.name.len() as u64 { "…" } else { "" };
    format!("{}{cut}", quoted_whole(row.name))
}

fn push_right(line: &mut Vec<u8>, number: u64, width: usize) {
    push_padding(line, width - digits(number));
    push_number(line, number);
    line.extend_from_slice(b"  ");
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

fn end_line(line: &mut Vec<u8>, from: usize) {
    while line.len() > from && line.last() == Some(&b' ') {
        line.pop();
    }
    line.push(b'\n');
}

fn push_left(line: &mut Vec<u8>, text: &str, columns: usize, width: usize) {
    line.extend_from_slice(text.as_bytes());
    push_padding(line, (width + 2).saturating_sub(columns).max(2));
}

/// A shape, of which at most 16 dimensions are shown.
pub fn shape_text(dims: &[u64]) -> String {
    let mut text = Vec::new();
    push_shape(&mut text, dims, dims.len() as u64);
    String::from_utf8_lossy(&text).into_owned()
}

fn push_shape(line: &mut Vec<u8>, dims: &[u64], rank: u64) {
    line.push(b'[');
    for (index, dim) in dims.iter().take(DIMS).enumerate() {
        line.extend_from_slice(if index == 0 { b"" } else { b", " });
        push_number(line, *dim);
    }
    if rank > DIMS as u64 {
        line.extend_from_slice(format!(", … {rank} in all").as_bytes());
    }
    line.push(b']');
}

fn push_padding(line: &mut Vec<u8>, columns: usize) {
    line.resize(line.len() + columns, b' ');
}

pub fn push_number(line: &mut Vec<u8>, number: u64) {
    line.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
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
    for (kind, of) in facts.by_dtype.iter().enumerate() {
        write!(out, "  {} {} {}", block(kind + 1, ascii), of.dtype, share_of(of.bytes, summary.file_len()))?;
    }
    writeln!(out, "\n")?;
    write!(out, "  header: {} bytes", grouped(header))?;
    let room = if room > 0 { format!(", {} of them free", grouped(room)) } else { String::new() };
    writeln!(out, "{room}")?;
    let (data, start) = (counted(summary.data_len, "byte"), summary.data_start);
    writeln!(out, "  data: {data} from byte {start}, no gaps")?;
    Ok(match terminal_width() {
        Some(_) => print_total(facts.sizes.tensors, facts, out),
        None => print_parameters(facts, out),
    }?)
}

pub fn print_parameters(facts: &Facts, out: &mut impl Write) -> io::Result<()> {
    let by_dtype = facts.by_dtype.iter().map(|of| format!("{} {}", of.dtype, grouped(of.elements)));
    let by_dtype: Vec<String> = by_dtype.collect();
    let list = if by_dtype.is_empty() { String::new() } else { format!(": {}", by_dtype.join(", ")) };
    writeln!(out, "  parameters: {}{list}", grouped(facts.parameters()))
}

fn print_device(facts: &Facts, out: &mut impl Write) -> io::Result<()> {
    let Sizes { tensors, dims, name_bytes, longest_name, .. } = &facts.sizes;
    let index_bytes = counted(facts.sizes.index_bytes(), "byte");
    writeln!(out, "  index: IndexStorage<{tensors}, {dims}, {name_bytes}>, {index_bytes}")?;
    writeln!(out, "  longest name: {}", counted(*longest_name, "byte"))?;
    facts.notes().iter().try_for_each(|note| writeln!(out, "  note: {note}"))
}

/// A key of the metadata and its value, of which a long one is cut, also to fit a terminal.
pub fn pair(key: &str, value: &str) -> String {
    let line = format!("  metadata: {}: {}", quoted(key), quoted(value));
    terminal_width().map_or(line.clone(), |width| fitted(&line, width))
}

/// Returns whether one of the keys is that of a structure.
fn print_pairs(source: &mut Source, out: &mut impl Write) -> Result<bool, Trouble> {
    let (mut key, mut value, mut has_structure) = (Beginning::default(), Beginning::default(), false);
    visit(source, |event, _, _| -> Result<_, Trouble> {
        match event {
            Event::Key(piece) => key.push(piece.as_bytes()),
            Event::Value(piece) => value.push(piece.as_bytes()),
            Event::ValueEnd => {
                writeln!(out, "{}", pair(key.text(), value.text()))?;
                has_structure |= key.text() == SCHEMA;
                key.clear();
                value.clear();
            }
            Event::MetadataEnd => return Ok(ControlFlow::Break(())),
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(has_structure)
}
