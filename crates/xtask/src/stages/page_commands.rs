//! Runs the commands that pages print in blocks of `sh` and `python`, and in the blocks of `console` that the
//! tests of the command do not play.
//!
//! The pages of the Python package are left out: its own tests run their examples. `firmware/README.md` is
//! left out: the stage `firmware` runs its boards with the same images, and all else there needs a real
//! board. Names of commands of `cargo xtask` are tested by its unit tests.

use super::scripts::TESTS;
use super::suites::release_command;
use crate::process::{Run, everything};
use crate::python::environment;
use crate::report::{Outcome, Tally};
use crate::workspace;
use std::path::{Path, PathBuf};

/// How a line of a page is checked.
enum Check {
    /// By this function.
    Here(fn(&str) -> Result<(), String>),
    /// Elsewhere, or not at all, for this reason.
    Not(&'static str),
}

use Check::{Here, Not};

const NEEDS_BOARD: Check = Not("it needs the board");

static LINES: [(&str, &str, Check); 30] = [
    ("README.md", "cargo add embedded-safetensors --features embedded-io", Here(add)),
    ("README.md", "cargo add embedded-io@0.7", Here(add_published)),
    ("README.md", "python3 tests/vectors/run.py -- ./my-reader", Here(score)),
    ("docs/src/getting-started.md", "cargo add embedded-safetensors", Here(add)),
    ("docs/src/finding-tensors.md", "cargo add safetensors-emit --build", Here(add)),
    ("docs/src/c.md", "rustup target add thumbv7m-none-eabi", Not("the set-up of `boards` does it")),
    (
        "docs/src/c.md",
        "cargo build --release --locked --target thumbv7m-none-eabi --manifest-path crates/safetensors-c/Cargo.toml",
        Not("the Makefile of the next line does it"),
    ),
    (
        "docs/src/c.md",
        "make -C crates/safetensors-c/examples/bare-metal run",
        Not("the stage `c-boards` does it, in a copy of the directory"),
    ),
    ("docs/src/desktop-files.md", "cargo add embedded-safetensors --features std", Here(add)),
    ("docs/src/desktop-files.md", "cargo add safetensors-files", Here(add)),
    ("docs/src/command.md", "cargo install --path host", Here(install)),
    ("host/README.md", "cargo install --path host", Here(install)),
    (
        "host/README.md",
        "safetensors completions bash > ~/.local/share/bash-completion/completions/safetensors",
        Here(complete),
    ),
    (
        "docs/src/minimal-firmware.md",
        "rustup target add thumbv7m-none-eabi",
        Not("the set-up of `boards` does it"),
    ),
    ("docs/src/minimal-firmware.md", "cd firmware/minimal", Not("the next lines are run there")),
    ("docs/src/minimal-firmware.md", "cargo run --release", Here(run_minimal)),
    ("docs/src/minimal-firmware.md", "cargo run --release --bin nor", Here(run_minimal)),
    (
        "docs/src/minimal-firmware.md",
        "rustup target add riscv32imc-unknown-none-elf",
        Not("the set-up of `boards` does it"),
    ),
    ("docs/src/minimal-firmware.md", "cargo install espflash", NEEDS_BOARD),
    ("docs/src/minimal-firmware.md", "cd firmware/minimal-esp", NEEDS_BOARD),
    ("docs/src/minimal-firmware.md", "espflash write-bin 0x110000 model.safetensors", NEEDS_BOARD),
    ("docs/src/minimal-firmware.md", "cargo run --release --bin minimal-esp", NEEDS_BOARD),
    (
        "docs/src/porting.md",
        "probe-rs download --chip RP2040 --binary-format bin --base-address 0x10100000 digits-i8.safetensors",
        NEEDS_BOARD,
    ),
    (
        "docs/src/porting.md",
        "safetensors flash --chip STM32F405RGTx --at 0x08040000 digits-f16.safetensors",
        Not("the stage `chips` does it, with a simulated probe"),
    ),
    ("docs/src/porting.md", "espflash write-bin 0x110000 digits-f16.safetensors", NEEDS_BOARD),
    ("docs/src/verdict.md", "safetensors conform -- ./my-reader", Here(score)),
    ("docs/src/verdict.md", "python3 tests/vectors/run.py -- ./my-reader", Here(score)),
    ("tests/vectors/README.md", "cargo run -p verification --bin pack VECTORS.BIN", Here(pack)),
    (
        "tests/vectors/README.md",
        "cargo run -p verification --release --bin vectors --features oracle check",
        Not("the stage `vectors` does it"),
    ),
    (
        "tests/vectors/README.md",
        "cargo test -p verification --test suite vectors_lint",
        Not("the stage `no-std` does it"),
    ),
];

/// Runs every line. A line that is in no row of [`LINES`] is a failure, and so is a row that is on no page.
pub fn run() -> Outcome {
    let mut tally = Tally::default();
    let mut seen = [false; LINES.len()];
    for page in pages()? {
        let text = workspace::text(&workspace::root().join(&page))?;
        for script in blocks(&text, "python") {
            tally.check(&format!("{page}: its Python"), run_python(script));
        }
        for line in lines(&text, &page) {
            let is_line = |(of, known, _): &(&str, &str, Check)| (*of, *known) == (page.as_str(), line);
            let Some(row) = LINES.iter().position(is_line) else {
                tally.failure(&format!("{page}: {line}: it is not in the list"));
                continue;
            };
            seen[row] = true;
            match LINES[row].2 {
                Here(check) => tally.check(&format!("{page}: {line}"), check(line)),
                Not(why) => println!("not run here: {page}: {line}: {why}"),
            }
        }
    }
    for ((page, line, _), _) in LINES.iter().zip(seen).filter(|(_, seen)| !seen) {
        tally.failure(&format!("{page} does not print {line}"));
    }
    Ok(tally)
}

/// Returns all pages but those of the command, which its own tests play.
fn pages() -> Result<Vec<String>, String> {
    let listed = Run::new("git").args(["ls-files", "*.md"]).capture()?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let left_out = [
        "host/docs/",
        "crates/embedded-safetensors/README.md",
        "crates/safetensors-python/README.md",
        "docs/src/python.md",
        "firmware/README.md",
    ];
    let pages = listed.lines().filter(|page| !left_out.iter().any(|part| page.starts_with(part)));
    Ok(pages.map(str::to_owned).collect())
}

/// Returns the contents of a page's blocks in one language.
pub fn blocks<'a>(page: &'a str, language: &'a str) -> impl Iterator<Item = &'a str> {
    let code = page.split("```").skip(1).step_by(2);
    code.filter_map(move |block| block.strip_prefix(language)?.strip_prefix('\n'))
}

/// Returns the commands of a page, without comments.
fn lines<'a>(text: &'a str, page: &str) -> impl Iterator<Item = &'a str> {
    // The tests of the command play the other blocks of `console`.
    let console = if page.starts_with("tests/") { "console" } else { "no language" };
    let typed = blocks(text, "sh").flat_map(str::lines);
    let shown = blocks(text, console).flat_map(str::lines).filter_map(|line| line.strip_prefix("$ "));
    let lines = typed.chain(shown).map(|line| line.split("  #").next().unwrap_or(line).trim());
    lines.filter(|line| !line.is_empty() && !line.starts_with("cargo xtask"))
}

