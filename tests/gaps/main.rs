//! Finds what the tests miss.
//!
//! `coverage` lists the lines that no test runs. `mutants` makes changes in a copy of the core, one at a
//! time, and lists those that no test notices. All changes are in one build, behind switches. Each is tested
//! by the tests that reach its switch, until one fails; short ones that often fail come first.

mod change;
mod coverage;
mod programs;
mod tree;

use change::Change;
use std::collections::BTreeMap;
use tree::Tree;

/// The directories of which every change is made, and how many changes are made elsewhere.
const ENTIRE: [&str; 5] = ["header", "validate", "query", "view", "reader"];
const ELSEWHERE: usize = 300;

/// What became of a change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Fate {
    Noticed,
    /// A test does not end.
    Hangs,
    Survives,
    NotReached,
}

impl Change {
    fn directory(&self) -> &str {
        self.path.split_once('/').map_or("(root)", |(directory, _)| directory)
    }

    /// Returns a number that looks random, but only depends on the change.
    fn lot(&self) -> u64 {
        let text = format!("{}:{}:{}", self.path, self.line, self.what);
        let mix = |lot: u64, byte| (lot ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        text.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
    }

    fn show(&self, fate: Fate) -> String {
        let how = if fate == Fate::NotReached { " (not reached)" } else { "" };
        format!("{}:{} {}{how}", self.path, self.line, self.what)
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.split_first() {
        Some((command, [])) if command == "coverage" => coverage::run(),
        Some((command, chosen)) if command == "mutants" => mutants(chosen),
        _ => panic!("the first argument is `coverage` or `mutants`"),
    }
}

fn mutants(chosen: &[String]) {
    let mut tree = Tree::copy();
    choose(&mut tree.changes, chosen);
    tree.build();
    let scratch = tree.root.join("../scratch");
    let tests = programs::tests(&tree.programs, &scratch);
    let fates = programs::each(tree.changes.len(), |number| {
        let fate = programs::fate(number, &tests, &scratch);
        if fate >= Fate::Survives {
            eprintln!("{number} of {}: {}", tree.changes.len(), tree.changes[number].show(fate));
        }
        fate
    });
    report(&tree.changes, &fates);
}

/// Keeps the changes in the chosen directories; otherwise all of some directories, and a few elsewhere.
/// Of these, with `SAMPLE` one in so many.
fn choose(changes: &mut Vec<Change>, chosen: &[String]) {
    let is_chosen = |change: &Change| match chosen {
        [] => ENTIRE.contains(&change.directory()),
        chosen => chosen.iter().any(|chosen| chosen == change.directory() || *chosen == change.path),
    };
    let mut lots: Vec<u64> = changes.iter().filter(|change| !is_chosen(change)).map(Change::lot).collect();
    lots.sort_unstable();
    let bound = lots.get(ELSEWHERE).filter(|_| chosen.is_empty()).copied().unwrap_or_default();
    let sample = std::env::var("SAMPLE").map_or(1, |text| text.parse().expect("a number"));
    changes
        .retain(|change| (is_chosen(change) || change.lot() < bound) && change.lot().is_multiple_of(sample));
}

fn report(changes: &[Change], fates: &[Fate]) {
    let mut directories: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    for (change, &fate) in changes.iter().zip(fates) {
        directories.entry(change.directory()).or_default()[fate as usize] += 1;
        if fate >= Fate::Survives {
            println!("{}", change.show(fate));
        }
    }
    println!("directory    changes  noticed    hangs  survive  not reached");
    for (directory, [noticed, hangs, survive, not_reached]) in directories {
        let all = noticed + hangs + survive + not_reached;
        let percent = 100.0 * (noticed + hangs) as f64 / all as f64;
        println!("{directory:12}{all:8}{noticed:9}{hangs:9}{survive:9}{not_reached:13}{percent:8.1} %");
    }
}
