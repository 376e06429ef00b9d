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

const TOO_LONG: SpecError = SpecError { kind: SpecErrorKind::DataTooLong, part: SpecPart::File };

/// Returns the errors of each way to plan: in order, sorted, as given.
fn errors(spec: FileSpec<'_>) -> [Option<SpecError>; 3] {
    let count = spec.tensors().len() + spec.metadata().map_or(0, <[_]>::len);
    let [mut memory, mut scratch] = [vec![0; count], vec![u32::MAX; count]];
    [spec.plan().err(), spec.plan_sorted(&mut memory).err(), spec.plan_as_given(&mut scratch).err()]
}

/// A description: tensors, keys, and a placement.
struct Row<'d>(&'d [TensorSpec<'d>], &'d [(&'d str, &'d str)], Placement);

impl<'d> Row<'d> {
    const fn of(tensors: &'d [TensorSpec<'d>]) -> Self {
        Self(tensors, &[], Placement::Start(8))
    }

    const fn keys(pairs: &'d [(&'d str, &'d str)]) -> Self {
        Self(&[A], pairs, Placement::Start(8))
    }

    fn errors(&self) -> [Option<SpecError>; 3] {
        let spec = FileSpec::new(self.0).with_placement(self.2);
        errors(if self.1.is_empty() { spec } else { spec.with_metadata(self.1) })
    }
}

const A: TensorSpec<'_> = named("a");
const B: TensorSpec<'_> = named("b");
const C: TensorSpec<'_> = named("c");
const WIDE: TensorSpec<'_> = TensorSpec::new("b", Dtype::F32, &[]);
const RESERVED: TensorSpec<'_> = named("__metadata__");
const PADDED: Placement = Placement::Padded(16);

/// Every way to plan has this error.
#[test]
fn description_that_is_no_file_is_rejected() {
    use SpecErrorKind::{DuplicateKey, DuplicateName, Placement as NoPlacement, Reserved};
    use SpecPart::{File, Key, Tensor};
    let by_size = Placement::BySize(8);
    for (row, kind, part) in [
        (Row::of(&[A, B, B, C]), DuplicateName { other: 1 }, Tensor(2)),
        (Row::of(&[WIDE, A, B, C]), DuplicateName { other: 0 }, Tensor(2)),
        (Row(&[A, B, C, WIDE], &[], by_size), DuplicateName { other: 1 }, Tensor(3)),
        (Row::of(&[named(""), named("")]), DuplicateName { other: 0 }, Tensor(1)),
        (Row::keys(&[("a", "1"), ("b", "2"), ("b", "3"), ("c", "4")]), DuplicateKey { other: 1 }, Key(2)),
        (Row::keys(&[("", "1"), ("", "1")]), DuplicateKey { other: 0 }, Key(1)),
        (Row(&[], &[("", "1"), ("", "1")], by_size), DuplicateKey { other: 0 }, Key(1)),
        (Row::of(&[RESERVED, A]), Reserved, Tensor(0)),
        (Row::of(&[A, RESERVED]), Reserved, Tensor(1)),
        (Row(&[RESERVED], &[("", "")], by_size), Reserved, Tensor(0)),
        (Row(&[named("__padding__.0")], &[], PADDED), Reserved, Tensor(0)),
        (Row(&[named("__padding__.")], &[], PADDED), Reserved, Tensor(0)),
        (Row(&[named("__padding__.x")], &[], PADDED), Reserved, Tensor(0)),
    ] {
        assert_eq!(row.errors(), [Some(SpecError { kind, part }); 3]);
    }
    // If nothing is in order, the earlier one is the first in the slice.
    for (row, kind, part) in [
        (Row::of(&[B, C, A, WIDE]), DuplicateName { other: 0 }, Tensor(3)),
        (Row::of(&[C, B, A, C]), DuplicateName { other: 0 }, Tensor(3)),
        (Row::keys(&[("b", "2"), ("a", "1"), ("b", "3")]), DuplicateKey { other: 0 }, Key(2)),
    ] {
        assert_eq!(row.errors()[1..], [Some(SpecError { kind, part }); 2]);
    }
    let out_of_order = SpecError { kind: SpecErrorKind::OutOfOrder, part: Key(1) };
    assert_eq!(Row::keys(&[("b", ""), ("a", "")]).errors(), [Some(out_of_order), None, None]);
    for asked in [0, 1, 2, 4, 7, 9, 12, 24, 100, 4095, 4097, u32::MAX, (1 << 31) + 8] {
        for placement in [Placement::Start(asked), Placement::BySize(asked), Placement::Padded(asked)] {
            let error = SpecError { kind: NoPlacement { asked }, part: File };
            assert_eq!(Row(&[A], &[], placement).errors(), [Some(error); 3]);
        }
    }
}

