//! What `inspect` shows of a model whose headers are in memory: of a sharded one always, otherwise with an
//! option that chooses, sorts or sums.

use crate::args::count;
use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::exit::Exit;
use crate::input::model::{Model, Tensor};
use crate::input::selection::Selection;
use crate::json::{self, Object};
use crate::print::dump::by_dtype;
use crate::print::facts::{Facts, alignment};
use crate::print::listing::{pair, print_parameters, shape_text};
use crate::print::parameters::Unpacked;
use crate::print::tree::Tree;
use crate::print::verdict::Sound;
use crate::table::{Side, Table, number, wrapped};
use crate::text::share_of;
use crate::text::terminal::terminal_width;

use crate::text::{counted, grouped, human, quoted_whole, shown_text};
use embedded_safetensors::validate::Summary;
use safetensors_remote::parameters::Entry;
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::num::NonZero;
use std::path::Path;

/// What is shown of the tensors.
#[derive(clap::Args)]
pub struct View {
    #[command(flatten)]
    selection: Selection,

    /// Sort the tensors; the largest first
    #[arg(long, value_enum, value_name = "KEY")]
    sort: Option<Key>,

    /// Show the first N tensors; the total has all
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    top: Option<NonZero<usize>>,

    /// Show the names as a tree, by their dots, with sums
    #[arg(long, conflicts_with = "dtypes")]
    tree: bool,

    /// Show a table of the dtypes instead of the tensors
    #[arg(long)]
    dtypes: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Key {
    Name,
    /// Bytes, in descending order
    Size,
    /// Offset in the data, file by file
    Offset,
    /// Dtype, and the largest first
    Dtype,
}

impl View {
    /// Whether no option is given.
    pub fn is_plain(&self) -> bool {
        let Self { selection, sort, top, tree, dtypes } = self;
        selection.is_empty() && sort.is_none() && top.is_none() && !tree && !dtypes
    }

    /// # Errors
    /// Tensors are to be sorted or cut where none are listed.
    pub fn check(&self) -> Result<(), Error> {
        let view = if self.tree { "--tree" } else { "--dtypes" };
        let option = if self.sort.is_some() { "--sort" } else { "--top" };
        match (self.tree || self.dtypes) && (self.sort.is_some() || self.top.is_some()) {
            true => Err(Error::usage(format!(
                "{view} sums up all tensors, and {option} is about a list of them; use --only to choose tensors"
            ))),
            false => Ok(()),
        }
    }

    fn arrange(&self, tensors: &mut Vec<Tensor<'_>>) {
        match self.sort {
            None | Some(Key::Offset) => {}
            Some(Key::Name) => tensors.sort_by(|one, other| one.name().cmp(other.name())),
            Some(Key::Size) => tensors.sort_by_key(|tensor| std::cmp::Reverse(tensor.byte_len())),
            Some(Key::Dtype) => {
                tensors.sort_by_key(|tensor| (tensor.dtype(), std::cmp::Reverse(tensor.byte_len())));
            }
        }
        tensors.truncate(self.top.map_or(usize::MAX, NonZero::get));
    }
}

/// Shows the files of a sharded model, and the tensors with the number of their file.
///
/// # Errors
/// The index or a file is invalid, or they disagree; a pattern matches nothing; those of reading and of
/// standard output.
pub fn inspect(context: &Context, path: &Path, json: bool, view: &View) -> Outcome {
    let model = Model::open(context, path)?;
    let chosen = view.selection.tensors_of(&model)?;
    let mut facts = Facts::new(&Summary { tensors: 0, data_start: 0, data_len: 0 }, 2);
    for tensor in &chosen {
        facts.count(tensor.dtype(), tensor.elements(), tensor.byte_len());
    }
    let unpacked = unpacked(context, &model, &chosen);
    let mut shown = chosen.clone();
    view.arrange(&mut shown);
    let mut out = BufWriter::with_capacity(1 << 18, io::stdout().lock());
    if json {
        print_json(&model, view, (&shown, &facts, &unpacked), &mut out)?;
    } else {
        let page =
            Page { model: &model, view, chosen: &chosen, shown: &shown, facts: &facts, unpacked: &unpacked };
        page.print(&mut out)?;
    }
    out.flush()?;
    model.check_unchanged()?;
    Ok(Exit::Good)
}

fn unpacked(context: &Context, model: &Model, chosen: &[Tensor<'_>]) -> Unpacked {
    let mut files: Vec<Vec<Entry<'_>>> = model.parts().iter().map(|_| Vec::new()).collect();
    for tensor in chosen {
        files[model.part_of(tensor)].push(Entry::of(**tensor));
    }
    Unpacked::of(context, model.path(), &files)
}

fn place(tensor: &Tensor<'_>) -> u64 {
    alignment(tensor.model().index().summary().data_start, tensor.begin())
}

/// The number of the file that contains the tensor.
fn shard(model: &Model, tensor: &Tensor<'_>) -> u64 {
    model.part_of(tensor) as u64 + 1
}

struct Page<'m> {
    model: &'m Model,
    view: &'m View,
    chosen: &'m [Tensor<'m>],
    shown: &'m [Tensor<'m>],
    facts: &'m Facts,
    unpacked: &'m Unpacked,
}

