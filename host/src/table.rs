//! The tensors of a sound file as a table, and what else its header says in short.
//!
//! The header is read once to see how wide the columns are, and once more to print them.

use crate::decoding::Trouble;
use crate::header::visit;
use crate::rows::{Needs, Row, each_row};
use crate::source::Source;
use crate::text::{Beginning, columns, quoted};
use embedded_safetensors::{Event, Summary};
use std::io::{self, Write};
use std::ops::ControlFlow;

type Widths = [usize; Row::TITLES.len()];

/// The columns from here on are numbers.
const NUMBERS: usize = 3;

/// Prints the table of a file that was judged sound, and some lines below it.
pub fn print(source: &mut Source, summary: &Summary, out: &mut impl Write) -> Result<(), Trouble> {
    let (widths, needs) = measure(source)?;
    if needs.tensors > 0 {
        write_line(out, &widths, &Row::TITLES.map(str::to_owned))?;
        each_row(source, |row| Ok(write_line(out, &widths, &row.cells())?))?;
        writeln!(out)?;
    }
    writeln!(out, "  header: {} bytes", summary.data_start - 8)?;
    writeln!(out, "  data: {} bytes from byte {} on", summary.data_len, summary.data_start)?;
    print_keys(source, out)?;
    let Needs { tensors, dims, name_bytes, longest_name, .. } = needs;
    writeln!(out, "  index: IndexStorage<{tensors}, {dims}, {name_bytes}>, {} bytes", needs.bytes())?;
    writeln!(out, "  longest name: {longest_name} bytes")?;
    for note in needs.notes() {
        writeln!(out, "  note: {note}")?;
    }
    Ok(())
}

fn measure(source: &mut Source) -> Result<(Widths, Needs), Trouble> {
    let mut widths = Row::TITLES.map(columns);
    let mut needs = Needs::default();
    each_row(source, |row| {
        needs.add(row);
        for (width, cell) in widths.iter_mut().zip(&row.cells()) {
            *width = columns(cell).max(*width);
        }
        Ok(())
    })?;
    Ok((widths, needs))
}

fn write_line(out: &mut impl Write, widths: &Widths, cells: &[String; Row::TITLES.len()]) -> io::Result<()> {
    let mut line = String::from("  ");
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let padding = " ".repeat(width - columns(cell).min(*width));
        let parts = if column < NUMBERS { [cell, &padding] } else { [&padding, cell] };
        line += parts[0];
        line += parts[1];
        line.push_str("  ");
    }
    writeln!(out, "{}", line.trim_end())
}

fn print_keys(source: &mut Source, out: &mut impl Write) -> Result<(), Trouble> {
    let mut key = Beginning::default();
    let mut before = "  metadata: ";
    visit(source, |event, _, _| -> Result<_, Trouble> {
        match event {
            Event::Key(piece) => key.push(piece.as_bytes()),
            Event::KeyEnd => {
                write!(out, "{before}{}", quoted(key.text()))?;
                key.clear();
                before = ", ";
            }
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    })?;
    if before == ", " {
        writeln!(out)?;
    }
    Ok(())
}
