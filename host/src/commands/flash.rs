//! `safetensors flash`: writes a model into a chip's flash and verifies it.

use crate::chips::formats::Format;
use crate::chips::image::Image;
use crate::chips::pages::counted;
use crate::chips::place::{self, Place};
use crate::chips::probe::Connection;
use crate::chips::sequence;
use crate::chips::site::{Site, UsedFlash, complaint};
use crate::chips::size::{grouped, size, span};
use crate::commands::Run;
use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::exit::Exit;
use crate::input::model::Model;
use crate::json::{Object, array};
use crate::output::file::Product;
use crate::output::overwrite::check_not_in_model;
use crate::text::number;
use crate::text::shown_text;
use safetensors_emit::plan::Plan;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Write a model into a chip's flash through a debug probe, and verify it
///
/// Exit code: 0 if the model is in flash, or the image or the dry run is complete, 1 if the model is invalid,
/// does not fit or fails verification, 2 for all other errors, such as a missing probe, 130 if interrupted.
#[derive(clap::Args)]
pub struct Flash {
    /// Chip name, or an unambiguous part of it
    #[arg(long, value_name = "NAME")]
    chip: String,

    /// Address of the model, at the start of a flash page
    #[arg(long, value_name = "ADDRESS", value_parser = number::address)]
    at: u64,

    #[command(flatten)]
    used_flash: UsedFlash,

    /// Keep what follows the model in its last page [default: leave it erased]
    #[arg(long)]
    keep: bool,

    #[command(flatten)]
    connection: Connection,

    /// Show what would be erased and programmed, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Write the image to a file for another tool: .hex, .uf2 or raw .bin; needs no probe
    #[arg(short, long, value_name = "IMAGE", conflicts_with = "dry_run")]
    output: Option<PathBuf>,

    /// Overwrite an existing file
    #[arg(long, requires = "output")]
    force: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Model; `-` is standard input
    #[arg(value_name = "MODEL")]
    model: PathBuf,
}

impl Run for Flash {
    fn json(&self) -> bool {
        self.json
    }

    fn run(self, context: &Context) -> Outcome {
        let model = Model::open_in_file(context, &self.model)?;
        let plan = Plan::of(model.one_file()?);
        let site = Site::new(&self.chip, &self.used_flash)?;
        let place = place::at(&site.chip, &site.used, self.at, plan.file_bytes)
            .map_err(|refusal| complaint(&self.model, refusal))?;
        let image = Image::new(model.one_file()?, plan.file_bytes, &place);
        let task = Task { site: &site, place: &place, image: &image, sha256: image.sha256()? };
        let done = match &self.output {
            Some(output) => self.write(context, &model, &task, output)?,
            None if place.area.uneven => return Err(no_probe(uneven(&task))),
            None if self.dry_run => "dry_run",
            None => self.program(context, &task)?,
        };
        model.check_unchanged()?;
        self.say(&task, done)?;
        Ok(Exit::Good)
    }
}

/// The work to do.
struct Task<'t> {
    site: &'t Site,
    place: &'t Place<'t>,
    image: &'t Image<'t>,
    sha256: String,
}

