//! The crates for the registry, in the order in which they are published.

use super::{Table, VERSION, alone, cargo_target, empty};
use crate::machine::Need;
use crate::process::Run;
use crate::toolchain::own_cargo;
use crate::workspace::{read, text, write};
use std::path::Path;

pub const NEEDS: &[Need] =
    &[Need::Targets(&["thumbv7m-none-eabi"]), Need::Program("qemu-system-arm", "qemu-system-arm")];

/// Each needs only those before it.
const CRATES: [&str; 10] = [
    "embedded-safetensors-macros",
    "embedded-safetensors",
    "embedded-safestructures",
    "safetensors-quant",
    "safetensors-slots",
    "safetensors-files",
    "safetensors-convert",
    "safetensors-emit",
    "safetensors-remote",
    "safetensors-host",
];

/// A program for computers that calls the libraries, and its build script.
const DESKTOP: [(&str, &str); 2] = [
    (
        "build.rs",
        "fn main() -> Result<(), safetensors_emit::EmitError> {\n    \
             safetensors_emit::build(\"model.safetensors\")\n\
         }\n",
    ),
    (
        "src/main.rs",
        "mod net { include!(concat!(env!(\"OUT_DIR\"), \"/model.rs\")); }\n\
         use {embedded_safestructures as _, safetensors_quant as _, safetensors_slots as _};\n\n\
         fn main() -> Result<(), Box<dyn std::error::Error>> {\n    \
             safetensors_files::ModelEditor::open(\"model.safetensors\")?.save(\"copy.safetensors\")?;\n    \
             let model = embedded_safetensors::file::FileModel::open(\"copy.safetensors\")?;\n    \
             assert_eq!(model.tensors().count(), net::QUERIES.len());\n    \
             safetensors_remote::Location::parse(\"hf://owner/name\")?;\n    \
             let no_gguf = std::fs::File::open(\"copy.safetensors\")?;\n    \
             safetensors_convert::gguf::Gguf::open(no_gguf, &Default::default()).expect_err(\"no GGUF\");\n    \
             Ok(())\n\
         }\n",
    ),
];

/// Makes the packages, a configuration with which cargo finds all of them unpacked, and the firmware to
/// copy.
pub fn make(tree: &Path, dir: &Path) -> Result<(), String> {
    let target = tree.join("target");
    let names = CRATES.iter().flat_map(|name| ["--package", name]);
    let package = own_cargo().dir(tree).env("CARGO_TARGET_DIR", &target).args(["package"]).args(names);
    package.words("--locked --no-verify --allow-dirty --quiet").check()?;
    let mut patches = "[patch.crates-io]\n".to_owned();
    for name in CRATES {
        let file = format!("{name}-{VERSION}.crate");
        write(&dir.join(&file), &read(&target.join("package").join(&file))?)?;
        patches += &format!("{name} = {{ path = \"crates/{name}-{VERSION}\" }}\n");
    }
    write(&dir.join("config.toml"), patches.as_bytes())?;
    let firmware = dir.join("firmware");
    Run::new("cp").args(["-r".as_ref(), tree.join("firmware/minimal").as_path(), &firmware]).capture()?;
    let manifest = text(&firmware.join("Cargo.toml"))?;
    let path = "path = \"../../crates/embedded-safetensors\"";
    let manifest = manifest.replacen(path, &format!("version = \"{VERSION}\""), 1);
    write(&firmware.join("Cargo.toml"), manifest.as_bytes())
}

/// Builds a firmware, a program for computers and the command from the packages.
pub fn verify(dir: &Path, table: &mut Table) -> Result<(), String> {
    let place = empty("projects")?;
    let unpack = "mkdir -p crates .cargo && cp \"$0/config.toml\" .cargo && cp -r \"$0/firmware\" . && \
                  for crate in \"$0\"/*.crate; do tar -xzf \"$crate\" -C crates; done; \
                  rm crates/*/Cargo.lock";
    Run::new("sh").args(["-c", unpack]).args([dir]).dir(&place).capture()?;
    let desktop = place.join("desktop");
    DESKTOP.iter().try_for_each(|(file, text)| write(&desktop.join(file), text.as_bytes()))?;
    let line = |name: &&str| format!("{name} = \"{VERSION}\"\n");
    let libraries = CRATES[1..9].iter().filter(|name| **name != "safetensors-emit").map(line);
    let manifest = format!(
        "[package]\nname = \"desktop\"\nedition = \"2024\"\n[workspace]\n[build-dependencies]\n{}\
         [dependencies]\n{}",
        line(&"safetensors-emit"),
        libraries.collect::<String>()
    );
    write(&desktop.join("Cargo.toml"), manifest.as_bytes())?;
    let model = read(&place.join("firmware/model.safetensors"))?;
    write(&desktop.join("model.safetensors"), &model)?;
    let cargo = |project: &str, words: &str| {
        let run = || {
            let run = alone(&place.join(project), true).args(["cargo"]).env("CARGO_PROFILE_DEV_DEBUG", "0");
            run.env("CARGO_TARGET_DIR", cargo_target())
        };
        run().args(["generate-lockfile"]).capture()?;
        only_ours(&place.join(project))?;
        run().words(words).limit(30 * 60).capture().map(drop)
    };
    let built = cargo("desktop", "run --quiet");
    let host = format!("crates/safetensors-host-{VERSION}");
    let command = alone(&place, false).args([cargo_target().join("debug/safetensors")]);
    let checks = cargo(&host, "build --quiet")
        .and_then(|()| command.words("check firmware/model.safetensors").capture().map(drop));
    for name in CRATES {
        let (how, outcome) = match name {
            "safetensors-host" => ("the command builds and runs", &checks),
            _ => ("a program for computers runs, with every library", &built),
        };
        table.row(&dir.join(format!("{name}-{VERSION}.crate")), how, outcome.clone());
    }
    let ran = cargo("firmware", "run --release --quiet");
    table.row(&dir.join("firmware"), "`no_std`, on an emulated Cortex-M3", ran);
    Ok(())
}

/// Fails if a package with one of our names comes from a registry, where it could be a stranger's.
fn only_ours(project: &Path) -> Result<(), String> {
    let lock = text(&project.join("Cargo.lock"))?;
    let begins = ["name = \"embedded-safe", "name = \"safetensors-"];
    let ours = |package: &&str| begins.iter().any(|begin| package.contains(begin));
    match lock.split("\n\n").filter(ours).find(|package| package.contains("source = ")) {
        Some(package) => Err(format!("it is not ours:{package}")),
        None => Ok(()),
    }
}
