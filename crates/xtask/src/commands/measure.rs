//! `cargo xtask measure [WHAT] [--json] [--write] [--bless]`

use super::Command;
use crate::measure::{self, MEASURES, Measure, Measured, Options};
use crate::process;
use serde_json::{Map, Value};
use std::process::ExitCode;

pub const COMMAND: Command = Command {
    name: "measure",
    about:
        "measure costs against benches/limits.toml: firmware, desktop, speed, formats, python, command; all
            by default
            (--json: one object; --write: update the pages; --bless: counts become the limits;
            --hdf5: also HDF5, which takes minutes and cmake to build)",
    run,
};

fn run(words: &[String]) -> Result<ExitCode, String> {
    let (flags, names): (Vec<&str>, Vec<&str>) =
        words.iter().map(String::as_str).partition(|word| word.starts_with('-'));
    if let Some(flag) = flags.iter().find(|flag| !["--json", "--write", "--bless", "--hdf5"].contains(flag)) {
        return Err(format!(
            "unknown option {flag}: `cargo xtask measure` has --json, --write, --bless and --hdf5"
        ));
    }
    let asked = |flag| flags.contains(&flag);
    if asked("--json") {
        process::keep_stdout();
    }
    // The page about formats shows every format.
    let pages = asked("--write");
    let options = Options { bless: asked("--bless"), pages, hdf5: asked("--hdf5") || pages, quick: false };
    let (mut objects, mut broken) = (Map::new(), Vec::new());
    let mut measures = chosen(&names)?;
    if options.bless && names.is_empty() {
        measures.retain(|measure| measure.counts);
    }
    if let Some(other) = measures.iter().find(|measure| options.bless && !measure.counts) {
        return Err(format!("{} has no counts for --bless to write", other.name));
    }
    if let Some(other) = measures.iter().find(|measure| asked("--hdf5") && measure.name != "formats") {
        return Err(format!("{} does not use HDF5: --hdf5 is only for formats", other.name));
    }
    for measure in measures {
        // A failed measurement must not lose the others, which take minutes.
        let measured = (measure.run)(&options)
            .and_then(|measured| if pages { measured.write().map(|()| measured) } else { Ok(measured) });
        match measured {
            Ok(measured) => {
                objects.insert(measure.name.to_owned(), measured.json());
                broken.extend(measured.broken());
                if !asked("--json") {
                    print(measure, &measured);
                }
            }
            Err(sentence) => broken.push(format!("{}: {sentence}", measure.name)),
        }
    }
    let objects = Value::Object(objects);
    if pages && ["speed", "formats"].iter().any(|name| objects.get(name).is_some()) {
        broken.extend(measure::write_report(&objects).err());
    }
    if asked("--json") {
        println!("{objects}");
    }
    broken.iter().for_each(|sentence| eprintln!("broken: {sentence}"));
    Ok(if broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the named measurements, or all if there is no name.
fn chosen(names: &[&str]) -> Result<Vec<&'static Measure>, String> {
    let all = || MEASURES.iter().map(|measure| measure.name).collect::<Vec<_>>().join(", ");
    if let Some(name) = names.iter().find(|name| MEASURES.iter().all(|measure| measure.name != **name)) {
        return Err(format!("unknown measurement \"{name}\"; there are {}", all()));
    }
    Ok(MEASURES.iter().filter(|measure| names.is_empty() || names.contains(&measure.name)).collect())
}

fn print(measure: &Measure, measured: &Measured) {
    println!("=== {}: {}", measure.name, measure.about);
    print!("{}", measured.text);
    for row in &measured.rows {
        let mark = match (row.limit, row.is_kept()) {
            (None, _) => "info ",
            (_, true) => "ok   ",
            (_, false) => "UNMET",
        };
        println!("{mark}  {}", row.sentence());
    }
    measured.notes.iter().for_each(|note| println!("       {note}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_words_and_wrong_options_are_errors() {
        for word in ["--jsn", "size", "-w"] {
            assert!(run(&[word.to_owned()]).unwrap_err().contains(word));
        }
        for (option, sentence) in [("--bless", "speed has no counts"), ("--hdf5", "speed does not use HDF5")]
        {
            let said = run(&["speed".to_owned(), option.to_owned()]).unwrap_err();
            assert!(said.contains(sentence), "{said}");
        }
        assert_eq!(chosen(&[]).unwrap().len(), MEASURES.len());
        assert_eq!(chosen(&["speed"]).unwrap()[0].name, "speed");
    }
}
