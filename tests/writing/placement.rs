//! Where tensors begin: the promises of each placement, and that every reader accepts the files.

use embedded_safetensors::{
    validate::{SortSlot, validate},
    write::{Placement, PlannedContent},
};
use support::dictionary::{Dictionary, Kinds, Named};
use support::random::Random;
use support::writing::{Description, as_planned, is_padding, padding, read, write_planned};

const UNITS: [u32; 10] = [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096];

/// A written file, and where its tensors begin.
struct Placed {
    /// With tensors of padding, in the order of the file.
    dictionary: Dictionary,
    /// The offset of each tensor in the file.
    begins: Vec<u64>,
    data_start: u64,
    file: Vec<u8>,
}

/// Returns random dictionaries; the sizes of some are placed easily.
fn dictionary(seed: u64) -> Dictionary {
    let mut random = Random::new(seed);
    let mut dictionary = Dictionary::random(Kinds::All, &mut random);
    dictionary.tensors.truncate(60);
    dictionary.tensors.retain(|tensor| !is_padding(tensor));
    for tensor in &mut dictionary.tensors {
        if random.percent(30) {
            // A multiple of 128 bytes for every dtype.
            let (name, factor) = (std::mem::take(&mut tensor.name), random.pick(&[1, 2, 3, 4, 8]));
            *tensor = Named::random(name, tensor.dtype(), vec![factor, 128], &mut random);
        }
    }
    dictionary
}

fn place(dictionary: &Dictionary, placement: Placement) -> Placed {
    let description = Description::new(dictionary);
    let mut memory = description.memory();
    let plan =
        description.spec().with_placement(placement).plan_sorted(&mut memory).expect("valid description");
    let (data_start, begins) =
        (plan.data_start(), plan.tensors().map(|tensor| plan.data_start() + tensor.begin).collect());
    Placed {
        dictionary: as_planned(dictionary, plan),
        begins,
        data_start,
        file: write_planned(dictionary, plan),
    }
}

/// Calls `test` with random dictionaries and their files.
fn each(placement: impl Fn(u32) -> Placement, test: impl Fn(u32, &Dictionary, &Placed)) {
    for seed in 0..150 {
        let dictionary = dictionary(seed);
        for unit in UNITS {
            let placed = place(&dictionary, placement(unit));
            assert_valid(&placed);
            test(unit, &dictionary, &placed);
        }
    }
}

/// Asserts that every reader accepts the file and finds the expected content. The offset of each tensor
/// follows from the order.
fn assert_valid(placed: &Placed) {
    let Placed { dictionary, file, .. } = placed;
    let mut slots = vec![embedded_safetensors::validate::SortSlot::EMPTY; 8];
    assert!(validate(&file[..], &mut slots, &mut [0; 64]).is_ok());
    assert!(read(file).sorted() == dictionary.clone().sorted());
    let mut at = usize::try_from(placed.data_start).expect("fits in usize");
    for (tensor, begin) in dictionary.tensors.iter().zip(&placed.begins) {
        assert_eq!(at as u64, *begin);
        assert!(file[at..].starts_with(&tensor.bytes), "{:?}", tensor.name);
        at += tensor.bytes.len();
    }
    assert_eq!(at, file.len());
    assert_reference_reads(placed);
}

#[cfg(feature = "oracle")]
fn assert_reference_reads(placed: &Placed) {
    let found = support::reference_writer::read(&placed.file);
    assert!(found == Ok(placed.dictionary.clone().sorted()));
}

#[cfg(not(feature = "oracle"))]
fn assert_reference_reads(_: &Placed) {}

/// Returns the tensors of the caller and their offsets.
fn tensors(placed: &Placed) -> impl Iterator<Item = (&Named, u64)> {
    let tensors = placed.dictionary.tensors.iter().zip(placed.begins.iter().copied());
    tensors.filter(|(tensor, _)| !is_padding(tensor))
}

/// Whether the tensors without padding are in the reference's order.
fn has_order_of_reference(dictionary: &Dictionary, placed: &Placed) -> bool {
    dictionary.in_order().into_iter().eq(tensors(placed).map(|(tensor, _)| tensor))
}

/// Asserts that there are no more spaces than needed.
fn assert_start(unit: u32, placed: &Placed) {
    assert!(placed.data_start.is_multiple_of(u64::from(unit)));
    let header = &placed.file[..usize::try_from(placed.data_start).expect("fits in usize")];
    let spaces = header.iter().rev().take_while(|byte| **byte == b' ').count();
    assert!(spaces < unit as usize, "{spaces} spaces for {unit}");
}

fn width(tensor: &Named) -> u64 {
    u64::from(tensor.dtype().bits()).div_ceil(8)
}

#[test]
fn data_starts_at_the_requested_multiple() {
    each(Placement::Start, |unit, dictionary, placed| {
        assert_start(unit, placed);
        assert!(has_order_of_reference(dictionary, placed));
        assert!(tensors(placed).all(|(tensor, begin)| begin.is_multiple_of(width(tensor))));
        let default = dictionary.file();
        let default_start = default.len() - dictionary.data().len();
        assert_eq!(placed.file == default, default_start.is_multiple_of(unit as usize));
    });
}

