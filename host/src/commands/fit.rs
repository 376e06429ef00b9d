//! `safetensors fit`: shows whether and where a model fits into a chip's flash.

use crate::chips::alignment::Alignment;
use crate::chips::pages::counted;
use crate::chips::place::{self, Place, PlacementError};
use crate::chips::registry;
use crate::chips::site::{Site, UsedFlash};
use crate::chips::size::{self, grouped, size, span};
use crate::commands::Run;
use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::exit::Exit;
use crate::input::model::Model;
use crate::json::{Object, array};
use crate::print::diagnostic::say;
use crate::text::number::{self, hex};
use crate::text::{quoted, shown_text};
use probe_rs::config::Registry;
use safetensors_emit::plan::Plan;
use std::io::{self, BufWriter, Write};
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
    fn json(&self) -> bool {
        self.json
    }

    fn run(self, context: &Context) -> Outcome {
        match &self.list {
            Some(pattern) => list(pattern, self.json),
            None => self.fit(context),
        }
    }
}

impl Fit {
    fn fit(&self, context: &Context) -> Outcome {
        let mut site = Site::new(self.chip.as_deref().unwrap_or_default(), &self.used_flash)?;
        if self.at.is_none() {
            site.need_size()?;
        }
        if self.models.iter().filter(|model| model.as_os_str() == "-").count() > 1 {
            return Err(Error::usage("standard input can be read only once; `-` is given twice"));
        }
        let mut worst = Exit::Good;
        let mut next = self.at;
        for path in &self.models {
            let exit = self
                .place(context, &mut site, path, &mut next)
                .unwrap_or_else(|error| say(&error, self.json));
            worst = worst.max(exit);
        }
        Ok(worst)
    }

    /// Places one model and prints the answer. The next model begins after it.
    fn place(&self, context: &Context, site: &mut Site, path: &Path, next: &mut Option<u64>) -> Outcome {
        let model = Model::open_in_file(context, path)?;
        let plan = Plan::of(model.one_file()?);
        let found = match *next {
            Some(at) if self.at != *next && site.chip.area_at(at).is_none() => {
                Err(no_room_behind(plan.file_bytes))
            }
            Some(at) => place::at(&site.chip, &site.used, at, plan.file_bytes),
            None => place::highest(&site.chip, &site.used, plan.file_bytes, self.align.unwrap_or(1)),
        };
        let answer = self.answer(site, &model, &plan, found)?;
        model.check_unchanged()?;
        answer.print(self.json, self.models.len() > 1)?;
        let exit = answer.exit();
        if let Some(pages) = answer.pages {
            *next = next.map(|_| pages.end);
            site.used.push(pages);
        }
        Ok(exit)
    }

    fn answer(
        &self,
        site: &Site,
        model: &Model,
        plan: &Plan,
        found: Result<Place<'_>, PlacementError>,
    ) -> Result<Answer, Error> {
        let name = model.path().to_string_lossy().into_owned();
        let head = Object::new().text("file", &name);
        match found {
            Err(PlacementError::Address(sentence)) => Err(Error::usage(sentence)),
            Err(PlacementError::NoRoom { missing, sentence }) => {
                let json = head.flag("ok", true).flag("fits", false).text("chip", &site.chip.name);
                let json = json.number("bytes", plan.file_bytes).number("missing", missing);
                let json = json.text("message", &sentence).end();
                Ok(Answer {
                    name,
                    lines: vec![format!("does not fit: {sentence}")],
                    json,
                    pages: None,
                    good: false,
                })
            }
            Ok(place) => self.good(site, model, plan, &place),
        }
    }

    fn good(&self, site: &Site, model: &Model, plan: &Plan, place: &Place<'_>) -> Result<Answer, Error> {
        let wanted = self.align.unwrap_or(1);
        let alignment = Alignment::of(model, plan.data_start, place.range.start, wanted)?;
        let name = model.path().to_string_lossy().into_owned();
        let mut lines = vec![first_line(site, place, plan)];
        lines.extend(rest_line(place));
        lines.extend(size_line(site, place));
        lines.push(alignment_line(&alignment));
        lines.push(index_line(site, plan));
        let json = json(&name, site, plan, place, &alignment);
        let good = self.align.is_none() || alignment.misaligned == 0;
        Ok(Answer { name, lines, json, pages: Some(place.pages.clone()), good })
    }
}

/// The error for a model when the previous one ends at the end of flash.
fn no_room_behind(bytes: u64) -> PlacementError {
    let sentence = format!("{} bytes needed, no flash left after the previous model", grouped(bytes));
    PlacementError::NoRoom { missing: bytes, sentence }
}

/// The answer for one model.
struct Answer {
    name: String,
    lines: Vec<String>,
    json: String,
    pages: Option<std::ops::Range<u64>>,
    good: bool,
}

