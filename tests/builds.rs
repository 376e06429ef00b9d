//! Models in the program: builds that must fail, beside one that succeeds, and the largest model that the
//! guide promises.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const EVALUATION: &str = "E0080";
const NETWORK: &str = "crates/embedded-safetensors/examples/network.safetensors";
/// A tensor of two F32, at byte 62 and at a multiple of 8.
const MISALIGNED: &str = "misaligned.safetensors";
const ALIGNED: &str = "aligned.safetensors";

/// A program that has a constant `MODEL` of a file.
struct Case {
    name: &'static str,
    model: String,
    used: &'static str,
    /// The compiler's code and a part of its message; `None` if it builds.
    error: Option<(&'static str, &'static str)>,
}

fn include(path: impl AsRef<Path>, alignment: usize) -> String {
    format!("include_model!({:?}, {alignment})", root().join(path))
}

fn cases(package: &Path) -> Vec<Case> {
    let network = |name, used, error| Case { name, model: include(NETWORK, 16), used, error };
    let vector = |name, path: &str, message| {
        let model = include(Path::new("tests/vectors").join(path), 16);
        Case { name, model, used: "", error: Some((EVALUATION, message)) }
    };
    let floats = |name, file, alignment, error| {
        let model = include(package.join(file), alignment);
        Case { name, model, used: r#"const _: &[f32; 2] = MODEL.expect_array("a");"#, error }
    };
    let anywhere = format!(
        "match View::parse(include_bytes!({:?})) {{ Ok(m) => m, Err(_) => panic!() }}",
        package.join(ALIGNED)
    );
    let names =
        r#"no tensor "fc1.offset"; it has "fc1.scale", "fc2.bias", "fc2.weight", "fc1.bias", "fc1.weight""#;
    vec![
        network("right", r#"const _: &[[i8; 32]; 64] = MODEL.expect_array("fc1.weight");"#, None),
        network(
            "wrong-name",
            r#"const _: &[i32; 64] = MODEL.expect_array("fc1.offset");"#,
            Some((EVALUATION, names)),
        ),
        network(
            "wrong-dtype",
            r#"const _: &[[u8; 32]; 64] = MODEL.expect_array("fc1.weight");"#,
            Some((EVALUATION, "is I8 [64, 32] in the model, but U8 [64, 32] is expected")),
        ),
        network(
            "wrong-rank",
            r#"const _: &[[f32; 8]; 1] = MODEL.expect_array("fc2.bias");"#,
            Some((EVALUATION, "is F32 [8] in the model, but F32 [1, 8] is expected")),
        ),
        network(
            "wrong-dimension",
            r#"const _: &[[f32; 64]; 7] = MODEL.expect_array("fc2.weight");"#,
            Some((EVALUATION, "is F32 [8, 64] in the model, but F32 [7, 64] is expected")),
        ),
        vector("cut-short", "invalid/data-one-too-few.safetensors", "error[data.short]"),
        vector("hole", "invalid/layout-hole-middle.safetensors", "error[layout.hole]"),
        vector("not-json", "invalid/json-comma-after-last.safetensors", "error[json.syntax]"),
        vector("duplicate-name", "either/d1-empty-then-full.safetensors", "error[name.duplicate]"),
        floats("floats", ALIGNED, 16, None),
        floats(
            "misaligned",
            MISALIGNED,
            16,
            Some((EVALUATION, "begins at byte 62 of the file, 2 bytes after a multiple of 4")),
        ),
        floats("aligned-to-3", ALIGNED, 3, Some(("E0277", "take a power of two from 4 to 4096"))),
        Case {
            name: "anywhere",
            model: anywhere,
            used: r#"const _: &[f32; 2] = MODEL.expect_array("a");"#,
            error: Some((EVALUATION, "but nothing aligns the file")),
        },
    ]
}

#[test]
fn programs_that_contradict_their_model_do_not_build() {
    let package = package("wrong");
    let header = r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
    for (file, header) in [(MISALIGNED, header.to_owned()), (ALIGNED, format!("{header:56}"))] {
        write(
            &package.join(file),
            &[&(header.len() as u64).to_le_bytes(), header.as_bytes(), &[0; 8]].concat(),
        );
    }
    let cases = cases(&package);
    for Case { name, model, used, .. } in &cases {
        let program = format!(
            "#![allow(unused)]\nuse embedded_safetensors::{{View, include_model}};\n\
             const MODEL: View<'static> = {model};\n{used}\nfn main() {{ println!(\"{{}}\", MODEL.len()) }}\n"
        );
        write(&package.join(format!("src/bin/{name}.rs")), program.as_bytes());
    }
    let output = cargo(&package).args(["check", "--bins", "--keep-going", "--message-format=json"]).output();
    let output = String::from_utf8(output.expect("cargo runs").stdout).expect("UTF-8");
    let messages: Vec<Value> = output.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    for Case { name, error, .. } in cases {
        let of_case = messages.iter().filter(|message| message["target"]["name"] == name);
        let errors: Vec<(&str, &str)> =
            of_case.clone().filter_map(|message| parse(&message["message"])).collect();
        let is_right = match (&errors[..], error) {
            ([], None) => of_case.clone().any(|message| message["reason"] == "compiler-artifact"),
            ([(code, text)], Some((expected, part))) => *code == expected && text.contains(part),
            _ => false,
        };
        assert!(is_right, "{name}: {error:?} expected, but the compiler says {errors:#?}");
    }
}

/// Returns the code and the text of an error, with its labels.
fn parse(message: &Value) -> Option<(&str, &str)> {
    let is_error = message["level"] == "error" && message["code"].is_object();
    is_error.then(|| Some((message["code"]["code"].as_str()?, message["rendered"].as_str()?)))?
}

/// The compiler evaluates the constants in a second or two; the limit only notices what is out of all
/// proportion.
#[test]
fn the_largest_promised_model_builds() {
    const MIB_16: usize = 16 << 20;
    let package = package("largest");
    let model = |tensors: usize, large: usize, spaced: bool| {
        let shape = |index: usize| if index == 0 && large > 0 { vec![large] } else { vec![4, 8] };
        let (mut end, mut entries) = (0, Vec::new());
        for index in 0..tensors {
            let begin = end;
            end += shape(index).iter().product::<usize>();
            let (dims, name) = (shape(index), name(index));
            entries.push(format!(
                r#""{name}":{{"dtype":"U8","shape":{dims:?},"data_offsets":[{begin},{end}]}}"#
            ));
        }
        let header = format!("{{{}}}", entries.join(",")).replace(", ", ",");
        let header = if spaced { header.replace(',', ", ").replace(':', ": ") } else { header };
        [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &vec![1; end]].concat()
    };
    write(&package.join("src/model.safetensors"), &model(200, MIB_16, false));
    write(&package.join("src/many.safetensors"), &model(1000, 0, false));
    write(&package.join("src/spaced.safetensors"), &model(1000, 0, true));
    write(&package.join("src/names.safetensors"), &model(500, 0, false));
    let mut program = "use embedded_safetensors::{Dtype, Tensor, View, include_aligned, include_model};\n\
        pub const MODEL: View<'static> = include_model!(\"model.safetensors\", 16);\n\
        pub const MANY: View<'static> = View::embed(include_aligned!(\"many.safetensors\", 16));\n\
        pub const SPACED: View<'static> = View::embed(include_aligned!(\"spaced.safetensors\", 16));\n\
        pub const NAMES: View<'static> =\n    View::embed(include_aligned!(\"names.safetensors\", 16)).with_unique_names();\n"
        .to_owned();
    for index in 0..200 {
        let dims = if index == 0 { format!("[{MIB_16}]") } else { "[4, 8]".to_owned() };
        program += &format!(
            "pub static T{index}: Tensor<'static> = MODEL.expect({:?}, Dtype::U8, &{dims});\n",
            name(index)
        );
    }
    write(&package.join("src/lib.rs"), program.as_bytes());
    let output = cargo(&package).args(["check"]).output().expect("cargo runs");
    let text = String::from_utf8_lossy(&output.stderr);
    // The lint is an error, unless it is allowed.
    assert!(output.status.success() && !text.contains("warning"), "{text}");
}

fn name(index: usize) -> String {
    format!("model.layers.{}.mlp.{}_proj.weight", index / 2, ["up", "down"][index % 2])
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Creates a package that depends only on the library, with the versions of this one.
fn package(name: &str) -> PathBuf {
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("builds").join(name);
    let _ = std::fs::remove_dir_all(package.join("src"));
    let core = root().join("crates/embedded-safetensors");
    let manifest = format!(
        "[workspace]\n\n[package]\nname = {name:?}\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\nembedded-safetensors = {{ path = {core:?} }}\n"
    );
    write(&package.join("Cargo.toml"), manifest.as_bytes());
    write(&package.join("src/lib.rs"), b"//! Empty.\n");
    std::fs::copy(root().join("Cargo.lock"), package.join("Cargo.lock")).expect("enough space");
    package
}

fn write(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("enough space");
    std::fs::write(path, bytes).expect("enough space");
}

/// Returns cargo in the package. All packages share a target directory.
fn cargo(package: &Path) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(package).env("CARGO_TARGET_DIR", package.with_file_name("target"));
    cargo.env_remove("CARGO_BUILD_TARGET").env_remove("RUSTFLAGS");
    cargo
}
