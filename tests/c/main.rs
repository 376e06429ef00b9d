//! The vectors, the files of other frameworks and the wrong models for the tests of the C API: `c pack OUT
//! LONGEST` writes the vectors up to this length, and all others; `c compare LOG LONGEST` compares what the C
//! programs have printed with the manifest. `crates/safetensors-c/tests/pack.h` and `judge.h` describe the
//! pack and the log.

mod compare;
mod files;
mod log;
mod pack;

#[allow(dead_code, reason = "the matrices are not part of the C API")]
#[path = "../wrong_models/models.rs"]
mod models;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["pack", path, longest] => number(longest).and_then(|longest| pack::write(path, longest)),
        ["compare", path, longest] => number(longest).and_then(|longest| compare::compare(path, longest)),
        _ => Err("usage: c pack OUT LONGEST | c compare LOG LONGEST".to_owned()),
    };
    match outcome {
        Ok(sentence) => {
            println!("{sentence}");
            ExitCode::SUCCESS
        }
        Err(sentence) => {
            eprintln!("{sentence}");
            ExitCode::FAILURE
        }
    }
}

fn number(word: &str) -> Result<usize, String> {
    word.parse().map_err(|_| format!("{word:?} is not a length"))
}