#[test]
fn names_that_resemble_reserved_ones_are_accepted() {
    assert_eq!(Row::keys(&[("__metadata__", "")]).errors(), [None; 3]);
    let names = ["__metadata_", "__metadata__ ", "__METADATA__", "_metadata__", "__padding__.0"];
    let in_padded = ["__padding__", "__padding_", "a__padding__.0"];
    let placed = names.map(|name| (name, Placement::Start(8))).into_iter();
    for (name, placement) in placed.chain(in_padded.map(|name| (name, PADDED))) {
        assert_eq!(Row(&[named(name)], &[], placement).errors(), [None; 3], "{name}");
    }
}

/// The same part of the description is named in three ways.
#[test]
fn message_names_the_part() {
    let message = |kind, part| SpecError { kind, part }.to_string();
    let name = "error[usage.name] in tensor 3, counted from 0: duplicate name: tensor 0 has the same name";
    assert_eq!(message(SpecErrorKind::DuplicateName { other: 0 }, SpecPart::Tensor(3)), name);
    let key = "error[usage.key] in key 2, counted from 0: duplicate key: key 0 is the same";
    assert_eq!(message(SpecErrorKind::DuplicateKey { other: 0 }, SpecPart::Key(2)), key);
    let file = "error[usage.data]: the length of the file does not fit into 64 bits";
    assert_eq!(message(SpecErrorKind::DataTooLong, SpecPart::File), file);
    let limit = SpecErrorKind::OrderMemory { needed: 5, capacity: 4 };
    assert_eq!((limit.class(), SpecErrorKind::DataTooLong.class()), (Class::Limit, Class::Usage));
}

