//! What it costs to have the compiler read a model: the time, and where its lint for long evaluations complains.

use super::readme;
use super::scratch::Scratch;
use crate::model::ModelFile;
use crate::process::{Run, everything};
use crate::report::{Outcome, Tally};
use std::time::Duration;

/// How many seconds so much may take. The readme promises all of these.
struct Limit {
    many: usize,
    seconds: u64,
}

/// A build with a model of so many tensors, beside one without.
const LOOKUPS: Limit = Limit { many: 200, seconds: 1 };
/// The check of so many names, where the macro has made no table.
const NAMES: Limit = Limit { many: 200, seconds: 1 };
/// A model of so many MiB.
const DATA: Limit = Limit { many: 16, seconds: 3 };
/// So many keys of `__metadata__`.
const KEYS: Limit = Limit { many: 300, seconds: 1 };
/// A value with so many escapes in it, as one has that is JSON itself.
const ESCAPES: Limit = Limit { many: 21_000, seconds: 2 };
/// So many tensors do not set off the lint for a view, for one whose header is spelled with spaces, and for the check of all
/// names.
const SILENT: [usize; 3] = [2000, 1000, 1000];
/// As many tensors as no network has that fits into a microcontroller.
const MANY: usize = 2000;
const LINT: &str = "long_running_const_eval";

/// How often each build is timed, to have the best of them.
const RUNS: usize = 2;

impl Limit {
    /// As the readme has it.
    fn promise(&self, many: &str, takes: &str) -> String {
        format!("{} {many} {takes} less than {} s", self.many, self.seconds)
    }

    fn allows(&self, time: Duration) -> bool {
        time < Duration::from_secs(self.seconds)
    }
}

pub fn measure() -> Outcome {
    let mut tally = Tally::default();
    tally.check("the readme promises these limits", readme::check(promises()));
    let scratch = Scratch::new("build-time")?;
    for (name, flags) in [("debug", &[][..]), ("release", &["--release"][..])] {
        let build = Build { scratch: &scratch, flags };
        tally.measured(name, build.lookups());
        tally.measured(name, build.data());
    }
    let debug = Build { scratch: &scratch, flags: &[] };
    tally.measured("debug", debug.names());
    tally.measured("debug", debug.metadata());
    tally.measured("lint", find_lint(&scratch));
    Ok(tally)
}

fn promises() -> [String; 7] {
    let [view, spaced, names] = SILENT.map(|many| format!("{},{:03}", many / 1000, many % 1000));
    [
        LOOKUPS.promise("tensors, all looked up,", "take") + " of a build",
        format!("a file of {}", DATA.promise("MiB", "takes")),
        format!("check of {}", NAMES.promise("names", "takes")),
        format!(
            "{}, a value with {} escapes less than {} s",
            KEYS.promise("keys of `__metadata__`", "take"),
            ESCAPES.many,
            ESCAPES.seconds
        ),
        format!("by `View::embed` it is silent for {view} tensors"),
        format!("for {spaced} in a header that is spelled with spaces"),
        format!("and for the check of {names} names"),
    ]
}

/// Builds of one profile.
struct Build<'a> {
    scratch: &'a Scratch,
    flags: &'a [&'a str],
}

