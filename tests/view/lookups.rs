//! Names and keys: found, missing, duplicate, too many dimensions.

use crate::view::fixtures::MODEL;
use embedded_safetensors::{Error, ErrorKind, View, query::Query, validate::SortSlot};
use std::panic::catch_unwind;
use support::file::{entry, with_entries, with_header};

/// D1: the view does not detect it, a lookup of that name does, at the same byte as the check of all names.
#[test]
fn duplicate_name_is_reported_by_its_lookup() {
    for vector in vectors::load().vectors.iter().filter(|vector| vector.id.starts_with("d1-")) {
        let file = vector.bytes();
        let Ok(view) = View::parse_unordered(&file, &mut [SortSlot::EMPTY; 4]) else { continue };
        let Some(at) = vector.at else { continue };
        let duplicate = ErrorKind::DuplicateName.at(at);
        assert_eq!(
            view.validate_names([7, 8], &mut [SortSlot::EMPTY; 4], &mut [0; 8]),
            Err(duplicate),
            "{}",
            vector.id
        );
        let name =
            view.tensors().flatten().find(|tensor| tensor.name().at() == at).unwrap().name().to_string();
        assert_eq!(view.find(&name).map(|_| ()), Err(duplicate), "{}", vector.id);
        assert_eq!(view.tensor(&name).map(|_| ()), Err(duplicate), "{}", vector.id);
        let others = view.tensors().flatten().filter(|tensor| tensor.name() != *name);
        let found = others.map(|tensor| view.tensor(&tensor.name().to_string()));
        assert!(found.into_iter().all(|other| other.is_ok() || other.map(|_| ()) != Err(duplicate)));
    }
}

/// D2: the same for keys.
#[test]
fn duplicate_key_is_reported_by_its_lookup() {
    let mut seen = 0;
    for vector in vectors::load().vectors.iter().filter(|vector| vector.deviation.as_deref() == Some("D2")) {
        let (file, at) = (vector.bytes(), vector.at.unwrap());
        let view = View::parse(&file).unwrap();
        let duplicate = ErrorKind::DuplicateKey.at(at);
        assert_eq!(
            view.validate_names([7, 8], &mut [SortSlot::EMPTY; 4], &mut [0; 8]),
            Err(duplicate),
            "{}",
            vector.id
        );
        assert!(catch_unwind(|| view.with_unique_names()).is_err(), "{}", vector.id);
        let key = view.metadata().find(|(key, _)| key.at() == at).unwrap().0.to_string();
        assert_eq!(view.metadata_value(&key), Err(duplicate), "{}", vector.id);
        seen += 1;
    }
    assert!(seen > 3, "{seen}");
}

