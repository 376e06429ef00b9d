//! Every byte that the commands print and write, for small models, valid and not.
//!
//! The cases are in `outputs/*.txt`, the lines that begin with `$ `. `sh` runs those of a file in one
//! directory; below each is its standard output, then standard error, written files and the exit code.
//! `BLESS=1 cargo test -p safetensors-host --test command outputs::` updates them.
#![cfg(all(unix, not(feature = "chips")))]

use crate::numpy::{Entry, plain, zip};
use crate::support::{Place, file};
use crate::{made, pages, remote::Server};
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, mem, sync, thread};

/// Loaded once, which takes a second.
static VECTORS: sync::LazyLock<vectors::Manifest> = sync::LazyLock::new(vectors::load);

/// Contents by path.
type Files = BTreeMap<PathBuf, Vec<u8>>;

#[test]
fn outputs_are_unchanged() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outputs");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|suffix| suffix == "txt"));
    let share = paths.len().div_ceil(thread::available_parallelism().map_or(1, usize::from));
    let changes: String = thread::scope(|scope| {
        let run = |part: &[PathBuf]| part.iter().map(|path| changes(path)).collect::<String>();
        let runs: Vec<_> = paths.chunks(share).map(|part| scope.spawn(move || run(part))).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert!(changes.is_empty(), "{changes}");
}

/// Replays a file, and returns what is different.
fn changes(path: &Path) -> String {
    let (old, place) = (fs::read_to_string(path).unwrap(), place());
    let server = pages::server(&place);
    let old: Vec<&str> = old.trim_end_matches('\n').split("\n$ ").collect();
    let command = |case: &str| case.lines().next().unwrap().trim_start_matches("$ ").to_owned();
    let mut files = contents(&place);
    let run = |case: &&str| transcript(&place, &mut files, &server, &command(case));
    let new: Vec<String> = old.iter().map(run).collect();
    if env::var_os("BLESS").is_some() {
        fs::write(path, format!("$ {}\n", new.join("\n$ "))).unwrap();
        return String::new();
    }
    let cases = old.iter().map(|case| case.trim_start_matches("$ ")).zip(&new);
    let changed = cases.filter(|(old, new)| old != new);
    changed.map(|(old, new)| format!("{}: {}\n", path.display(), difference(old, new))).collect()
}

/// The lines between those that begin and those that end both texts.
fn difference(old: &str, new: &str) -> String {
    let command = old.lines().next().unwrap();
    let [mut old, mut new] = [old, new].map(|text| text.lines().collect::<Vec<_>>());
    let equal = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    (old, new) = (old.split_off(equal), new.split_off(equal));
    while !old.is_empty() && old.last() == new.last() {
        old.pop();
        new.pop();
    }
    let lines = old.iter().map(|line| ('-', line)).chain(new.iter().map(|line| ('+', line)));
    lines.fold(format!("$ {command}\n@@ line {equal}"), |text, (sign, line)| format!("{text}\n{sign}{line}"))
}

/// Runs a command, and updates `files`.
fn transcript(place: &Place, files: &mut Files, server: &Server, command: &str) -> String {
    let output = shell(place, command, server).output().unwrap();
    let shown = |bytes: &[u8]| {
        let text = visible(bytes).replace(&server.url(""), pages::SERVER);
        let text = text.replace(place.path("").to_str().unwrap(), "PLACE/");
        assert!(!text.contains("\n$ "), "{command}: {text}");
        if text.is_empty() || text.ends_with('\n') { text } else { text + "‹no newline›\n" }
    };
    let mut new = format!("{command}\n{}", shown(&output.stdout));
    if !output.stderr.is_empty() {
        new += &format!("--- stderr\n{}", shown(&output.stderr));
    }
    let before = mem::replace(files, contents(place));
    for (path, bytes) in files.iter().filter(|(path, bytes)| before.get(*path) != Some(bytes)) {
        writeln!(new, "--- wrote {}, {}", path.display(), vectors::sha256(bytes)).unwrap();
    }
    let gone = before.keys().filter(|path| !files.contains_key(*path));
    gone.for_each(|path| writeln!(new, "--- removed {}", path.display()).unwrap());
    new + &format!("--- exit code {}", output.status.code().unwrap())
}

fn shell(place: &Place, command: &str, server: &Server) -> Command {
    let folder = Path::new(env!("CARGO_BIN_EXE_safetensors")).parent().unwrap();
    let path = format!("{}:{}", folder.display(), env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command.replace(pages::SERVER, &server.url(""))).stdin(Stdio::null());
    shell.current_dir(place.path("")).env_clear().env("PATH", path).env("LC_ALL", "C.UTF-8");
    shell.env("HF_ENDPOINT", server.url("")).env("HF_HOME", "hf").env("HOME", "home");
    shell
}

/// The text, with control characters and other bytes in brackets that no command prints.
fn visible(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character.is_control() && character != '\n' {
                true => write!(text, "‹{:02x}›", u32::from(character)).unwrap(),
                false => text.push(character),
            }
        }
        chunk.invalid().iter().for_each(|byte| write!(text, "‹{byte:02x}›").unwrap());
    }
    text
}