/// Returns an empty directory for one command.
fn folder(name: &str) -> Result<PathBuf, String> {
    let folder = workspace::target_dir().join("scratch/pages").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

/// Returns a run of a line in a directory, with our programs in the path.
fn shell(line: &str, folder: &Path) -> Result<Run, String> {
    let command = release_command()?;
    let python = environment(TESTS[0], Path::new(TESTS[1]))?;
    let path = std::env::var("PATH").unwrap_or_default();
    let beside = |program: &Path| program.parent().unwrap_or(program).display().to_string();
    let path = format!("{}:{}:{path}", beside(&command), beside(&python));
    Ok(Run::new("sh").args(["-ec", line]).env("PATH", path).dir(folder))
}

/// Adds one of our crates, from the checkout.
fn add(line: &str) -> Result<(), String> {
    let name = line.split(' ').nth(2).unwrap_or_default();
    let library = workspace::root().join("crates").join(name);
    add_published(&format!("{line} --path '{}'", library.display()))
}

/// Adds a crate to an empty package, which must then compile.
fn add_published(line: &str) -> Result<(), String> {
    let folder = folder("add")?;
    let manifest = "[workspace]\n\n[package]\nname = \"firmware\"\nversion = \"0.0.0\"\nedition = \"2024\"\n";
    workspace::write(&folder.join("Cargo.toml"), manifest.as_bytes())?;
    workspace::write(&folder.join("src/lib.rs"), b"")?;
    let target = workspace::target_dir().join("scratch/target");
    shell(&format!("{line} && cargo check"), &folder)?.env("CARGO_TARGET_DIR", target).capture().map(drop)
}

fn install(line: &str) -> Result<(), String> {
    let folder = folder("install")?;
    shell(&format!("{line} --locked --root '{}'", folder.display()), workspace::root())?.capture()?;
    Run::new(folder.join("bin/safetensors")).args(["--version"]).capture().map(drop)
}

fn complete(line: &str) -> Result<(), String> {
    let home = folder("home")?;
    let scripts = home.join(".local/share/bash-completion/completions");
    workspace::write(&scripts.join("other"), b"")?;
    shell(line, &home)?.env("HOME", &home).capture()?;
    Run::new("bash").args(["-n"]).args([scripts.join("safetensors")]).capture().map(drop)
}

/// Runs a minimal program, and compares what it prints with the page.
fn run_minimal(line: &str) -> Result<(), String> {
    let page = workspace::text(&workspace::root().join("docs/src/minimal-firmware.md"))?;
    let printed = blocks(&page, "text").next().ok_or("the page has no output")?;
    let run = shell(line, &workspace::root().join("firmware/minimal"))?.limit(300);
    let said = run.env("CARGO_TARGET_DIR", workspace::target_dir().join("scratch/target")).capture()?;
    let said = everything(&said);
    if said.contains(printed.trim_end()) { Ok(()) } else { Err(format!("it prints\n{said}")) }
}

/// Scores a reader that is right about everything.
fn score(line: &str) -> Result<(), String> {
    let folder = folder("score")?;
    workspace::write(&folder.join("reader"), b"exec safetensors decode\n")?;
    let tests = workspace::root().join("tests");
    let link = format!("ln -s '{}' tests; (echo '#!/bin/sh'; cat reader) > my-reader", tests.display());
    shell(&format!("{link}; chmod +x my-reader; {line}"), &folder)?.capture().map(drop)
}

fn pack(line: &str) -> Result<(), String> {
    let file = folder("pack")?.join("vectors.bin");
    let line = line.replace("VECTORS.BIN", &format!("'{}'", file.display()));
    shell(&line, workspace::root())?.capture()?;
    match workspace::read(&file)?.len() {
        0 => Err("the pack is empty".to_owned()),
        _ => Ok(()),
    }
}

/// Runs a script, and checks that the model it writes is valid.
fn run_python(script: &str) -> Result<(), String> {
    let folder = folder("python")?;
    workspace::write(&folder.join("script.py"), script.as_bytes())?;
    shell("python3 script.py && safetensors check model.safetensors", &folder)?.capture().map(drop)
}
