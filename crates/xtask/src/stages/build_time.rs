//! What it costs to have the compiler read a model: the time, and where its lint for long evaluations complains.

use super::readme;
use super::scratch::Scratch;
use crate::model::ModelFile;
use crate::process::{Run, everything};
use crate::report::{Outcome, Tally};
use std::fmt::Write;
use std::time::Duration;

/// How much longer a build may take with a model of so many tensors. The readme promises it.
const MOST: (usize, Duration) = (200, Duration::from_secs(1));
/// How long the check of so many names may take, where the macro has made no table. The readme promises it.
const MOST_FOR_NAMES: (usize, Duration) = (200, Duration::from_secs(1));
/// How long a model of so many MiB may take. The readme promises it.
const MOST_FOR_DATA: (usize, Duration) = (16, Duration::from_secs(3));
/// How long so many keys of `__metadata__` may take. The readme promises it.
const MOST_FOR_KEYS: (usize, Duration) = (300, Duration::from_secs(1));
/// How long a value with so many escapes in it may take, as one has that is JSON itself. The readme promises it.
const MOST_FOR_ESCAPES: (usize, Duration) = (21_000, Duration::from_secs(2));
/// So many tensors do not set off the lint for a view, for one whose header is spelled with spaces, and for the check of all
/// names. The readme promises it.
const SILENT: [usize; 3] = [2000, 1000, 1000];
/// As many tensors as no network has that fits into a microcontroller.
const MANY: usize = 2000;

const SIZES: [usize; 4] = [10, 50, 200, 1000];
const NAMES: [usize; 4] = [50, 100, 200, 400];
const LINT: &str = "long_running_const_eval";

/// How often each build is timed, to have the best of them.
const RUNS: usize = 2;

pub fn measure() -> Outcome {
    let mut tally = Tally::default();
    tally.check("the readme promises these limits", readme::check(promises()));
    let scratch = Scratch::new("build-time")?;
    for profile in [Profile::Debug, Profile::Release] {
        tally.measured(profile.name(), measure_lookups(&scratch, profile));
        tally.measured(profile.name(), measure_data(&scratch, profile));
    }
    tally.measured(Profile::Debug.name(), measure_names(&scratch, Profile::Debug));
    tally.measured(Profile::Debug.name(), measure_metadata(&scratch, Profile::Debug));
    tally.measured("lint", find_lint(&scratch));
    Ok(tally)
}

/// What the readme says of it.
fn promises() -> [String; 7] {
    let [lookups, names, data, keys, escapes] =
        [MOST, MOST_FOR_NAMES, MOST_FOR_DATA, MOST_FOR_KEYS, MOST_FOR_ESCAPES]
            .map(|(many, time)| (many, time.as_secs()));
    let [usual, spaced, checked] = SILENT;
    [
        format!("{} tensors, all looked up, take less than {} s of a build", lookups.0, lookups.1),
        format!("a file of {} MiB takes less than {} s", data.0, data.1),
        format!("check of {} names takes less than {} s", names.0, names.1),
        format!(
            "{} keys of `__metadata__` take less than {} s, a value with {} escapes less than {} s",
            keys.0, keys.1, escapes.0, escapes.1
        ),
        format!("by `View::embed` it is silent for {} tensors", grouped(usual)),
        format!("for {} in a header that is spelled with spaces", grouped(spaced)),
        format!("and for the check of {} names", grouped(checked)),
    ]
}

/// `1,125`
fn grouped(number: usize) -> String {
    format!("{},{:03}", number / 1000, number % 1000)
}

#[derive(Clone, Copy)]
enum Profile {
    Debug,
    Release,
}

impl Profile {
    fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Release => "release",
        }
    }

    fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Debug => &[],
            Self::Release => &["--release"],
        }
    }
}

/// A model with every tensor looked up, against a crate without anything.
fn measure_lookups(scratch: &Scratch, profile: Profile) -> Result<String, String> {
    let mut sentence = "a model with all tensors looked up takes".to_owned();
    let without = fastest(scratch, profile, "")?;
    for tensors in SIZES {
        let extra = fastest(scratch, profile, &looking_up(scratch, tensors)?)?.saturating_sub(without);
        say(&mut sentence, tensors, extra);
        if tensors <= MOST.0 && extra >= MOST.1 {
            return Err(sentence + " which is too long");
        }
    }
    Ok(sentence)
}

/// A model with much data, against a crate without anything.
fn measure_data(scratch: &Scratch, profile: Profile) -> Result<String, String> {
    let (mebibytes, most) = MOST_FOR_DATA;
    let len = mebibytes << 20;
    let file = ModelFile::default().with("a", "U8", &format!("[{len}]"), std::iter::repeat_n(1, len)).bytes();
    let with = format!(
        "{}pub static A: &[u8; {len}] = MODEL.expect_array(\"a\");\n",
        include(scratch, "large", &file)?
    );
    let [without, with] = ["", &with].map(|source| fastest(scratch, profile, source));
    let extra = with?.saturating_sub(without?);
    let sentence = format!("a model of {mebibytes} MiB takes {:.2} s", extra.as_secs_f32());
    if extra < most { Ok(sentence) } else { Err(sentence + ", which is too long") }
}