#[test]
fn duplicate_key_among_thousands_is_detected() {
    let mut pairs: Vec<String> = (0..5000).map(|i| format!(r#""key.{i}":"{i}""#)).collect();
    let file_of =
        |pairs: &[String]| with_header(&format!(r#"{{"__metadata__":{{{}}}}}"#, pairs.join(",")), 0);
    let _does_not_panic = View::parse(&file_of(&pairs)).unwrap().with_unique_names();
    let many: Vec<String> = (0..1100).map(|i| entry(&i.to_string(), "U8", [0], 0..0)).collect();
    let _does_not_panic = View::parse(&with_entries(&many, 0)).unwrap().with_unique_names();
    for (first, second) in [(0, 4999), (0, 1), (2500, 2501), (4998, 4999), (17, 3000)] {
        let kept = std::mem::replace(&mut pairs[second], format!(r#""key.{first}":"other""#));
        let file = file_of(&pairs);
        assert!(
            catch_unwind(|| View::parse(&file).unwrap().with_unique_names()).is_err(),
            "{first} {second}"
        );
        pairs[second] = kept;
    }
}

#[test]
fn metadata_value_can_be_decoded() {
    let value = MODEL.metadata_value("archA").unwrap().unwrap();
    assert_eq!((value.as_str(), value.decoded_len()), (None, 3));
    assert_eq!(value.decode(&mut [0; 3]), Ok("\"x\""));
    let kind = ErrorKind::BufferLength { needed: 3, capacity: 2 };
    assert_eq!(value.decode(&mut [0; 2]), Err(kind.at(value.at())));
    assert_eq!(MODEL.file()[usize::try_from(value.at()).unwrap()], b'"');
    assert_eq!(MODEL.metadata_value("arch").unwrap().and_then(|value| value.as_str()), Some("tiny"));
}

#[test]
fn missing_tensor_is_none_or_an_error() {
    let error: Error = MODEL.tensor("conv").unwrap_err();
    assert_eq!(error, ErrorKind::NotFound { query: None }.at(MODEL.summary().data_start));
    assert_eq!(
        error.kind.to_string(),
        "tensor not found, or its query has no result: no lookup yet, or one that failed"
    );
    for name in ["", "conv", "conv.weight ", "Conv.weight", "fc\\u002eweight", "__metadata__", "arch"] {
        assert!(MODEL.find(name).unwrap().is_none(), "{name}");
    }
}

/// Neither does a name whose bytes are exchanged: the sum of their differences is 0.
#[test]
fn names_are_compared_in_every_byte() {
    let name = "abcdefghijklmnop";
    let file = with_entries(&[entry(name, "U8", [0], 0..0)], 0);
    let view = View::parse(&file).unwrap();
    for (one, other) in (0..name.len()).flat_map(|one| (0..one).map(move |other| (one, other))) {
        let mut exchanged = name.as_bytes().to_vec();
        exchanged.swap(one, other);
        let exchanged = String::from_utf8(exchanged).expect("letters");
        assert!(view.find(&exchanged).unwrap().is_none(), "{exchanged}");
        assert!(view.tensor(name).unwrap().name() != exchanged.as_str(), "{exchanged}");
    }
}

/// Queries keep nothing of an earlier lookup, also if this one fails before their turn.
#[test]
fn failed_lookup_forgets_what_was_found() {
    let file = |names: [&str; 2]| with_entries(&names.map(|name| entry(name, "U8", [0], 0..0)), 0);
    let mut queries = ["a", "b"].map(Query::optional);
    let found = |queries: &[Query<'_>; 2]| queries.each_ref().map(|query| query.info().is_some());
    View::parse(&file(["a", "b"])).unwrap().find_all(&mut queries).expect("unique names");
    assert_eq!(found(&queries), [true, true]);
    View::parse(&file(["b", "c"])).unwrap().find_all(&mut queries).expect("unique names");
    assert_eq!(found(&queries), [false, true]);
    View::parse(&file(["a", "a"])).unwrap().find_all(&mut queries).expect_err("two tensors");
    assert_eq!(found(&queries), [false, false]);
}

/// A tensor with too many dimensions to be held, between two others.
#[test]
fn too_many_dimensions_affects_only_that_tensor() {
    for spaces in ["", " "] {
        let entry = |name: &str, shape: &str| {
            format!(r#""{name}":{spaces}{{"dtype":"U8","shape":[{shape}],"data_offsets":[0,0]}}"#)
        };
        let header =
            [entry("a", "0"), entry("deep", "0,1,2,3,4,5,6,7,8,9"), entry("b", "0,1,2,3,4,5,6,7")].join(",");
        let file = with_header(&format!("{{{header}}}"), 0);
        let view = View::parse(&file).unwrap();
        let ninth = 8 + 1 + header.find("8,9").unwrap() as u64;
        let error = ErrorKind::Rank { limit: 8 }.at(ninth);
        assert_eq!(view.find("deep").map(|_| ()), Err(error));
        let all: Vec<_> =
            view.tensors().map(|tensor| tensor.map(|tensor| tensor.name().to_string())).collect();
        assert_eq!(all, [Ok("a".to_owned()), Err(error), Ok("b".to_owned())]);
        assert_eq!(view.tensor("b").unwrap().shape().dims(), [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}
