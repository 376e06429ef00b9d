//! `safetensors pack`: makes a new file from tensors of others.

use super::{Context, Error, Exit, Outcome, Run, check_stdin_once};
use crate::args::whole;
use crate::input::discover::reject_partial_models;
use crate::input::model::{Padding, file_of, is_index};
use crate::input::remote::check_output;
use crate::json::{List, object};
use crate::output::file::{check_stdout_use, check_terminal};
use crate::output::model::{check_new, restore, save};
use crate::output::overwrite::check_not_in_model;
use crate::output::stdout::show;
use crate::pack::{Contents, Edits, Entry, Layout, Line, Prefer, Tie, make, open_all, order, plan};
use crate::table::{Side, Table};
use crate::text::{counted, listed, quoted, shown_path};
use embedded_safetensors::write::Placement;
use safetensors_files::{ModelEditor, SaveMethod};
use serde::Serialize;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Make a file from tensors of other files: select, merge, rename, order, align
///
/// Tensor data is copied byte for byte. Exit code: 0 if the file is written, 1 if an input is invalid, 2 for
/// all other errors, 130 if interrupted.
#[derive(clap::Args)]
pub struct Pack {
    /// Input models: files, shard indexes or directories, or `-` for standard input
    #[arg(required = true, value_name = "IN")]
    inputs: Vec<PathBuf>,

    /// Output file; `-` is standard output
    #[arg(long, short, value_name = "FILE", required_unless_present_any = ["in_place", "dry_run"])]
    output: Option<PathBuf>,

    /// Tensor order: `canonical` (by dtype, then name), `name`, `file` (unchanged), or the path of a text
    /// file with names
    #[arg(long, value_name = "ORDER", default_value = "canonical")]
    order: PathBuf,

    /// Order tensors so that they begin at multiples of N bytes as far as their sizes allow; an --order
    /// other than canonical also needs --align-all
    #[arg(long, value_name = "N", value_parser = whole::<u32>, allow_negative_numbers = true)]
    align: Option<u32>,

    /// With --align, keep the order and align every tensor: padding tensors of zeros are added between them
    #[arg(long, requires = "align")]
    align_all: bool,

    /// Leave N spaces at the end of the header for later edits in place
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u32>)]
    header_room: u32,

    /// Store tensors with the same dtype, shape and bytes once; the metadata notes the names of the others,
    /// as `safetensors.torch.save_model` does
    #[arg(long)]
    dedupe: bool,

    /// Which input wins if two have the same tensor or metadata key
    #[arg(long, value_name = "WHICH")]
    prefer: Option<Prefer>,

    #[command(flatten)]
    edits: Edits,

    /// Edit names and metadata in the only input file; writes just the header if it has space, otherwise the
    /// entire file; also repairs an interrupted edit
    #[arg(long, conflicts_with_all = [
        "output", "order", "align", "align_all", "header_room", "dedupe", "only", "except",
        "prefer",
    ])]
    in_place: bool,

    /// Show what would be written, and write nothing; with --in-place, whether the header has space
    #[arg(long)]
    dry_run: bool,

    /// Overwrite an existing file
    #[arg(long)]
    force: bool,

    /// Print a summary as one JSON object
    #[arg(long)]
    json: bool,
}

impl Run for Pack {
    fn run(mut self, context: &Context) -> Outcome {
        check_stdin_once(&self.inputs)?;
        check_stdout_use(self.json && !self.dry_run, self.output.as_deref())?;
        check_terminal(self.output.as_deref().unwrap_or(Path::new("")), self.force || self.dry_run)?;
        let layout = self.layout()?;
        match &mut self.inputs[..] {
            [only] if self.in_place => {
                *only = file_of(only)?;
                check_output(only)?;
                if !self.dry_run {
                    restore(only)?;
                }
                self.edits.keep_index_of(only)?;
            }
            inputs if self.in_place => {
                let sentence = format!("--in-place needs exactly one input, {} given", inputs.len());
                return Err(Error::usage(sentence));
            }
            inputs => {
                let (inputs, output) = (&*inputs, self.output.as_deref());
                output.map_or(Ok(()), |output| check_new(inputs, output, self.force))?;
                reject_partial_models(inputs, output)?;
            }
        }
        let models = open_all(context, &self.inputs)?;
        if let Some(output) = &self.output {
            models.iter().try_for_each(|model| check_not_in_model(model, output))?;
        }
        let mut contents = Contents::of(&models, self.prefer)?;
        self.edits.apply(&mut contents, &self.inputs)?;
        contents.unite(self.prefer)?;
        let ties = if self.dedupe { contents.dedupe(context)? } else { Vec::new() };
        order::apply(&self.order, &mut contents)?;
        let (mut bytes, mut lines) = plan(&contents, layout, self.target(), None)?;
        let is_in_place = self.in_place && self.save_in_place(context, &contents)? == SaveMethod::InPlace;
        if !self.in_place && !self.dry_run {
            let to = (self.target(), self.force);
            make(context, &contents, layout, to, ("packing", &models))?;
        }
        let mut padding = contents.padding;
        if is_in_place {
            (lines, padding) = (contents.lines_in_place(), Padding { tensors: 0, ..padding });
        }
        // After an edit in place the header can have more space than it needs.
        if let Some(there) = fs::metadata(self.target()).ok().filter(|_| is_in_place || !self.dry_run) {
            bytes = there.len();
        }
        self.tell((&lines, &ties), bytes, padding, is_in_place)?;
        Ok(Exit::Good)
    }
}

