//! Prints what a conversion has done, or would do.

use super::plan::{Change, Plan, Planned, Reason};
use super::source::{LeftOut, Source};
use crate::args::kind::Kind;
use crate::input::foreign::Readable;
use crate::json::{self, List, object};
use crate::table::{Side, Table};
use crate::text::{counted, grouped, listed, quoted, short, shown_path, shown_text};
use safetensors_convert::numbers::Report;
use serde::Serialize;
use std::collections::HashSet;
use std::io::{self, Write};
use std::path::PathBuf;

/// The most tensors of a table: thousands of lines hide those that matter.
const SHOWN: usize = 50;

/// The changes in the numbers of the tensors of an output that were cast, with their indexes.
pub type Reports = [(usize, Report)];

/// The changes of some tensors, by index, and the number of all others, with their changes together.
type Shown<'r> = (Vec<&'r (usize, Report)>, Option<(u64, Report)>);

/// A tied tensor of PyTorch, as the output has it.
#[derive(Serialize)]
pub struct Tie {
    name: String,
    same_as: String,
    stored: bool,
}

impl Plan<'_> {
    /// The type of a tensor in its input.
    fn from(&self, planned: &Planned<'_>) -> &'static str {
        self.input.file_of(planned.tensor).own_type(planned.tensor)
    }

    /// What is left out of each input.
    fn left_out(&self) -> impl Iterator<Item = (&Source, &LeftOut)> {
        self.input.files.iter().filter_map(|file| Some((file, &file.foreign()?.left_out)))
    }

    /// The tied tensors, as the output has them.
    pub fn ties(&self) -> impl Iterator<Item = Tie> + Clone {
        let files = self.input.files.iter().filter_map(|file| Some((file, file.foreign()?)));
        files.flat_map(|(file, foreign)| {
            foreign.ties.iter().map(|(name, other)| Tie {
                name: file.new_name(name, self.renames),
                same_as: file.new_name(other, self.renames),
                stored: foreign.has_copies,
            })
        })
    }

    /// Prints the result in JSON: of these inputs, without reports if nothing was written, with the length of
    /// the output if it is known.
    pub fn print_json(
        &self,
        paths: &[PathBuf],
        reports: Option<&Reports>,
        bytes: Option<u64>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let names = paths.iter().map(|path| path.to_string_lossy());
        let file = if let [only] = paths { Some(object! { file: only.to_string_lossy() }) } else { None };
        let files = file.is_none().then(|| object! { files: List(names) });
        let values = self.left_out().flat_map(|(file, left_out)| {
            let all = left_out.values.iter();
            all.map(|(path, kind)| object! { file: file.path.to_string_lossy(), path, kind })
        });
        let skipped = self.left_out().flat_map(|(file, left_out)| {
            let all = left_out.skipped.iter();
            all.map(|(path, what)| object! { file: file.path.to_string_lossy(), path, what })
        });
        // The lists of tensors may be too long for memory.
        let tensors = self.tensors.iter().enumerate().map(|(index, planned)| {
            let of_tensor = |reports: &Reports| {
                let at = reports.binary_search_by_key(&index, |(index, _)| *index).ok()?;
                Some(losses(&reports.get(at)?.1))
            };
            let file = self.input.file_of(planned.tensor);
            object! {
                name: &planned.name,
                from: self.from(planned),
                to: planned.dtype.name(),
                shape: planned.dims,
                file: file.path.to_string_lossy(),
                was: file.own_name(planned.tensor),
                #[serde(flatten)] losses: reports.and_then(of_tensor),
            }
        });
        let done = object! {
            #[serde(flatten)] file,
            #[serde(flatten)] files,
            ok: true,
            output: self.output.to_string_lossy(),
            written: reports.is_some(),
            bytes,
            metadata_left_out: self.lost(),
            padding_left_out: self.input.padding.tensors,
            read_from_bits: self.input.tensors.iter().filter(|tensor| tensor.from_bits).count(),
            not_cast: self.left.len(),
            left_out: self.left_out().map(|(_, left_out)| left_out.count).sum::<u64>(),
            values_left_out: values.collect::<Vec<_>>(),
            skipped: skipped.collect::<Vec<_>>(),
            tied: List(self.ties()),
            tensors: List(tensors),
        };
        json::print(out, &done)
    }

    /// As [`print_json`](Self::print_json), for people.
    pub fn print(
        &self,
        reports: Option<&Reports>,
        bytes: Option<u64>,
        mut out: &mut dyn Write,
    ) -> io::Result<()> {
        let output = shown_path(self.output);
        write!(out, "{output}: {}", counted(self.tensors.len() as u64, "tensor"))?;
        if let Some(bytes) = bytes {
            write!(out, ", {}", counted(bytes, "byte"))?;
        }
        match reports {
            None => {
                writeln!(out, ", nothing written")?;
                self.print_planned(&mut out)?;
            }
            Some(reports) => {
                writeln!(out)?;
                let table = self.table(reports);
                if !table.is_empty() {
                    table.print(&mut out)?;
                }
            }
        }
        self.print_notes(&mut out)?;
        self.input.padding.print(&mut out)?;
        if self.lost() > 0 {
            let (keys, format) = (counted(self.lost() as u64, "key"), self.kind.name());
            writeln!(out, "  left out: {keys} of metadata, which {format} cannot store")?;
        }
        for (file, left_out) in self.left_out() {
            let name = format!(" of {}", shown_path(&file.path));
            let of = if self.input.files.len() > 1 { &*name } else { "" };
            for (path, what) in &left_out.skipped {
                writeln!(out, "  skipped: {}{of}: {}", quoted(path), shown_text(what))?;
            }
            left_out.print(of, &mut out)?;
        }
        let is_lost = |left_out: &LeftOut| left_out.count > 0 || !left_out.skipped.is_empty();
        let is_pickle = |file: &Source| file.foreign().is_some_and(|file| file.format == Readable::PyTorch);
        if self.tensors.is_empty() && self.left_out().any(|(_, left_out)| is_lost(left_out)) {
            let advice = ": in Python, save a dictionary of tensors, such as a state_dict()";
            let advice = if self.input.files.iter().any(is_pickle) { advice } else { "" };
            writeln!(out, "  no tensor is left{advice}")?;
        }
        Ok(())
    }

    /// Prints notes on what the table does not show.
    fn print_notes(&self, out: &mut impl Write) -> io::Result<()> {
        let read = || self.input.tensors.iter().filter(|tensor| tensor.from_bits);
        let mut seen = HashSet::new();
        for dtype in read().map(|tensor| tensor.dtype).filter(|dtype| seen.insert(*dtype)) {
            let names = read().filter(|tensor| tensor.dtype == dtype).map(|tensor| quoted(&tensor.name));
            let count = names.clone().count() as u64;
            writeln!(out, "  read as {dtype}: {}", listed(names, 8, count))?;
        }
        for left in self.left.chunk_by(Reason::eq) {
            let [what, _] = left[0].texts();
            writeln!(out, "  not cast: {}, {what}", counted(left.len() as u64, "tensor"))?;
        }
        if let Some(tie) = self.ties().next() {
            let fate = if tie.stored { "stored as copies" } else { "noted in the metadata" };
            let names = self.ties().map(|tie| format!("{} (as {})", quoted(&tie.name), quoted(&tie.same_as)));
            let count = self.ties().count() as u64;
            writeln!(out, "  tied: {}, {fate}: {}", counted(count, "tensor"), listed(names, 8, count))?;
        }
        // The format does not have the limits of llama.cpp.
        let is_beyond = |planned: &&Planned<'_>| {
            planned.dims.len() > 4 || planned.name.len() > 63 || planned.name.contains('\0')
        };
        let count = self.tensors.iter().filter(is_beyond).count() as u64;
        if self.kind == Kind::Gguf && count > 0 {
            let tensors = counted(count, "tensor");
            let why = "more than 4 axes, or names of more than 63 bytes or with a NUL";
            writeln!(out, "  llama.cpp cannot load: {tensors} with {why}")?;
        }
        Ok(())
    }

    /// Prints the table of all tensors that would be written.
    fn print_planned(&self, out: &mut impl Write) -> io::Result<()> {
        let titles = ["tensor", "from", "to", "shape", "source"].map(|title| (title, Side::Left));
        let row = |planned: &Planned<'_>| {
            let file = self.input.file_of(planned.tensor);
            let origin = match *file.own_name(planned.tensor) == *planned.name {
                true => shown_path(&file.path),
                false => self.input.origin(planned.tensor),
            };
            let (from, to) = (self.from(planned).to_owned(), planned.dtype.to_string());
            [quoted(&planned.name), from, to, format!("{:?}", planned.dims), origin]
        };
        Table::new(titles).optional(&["source"]).print_rows(|| self.tensors.iter().map(row), out).map(drop)
    }

    /// The table of the cast tensors with the largest losses.
    fn table(&self, reports: &Reports) -> Table {
        let left = ["tensor", "from", "to"].map(|title| (title, Side::Left));
        let right = ["max error", "mean error", "inexact"].map(|title| (title, Side::Right));
        let [[name, from, to], [most, mean, inexact]] = [left, right];
        let columns = [name, from, to, most, mean, inexact, ("", Side::Left)];
        let mut table = Table::new(columns).optional(&["mean error", "from", "to"]);
        let (shown, others) = worst(reports);
        for (index, report) in shown {
            let Some(planned) = self.tensors.get(*index) else { continue };
            let to = match planned.change {
                Change::Cast(to) | Change::Unscale { to, .. } => to,
                _ => planned.dtype,
            };
            let names = [quoted(&planned.name), self.from(planned).to_owned(), to.to_string()];
            table.push(names.into_iter().chain(cells(report)));
        }
        if let Some((count, report)) = others {
            let names = [counted(count, "other"), String::new(), String::new()];
            table.push(names.into_iter().chain(cells(&report)));
        }
        table
    }
}