impl Page<'_> {
    fn print(&self, out: &mut impl Write) -> Result<(), Error> {
        let Self { model, view, .. } = self;
        Sound::of(model).write(model.path(), out)?;
        if model.index().is_some() && view.is_plain() {
            print_fitted(files(model), out)?;
            writeln!(out)?;
        }
        match () {
            () if view.dtypes => print_fitted(dtypes(self.facts), out)?,
            () if view.tree => print_fitted(Tree::of(self.chosen).table(), out)?,
            () => print_fitted(self.tensors(), out)?,
        }
        writeln!(out)?;
        if view.is_plain() && terminal_width().is_none() {
            print_parameters(self.facts, out)?;
        } else {
            print_total(self.chosen.len() as u64, self.facts, out)?;
        }
        self.unpacked.print(model.path(), out)?;
        if view.is_plain() {
            let pairs = model.metadata().into_iter().flatten();
            pairs.map(|(key, value)| pair(key, value)).try_for_each(|line| writeln!(out, "{line}"))?;
        }
        Ok(())
    }

    fn tensors(&self) -> Table {
        let mut table = Table::new([
            ("tensor", Side::Left),
            ("dtype", Side::Left),
            ("shape", Side::Left),
            ("begin", Side::Right),
            ("end", Side::Right),
            ("bytes", Side::Right),
            ("align", Side::Right),
            ("shard", Side::Right),
        ]);
        let bytes: fn(u64) -> String =
            if terminal_width().is_some() { human } else { |bytes| bytes.to_string() };
        for tensor in self.shown {
            let shape = shape_text(tensor.dims());
            let texts = [quoted_whole(tensor.name()), tensor.dtype().to_string(), shape];
            let range = [tensor.begin().to_string(), tensor.end().to_string(), bytes(tensor.byte_len())];
            let numbers = [place(tensor), shard(self.model, tensor)].map(|number| number.to_string());
            table.push(texts.into_iter().chain(range).chain(numbers));
        }
        if self.model.index().is_none() {
            table.remove("shard");
        }
        table
    }
}

/// Prints a table so that it fits the terminal, if there is one.
fn print_fitted(mut table: Table, out: &mut impl Write) -> io::Result<()> {
    if let Some(width) = terminal_width() {
        table.fit(width, &["align", "end", "begin"]);
    }
    table.print(out)
}

fn files(model: &Model) -> Table {
    let mut table = Table::new([
        ("shard", Side::Right),
        ("file", Side::Left),
        ("tensors", Side::Right),
        ("bytes", Side::Right),
    ]);
    for (index, part) in model.parts().iter().enumerate() {
        let (name, len) = (part.file_name(), part.index().summary());
        let name = shown_text(&name.to_string_lossy());
        let (tensors, bytes) = (number(part.index().len() as u64), number(len.file_len()));
        table.push([(index + 1).to_string(), name, tensors, bytes]);
    }
    table
}

