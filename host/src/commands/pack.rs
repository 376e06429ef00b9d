//! `safetensors pack`: makes a new file from tensors of others.

use crate::args::kind::Kind;
use crate::args::whole;
use crate::commands::{Run, check_stdin_once};
use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::exit::Exit;
use crate::input::discover::{Folders, reject_partial_models};
use crate::input::model::{Model, Padding, file_of, is_index};
use crate::input::open::is_interrupted;
use crate::input::remote::check_output;
use crate::json::{self, Object};
use crate::output::file::{Product, check_output_path, check_stdout_use};
use crate::output::overwrite::{check_not_in_model, check_not_input};
use crate::output::stdout::complain;
use crate::pack::{Contents, Edits, Layout, Line, Ordering, Prefer, plan, write};
use crate::table::{Side, Table};
use crate::text::{counted, quoted, shown_text};
use embedded_safetensors::{integrity::KEY, write::Placement};
use safetensors_files::{ModelEditor, SaveMethod};
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
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

    /// Which input wins if two have the same tensor or metadata key
    #[arg(long, value_name = "WHICH")]
    prefer: Option<Prefer>,

    #[command(flatten)]
    edits: Edits,

    /// Edit names and metadata in the only input file; writes just the header if it has space, otherwise the
    /// entire file; also repairs an interrupted edit
    #[arg(long, conflicts_with_all = [
        "output", "order", "align", "align_all", "header_room", "only", "except", "prefer",
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
    fn json(&self) -> bool {
        self.json
    }

    fn run(mut self, context: &Context) -> Outcome {
        check_stdin_once(&self.inputs)?;
        match &mut self.inputs[..] {
            _ if !self.in_place => {}
            [only] => *only = file_of(only)?,
            inputs => {
                let sentence = format!("--in-place needs exactly one input, {} given", inputs.len());
                return Err(Error::usage(sentence));
            }
        }
        check_stdout_use(self.json && !self.dry_run, self.output.as_deref())?;
        let layout = self.layout()?;
        if let Some(output) = self.output.as_deref().filter(|output| output.as_os_str() != "-") {
            self.inputs.iter().try_for_each(|input| check_not_input(input, output))?;
            Kind::must_be_model(output)?;
            check_output_path(output, self.force)?;
        }
        match &self.inputs[..] {
            [only] if self.in_place => {
                check_output(only)?;
                if !self.dry_run {
                    repair(only)?;
                }
                self.keeps_its_index(only)?;
            }
            inputs => reject_partial_models(inputs, self.output.as_deref())?,
        }
        let models = self.inputs.iter().map(|input| Model::open(context, input));
        let models = models.collect::<Result<Vec<_>, _>>()?;
        if let Some(output) = &self.output {
            models.iter().try_for_each(|model| check_not_in_model(model, output))?;
        }
        let mut contents = Contents::of(&models, self.prefer)?;
        self.edits.apply(&mut contents, &self.inputs)?;
        contents.unite(self.prefer)?;
        Ordering::of(&self.order).apply(&mut contents)?;
        let output = self.target();
        let (bytes, lines) = plan(&contents, layout, output)?;
        let saved = match (self.in_place, self.dry_run) {
            (true, dry_run) => {
                let editor = self.editor(output)?;
                Some(if dry_run { editor.save_method(output)? } else { save(context, &editor, output)? })
            }
            (false, true) => None,
            (false, false) => {
                self.make(context, &contents, layout, &models)?;
                Some(SaveMethod::Copied)
            }
        };
        let lines = if saved == Some(SaveMethod::InPlace) { contents.lines_in_place() } else { lines };
        Done { command: &self, lines: &lines, bytes, padding: contents.padding, saved }.tell()
    }
}

