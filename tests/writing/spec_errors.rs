//! Descriptions that cannot be a file, or not one that every reader interprets alike, are rejected before the
//! first byte, with an error that names the part at fault.

use std::cmp::Reverse;

use embedded_safetensors::{
    Dtype,
    error::Class,
    header::MAX_HEADER_LEN,
    write::{FilePlan, FileSpec, Placement, SpecError, SpecErrorKind, SpecPart, TensorSpec},
};
use support::random::Random;

/// Returns a tensor of 8 bytes.
const fn named(name: &str) -> TensorSpec<'_> {
    TensorSpec::new(name, Dtype::U8, &[8])
}

/// The largest number of bytes of a tensor.
const LONGEST: u64 = u64::MAX / 8;

/// Returns the errors of each way to plan: in order, sorted, as given.
fn errors(spec: FileSpec<'_>) -> [Option<SpecError>; 3] {
    let count = spec.tensors().len() + spec.metadata().map_or(0, <[_]>::len);
    let [mut memory, mut scratch] = [vec![0; count], vec![u32::MAX; count]];
    [spec.plan().err(), spec.plan_sorted(&mut memory).err(), spec.plan_as_given(&mut scratch).err()]
}

/// Asserts that all ways reject it with this error.
fn assert_rejected(spec: FileSpec<'_>, kind: SpecErrorKind, part: SpecPart) {
    assert_eq!(errors(spec), [Some(SpecError { kind, part }); 3]);
}

/// Asserts that the ways that sort reject it with this error.
fn assert_rejected_when_sorting(spec: FileSpec<'_>, kind: SpecErrorKind, part: SpecPart) {
    assert_eq!(errors(spec)[1..], [Some(SpecError { kind, part }); 2]);
}

fn assert_message(kind: SpecErrorKind, part: SpecPart, code: &str, message: &str) {
    let class = if code.starts_with("limit.") { Class::Limit } else { Class::Usage };
    assert_eq!(
        (SpecError { kind, part }.to_string().as_str(), kind.code(), kind.class()),
        (message, code, class)
    );
}

#[test]
fn duplicate_name() {
    let [a, b, c, wide] = [named("a"), named("b"), named("c"), TensorSpec::new("b", Dtype::F32, &[])];
    let duplicate = |other| SpecErrorKind::DuplicateName { other };
    assert_rejected(FileSpec::new(&[a, b, b, c]), duplicate(1), SpecPart::Tensor(2));
    assert_rejected(FileSpec::new(&[wide, a, b, c]), duplicate(0), SpecPart::Tensor(2));
    let tensors = [a, b, c, wide];
    let by_size = FileSpec::new(&tensors).with_placement(Placement::BySize(8));
    assert_rejected(by_size, duplicate(1), SpecPart::Tensor(3));
    let empty = named("");
    assert_rejected(FileSpec::new(&[empty, empty]), duplicate(0), SpecPart::Tensor(1));
    // If nothing is in order, the earlier one is the first in the slice.
    assert_rejected_when_sorting(FileSpec::new(&[b, c, a, wide]), duplicate(0), SpecPart::Tensor(3));
    assert_rejected_when_sorting(FileSpec::new(&[c, b, a, c]), duplicate(0), SpecPart::Tensor(3));
    let message = "error[usage.name] in tensor 3, counted from 0: duplicate name: tensor 0 has the same name";
    assert_message(duplicate(0), SpecPart::Tensor(3), "usage.name", message);
}

#[test]
fn duplicate_name_among_many() {
    let names: Vec<_> = (0..1000).map(|number| format!("layer.{number:04}")).collect();
    let tensors: Vec<_> = names.iter().map(|name| named(name)).collect();
    for (other, index) in [(0, 999), (0, 1), (998, 999), (123, 877), (500, 501)] {
        let mut tensors = tensors.clone();
        tensors[index] = TensorSpec::new(&names[other], Dtype::BOOL, &[]);
        assert_rejected_when_sorting(
            FileSpec::new(&tensors),
            SpecErrorKind::DuplicateName { other },
            SpecPart::Tensor(index),
        );
        // In the file's order the other one follows all that differ from it in dtype.
        let spec = tensors.remove(index);
        tensors.push(spec);
        let found = errors(FileSpec::new(&tensors));
        assert_eq!(found, [Some(SpecErrorKind::DuplicateName { other }.at(999)); 3]);
    }
}

