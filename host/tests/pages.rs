//! The blocks marked `console` in both READMEs, in the guide and in the pages of the commands match the
//! program's output.
//!
//! `BLESS=1 cargo test -p safetensors-host --test command pages::` updates them and the table of commands.
#![cfg(unix)]

use crate::formats::{gguf, pytorch};
use crate::remote::{Server, serve};
use crate::signed::{KEY, PUBLIC_KEY};
use crate::support::{Place, command_names, file, floats, model, tensor};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What pages call a server on loopback.
pub const SERVER: &str = "http://server";
const FENCE: &str = "```console\n";

#[test]
fn transcripts_match_the_output() {
    let bless = std::env::var_os("BLESS").is_some();
    let wrong: Vec<PathBuf> = pages().into_iter().filter(|page| !agrees(page, bless)).collect();
    assert!(wrong.is_empty(), "these transcripts are out of date: {wrong:?}");
}

/// The table of the README contains the first sentence of each page.
#[test]
fn every_command_has_a_page_in_the_readme() {
    let path = folder().join("README.md");
    let readme = fs::read_to_string(&path).expect("the readme");
    let (before, rest) = readme.split_once(TABLE).expect("the table of commands");
    let (_, after) = rest.split_once("\n\n").expect("its end");
    let rows: String = commands().iter().map(|command| row(command)).collect();
    let new = format!("{before}{TABLE}{rows}\n{after}");
    if std::env::var_os("BLESS").is_some() && new != readme {
        fs::write(&path, &new).expect("files are written");
    } else {
        assert_eq!(readme, new);
    }
}

/// The README shows what these print on a terminal.
#[test]
fn the_picture_shows_the_output() {
    let (place, path) = (files(), folder().join("../docs/src/images/terminal.svg"));
    let commands =
        ["safetensors inspect digits.safetensors | head -n 12", "safetensors check torn.safetensors"];
    let shown = |command: &str| {
        let printed = run(&place, &format!("export CLICOLOR_FORCE=1; {command}"), None);
        format!("\u{1b}[1m$ {command}\u{1b}[0m\n{printed}")
    };
    let new = picture(&commands.map(shown).join("\n"));
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &new).expect("files are written");
    }
    assert!(fs::read_to_string(&path).is_ok_and(|old| old == new), "BLESS=1 draws the picture again");
}

/// Codes of the terminal, and how they look.
const STYLES: [(&str, &str); 6] = [
    ("0", ""),
    ("1", "font-weight:bold;"),
    ("2", "opacity:.6;"),
    ("31", "fill:#ff8080;"),
    ("32", "fill:#80e080;"),
    ("34", "fill:#80a0ff;"),
];

/// Draws text with the colours of a terminal.
fn picture(screen: &str) -> String {
    let (width, height) = (1060, 20 + 18 * screen.lines().count());
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" fill=\"#dddddd\" \
         font-family=\"monospace\" font-size=\"13\">\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"6\" fill=\"#1e1e1e\"/>\n"
    );
    for (row, line) in screen.lines().enumerate() {
        text += &format!("<text x=\"14\" y=\"{}\" xml:space=\"preserve\">", 24 + 18 * row);
        let mut style = String::new();
        for part in format!("0m{line}").split("\u{1b}[") {
            let (code, part) = part.split_once('m').expect("a code");
            let (_, look) = STYLES.iter().find(|(of, _)| *of == code).expect("a code that is drawn");
            style = if code == "0" { String::new() } else { style + look };
            let part = part.replace('&', "&amp;").replace('<', "&lt;");
            if !part.is_empty() {
                text += &format!("<tspan style=\"{style}\">{part}</tspan>");
            }
        }
        text += "</text>\n";
    }
    text + "</svg>\n"
}

const TABLE: &str = "| command | what it does |\n|---|---|\n";

