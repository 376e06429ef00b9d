//! Builds that must fail, each beside one that differs in nothing else and does not.

use super::network;
use crate::measure::firmware::{CORTEX_M3, Firmware};
use crate::model::ModelFile;
use crate::process::{Run, everything};
use crate::report::Tally;
use crate::stages::{self, scratch::Scratch};
use crate::toolchain::Toolchain;

/// What the compiler calls a constant that cannot be computed.
const EVALUATION: &str = "error[E0080]";
/// What it calls a type that lacks a trait.
const TRAIT: &str = "error[E0277]";

/// The features of the firmware that add a description that disagrees with the model, and what the compiler must say.
const DESCRIPTIONS: [[&str; 2]; 4] = [
    [
        "wrong-name",
        r#"the model has no tensor "fc1.offset"; it has "fc1.scale", "fc2.bias", "fc2.weight", "fc1.bias", "fc1.weight""#,
    ],
    ["wrong-dtype", r#"the tensor "fc1.weight" is I8 [64, 32] in the model, but U8 [64, 32] is expected"#],
    ["wrong-rank", r#"the tensor "fc2.bias" is F32 [8] in the model, but F32 [1, 8] is expected"#],
    [
        "wrong-dimension",
        r#"the tensor "fc2.weight" is F32 [8, 64] in the model, but F32 [7, 64] is expected"#,
    ],
];

/// What a program makes of the model in `FILE`, and what it does with it.
const COUNT: [&str; 2] = ["include_model!(FILE, 16)", r#"println!("{}", MODEL.len())"#];
const FLOATS: [&str; 2] = ["include_model!(FILE, 16)", ARRAY];
const ANYWHERE: [&str; 2] = [
    r#"match View::parse(include_bytes!(FILE)) { Ok(model) => model, Err(_) => panic!("another error") }"#,
    ARRAY,
];
const ALIGNED_TO_3: [&str; 2] = ["include_model!(FILE, 3)", COUNT[1]];
const ARRAY: &str = r#"static A: &[f32; 2] = MODEL.expect_array("a"); println!("{A:?}")"#;

/// What must become of a build.
enum Due {
    Builds,
    /// The compiler says what `safetensors check` says of the file.
    Refused,
    /// The file is sound, and used wrongly: the compiler's code, and what it says.
    Says(&'static str, &'static str),
}

const CROOKED: Due = Due::Says(
    EVALUATION,
    r#"the tensor "a" begins at byte 62 of the file, 2 bytes behind a multiple of 4: write the file with its tensors aligned"#,
);
const NOT_ALIGNED: Due = Due::Says(
    EVALUATION,
    r#"the tensor "a" must begin at a multiple of 4 bytes in memory, but the file is not known to: include it with include_model!("…", 4) or include_aligned!("…", 4)"#,
);
const NO_ALIGNMENT: Due = Due::Says(TRAIT, "take a power of two from 4 to 4096");

struct Case {
    name: &'static str,
    program: [&'static str; 2],
    file: Vec<u8>,
    due: Due,
}

fn cases() -> [Case; 9] {
    let case = |name, program, file, due| Case { name, program, file, due };
    let one = |name: &str, dtype, dims, len| ModelFile::default().with(name, dtype, dims, vec![0; len]);
    let floats = || one("a", "F32", "[2]", 8);
    let header = |header: &str| floats().bytes_with_header(header);
    let network = network::file();
    let short = network[..network.len() - 1].to_vec();
    let hole = floats().with_hole(4).with("b", "U8", "[1]", [0]).bytes();
    let not_json = header(r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},}"#);
    let twice = one("a", "U8", "[1]", 1).with("a", "U8", "[1]", [0]).bytes();
    // A header that no writer has filled up.
    let crooked = header(r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#);
    [
        case("sound", COUNT, network, Due::Builds),
        case("floats", FLOATS, floats().bytes(), Due::Builds),
        case("cut-short", COUNT, short, Due::Refused),
        case("hole", COUNT, hole, Due::Refused),
        case("not-json", COUNT, not_json, Due::Refused),
        case("name-twice", COUNT, twice, Due::Refused),
        case("crooked", FLOATS, crooked, CROOKED),
        case("anywhere", ANYWHERE, floats().bytes(), NOT_ALIGNED),
        case("aligned-to-3", ALIGNED_TO_3, floats().bytes(), NO_ALIGNMENT),
    ]
}

pub fn check(tally: &mut Tally) -> Result<(), String> {
    // Without any of these features it was built before.
    let toolchains = Toolchain::for_targets(&[CORTEX_M3.triple])?;
    let firmware = Firmware { toolchains: &toolchains, level: "s" };
    for [feature, says] in DESCRIPTIONS {
        let said = firmware.build_refused("constant", feature);
        let refused = said.and_then(|said| only_says(&said.concat(), says, EVALUATION));
        tally.check(&format!("does not build: {feature}"), refused);
    }
    let scratch = Scratch::new("flash-model")?;
    for case in cases() {
        let what = if matches!(case.due, Due::Builds) { "builds" } else { "does not build" };
        tally.check(&format!("{what}: {}", case.name), case.judge(&scratch));
    }
    Ok(())
}

impl Case {
    fn judge(&self, scratch: &Scratch) -> Result<(), String> {
        let (name, [model, used]) = (self.name, self.program);
        let file = format!("models/{name}.safetensors");
        scratch.write(&file, &self.file)?;
        let model = model.replace("FILE", &format!("\"../../{file}\""));
        let program = format!(
            "#![allow(unused)]\nuse embedded_safetensors::{{View, include_model}};\n\
             const MODEL: View<'static> = {model};\nfn main() {{ {used} }}\n"
        );
        scratch.write(&format!("src/bin/{name}.rs"), program.as_bytes())?;
        let build = scratch.cargo("build").args(["--bin", name]);
        let (code, due) = match self.due {
            Due::Builds => return build.capture().map(drop),
            Due::Refused => (EVALUATION, verdict(scratch, &file)?),
            Due::Says(code, due) => (code, due.to_owned()),
        };
        let output = build.output()?;
        if output.status.success() {
            return Err("it builds".to_owned());
        }
        only_says(&everything(&output), &due, code)
    }
}

/// What `safetensors check` says of a file.
fn verdict(scratch: &Scratch, file: &str) -> Result<String, String> {
    let check = Run::new(stages::command()?).args(["check"]).args([scratch.path(file)]);
    let said = everything(&check.output()?);
    let verdict = said.lines().find_map(|line| line.split_once(&format!("{file}: ")));
    match verdict {
        Some((_, verdict)) if verdict.starts_with("error[") => Ok(verdict.to_owned()),
        _ => Err(format!("safetensors check should refuse it, but says:\n{said}")),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_error_beside_the_expected_one_counts() {
        let due = "error[E0080]: evaluation panicked: why";
        let judge = |said: &str| only_says(&format!("{due}{said}"), "why", EVALUATION);
        assert_eq!(judge("").and(judge("\nerror: could not compile `a`")), Ok(()));
        assert!(judge("\nerror[E0432]: another").is_err() && judge("\nerror: a lint").is_err());
        assert!(
            only_says(due, "why not", EVALUATION).and(only_says("warning: why", "why", EVALUATION)).is_err()
        );
    }
}