#[test]
fn large_powers_of_two_come_first() {
    each(Placement::BySize, |unit, dictionary, placed| {
        assert_start(unit, placed);
        for (tensor, begin) in tensors(placed).filter(|(tensor, _)| !tensor.bytes.is_empty()) {
            let len = tensor.bytes.len() as u64;
            let power = 1 << len.trailing_zeros().min(unit.trailing_zeros());
            assert!(begin.is_multiple_of(power), "{len} bytes at {begin}, {unit}");
            assert!(begin.is_multiple_of(width(tensor)));
        }
        assert_eq!(placed.dictionary.tensors.len(), dictionary.tensors.len());
        // Equal powers of two keep the order of the reference.
        let power = |tensor: &Named| (tensor.bytes.len() as u64).trailing_zeros().min(unit.trailing_zeros());
        let key = |tensor: &Named| (std::cmp::Reverse((power(tensor), tensor.dtype())), tensor.name.clone());
        assert!(placed.dictionary.tensors.is_sorted_by_key(key));
        let is_easy = |tensor: &Named| tensor.bytes.len().is_multiple_of(unit as usize);
        if dictionary.tensors.iter().all(is_easy) {
            assert!(has_order_of_reference(dictionary, placed));
            assert!(placed.file == place(dictionary, Placement::Start(unit)).file);
        }
    });
}

#[test]
fn padded_tensors_start_at_the_requested_multiple() {
    each(Placement::Padded, |unit, dictionary, placed| {
        assert_start(unit, placed);
        assert!(has_order_of_reference(dictionary, placed));
        assert!(tensors(placed).all(|(_, begin)| begin.is_multiple_of(u64::from(unit))));
        let paddings: Vec<_> = placed.dictionary.tensors.iter().filter(|tensor| is_padding(tensor)).collect();
        for (number, found) in (0..).zip(&paddings) {
            assert!((1..unit as usize).contains(&found.bytes.len()));
            assert_eq!(**found, padding(number, found.bytes.len() as u64));
        }
        // None follows the last tensor, and none precedes another.
        assert!(placed.dictionary.tensors.last().is_none_or(|last| !is_padding(last)));
        assert!(
            placed.dictionary.tensors.windows(2).all(|pair| !(is_padding(&pair[0]) && is_padding(&pair[1])))
        );
        if paddings.is_empty() {
            assert!(placed.file == place(dictionary, Placement::Start(unit)).file);
        }
    });
}

#[test]
fn ordered_descriptions_are_placed() {
    for seed in 0..100 {
        for placement in [Placement::Start(64), Placement::BySize(64), Placement::Padded(64)] {
            let placed = place(&dictionary(seed), placement);
            let mut given = placed.dictionary.clone();
            given.tensors.retain(|tensor| !is_padding(tensor));
            let description = Description::new(&given);
            let spec = description.spec().with_placement(placement);
            assert!(write_planned(&given, spec.plan().expect("in order")) == placed.file);
            let plan = spec.plan_as_given(&mut description.memory()).expect("valid description");
            assert!(write_planned(&given, plan) == placed.file);
        }
    }
}

#[test]
fn plan_as_given_places_where_possible() {
    let mut random = Random::new(0);
    for seed in 0..100 {
        let mut given = dictionary(seed);
        given.shuffle(&mut random);
        let description = Description::new(&given);
        let file = |placement| {
            let spec = description.spec().with_placement(placement);
            let plan = spec.plan_as_given(&mut description.memory()).expect("valid description");
            let is_padded = matches!(placement, Placement::Padded(_));
            let unit = if is_padded { 64 } else { 1 };
            let own = plan.tensors().filter(|tensor| matches!(tensor.content, PlannedContent::Tensor { .. }));
            assert!(own.into_iter().all(|tensor| tensor.begin.is_multiple_of(unit)));
            assert!(plan.data_start().is_multiple_of(64));
            let file = write_planned(&given, plan);
            assert!(read(&file).sorted() == as_planned(&given, plan).sorted());
            file
        };
        assert!(file(Placement::BySize(64)) == file(Placement::Start(64)));
        file(Placement::Padded(64));
    }
}

#[test]
fn header_has_the_requested_space() {
    for (seed, room) in (0..).zip([0, 1, 7, 8, 9, 100, 5000]) {
        let dictionary = dictionary(seed);
        let description = Description::new(&dictionary);
        let mut memory = description.memory();
        for unit in UNITS {
            let spec = description.spec().with_placement(Placement::Start(unit)).with_header_room(room);
            let plan = spec.plan_sorted(&mut memory).expect("valid description");
            let file = write_planned(&dictionary, plan);
            let start = usize::try_from(plan.data_start()).expect("fits in usize");
            let spaces = file[..start].iter().rev().take_while(|byte| **byte == b' ').count();
            assert!((room as usize..room as usize + unit as usize).contains(&spaces), "{spaces} of {room}");
            assert_eq!((start % unit as usize, plan.spec().header_room()), (0, room));
            validate(&file, &mut [SortSlot::EMPTY; 64], &mut [0; 64]).expect("valid description");
        }
    }
}
