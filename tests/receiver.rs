//! Models received as a stream: every vector, cut in every way, into buffers that are the targets of its
//! tensors, and through a router.

use embedded_safetensors::{
    Dtype, Error, ErrorKind, Model, ReadError,
    error::QueryIndex,
    index::IndexStorage,
    query::Query,
    stream::{Receiver, Router, RouterEvent, Status, Target},
    validate::Summary,
    values::Element,
};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Range;
use support::apis::Case;
use support::file::{entry, with_entries, with_tensors};
use support::memory::Memory;
use support::random::Random;
use support::share::{self, Half};
use support::split::Split;
use support::verdict::{Reader, full_verdict};
use vectors::table::Tensor;
use vectors::{Ours, Vector};

/// The invalid vectors whose error shows only once their tensors are sorted.
const NOT_SORTED: [&str; 14] = [
    "layout-hole-out-of-order",
    "layout-hole-of-three",
    "layout-hole-second-of-two",
    "layout-overlap-out-of-order",
    "layout-overlap-same-begin-reversed",
    "layout-overlap-last-in-header",
    "layout-backwards-hole-at-0",
    "empty-inside-first",
    "data-short-out-of-order",
    "data-trailing-out-of-order",
    "d1-full-then-empty",
    "d1-last-valid-hole",
    "count-64-three-orders-overlap",
    "large-1000-tensors-two-orders",
];

/// The vector with a duplicate name and missing data. The router detects the name before any data.
const DUPLICATE_AND_SHORT: &str = "prio-short-and-duplicate";

/// Receives an entire file, and ends it.
fn receive<'n, 'b, B: AsMut<[Target<'n, 'b>]>>(
    receiver: &mut Receiver<B>,
    file: &[u8],
    split: Split,
) -> Result<(), Error> {
    let outcome = split.pieces(file).try_for_each(|piece| receiver.push(piece).map(|_| ()));
    let outcome = outcome.and_then(|()| receiver.end_of_input());
    if let Err(error) = outcome {
        assert_eq!(receiver.push(b"more"), Err(error), "the error is repeated");
        assert_eq!(receiver.end_of_input(), Err(error), "the error is repeated");
        assert_eq!(receiver.remaining(), 0);
    }
    outcome
}

halves! {
    valid_vectors_are_received_in_any_split
    invalid_vectors_get_the_same_verdict
    valid_vectors_are_routed_in_any_split
    router_gives_the_same_verdict
}

/// Returns the vectors with this verdict; in a quick run, a share of the large ones.
fn vectors_with(half: Half, ours: Ours) -> impl Iterator<Item = Vector> {
    half.few_large().filter(move |vector| vector.ours == ours)
}

/// Returns the tensors of a file; where there are too many to be targets, the first and the last.
fn expected<'c>(vector: &Vector, case: &'c Case<'_>) -> Vec<&'c Tensor> {
    let few = vector.tensors.is_some() || case.tensors().len() < 2;
    let last = case.tensors().len().saturating_sub(1);
    let tensors = case.tensors().iter().enumerate();
    tensors.filter(|(index, _)| few || [0, last].contains(index)).map(|(_, tensor)| tensor).collect()
}

/// With a share, only some of them.
fn splits(vector: &Vector) -> impl Iterator<Item = Split> {
    let sizes: &[usize] = match vector.length {
        0..100_000 => &[1, 2, 3, 7, 64],
        100_000..1_000_000 => &[1, 4097],
        _ => &[4097],
    };
    let cuts = if vector.length <= 300 { 0..=vector.length } else { 0..=0 };
    share::part(sizes.iter().map(|&size| Split::Every(size)).chain(cuts.map(Split::Once)), vector.length)
}

