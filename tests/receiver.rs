//! Models that arrive by themselves: every vector, cut in every way, into buffers that were bound to its tensors
//! and through a router.

use embedded_safetensors::{
    Error, ErrorKind,
    index::IndexStorage,
    stream::{Receiver, Router, RouterEvent, Status, Target},
    validate::Summary,
};
use std::collections::BTreeMap;
use std::ops::Range;
use support::file::with_header;
use support::memory::Memory;
use support::share;
use support::split::Split;
use support::verdict::{Reader, judge};
use vectors::{Ours, Vector, sha256};

/// The vectors whose tensors are not in the order of their offsets, where that is not a fault of the file.
const OUT_OF_ORDER: [&str; 7] = [
    "layout-backwards",
    "layout-shuffled",
    "layout-last-first",
    "empty-before-out-of-order",
    "empty-between-last",
    "empty-at-end-first",
    "large-2000-tensors-interleaved",
];

/// The invalid vectors whose fault shows only once their tensors are sorted.
const NOT_SORTED: [&str; 13] = [
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
    "large-1000-tensors-two-orders",
];

/// The vector with a name that occurs twice and a part of its data missing. The router knows of the name before
/// any data can come.
const TWICE_AND_SHORT: &str = "prio-short-and-duplicate";

/// The vectors whose tensors have more dimensions than a bound one may have.
const HIGH_RANK: [&str; 7] = [
    "d6-rank-9",
    "d6-rank-9-product",
    "d6-rank-33",
    "d6-rank-65",
    "d6-rank-100",
    "large-rank-10000",
    "large-rank-1000000",
];

/// A file arrives whole, and ends.
fn receive<'n, 'b, B: AsMut<[Target<'n, 'b>]>>(
    receiver: &mut Receiver<B>,
    file: &[u8],
    split: Split,
) -> Result<(), Error> {
    let outcome = split.pieces(file).try_for_each(|piece| receiver.push(piece).map(|_| ()));
    let outcome = outcome.and_then(|()| receiver.end_of_input());
    if let Err(error) = outcome {
        assert_eq!(receiver.push(b"more"), Err(error), "the last word is repeated");
        assert_eq!(receiver.end_of_input(), Err(error), "the last word is repeated");
    }
    outcome
}

/// A tensor that must come out of a file.
struct Expected {
    name: String,
    len: usize,
    sha256: String,
}

/// The vectors that are judged like this.
fn judged(ours: Ours) -> Vec<Vector> {
    vectors::load().vectors.into_iter().filter(|vector| vector.ours == ours).collect()
}

/// The tensors that the manifest lists; of a file with too many to list, the first and the last.
fn expected(vector: &Vector, file: &[u8]) -> Vec<Expected> {
    if let Some(rows) = &vector.tensors {
        let length = |[begin, end]: [u64; 2]| usize::try_from(end - begin).expect("in memory");
        let row = |row: &vectors::TensorRow| Expected {
            name: row.name.clone(),
            len: length(row.data_offsets),
            sha256: row.sha256.clone(),
        };
        return rows.iter().map(row).collect();
    }
    let mut tensors = judge(file).expect("it is sound").tensors;
    if tensors.len() > 2 {
        tensors.drain(1..tensors.len() - 1);
    }
    let data_len = tensors.iter().map(|tensor| tensor.data_offsets[1]).max().unwrap_or(0);
    let data_start = file.len() as u64 - data_len;
    let tensor = |tensor: &vectors::table::Tensor| {
        let [begin, end] = tensor.data_offsets.map(|offset| usize::try_from(data_start + offset).unwrap());
        Expected { name: tensor.name.clone(), len: end - begin, sha256: sha256(&file[begin..end]) }
    };
    tensors.iter().map(tensor).collect()
}

/// A quick run takes a part of them.
fn splits(vector: &Vector) -> impl Iterator<Item = Split> {
    let sizes: &[usize] = match vector.length {
        0..100_000 => &[1, 2, 3, 7, 64],
        100_000..1_000_000 => &[1, 4097],
        _ => &[4097],
    };
    let cuts = if vector.length <= 300 { 0..=vector.length } else { 0..=0 };
    share::part(sizes.iter().map(|&size| Split::Every(size)).chain(cuts.map(Split::Once)), vector.length)
}

