//! Builds that must fail, each beside one that differs in nothing else and does not.

use super::network;
use crate::measure::firmware::{CORTEX_M3, Firmware};
use crate::model::ModelFile;
use crate::process::{Run, everything};
use crate::report::Tally;
use crate::stages::scratch::Scratch;
use crate::toolchain::{Toolchain, own_cargo};

pub fn check(tally: &mut Tally) -> Result<(), String> {
    check_descriptions(tally)?;
    let scratch = Scratch::new("flash-model")?;
    for case in sound_cases() {
        tally.check(&format!("builds: {}", case.name), case.build(&scratch).and_then(must_build));
    }
    for case in unsound_files() {
        let refused = case.verdict(&scratch).and_then(|due| case.refused(&scratch, &due, EVALUATION));
        tally.check(&format!("does not build: {}", case.name), refused);
    }
    for (case, says, code) in wrong_uses() {
        tally.check(&format!("does not build: {}", case.name), case.refused(&scratch, says, code));
    }
    Ok(())
}

/// The features of the firmware that add a description that disagrees with the model, and what the compiler must say.
const DESCRIPTIONS: [(&str, &str); 4] = [
    (
        "wrong-name",
        r#"the model has no tensor "fc1.offset"; it has "fc1.scale", "fc2.bias", "fc2.weight", "fc1.bias", "fc1.weight""#,
    ),
    ("wrong-dtype", r#"the tensor "fc1.weight" is I8 [64, 32] in the model, but U8 [64, 32] is expected"#),
    ("wrong-rank", r#"the tensor "fc2.bias" is F32 [8] in the model, but F32 [1, 8] is expected"#),
    (
        "wrong-dimension",
        r#"the tensor "fc2.weight" is F32 [8, 64] in the model, but F32 [7, 64] is expected"#,
    ),
];

/// What the compiler calls a constant that cannot be computed.
const EVALUATION: &str = "error[E0080]";
/// What it calls a type that lacks a trait.
const TRAIT: &str = "error[E0277]";

/// The firmware without any of these features was built before.
fn check_descriptions(tally: &mut Tally) -> Result<(), String> {
    let firmware = Firmware { toolchain: Toolchain::for_target(CORTEX_M3.triple)?, level: "s" };
    for (feature, says) in DESCRIPTIONS {
        let said = firmware.build_refused("constant", feature);
        tally.check(
            &format!("does not build: {feature}"),
            said.and_then(|said| only_says(&said, says, EVALUATION)),
        );
    }
    Ok(())
}

/// The compiler says this, calls it by this code, and has nothing else to complain of.
fn only_says(said: &str, due: &str, code: &str) -> Result<(), String> {
    let summary = "error: could not compile";
    let mut errors = said.lines().filter(|line| line.starts_with("error") && !line.starts_with(summary));
    if said.contains(due) && errors.clone().count() > 0 && errors.all(|line| line.starts_with(code)) {
        return Ok(());
    }
    Err(format!("the compiler should say {code} and `{due}`, and nothing else, but it says:\n{said}"))
}

/// A program, and the file that it includes.
struct Case {
    name: &'static str,
    program: &'static str,
    file: Vec<u8>,
}

/// `FILE` stands for the file's path.
const COUNT: &str = r#"
const MODEL: embedded_safetensors::View<'static> = embedded_safetensors::include_model!(FILE, 16);

fn main() {
    println!("{}", MODEL.len());
}
"#;

const FLOATS: &str = r#"
const MODEL: embedded_safetensors::View<'static> = embedded_safetensors::include_model!(FILE, 16);
static A: &[f32; 2] = MODEL.expect_array("a");

fn main() {
    println!("{A:?}");
}
"#;

const FLOATS_ANYWHERE: &str = r#"
const MODEL: embedded_safetensors::View<'static> = match embedded_safetensors::View::parse(include_bytes!(FILE)) {
    Ok(model) => model,
    Err(_) => panic!("not the error that is expected"),
};
static A: &[f32; 2] = MODEL.expect_array("a");

fn main() {
    println!("{A:?}");
}
"#;

const ALIGNED_TO_3: &str = r#"
const MODEL: embedded_safetensors::View<'static> = embedded_safetensors::include_model!(FILE, 3);

fn main() {
    println!("{}", MODEL.len());
}
"#;

const fn case(name: &'static str, program: &'static str, file: Vec<u8>) -> Case {
    Case { name, program, file }
}

fn sound_cases() -> [Case; 2] {
    [case("sound", COUNT, network::file()), case("floats", FLOATS, floats().bytes())]
}

fn floats() -> ModelFile {
    ModelFile::default().with("a", "F32", "[2]", [0; 8])
}

/// The compiler must say of these what `safetensors check` says.
fn unsound_files() -> [Case; 4] {
    let mut short = network::file();
    short.pop();
    let hole = floats().with_hole(4).with("b", "U8", "[1]", [0]).bytes();
    let not_json = floats().bytes_with_header(r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},}"#);
    let twice = ModelFile::default().with("a", "U8", "[1]", [0]).with("a", "U8", "[1]", [0]).bytes();
    [
        case("cut-short", COUNT, short),
        case("hole", COUNT, hole),
        case("not-json", COUNT, not_json),
        case("name-twice", COUNT, twice),
    ]
}

