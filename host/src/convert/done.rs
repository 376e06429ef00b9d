//! Prints what a conversion has done, or would do.

use super::input::{Array, Input};
use super::plan::{Change, Plan, Planned, Reason};
use super::reports::Reports;
use crate::args::kind::Kind;
use crate::error::Error;
use crate::json::{self, Object};
use crate::pack::Renames;
use crate::table::{Side, Table, print_long};
use crate::text::{counted, grouped, quoted, short, shown_text};
use embedded_safetensors::Dtype;
use safetensors_convert::numbers::Report;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The results to print.
pub struct Done<'d> {
    /// The inputs as given.
    pub paths: &'d [PathBuf],
    pub output: &'d Path,
    pub input: &'d Input,
    pub plan: &'d Plan,
    pub renames: &'d Renames,
    /// None for a dry run.
    pub reports: Option<Reports>,
    /// The length of the output, if it is known.
    pub bytes: Option<u64>,
    /// The number of metadata keys that the output cannot hold.
    pub lost: usize,
}

impl Done<'_> {
    fn report(&self, index: usize) -> Option<&Report> {
        self.reports.as_ref()?.get(index)
    }

    /// The type in the input.
    fn from(&self, planned: &Planned) -> &'static str {
        self.input.own_type(planned.source())
    }

    /// # Errors
    /// Those of standard output.
    pub fn print(mut self) -> Result<(), Error> {
        let mut out = BufWriter::new(io::stdout().lock());
        let output = shown_text(&self.output.to_string_lossy());
        write!(out, "{output}: {}", counted(self.plan.tensors.len() as u64, "tensor"))?;
        if let Some(bytes) = self.bytes {
            write!(out, ", {}", counted(bytes, "byte"))?;
        }
        match self.reports.take() {
            None => {
                writeln!(out, ", nothing written")?;
                self.print_planned(&mut out)?;
            }
            Some(mut reports) => {
                writeln!(out)?;
                let table = self.table(&mut reports);
                if !table.is_empty() {
                    table.print(&mut out)?;
                }
            }
        }
        self.print_left(&mut out)?;
        self.print_ties(&mut out)?;
        self.print_unloadable(&mut out)?;
        self.input.padding.print(&mut out)?;
        if self.lost > 0 {
            let keys = counted(self.lost as u64, "key");
            let format = Kind::of_output(self.output)?.name();
            writeln!(out, "  left out: {keys} of metadata, which {format} cannot store")?;
        }
        for (file, left) in self.input.left_out() {
            let of = if self.input.files().len() > 1 {
                format!(" of {}", shown_text(&file.path().to_string_lossy()))
            } else {
                String::new()
            };
            let names = left.values.iter().map(|(path, kind)| format!("{} ({kind})", quoted(path)));
            let (values, names) = (counted(left.count, "value"), listed(names, left.count));
            writeln!(out, "  left out: {values}{of} that safetensors cannot store: {names}")?;
        }
        Ok(out.flush()?)
    }

    /// Prints which tensors are tied, and what becomes of them.
    fn print_ties(&self, out: &mut impl Write) -> io::Result<()> {
        let ties = || self.input.ties(self.renames);
        let Some((file, _)) = ties().next() else { return Ok(()) };
        let fate = if file.has_copies() { "stored as copies" } else { "noted in the metadata" };
        let names = ties().map(|(_, [name, other])| format!("{} (as {})", quoted(&name), quoted(&other)));
        let count = ties().count() as u64;
        writeln!(out, "  tied: {}, {fate}: {}", counted(count, "tensor"), listed(names, count))
    }

    /// Prints how many tensors of a GGUF are beyond the limits of llama.cpp, which the format does not have.
    fn print_unloadable(&self, out: &mut impl Write) -> io::Result<()> {
        if !matches!(Kind::of_output(self.output), Ok(Kind::Gguf)) {
            return Ok(());
        }
        let arrays = self.plan.tensors.iter().map(|planned| planned.array(self.input));
        let is_beyond =
            |array: &Array<'_>| array.dims.len() > 4 || array.name.len() > 63 || array.name.contains('\0');
        match arrays.filter(is_beyond).count() as u64 {
            0 => Ok(()),
            count => {
                let tensors = counted(count, "tensor");
                let why = "more than 4 axes, or names of more than 63 bytes or with a NUL";
                writeln!(out, "  llama.cpp cannot load: {tensors} with {why}")
            }
        }
    }

    /// Prints notes on what the table does not show.
    fn print_left(&self, out: &mut impl Write) -> io::Result<()> {
        for wish in self.kinds_of_bits() {
            let read = self.input.names().zip(self.input.read_as_bits());
            let read = read.filter(|(_, of)| **of == Some(wish));
            let names = read.map(|(name, _)| quoted(name));
            let count = names.clone().count() as u64;
            writeln!(out, "  read as {wish}: {}", listed(names, count))?;
        }
        for reason in Reason::ALL {
            let count = self.plan.left.iter().filter(|left| **left == reason).count();
            if count > 0 {
                writeln!(out, "  not cast: {}, {}", counted(count as u64, "tensor"), reason.text())?;
            }
        }
        Ok(())
    }

    /// The distinct dtypes that integers are read as.
    fn kinds_of_bits(&self) -> Vec<Dtype> {
        let mut dtypes = Vec::new();
        for dtype in self.input.read_as_bits().iter().flatten() {
            if !dtypes.contains(dtype) {
                dtypes.push(*dtype);
            }
        }
        dtypes
    }

    /// Prints the table of all tensors that would be written.
    fn print_planned(&self, out: &mut impl Write) -> io::Result<()> {
        let titles = ["tensor", "from", "to", "shape", "source"].map(|title| (title, Side::Left));
        let row = |planned: &Planned| {
            let array = planned.array(self.input);
            let source = planned.source();
            let file = shown_text(&self.input.file_of(source).path().to_string_lossy());
            let is_same = self.input.own_name(source) == array.name;
            let origin = if is_same { file } else { self.input.origin(source) };
            let (from, to) = (self.from(planned).to_owned(), array.dtype.to_string());
            [quoted(array.name), from, to, format!("{:?}", array.dims), origin]
        };
        print_long(&titles, || self.plan.tensors.iter().map(row), out)
    }

    /// The table of the cast tensors with the largest losses.
    fn table(&self, reports: &mut Reports) -> Table {
        let mut table = Table::new([
            ("tensor", Side::Left),
            ("from", Side::Left),
            ("to", Side::Left),
            ("max error", Side::Right),
            ("mean error", Side::Right),
            ("inexact", Side::Right),
            ("", Side::Left),
        ]);
        let (shown, others) = reports.shown();
        for (index, report) in shown {
            let Some(planned) = self.plan.tensors.get(*index as usize) else { continue };
            let to = match planned.change {
                Change::Cast(to) | Change::Unscale { to, .. } => to,
                _ => planned.dtype,
            };
            let name = quoted(planned.array(self.input).name);
            let names = [name, self.from(planned).to_owned(), to.to_string()];
            table.push(names.into_iter().chain(cells(report)));
        }
        if let Some((count, report)) = others {
            let names = [counted(*count, "other"), String::new(), String::new()];
            table.push(names.into_iter().chain(cells(report)));
        }
        table
    }

    /// # Errors
    /// Those of standard output.
    pub fn print_json(&self) -> Result<(), Error> {
        let mut out = BufWriter::new(io::stdout().lock());
        let head = self.head();
        // The lists of tensors are the last members, so that they can be printed piece by piece.
        write!(out, "{},\"tied\":[", head.strip_suffix('}').unwrap_or(&head))?;
        for (index, tie) in tied(self.input, self.renames).enumerate() {
            let separator = if index > 0 { "," } else { "" };
            write!(out, "{separator}{tie}")?;
        }
        write!(out, "],\"tensors\":[")?;
        for (index, planned) in self.plan.tensors.iter().enumerate() {
            let separator = if index > 0 { "," } else { "" };
            write!(out, "{separator}{}", self.tensor(planned, self.report(index)))?;
        }
        writeln!(out, "]}}")?;
        Ok(out.flush()?)
    }

    /// The object without its tensors.
    fn head(&self) -> String {
        let mut names = self.paths.iter().map(|path| path.to_string_lossy());
        let object = match (names.next(), names.len()) {
            (Some(only), 0) => Object::new().text("file", &only),
            (first, _) => {
                let names = first.into_iter().chain(names).map(|name| json::quoted(&name));
                Object::new().raw("files", &json::array(names))
            }
        };
        let object = object.flag("ok", true).text("output", &self.output.to_string_lossy());
        let object = object.flag("written", self.reports.is_some());
        let bytes = self.bytes.map_or_else(|| "null".to_owned(), |bytes| bytes.to_string());
        let object = object.raw("bytes", &bytes).number("metadata_left_out", self.lost as u64);
        let object = object.number("padding_left_out", self.input.padding.tensors);
        let read_as_bits = self.input.read_as_bits().iter().flatten().count();
        let object = object.number("read_from_bits", read_as_bits as u64);
        let object = object.number("not_cast", self.plan.left.len() as u64);
        let count: u64 = self.input.left_out().map(|(_, left)| left.count).sum();
        let values = self.input.left_out().flat_map(|(file, left)| {
            let file = file.path().to_string_lossy();
            let value = move |(path, kind): &(String, &str)| {
                Object::new().text("file", &file).text("path", path).text("kind", kind).end()
            };
            left.values.iter().map(value)
        });
        object.number("left_out", count).raw("values_left_out", &json::array(values)).end()
    }

    fn tensor(&self, planned: &Planned, report: Option<&Report>) -> String {
        let (array, source) = (planned.array(self.input), planned.source());
        let object = Object::new().text("name", array.name).text("from", self.from(planned));
        let object = object.text("to", array.dtype.name()).raw("shape", &super::shape(array.dims));
        let file = self.input.file_of(source).path().to_string_lossy();
        let object = object.text("file", &file).text("was", self.input.own_name(source));
        match report {
            Some(report) => members(object, report).end(),
            None => object.end(),
        }
    }
}

/// Each tied tensor in JSON.
pub fn tied<'i>(input: &'i Input, renames: &'i Renames) -> impl Iterator<Item = String> + 'i {
    input.ties(renames).map(|(file, [name, other])| {
        Object::new().text("name", &name).text("same_as", &other).flag("stored", file.has_copies()).end()
    })
}

/// The first names, and the number of others.
fn listed(names: impl Iterator<Item = String>, count: u64) -> String {
    const SHOWN: usize = 8;
    let names: Vec<String> = names.take(SHOWN).collect();
    match count.saturating_sub(names.len() as u64) {
        0 => names.join(", "),
        others => format!("{} and {} more", names.join(", "), grouped(others)),
    }
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

fn members(object: Object, report: &Report) -> Object {
    let object = object.float("max_error", report.max_error).float("mean_error", report.mean_error());
    let object = object.number("values", report.values).number("inexact", report.inexact);
    let object = object.number("overflowed", report.overflowed).number("clamped", report.clamped);
    object.number("zeroed", report.zeroed).number("nan", report.nans)
}
