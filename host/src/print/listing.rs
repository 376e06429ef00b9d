//! Shows the tensors of a model as a table or as JSON, and the rest of its headers in short.

use crate::error::Error;
use crate::input::model::{Model, Part, Tensor};
use crate::json::{self, List, Map, about, object};
use crate::print::facts::{Facts, OfDtype, alignment};
use crate::print::parameters::Unpacked;
use crate::print::picture::block;
use crate::print::structure::Structured;
use crate::print::tree::Tree;
use crate::print::verdict::Sound;
use crate::table::Side::{Left, Right};
use crate::table::{Table, number, wrapped};
use crate::text::terminal::{is_ascii, terminal_width};
use crate::text::{counted, fitted, grouped, human, quoted, quoted_whole, share_of, shown_text};
use safetensors_emit::plan::Sizes;
use serde::Serialize;
use std::io::{self, Write};

/// The maximum number of dimensions shown.
const DIMS: usize = 16;

/// What is shown of a model.
pub struct Listing<'m> {
    pub model: &'m Model,
    /// The tensors that are counted.
    pub chosen: &'m [Tensor<'m>],
    /// Those that are listed.
    pub shown: &'m [Tensor<'m>],
    pub facts: &'m Facts,
    pub unpacked: &'m Unpacked,
    pub form: Form,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Everything, also what a device must know about the only file.
    Whole,
    Tensors,
    Tree,
    Dtypes,
}

impl Listing<'_> {
    /// The file of which everything is shown.
    fn whole(&self) -> Option<&Part> {
        let only = self.model.parts().first().filter(|_| self.model.index().is_none());
        only.filter(|_| self.form == Form::Whole)
    }

    /// Prints the verdict, a table, and lines below it.
    ///
    /// # Errors
    /// Those of `out` and of reading.
    pub fn print(&self, out: &mut impl Write) -> Result<(), Error> {
        let Self { model, facts, .. } = self;
        Sound::of(model).write(model.path(), out)?;
        if let Some(part) = self.whole() {
            return self.print_whole(part, out);
        }
        if self.form == Form::Whole {
            files(model).print(out)?;
            writeln!(out)?;
        }
        match self.form {
            Form::Whole | Form::Tensors => self.print_tensors(out)?,
            Form::Tree => Tree::of(self.chosen).table().print(out)?,
            Form::Dtypes => dtypes(facts).print(out)?,
        }
        writeln!(out)?;
        let print_counts = if self.form == Form::Whole { print_sums } else { print_total };
        print_counts(self.chosen.len(), facts, out)?;
        self.unpacked.print(model.path(), out)?;
        if self.form == Form::Whole { Ok(print_metadata(model, out)?) } else { Ok(()) }
    }

    fn print_whole(&self, part: &Part, out: &mut impl Write) -> Result<(), Error> {
        let Self { model, facts, .. } = self;
        if !self.shown.is_empty() {
            self.print_tensors(out)?;
            writeln!(out)?;
        }
        print_layout(part, facts, out)?;
        print_sums(self.chosen.len(), facts, out)?;
        print_metadata(model, out)?;
        let Sizes { tensors, dims, name_bytes, longest_name, .. } = &facts.sizes;
        let index_bytes = counted(facts.sizes.index_bytes(), "byte");
        writeln!(out, "  index: IndexStorage<{tensors}, {dims}, {name_bytes}>, {index_bytes}")?;
        writeln!(out, "  longest name: {}", counted(*longest_name, "byte"))?;
        facts.notes().iter().try_for_each(|note| writeln!(out, "  note: {note}"))?;
        if let Some(structured) = model.metadata().and_then(Structured::of) {
            structured.print(self.chosen, out)?;
        }
        Ok(self.unpacked.print(model.path(), out)?)
    }

    fn print_tensors(&self, out: &mut impl Write) -> io::Result<()> {
        let [name, dtype, shape] = ["tensor", "dtype", "shape"].map(|title| (title, Left));
        let [begin, end, bytes, align, shard_title] =
            ["begin", "end", "bytes", "align", "shard"].map(|title| (title, Right));
        let columns = [name, dtype, shape, begin, end, bytes, align, shard_title];
        let shown = columns.len() - usize::from(self.model.index().is_none());
        let bytes: fn(u64) -> String =
            if terminal_width().is_some() { human } else { |bytes| bytes.to_string() };
        let row = |tensor: &Tensor<'_>| {
            let (begin, end) = (tensor.begin().to_string(), tensor.end().to_string());
            let [align, shard] = [place(tensor), shard(self.model, tensor)].map(|number| number.to_string());
            let (name, shape) = (quoted_whole(tensor.name()), shape_text(tensor.dims()));
            let bytes = bytes(tensor.byte_len());
            let mut row = vec![name, tensor.dtype().to_string(), shape, begin, end, bytes, align, shard];
            row.truncate(shown);
            row
        };
        let table = Table::new(columns.into_iter().take(shown)).optional(&["align", "end", "begin"]);
        table.print_rows(|| self.shown.iter().map(row), out).map(drop)
    }

    /// Prints one JSON object.
    ///
    /// # Errors
    /// Those of `out` and of reading.
    pub fn print_json(&self, out: &mut impl Write) -> Result<(), Error> {
        let (model, whole) = (self.model, self.whole());
        let only = model.parts().first().filter(|_| model.index().is_none());
        let rooms = whole.map(|part| room(part).map(|room| (data_start(part) - 8, room))).transpose()?;
        let structured = whole.and_then(|_| model.metadata()).and_then(Structured::of);
        let tree = (self.form == Form::Tree).then(|| Tree::of(self.shown));
        let shards = || List(model.parts().iter().map(Shard::of));
        let more = object! {
            bytes: model.file_lens(),
            #[serde(flatten)] data_start: only.map(|part| object! { data_start: data_start(part) }),
            #[serde(flatten)] shards: model.index().map(|_| object! { shards: shards() }),
            tensors: Map(self.shown.iter().map(|tensor| (tensor.name(), entry(model, tensor)))),
            metadata: model.metadata(),
            #[serde(flatten)] structure: structured.map(|of| object! { structure: of.tree(self.chosen) }),
            #[serde(flatten)] header: rooms.map(|(bytes, room)| object! { header: object! { bytes, room } }),
            parameters: self.facts.parameters(),
            dtypes: self.facts.dtypes(),
            #[serde(flatten)] facts: whole.map(|_| self.facts.for_device()),
            #[serde(flatten)] unpacked: self.unpacked.members(),
            #[serde(flatten)] tree: tree.as_ref().map(|tree| object! { tree: tree.branches() }),
        };
        Ok(json::print(out, &about(model.path(), true, more))?)
    }
}