impl Answer {
    fn exit(&self) -> Exit {
        if self.good { Exit::Good } else { Exit::Bad }
    }

    fn print(&self, json: bool, with_name: bool) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if json {
            return writeln!(out, "{}", self.json);
        }
        let name = if with_name { format!("{}: ", shown_text(&self.name)) } else { String::new() };
        writeln!(out, "{name}{}", self.lines.join("\n  "))
    }
}

fn first_line(site: &Site, place: &Place<'_>, plan: &Plan) -> String {
    let free = place.free_below(&site.used);
    let free = match (free, site.used.is_empty()) {
        (0, _) => "no free flash below".to_owned(),
        (free, true) => format!("{} of flash free below", size(free)),
        (free, false) => format!("{} of flash free between it and used flash below", size(free)),
    };
    let (bytes, range) = (grouped(plan.file_bytes), span(&place.range));
    format!("fits: {bytes} bytes at {range} ({}); {free}", counted(&place.touched()))
}

fn rest_line(place: &Place<'_>) -> Option<String> {
    let rest = place.rest();
    (rest > 0).then(|| format!("{} bytes of its last page unused", grouped(rest)))
}

fn size_line(site: &Site, place: &Place<'_>) -> Option<String> {
    let need = place.pages.end - place.area.pages.range().start;
    let sentence = || format!("the external flash must have at least {}", size(need));
    (!site.is_sized).then(sentence)
}

fn alignment_line(alignment: &Alignment) -> String {
    let Alignment { tensors, misaligned, .. } = alignment;
    match (&alignment.first, alignment.remedy) {
        (Some((name, address, of)), Some(remedy)) => format!(
            "{misaligned} of {tensors} tensors misaligned: {} is at {}, not a multiple of {of}; \
             `{}` aligns them all",
            quoted(name),
            hex(*address),
            remedy.command()
        ),
        (Some((name, address, of)), None) => format!(
            "{misaligned} of {tensors} tensors misaligned: {} is at {}, not a multiple of {of}; the model's \
             own address is not a multiple of {of} either, so reordering its tensors does not help",
            quoted(name),
            hex(*address)
        ),
        _ => "all tensors aligned: a `View` gives their elements in place".to_owned(),
    }
}

fn index_line(site: &Site, plan: &Plan) -> String {
    let (index, ram) = (grouped(plan.sizes.index_bytes()), size(site.chip.ram));
    if plan.sizes.index_bytes() > site.chip.ram {
        return format!(
            "index too large: {index} bytes needed, {ram} of RAM available; open the model without an index"
        );
    }
    format!("an index, if used, takes {index} bytes of {ram} of RAM")
}

fn json(name: &str, site: &Site, plan: &Plan, place: &Place<'_>, alignment: &Alignment) -> String {
    let page = |(count, bytes): (u64, u64)| Object::new().number("count", count).number("bytes", bytes).end();
    let pages = array(place.touched().into_iter().map(page));
    let object = Object::new()
        .text("file", name)
        .flag("ok", true)
        .flag("fits", true)
        .text("chip", &site.chip.name)
        .number("bytes", plan.file_bytes)
        .number("address", place.range.start)
        .number("end", place.range.end)
        .number("pages_start", place.pages.start)
        .number("pages_end", place.pages.end)
        .raw("pages", &pages)
        .number("unused", place.rest())
        .number("free_below", place.free_below(&site.used))
        .number("tensors", alignment.tensors)
        .number("misaligned", alignment.misaligned);
    let object = match (&alignment.first, alignment.remedy) {
        (Some((first, ..)), Some(remedy)) => {
            object.text("first_misaligned", first).text("remedy", &remedy.command())
        }
        (Some((first, ..)), None) => object.text("first_misaligned", first),
        _ => object,
    };
    object.number("index_bytes", plan.sizes.index_bytes()).number("ram_bytes", site.chip.ram).end()
}

/// Lists all names that contain the pattern, ignoring case.
fn list(pattern: &str, json: bool) -> Outcome {
    let lower = pattern.to_ascii_lowercase();
    let mut names = registry::names(&Registry::from_builtin_families());
    names.retain(|name| name.to_ascii_lowercase().contains(&lower));
    if names.is_empty() {
        return Err(Error::usage(format!("no chip name contains {}", quoted(pattern))));
    }
    let mut out = BufWriter::new(io::stdout().lock());
    if json {
        let chips = array(names.iter().map(|name| crate::json::quoted(name)));
        writeln!(out, "{}", Object::new().flag("ok", true).raw("chips", &chips).end())?;
    } else {
        names.iter().try_for_each(|name| writeln!(out, "{name}"))?;
    }
    out.flush()?;
    Ok(Exit::Good)
}
