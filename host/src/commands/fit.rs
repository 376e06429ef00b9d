//! `safetensors fit`: shows whether and where a model fits into a chip's flash.

use super::{Context, Error, Exit, Outcome, Run, check_stdin_once};
use crate::chips::alignment::Alignment;
use crate::chips::chip::Chip;
use crate::chips::place::{NoRoom, Place};
use crate::chips::registry;
use crate::chips::site::UsedFlash;
use crate::chips::size::{self, size, span};
use crate::input::model::Model;
use crate::json::{List, about, object};
use crate::output::stdout::show;
use crate::print::diagnostic::say;
use crate::text::number::{self, hex};
use crate::text::{grouped, quoted, shown_path};
use probe_rs::config::Registry;
use safetensors_emit::plan::Plan;
use serde::Serialize;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Show whether and where models fit into a chip's flash, next to the firmware
///
/// Without --at, each model gets the highest free address, so that the firmware can grow from below. Writes
/// nothing and needs no probe. Exit code: 0 if all models fit, 1 if one is invalid, does not fit or is not
/// aligned as --align requires, 2 for all other errors.
#[derive(clap::Args)]
pub struct Fit {
    /// Chip name, or an unambiguous part of it
    #[arg(long, value_name = "NAME", required_unless_present = "list")]
    chip: Option<String>,

    /// Address of the first model; the others follow it
    #[arg(long, value_name = "ADDRESS", value_parser = number::address)]
    at: Option<u64>,

    #[command(flatten)]
    used_flash: UsedFlash,

    /// Required alignment of every tensor, if larger than its element width
    #[arg(long, value_name = "BYTES", value_parser = size::alignment)]
    align: Option<u64>,

    /// List known chips, or those whose names contain PATTERN
    #[arg(
        long,
        value_name = "PATTERN",
        num_args = 0..=1,
        default_missing_value = "",
        conflicts_with_all = ["chip", "models"],
    )]
    list: Option<String>,

    /// Print one JSON object per model
    #[arg(long)]
    json: bool,

    /// Models; `-` is standard input
    #[arg(value_name = "MODEL", required_unless_present = "list")]
    models: Vec<PathBuf>,
}

impl Run for Fit {
    fn run(self, context: &Context) -> Outcome {
        match &self.list {
            Some(pattern) => list(pattern, self.json),
            None => self.fit(context),
        }
    }
}

impl Fit {
    fn fit(&self, context: &Context) -> Outcome {
        let (_, mut chip) = self.used_flash.of(self.chip.as_deref().unwrap_or_default())?;
        if let (Some(area), None) = (chip.window(), self.at) {
            let (name, window) = (&chip.name, size(area.pages.len()));
            return Err(Error::usage(format!(
                "{name} has external flash in a window of {window}; give its size with --flash-size (such as \
                 2M), or the address of the model with --at"
            )));
        }
        check_stdin_once(&self.models)?;
        let (mut worst, mut next) = (Exit::Good, self.at);
        for path in &self.models {
            let (exit, pages) =
                self.place(context, &chip, path, next).unwrap_or_else(|error| (say(&error, self.json), None));
            worst = worst.max(exit);
            if let Some(pages) = pages {
                next = next.map(|_| pages.end);
                chip.used.push(pages);
            }
        }
        Ok(worst)
    }

    /// Places one model and prints the answer. Returns the exit code, and the pages of the model.
    fn place(
        &self,
        context: &Context,
        chip: &Chip,
        path: &Path,
        at: Option<u64>,
    ) -> Result<(Exit, Option<Range<u64>>), Error> {
        let model = Model::open_in_file(context, path)?;
        let plan = Plan::of(model.one_file()?);
        let (bytes, align) = (plan.file_bytes, self.align.unwrap_or(1));
        let found = match at {
            Some(at) if self.at != Some(at) && chip.area_at(at).is_none() => {
                let need = grouped(bytes);
                let sentence = format!("{need} bytes needed, no flash left after the previous model");
                Err(NoRoom { missing: bytes, sentence })
            }
            Some(at) => chip.at(at, bytes)?,
            None => chip.highest(bytes, align),
        };
        match found {
            Ok(place) => {
                let start = place.range.start;
                let alignment = Alignment::of(&model, start, start + plan.data_start, align)?;
                model.check_unchanged()?;
                let text = lines(chip, &plan, &place, &alignment).join("\n  ");
                self.print(path, in_json(chip, &plan, &place, &alignment), &text)?;
                let is_bad = self.align.is_some() && alignment.misaligned > 0;
                Ok((if is_bad { Exit::Bad } else { Exit::Good }, Some(place.pages)))
            }
            Err(NoRoom { missing, sentence }) => {
                model.check_unchanged()?;
                let text = format!("does not fit: {sentence}");
                let answer = object! { fits: false, chip: &chip.name, bytes, missing, message: sentence };
                self.print(path, answer, &text)?;
                Ok((Exit::Bad, None))
            }
        }
    }

