//! DHAT, which counts what a program does with its heap.

use crate::process::{Run, everything};
use std::path::Path;

pub struct Heap {
    pub allocations: u64,
    /// At the time when they were most.
    pub most_bytes: u64,
}

pub fn measure(program: &Path, args: &[&str]) -> Result<Heap, String> {
    let dhat = Run::new("valgrind").args(["--tool=dhat", "--dhat-out-file=/dev/null"]);
    let text = everything(&dhat.args([program]).args(args).capture()?);
    parse(&text).ok_or_else(|| format!("this says nothing of a heap:\n{text}"))
}

/// Of lines such as `==1== Total:     2,620 bytes in 9 blocks`, and the same with `At t-gmax:`.
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
    use super::parse;

    #[test]
    fn a_heap_is_two_lines_among_others() {
        let text = "m: ok, 3 Total: 5\n==1== \n==1== Total:     262,350 bytes in 602 blocks\n\
            ==1== At t-gmax: 167,896 bytes in 451 blocks\n==1== At t-end:  8 bytes in 1 blocks\n";
        let heap = parse(text).expect("it is there");
        assert_eq!((heap.allocations, heap.most_bytes), (602, 167_896));
        assert!(parse("==1== Total:     262,350 bytes in 602 blocks\n").is_none());
        assert!(parse("").is_none());
    }
}