const CROOKED: &str = r#"the tensor "a" begins at byte 62 of the file, 2 bytes behind a multiple of 4: write the file with its tensors aligned"#;
const ANYWHERE: &str = r#"the tensor "a" must begin at a multiple of 4 bytes in memory, but the file is not known to: include it with include_model!("…", 4) or include_aligned!("…", 4)"#;
const ALIGNMENTS: &str = "take a power of two from 4 to 4096";

/// Sound files, used wrongly: what the compiler must say, and its code for it.
fn wrong_uses() -> [(Case, &'static str, &'static str); 3] {
    // A header that no writer has filled up.
    let crooked = floats().bytes_with_header(r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#);
    [
        (case("crooked", FLOATS, crooked), CROOKED, EVALUATION),
        (case("anywhere", FLOATS_ANYWHERE, floats().bytes()), ANYWHERE, EVALUATION),
        (case("aligned-to-3", ALIGNED_TO_3, floats().bytes()), ALIGNMENTS, TRAIT),
    ]
}

impl Case {
    fn build(&self, scratch: &Scratch) -> Result<Run, String> {
        let (model, program) = (self.model(), format!("src/bin/{}.rs", self.name));
        scratch.write(&model, &self.file)?;
        let path = format!("\"../../{model}\"");
        scratch.write(&program, self.program.replace("FILE", &path).as_bytes())?;
        Ok(scratch.cargo("build").args(["--bin", self.name]))
    }

    fn model(&self) -> String {
        format!("models/{}.safetensors", self.name)
    }

    /// What `safetensors check` says of the file.
    fn verdict(&self, scratch: &Scratch) -> Result<String, String> {
        let (model, program) =
            (self.model(), ["run", "--quiet", "--package", "safetensors-host", "--", "check"]);
        scratch.write(&model, &self.file)?;
        let output = own_cargo().args(program).args([scratch.path(&model)]).output()?;
        let said = everything(&output);
        let verdict = said.lines().find_map(|line| line.split_once(&format!("{model}: ")));
        match verdict {
            Some((_, verdict)) if verdict.starts_with("error[") => Ok(verdict.to_owned()),
            _ => Err(format!("safetensors check should refuse it, but says:\n{said}")),
        }
    }

    fn refused(&self, scratch: &Scratch, due: &str, code: &str) -> Result<(), String> {
        let output = self.build(scratch)?.output()?;
        if output.status.success() {
            return Err("it builds".to_owned());
        }
        only_says(&everything(&output), due, code)
    }
}

fn must_build(run: Run) -> Result<(), String> {
    run.capture().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_error_beside_the_expected_one_counts() {
        let due = "error[E0080]: evaluation panicked: why";
        assert_eq!(only_says(due, "why", EVALUATION), Ok(()));
        assert!(only_says(due, "why not", EVALUATION).is_err());
        assert!(only_says(&format!("{due}\nerror[E0432]: another"), "why", EVALUATION).is_err());
        assert!(only_says(&format!("{due}\nerror: a lint"), "why", EVALUATION).is_err());
        assert_eq!(only_says(&format!("{due}\nerror: could not compile `a`"), "why", EVALUATION), Ok(()));
        assert!(only_says("warning: why", "why", EVALUATION).is_err());
    }
}
