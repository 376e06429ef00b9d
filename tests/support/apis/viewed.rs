//! A file in memory: validation and the view.

use embedded_safetensors::{
    Error, ErrorKind, View,
    metadata::JsonStr,
    validate::{SortSlot, validate, validate_header},
};

use super::{Api, Case, Lack, api};
use crate::random::Random;
use vectors::table::Tensor;

pub const APIS: [Api; 4] = [
    api("validate", &[], check_all),
    api("validate_header", &[Lack::Names, Lack::Keys], check_once),
    api("View::parse", &[Lack::Names, Lack::Keys, Lack::Order], |case, random| {
        look(case, View::parse(case.file)?, random)
    }),
    api("View::parse_unordered", &[Lack::Names, Lack::Keys], |case, random| {
        look(case, View::parse_unordered(case.file, &mut some_slots(random))?, random)
    }),
];

/// Returns from one slot up to enough for nearly every file; with fewer, the header is read more often.
pub fn some_slots(random: &mut Random) -> Vec<SortSlot> {
    vec![SortSlot::EMPTY; random.pick(&[1, 2, 5, 200])]
}

/// Returns slots for all names of the file, so that equal hashes never need more.
pub fn enough_slots(file: &[u8]) -> Vec<SortSlot> {
    vec![SortSlot::EMPTY; 2 + file.len() / 6]
}

fn check_all(case: &Case<'_>, random: &mut Random) -> Result<(), Error> {
    let summary = validate(case.file, &mut enough_slots(case.file), &mut vec![0; 1 + random.below(40)])?;
    assert_eq!(summary.tensors, case.tensors().len() as u64);
    assert_eq!(summary.data_start + summary.data_len, case.file.len() as u64);
    Ok(())
}

fn check_once(case: &Case<'_>, random: &mut Random) -> Result<(), Error> {
    validate_header(case.file, &mut some_slots(random)).map(drop)
}

fn look(case: &Case<'_>, view: View<'_>, random: &mut Random) -> Result<(), Error> {
    let mut buffer = vec![0; case.file.len()];
    let mut listed = Vec::new();
    for tensor in view.tensors() {
        match tensor {
            Ok(tensor) => listed.push(Tensor {
                data_offsets: [tensor.info().begin(), tensor.info().end()],
                name: decoded(tensor.name(), &mut buffer),
                dtype: tensor.dtype().to_string(),
                shape: tensor.shape().dims().to_vec(),
            }),
            Err(error) => assert!(matches!(error.kind, ErrorKind::Rank { .. }), "{error}"),
        }
    }
    let at: Vec<u64> = view.tensors().flatten().map(|tensor| tensor.name().at()).collect();
    assert!(at.is_sorted(), "tensors are in the order of the header");
    assert_eq!(view.len(), view.tensors().count());
    let names = view.validate_names([random.number(), 1], &mut enough_slots(case.file), &mut [0; 5]);
    assert_eq!(names.err(), case.expected.as_ref().err().copied());
    if !case.is_valid() {
        return Ok(());
    }
    assert_eq!(view.len(), case.tensors().len());
    let _does_not_panic = view.with_unique_names();
    listed.sort();
    assert!(listed.iter().eq(case.flat()), "{listed:?}");
    for tensor in case.tensors() {
        match view.find(&tensor.name) {
            Ok(found) => {
                let found = found.expect("present");
                assert_eq!(found.bytes(), case.bytes(tensor));
                assert_eq!(found.reader().read_to_end(&mut buffer), Ok(case.bytes(tensor)));
            }
            Err(error) => assert!(matches!(error.kind, ErrorKind::Rank { .. }), "{error}"),
        }
    }
    assert!(matches!(view.find("no such name"), Ok(None)));
    let pairs: Vec<(String, String)> = view
        .metadata()
        .map(|(key, value)| (decoded(key, &mut buffer), decoded(value, &mut buffer)))
        .collect();
    for (key, value) in case.some_pairs() {
        let found = view.metadata_value(key).expect("valid file").map(|text| decoded(text, &mut buffer));
        assert_eq!(found.as_deref(), value, "{key}");
    }
    // A view does not distinguish no metadata from empty metadata.
    let expected = case.expected.as_ref().ok().and_then(|table| table.metadata.clone()).unwrap_or_default();
    assert_eq!(pairs.into_iter().collect::<std::collections::BTreeMap<_, _>>(), expected);
    Ok(())
}

fn decoded(text: JsonStr<'_>, buffer: &mut [u8]) -> String {
    text.decode(buffer).expect("the buffer has the length of the file").to_owned()
}