#[derive(Serialize)]
struct Shard {
    file: String,
    tensors: u64,
    bytes: u64,
    data_start: u64,
}

impl Shard {
    fn of(part: &Part) -> Self {
        let summary = part.index().summary();
        let file = part.file_name().to_string_lossy().into_owned();
        Self { file, tensors: summary.tensors, bytes: summary.file_len(), data_start: summary.data_start }
    }
}

fn entry<'t>(model: &Model, tensor: &'t Tensor<'_>) -> impl Serialize + use<'t> {
    object! {
        dtype: tensor.dtype().name(),
        shape: tensor.dims(),
        data_offsets: [tensor.begin(), tensor.end()],
        alignment: place(tensor),
        #[serde(flatten)] shard: model.index().map(|_| object! { shard: shard(model, tensor) }),
    }
}

fn data_start(part: &Part) -> u64 {
    part.index().summary().data_start
}

fn room(part: &Part) -> Result<u64, Error> {
    part.header_room().map_err(|reason| Error::not_read(part.path(), reason))
}

fn place(tensor: &Tensor<'_>) -> u64 {
    alignment(data_start(tensor.model()), tensor.begin())
}

/// The number of the file that contains the tensor.
fn shard(model: &Model, tensor: &Tensor<'_>) -> u64 {
    model.part_of(tensor) as u64 + 1
}

/// A shape, with at most 16 dimensions.
pub fn shape_text(dims: &[u64]) -> String {
    let shown: Vec<String> = dims.iter().take(DIMS).map(u64::to_string).collect();
    let cut = if dims.len() > DIMS { format!(", … {} in all", dims.len()) } else { String::new() };
    format!("[{}{cut}]", shown.join(", "))
}