#[test]
fn every_valid_vector_arrives_in_bound_buffers_however_it_is_cut() {
    let (mut unordered, mut high) = (Vec::new(), Vec::new());
    let vectors = judged(Ours::Accept);
    for vector in &vectors {
        let file = vector.bytes();
        let expected = expected(vector, &file);
        let outcomes = splits(vector).map(|split| arrive(vector, &file, &expected, split));
        match common(vector, outcomes) {
            Ok(()) => {}
            Err(Error { kind: ErrorKind::OutOfOrder, .. }) => unordered.push(vector.id.as_str()),
            Err(Error { kind: ErrorKind::Rank { .. }, .. }) => high.push(vector.id.as_str()),
            Err(error) => panic!("{}: {error}", vector.id),
        }
    }
    assert_eq!(unordered, OUT_OF_ORDER);
    assert_eq!(high, HIGH_RANK);
}

/// The outcome that all have in common.
fn common<T: PartialEq + std::fmt::Debug>(vector: &Vector, mut outcomes: impl Iterator<Item = T>) -> T {
    let first = outcomes.next().expect("at least one");
    outcomes.for_each(|outcome| assert_eq!(outcome, first, "{}", vector.id));
    first
}

/// All tensors are bound, each to a buffer with a byte to spare.
fn arrive(vector: &Vector, file: &[u8], expected: &[Expected], split: Split) -> Result<(), Error> {
    let mut buffers: Vec<Vec<u8>> = expected.iter().map(|tensor| vec![0xA5; tensor.len + 1]).collect();
    let targets: Vec<_> = expected
        .iter()
        .zip(&mut buffers)
        .map(|(tensor, buffer)| Target::required(&tensor.name, buffer))
        .collect();
    let mut receiver = Receiver::new(targets);
    receive(&mut receiver, file, split)?;
    assert_eq!(receiver.position(), file.len() as u64);
    assert_eq!(receiver.remaining(), 0);
    for (target, tensor) in receiver.targets().iter().zip(expected) {
        let bytes = target.bytes().expect("it has come");
        assert_eq!(bytes.len(), tensor.len);
        assert_eq!(sha256(bytes), tensor.sha256, "{}: {} cut {split:?}", vector.id, tensor.name);
    }
    let spare = buffers.iter().zip(expected).all(|(buffer, tensor)| buffer[tensor.len] == 0xA5);
    assert!(spare, "{}: a byte behind a tensor was written", vector.id);
    Ok(())
}

#[test]
fn every_invalid_vector_gets_the_verdict_of_the_check() {
    let reader = Reader { length_known: false, ..Reader::default() };
    let mut not_sorted = Vec::new();
    let vectors = judged(Ours::Reject);
    for vector in &vectors {
        let file = vector.bytes();
        let due = reader.judge(&file).map(|_| ());
        let outcomes = splits(vector).map(|split| receive(&mut Receiver::new([]), &file, split));
        match (common(vector, outcomes), due.expect_err("it is invalid")) {
            (Err(error), due) if error == due => {}
            (Err(Error { kind: ErrorKind::OutOfOrder, .. }), _) => not_sorted.push(vector.id.as_str()),
            // Names that are not bound, and keys, are not compared.
            (Ok(()), Error { kind: ErrorKind::NameTwice | ErrorKind::KeyTwice, .. }) => {}
            (outcome, due) => panic!("{}: {outcome:?} instead of {due}", vector.id),
        }
    }
    assert_eq!(not_sorted, NOT_SORTED);
}

