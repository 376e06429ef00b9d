//! The header is the same in pieces of any size.

use embedded_safetensors::{
    Dtype,
    write::{FilePlan, FileSpec, HeaderEncoder, Placement, TensorSpec},
};
use support::dictionary::{Dictionary, Kinds};
use support::random::Random;
use support::writing::{Description, write_planned};

/// Returns small ones with everything in them, and one that is mostly keys.
fn dictionaries() -> Vec<Dictionary> {
    let mut random = Random::new(0);
    let any = std::iter::repeat_with(|| Dictionary::random(Kinds::All, &mut random));
    let mut dictionaries: Vec<_> =
        any.filter(|dictionary| dictionary.header().len() < 700).take(60).collect();
    dictionaries.push(Dictionary::of_pairs(12, &mut Random::new(1)));
    dictionaries.push(Dictionary { metadata: Some(vec![]), tensors: vec![] });
    dictionaries
}

/// Passes each plan to `test`, with the file of that plan.
fn each_plan(test: impl Fn(FilePlan<'_>, &[u8])) {
    for dictionary in dictionaries() {
        for placement in [Placement::Start(8), Placement::Start(256), Placement::Padded(64)] {
            let description = Description::new(&dictionary);
            let mut memory = description.memory();
            let plan = description
                .spec()
                .with_placement(placement)
                .plan_sorted(&mut memory)
                .expect("valid description");
            test(plan, &write_planned(&dictionary, plan));
        }
    }
}

fn header<'f>(plan: &FilePlan<'_>, file: &'f [u8]) -> &'f [u8] {
    &file[..usize::try_from(plan.data_start()).expect("fits in usize")]
}

/// Returns the encoder's position and the remaining bytes.
fn position_and_remaining(encoder: &HeaderEncoder<'_>) -> [u64; 2] {
    [encoder.position(), encoder.remaining()]
}

/// Returns the expected result of [`place`] at this position.
fn expected_at(position: usize, header: &[u8]) -> [u64; 2] {
    [position as u64, (header.len() - position) as u64]
}

#[test]
fn buffers_of_every_size_give_the_same_bytes() {
    each_plan(|plan, file| {
        let header = header(&plan, file);
        for size in (1..=130).chain([header.len() - 1, header.len(), header.len() + 1]) {
            let (mut encoder, mut position) = (plan.encoder(), 0);
            for expected in header.chunks(size) {
                assert_eq!(position_and_remaining(&encoder), expected_at(position, header));
                assert_eq!(encoder.encode(&mut vec![0xAA; size]), expected, "buffers of {size} bytes");
                position += expected.len();
            }
            for _ in 0..2 {
                assert_eq!(position_and_remaining(&encoder), expected_at(header.len(), header));
                assert_eq!(encoder.encode(&mut [0xAA; 3]), b"");
            }
        }
    });
}

#[test]
fn any_number_of_bytes_can_be_skipped() {
    each_plan(|plan, file| {
        let header = header(&plan, file);
        for begin in (0..=header.len()).step_by(1 + header.len() / 40) {
            for skipped in [0, 1, 2, 7, 31, 32, 33, 64, 100, 1000] {
                let mut encoder = plan.encoder();
                encoder.encode(&mut vec![0; begin]);
                encoder.skip(skipped as u64);
                let end = header.len().min(begin + skipped);
                assert_eq!(position_and_remaining(&encoder), expected_at(end, header));
                assert_eq!(encoder.encode(&mut vec![0; header.len()]), &header[end..]);
            }
        }
        let mut encoder = plan.encoder();
        encoder.skip(u64::MAX);
        assert_eq!(position_and_remaining(&encoder), expected_at(header.len(), header));
    });
}

const TENSORS: [TensorSpec<'_>; 3] = [
    TensorSpec::new("w", Dtype::F32, &[2, 3]),
    TensorSpec::new("a\u{1}\"é\n", Dtype::U8, &[]),
    TensorSpec::new("b", Dtype::U8, &[0]),
];

fn spelled(spec: FileSpec<'_>) -> String {
    let plan = spec.plan_sorted(vec![0; 100].leak()).expect("writable");
    let mut encoder = plan.encoder();
    let mut bytes = vec![0; 1000];
    let bytes = encoder.encode(&mut bytes);
    assert_eq!((bytes.len() as u64, encoder.remaining()), (plan.data_start(), 0));
    let (length, json) = bytes.split_at(8);
    assert_eq!(length, (json.len() as u64).to_le_bytes());
    String::from_utf8(json.to_vec()).expect("UTF-8")
}

#[test]
fn padding_is_spelled_as_tensors() {
    assert_eq!(
        spelled(FileSpec::new(&TENSORS).with_placement(Placement::Padded(64))).trim_end(),
        concat!(
            r#"{"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"#,
            r#""__padding__.0":{"dtype":"U8","shape":[40],"data_offsets":[24,64]},"#,
            r#""a\u0001\"é\n":{"dtype":"U8","shape":[],"data_offsets":[64,65]},"#,
            r#""__padding__.1":{"dtype":"U8","shape":[63],"data_offsets":[65,128]},"#,
            r#""b":{"dtype":"U8","shape":[0],"data_offsets":[128,128]}}"#,
        )
    );
}