/// Chooses the worst: those with numbers that were clamped, became infinite or are NaN, then those with the
/// largest errors.
fn worst(reports: &Reports) -> Shown<'_> {
    let (mut shown, mut sum) = (reports.iter().collect::<Vec<_>>(), Report::default());
    let is_special = |report: &Report| report.overflowed + report.clamped + report.nans > 0;
    // Those that are equally bad stay in order.
    shown.sort_by(|(_, one), (_, other)| {
        is_special(other).cmp(&is_special(one)).then(other.max_error.total_cmp(&one.max_error))
    });
    let others = shown.split_off(SHOWN.min(shown.len()));
    others.iter().for_each(|(_, report)| sum.add(report));
    shown.sort_by_key(|(index, _)| *index);
    (shown, (!others.is_empty()).then_some((others.len() as u64, sum)))
}

fn losses(report: &Report) -> impl Serialize + use<> {
    let &Report { max_error, values, inexact, overflowed, clamped, zeroed, nans: nan, .. } = report;
    let mean_error = report.mean_error();
    object! { max_error, mean_error, values, inexact, overflowed, clamped, zeroed, nan }
}

/// The losses of a row.
fn cells(report: &Report) -> [String; 4] {
    let [most, mean] = [report.max_error, report.mean_error()].map(short);
    [most, mean, format!("{} of {}", grouped(report.inexact), grouped(report.values)), notes(report)]
}

/// The counts that deserve attention.
fn notes(report: &Report) -> String {
    let counts = [
        (report.overflowed, "became infinite"),
        (report.clamped, "clamped"),
        (report.zeroed, "became zero"),
        (report.nans, "NaN"),
    ];
    let noted = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", grouped(*count)));
    noted.collect::<Vec<_>>().join(", ")
}