#[test]
fn a_bound_name_that_occurs_twice_is_found() {
    let twice =
        vectors::load().vectors.into_iter().filter(|vector| vector.code.as_deref() == Some("name.duplicate"));
    for vector in twice {
        let file = vector.bytes();
        let due = judge(&file).map(|_| ());
        let names = [name_at(&file, due.expect_err("it is invalid"))];
        let mut buffer = vec![0; file.len()];
        let mut receiver = Receiver::new([Target::required(&names[0], &mut buffer)]);
        assert_eq!(receive(&mut receiver, &file, Split::Every(5)), due, "{}", vector.id);
    }
}

/// The name whose opening quote the error points to.
fn name_at(file: &[u8], error: Error) -> String {
    let at = usize::try_from(error.at).expect("in memory");
    let mut texts = serde_json::Deserializer::from_slice(&file[at..]).into_iter::<String>();
    texts.next().expect("a name").expect("a name")
}

/// `a` and `c` are read; `b` is skipped, `e` and `f` are empty.
fn five_tensors() -> (Vec<u8>, usize) {
    let header = concat!(
        r#"{"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"e":{"dtype":"F32","shape":[0],"data_offsets":[3,3]},"#,
        r#""b":{"dtype":"U8","shape":[2],"data_offsets":[3,5]},"c":{"dtype":"U16","shape":[2],"data_offsets":[5,9]},"#,
        r#""f":{"dtype":"U8","shape":[0,7],"data_offsets":[9,9]}}"#
    );
    let mut file = with_header(header, 0);
    let data_start = file.len();
    file.extend(b"aaabbcCcC");
    (file, data_start)
}

fn due_at(len: usize, data_start: usize) -> Error {
    let (at, header) = (len as u64, data_start as u64);
    let kind = match len {
        0..8 => ErrorKind::FileTooShort,
        _ if at < header => ErrorKind::HeaderBeyondFile { length: header - 8, present: at - 8 },
        _ => ErrorKind::DataShort { needed: 9, present: at - header },
    };
    kind.at(at)
}

#[test]
fn a_stream_that_ends_early_is_an_error_at_its_end_and_no_tensor_is_there_in_part() {
    let (file, data_start) = five_tensors();
    for (len, split) in (0..file.len()).flat_map(|len| [1, 4, 1000].map(|size| (len, Split::Every(size)))) {
        let (mut a, mut c, mut e) = ([0; 3], [0; 4], [0; 0]);
        let mut receiver = Receiver::new([
            Target::required("a", &mut a),
            Target::required("c", &mut c),
            Target::required("e", &mut e),
        ]);
        assert_eq!(receive(&mut receiver, &file[..len], split), Err(due_at(len, data_start)));
        let [a, c, e] = receiver.into_targets();
        let come =
            |range: Range<usize>, bytes: &'static [u8]| (len >= range.end + data_start).then_some(bytes);
        assert_eq!(a.bytes(), come(0..3, b"aaa"));
        assert_eq!(c.bytes(), come(5..9, b"cCcC"));
        assert_eq!(e.bytes(), come(0..0, b""));
        assert_eq!(a.info().is_some(), len >= data_start, "what is not proven is not told");
    }
}

#[test]
fn a_stream_that_goes_on_is_an_error_at_the_first_byte_too_many() {
    let (file, data_start) = five_tensors();
    for (more, size) in [1, 2, 700].into_iter().flat_map(|more| [1, 3, 1000].map(|size| (more, size))) {
        let overlong = [&file[..], &vec![0; more]].concat();
        let mut a = [0; 3];
        let mut receiver = Receiver::new([Target::required("a", &mut a)]);
        let due = ErrorKind::DataTrailing { needed: 9 }.at(data_start as u64 + 9);
        assert_eq!(receive(&mut receiver, &overlong, Split::Every(size)), Err(due));
    }
}