/// Returns the error of the first tensor with a later duplicate.
fn first_duplicate(tensors: &[TensorSpec<'_>]) -> Option<SpecError> {
    (0..tensors.len()).find_map(|other| {
        let index =
            (other + 1..tensors.len()).find(|index| tensors[*index].name() == tensors[other].name())?;
        Some(SpecErrorKind::DuplicateName { other }.at(index))
    })
}

#[test]
fn duplicate_name_among_all_dtypes() {
    let mut random = Random::new(11);
    let (mut valid, mut duplicate) = (0, 0);
    for round in 0..3000 {
        let letters = 1 + random.below(40);
        let names: Vec<_> = (0..1 + random.below(12)).map(|_| random.below(letters).to_string()).collect();
        let mut tensor =
            |name| TensorSpec::new(name, Dtype::ALL[random.below(6)], random.pick(&[&[8], &[24], &[32]]));
        let mut tensors: Vec<_> = names.iter().map(|name| tensor(name)).collect();
        let by_size =
            |tensor: &TensorSpec<'_>| tensor.byte_len().map_or(0, |len| len.trailing_zeros().min(4));
        let (placement, of_size) = match round % 2 {
            0 => (Placement::Start(16), false),
            _ => (Placement::BySize(16), true),
        };
        let rank =
            |tensor: &TensorSpec<'_>| Reverse((if of_size { by_size(tensor) } else { 0 }, tensor.dtype()));
        tensors.sort_by(|a, b| (rank(a), a.name()).cmp(&(rank(b), b.name())));
        let found = FileSpec::new(&tensors).with_placement(placement).plan().err();
        let beside = tensors
            .windows(2)
            .any(|pair| (rank(&pair[0]), pair[0].name()) == (rank(&pair[1]), pair[1].name()));
        match beside {
            true => {
                assert!(matches!(found, Some(SpecError { kind: SpecErrorKind::DuplicateName { .. }, .. })));
            }
            false => assert_eq!(found, first_duplicate(&tensors)),
        }
        *if found.is_some() { &mut duplicate } else { &mut valid } += 1;
    }
    assert!(valid > 500 && duplicate > 500, "{valid} {duplicate}");
}

trait At {
    fn at(self, tensor: usize) -> SpecError;
}

impl At for SpecErrorKind {
    fn at(self, tensor: usize) -> SpecError {
        SpecError { kind: self, part: SpecPart::Tensor(tensor) }
    }
}

#[test]
fn duplicate_key() {
    let duplicate = |other| SpecErrorKind::DuplicateKey { other };
    let pairs = [("a", "1"), ("b", "2"), ("b", "3"), ("c", "4")];
    let tensors = [named("a")];
    for spec in [FileSpec::new(&[]), FileSpec::new(&tensors)] {
        assert_rejected(spec.with_metadata(&pairs), duplicate(1), SpecPart::Key(2));
        assert_rejected(spec.with_metadata(&[("", "1"), ("", "1")]), duplicate(0), SpecPart::Key(1));
        let pairs = [("b", "2"), ("a", "1"), ("b", "3")];
        assert_rejected_when_sorting(spec.with_metadata(&pairs), duplicate(0), SpecPart::Key(2));
    }
    let message = "error[usage.key] in key 2, counted from 0: duplicate key: key 0 is the same";
    assert_message(duplicate(0), SpecPart::Key(2), "usage.key", message);
}

#[test]
fn reserved_name() {
    let [a, reserved] = ["a", "__metadata__"].map(named);
    assert_rejected(FileSpec::new(&[reserved, a]), SpecErrorKind::Reserved, SpecPart::Tensor(0));
    assert_rejected(FileSpec::new(&[a, reserved]), SpecErrorKind::Reserved, SpecPart::Tensor(1));
    // With metadata or without, and not as a key.
    assert_rejected(
        FileSpec::new(&[reserved]).with_metadata(&[]),
        SpecErrorKind::Reserved,
        SpecPart::Tensor(0),
    );
    assert_eq!(errors(FileSpec::new(&[a]).with_metadata(&[("__metadata__", "")])), [None; 3]);
    for name in ["__metadata_", "__metadata__ ", "__METADATA__", "_metadata__", "__padding__.0"] {
        assert_eq!(errors(FileSpec::new(&[named(name)])), [None; 3], "{name}");
    }
    for name in ["__padding__.0", "__padding__.7", "__padding__.", "__padding__.x"] {
        assert_rejected(
            FileSpec::new(&[named(name)]).with_placement(Placement::Padded(16)),
            SpecErrorKind::Reserved,
            SpecPart::Tensor(0),
        );
    }
    for name in ["__padding__", "__padding_", "a__padding__.0"] {
        assert_eq!(
            errors(FileSpec::new(&[named(name)]).with_placement(Placement::Padded(16))),
            [None; 3],
            "{name}"
        );
    }
    let message = "error[usage.reserved] in tensor 0, counted from 0: \
                    reserved name: \"__metadata__\" is never allowed, and names that begin with \
                    \"__padding__.\" are not allowed in a padded file";
    assert_message(SpecErrorKind::Reserved, SpecPart::Tensor(0), "usage.reserved", message);
}

#[test]
fn elements_must_fill_bytes() {
    let cases: [(Dtype, &[u64], u64); 7] = [
        (Dtype::F4, &[], 1),
        (Dtype::F4, &[3], 3),
        (Dtype::F4, &[1, 3, 5], 15),
        (Dtype::F6_E2M3, &[], 1),
        (Dtype::F6_E2M3, &[2], 2),
        (Dtype::F6_E3M2, &[3, 3], 9),
        (Dtype::F6_E3M2, &[2, 7], 14),
    ];
    for (dtype, dims, elements) in cases {
        let kind = SpecErrorKind::SubByte { elements, bits: dtype.bits() };
        let tensor = TensorSpec::new("b", dtype, dims);
        assert_eq!(tensor.byte_len(), Err(kind));
        assert_rejected(FileSpec::new(&[named("a"), tensor]), kind, SpecPart::Tensor(1));
    }
    for (dtype, dims, len) in [(Dtype::F4, [3, 2], 3), (Dtype::F6_E2M3, [2, 2], 3), (Dtype::F4, [3, 0], 0)] {
        let tensor = TensorSpec::new("b", dtype, &dims);
        assert_eq!((tensor.byte_len(), errors(FileSpec::new(&[tensor]))), (Ok(len), [None; 3]));
    }
    let kind = SpecErrorKind::SubByte { elements: 3, bits: 4 };
    let message =
        "error[usage.bits] in tensor 1, counted from 0: ends inside a byte: it has 3 elements of 4 bits";
    assert_message(kind, SpecPart::Tensor(1), "usage.bits", message);
    let message =
        "error[usage.bits] in tensor 1, counted from 0: ends inside a byte: it has 1 element of 6 bits";
    assert_message(
        SpecErrorKind::SubByte { elements: 1, bits: 6 },
        SpecPart::Tensor(1),
        "usage.bits",
        message,
    );
}

#[test]
fn too_large_tensor() {
    let cases: [(Dtype, &[u64]); 6] = [
        (Dtype::U8, &[LONGEST + 1]),
        (Dtype::U64, &[1 << 58]),
        (Dtype::F4, &[1 << 62]),
        (Dtype::U8, &[1 << 32, 1 << 32]),
        // From left to right, as in the reference.
        (Dtype::U8, &[1 << 32, 1 << 32, 0]),
        (Dtype::BOOL, &[u64::MAX, 2]),
    ];
    for (dtype, dims) in cases {
        let tensor = TensorSpec::new("b", dtype, dims);
        assert_eq!(tensor.byte_len(), Err(SpecErrorKind::Overflow));
        assert_rejected(FileSpec::new(&[named("a"), tensor]), SpecErrorKind::Overflow, SpecPart::Tensor(1));
    }
    let cases: [(Dtype, &[u64], u64); 5] = [
        (Dtype::U8, &[LONGEST], LONGEST),
        (Dtype::U64, &[LONGEST / 8], LONGEST - 7),
        (Dtype::F4, &[LONGEST * 2], LONGEST),
        (Dtype::U8, &[0, u64::MAX, u64::MAX], 0),
        (Dtype::U8, &[u64::MAX, 0, u64::MAX], 0),
    ];
    for (dtype, dims, len) in cases {
        let tensor = TensorSpec::new("b", dtype, dims);
        assert_eq!((tensor.byte_len(), errors(FileSpec::new(&[tensor]))), (Ok(len), [None; 3]));
    }
    let message = "error[usage.overflow] in tensor 1, counted from 0: tensor too large: the product of its \
        dimensions, or its size in bits, does not fit into 64 bits";
    assert_message(SpecErrorKind::Overflow, SpecPart::Tensor(1), "usage.overflow", message);
}

#[test]
fn too_large_total() {
    let names: Vec<_> = (0..20).map(|number| format!("{number:02}")).collect();
    let tensors: Vec<_> = names.iter().map(|name| TensorSpec::new(name, Dtype::U8, &[LONGEST])).collect();
    for placement in
        [Placement::Start(8), Placement::BySize(64), Placement::Padded(8), Placement::Padded(4096)]
    {
        // Eight of them leave 8 bytes, which are not enough for a header.
        for count in 8..=20 {
            let spec = FileSpec::new(&tensors[..count]).with_placement(placement);
            assert_rejected(spec, SpecErrorKind::DataTooLong, SpecPart::File);
        }
        let spec = FileSpec::new(&tensors[..7]).with_placement(placement);
        assert_eq!(errors(spec), [None; 3]);
        let plan = spec.plan().expect("fits");
        assert_eq!(plan.file_len(), plan.data_start() + plan.data_len());
        assert!(plan.data_len() >= 7 * LONGEST);
    }
    let message = "error[usage.data]: the length of the file does not fit into 64 bits";
    assert_message(SpecErrorKind::DataTooLong, SpecPart::File, "usage.data", message);
}

#[test]
fn longest_file_of_64_bits() {
    let dims = [[LONGEST]; 7];
    let plan_with = |last: u64| {
        let last = [last];
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let dims = dims.iter().chain([&last]);
        let tensors: Vec<_> =
            names.iter().zip(dims).map(|(name, dims)| TensorSpec::new(name, Dtype::U8, dims)).collect();
        FileSpec::new(&tensors).plan().map(|plan| (plan.data_start(), plan.file_len()))
    };
    let (data_start, file_len) = plan_with(LONGEST / 2).expect("fits");
    let left = u64::MAX - file_len;
    assert_eq!(plan_with(LONGEST / 2 + left), Ok((data_start, u64::MAX)));
    let kind = SpecError { kind: SpecErrorKind::DataTooLong, part: SpecPart::File };
    assert_eq!(plan_with(LONGEST / 2 + left + 1), Err(kind));
}

/// Plans a header of this many bytes of JSON, with one tensor of a long name, and passes the plan to `then`.
fn with_header_of<T>(len: u64, escaped: bool, then: impl FnOnce(Result<FilePlan<'_>, SpecError>) -> T) -> T {
    let rest = r#"{"":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}}"#.len();
    let name = usize::try_from(len).expect("fits in usize") - rest;
    let name = if escaped { "\0".repeat(name / 6) + &"n".repeat(name % 6) } else { "n".repeat(name) };
    then(FileSpec::new(&[named(&name)]).plan())
}

#[test]
fn longest_header() {
    for (len, escaped) in [(MAX_HEADER_LEN, true), (MAX_HEADER_LEN - 7, true), (MAX_HEADER_LEN - 7, false)] {
        with_header_of(len, escaped, |plan| {
            let plan = plan.expect("the maximum length");
            assert_eq!((plan.header_len(), plan.file_len()), (MAX_HEADER_LEN, 8 + MAX_HEADER_LEN + 8));
            let mut encoder = plan.encoder();
            encoder.skip(MAX_HEADER_LEN);
            assert_eq!(encoder.remaining(), 8);
            let spaces = " ".repeat(usize::try_from(MAX_HEADER_LEN - len).expect("fits in usize"));
            let end = "\"data_offsets\":[0,8]}}".to_owned() + &spaces;
            assert!(end.as_bytes().ends_with(encoder.encode(&mut [0; 9])));
        });
    }
    let too_large =
        |length| Some(SpecError { kind: SpecErrorKind::HeaderTooLarge { length }, part: SpecPart::File });
    with_header_of(MAX_HEADER_LEN + 1, true, |plan| assert_eq!(plan.err(), too_large(MAX_HEADER_LEN + 8)));
    with_header_of(MAX_HEADER_LEN + 8, false, |plan| assert_eq!(plan.err(), too_large(MAX_HEADER_LEN + 8)));
    with_header_of(MAX_HEADER_LEN + 9, true, |plan| assert_eq!(plan.err(), too_large(MAX_HEADER_LEN + 16)));
    let message = "error[usage.header]: header too large: 100000008 bytes, at most 100000000 are allowed";
    assert_message(
        SpecErrorKind::HeaderTooLarge { length: 100_000_008 },
        SpecPart::File,
        "usage.header",
        message,
    );
}

#[test]
fn placement_spaces_count_as_header() {
    let tensors = [named("a")];
    let spec = |unit| FileSpec::new(&tensors).with_placement(Placement::Start(unit));
    assert_eq!(errors(spec(1 << 26)), [None; 3]);
    let kind = SpecErrorKind::HeaderTooLarge { length: (1 << 27) - 8 };
    assert_rejected(spec(1 << 27), kind, SpecPart::File);
    let kind = SpecErrorKind::HeaderTooLarge { length: (1 << 31) - 8 };
    assert_rejected(spec(1 << 31), kind, SpecPart::File);
}

#[test]
fn invalid_placement() {
    let tensors = [named("a")];
    for asked in [0, 1, 2, 4, 7, 9, 12, 24, 100, 4095, 4097, u32::MAX, (1 << 31) + 8] {
        for placement in [Placement::Start(asked), Placement::BySize(asked), Placement::Padded(asked)] {
            for spec in [FileSpec::new(&[]), FileSpec::new(&tensors)] {
                assert_rejected(
                    spec.with_placement(placement),
                    SpecErrorKind::Placement { asked },
                    SpecPart::File,
                );
            }
        }
    }
    let message = "error[usage.placement]: tensors cannot be aligned to 12: an alignment is a power of two, and at least 8";
    assert_message(SpecErrorKind::Placement { asked: 12 }, SpecPart::File, "usage.placement", message);
}

#[test]
fn too_little_memory_to_sort() {
    let tensors = ["a", "b", "c"].map(named);
    let pairs = [("x", ""), ("y", "")];
    for (spec, needed) in [
        (FileSpec::new(&tensors), 3),
        (FileSpec::new(&tensors).with_metadata(&pairs), 5),
        (FileSpec::new(&[]).with_metadata(&pairs), 2),
    ] {
        for capacity in 0..needed + 3 {
            let [mut memory, mut scratch] = [[u32::MAX; 8]; 2];
            let found = [
                spec.plan_sorted(&mut memory[..capacity]).err(),
                spec.plan_as_given(&mut scratch[..capacity]).err(),
            ];
            let kind =
                SpecError { kind: SpecErrorKind::OrderMemory { needed, capacity }, part: SpecPart::File };
            assert_eq!(found, [(capacity < needed).then_some(kind); 2]);
        }
    }
    assert!(FileSpec::new(&[]).plan_sorted(&mut []).is_ok());
    let kind = SpecErrorKind::OrderMemory { needed: 5, capacity: 4 };
    let message = "error[limit.sort]: too little memory to sort: 5 numbers needed (one for each tensor \
        and one for each key), 4 available";
    assert_message(kind, SpecPart::File, "limit.sort", message);
}

#[test]
fn out_of_order() {
    let message = "error[usage.order] in key 1, counted from 0: out of order: it belongs before \
        its predecessor; use plan_sorted";
    assert_message(SpecErrorKind::OutOfOrder, SpecPart::Key(1), "usage.order", message);
    let spec = FileSpec::new(&[]).with_metadata(&[("b", ""), ("a", "")]);
    let kind = SpecError { kind: SpecErrorKind::OutOfOrder, part: SpecPart::Key(1) };
    assert_eq!(errors(spec), [Some(kind), None, None]);
}
