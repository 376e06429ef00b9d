//! Measures the cost of models at compile time: the time of builds, and when the lint for long evaluations
//! warns.

use super::pages;
use super::scratch::Scratch;
use crate::model::{ModelFile, spaced};
use crate::process::{Run, everything};
use crate::report::{Outcome, Tally};
use std::time::Duration;

/// More tensors than any network for a microcontroller has.
const MANY: usize = 2000;
/// Numbers of tensors for which the lint is silent: for a view, for a view of a spaced header, and for the
/// check of all names. The page of costs states them.
const SILENT: [usize; 3] = [1000, 1000, 500];
/// A number of names for which the check triggers the lint, to show that a warning would be seen.
const LOUD: usize = 4000;
const LINT: &str = "long_running_const_eval";

/// How often each build is timed; the fastest counts.
const RUNS: usize = 2;

const DEBUG: &[&str] = &[];
const RELEASE: &[&str] = &["--release"];

/// A difference of build times: with something, and without it.
struct Measure {
    what: &'static str,
    /// The sentence with the limit in the page of costs; `MANY` and `SECONDS` stand for [`most`](Self::most).
    promise: &'static str,
    /// A number of items, and the seconds that they may take at most.
    most: (usize, u64),
    /// The numbers of items that are measured.
    sizes: &'static [usize],
    profiles: &'static [&'static [&'static str]],
    with: Source,
    without: Source,
}

/// Returns source code with this many items.
type Source = fn(&Scratch, usize) -> Result<String, String>;

const MEASURES: [Measure; 5] = [
    Measure {
        what: "a model with all tensors looked up",
        promise: "MANY tensors, all looked up, take less than SECONDS s of a build",
        most: (200, 1),
        sizes: &[10, 50, 200, 1000],
        profiles: &[DEBUG, RELEASE],
        with: looking_up,
        without: nothing,
    },
    Measure {
        what: "a model of so many MiB",
        promise: "a file of MANY MiB takes less than SECONDS s",
        most: (16, 3),
        sizes: &[16],
        profiles: &[DEBUG, RELEASE],
        with: with_data,
        without: nothing,
    },
    Measure {
        what: "the check of all names without the macro's table",
        promise: "check of MANY names takes less than SECONDS s",
        most: (200, 1),
        sizes: &[50, 100, 200, 400],
        profiles: &[DEBUG],
        with: |scratch, many| by_hand(scratch, &matrices(many).bytes(), UNIQUE),
        without: |scratch, many| by_hand(scratch, &matrices(many).bytes(), ""),
    },
    Measure {
        what: "`__metadata__` with so many keys",
        promise: "MANY keys of `__metadata__` take less than SECONDS s",
        most: (300, 1),
        sizes: &[300],
        profiles: &[DEBUG],
        with: |scratch, many| with_metadata(scratch, &keys(many)),
        without: |scratch, _| with_metadata(scratch, ""),
    },
    // Such as a value that is itself JSON.
    Measure {
        what: "a value with so many escapes",
        promise: "a value with MANY escapes less than SECONDS s",
        most: (21_000, 1),
        sizes: &[21_000],
        profiles: &[DEBUG],
        with: |scratch, many| with_metadata(scratch, &format!(r#""config":"{}""#, r#"\"x"#.repeat(many))),
        without: |scratch, _| with_metadata(scratch, ""),
    },
];

pub fn measure() -> Outcome {
    let mut tally = Tally::default();
    tally.check("the page of costs states these limits", pages::check(pages::COSTS, promises()));
    let scratch = Scratch::new("build-time")?;
    // The library is built before anything is timed.
    for profile in [DEBUG, RELEASE] {
        cargo(&scratch, "build").args(profile).capture()?;
    }
    for measure in MEASURES {
        for profile in measure.profiles {
            let name = if profile.is_empty() { "debug" } else { "release" };
            tally.measured(name, measure.run(&scratch, profile));
        }
    }
    tally.measured("lint", find_lint(&scratch));
    Ok(tally)
}

fn promises() -> impl Iterator<Item = String> {
    let limits = MEASURES.map(|Measure { promise, most: (many, seconds), .. }| {
        promise.replace("MANY", &many.to_string()).replace("SECONDS", &seconds.to_string())
    });
    let [view, spaced, names] = SILENT.map(|many| match (many / 1000, many % 1000) {
        (0, many) => many.to_string(),
        (thousands, rest) => format!("{thousands},{rest:03}"),
    });
    limits.into_iter().chain([
        format!("It does not fire for a `View::embed` of {view} tensors"),
        format!("of {spaced} in a header with spaces"),
        format!("or for the check of {names} names"),
    ])
}

impl Measure {
    fn run(&self, scratch: &Scratch, profile: &[&str]) -> Result<String, String> {
        let (mut sentence, mut is_kept) = (format!("{} takes", self.what), true);
        for &many in self.sizes {
            let without = fastest(scratch, profile, &(self.without)(scratch, many)?)?;
            let extra = fastest(scratch, profile, &(self.with)(scratch, many)?)?.saturating_sub(without);
            sentence += &format!(" {:.2} s for {many},", extra.as_secs_f32());
            is_kept &= many > self.most.0 || extra < Duration::from_secs(self.most.1);
        }
        if is_kept { Ok(sentence) } else { Err(sentence + " too long") }
    }
}

/// Returns the shortest time of some clean builds of the package, with its dependencies already built.
fn fastest(scratch: &Scratch, profile: &[&str], source: &str) -> Result<Duration, String> {
    let times = (0..RUNS).map(|run| {
        scratch.write("src/lib.rs", format!("// {run}\n#![allow({LINT})]\n{source}").as_bytes())?;
        cargo(scratch, "build").args(profile).timed()
    });
    let times: Result<Vec<Duration>, String> = times.collect();
    times?.into_iter().min().ok_or_else(|| "nothing was timed".to_owned())
}

/// Runs cargo without incremental compilation.
fn cargo(scratch: &Scratch, subcommand: &str) -> Run {
    scratch.cargo(subcommand).args(["--lib"]).env("CARGO_INCREMENTAL", "0")
}

/// Checks when the lint is silent: always for the macro; up to a number of tensors for a view made without
/// it, for a view of a spaced header, and for the check of names.
fn find_lint(scratch: &Scratch) -> Result<String, String> {
    let silent = |what, tensors, source: Result<String, String>| match warns(scratch, &source?)? {
        true => Err(format!("{LINT} warns about {what} with {tensors} tensors")),
        false => Ok(()),
    };
    let [view, with_spaces, names] = SILENT;
    let spaced_file = matrices(with_spaces).bytes_with_header(&spaced(&matrices(with_spaces).header()));
    silent("include_model!", MANY, looking_up(scratch, MANY))?;
    silent("a view", view, by_hand(scratch, &matrices(view).bytes(), ""))?;
    silent("a view with spaces", with_spaces, by_hand(scratch, &spaced_file, ""))?;
    silent("the check of names", names, by_hand(scratch, &matrices(names).bytes(), UNIQUE))?;
    if !warns(scratch, &by_hand(scratch, &matrices(LOUD).bytes(), UNIQUE)?)? {
        return Err(format!("{LINT} does not warn even about the check of {LOUD} names"));
    }
    Ok(format!(
        "{LINT} is silent for a view of {view} tensors, of {with_spaces} in a spaced header, \
         and for the check of {names} names"
    ))
}

fn warns(scratch: &Scratch, source: &str) -> Result<bool, String> {
    scratch.write("src/lib.rs", source.as_bytes())?;
    let output = cargo(scratch, "check").output()?;
    let text = everything(&output);
    match (output.status.success(), text.contains(LINT)) {
        (true, _) => Ok(false),
        (false, true) => Ok(true),
        (false, false) => Err(format!("the build failed:\n{text}")),
    }
}

fn nothing(_: &Scratch, _: usize) -> Result<String, String> {
    Ok(String::new())
}

fn with_data(scratch: &Scratch, mebibytes: usize) -> Result<String, String> {
    let len = mebibytes << 20;
    let file = ModelFile::default().with("a", "U8", &format!("[{len}]"), vec![1; len]).bytes();
    let used = format!("pub static A: &[u8; {len}] = MODEL.expect_array(\"a\");\n");
    Ok(include(scratch, "large", &file)? + &used)
}

fn keys(many: usize) -> String {
    let keys = (0..many).map(|key| format!(r#""training.parameter.{key}":"value {key}""#));
    keys.collect::<Vec<_>>().join(",")
}

/// A small model with `__metadata__` where most writers put it.
fn with_metadata(scratch: &Scratch, pairs: &str) -> Result<String, String> {
    let header = matrices(10).header().replacen('{', &format!(r#"{{"__metadata__":{{{pairs}}},"#), 1);
    let include = include(scratch, "metadata", &matrices(10).bytes_with_header(&header))?;
    Ok(include + "pub static FILE: &[u8] = MODEL.file();\n")
}

fn looking_up(scratch: &Scratch, tensors: usize) -> Result<String, String> {
    let lookups = (0..tensors).map(|ordinal| {
        let name = name(ordinal);
        format!("pub static T{ordinal}: Tensor<'static> = MODEL.expect({name:?}, Dtype::F16, &[4, 8]);\n")
    });
    let uses = "use embedded_safetensors::{Dtype, Tensor};\n".to_owned();
    Ok([uses, include(scratch, "model", &matrices(tensors).bytes())?].into_iter().chain(lookups).collect())
}

/// Writes the file, and returns the source that includes it.
fn include(scratch: &Scratch, name: &str, file: &[u8]) -> Result<String, String> {
    scratch.write(&format!("models/{name}.safetensors"), file)?;
    Ok(format!(
        "use embedded_safetensors::{{View, include_model}};\n\
         pub const MODEL: View<'static> = include_model!(\"../models/{name}.safetensors\", 16);\n"
    ))
}

const UNIQUE: &str = ".with_unique_names()";

/// Writes the file, and returns the source of a view of it without the macro, followed by `with`.
fn by_hand(scratch: &Scratch, file: &[u8], with: &str) -> Result<String, String> {
    scratch.write("models/by-hand.safetensors", file)?;
    Ok(format!(
        "use embedded_safetensors::{{View, include_aligned}};\n\
         pub const MODEL: View<'static> =\n\
         View::embed(include_aligned!(\"../models/by-hand.safetensors\", 16)){with};\n"
    ))
}

/// Returns F16 matrices with typical names.
fn matrices(tensors: usize) -> ModelFile {
    (0..tensors)
        .fold(ModelFile::default(), |model, ordinal| model.with(&name(ordinal), "F16", "[4,8]", [0; 64]))
}

fn name(ordinal: usize) -> String {
    let part = ["up", "down"][ordinal % 2];
    format!("model.layers.{}.mlp.{part}_proj.weight", ordinal / 2)
}
