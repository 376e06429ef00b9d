//! The program `safetensors`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    safetensors_host::run(std::env::args_os()).into()
}