fn contents(place: &Place) -> Files {
    let (mut files, mut folders) = (Files::new(), vec![place.path("")]);
    while let Some(folder) = folders.pop() {
        let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let (inner, found): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
        // No command writes there, and it has hundreds of files.
        folders.extend(inner.into_iter().filter(|path| !path.ends_with("lite")));
        let name = |path: &Path| path.strip_prefix(place.path("")).unwrap().to_owned();
        files.extend(found.iter().map(|path| (name(path), fs::read(path).unwrap())));
    }
    files
}

fn place() -> Place {
    let place = pages::files();
    include_str!("outputs/models").lines().for_each(|line| put_model(&place, line));
    let script = format!("set -e\n{}", include_str!("outputs/files.sh"));
    assert!(Command::new("sh").arg("-c").arg(script).current_dir(place.path("")).status().unwrap().success());
    let tensors: [made::OfTensorflow<'_>; 2] = [("n", 3, 1, &[7, 0, 0, 0]), ("w", 1, 1, &[0, 0, 128, 63])];
    let (table, data) = made::tensorflow(&tensors);
    let old = made::dictionary(&[("x", made::tensor("0", "FloatStorage", 2, true))]);
    let old = made::old_pytorch(&old, 2, &[0, 0, 128, 63, 0, 0, 0, 64]);
    let evil = Entry::deflated("m/data.pkl", &fs::read(place.path("evil.pkl")).unwrap());
    let npz = [Entry::stored("x.npy", &plain("(2,)", b"ab")), Entry::deflated("y.npy", &plain("()", b"c"))];
    place.put("tf.index", &table).put("tf.data-00000-of-00001", &data).put("old.bin", &old);
    place.put("evil.pt", &zip(&[evil, Entry::stored("m/version", b"3")])).put("a.npz", &zip(&npz));
    place.put("a.npy", &plain("(2, 3)", b"abcdef")).put("bad.npy", &plain("(2, 3)", b"abc"));
    place.put("f.npy", &made::npy("'<f4'", "True", "(1, 2)", &[1; 8]));
    place.put("o.npy", &made::npy("'|O'", "False", "(1,)", b"\x80\x02N."));
    place.put("g-00001-of-00002.gguf", &made::gguf_part([0, 2], 2, "p"));
    place.put("g-00002-of-00002.gguf", &made::gguf_part([1, 2], 2, "q"));
    put_vectors(&place);
    place
}

/// Makes the model of a line: its path, its metadata, and tensors as `NAME:DTYPE[SHAPE]`.
fn put_model(place: &Place, line: &str) {
    let mut words = line.split(' ');
    let path = place.path(words.next().unwrap());
    let (mut header, mut at) = (format!(r#"{{"__metadata__":{}"#, words.next().unwrap()), 0);
    for word in words {
        let (name, rest) = word.rsplit_once(':').unwrap();
        let (dtype, dims) = rest.trim_end_matches(']').split_once('[').unwrap();
        let count: usize = dims.split(',').map(|dim| dim.parse().unwrap_or(1)).product();
        let bits: String = dtype.trim_start_matches(char::is_alphabetic).chars().take(2).collect();
        let end = at + count * bits.trim_end_matches('_').parse().unwrap_or(8) / 8;
        write!(header, r#","{name}":{{"dtype":"{dtype}","shape":[{dims}],"data_offsets":[{at},{end}]}}"#)
            .unwrap();
        at = end;
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let data: Vec<u8> = (0..at).map(|at| ((at * at * 7 + at * 37 + at / 5) % 256).to_le_bytes()[0]).collect();
    place.put(path, &file(header + "}", &data));
}

/// The short conformance vectors: one of each error, and those of the lite suite.
fn put_vectors(place: &Place) {
    let mut codes = HashSet::new();
    for vector in VECTORS.vectors.iter().filter(|vector| vector.length <= 2048) {
        if vector.code.as_ref().is_some_and(|code| codes.insert(code)) || vector.lite {
            let name = format!("lite/{}.safetensors", vector.id.replace('/', "-"));
            place.put(name, &vector.bytes());
        }
    }
}