fn row(command: &str) -> String {
    let page = fs::read_to_string(folder().join(format!("docs/{command}.md"))).expect("a page");
    let mut paragraphs = page.split("\n\n").skip(1);
    let first =
        paragraphs.find(|text| !text.starts_with("Needs a build")).expect("what it does").replace('\n', " ");
    let sentence = first.split(". ").next().unwrap_or(&first).trim_end_matches('.');
    let begin = sentence.get(..1).expect("a letter").to_lowercase();
    format!("| [`{command}`](docs/{command}.md) | {begin}{} |\n", &sentence[1..])
}

fn commands() -> Vec<String> {
    command_names().into_iter().filter(|name| name != "help").collect()
}

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn pages() -> Vec<PathBuf> {
    let docs = fs::read_dir(folder().join("docs")).into_iter().flatten();
    let mut pages: Vec<PathBuf> = docs.map(|entry| entry.expect("directory entry").path()).collect();
    // These commands need the feature `chips`.
    pages.retain(|page| cfg!(feature = "chips") || !page.ends_with("fit.md") && !page.ends_with("flash.md"));
    pages.extend([folder().join("README.md"), folder().join("../README.md")]);
    let guide = fs::read_dir(folder().join("../docs/src")).expect("the guide");
    let chapters = guide.map(|entry| entry.expect("an entry").path());
    pages.extend(chapters.filter(|path| path.extension().is_some_and(|end| end == "md")));
    pages.sort();
    pages
}

/// Whether a page matches the current output; with `bless` it is updated.
fn agrees(page: &Path, bless: bool) -> bool {
    let old = fs::read_to_string(page).expect("a page");
    let new = replayed(&old);
    if bless && new != old {
        fs::write(page, &new).expect("files are written");
    }
    if !bless && new != old {
        let differing = old.lines().zip(new.lines()).find(|(old, new)| old != new);
        eprintln!("{}: {differing:#?}", page.display());
    }
    bless || new == old
}

/// The page with the current output of every transcript. All commands of a page run in one directory.
fn replayed(page: &str) -> String {
    let place = files();
    let server = page.contains(SERVER).then(|| server(&place));
    let mut parts = page.split(FENCE);
    let mut new = parts.next().expect("the beginning").to_owned();
    for part in parts {
        let (block, rest) = part.split_once("```").expect("the block ends");
        let commands: Vec<&str> = block.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
        assert!(!commands.is_empty(), "a block without a command: {block}");
        let output = |command: &str| run(&place, command, server.as_ref());
        let transcript: String =
            commands.iter().map(|command| format!("$ {command}\n{}", output(command))).collect();
        new += &format!("{FENCE}{transcript}```{rest}");
    }
    new
}

pub fn files() -> Place {
    let place = Place::new();
    let metadata = r#""__metadata__":{"format":"pt"}"#;
    let weight = r#""fc1.weight":{"dtype":"U8","shape":[2,4],"data_offsets":[4,12]}"#;
    let header = format!("{{{metadata},{},{weight}}}", tensor("fc1.bias", 0, 4));
    let torn = format!("{{{},{}}}", tensor("h.3.weight", 0, 8000), tensor("h.3.bias", 8192, 8256));
    let old = r#"{"a":{"dtype":"F8_E4M3FN","shape":[2],"data_offsets":[0,2]}}"#;
    place.put("model.safetensors", &file(header, &[b'x'; 12]));
    place.put("torn.safetensors", &file(torn, &[b'x'; 8256]));
    place.put("old.safetensors", &file(old, b"xx"));
    place.put("gptq.safetensors", &layer_of_gptq());
    let others: [(&str, &[u8]); 1] = [("epoch", b"K\x07")];
    let tensors = [("fc1.weight", 0), ("fc1.bias", 1), ("tied.weight", 0)];
    put_loras(&place);
    place.put("model.pt", &pytorch(&[&[0.5, 1.0], &[2.0]], &tensors, &others));
    let others: [(&str, &[u8]); 3] = [
        ("mask", b"ctorch._utils\n_rebuild_sparse_tensor\n)R"),
        ("args", b"cargparse\nNamespace\n)\x81"),
        ("folder", b"cpathlib\nPosixPath\n(X\x01\0\0\0/tR"),
    ];
    place.put("trained.pt", &pytorch(&[&[0.5]], &[("w", 0)], &others));
    place.put("model.gguf", &gguf());
    for (name, path) in [("key.pem", KEY), ("public.pem", PUBLIC_KEY)] {
        place.put(name, &fs::read(path).expect("a key"));
    }
    let structure = folder().join("../tests/structures/files/own-type.safetensors");
    place.put("structure.safetensors", &fs::read(structure).expect("a file of safestructures"));
    for (name, source) in [("digits.safetensors", "digits-f16"), ("kws.safetensors", "digits-i8")] {
        let source = folder().join(format!("../firmware/app/models/{source}.safetensors"));
        place.put(name, &fs::read(&source).expect("a model of the firmware"));
        // With the path from the root of the repository.
        let models = "firmware/app/models";
        fs::create_dir_all(place.path(models)).expect("directory");
        fs::copy(&source, place.path(models).join(source.file_name().expect("a name"))).expect("a copy");
    }
    place
}

