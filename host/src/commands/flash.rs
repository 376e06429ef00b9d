//! `safetensors flash`: writes a model into a chip's flash and verifies it.

use super::{Context, Error, Exit, Outcome, Run};
use crate::chips::chip::Chip;
use crate::chips::formats::Format;
use crate::chips::image::Image;
use crate::chips::pages::Stretch;
use crate::chips::probe::Connection;
use crate::chips::sequence;
use crate::chips::site::UsedFlash;
use crate::chips::size::{size, span};
use crate::input::model::Model;
use crate::json::{List, about, object};
use crate::output::file::Product;
use crate::output::overwrite::check_not_in_model;
use crate::output::stdout::show;
use crate::text::{grouped, number, shown_text};
use std::io::{self, Write};
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
    fn run(self, context: &Context) -> Outcome {
        let model = Model::open_in_file(context, &self.model)?;
        let file = model.one_file()?;
        let (target, chip) = self.used_flash.of(&self.chip)?;
        let place = chip
            .at(self.at, file.index().summary().file_len())?
            .map_err(|none| Error::bad(&self.model, "no_room", format!("does not fit: {}", none.sentence)))?;
        let image = Image::new(file, &place);
        let sha256 = image.sha256()?;
        let done = match &self.output {
            Some(output) => {
                check_not_in_model(&model, output)?;
                let format = Format::of(output, &chip.name, image.range.end)?;
                let mut product = Product::create(context, output, self.force)?;
                format.write(&image, &mut product)?;
                model.check_unchanged()?;
                product.finish()?;
                "written"
            }
            None if place.area.uneven => {
                let (name, unit) = (&chip.name, size(place.area.unit));
                return Err(sequence::failed(format!(
                    "probe-rs programs {name} in units of {unit} that are not aligned to its pages, and could \
                     erase data beside the model; write the image with --output, and program it with the \
                     vendor's tool"
                )));
            }
            None if self.dry_run => "dry_run",
            None => {
                let mut board = self.connection.open(&target, self.keep).map_err(sequence::failed)?;
                let work = context.work("flash", 2 * image.len());
                sequence::flash(&mut board, &image, |bytes| work.advance(bytes))?;
                "flashed"
            }
        };
        model.check_unchanged()?;
        // If the image goes to standard output, nothing else does.
        if self.output.as_deref() != Some(Path::new("-")) {
            self.say(done, &chip, &image, &sha256)?;
        }
        Ok(Exit::Good)
    }
}

impl Flash {
    /// Says what was done, which is its name in JSON.
    fn say(&self, done: &str, chip: &Chip, image: &Image<'_>, sha256: &str) -> io::Result<()> {
        let erase = |stretch: &Stretch| {
            object! { address: stretch.range.start, count: stretch.count(), bytes: stretch.page }
        };
        let output = self.output.as_ref().map(|output| output.to_string_lossy());
        let erased = image.place.touched();
        let flashed = object! {
            #[serde(flatten)] output: output.as_ref().map(|output| object! { output }),
            done,
            chip: &chip.name,
            address: image.range.start,
            bytes: image.len() - image.fill(),
            erase: List(erased.0.iter().map(erase)),
            program_bytes: image.len(),
            write_bytes: image.place.area.unit,
            sha256,
        };
        let (bytes, range) = (grouped(image.len()), span(&image.range));
        show(self.json, &about(&self.model, true, flashed), |out| match &output {
            Some(output) => {
                writeln!(out, "{}: {bytes} bytes for {range}, sha256 {sha256}", shown_text(output))
            }
            None if self.dry_run => self.print_plan(image, sha256, out),
            None => {
                writeln!(out, "flashed: {bytes} bytes at {range} of {}, verified; sha256 {sha256}", chip.name)
            }
        })
    }

    fn print_plan(&self, image: &Image<'_>, sha256: &str, out: &mut dyn Write) -> io::Result<()> {
        let place = image.place;
        for stretch in &place.touched().0 {
            writeln!(out, "erase {stretch} at {}", span(&stretch.range))?;
        }
        let (unit, writes) = (size(place.area.unit), image.len() / place.area.unit);
        let (bytes, range) = (grouped(image.len()), span(&image.range));
        writeln!(out, "program {bytes} bytes at {range}, in {writes} writes of {unit}")?;
        if image.fill() > 0 {
            let (fill, erased) = (grouped(image.fill()), place.area.erased);
            writeln!(out, "  the last {fill} of these are {erased:#04x}, the value of erased flash")?;
        }
        let after = image.range.end..place.pages.end;
        if !after.is_empty() {
            let (bytes, range) = (grouped(after.end - after.start), span(&after));
            let kept = if self.keep { "are kept" } else { "stay erased; use --keep to keep them" };
            writeln!(out, "  {bytes} bytes after them, at {range}, {kept}")?;
        }
        writeln!(out, "read everything back, compare, and start the firmware")?;
        writeln!(out, "sha256 of the programmed bytes: {sha256}")
    }
}