impl Flash {
    fn write(
        &self,
        context: &Context,
        model: &Model,
        task: &Task<'_>,
        output: &Path,
    ) -> Result<&'static str, Error> {
        check_not_in_model(model, output)?;
        let format = Format::of(output, &task.site.chip.name, task.image.range.end)?;
        let mut product = Product::create(context, output, self.force)?;
        format.write(task.image, &mut product)?;
        model.check_unchanged()?;
        product.finish()?;
        Ok("written")
    }

    fn program(&self, context: &Context, task: &Task<'_>) -> Result<&'static str, Error> {
        let mut board = self.connection.open(&task.site.target, self.keep).map_err(no_probe)?;
        let parts = sequence::parts(task.place, &task.image.range);
        sequence::flash(context, &mut board, task.image, &parts, || context.check().is_err())?;
        Ok("flashed")
    }

    fn say(&self, task: &Task<'_>, done: &str) -> io::Result<()> {
        // If the image goes to standard output, nothing else does.
        if self.output.as_ref().is_some_and(|output| output.as_os_str() == "-") {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        if self.json {
            return writeln!(out, "{}", self.object(task, done));
        }
        match done {
            "flashed" => writeln!(out, "{}", flashed(task)),
            "written" => writeln!(out, "{}", self.written(task)),
            _ => writeln!(out, "{}", self.planned(task)),
        }
    }

    fn object(&self, task: &Task<'_>, done: &str) -> String {
        let Task { site, place, image, sha256 } = task;
        let mut start = place.pages.start;
        let erased = place.touched().into_iter().map(|(count, page)| {
            let object = Object::new().number("address", start).number("count", count).number("bytes", page);
            start += count * page;
            object.end()
        });
        let object = Object::new().text("file", &self.model.to_string_lossy()).flag("ok", true);
        let output = self.output.as_ref().filter(|_| done == "written");
        let object = match output {
            Some(output) => object.text("output", &output.to_string_lossy()),
            None => object,
        };
        let object = object.text("done", done);
        object
            .text("chip", &site.chip.name)
            .number("address", image.range.start)
            .number("bytes", image.len() - image.fill())
            .raw("erase", &array(erased))
            .number("program_bytes", image.len())
            .number("write_bytes", image.unit)
            .text("sha256", sha256)
            .end()
    }

    fn written(&self, task: &Task<'_>) -> String {
        let output = self.output.as_deref().unwrap_or(&self.model);
        let (bytes, range) = (grouped(task.image.len()), span(&task.image.range));
        format!(
            "{}: {bytes} bytes for {range}, sha256 {}",
            shown_text(&output.to_string_lossy()),
            task.sha256
        )
    }

    fn planned(&self, task: &Task<'_>) -> String {
        let Task { place, image, .. } = task;
        let mut lines: Vec<String> = erase_ranges(place)
            .iter()
            .map(|(range, pages)| format!("erase {pages} at {}", span(range)))
            .collect();
        let writes = image.len() / image.unit;
        let unit = size(image.unit);
        let (bytes, range) = (grouped(image.len()), span(&image.range));
        lines.push(format!("program {bytes} bytes at {range}, in {writes} writes of {unit}"));
        let fill = (grouped(image.fill()), image.erased);
        if image.fill() > 0 {
            lines.push(format!(
                "  the last {} of these are {:#04x}, the value of erased flash",
                fill.0, fill.1
            ));
        }
        if let Some(unprogrammed) = unprogrammed(task) {
            let kept = if self.keep { "are kept" } else { "stay erased; use --keep to keep them" };
            lines.push(format!(
                "  {} bytes after them, at {}, {kept}",
                grouped(unprogrammed.end - unprogrammed.start),
                span(&unprogrammed)
            ));
        }
        lines.push("read everything back, compare, and start the firmware".to_owned());
        lines.push(format!("sha256 of the programmed bytes: {}", task.sha256));
        lines.join("\n")
    }
}

fn no_probe(sentence: String) -> Error {
    Error::ended(Exit::Failed, "probe", sentence)
}

fn uneven(task: &Task<'_>) -> String {
    format!(
        "probe-rs programs {} in units of {} that are not aligned to its pages, and could erase data beside \
         the model; write the image with --output, and program it with the vendor's tool",
        task.site.chip.name,
        size(task.place.area.unit)
    )
}

fn flashed(task: &Task<'_>) -> String {
    let chip = &task.site.chip.name;
    let (bytes, range) = (grouped(task.image.len()), span(&task.image.range));
    format!("flashed: {bytes} bytes at {range} of {chip}, verified; sha256 {}", task.sha256)
}

/// The part of the last page that is not programmed.
fn unprogrammed(task: &Task<'_>) -> Option<Range<u64>> {
    let range = task.image.range.end..task.place.pages.end;
    (!range.is_empty()).then_some(range)
}

/// The erased pages: ranges of pages of one size, with their description.
fn erase_ranges(place: &Place<'_>) -> Vec<(Range<u64>, String)> {
    let mut start = place.pages.start;
    let stretch = |(count, page): (u64, u64)| {
        let range = start..start + count * page;
        start = range.end;
        (range, counted(&[(count, page)]))
    };
    place.touched().into_iter().map(stretch).collect()
}
