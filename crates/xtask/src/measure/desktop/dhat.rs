//! Counts heap allocations with DHAT.

use crate::machine;
use crate::process::{Run, everything};
use std::path::Path;

pub struct Heap {
    pub allocations: u64,
    /// The largest number of bytes at one time.
    pub most_bytes: u64,
}

/// Runs the program on one processor, so that its number of threads is the same on every computer.
pub fn measure(program: &Path, args: &[&str]) -> Result<Heap, String> {
    machine::need_program("taskset", "util-linux")?;
    let taskset = Run::new("taskset").args(["--cpu-list", &any_processor()?, "valgrind"]);
    let dhat = taskset.args(["--tool=dhat", "--dhat-out-file=/dev/null"]);
    let text = everything(&dhat.args([program]).args(args).capture()?);
    parse(&text).ok_or_else(|| format!("DHAT reported no heap figures:\n{text}"))
}

/// Returns the first processor that this process may use.
fn any_processor() -> Result<String, String> {
    let status = std::fs::read_to_string("/proc/self/status");
    let status = status.map_err(|error| format!("cannot read /proc/self/status: {error}"))?;
    first_processor(&status).ok_or_else(|| format!("/proc/self/status lists no processors:\n{status}"))
}

/// Parses a line such as `Cpus_allowed_list:\t0-3,8`.
fn first_processor(status: &str) -> Option<String> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let first = list.trim().split(['-', ',']).next()?;
    first.parse().ok().map(|first: u32| first.to_string())
}

/// Parses lines such as `==1== Total:     2,620 bytes in 9 blocks`, and the same with `At t-gmax:`.
fn parse(text: &str) -> Option<Heap> {
    let figures = |name: &str| {
        let line = text.lines().find(|line| line.starts_with("==") && line.contains(name))?;
        let (_, figures) = line.split_once(name)?;
        let (bytes, blocks) = figures.split_once(" bytes in ")?;
        let number = |text: &str| text.trim().replace(',', "").parse().ok();
        Some((number(bytes)?, number(blocks.strip_suffix(" blocks")?)?))
    };
    let ((_, allocations), (most_bytes, _)) = (figures(" Total:")?, figures(" At t-gmax:")?);
    Some(Heap { allocations, most_bytes })
}

#[cfg(test)]
mod tests {
    use super::{first_processor, parse};

    #[test]
    fn processors_are_parsed_from_a_list_of_ranges() {
        let first = |list: &str| first_processor(&format!("Name:\tx\nCpus_allowed_list:\t{list}\nMems: 1\n"));
        assert_eq!(["0-1", "12,14-15", "3"].map(|list| first(list).expect("a list")), ["0", "12", "3"]);
        assert_eq!([first(""), first("x"), first_processor("Cpus: 0")], [None, None, None]);
    }

    #[test]
    fn heap_figures_are_parsed_from_two_lines() {
        let text = "m: ok, 3 Total: 5\n==1== \n==1== Total:     262,350 bytes in 602 blocks\n\
            ==1== At t-gmax: 167,896 bytes in 451 blocks\n==1== At t-end:  8 bytes in 1 blocks\n";
        let heap = parse(text).expect("two lines");
        assert_eq!((heap.allocations, heap.most_bytes), (602, 167_896));
        assert!(parse("==1== Total:     262,350 bytes in 602 blocks\n").is_none());
        assert!(parse("").is_none());
    }
}