fn files(model: &Model) -> Table {
    let mut table = Table::new([("shard", Right), ("file", Left), ("tensors", Right), ("bytes", Right)]);
    for (index, part) in model.parts().iter().enumerate() {
        let Shard { file, tensors, bytes, .. } = Shard::of(part);
        table.push([(index + 1).to_string(), shown_text(&file), number(tensors), number(bytes)]);
    }
    table
}

/// Those with most bytes first.
fn dtypes(facts: &Facts) -> Table {
    let [tensors, parameters, bytes, size, share] =
        ["tensors", "parameters", "bytes", "size", "share"].map(|title| (title, Right));
    let mut table = Table::new([("dtype", Left), tensors, parameters, bytes, size, share]);
    let all: u128 = facts.by_dtype.iter().map(|dtype| dtype.bytes).sum();
    let mut list: Vec<_> = facts.by_dtype.iter().collect();
    list.sort_by_key(|dtype| (std::cmp::Reverse(dtype.bytes), dtype.dtype));
    for of in list {
        let numbers = [number(of.tensors), number(of.elements), number(of.bytes)];
        let sizes = [human(of.bytes), share_of(of.bytes, all)];
        table.push([of.dtype.to_string()].into_iter().chain(numbers).chain(sizes));
    }
    table
}

fn print_layout(part: &Part, facts: &Facts, out: &mut impl Write) -> Result<(), Error> {
    let (ascii, summary, room) = (is_ascii(), part.index().summary(), room(part)?);
    writeln!(out, "  {}", facts.picture.line(ascii))?;
    let mut legend = format!("  {} header", block(0, ascii));
    for (kind, of) in facts.by_dtype.iter().enumerate() {
        let share = share_of(of.bytes, summary.file_len());
        legend += &format!("  {} {} {share}", block(kind + 1, ascii), of.dtype);
    }
    writeln!(out, "{}\n", wrapped(&legend, "  ", terminal_width()))?;
    let room = if room > 0 { format!(", {} of them free", grouped(room)) } else { String::new() };
    writeln!(out, "  header: {} bytes{room}", grouped(summary.data_start - 8))?;
    let (data, start) = (counted(summary.data_len, "byte"), summary.data_start);
    Ok(writeln!(out, "  data: {data} from byte {start}, no gaps")?)
}

/// Prints the parameters of each dtype; on a terminal the total.
fn print_sums(tensors: usize, facts: &Facts, out: &mut impl Write) -> io::Result<()> {
    if terminal_width().is_some() {
        return print_total(tensors, facts, out);
    }
    let by_dtype = facts.by_dtype.iter().map(|of| format!("{} {}", of.dtype, grouped(of.elements)));
    let by_dtype: Vec<String> = by_dtype.collect();
    let list = if by_dtype.is_empty() { String::new() } else { format!(": {}", by_dtype.join(", ")) };
    writeln!(out, "  parameters: {}{list}", grouped(facts.parameters()))
}

/// Prints the number of tensors, parameters and bytes, also for each dtype.
fn print_total(tensors: usize, facts: &Facts, out: &mut impl Write) -> io::Result<()> {
    let bytes: u128 = facts.by_dtype.iter().map(|dtype| dtype.bytes).sum();
    let tensors = counted(tensors as u64, "tensor");
    let parameters = counted(facts.parameters(), "parameter");
    let part = |of: &OfDtype| format!("{} {} in {}", of.dtype, grouped(of.elements), human(of.bytes));
    let list: Vec<String> = facts.by_dtype.iter().map(part).collect();
    let list = if list.len() > 1 { format!(": {}", list.join(", ")) } else { String::new() };
    let only = facts.by_dtype.first().filter(|_| facts.by_dtype.len() == 1);
    let of = only.map_or(String::new(), |dtype| format!(" of {}", dtype.dtype));
    let line = format!("  total: {tensors}, {parameters}{of}, {}{list}", human(bytes));
    writeln!(out, "{}", wrapped(&line, ", ", terminal_width()))
}

/// Prints the metadata. Long values are cut, also to fit a terminal.
fn print_metadata(model: &Model, out: &mut impl Write) -> io::Result<()> {
    model.metadata().into_iter().flatten().try_for_each(|(key, value)| {
        let line = format!("  metadata: {}: {}", quoted(key), quoted(value));
        writeln!(out, "{}", terminal_width().map_or(line.clone(), |width| fitted(&line, width)))
    })
}