/// The check that all names differ, without the table that the macro makes, against the same model without it.
fn measure_names(scratch: &Scratch, profile: Profile) -> Result<String, String> {
    let mut sentence = "the check of all names alone, without a table, takes".to_owned();
    for tensors in NAMES {
        let file = model(tensors);
        let [without, with] =
            ["", UNIQUE].map(|check| fastest(scratch, profile, &by_hand(scratch, &file, check)?));
        let extra = with?.saturating_sub(without?);
        say(&mut sentence, tensors, extra);
        if tensors <= MOST_FOR_NAMES.0 && extra >= MOST_FOR_NAMES.1 {
            return Err(sentence + " which is too long");
        }
    }
    Ok(sentence)
}

/// `__metadata__` of a small model, against the model without.
fn measure_metadata(scratch: &Scratch, profile: Profile) -> Result<String, String> {
    let ((keys, most_for_keys), (escapes, most_for_escapes)) = (MOST_FOR_KEYS, MOST_FOR_ESCAPES);
    let many_keys: Vec<_> =
        (0..keys).map(|key| format!(r#""training.parameter.{key}":"value {key}""#)).collect();
    let many_escapes = format!(r#""config":"{}""#, r#"\"x"#.repeat(escapes));
    let [without, with_keys, with_escapes] =
        ["", &many_keys.join(","), &many_escapes].map(|pairs| -> Result<Duration, String> {
            let file = with_metadata(pairs);
            let used = "pub static FILE: &[u8] = MODEL.file();\n";
            fastest(scratch, profile, &(include(scratch, "metadata", &file)? + used))
        });
    let without = without?;
    let (for_keys, for_escapes) = (with_keys?.saturating_sub(without), with_escapes?.saturating_sub(without));
    let sentence = format!(
        "`__metadata__` takes {:.2} s with {keys} keys, {:.2} s with {escapes} escapes in a value",
        for_keys.as_secs_f32(),
        for_escapes.as_secs_f32()
    );
    let is_fast = for_keys < most_for_keys && for_escapes < most_for_escapes;
    if is_fast { Ok(sentence) } else { Err(sentence + ", which is too long") }
}

fn say(sentence: &mut String, tensors: usize, time: Duration) {
    // Writing to a `String` cannot fail.
    let _ = write!(sentence, " {:.2} s for {tensors},", time.as_secs_f32());
}

/// The shortest of some builds of the library from the start, the core being built.
fn fastest(scratch: &Scratch, profile: Profile, source: &str) -> Result<Duration, String> {
    let times = (0..=RUNS).map(|run| {
        scratch.write("src/lib.rs", format!("// {run}\n#![allow({LINT})]\n{source}").as_bytes())?;
        build(scratch, profile).timed()
    });
    // The first may have built the core as well.
    let times: Result<Vec<Duration>, String> = times.skip(1).collect();
    times?.into_iter().min().ok_or_else(|| "nothing was timed".to_owned())
}

/// With nothing remembered of earlier builds.
fn build(scratch: &Scratch, profile: Profile) -> Run {
    scratch.cargo("build").args(["--lib"]).args(profile.flags()).env("CARGO_INCREMENTAL", "0")
}

/// Where the lint complains: of a view that is made without the macro, of one whose header is not spelled as usual, and of
/// the check of names. Of the macro it never may.
fn find_lint(scratch: &Scratch) -> Result<String, String> {
    if complains(scratch, &looking_up(scratch, MANY)?)? {
        return Err(format!("{LINT} complains of include_model! with {MANY} tensors"));
    }
    let usual = largest_silent(scratch, |tensors| by_hand(scratch, &model(tensors), ""))?;
    let spaced = largest_silent(scratch, |tensors| by_hand(scratch, &spaced(tensors), ""))?;
    let names = largest_silent(scratch, |tensors| by_hand(scratch, &model(tensors), UNIQUE))?;
    let sentence = format!(
        "{LINT} is silent for a view of {usual} tensors or more, of {spaced} spelled with spaces, and for the check of {names} names"
    );
    let found = [usual, spaced, names];
    if found.iter().zip(SILENT).any(|(found, promised)| *found < promised) {
        Err(sentence)
    } else {
        Ok(sentence)
    }
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
    let output = scratch.cargo("check").args(["--lib"]).env("CARGO_INCREMENTAL", "0").output()?;
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
    Ok([uses, include(scratch, "model", &model(tensors))?].into_iter().chain(lookups).collect())
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
fn model(tensors: usize) -> Vec<u8> {
    matrices(tensors).bytes()
}

/// The same with spaces in its header, as the JSON libraries of some languages put them.
fn spaced(tensors: usize) -> Vec<u8> {
    let header = matrices(tensors).header().replace(':', ": ").replace(',', ", ");
    matrices(tensors).bytes_with_header(&header)
}

/// Ten tensors behind these pairs, where the usual writers put them.
fn with_metadata(pairs: &str) -> Vec<u8> {
    let header = matrices(10).header().replacen('{', &format!(r#"{{"__metadata__":{{{pairs}}},"#), 1);
    matrices(10).bytes_with_header(&header)
}

fn matrices(tensors: usize) -> ModelFile {
    (0..tensors)
        .fold(ModelFile::default(), |model, ordinal| model.with(&name(ordinal), "F16", "[4,8]", [0; 64]))
}

fn name(ordinal: usize) -> String {
    let part = ["up", "down"][ordinal % 2];
    format!("model.layers.{}.mlp.{part}_proj.weight", ordinal / 2)
}
