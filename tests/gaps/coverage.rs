//! Lists the lines that no test runs.

use crate::tree::{CORE, is_test, only_in_consts};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::{Command, Stdio};

/// The packages whose lines are counted.
const ROOMS: &str = "embedded-safetensors safetensors-quant safetensors-files safetensors-convert \
    safetensors-remote safetensors-c";

/// For each file, for each line that can run, whether it has run.
type Lines = BTreeMap<String, BTreeMap<usize, bool>>;

/// Runs all tests and prints what they miss.
pub fn run() {
    let mut script = Command::new("sh");
    script.args(["-euc", include_str!("coverage.sh")]).envs(crate::LEAN);
    assert!(script.stdin(Stdio::null()).status().expect("sh").success());
    report(&read(&fs::read_to_string("target/coverage/lines").expect("written")));
}

/// Reads `SF:PATH` and `DA:LINE,COUNT`.
fn read(text: &str) -> Lines {
    let root = std::env::current_dir().expect("the repository");
    let (mut lines, mut file) = (Lines::new(), None);
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("SF:") {
            let path = fs::canonicalize(path).unwrap_or_default();
            let path = path.strip_prefix(&root).ok().and_then(Path::to_str).unwrap_or_default();
            let is_counted = ROOMS.split(' ').any(|room| path.starts_with(&format!("crates/{room}/src/")));
            file = (is_counted && !is_test(path)).then(|| path.to_owned());
        } else if let Some((number, count)) = line.strip_prefix("DA:").and_then(|line| line.split_once(','))
            && let Some(file) = &file
        {
            let of_file = lines.entry(file.clone()).or_default();
            *of_file.entry(number.parse().expect("a number")).or_default() |= count != "0";
        }
    }
    lines.iter_mut().for_each(|(path, lines)| without_others(path, lines));
    lines
}

/// Removes the lines of unit tests, and of functions that only const evaluation calls.
fn without_others(path: &str, lines: &mut BTreeMap<usize, bool>) {
    let text = fs::read_to_string(path).expect("a source");
    let text: Vec<&str> = text.lines().collect();
    lines.retain(|line, _| !block(&text, "mod tests {").is_some_and(|tests| tests.contains(line)));
    for name in path.strip_prefix(CORE).map_or(vec![], only_in_consts) {
        let of_name = block(&text, &format!("fn {name}(")).or_else(|| block(&text, &format!("fn {name}<")));
        let range = of_name.unwrap_or_else(|| panic!("{path} has no function {name}"));
        let has_run = range.filter_map(|line| lines.remove(&line)).any(|runs| runs);
        assert!(!has_run, "{path}: a test runs {name}, so it is not only for const evaluation");
    }
}

/// Returns the lines of an item, which ends with a brace below its start.
fn block(text: &[&str], start: &str) -> Option<RangeInclusive<usize>> {
    let first = text.iter().position(|line| line.contains(start))?;
    let indent = text[first].len() - text[first].trim_start().len();
    let end = format!("{:indent$}}}", "");
    Some(first + 1..=text[first..].iter().position(|line| *line == end)? + first + 1)
}

fn report(lines: &Lines) {
    let mut directories: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for (path, lines) in lines {
        let missed: Vec<&usize> = lines.iter().filter(|(_, runs)| !**runs).map(|(line, _)| line).collect();
        if let Some(core) = path.strip_prefix(CORE).filter(|_| !missed.is_empty()) {
            println!("{core}: {missed:?}");
        }
        let room = path.find("/src/").expect("only these") + "/src/".len();
        let end = room + path[room..].find('/').unwrap_or(0);
        for directory in BTreeSet::from([&path[..room], &path[..end]]) {
            let sums = directories.entry(directory).or_default();
            *sums = [sums[0] + lines.len(), sums[1] + missed.len()];
        }
    }
    for (directory, [lines, missed]) in directories {
        let percent = 100.0 * (lines - missed) as f64 / lines as f64;
        println!("{directory:48}{lines:7} lines{missed:6} missed{percent:8.2} %");
    }
}
