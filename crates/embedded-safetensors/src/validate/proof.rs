//! The theorems about the layout of tensors, and the facts that tie them to the code.

extern crate std;

use super::{InOrder, Sorting, sort_key};
use crate::dtype::Dtype;
use crate::tensor::info::{Extent, is_consistent};
use crate::util::top_k::SortSlot;
use crate::validate::Summary;
use std::fmt::Debug;
use std::io::Write;
use std::process::{Command, Stdio};
use std::string::String;
use std::vec::Vec;
use std::{format, println};

const MAX: u64 = u64::MAX;

/// Calls a function with all combinations of these values.
fn with_all<const N: usize>(values: &[u64], mut call: impl FnMut([u64; N])) {
    for number in 0..values.len().pow(u32::try_from(N).expect("small")) {
        let mut left = number;
        call(core::array::from_fn(|_| {
            let value = values[left % values.len()];
            left /= values.len();
            value
        }));
    }
}

/// Adds the fact that a function of `layout.smt2` has the result of the code.
fn add(facts: &mut Vec<String>, call: String, result: impl Debug) {
    facts.push(format!("(= ({call}) {result:?})"));
}

fn add_see(facts: &mut Vec<String>, [end, misfit, last_b, last_e, b, e]: [u64; 6], found: bool) {
    let misfit_at = if found { 5 } else { 0 };
    let mut order = InOrder { end, last: (last_b, last_e), misfit, misfit_at, tensors: 0 };
    add(facts, format!("needs_sorting {end} {misfit} {found}"), order.needs_sorting());
    order.see(Extent { begin: b, end: e, begin_at: 9 });
    assert_eq!((order.last, order.tensors), ((b, e), 1));
    add(facts, format!("see_found {end} {found} {b}"), !order.is_contiguous());
    add(facts, format!("see_end {end} {found} {b} {e}"), order.end);
    add(facts, format!("see_misfit {end} {misfit} {found} {last_b} {last_e} {b} {e}"), order.misfit);
    add(facts, format!("below {b} {e} {last_b} {last_e}"), sort_key((b, e)) < sort_key((last_b, last_e)));
    let mut sorting = Sorting { end, ..Sorting::new(&mut []) };
    sorting.append(SortSlot { key: b, tie: e, at: 9 });
    add(facts, format!("see_found {end} false {b}"), !sorting.is_contiguous());
    add(facts, format!("see_end {end} false {b} {e}"), sorting.end);
}

/// Returns facts about small numbers and the largest.
fn facts() -> Vec<String> {
    let mut facts = Vec::new();
    with_all(&[0, 1, 2, MAX], |state| {
        add_see(&mut facts, state, false);
        add_see(&mut facts, state, true);
    });
    let overflows = [4, 6, 8, 16, 32, 64].map(|bits| [MAX / bits, MAX / bits + 1]);
    let edges = [&[0, 1, 3, 4, 8, 1 << 32, MAX], overflows.as_flattened()].concat();
    with_all(&edges, |[elements, begin]| {
        for (dtype, after) in Dtype::ALL.iter().flat_map(|dtype| [0, 1, MAX].map(|after| (*dtype, after))) {
            let bits = dtype.bits();
            let end = begin.wrapping_add(elements.wrapping_mul(bits.into()) / 8).wrapping_add(after);
            let found = is_consistent(dtype, elements, begin, end);
            add(&mut facts, format!("consistent {elements} {bits} {begin} {end}"), found);
        }
    });
    with_all(&edges, |[file_len, data_start, data_len]| {
        let summary = Summary { tensors: 0, data_start, data_len };
        add(&mut facts, format!("fills {file_len} {data_start} {data_len}"), summary.fills(file_len));
    });
    facts
}

fn z3(text: &str) -> String {
    let mut command = Command::new("z3");
    let started = command.arg("-in").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut z3 = started.unwrap_or_else(|error| panic!("z3: {error}; run `cargo xtask test prove`"));
    z3.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("z3 reads it");
    String::from_utf8(z3.wait_with_output().expect("z3 ends").stdout).expect("text")
}

/// Only with `PROVE`, because it needs z3.
#[test]
fn layout_covers_every_byte_once() {
    if std::env::var_os("PROVE").is_none() {
        return;
    }
    let theorems = z3(include_str!("layout.smt2"));
    println!("{theorems}");
    assert!(theorems.lines().skip(1).step_by(2).all(|verdict| verdict == "unsat"));
    assert_eq!(theorems.lines().count(), 2 * include_str!("layout.smt2").matches("(check-sat)").count());
    let facts = facts();
    let groups = facts.chunks(50).map(|facts| format!("(simplify (and {}))\n", facts.join(" ")));
    let verdicts = z3(&[include_str!("layout.smt2").into(), groups.collect::<String>()].concat());
    let verdicts: Vec<&str> =
        verdicts.strip_prefix(&*theorems).expect("the theorems again").lines().collect();
    let wrong = facts.chunks(50).zip(&verdicts).find(|(_, verdict)| **verdict != "true");
    assert!(wrong.is_none(), "the code differs in one of {wrong:?}");
    assert_eq!(verdicts.len(), facts.chunks(50).len());
    println!("{} facts tie the code to them", facts.len());
}