fn valid_vectors_are_received_in_any_split(half: Half) {
    for vector in vectors_with(half, Ours::Accept) {
        let file = vector.bytes();
        let case = Case::new(&file);
        let expected = expected(&vector, &case);
        let outcomes = splits(&vector).map(|split| receive_all(&case, &file, &expected, split));
        let is_unordered = vector.flags.iter().any(|flag| flag == "header-order");
        // A target cannot hold so many dimensions.
        let is_high = vector.deviation.as_deref() == Some("D6");
        match common(&vector, outcomes) {
            Ok(()) => assert!(!is_unordered && !is_high, "{}", vector.id),
            Err(Error { kind: ErrorKind::OutOfOrder, .. }) => assert!(is_unordered, "{}", vector.id),
            Err(Error { kind: ErrorKind::Rank { .. }, .. }) => assert!(is_high, "{}", vector.id),
            Err(error) => panic!("{}: {error}", vector.id),
        }
    }
}

/// Returns the outcome, which all have in common.
fn common<T: PartialEq + std::fmt::Debug>(vector: &Vector, mut outcomes: impl Iterator<Item = T>) -> T {
    let first = outcomes.next().expect("at least one");
    outcomes.for_each(|outcome| assert_eq!(outcome, first, "{}", vector.id));
    first
}

/// Receives the file with a target for each tensor; each buffer has a byte to spare.
fn receive_all(case: &Case<'_>, file: &[u8], expected: &[&Tensor], split: Split) -> Result<(), Error> {
    let lens: Vec<usize> = expected.iter().map(|tensor| case.bytes(tensor).len()).collect();
    let mut buffers: Vec<Vec<u8>> = lens.iter().map(|len| vec![0xA5; len + 1]).collect();
    let names = expected.iter().map(|tensor| Query::required(&tensor.name));
    let targets: Vec<_> = names.zip(&mut buffers).map(|(name, buffer)| Target::new(name, buffer)).collect();
    let mut receiver = Receiver::new(targets);
    receive(&mut receiver, file, split)?;
    assert_eq!((receiver.position(), receiver.remaining()), (file.len() as u64, 0));
    for (target, tensor) in receiver.targets().iter().zip(expected) {
        assert_eq!(target.bytes(), Some(case.bytes(tensor)), "{} cut {split:?}", tensor.name);
    }
    let is_spared = buffers.iter().zip(&lens).all(|(buffer, len)| buffer[*len] == 0xA5);
    assert!(is_spared, "a byte after a tensor was written");
    Ok(())
}

fn invalid_vectors_get_the_same_verdict(half: Half) {
    let reader = Reader { length_known: false, ..Reader::default() };
    for vector in vectors_with(half, Ours::Reject) {
        let file = vector.bytes();
        let expected_outcome = reader.verdict(&file).map(|_| ());
        let outcomes = splits(&vector).map(|split| receive(&mut Receiver::new([]), &file, split));
        let is_not_sorted = NOT_SORTED.contains(&vector.id.as_str());
        match (common(&vector, outcomes), expected_outcome.expect_err("invalid file")) {
            (Err(Error { kind: ErrorKind::OutOfOrder, .. }), _) if is_not_sorted => {}
            (outcome, _) if is_not_sorted => panic!("{}: {outcome:?}", vector.id),
            (Err(error), expected_outcome) if error == expected_outcome => {}
            // Only the names of targets are compared, and no keys.
            (Ok(()), Error { kind: ErrorKind::DuplicateName | ErrorKind::DuplicateKey, .. }) => {}
            (outcome, expected_outcome) => panic!("{}: {outcome:?} instead of {expected_outcome}", vector.id),
        }
    }
}

#[test]
fn duplicate_name_of_a_target_is_detected() {
    let duplicate =
        vectors::load().vectors.into_iter().filter(|vector| vector.code.as_deref() == Some("name.duplicate"));
    for vector in duplicate {
        let file = vector.bytes();
        let expected_outcome = full_verdict(&file).map(|_| ());
        let names = [name_at(&file, expected_outcome.expect_err("invalid file"))];
        let mut buffer = vec![0; file.len()];
        let mut receiver = Receiver::new([Target::new(Query::required(&names[0]), &mut buffer)]);
        assert_eq!(receive(&mut receiver, &file, Split::Every(5)), expected_outcome, "{}", vector.id);
    }
}