#[test]
fn progress_tells_how_far_it_has_come() {
    let (file, data_start) = five_tensors();
    let mut receiver = Receiver::new([]);
    for (index, byte) in file.iter().enumerate() {
        let (come, left) = (index + 1, file.len() - index - 1);
        let due = match come {
            _ if left == 0 => Status::Complete,
            _ if come < data_start => Status::Header,
            _ => Status::Data,
        };
        assert_eq!(receiver.push(std::slice::from_ref(byte)), Ok(due));
        assert_eq!(receiver.push(&[]), Ok(due), "nothing new is nothing new");
        assert_eq!(receiver.position(), come as u64);
        let proven = come >= data_start;
        let summary = Summary { tensors: 5, data_start: data_start as u64, data_len: 9 };
        assert_eq!(receiver.summary(), proven.then_some(summary));
        let next_end = [8, data_start, file.len()].into_iter().find(|&end| come < end);
        assert_eq!(receiver.remaining(), next_end.map_or(0, |end| end - come) as u64);
    }
}

#[test]
fn nothing_is_still_to_come_behind_an_error() {
    let (file, _) = five_tensors();
    let mut broken = Receiver::new([]);
    assert!(broken.push(b"\x08\0\0\0\0\0\0\0{]").is_err());
    let mut cut = Receiver::new([]);
    assert_eq!(cut.push(&file[..20]), Ok(Status::Header));
    assert!(cut.end_of_input().is_err());
    let mut longer = Receiver::new([]);
    assert!(longer.push(&[&file[..], b"x"].concat()).is_err());
    assert_eq!([broken, cut, longer].map(|receiver| receiver.remaining()), [0; 3]);
}

#[test]
fn a_model_without_data_is_complete_with_its_header() {
    let file = with_header("{}", 0);
    assert_eq!(Receiver::new([]).push(&file), Ok(Status::Complete));
}

#[test]
fn a_buffer_that_is_one_byte_too_small_is_an_error_before_any_data() {
    let (file, data_start) = five_tensors();
    let (mut a, mut c) = ([7; 3], [7; 3]);
    let mut receiver = Receiver::new([Target::required("a", &mut a), Target::required("c", &mut c)]);
    let due = ErrorKind::BufferLength { needed: 4, capacity: 3 }.at(data_start as u64 + 5 + 3);
    assert_eq!(receiver.push(&file[..data_start - 1]), Ok(Status::Header));
    assert_eq!(receiver.push(&file[data_start - 1..]), Err(due));
    assert_eq!(receiver.push(&[]), Err(due));
    assert_eq!(receiver.into_targets()[0].bytes(), None);
    assert_eq!((a, c), ([7; 3], [7; 3]), "nothing was written");
}

