//! Measures the library beside the reference with criterion: `cargo bench -p verification`, or `cargo bench
//! -p verification -- PART-OF-A-NAME`.

#[cfg(feature = "bench")]
mod cases;
#[cfg(feature = "bench")]
mod one_tensor;

#[cfg(feature = "bench")]
fn main() {
    cases::Bench::new().measure_all();
}

/// Runs itself again with the feature that has the contenders; no other program needs them.
#[cfg(not(feature = "bench"))]
fn main() -> std::process::ExitCode {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let words = std::env::args_os().skip(1).filter(|word| word != "--bench");
    let mut command = std::process::Command::new(cargo);
    command
        .args(["bench", "--package", "verification", "--features", "bench", "--bench", "thorough", "--"])
        .args(words);
    let is_done = command.status().is_ok_and(|status| status.success());
    if is_done { std::process::ExitCode::SUCCESS } else { std::process::ExitCode::FAILURE }
}