/// Returns the name whose opening quote is at the error.
fn name_at(file: &[u8], error: Error) -> String {
    let at = usize::try_from(error.at).expect("fits in usize");
    let mut texts = serde_json::Deserializer::from_slice(&file[at..]).into_iter::<String>();
    texts.next().expect("a name").expect("a name")
}

/// `a` and `c` are read; `b` is skipped, `e` and `f` are empty.
fn five_tensors() -> (Vec<u8>, usize) {
    let file = with_tensors(&[
        ("a", "U8", &[3][..], &b"aaa"[..]),
        ("e", "F32", &[0], b""),
        ("b", "U8", &[2], b"bb"),
        ("c", "U16", &[2], b"cCcC"),
        ("f", "U8", &[0, 7], b""),
    ]);
    let data_start = file.len() - 9;
    (file, data_start)
}

fn truncation_error_at(len: usize, data_start: usize) -> Error {
    let (at, header) = (len as u64, data_start as u64);
    let kind = match len {
        0..8 => ErrorKind::FileTooShort,
        _ if at < header => ErrorKind::HeaderBeyondFile { length: header - 8, present: at - 8 },
        _ => ErrorKind::DataShort { needed: 9, present: at - header },
    };
    kind.at(at)
}

#[test]
fn truncated_stream_has_no_partial_tensor() {
    let (file, data_start) = five_tensors();
    for (len, split) in (0..file.len()).flat_map(|len| [1, 4, 1000].map(|size| (len, Split::Every(size)))) {
        let (mut a, mut c, mut e) = ([0; 3], [0; 4], [0; 0]);
        let mut receiver = Receiver::new([
            Target::new(Query::required("a"), &mut a),
            Target::new(Query::required("c"), &mut c),
            Target::new(Query::required("e"), &mut e),
        ]);
        assert_eq!(receive(&mut receiver, &file[..len], split), Err(truncation_error_at(len, data_start)));
        let [a, c, e] = receiver.into_targets();
        let arrived =
            |range: Range<usize>, bytes: &'static [u8]| (len >= range.end + data_start).then_some(bytes);
        assert_eq!(a.bytes(), arrived(0..3, b"aaa"));
        assert_eq!(c.bytes(), arrived(5..9, b"cCcC"));
        assert_eq!(e.bytes(), arrived(0..0, b""));
        assert_eq!(a.info().is_some(), len >= data_start, "only validated tensors are reported");
    }
}

#[test]
fn status_follows_the_position() {
    let (file, data_start) = five_tensors();
    let mut receiver = Receiver::new([]);
    for (index, byte) in file.iter().enumerate() {
        let (arrived, left) = (index + 1, file.len() - index - 1);
        let expected_outcome = match arrived {
            _ if left == 0 => Status::Complete,
            _ if arrived < data_start => Status::Header,
            _ => Status::Data,
        };
        assert_eq!(receiver.push(std::slice::from_ref(byte)), Ok(expected_outcome));
        assert_eq!(receiver.push(&[]), Ok(expected_outcome), "no input changes nothing");
        assert_eq!(receiver.position(), arrived as u64);
        let validated = arrived >= data_start;
        let summary = Summary { tensors: 5, data_start: data_start as u64, data_len: 9 };
        assert_eq!(receiver.summary(), validated.then_some(summary));
        let next_end = [8, data_start, file.len()].into_iter().find(|&end| arrived < end);
        assert_eq!(receiver.remaining(), next_end.map_or(0, |end| end - arrived) as u64);
    }
}

