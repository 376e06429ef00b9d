//! Compares slices with the reference: the same where it is right, and a list of where it is not.

use std::num::NonZeroUsize;
use std::ops::Bound::{self, Excluded, Included, Unbounded};
use std::panic::catch_unwind;

use embedded_safetensors::{
    Dtype, ErrorKind, View,
    slice::{AxisRange, SlicePlan},
};
use safetensors_0_8::slice::{InvalidSlice, TensorIndexer, slice_byte_ranges};
use support::context::Context;
use support::file::with_tensors;
use support::random::Random;

use support::slices::Asked::{self, All, From, Half, Index, ToInclusive};
use support::slices::Case;

const CASES: u64 = 100_000;

/// Byte ranges and shape, or the error in text.
type Answer = Result<(Vec<(usize, usize)>, Vec<usize>), String>;

fn index(number: u64) -> usize {
    usize::try_from(number).expect("this is a 64-bit machine")
}

fn narrow(start: Bound<usize>, end: Bound<usize>, step: u64) -> TensorIndexer {
    TensorIndexer::Narrow(start, end, NonZeroUsize::new(index(step)).expect("a step"))
}

fn reference_range(asked: &Asked) -> TensorIndexer {
    let (included, excluded) = (|at| Included(index(at)), |at| Excluded(index(at)));
    match *asked {
        Asked::All => narrow(Unbounded, Unbounded, 1),
        Asked::Index(at) => TensorIndexer::Select(index(at)),
        Asked::Half(start, end, step) => narrow(included(start), excluded(end), step),
        Asked::Inclusive(start, last, step) => narrow(included(start), included(last), step),
        Asked::From(start, step) => narrow(included(start), Unbounded, step),
        Asked::To(end, step) => narrow(Unbounded, excluded(end), step),
        Asked::ToInclusive(last, step) => narrow(Unbounded, included(last), step),
    }
}

fn reference(dtype: Dtype, dims: &[u64], ranges: &[TensorIndexer]) -> Answer {
    let dtype = serde_json::from_value(dtype.name().into()).expect("all dtypes are known");
    let dims: Vec<usize> = dims.iter().map(|&dim| index(dim)).collect();
    slice_byte_ranges(dtype, &dims, ranges).map_err(|error| match error {
        InvalidSlice::MisalignedSlice => "misaligned".to_owned(),
        other => format!("{other:?}"),
    })
}

fn bytes_of(tensor: &[u8], ranges: &[(usize, usize)]) -> Vec<u8> {
    ranges.iter().flat_map(|&(begin, end)| tensor[begin..end].to_vec()).collect()
}

/// Except for empty results, see below.
#[test]
fn slices_with_elements_match_reference() {
    let (mut compared, mut misaligned) = (0, 0);
    for seed in 1_000_000.. {
        let mut random = Random::new(seed);
        let case = Case::random(&mut random);
        if case.listed().is_empty() {
            continue;
        }
        let _context = Context(|| format!("seed {seed}, {case:?}"));
        let tensor = random.bytes(index(case.byte_len()));
        let asked: Vec<_> = case.asked.iter().map(reference_range).collect();
        let plan = SlicePlan::new(case.dtype, &case.dims, &case.ranges()).expect("in range");
        match (reference(case.dtype, &case.dims, &asked), plan.byte_runs()) {
            (Ok((ranges, shape)), Ok(runs)) => {
                assert_eq!(plan.shape().dims(), shape.iter().map(|&dim| dim as u64).collect::<Vec<_>>());
                let runs: Vec<_> = runs.map(|run| (index(run.start), index(run.end))).collect();
                assert_eq!(bytes_of(&tensor, &runs), bytes_of(&tensor, &ranges));
                assert!(runs.len() <= ranges.len(), "{} runs, not {}", runs.len(), ranges.len());
            }
            (Err(error), Err(ErrorKind::PartOfByte { .. })) => {
                assert_eq!(error, "misaligned");
                misaligned += 1;
            }
            // It treats each index of a range with a step alone.
            (Err(error), Ok(_)) if error == "misaligned" => assert!(case.dtype.bits() < 8),
            (theirs, ours) => panic!("{theirs:?}, but ours is {ours:?}"),
        }
        compared += 1;
        if compared == CASES {
            break;
        }
    }
    assert!(misaligned > 100, "{misaligned}");
}

fn rejects(answer: &Answer) -> bool {
    matches!(answer, Err(error) if error.starts_with("SliceOutOfRange"))
}

/// Whether it promises no elements but returns bytes.
fn returns_too_much(answer: &Answer) -> bool {
    let Ok((ranges, shape)) = answer else { return false };
    shape.contains(&0) && ranges.iter().any(|(begin, end)| begin < end)
}

