//! Measures the cases at all sizes with criterion: `cargo bench -p verification`, or `cargo bench -p
//! verification -- PART-OF-A-NAME`. Only `cargo xtask measure speed` measures first opens, because each
//! takes its own process.

#[cfg(feature = "bench")]
mod cases;
#[cfg(feature = "bench")]
mod one_tensor;
#[cfg(feature = "bench")]
mod vector;
#[cfg(feature = "bench")]
mod vector_by_reference;

#[cfg(feature = "bench")]
fn main() {
    thorough::measure();
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

#[cfg(feature = "bench")]
mod thorough {
    use std::time::Duration;

    use criterion::{Criterion, Throughput};

    use crate::cases::{Amount, Case, Contender, Measure, measure_all};

    /// Short, because there are so many cases.
    const TIME: Duration = Duration::from_secs(1);

    pub fn measure() {
        let criterion = Criterion::default().warm_up_time(TIME / 4).measurement_time(TIME).sample_size(20);
        let wanted = std::env::args().nth(1).filter(|word| !word.starts_with('-'));
        let mut thorough = Thorough { criterion: criterion.configure_from_args(), wanted };
        measure_all(&mut thorough);
        thorough.criterion.final_summary();
    }

    struct Thorough {
        criterion: Criterion,
        /// A part of the names of the cases to prepare. Criterion decides which of these are measured.
        wanted: Option<String>,
    }

    impl Measure for Thorough {
        fn is_thorough(&self) -> bool {
            true
        }

        fn wants(&self, what: &str) -> bool {
            self.wanted.as_ref().is_none_or(|wanted| what.contains(wanted))
        }

        fn measure(&mut self, case: Case, contenders: Vec<Contender<'_>>) {
            let mut group = self.criterion.benchmark_group(case.what);
            group.throughput(match case.amount {
                Amount::Bytes(bytes) => Throughput::Bytes(bytes as u64),
                Amount::Tensors(tensors) => Throughput::Elements(tensors as u64),
            });
            for Contender { name, mut work } in contenders {
                group.bench_function(name, |bencher| bencher.iter(&mut work));
            }
        }
    }
}