#[test]
fn elements_must_fill_bytes_and_64_bits() {
    let sub_byte = |elements, bits| Err(SpecErrorKind::SubByte { elements, bits });
    let cases: [(Dtype, &[u64], Result<u64, SpecErrorKind>); 22] = [
        (Dtype::F4, &[], sub_byte(1, 4)),
        (Dtype::F4, &[3], sub_byte(3, 4)),
        (Dtype::F4, &[1, 3, 5], sub_byte(15, 4)),
        (Dtype::F6_E2M3, &[], sub_byte(1, 6)),
        (Dtype::F6_E2M3, &[2], sub_byte(2, 6)),
        (Dtype::F6_E3M2, &[3, 3], sub_byte(9, 6)),
        (Dtype::F6_E3M2, &[2, 7], sub_byte(14, 6)),
        (Dtype::F4, &[3, 2], Ok(3)),
        (Dtype::F6_E2M3, &[2, 2], Ok(3)),
        (Dtype::F4, &[3, 0], Ok(0)),
        (Dtype::U8, &[LONGEST + 1], Err(SpecErrorKind::Overflow)),
        (Dtype::U64, &[1 << 58], Err(SpecErrorKind::Overflow)),
        (Dtype::F4, &[1 << 62], Err(SpecErrorKind::Overflow)),
        (Dtype::U8, &[1 << 32, 1 << 32], Err(SpecErrorKind::Overflow)),
        // From left to right, as in the reference.
        (Dtype::U8, &[1 << 32, 1 << 32, 0], Err(SpecErrorKind::Overflow)),
        (Dtype::BOOL, &[u64::MAX, 2], Err(SpecErrorKind::Overflow)),
        (Dtype::U8, &[LONGEST], Ok(LONGEST)),
        (Dtype::U64, &[LONGEST / 8], Ok(LONGEST - 7)),
        (Dtype::F4, &[LONGEST * 2], Ok(LONGEST)),
        (Dtype::U8, &[0, u64::MAX, u64::MAX], Ok(0)),
        (Dtype::U8, &[u64::MAX, 0, u64::MAX], Ok(0)),
        (Dtype::U8, &[], Ok(1)),
    ];
    for (dtype, dims, expected) in cases {
        let tensors = [A, TensorSpec::new("b", dtype, dims)];
        assert_eq!(tensors[1].byte_len(), expected, "{dtype} {dims:?}");
        // Alone if it is valid: it may be larger than the one that it follows in the order of dtypes.
        let error = expected.err().map(|kind| SpecError { kind, part: SpecPart::Tensor(1) });
        let spec = FileSpec::new(if error.is_some() { &tensors[..] } else { &tensors[1..] });
        assert_eq!(errors(spec), [error; 3]);
    }
}

fn duplicate(other: usize, tensor: usize) -> SpecError {
    SpecError { kind: SpecErrorKind::DuplicateName { other }, part: SpecPart::Tensor(tensor) }
}

#[test]
fn duplicate_name_among_many() {
    let names: Vec<_> = (0..1000).map(|number| format!("layer.{number:04}")).collect();
    let tensors: Vec<_> = names.iter().map(|name| named(name)).collect();
    for (other, index) in [(0, 999), (0, 1), (998, 999), (123, 877), (500, 501)] {
        let mut tensors = tensors.clone();
        tensors[index] = TensorSpec::new(&names[other], Dtype::BOOL, &[]);
        let error = Some(duplicate(other, index));
        assert_eq!(errors(FileSpec::new(&tensors))[1..], [error; 2]);
        // In the file's order the other one follows all that differ from it in dtype.
        let spec = tensors.remove(index);
        tensors.push(spec);
        let found = errors(FileSpec::new(&tensors));
        assert_eq!(found, [Some(duplicate(other, 999)); 3]);
    }
}

/// Returns the error of the first tensor with a later duplicate.
fn first_duplicate(tensors: &[TensorSpec<'_>]) -> Option<SpecError> {
    (0..tensors.len()).find_map(|other| {
        let index =
            (other + 1..tensors.len()).find(|index| tensors[*index].name() == tensors[other].name())?;
        Some(duplicate(other, index))
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
            assert_eq!(errors(spec), [Some(TOO_LONG); 3]);
        }
        let spec = FileSpec::new(&tensors[..7]).with_placement(placement);
        assert_eq!(errors(spec), [None; 3]);
        let plan = spec.plan().expect("fits");
        assert_eq!(plan.file_len(), plan.data_start() + plan.data_len());
        assert!(plan.data_len() >= 7 * LONGEST);
    }
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
    assert_eq!(plan_with(LONGEST / 2 + left + 1), Err(TOO_LONG));
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
}

#[test]
fn placement_spaces_count_as_header() {
    let tensors = [named("a")];
    let spec = |unit| FileSpec::new(&tensors).with_placement(Placement::Start(unit));
    assert_eq!(errors(spec(1 << 26)), [None; 3]);
    for unit in [1 << 27, 1 << 31] {
        let kind = SpecErrorKind::HeaderTooLarge { length: u64::from(unit) - 8 };
        assert_eq!(errors(spec(unit)), [Some(SpecError { kind, part: SpecPart::File }); 3]);
    }
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
}