impl Pack {
    fn layout(&self) -> Result<Layout, Error> {
        let is_canonical = self.order == Path::new(order::CANONICAL);
        let placement = match self.align {
            Some(unit) if self.align_all => Placement::Padded(unit),
            Some(unit) if is_canonical => Placement::BySize(unit),
            Some(_) => {
                let sentence = "--align needs its own order; use --align-all to combine it with --order";
                return Err(Error::usage(sentence));
            }
            None => Placement::Start(8),
        };
        Ok(Layout { is_canonical, placement, room: self.header_room })
    }

    /// The output, or the input where none is given.
    fn target(&self) -> &Path {
        self.output.as_deref().unwrap_or(&self.inputs[0])
    }

    /// Saves the contents in their only input, with a progress bar if the file is copied. With `--dry-run`
    /// only says how they would be saved.
    fn save_in_place(&self, context: &Context, contents: &Contents<'_>) -> Result<SaveMethod, Error> {
        let path = self.target();
        if is_index(path) || !path.is_file() {
            return Err(Error::usage(
                "--in-place needs a single file, not a sharded model or standard input",
            ));
        }
        let mut editor = ModelEditor::open(path)?;
        contents.put_in(&mut editor)?;
        if self.dry_run {
            return Ok(editor.save_method(path)?);
        }
        save(context, editor, path, "packing")
    }

    /// Says what was written, or would be: these lines, in a file of so many bytes.
    fn tell(
        &self,
        (lines, ties): (&[Line<'_, '_>], &[Tie]),
        bytes: u64,
        padding: Padding,
        in_place: bool,
    ) -> io::Result<()> {
        let (output, written) =
            ((self.output.is_some() || self.in_place).then(|| self.target()), !self.dry_run);
        if output == Some(Path::new("-")) && written {
            // The file went to standard output.
            print_ties(ties, &mut io::stderr())?;
            return padding.print(&mut io::stderr());
        }
        let summary = object! {
            ok: true,
            inputs: List(self.inputs.iter().map(|input| input.to_string_lossy())),
            output: output.map(Path::to_string_lossy),
            tensors: lines.len(),
            bytes,
            padding_left_out: padding.tensors,
            #[serde(flatten)] tied: self.dedupe.then(|| object! { tied: ties }),
            written,
            in_place,
            #[serde(flatten)] plan: self.dry_run.then(|| object! { plan: List(lines.iter().map(planned)) }),
        };
        let how = match (written, self.in_place, in_place) {
            (true, true, true) => ", edited in place",
            (true, true, false) => ", rewritten: no space in the header",
            (true, false, _) => "",
            (false, true, true) => ", nothing written: the header has space for an edit in place",
            (false, true, false) => {
                ", nothing written: no space in the header, so the file would be rewritten"
            }
            (false, false, _) => ", nothing written",
        };
        show(self.json, &summary, |mut out| {
            let output = output.map_or(String::new(), |output| format!("{}: ", shown_path(output)));
            let (tensors, bytes) = (counted(lines.len() as u64, "tensor"), counted(bytes, "byte"));
            writeln!(out, "{output}{tensors}, {bytes}{how}")?;
            if self.dry_run {
                table(lines, &mut out)?;
            }
            print_ties(ties, &mut out)?;
            padding.print(&mut out)
        })
    }
}

fn print_ties(ties: &[Tie], out: &mut impl Write) -> io::Result<()> {
    let names = ties.iter().map(|tie| format!("{} (as {})", quoted(&tie.name), quoted(&tie.same_as)));
    match ties.len() as u64 {
        0 => Ok(()),
        count => {
            let tensors = counted(count, "tensor");
            writeln!(out, "  tied: {tensors}, noted in the metadata: {}", listed(names, 8, count))
        }
    }
}

fn planned<'c>((entry, begin, end): &Line<'c, '_>) -> impl Serialize + use<'c> {
    let data_offsets = [*begin, *end];
    let form = |entry: &'c Entry<'_>| {
        let (dtype, shape) = (entry.tensor.dtype().name(), entry.tensor.dims());
        object! { name: &entry.name, dtype, shape }
    };
    let origin = |entry: &'c Entry<'_>| {
        object! { file: entry.file().to_string_lossy(), was: entry.tensor.name() }
    };
    object! {
        #[serde(flatten)] padding: entry.is_none().then(|| object! { padding: true }),
        #[serde(flatten)] form: entry.map(form),
        data_offsets,
        #[serde(flatten)] origin: entry.map(origin),
    }
}

fn table(lines: &[Line<'_, '_>], out: &mut impl Write) -> io::Result<()> {
    let [name, dtype, shape, from] = ["tensor", "dtype", "shape", "from"].map(|title| (title, Side::Left));
    let [begin, end] = ["begin", "end"].map(|title| (title, Side::Right));
    let row = |(entry, begin, end): &Line<'_, '_>| {
        let cells = entry.map(|entry| {
            let (tensor, file) = (&entry.tensor, shown_path(entry.file()));
            let is_renamed = entry.name != tensor.name();
            let from = if is_renamed { format!("{} of {file}", quoted(tensor.name())) } else { file };
            [quoted(&entry.name), tensor.dtype().to_string(), format!("{:?}", tensor.dims()), from]
        });
        let cells = cells.unwrap_or_else(|| ["(padding)", "U8", "", ""].map(str::to_owned));
        let ([name, dtype, shape, from], [begin, end]) = (cells, [begin, end].map(u64::to_string));
        [name, dtype, shape, begin, end, from]
    };
    let table = Table::new([name, dtype, shape, begin, end, from]).optional(&["end", "begin"]);
    table.print_rows(|| lines.iter().map(row), out).map(drop)
}
