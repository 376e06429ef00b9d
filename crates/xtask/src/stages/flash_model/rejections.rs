//! Builds that must fail, each with a variant that succeeds.

use super::network;
use crate::measure::firmware::{CORTEX_M3, Firmware};
use crate::model::ModelFile;
use crate::process::{Run, everything};
use crate::report::Tally;
use crate::stages::{self, scratch::Scratch};
use crate::toolchain::Toolchain;

/// The compiler's code for a constant that cannot be evaluated.
const EVALUATION: &str = "error[E0080]";
/// The compiler's code for a type that lacks a trait.
const TRAIT: &str = "error[E0277]";

/// Features of the firmware that add a description which contradicts the model, and the compiler's message.
const DESCRIPTIONS: [[&str; 2]; 4] = [
    [
        "wrong-name",
        concat!(
            r#"the model has no tensor "fc1.offset"; "#,
            r#"it has "fc1.scale", "fc2.bias", "fc2.weight", "fc1.bias", "fc1.weight""#
        ),
    ],
    ["wrong-dtype", r#"the tensor "fc1.weight" is I8 [64, 32] in the model, but U8 [64, 32] is expected"#],
    ["wrong-rank", r#"the tensor "fc2.bias" is F32 [8] in the model, but F32 [1, 8] is expected"#],
    [
        "wrong-dimension",
        r#"the tensor "fc2.weight" is F32 [8, 64] in the model, but F32 [7, 64] is expected"#,
    ],
];

/// How a program gets the model in `FILE`, and how it uses it.
const COUNT: [&str; 2] = ["include_model!(FILE, 16)", r#"println!("{}", MODEL.len())"#];
const FLOATS: [&str; 2] = ["include_model!(FILE, 16)", ARRAY];
const ANYWHERE: [&str; 2] = [
    r#"match View::parse(include_bytes!(FILE)) { Ok(model) => model, Err(_) => panic!("another error") }"#,
    ARRAY,
];
const ALIGNED_TO_3: [&str; 2] = ["include_model!(FILE, 3)", COUNT[1]];
const ARRAY: &str = r#"static A: &[f32; 2] = MODEL.expect_array("a"); println!("{A:?}")"#;

/// The expected outcome of a build.
enum Expected {
    Builds,
    /// It fails with the verdict of `safetensors check` about the file.
    InvalidFile,
    /// It fails though the file is valid: the compiler's code, and its message.
    Fails(&'static str, &'static str),
}

const MISALIGNED: Expected = Expected::Fails(
    EVALUATION,
    concat!(
        r#"the tensor "a" begins at byte 62 of the file, 2 bytes after a multiple of 4: "#,
        "write the file with its tensors aligned"
    ),
);
const UNKNOWN_ALIGNMENT: Expected = Expected::Fails(
    EVALUATION,
    concat!(
        r#"the tensor "a" must begin at a multiple of 4 bytes in memory, but nothing aligns the file: "#,
        r#"include it with include_model!("…", 4) or include_aligned!("…", 4)"#
    ),
);
const BAD_ALIGNMENT: Expected = Expected::Fails(TRAIT, "take a power of two from 4 to 4096");

struct Case {
    name: &'static str,
    program: [&'static str; 2],
    file: Vec<u8>,
    expected: Expected,
}

fn cases() -> [Case; 9] {
    let case = |name, program, file, expected| Case { name, program, file, expected };
    let one = |name: &str, dtype, dims, len| ModelFile::default().with(name, dtype, dims, vec![0; len]);
    let floats = || one("a", "F32", "[2]", 8);
    let header = |header: &str| floats().bytes_with_header(header);
    let network = network::file();
    let short = network[..network.len() - 1].to_vec();
    let hole = floats().with_hole(4).with("b", "U8", "[1]", [0]).bytes();
    let not_json = header(r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},}"#);
    let duplicate = one("a", "U8", "[1]", 1).with("a", "U8", "[1]", [0]).bytes();
    // An unpadded header.
    let misaligned = header(r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#);
    [
        case("valid", COUNT, network, Expected::Builds),
        case("floats", FLOATS, floats().bytes(), Expected::Builds),
        case("cut-short", COUNT, short, Expected::InvalidFile),
        case("hole", COUNT, hole, Expected::InvalidFile),
        case("not-json", COUNT, not_json, Expected::InvalidFile),
        case("duplicate-name", COUNT, duplicate, Expected::InvalidFile),
        case("misaligned", FLOATS, misaligned, MISALIGNED),
        case("anywhere", ANYWHERE, floats().bytes(), UNKNOWN_ALIGNMENT),
        case("aligned-to-3", ALIGNED_TO_3, floats().bytes(), BAD_ALIGNMENT),
    ]
}

pub fn check(tally: &mut Tally) -> Result<(), String> {
    // The stage has already built the program without these features.
    let toolchains = Toolchain::for_targets(&[CORTEX_M3.triple])?;
    let firmware = Firmware { toolchains: &toolchains, level: "s" };
    for [feature, message] in DESCRIPTIONS {
        let output = firmware.build_rejected("constant", feature);
        let rejected = output.and_then(|output| check_errors(&output.concat(), message, EVALUATION));
        tally.check(&format!("does not build: {feature}"), rejected);
    }
    let scratch = Scratch::new("flash-model")?;
    for case in cases() {
        let what = if matches!(case.expected, Expected::Builds) { "builds" } else { "does not build" };
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
        let (code, message) = match self.expected {
            Expected::Builds => return build.capture().map(drop),
            Expected::InvalidFile => (EVALUATION, verdict(scratch, &file)?),
            Expected::Fails(code, message) => (code, message.to_owned()),
        };
        let output = build.output()?;
        if output.status.success() {
            return Err("the build succeeded".to_owned());
        }
        check_errors(&everything(&output), &message, code)
    }
}

/// Returns the verdict of `safetensors check` about a file.
fn verdict(scratch: &Scratch, file: &str) -> Result<String, String> {
    let check = Run::new(stages::command()?).args(["check"]).args([scratch.path(file)]);
    let output = everything(&check.output()?);
    let verdict = output.lines().find_map(|line| line.split_once(&format!("{file}: ")));
    match verdict {
        Some((_, verdict)) if verdict.starts_with("error[") => Ok(verdict.to_owned()),
        _ => Err(format!("safetensors check should reject the file, but prints:\n{output}")),
    }
}

/// Checks that the compiler's only error has this message and this code.
fn check_errors(output: &str, message: &str, code: &str) -> Result<(), String> {
    let summary = "error: could not compile";
    let mut errors = output.lines().filter(|line| line.starts_with("error") && !line.starts_with(summary));
    if output.contains(message) && errors.clone().count() > 0 && errors.all(|line| line.starts_with(code)) {
        return Ok(());
    }
    Err(format!("the only error should be {code} and `{message}`, but the compiler prints:\n{output}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_errors_beside_the_expected_one_are_reported() {
        let error = "error[E0080]: evaluation panicked: why";
        let judge = |more: &str| check_errors(&format!("{error}{more}"), "why", EVALUATION);
        assert_eq!(judge("").and(judge("\nerror: could not compile `a`")), Ok(()));
        assert!(judge("\nerror[E0432]: another").is_err() && judge("\nerror: a lint").is_err());
        assert!(
            check_errors(error, "why not", EVALUATION)
                .and(check_errors("warning: why", "why", EVALUATION))
                .is_err()
        );
    }
}
