//! Compares the layout check with a slow, obvious one, for every number of slots.

use embedded_safetensors::{
    Error, ErrorKind,
    validate::{Progress, SortSlot, Summary, Validator},
};
use support::file::with_header;
use support::random::Random;

/// A range and the byte of its first offset in the header.
type Placed = (u64, u64, u64);

/// A header of `U8` tensors with these ranges, in this order.
fn header_of(ranges: &[(u64, u64)]) -> (Vec<u8>, Vec<Placed>) {
    let mut header = String::from("{");
    let mut placed = Vec::new();
    for (i, (begin, end)) in ranges.iter().enumerate() {
        let comma = if i > 0 { "," } else { "" };
        let shape = end - begin;
        header += &format!(r#"{comma}"t{i}":{{"dtype":"U8","shape":[{shape}],"data_offsets":["#);
        placed.push((*begin, *end, 8 + header.len() as u64));
        header += &format!("{begin},{end}]}}");
    }
    header += "}";
    (with_header(&header, 0), placed)
}

/// Feeds the header as often as the validator requests it; also returns how often.
fn passes(header: &[u8], slots: &mut [SortSlot]) -> (Result<Summary, Error>, usize) {
    let mut validator = Validator::new(None, slots);
    for pass in 1..1000 {
        match validator.push(&mut &header[..]) {
            Ok(Progress::Rewind) => {}
            Ok(Progress::Done) => return (Ok(validator.summary().expect("validated")), pass),
            Ok(Progress::NeedInput) => panic!("the header is complete"),
            Err(error) => return (Err(error), pass),
        }
    }
    panic!("validation does not end");
}

/// Sorts, then walks.
fn slow_verdict(placed: &[Placed]) -> Result<u64, Error> {
    let mut sorted = placed.to_vec();
    sorted.sort_unstable();
    let mut previous_end = 0;
    for (begin, end, at) in sorted {
        match begin.cmp(&previous_end) {
            std::cmp::Ordering::Less => return Err(ErrorKind::Overlap { begin, previous_end }.at(at)),
            std::cmp::Ordering::Greater => return Err(ErrorKind::Hole { begin, previous_end }.at(at)),
            std::cmp::Ordering::Equal => previous_end = end,
        }
    }
    Ok(previous_end)
}

fn in_order(placed: &[Placed]) -> bool {
    placed.is_sorted()
}

fn compare(ranges: &[(u64, u64)]) {
    let (header, placed) = header_of(ranges);
    let expected = slow_verdict(&placed);
    for count in 0..=ranges.len() + 1 {
        let mut slots = vec![SortSlot::EMPTY; count];
        let (verdict, passes_made) = passes(&header, &mut slots);
        let needed = match (in_order(&placed), count) {
            (true, _) => 1,
            (false, 0) => {
                assert_eq!(verdict.map_err(|error| error.kind), Err(ErrorKind::OutOfOrder), "{ranges:?}");
                continue;
            }
            (false, _) => 1 + ranges.len().div_ceil(count),
        };
        assert_eq!(verdict.map(|summary| summary.data_len), expected, "{ranges:?} with {count} slots");
        assert!(passes_made <= needed, "{ranges:?} with {count} slots took {passes_made} passes");
        assert!(
            passes_made == needed || expected.is_err(),
            "{ranges:?} with {count} slots took {passes_made} passes"
        );
    }
}

/// Every sequence of up to three ranges over three bytes: each possible overlap, hole and empty tensor.
#[test]
fn every_small_layout() {
    let all: Vec<(u64, u64)> = (0..4).flat_map(|begin| (begin..4).map(move |end| (begin, end))).collect();
    compare(&[]);
    for &a in &all {
        compare(&[a]);
        for &b in &all {
            compare(&[a, b]);
            for &c in &all {
                compare(&[a, b, c]);
            }
        }
    }
}

#[test]
fn shuffled_tensors_are_valid_and_one_shift_is_found() {
    let valid: Vec<(u64, u64)> = (0..40).map(|i| (i * 3 / 2, (i + 1) * 3 / 2)).collect();
    for seed in 0..20 {
        let mut ranges = valid.clone();
        Random::new(seed).shuffle(&mut ranges);
        compare(&ranges);
        let victim = usize::try_from(seed).expect("fits in usize");
        ranges[victim].1 += 1;
        compare(&ranges);
        ranges[victim].0 += 1;
        compare(&ranges);
    }
}

/// Feeds one header after another, each from the start, as far as the validator requests.
fn feed_in_turn(headers: &[&[u8]], slots: &mut [SortSlot]) -> Result<Progress, Error> {
    let mut validator = Validator::new(None, slots);
    let mut progress = Ok(Progress::NeedInput);
    for header in headers {
        progress = validator.push(&mut &header[..]);
        if progress != Ok(Progress::Rewind) {
            assert_eq!(validator.push(&mut &header[..]), progress, "the error is repeated");
            break;
        }
    }
    progress
}

#[test]
fn validation_ends_if_header_keeps_changing() {
    let moving: Vec<Vec<u8>> = (0..50_u64)
        .map(|i| i.saturating_sub(1))
        .map(|i| header_of(&[(i + 1, i + 2), (i, i + 1)]).0)
        .collect();
    let headers: Vec<&[u8]> = moving.iter().map(Vec::as_slice).collect();
    let error = feed_in_turn(&headers, &mut [SortSlot::EMPTY; 1]).expect_err("changed");
    assert_eq!(error.kind, ErrorKind::Changed);
}