/// The header is the sender's; its length arrives first.
#[test]
fn header_limit_applies_as_soon_as_the_length_is_known() {
    let (file, data_start) = five_tensors();
    let length = data_start as u64 - 8;
    for (limit, is_accepted) in [(0, false), (length - 1, false), (length, true), (u64::MAX, true)] {
        let expected = ErrorKind::HeaderLength { length, limit }.at(0);
        for split in [Split::WHOLE, Split::Every(1)] {
            let mut storage = IndexStorage::<5, 9, 99>::new();
            let mut receiver = Receiver::new([]).with_header_limit(limit);
            let mut router = Router::new(storage.memory()).with_header_limit(limit);
            let received = receive(&mut receiver, &file, split);
            let routed = route(&mut router, &file, split).map(drop);
            assert_eq!(
                (received, routed),
                if is_accepted { (Ok(()), Ok(())) } else { (Err(expected), Err(expected)) }
            );
        }
        let mut receiver = Receiver::new([]).with_header_limit(limit);
        assert_eq!(receiver.push(&file[..8]).is_ok(), is_accepted);
    }
}

#[test]
fn too_small_buffer_is_an_error_before_data() {
    let (file, data_start) = five_tensors();
    let (mut a, mut c) = ([7; 3], [7; 3]);
    let mut receiver =
        Receiver::new([Target::new(Query::required("a"), &mut a), Target::new(Query::required("c"), &mut c)]);
    let expected_outcome = ErrorKind::BufferLength { needed: 4, capacity: 3 }.at(data_start as u64 + 5 + 3);
    assert_eq!(receiver.push(&file[..data_start - 1]), Ok(Status::Header));
    assert_eq!(receiver.push(&file[data_start - 1..]), Err(expected_outcome));
    assert_eq!(receiver.push(&[]), Err(expected_outcome));
    assert_eq!(receiver.into_targets()[0].bytes(), None);
    assert_eq!((a, c), ([7; 3], [7; 3]), "nothing was written");
}

#[test]
fn huge_tensor_does_not_overflow() {
    let entries = |rest: u64| {
        let range = |index: u64| index << 60..(index + 1) << 60;
        let tensors = (0..15).map(|index| entry(&index.to_string(), "U8", [1u64 << 60], range(index)));
        tensors.chain([entry("z", "U8", [rest], 15 << 60..(15 << 60) + rest)]).collect::<Vec<_>>()
    };
    let rest = (1u64 << 60) - 1;
    let file = with_entries(&entries(rest), 3);
    let mut buffer = [0; 1];
    let mut receiver = Receiver::new([Target::new(Query::optional("z"), &mut buffer)]);
    let expected_outcome = ErrorKind::BufferLength { needed: rest, capacity: 1 };
    let error = receiver.push(&file).expect_err("does not fit");
    assert_eq!(error.kind, expected_outcome);
    let mut skipping = Receiver::new([]);
    assert_eq!(skipping.push(&file), Ok(Status::Data));
    assert_eq!(skipping.remaining(), u64::MAX - 3);
    // The header and the data together are longer than any file.
    let end = entry("end", "U8", [1], u64::MAX - 1..u64::MAX);
    let file = with_entries(&[entries(rest - 1), vec![end]].concat(), 3);
    let mut receiver = Receiver::new([Target::new(Query::required("end").dtype(Dtype::F32), &mut buffer)]);
    assert_eq!(receiver.push(&file).expect_err("of another dtype").at, u64::MAX);
}