#[test]
fn a_tensor_that_no_memory_can_hold_does_not_overflow_anything() {
    let tensor = |index: u64| {
        let (begin, end) = (index << 60, (index + 1) << 60);
        format!(r#""{index}":{{"dtype":"U8","shape":[{}],"data_offsets":[{begin},{end}]}}"#, 1u64 << 60)
    };
    let names = (0..15).map(tensor).collect::<Vec<_>>().join(",");
    let rest = (1u64 << 60) - 1;
    let last =
        format!(r#""z":{{"dtype":"U8","shape":[{rest}],"data_offsets":[{},{}]}}"#, 15u64 << 60, u64::MAX);
    let file = with_header(&format!("{{{names},{last}}}"), 3);
    let mut buffer = [0; 1];
    let mut receiver = Receiver::new([Target::optional("z", &mut buffer)]);
    let due = ErrorKind::BufferLength { needed: rest, capacity: 1 };
    let error = receiver.push(&file).expect_err("it does not fit");
    assert_eq!(error.kind, due);
    let mut skipping = Receiver::new([]);
    assert_eq!(skipping.push(&file), Ok(Status::Data));
    assert_eq!(skipping.remaining(), u64::MAX - 3);
}

#[test]
fn a_missing_tensor_is_an_error_at_the_end_of_the_header_unless_it_is_optional() {
    let (file, data_start) = five_tensors();
    let (mut a, mut x, mut y) = ([0; 3], [0; 3], [0; 3]);
    let mut targets =
        [Target::required("a", &mut a), Target::optional("x", &mut x), Target::required("y", &mut y)];
    let due = ErrorKind::NotFound { query: Some(2) }.at(data_start as u64);
    assert_eq!(receive(&mut Receiver::new(&mut targets[..]), &file, Split::WHOLE), Err(due));
    assert_eq!(receive(&mut Receiver::new(&mut targets[..2]), &file, Split::WHOLE), Ok(()));
    assert_eq!(targets[0].bytes(), Some(&b"aaa"[..]));
    assert_eq!((targets[1].bytes(), targets[1].info()), (None, None));
}

#[test]
fn bindings_can_be_used_again_for_another_model() {
    let (file, _) = five_tensors();
    let mut other = file.clone();
    other.splice(file.len() - 9..file.len() - 6, *b"xyz");
    let mut a = [0; 3];
    let mut targets = [Target::required("a", &mut a)];
    assert_eq!(receive(&mut Receiver::new(&mut targets), &file, Split::Every(2)), Ok(()));
    let mut receiver = Receiver::new(&mut targets);
    assert_eq!(receiver.push(&other[..20]), Ok(Status::Header));
    assert_eq!(receiver.targets()[0].bytes(), None, "what came before is forgotten");
    assert_eq!(receive(&mut Receiver::new(&mut targets), &other, Split::Every(2)), Ok(()));
    assert_eq!(targets[0].bytes(), Some(&b"xyz"[..]));
}

#[test]
fn two_buffers_can_be_bound_to_one_tensor() {
    let (file, _) = five_tensors();
    let (mut one, mut two) = ([0; 3], [0; 8]);
    let mut receiver = Receiver::new([Target::required("a", &mut one), Target::required("a", &mut two)]);
    assert_eq!(receive(&mut receiver, &file, Split::Every(2)), Ok(()));
    assert!(receiver.targets().iter().all(|target| target.bytes() == Some(b"aaa")));
}

/// The bytes of each tensor that has any.
type Contents = BTreeMap<String, Vec<u8>>;

/// What a router tells of one piece, up to where it wants more.
fn route_piece(router: &mut Router<'_>, mut piece: &[u8], contents: &mut Contents) -> Result<(), Error> {
    loop {
        let before = piece.len();
        match router.next(&mut piece)? {
            RouterEvent::NeedInput => {
                assert!(piece.is_empty(), "wants more, but has not consumed all");
                return Ok(());
            }
            RouterEvent::Header => assert!(router.index().is_some()),
            RouterEvent::Data { tensor, offset, bytes } => {
                assert!(!bytes.is_empty() && bytes.len() == before - piece.len());
                let place = contents.entry(tensor.name().to_owned()).or_default();
                assert_eq!(offset, place.len() as u64, "bytes come in their order");
                place.extend(bytes);
                assert!(place.len() as u64 <= tensor.byte_len());
            }
            RouterEvent::End if piece.is_empty() => return Ok(()),
            RouterEvent::End => {}
        }
    }
}

/// A file arrives whole, and ends.
fn route(router: &mut Router<'_>, file: &[u8], split: Split) -> Result<Contents, Error> {
    let mut contents = Contents::new();
    let outcome = split.pieces(file).try_for_each(|piece| route_piece(router, piece, &mut contents));
    let outcome = outcome.and_then(|()| router.end_of_input());
    if let Err(error) = outcome {
        assert_eq!(router.next(&mut &b"more"[..]), Err(error), "the last word is repeated");
        assert_eq!(router.end_of_input(), Err(error), "the last word is repeated");
        assert!(router.index().is_none());
    }
    outcome.map(|()| contents)
}

#[test]
fn every_valid_vector_comes_out_of_a_router_however_it_is_cut() {
    for vector in judged(Ours::Accept) {
        let file = vector.bytes();
        let mut memory = Memory::ample(&file);
        let route = |split| {
            let mut router = Router::new(memory.lend());
            let contents = route(&mut router, &file, split);
            assert_eq!((router.position(), router.remaining()), (file.len() as u64, 0));
            contents.map(|contents| (contents, router.into_index().expect("it is proven").summary()))
        };
        let outcome = common(&vector, splits(&vector).map(route));
        let (contents, summary) = outcome.unwrap_or_else(|error| panic!("{}: {error}", vector.id));
        assert_eq!(contents.values().map(|bytes| bytes.len() as u64).sum::<u64>(), summary.data_len);
        for tensor in expected(&vector, &file) {
            let bytes = contents.get(&tensor.name).map_or(&[][..], Vec::as_slice);
            assert_eq!(sha256(bytes), tensor.sha256, "{}: {}", vector.id, tensor.name);
        }
    }
}

#[test]
fn every_invalid_vector_gets_the_verdict_of_the_check_from_a_router() {
    let reader = Reader { length_known: false, ..Reader::default() };
    for vector in judged(Ours::Reject) {
        let file = vector.bytes();
        let due = reader.judge(&file).map(|_| ()).expect_err("it is invalid");
        let mut memory = Memory::ample(&file);
        let route = |split| route(&mut Router::new(memory.lend()), &file, split).map(|_| ());
        match common(&vector, splits(&vector).map(route)) {
            Err(error) if error == due => {}
            Err(error) if vector.id == TWICE_AND_SHORT => assert_eq!(error.kind, ErrorKind::NameTwice),
            Err(error) => panic!("{}: {error} instead of {due}", vector.id),
            // Keys are not compared.
            Ok(()) => assert_eq!(due.kind, ErrorKind::KeyTwice, "{}", vector.id),
        }
    }
}

#[test]
fn a_router_says_where_a_stream_ends_early_or_goes_on() {
    let (file, data_start) = five_tensors();
    let mut storage = IndexStorage::<5, 6, 5>::new();
    for (len, size) in (0..file.len()).flat_map(|len| [1, 4, 1000].map(|size| (len, size))) {
        let mut router = Router::new(storage.memory());
        assert_eq!(route(&mut router, &file[..len], Split::Every(size)), Err(due_at(len, data_start)));
    }
    let due = ErrorKind::DataTrailing { needed: 9 }.at(data_start as u64 + 9);
    for (more, size) in [1, 2, 700].into_iter().flat_map(|more| [1, 3, 1000].map(|size| (more, size))) {
        let overlong = [&file[..], &vec![0; more]].concat();
        let mut router = Router::new(storage.memory());
        assert_eq!(route(&mut router, &overlong, Split::Every(size)), Err(due));
    }
}

#[test]
fn a_router_tells_what_each_byte_belongs_to() {
    let (file, data_start) = five_tensors();
    let mut storage = IndexStorage::<5, 6, 5>::new();
    let mut router = Router::new(storage.memory());
    assert_eq!(router.remaining(), 8, "as far as anyone knows");
    assert_eq!(router.next(&mut &file[..8]), Ok(RouterEvent::NeedInput));
    assert_eq!(router.remaining(), data_start as u64 - 8);
    let mut input = &file[8..data_start + 4];
    assert_eq!(router.next(&mut input), Ok(RouterEvent::Header));
    assert_eq!((input, router.remaining()), (&b"aaab"[..], 9), "the header is all that was consumed");
    let [a, b] =
        ["a", "b"].map(|name| router.index().and_then(|index| index.find(name).ok()?).expect("it is there"));
    assert_eq!(router.next(&mut input), Ok(RouterEvent::Data { tensor: a, offset: 0, bytes: b"aaa" }));
    assert_eq!(router.next(&mut input), Ok(RouterEvent::Data { tensor: b, offset: 0, bytes: b"b" }));
    assert_eq!(router.next(&mut input), Ok(RouterEvent::NeedInput));
    assert_eq!(router.next(&mut &b"bcCcC"[..]), Ok(RouterEvent::Data { tensor: b, offset: 1, bytes: b"b" }));
}

#[test]
fn an_index_that_is_too_small_is_an_error_of_the_router_at_the_end_of_the_header() {
    let (file, data_start) = five_tensors();
    let mut storage = IndexStorage::<5, 6, 4>::new();
    let part = embedded_safetensors::error::IndexPart::Names;
    let due = ErrorKind::Index { part, needed: 5, capacity: 4 }.at(data_start as u64);
    assert_eq!(route(&mut Router::new(storage.memory()), &file, Split::Every(3)), Err(due));
}