/// A base, and LoRAs of its layer as PEFT and kohya write them.
fn put_loras(place: &Place) {
    let [numbers, down, up] = [8, 4, 8].map(|count: u16| (0..count).map(f32::from).collect::<Vec<_>>());
    let row = |name, shape, numbers: &[f32]| (name, "F32", shape, floats(numbers));
    let base = [row("fc.weight", &[4, 2][..], &numbers), row("fc.bias", &[4], &[0.5; 4])];
    let peft = "base_model.model.fc.lora_";
    let [a, b] = ["A", "B"].map(|end| format!("{peft}{end}.weight"));
    let lora = [row(&a, &[2, 2][..], &down), row(&b, &[4, 2], &up)];
    let [down, up] = [("lora_unet_fc.lora_down.weight", &down), ("lora_unet_fc.lora_up.weight", &up)];
    let kohya =
        [row(down.0, &[2, 2][..], down.1), row(up.0, &[4, 2], up.1), row("lora_unet_fc.alpha", &[], &[1.0])];
    place.put("base.safetensors", &model("", &base)).put("lora.safetensors", &model("", &lora));
    place.put("kohya.safetensors", &model("", &kohya));
}

/// A layer of 64 inputs and 8 outputs in groups of 32, and its bias.
fn layer_of_gptq() -> Vec<u8> {
    let tensor = |name, dtype, shape, len| (name, dtype, shape, vec![0x57; len]);
    model(
        "",
        &[
            tensor("fc1.bias", "F16", &[8][..], 16),
            tensor("fc1.qweight", "I32", &[8, 8], 256),
            tensor("fc1.qzeros", "I32", &[2, 1], 8),
            tensor("fc1.scales", "F16", &[2, 8], 32),
        ],
    )
}

/// Both streams together, as on a terminal.
fn run(place: &Place, command: &str, server: Option<&Server>) -> String {
    let address = server.map_or_else(|| SERVER.to_owned(), |server| server.url(""));
    let command = command.replace(SERVER, &address);
    let folder = Path::new(env!("CARGO_BIN_EXE_safetensors")).parent().expect("directory");
    let path = std::env::var("PATH").expect("a search path");
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{{ {command}\n}} 2>&1")]).current_dir(place.path("."));
    shell.env("LC_ALL", "C.UTF-8").env("PATH", format!("{}:{path}", folder.display()));
    if server.is_some() {
        shell.env("HF_ENDPOINT", &address).env("HF_HOME", place.path("hf")).env_remove("HF_HUB_CACHE");
    }
    let output = String::from_utf8(shell.output().expect("a shell").stdout).expect("the output is UTF-8");
    output.replace(&address, SERVER)
}

/// The files of the page that are on a server.
pub fn server(place: &Place) -> Server {
    let read = |name: &str| fs::read(place.path(name)).expect("a file");
    serve([
        ("/digits.safetensors", read("digits.safetensors")),
        ("/torn.safetensors", read("torn.safetensors")),
        ("/page.html", b"<!DOCTYPE html><p>Not a model</p>".to_vec()),
        ("/owner/digits/resolve/main/model.safetensors", read("digits.safetensors")),
    ])
}