#[test]
fn only_optional_tensors_may_be_missing() {
    let (file, data_start) = five_tensors();
    let (mut a, mut x, mut y) = ([0; 3], [0; 3], [0; 3]);
    let mut targets = [
        Target::new(Query::required("a"), &mut a),
        Target::new(Query::optional("x"), &mut x),
        Target::new(Query::required("y"), &mut y),
    ];
    let expected_outcome = ErrorKind::NotFound { query: QueryIndex::new(2) }.at(data_start as u64);
    assert_eq!(receive(&mut Receiver::new(&mut targets[..]), &file, Split::WHOLE), Err(expected_outcome));
    assert_eq!(receive(&mut Receiver::new(&mut targets[..2]), &file, Split::WHOLE), Ok(()));
    assert_eq!(targets[0].bytes(), Some(&b"aaa"[..]));
    assert_eq!((targets[1].bytes(), targets[1].info()), (None, None));
    assert_eq!(targets[..2].iter().map(Target::is_complete).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn targets_can_be_reused() {
    let (file, _) = five_tensors();
    let mut other = file.clone();
    other.splice(file.len() - 9..file.len() - 6, *b"xyz");
    let mut a = [0; 3];
    let mut targets = [Target::new(Query::required("a"), &mut a)];
    assert_eq!(receive(&mut Receiver::new(&mut targets), &file, Split::Every(2)), Ok(()));
    let mut receiver = Receiver::new(&mut targets);
    assert_eq!(receiver.push(&other[..20]), Ok(Status::Header));
    assert_eq!(receiver.targets()[0].bytes(), None, "earlier results are cleared");
    assert_eq!(receive(&mut Receiver::new(&mut targets), &other, Split::Every(2)), Ok(()));
    assert_eq!(targets[0].bytes(), Some(&b"xyz"[..]));
}

#[test]
fn two_targets_can_have_the_same_tensor() {
    let (file, _) = five_tensors();
    let (mut one, mut two) = ([0; 3], [0; 8]);
    let mut receiver = Receiver::new([
        Target::new(Query::required("a"), &mut one),
        Target::new(Query::required("a"), &mut two),
    ]);
    assert_eq!(receive(&mut receiver, &file, Split::Every(2)), Ok(()));
    assert!(receiver.targets().iter().all(|target| target.bytes() == Some(b"aaa")));
}

/// The bytes of each tensor that has any.
type Contents = BTreeMap<String, Vec<u8>>;

/// Routes one piece, until the router needs more input.
fn route_piece(router: &mut Router<'_>, mut piece: &[u8], contents: &mut Contents) -> Result<(), Error> {
    loop {
        let before = piece.len();
        match router.next(&mut piece)? {
            RouterEvent::NeedInput => {
                assert!(piece.is_empty(), "needs input, but has not consumed all");
                return Ok(());
            }
            RouterEvent::Header => assert!(router.index().is_some()),
            RouterEvent::Data { tensor, offset, bytes } => {
                assert!(!bytes.is_empty() && bytes.len() == before - piece.len());
                let bytes_so_far = contents.entry(tensor.name().to_owned()).or_default();
                assert_eq!(offset, bytes_so_far.len() as u64, "bytes arrive in order");
                bytes_so_far.extend(bytes);
                assert!(bytes_so_far.len() as u64 <= tensor.byte_len());
            }
            RouterEvent::End if piece.is_empty() => return Ok(()),
            RouterEvent::End => {}
        }
    }
}

/// Routes an entire file, and ends it.
fn route(router: &mut Router<'_>, file: &[u8], split: Split) -> Result<Contents, Error> {
    let mut contents = Contents::new();
    let outcome = split.pieces(file).try_for_each(|piece| route_piece(router, piece, &mut contents));
    let outcome = outcome.and_then(|()| router.end_of_input());
    if let Err(error) = outcome {
        assert_eq!(router.next(&mut &b"more"[..]), Err(error), "the error is repeated");
        assert_eq!(router.end_of_input(), Err(error), "the error is repeated");
        assert_eq!(router.remaining(), 0);
        assert!(router.index().is_none());
    }
    outcome.map(|()| contents)
}

fn valid_vectors_are_routed_in_any_split(half: Half) {
    for vector in vectors_with(half, Ours::Accept) {
        let file = vector.bytes();
        let mut memory = Memory::ample(&file);
        let route = |split| {
            let mut router = Router::new(memory.lend());
            let contents = route(&mut router, &file, split);
            assert_eq!((router.position(), router.remaining()), (file.len() as u64, 0));
            contents.map(|contents| (contents, router.into_index().expect("validated").summary()))
        };
        let outcome = common(&vector, splits(&vector).map(route));
        let (contents, summary) = outcome.unwrap_or_else(|error| panic!("{}: {error}", vector.id));
        assert_eq!(contents.values().map(|bytes| bytes.len() as u64).sum::<u64>(), summary.data_len);
        let case = Case::new(&file);
        for tensor in case.tensors() {
            let bytes = contents.get(&tensor.name).map_or(&[][..], Vec::as_slice);
            assert_eq!(bytes, case.bytes(tensor), "{}: {}", vector.id, tensor.name);
        }
    }
}

fn router_gives_the_same_verdict(half: Half) {
    let reader = Reader { length_known: false, ..Reader::default() };
    for vector in vectors_with(half, Ours::Reject) {
        let file = vector.bytes();
        let expected_outcome = reader.verdict(&file).map(|_| ()).expect_err("invalid file");
        let mut memory = Memory::ample(&file);
        let route = |split| route(&mut Router::new(memory.lend()), &file, split).map(|_| ());
        match common(&vector, splits(&vector).map(route)) {
            Err(error) if error == expected_outcome => {}
            Err(error) if vector.id == DUPLICATE_AND_SHORT => {
                assert_eq!(error.kind, ErrorKind::DuplicateName);
            }
            Err(error) => panic!("{}: {error} instead of {expected_outcome}", vector.id),
            // Keys are not compared.
            Ok(()) => assert_eq!(expected_outcome.kind, ErrorKind::DuplicateKey, "{}", vector.id),
        }
    }
}

#[test]
fn router_reports_tensor_and_offset_of_bytes() {
    let (file, data_start) = five_tensors();
    let mut storage = IndexStorage::<5, 6, 5>::new();
    let mut router = Router::new(storage.memory());
    assert_eq!(router.remaining(), 8, "the 8 bytes of the header's length");
    assert_eq!(router.next(&mut &file[..8]), Ok(RouterEvent::NeedInput));
    assert_eq!(router.remaining(), data_start as u64 - 8);
    let mut input = &file[8..data_start + 4];
    assert_eq!(router.next(&mut input), Ok(RouterEvent::Header));
    assert_eq!((input, router.remaining()), (&b"aaab"[..], 9), "only the header was consumed");
    let [a, b] =
        ["a", "b"].map(|name| router.index().and_then(|index| index.find(name).ok()?).expect("present"));
    assert_eq!(router.next(&mut input), Ok(RouterEvent::Data { tensor: a, offset: 0, bytes: b"aaa" }));
    assert_eq!(router.next(&mut input), Ok(RouterEvent::Data { tensor: b, offset: 0, bytes: b"b" }));
    assert_eq!(router.next(&mut input), Ok(RouterEvent::NeedInput));
    assert_eq!(router.next(&mut &b"bcCcC"[..]), Ok(RouterEvent::Data { tensor: b, offset: 1, bytes: b"b" }));
}

#[test]
fn router_reports_too_small_index_after_header() {
    let (file, data_start) = five_tensors();
    let mut storage = IndexStorage::<5, 6, 4>::new();
    let part = embedded_safetensors::error::IndexPart::Names;
    let expected_outcome = ErrorKind::Index { part, needed: 5, capacity: 4 }.at(data_start as u64);
    assert_eq!(route(&mut Router::new(storage.memory()), &file, Split::Every(3)), Err(expected_outcome));
}

/// Returns a file with 12 elements of each dtype, whose bytes have all kinds of values.
fn all_dtypes(random: &mut Random) -> Vec<u8> {
    let tensors = Dtype::ALL
        .iter()
        .map(|dtype| (dtype.name(), dtype, [12], random.bytes(12 * usize::from(dtype.bits()) / 8)));
    with_tensors(&tensors.collect::<Vec<_>>())
}

/// Receives the values of a tensor in pieces of this length, and compares them with those of a reader: the
/// same values, or the same error.
fn compare_values<T: Element + Default + Debug>(file: &[u8], dtype: Dtype, piece: usize) {
    let mut window = [0; 64];
    let mut model = Model::open(file, &mut window).expect("valid file");
    let (query, rounded) = (Query::required(dtype.name()), piece.is_multiple_of(2));
    let info = model.find(dtype.name(), &mut window).expect("valid file").expect("present");
    let mut values = model.reader(&info).expect("of this file").values();
    let len = usize::try_from(values.len()).expect("small");
    let (mut expected, mut got) = (vec![T::default(); len], vec![T::default(); len + 1]);
    let (read, target) = if rounded {
        (values.rounded().read_exact(&mut expected), Target::rounded(query, &mut got))
    } else {
        (values.read_exact(&mut expected), Target::values(query, &mut got))
    };
    let received = receive(&mut Receiver::new([target]), file, Split::Every(piece));
    match read {
        Ok(()) => received.expect("the same outcome"),
        Err(ReadError::Format(error)) => {
            assert_eq!(received.map_err(|error| error.kind), Err(error.kind), "{dtype}");
        }
        Err(error) => panic!("{error:?}"),
    }
    expected.push(T::default());
    assert_eq!(format!("{got:?}"), format!("{expected:?}"), "{dtype} in pieces of {piece}");
}

type Compare = fn(&[u8], Dtype, usize);

const COMPARES: [Compare; 6] = [
    compare_values::<f32>,
    compare_values::<f64>,
    compare_values::<i64>,
    compare_values::<u8>,
    compare_values::<i16>,
    compare_values::<half::f16>,
];

/// Receives a tensor of any bytes as values.
pub fn check(random: &mut Random) {
    let (compare, dtype, piece) = (random.pick(&COMPARES), random.pick(Dtype::ALL), 1 + random.below(300));
    compare(&all_dtypes(random), dtype, piece);
}

#[test]
fn received_values_are_those_of_a_reader() {
    let file = all_dtypes(&mut Random::new(3));
    for (&dtype, compare) in Dtype::ALL.iter().flat_map(|dtype| COMPARES.map(|compare| (dtype, compare))) {
        (1..20).for_each(|piece| compare(&file, dtype, piece));
    }
    (0..200).for_each(|seed| check(&mut Random::new(seed)));
}

/// The memory is counted in bytes of values, before any of them is written.
#[test]
fn memory_for_values_must_be_large_enough() {
    let file = all_dtypes(&mut Random::new(3));
    for (dtype, needed) in [(Dtype::F16, 48), (Dtype::F4, 48), (Dtype::C64, 96), (Dtype::F6_E2M3, 48)] {
        let mut values = [7.0_f32; 11];
        let mut receiver = Receiver::new([Target::values(Query::required(dtype.name()), &mut values)]);
        let error = receiver.push(&file).expect_err("too small");
        assert_eq!(error.kind, ErrorKind::BufferLength { needed, capacity: 44 }, "{dtype}");
        assert_eq!(values, [7.0; 11]);
    }
}

/// A receiver that begins again forgets the elements that were not complete.
#[test]
fn values_can_be_received_again() {
    let (file, mut values) = (all_dtypes(&mut Random::new(3)), [0_u64; 12]);
    let mut targets = [Target::values(Query::required("U64"), &mut values)];
    Receiver::new(&mut targets).push(&file[..file.len() - 3]).expect("valid so far");
    receive(&mut Receiver::new(&mut targets), &file, Split::Every(5)).expect("complete");
    let expected =
        file[file.len() - 96..].chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
    assert!(expected.eq(values));
}
