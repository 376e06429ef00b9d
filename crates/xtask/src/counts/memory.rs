//! The memory that programs have at most, as their tests in `host/tests` have measured and judged it.

use crate::budget::{Limit, Row};
use crate::process::everything;
use crate::toolchain::own_cargo;

/// Each asks the system what programs had, and fails above their limits.
const TESTS: [&str; 2] = ["stream_memory", "memory"];

pub fn measure() -> Result<Vec<Row>, String> {
    if !cfg!(target_os = "linux") {
        return Ok(Vec::new());
    }
    let tests = TESTS.iter().flat_map(|test| ["--test", test]);
    let run = own_cargo().args(["test", "--release", "--package", "safetensors-host"]).args(tests);
    let run = run.args(["--", "streams"]);
    let text = everything(&run.capture()?);
    let rows: Vec<Row> = text.lines().filter_map(row).collect();
    if rows.is_empty() { Err(format!("nothing was measured:\n{text}")) } else { Ok(rows) }
}

/// Of a line such as `what: 592 KiB of at most 2048 KiB, 2.5ms`, or `what: 592 KiB` where there is no limit.
fn row(line: &str) -> Option<Row> {
    let (what, figures) = line.rsplit_once(": ")?;
    let mut figures = figures.split(", ").next()?.split(" of at most ").map(kibibytes);
    let (ours, limit) = (figures.next()??, figures.next());
    let limit = match limit {
        Some(limit) => Some(Limit::AtMost(limit?)),
        None => None,
    };
    Some(Row { what: what.to_owned(), limit, ours, unit: "KiB", reference: None })
}

fn kibibytes(text: &str) -> Option<f64> {
    text.strip_suffix(" KiB")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::row;

    #[test]
    fn a_line_is_a_row() {
        let judged = row("hash, above: 1332 KiB of at most 2048 KiB, 5.0s").expect("it is one");
        assert_eq!(judged.sentence(), "hash, above: 1,332 KiB, at most 2,048 KiB");
        let told = row("an empty program: 1800 KiB").expect("it is one");
        assert_eq!((told.ours, told.limit), (1800.0, None));
        for line in ["test result: ok. 1 passed", "", "a: b KiB", "a: 5 KiB of at most some KiB", "a: 5 s"] {
            assert!(row(line).is_none(), "{line}");
        }
    }
}