impl Build<'_> {
    /// A model with every tensor looked up, against a crate without anything.
    fn lookups(&self) -> Result<String, String> {
        let without = self.fastest("")?;
        let sizes = [10, 50, LOOKUPS.many, 1000];
        let times = sizes.map(|many| self.extra(without, &looking_up(self.scratch, many)?));
        self.judge("a model with all tensors looked up takes", &LOOKUPS, sizes, times)
    }

    /// The check that all names differ, without the table that the macro makes, against the same model without it.
    fn names(&self) -> Result<String, String> {
        let sizes = [50, 100, NAMES.many, 400];
        let times = sizes.map(|many| {
            let source = |check| by_hand(self.scratch, &matrices(many).bytes(), check);
            self.extra(self.fastest(&source("")?)?, &source(UNIQUE)?)
        });
        self.judge("the check of all names alone, without a table, takes", &NAMES, sizes, times)
    }

    /// Says how long so many took; an error when as many as the limit is about took too long.
    fn judge(
        &self,
        what: &str,
        limit: &Limit,
        sizes: [usize; 4],
        times: [Result<Duration, String>; 4],
    ) -> Result<String, String> {
        let (mut sentence, mut is_kept) = (what.to_owned(), true);
        for (many, time) in sizes.into_iter().zip(times) {
            let time = time?;
            sentence += &format!(" {:.2} s for {many},", time.as_secs_f32());
            is_kept &= many > limit.many || limit.allows(time);
        }
        if is_kept { Ok(sentence) } else { Err(sentence + " which is too long") }
    }

    /// A model with much data, against a crate without anything.
    fn data(&self) -> Result<String, String> {
        let len = DATA.many << 20;
        let file = ModelFile::default().with("a", "U8", &format!("[{len}]"), vec![1; len]).bytes();
        let used = format!("pub static A: &[u8; {len}] = MODEL.expect_array(\"a\");\n");
        let time = self.extra(self.fastest("")?, &(include(self.scratch, "large", &file)? + &used))?;
        let sentence = format!("a model of {} MiB takes {:.2} s", DATA.many, time.as_secs_f32());
        if DATA.allows(time) { Ok(sentence) } else { Err(sentence + ", which is too long") }
    }

    /// `__metadata__` of a small model, against the model without.
    fn metadata(&self) -> Result<String, String> {
        let keys = (0..KEYS.many).map(|key| format!(r#""training.parameter.{key}":"value {key}""#));
        let (keys, escapes) = (keys.collect::<Vec<_>>().join(","), r#"\"x"#.repeat(ESCAPES.many));
        let source = |pairs: &str| {
            // Where the usual writers put them.
            let header = matrices(10).header().replacen('{', &format!(r#"{{"__metadata__":{{{pairs}}},"#), 1);
            let include = include(self.scratch, "metadata", &matrices(10).bytes_with_header(&header))?;
            Ok::<_, String>(include + "pub static FILE: &[u8] = MODEL.file();\n")
        };
        let without = self.fastest(&source("")?)?;
        let for_keys = self.extra(without, &source(&keys)?)?;
        let for_escapes = self.extra(without, &source(&format!(r#""config":"{escapes}""#))?)?;
        let sentence = format!(
            "`__metadata__` takes {:.2} s with {} keys, {:.2} s with {} escapes in a value",
            for_keys.as_secs_f32(),
            KEYS.many,
            for_escapes.as_secs_f32(),
            ESCAPES.many
        );
        let is_kept = KEYS.allows(for_keys) && ESCAPES.allows(for_escapes);
        if is_kept { Ok(sentence) } else { Err(sentence + ", which is too long") }
    }

    fn extra(&self, without: Duration, source: &str) -> Result<Duration, String> {
        Ok(self.fastest(source)?.saturating_sub(without))
    }

    /// The shortest of some builds of the library from the start, the core being built.
    fn fastest(&self, source: &str) -> Result<Duration, String> {
        let times = (0..=RUNS).map(|run| {
            self.scratch.write("src/lib.rs", format!("// {run}\n#![allow({LINT})]\n{source}").as_bytes())?;
            cargo(self.scratch, "build").args(self.flags).timed()
        });
        // The first may have built the core as well.
        let times: Result<Vec<Duration>, String> = times.skip(1).collect();
        times?.into_iter().min().ok_or_else(|| "nothing was timed".to_owned())
    }
}

/// With nothing remembered of earlier builds.
fn cargo(scratch: &Scratch, subcommand: &str) -> Run {
    scratch.cargo(subcommand).args(["--lib"]).env("CARGO_INCREMENTAL", "0")
}

/// Where the lint complains: of a view that is made without the macro, of one whose header is not spelled as usual, and of
/// the check of names. Of the macro it never may.
fn find_lint(scratch: &Scratch) -> Result<String, String> {
    if complains(scratch, &looking_up(scratch, MANY)?)? {
        return Err(format!("{LINT} complains of include_model! with {MANY} tensors"));
    }
    let view = largest_silent(scratch, |many| by_hand(scratch, &matrices(many).bytes(), ""))?;
    // As the JSON libraries of some languages put them.
    let spaced = |many| matrices(many).header().replace(':', ": ").replace(',', ", ");
    let spaced = largest_silent(scratch, |many| {
        by_hand(scratch, &matrices(many).bytes_with_header(&spaced(many)), "")
    })?;
    let names = largest_silent(scratch, |many| by_hand(scratch, &matrices(many).bytes(), UNIQUE))?;
    let sentence = format!(
        "{LINT} is silent for a view of {view} tensors or more, of {spaced} spelled with spaces, and for the check of {names} names"
    );
    let is_kept = [view, spaced, names].iter().zip(SILENT).all(|(found, promised)| *found >= promised);
    if is_kept { Ok(sentence) } else { Err(sentence) }
}

/// The largest number of tensors, to a tenth, that does not set off the lint; no more than are tried.
fn largest_silent(
    scratch: &Scratch,
    source: impl Fn(usize) -> Result<String, String>,
) -> Result<usize, String> {
    let complains = |tensors| complains(scratch, &source(tensors)?);
    if !complains(MANY)? {
        return Ok(MANY);
    }
    let (mut silent, mut loud) = (0, MANY);
    while (loud - silent) * 10 > loud {
        let middle = silent.midpoint(loud);
        if complains(middle)? { loud = middle } else { silent = middle }
    }
    Ok(silent)
}

fn complains(scratch: &Scratch, source: &str) -> Result<bool, String> {
    scratch.write("src/lib.rs", source.as_bytes())?;
    let output = cargo(scratch, "check").output()?;
    let said = everything(&output);
    match (output.status.success(), said.contains(LINT)) {
        (true, _) => Ok(false),
        (false, true) => Ok(true),
        (false, false) => Err(format!("this does not build:\n{said}")),
    }
}

fn looking_up(scratch: &Scratch, tensors: usize) -> Result<String, String> {
    let lookups = (0..tensors).map(|ordinal| {
        let name = name(ordinal);
        format!("pub static T{ordinal}: Tensor<'static> = MODEL.expect({name:?}, Dtype::F16, &[4, 8]);\n")
    });
    let uses = "use embedded_safetensors::{Dtype, Tensor};\n".to_owned();
    Ok([uses, include(scratch, "model", &matrices(tensors).bytes())?].into_iter().chain(lookups).collect())
}

/// Writes the file, and gives the source that includes it.
fn include(scratch: &Scratch, name: &str, file: &[u8]) -> Result<String, String> {
    scratch.write(&format!("models/{name}.safetensors"), file)?;
    Ok(format!(
        "use embedded_safetensors::{{View, include_model}};\n\
         pub const MODEL: View<'static> = include_model!(\"../models/{name}.safetensors\", 16);\n"
    ))
}

const UNIQUE: &str = ".with_unique_names()";

/// Writes the file, and gives the source of a view of it without the macro, and what is done with it.
fn by_hand(scratch: &Scratch, file: &[u8], with: &str) -> Result<String, String> {
    scratch.write("models/by-hand.safetensors", file)?;
    Ok(format!(
        "use embedded_safetensors::{{View, include_aligned}};\n\
         pub const MODEL: View<'static> = View::embed(include_aligned!(\"../models/by-hand.safetensors\", 16)){with};\n"
    ))
}

/// F16 matrices, named as most networks name them.
fn matrices(tensors: usize) -> ModelFile {
    (0..tensors)
        .fold(ModelFile::default(), |model, ordinal| model.with(&name(ordinal), "F16", "[4,8]", [0; 64]))
}

fn name(ordinal: usize) -> String {
    let part = ["up", "down"][ordinal % 2];
    format!("model.layers.{}.mlp.{part}_proj.weight", ordinal / 2)
}