    fn print(&self, path: &Path, more: impl Serialize, text: &str) -> io::Result<()> {
        show(self.json, &about(path, true, more), |out| match self.models.len() {
            1 => writeln!(out, "{text}"),
            _ => writeln!(out, "{}: {text}", shown_path(path)),
        })
    }
}

/// The answer for a model that fits.
fn in_json(chip: &Chip, plan: &Plan, place: &Place<'_>, alignment: &Alignment) -> impl Serialize {
    let pages = place.touched().0.into_iter();
    let first = alignment.first.as_ref();
    object! {
        fits: true,
        chip: &chip.name,
        bytes: plan.file_bytes,
        address: place.range.start,
        end: place.range.end,
        pages_start: place.pages.start,
        pages_end: place.pages.end,
        pages: List(pages.map(|stretch| object! { count: stretch.count(), bytes: stretch.page })),
        unused: place.rest(),
        free_below: chip.free_below(place),
        tensors: alignment.tensors,
        misaligned: alignment.misaligned,
        #[serde(flatten)] first: first.map(|(name, ..)| object! { first_misaligned: name }),
        #[serde(flatten)] remedy: alignment.remedy.as_ref().map(|remedy| object! { remedy }),
        index_bytes: plan.sizes.index_bytes(),
        ram_bytes: chip.ram,
    }
}

/// The same for people.
fn lines(chip: &Chip, plan: &Plan, place: &Place<'_>, alignment: &Alignment) -> Vec<String> {
    let free = match (chip.free_below(place), chip.used.is_empty()) {
        (0, _) => "no free flash below".to_owned(),
        (free, true) => format!("{} of flash free below", size(free)),
        (free, false) => format!("{} of flash free between it and used flash below", size(free)),
    };
    let (bytes, range) = (grouped(plan.file_bytes), span(&place.range));
    let pages = place.touched();
    let mut lines = vec![format!("fits: {bytes} bytes at {range} ({pages}); {free}")];
    if place.rest() > 0 {
        lines.push(format!("{} bytes of its last page unused", grouped(place.rest())));
    }
    if chip.window().is_some() {
        let need = place.pages.end - place.area.pages.range().start;
        lines.push(format!("the external flash must have at least {}", size(need)));
    }
    lines.push(alignment_line(alignment));
    let (index, ram) = (grouped(plan.sizes.index_bytes()), size(chip.ram));
    lines.push(match plan.sizes.index_bytes() > chip.ram {
        true => format!(
            "index too large: {index} bytes needed, {ram} of RAM available; open the model without an index"
        ),
        false => format!("an index, if used, takes {index} bytes of {ram} of RAM"),
    });
    lines
}

fn alignment_line(alignment: &Alignment) -> String {
    let Alignment { tensors, misaligned, first, remedy } = alignment;
    let Some((name, address, of)) = first else {
        return "all tensors aligned: a `View` gives their elements in place".to_owned();
    };
    let what = match remedy {
        Some(command) => format!("`{command}` aligns them all"),
        None => format!(
            "the model's own address is not a multiple of {of} either, so reordering its tensors does not help"
        ),
    };
    let (name, address) = (quoted(name), hex(*address));
    format!(
        "{misaligned} of {tensors} tensors misaligned: {name} is at {address}, not a multiple of {of}; {what}"
    )
}

/// Lists all names that contain the pattern, ignoring case.
fn list(pattern: &str, json: bool) -> Outcome {
    let lower = pattern.to_ascii_lowercase();
    let mut chips = registry::names(&Registry::from_builtin_families());
    chips.retain(|name| name.to_ascii_lowercase().contains(&lower));
    if chips.is_empty() {
        return Err(Error::usage(format!("no chip name contains {}", quoted(pattern))));
    }
    show(json, &object! { ok: true, chips: &chips }, |out| {
        chips.iter().try_for_each(|name| writeln!(out, "{name}"))
    })?;
    Ok(Exit::Good)
}