impl Pack {
    fn layout(&self) -> Result<Layout, Error> {
        let is_canonical = Ordering::of(&self.order).is_canonical();
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

    /// # Errors
    /// The edit would rename a tensor that an index names.
    fn keeps_its_index(&self, input: &Path) -> Result<(), Error> {
        if self.edits.renames.is_empty() {
            return Ok(());
        }
        let Some(index) = Folders::default().indexes_of(input)?.into_iter().next() else { return Ok(()) };
        let index = shown_text(&index.path.to_string_lossy());
        let sentence = format!(
            "is a shard of {index}, which would not know the new names; pack the index into a new file"
        );
        Err(Error::about(input, sentence))
    }

    /// The output, or the input where none is given.
    fn target(&self) -> &Path {
        let only = self.inputs.first().map_or(Path::new("-"), PathBuf::as_path);
        self.output.as_deref().unwrap_or(only)
    }

    fn make(
        &self,
        context: &Context,
        contents: &Contents<'_>,
        layout: Layout,
        models: &[Model],
    ) -> Result<(), Error> {
        let output = self.target();
        let mut product = Product::create(context, output, self.force)?;
        let work = context.work("packing", contents.bytes());
        write(contents, layout, (&mut product, output), &work)?;
        models.iter().try_for_each(Model::check_unchanged)?;
        context.check()?;
        product.finish()
    }

    /// The only input with all edits, which are not saved yet.
    fn editor(&self, path: &Path) -> Result<ModelEditor, Error> {
        if is_index(path) || !path.is_file() {
            return Err(Error::usage(
                "--in-place needs a single file, not a sharded model or standard input",
            ));
        }
        let mut editor = ModelEditor::open(path)?;
        editor.rename_all(|name| self.edits.renames.new_name(name))?;
        if self.edits.clear_metadata {
            editor.clear_metadata();
        }
        editor.remove_metadata(KEY);
        self.edits.unset.iter().for_each(|key| drop(editor.remove_metadata(key)));
        self.edits.set.iter().for_each(|(key, value)| editor.set_metadata(key, value));
        Ok(editor)
    }
}

/// Saves an edited model, with a progress bar if it is copied.
fn save(context: &Context, editor: &ModelEditor, path: &Path) -> Result<SaveMethod, Error> {
    let mut work = None;
    let saved = editor.save_watched(path, &mut |done, total| {
        let work = work.get_or_insert_with(|| context.work("packing", total));
        if work.reach(done).is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(saved)
}

/// Waits for an edit in place that is writing the header, or restores the old header after an interrupted
/// one.
fn repair(path: &Path) -> Result<(), Error> {
    if is_interrupted(path) {
        ModelEditor::open(path)?;
        let path = shown_text(&path.to_string_lossy());
        complain(format_args!("{path}: restored the header after an interrupted edit"));
    }
    Ok(())
}

/// The results to print.
struct Done<'d> {
    command: &'d Pack,
    lines: &'d [Line<'d, 'd>],
    bytes: u64,
    /// Padding of the inputs.
    padding: Padding,
    /// How it was saved, or would be; None if this is not known before.
    saved: Option<SaveMethod>,
}

impl Done<'_> {
    fn tell(&self) -> Outcome {
        match self.command.output.as_deref() {
            // The file went to standard output.
            Some(output) if output.as_os_str() == "-" && !self.command.dry_run => {
                self.padding.print(&mut io::stderr())?;
            }
            _ if self.command.json => self.print_json()?,
            _ => self.print()?,
        }
        Ok(Exit::Good)
    }

    fn is_in_place(&self) -> bool {
        self.saved == Some(SaveMethod::InPlace)
    }

    /// After an edit in place the header can have more space than it needs.
    fn file_len(&self) -> u64 {
        let is_there = !self.command.dry_run || self.is_in_place();
        let on_disk = || std::fs::metadata(self.command.target()).ok().map(|there| there.len());
        is_there.then(on_disk).flatten().unwrap_or(self.bytes)
    }

    /// An edit in place keeps the padding.
    fn left_out(&self) -> Padding {
        if self.is_in_place() { Padding::default() } else { self.padding }
    }

    fn print(&self) -> Result<(), Error> {
        let mut out = BufWriter::new(io::stdout().lock());
        let Pack { dry_run, in_place, .. } = *self.command;
        let tensors = counted(self.lines.len() as u64, "tensor");
        let how = match (dry_run, self.saved) {
            (false, Some(SaveMethod::InPlace)) => ", edited in place",
            (false, _) if in_place => ", rewritten: no space in the header",
            (false, _) => "",
            (true, Some(SaveMethod::InPlace)) => {
                ", nothing written: the header has space for an edit in place"
            }
            (true, _) if in_place => {
                ", nothing written: no space in the header, so the file would be rewritten"
            }
            (true, _) => ", nothing written",
        };
        let target = match self.command.output {
            None if !in_place => String::new(),
            _ => format!("{}: ", shown_text(&self.command.target().to_string_lossy())),
        };
        writeln!(out, "{target}{tensors}, {}{how}", counted(self.file_len(), "byte"))?;
        if dry_run {
            self.table().print(&mut out)?;
        }
        self.left_out().print(&mut out)?;
        Ok(out.flush()?)
    }

    fn table(&self) -> Table {
        let mut table = Table::new([
            ("tensor", Side::Left),
            ("dtype", Side::Left),
            ("shape", Side::Left),
            ("begin", Side::Right),
            ("end", Side::Right),
            ("from", Side::Left),
        ]);
        for (entry, begin, end) in self.lines {
            let Some(entry) = entry else {
                let empty = String::new();
                let row = [
                    "(padding)".into(),
                    "U8".into(),
                    empty.clone(),
                    begin.to_string(),
                    end.to_string(),
                    empty,
                ];
                table.push(row);
                continue;
            };
            let from = shown_text(&entry.file().to_string_lossy());
            let renamed = entry.tensor.name() != entry.name;
            let from = if renamed { format!("{} of {from}", quoted(entry.tensor.name())) } else { from };
            let (name, shape) = (quoted(&entry.name), format!("{:?}", entry.tensor.dims()));
            let dtype = entry.tensor.dtype().to_string();
            table.push([name, dtype, shape, begin.to_string(), end.to_string(), from]);
        }
        table
    }

    fn print_json(&self) -> Result<(), Error> {
        let inputs = self.command.inputs.iter().map(|input| json::quoted(&input.to_string_lossy()));
        let object = Object::new().flag("ok", true).raw("inputs", &json::array(inputs));
        let output = json::quoted(&self.command.target().to_string_lossy());
        let is_none = self.command.output.is_none() && !self.command.in_place;
        let object = object.raw("output", if is_none { "null" } else { &output });
        let object = object.number("tensors", self.lines.len() as u64).number("bytes", self.file_len());
        let object = object.number("padding_left_out", self.left_out().tensors);
        let object = object.flag("written", !self.command.dry_run).flag("in_place", self.is_in_place());
        let object = match self.command.dry_run {
            true => object.raw("plan", &json::array(self.lines.iter().map(line))),
            false => object,
        };
        writeln!(io::stdout(), "{}", object.end())?;
        Ok(())
    }
}

fn line((entry, begin, end): &Line<'_, '_>) -> String {
    let range = json::array([begin.to_string(), end.to_string()]);
    let Some(entry) = entry else {
        return Object::new().flag("padding", true).raw("data_offsets", &range).end();
    };
    let shape = json::array(entry.tensor.dims().iter().map(u64::to_string));
    let object = Object::new().text("name", &entry.name).text("dtype", entry.tensor.dtype().name());
    let object = object.raw("shape", &shape).raw("data_offsets", &range);
    object.text("file", &entry.file().to_string_lossy()).text("was", entry.tensor.name()).end()
}