/// Those with most bytes first.
fn dtypes(facts: &Facts) -> Table {
    let mut table = Table::new([
        ("dtype", Side::Left),
        ("tensors", Side::Right),
        ("parameters", Side::Right),
        ("bytes", Side::Right),
        ("size", Side::Right),
        ("share", Side::Right),
    ]);
    let all: u128 = facts.by_dtype.iter().map(|dtype| dtype.bytes).sum();
    let mut list: Vec<_> = facts.by_dtype.iter().collect();
    list.sort_by_key(|dtype| (std::cmp::Reverse(dtype.bytes), dtype.dtype));
    for dtype in list {
        table.push([
            dtype.dtype.to_string(),
            number(dtype.tensors),
            number(dtype.elements),
            number(dtype.bytes),
            human(dtype.bytes),
            share_of(dtype.bytes, all),
        ]);
    }
    table
}

/// Prints the number of tensors, parameters and bytes, also for each dtype.
pub fn print_total(tensors: u64, facts: &Facts, out: &mut impl Write) -> io::Result<()> {
    let bytes: u128 = facts.by_dtype.iter().map(|dtype| dtype.bytes).sum();
    let (tensors, parameters) = (counted(tensors, "tensor"), counted(facts.parameters(), "parameter"));
    let list = facts
        .by_dtype
        .iter()
        .map(|dtype| format!("{} {} in {}", dtype.dtype, grouped(dtype.elements), human(dtype.bytes)));
    let list: Vec<String> = list.collect();
    let list = if list.len() > 1 { format!(": {}", list.join(", ")) } else { String::new() };
    let only = facts.by_dtype.first().filter(|_| facts.by_dtype.len() == 1);
    let of = only.map_or(String::new(), |dtype| format!(" of {}", dtype.dtype));
    let line = format!("  total: {tensors}, {parameters}{of}, {}{list}", human(bytes));
    writeln!(out, "{}", wrapped(&line, terminal_width()))
}

fn print_json(
    model: &Model,
    view: &View,
    (shown, facts, unpacked): (&[Tensor<'_>], &Facts, &Unpacked),
    out: &mut impl Write,
) -> Result<(), Error> {
    let object = Object::new().text("file", &model.path().to_string_lossy()).flag("ok", true);
    let object = object.number("bytes", model.file_lens());
    let shards = model.parts().iter().map(|part| {
        let (name, len) = (part.file_name(), part.index().summary());
        let object = Object::new().text("file", &name.to_string_lossy()).number("tensors", len.tensors);
        object.number("bytes", len.file_len()).number("data_start", len.data_start).end()
    });
    let object = match (model.index(), model.parts()) {
        (None, [part]) => object.number("data_start", part.index().summary().data_start),
        _ => object.raw("shards", &json::array(shards)),
    };
    let tensors = shown.iter().map(|tensor| {
        let shape = json::array(tensor.dims().iter().map(u64::to_string));
        let range = json::array([tensor.begin().to_string(), tensor.end().to_string()]);
        let member = Object::new().text("dtype", tensor.dtype().name()).raw("shape", &shape);
        let member = member.raw("data_offsets", &range).number("alignment", place(tensor));
        let member = match model.index() {
            Some(_) => member.number("shard", shard(model, tensor)),
            None => member,
        };
        format!("{}:{}", json::quoted(tensor.name()), member.end())
    });
    let tensors: Vec<String> = tensors.collect();
    let pairs = |pairs: &BTreeMap<String, String>| {
        pairs.iter().fold(Object::new(), |object, (key, value)| object.text(key, value)).end()
    };
    let metadata = model.metadata().map_or("null".into(), pairs);
    let object = object.raw("tensors", &format!("{{{}}}", tensors.join(","))).raw("metadata", &metadata);
    let object = object.number("parameters", facts.parameters()).raw("dtypes", &by_dtype(facts));
    let members = unpacked.members();
    let object = members.iter().fold(object, |object, (name, value)| object.raw(name, value));
    let object = if view.tree { object.raw("tree", &Tree::of(shown).json()) } else { object };
    writeln!(out, "{}", object.end())?;
    Ok(())
}