fn is_garbage(answer: &Answer) -> bool {
    match answer {
        Ok((ranges, shape)) => {
            ranges.iter().any(|(begin, end)| end < begin) || shape.iter().any(|&dim| dim > 1 << 32)
        }
        Err(error) => error == "panic",
    }
}

fn is_empty_or_garbage(answer: &Answer) -> bool {
    answer.as_ref().is_ok_and(|(_, shape)| shape == &[0]) || is_garbage(answer)
}

fn rejects_or_is_garbage(answer: &Answer) -> bool {
    rejects(answer) || is_garbage(answer)
}

fn names_the_second(answer: &Answer) -> bool {
    matches!(answer, Err(error) if error.contains("dim_index: 1, asked: 8"))
}

fn is_empty(plan: &Result<SlicePlan, ErrorKind>) -> bool {
    plan.is_ok_and(|plan| plan.elements() == 0 && plan.byte_len() == Ok(0) && plan.runs().next().is_none())
}

fn names(plan: &Result<SlicePlan, ErrorKind>, axis: u8, asked: u64) -> bool {
    matches!(plan, Err(ErrorKind::OutsideAxis { axis: a, asked: b, .. }) if (*a, *b) == (axis, asked))
}

/// A row of the list in README.md: its name, the dimensions and the request, and whether the answers of the
/// reference and of ours are the listed ones.
type Difference = (
    &'static str,
    &'static [u64],
    &'static [Asked],
    fn(&Answer) -> bool,
    fn(&Result<SlicePlan, ErrorKind>) -> bool,
);

const DIFFERENCES: [Difference; 9] = [
    ("S1", &[2, 3], &[Half(2, 2, 1)], rejects, is_empty),
    ("S1", &[10], &[From(10, 1)], rejects, is_empty),
    ("S2", &[0, 3], &[All], rejects, is_empty),
    ("S3", &[10], &[Half(3, 3, 2)], returns_too_much, is_empty),
    ("S4", &[2, 3, 4], &[Half(0, 1, 1), Half(1, 1, 1), Half(0, 1, 1)], returns_too_much, is_empty),
    ("S5", &[6], &[Half(5, 3, 1)], is_garbage, is_empty),
    ("S6", &[6], &[ToInclusive(u64::MAX, 1)], is_empty_or_garbage, |plan| names(plan, 0, u64::MAX)),
    ("S6", &[6], &[Index(u64::MAX)], rejects_or_is_garbage, |plan| names(plan, 0, u64::MAX)),
    ("S7", &[2, 3], &[Index(7), Index(8)], names_the_second, |plan| names(plan, 0, 7)),
];

#[test]
fn every_listed_difference_exists() {
    for (id, dims, asked, is_theirs, is_ours) in DIFFERENCES {
        let theirs: Vec<_> = asked.iter().map(reference_range).collect();
        let answer = catch_unwind(|| reference(Dtype::I32, dims, &theirs));
        let answer = answer.unwrap_or_else(|_| Err("panic".to_owned()));
        assert!(is_theirs(&answer), "{id}: the reference answers {answer:?}");
        let ours: Vec<_> = asked.iter().map(|asked| asked.range()).collect();
        let plan = SlicePlan::new(Dtype::I32, dims, &ours);
        assert!(is_ours(&plan), "{id}: ours is {plan:?}");
    }
}

/// The reference rejects slices inside bytes; here only reading them as bytes is an error.
#[test]
fn s8_partial_bytes_are_read_as_values() {
    let odd_row = || vec![TensorIndexer::Select(1)];
    assert_eq!(reference(Dtype::F4, &[2, 3], &odd_row()), Err("misaligned".to_owned()));
    let file = with_tensors(&[("t", "F4", [2, 3], [0x10, 0x42, 0x75])]);
    let tensor = View::parse(&file).and_then(|view| view.tensor("t")).expect("present");
    let row = tensor.reader().slice(&[AxisRange::index(1)]).expect("in range");
    let mut values = [0f32; 3];
    assert_eq!((row.values().read_exact(&mut values), values), (Ok(()), [2.0, 3.0, 6.0]));
}

#[test]
fn list_matches_the_tests() {
    let page = include_str!("README.md");
    let listed = page.lines().filter_map(|line| line.strip_prefix("| S")?.split(' ').next());
    let mut tested = DIFFERENCES.map(|(id, ..)| &id[1..]).to_vec();
    tested.dedup();
    tested.push("8");
    assert_eq!(listed.collect::<Vec<_>>(), tested);
}
