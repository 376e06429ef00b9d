//! The transcripts in the README are what the program prints.
#![cfg(unix)]

mod support;
use std::path::Path;
use std::process::Command;
use support::{Place, file, tensor};

#[test]
fn transcripts_are_true() {
    let place = files();
    let readme = include_str!("../README.md");
    let blocks: Vec<_> = readme.split("```console\n").skip(1).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        let (block, _) = block.split_once("```").expect("the block ends");
        let (command, output) = block.split_once('\n').expect("a command and its output");
        let command = command.strip_prefix("$ ").expect("a prompt");
        assert_eq!(run(&place, command), output, "{command}");
    }
}

fn files() -> Place {
    let place = Place::new();
    let metadata = r#""__metadata__":{"format":"pt"}"#;
    let weight = r#""fc1.weight":{"dtype":"U8","shape":[2,4],"data_offsets":[4,12]}"#;
    let model = format!("{{{metadata},{},{weight}}}", tensor("fc1.bias", 0, 4));
    let torn = format!("{{{},{}}}", tensor("h.3.weight", 0, 8000), tensor("h.3.bias", 8192, 8256));
    let old = r#"{"a":{"dtype":"F8_E4M3FN","shape":[2],"data_offsets":[0,2]}}"#;
    place.put("model.safetensors", &file(model, &[b'x'; 12]));
    place.put("torn.safetensors", &file(torn, &[b'x'; 8256]));
    place.put("old.safetensors", &file(old, b"xx"));
    place
}

/// Both streams together, as on a terminal.
fn run(place: &Place, command: &str) -> String {
    let folder = Path::new(env!("CARGO_BIN_EXE_safetensors")).parent().expect("a folder");
    let path = std::env::var("PATH").expect("a search path");
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{{ {command}\n}} 2>&1")]).current_dir(place.path("."));
    shell.env("PATH", format!("{}:{path}", folder.display()));
    String::from_utf8(shell.output().expect("a shell").stdout).expect("the output is UTF-8")
}
