//! Lookups in a header: hits, misses and errors, through windows of every size.

use std::convert::Infallible;

use embedded_safetensors::{
    Error, ErrorKind, Model, ReadError, Shape, TensorInfo, View,
    error::{IndexPart, QueryIndex},
    io::FileLen,
    query::{NamedTensor, Query},
    validate::SortSlot,
};
use support::file::{entry, of_file, with_entries, with_header, with_tensors};
use support::mock::{Plan, Storage};

/// Returns the header of empty tensors with these names, in their JSON spelling.
fn header_of(names: &[&str]) -> String {
    let entries: Vec<_> = names.iter().map(|name| entry(name, "U8", [0], 0..0)).collect();
    format!("{{{}}}", entries.join(","))
}

/// Opens the model with windows that cut it everywhere.
fn through_windows(file: &[u8], query: impl Fn(&mut Model<&[u8]>, &mut [u8])) {
    for size in (1..40).chain([file.len(), 4096]) {
        let mut window = vec![0; size];
        let mut model = Model::open(file, &mut window).expect("valid file");
        query(&mut model, &mut window);
    }
}

fn find(file: &[u8], name: &str) -> Result<Option<TensorInfo>, ReadError<Infallible>> {
    let mut window = [0; 16];
    let mut model = Model::open(file, &mut window).expect("valid file");
    let found = model.find(name, &mut window);
    through_windows(file, |model, window| assert_eq!(model.find(name, window), found));
    found
}

/// Returns the offset of this occurrence of a name's spelling, quote included.
fn offset_of(file: &[u8], spelled: &str, occurrence: usize) -> u64 {
    let quoted = format!("\"{spelled}\"");
    let mut offsets = file.windows(quoted.len()).enumerate().filter(|(_, part)| *part == quoted.as_bytes());
    offsets.nth(occurrence).expect("present").0 as u64
}

#[test]
fn name_is_found_among_similar_names() {
    let names = ["fc", "fc.weight", "fc.weight.1", "c.weight", "fc.weigh", "FC.WEIGHT", "weight"];
    for name in names {
        let header = header_of(&names).replace(
            &format!(r#""{name}":{{"dtype":"U8","shape":[0]"#),
            &format!(r#""{name}":{{"dtype":"F32","shape":[7,0]"#),
        );
        let file = with_header(&header, 0);
        let info = find(&file, name).expect("valid file").expect("present");
        assert_eq!((info.dtype().name(), info.shape().dims()), ("F32", &[7, 0][..]), "{name}");
    }
    let file = with_header(&header_of(&names), 0);
    for absent in ["f", "fc.", "fc.weight.", "fc.weight.10", "", "Fc", "fc.weightx", "dtype", "U8"] {
        assert_eq!(find(&file, absent), Ok(None), "{absent}");
    }
}

#[test]
fn name_is_found_in_any_spelling() {
    let file = with_header(&header_of(&[r"\u0061b", r"\ud83d\ude00", "h\u{e9}", r"q\\\u0022", r"\u0000"]), 0);
    for name in ["ab", "\u{1f600}", "h\u{e9}", "q\\\"", "\0"] {
        assert!(find(&file, name).expect("valid file").is_some(), "{name}");
    }
    for absent in [r"\u0061b", "a", "b", "h", "he\u{301}", "\u{1f601}", "\0\0", r"q\\"] {
        assert_eq!(find(&file, absent), Ok(None), "{absent}");
    }
}

#[test]
fn metadata_is_not_a_tensor() {
    for metadata in [r#"{"a":"b"}"#, "{}", "null"] {
        let spelled = r#"{"__metadata__":M,"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#;
        let file = with_header(&spelled.replace('M', metadata), 0);
        assert_eq!(find(&file, "__metadata__"), Ok(None));
        assert_eq!(find(&file, "b"), Ok(None));
        assert!(find(&file, "a").expect("valid file").is_some(), "{metadata}");
    }
    let file = with_header(&header_of(&["__metadata", "__metadata___", "_metadata_"]), 0);
    assert_eq!(find(&file, "__metadata__"), Ok(None));
    assert!(find(&file, "__metadata").expect("valid file").is_some());
    assert!(find(&file, "__metadata___").expect("valid file").is_some());
}

#[test]
fn only_the_queried_name_must_be_unique() {
    for second in ["twice", r"tw\u0069ce"] {
        let file = with_header(&header_of(&["once", "twice", "other", second, "last"]), 0);
        let duplicate = ErrorKind::DuplicateName.at(offset_of(&file, second, usize::from(second == "twice")));
        assert_eq!(find(&file, "twice"), Err(duplicate.into()));
        for name in ["once", "other", "last"] {
            assert!(find(&file, name).expect("present once").is_some(), "{name}");
        }
        assert_eq!(find(&file, "twic"), Ok(None));
        through_windows(&file, |model, window| {
            let mut queries = [Query::required("once"), Query::required("twice")];
            assert_eq!(model.find_all(&mut queries, window), Err(duplicate.into()));
            assert!(queries.iter().all(|one| one.info().is_none()), "nothing is found");
            assert_eq!(model.find_all(&mut queries[..1], window), Ok(()));
        });
    }
}

#[test]
fn only_the_queried_tensor_must_have_a_valid_rank() {
    let header = concat!(
        r#"{"a":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1],"data_offsets":[0,1]},"#,
        r#""b":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,7],"data_offsets":[1,8]},"#,
        r#""c":{"data_offsets":[8,9],"shape":[],"dtype":"U8"}}"#,
    );
    let file = with_header(header, 9);
    let ninth = header.find("7]").expect("present") as u64 + 8;
    let error = ReadError::Format(ErrorKind::Rank { limit: 8 }.at(ninth));
    assert_eq!(find(&file, "b"), Err(error));
    assert_eq!(find(&file, "a").map(|found| found.map(|info| info.shape().dims().len())), Ok(Some(8)));
    assert_eq!(find(&file, "c").map(|found| found.map(|info| info.begin())), Ok(Some(8)));
    through_windows(&file, |model, window| {
        let mut seen = vec![];
        assert_eq!(model.for_each(&mut [0], window, |entry| seen.push(entry.name().to_owned())), Err(error));
        assert_eq!(seen, ["a"]);
    });
}

#[test]
fn missing_tensor_is_reported_after_the_rest_is_found() {
    let file = with_header(&header_of(&["a", "b"]), 0);
    let end = file.len() as u64;
    through_windows(&file, |model, window| {
        let mut queries = ["a", "x", "b", "y"].map(Query::required);
        let missing = ErrorKind::NotFound { query: QueryIndex::new(1) }.at(end);
        assert_eq!(model.find_all(&mut queries, window), Err(missing.into()));
        let found = queries.map(|one| one.info().is_some());
        assert_eq!(found, [true, false, true, false]);
        let mut queries = [Query::optional("x"), Query::required("b"), Query::optional("a")];
        assert_eq!(model.find_all(&mut queries, window), Ok(()));
        assert_eq!(queries.map(|one| one.info().is_some()), [false, true, true]);
    });
}

#[test]
fn shape_has_no_dimensions_of_an_earlier_lookup() {
    let mut query = [Query::required("a")];
    for dims in [&[1, 2, 3][..], &[6]] {
        let file = with_tensors(&[("a", "U8", dims, [0; 6])]);
        let storage = Storage::new(&file, Plan::default());
        let mut model = Model::open(&storage, &mut [0; 16]).expect("valid file");
        model.find_all(&mut query, &mut [0; 16]).expect("it exists");
        assert_eq!(query[0].info().map(|tensor| *tensor.shape()), Shape::new(dims).ok());
    }
}

#[test]
fn too_long_name_reports_needed_length() {
    let file = with_header(&header_of(&["a", "seven77", "b"]), 0);
    through_windows(&file, |model, window| {
        let mut count = 0;
        let error = model.for_each(&mut [0; 6], window, |_| count += 1).expect_err("does not fit");
        let ReadError::Format(Error { kind, .. }) = error else { panic!("{error}") };
        assert_eq!((kind, count), (ErrorKind::NameLength { needed: 7, capacity: 6 }, 1));
        assert_eq!(model.for_each(&mut [0; 7], window, |_| count += 1), Ok(()));
        assert_eq!(count, 4);
    });
}

const WITH_METADATA: &str = concat!(
    r#"{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"#,
    r#""__metadata__":{"format":"pt","":"empty","empty":"","#,
    r#""esc\u0061ped":"tab\t \u00e9\ud83d\ude00 \"end\"","formats":"other","#,
    r#""long":"0123456789012345678901234567890123456789"}}"#,
);

fn value(header: &str, key: &str, memory: usize) -> Result<Option<String>, Error> {
    let file = with_header(header, 0);
    let ask = |model: &mut Model<&[u8]>, window: &mut [u8]| {
        let mut memory = vec![0; memory];
        model.metadata_value(key, &mut memory, window).map(|value| value.map(str::to_owned))
    };
    let mut window = [0; 16];
    let first = ask(&mut Model::open(&file[..], &mut window).expect("valid file"), &mut window);
    through_windows(&file, |model, window| assert_eq!(ask(model, window), first));
    of_file(first)
}

#[test]
fn too_long_value_reports_needed_length() {
    let at = |key: &str| {
        let quoted = format!("\"{key}\":");
        8 + (WITH_METADATA.find(&quoted).expect("present") + quoted.len()) as u64
    };
    for (key, needed) in [("format", 2), ("escaped", 17), ("long", 40)] {
        let expected = value(WITH_METADATA, key, needed).expect("fits").expect("present");
        assert_eq!(expected.len(), needed);
        for capacity in [0, 1, needed - 1] {
            let kind = ErrorKind::ValueLength { needed: needed as u64, capacity: capacity as u64 };
            let spelled = if key == "escaped" { r"esc\u0061ped" } else { key };
            assert_eq!(value(WITH_METADATA, key, capacity), Err(kind.at(at(spelled))), "{key} in {capacity}");
        }
    }
    assert_eq!(value(WITH_METADATA, "empty", 0), Ok(Some(String::new())));
}

#[test]
fn only_the_queried_key_must_be_unique() {
    let header = r#"{"__metadata__":{"a":"1","twice":"2","b":"3","tw\u0069ce":"4","twice":"5"}}"#;
    let at = 8 + header.find(r#""tw\u"#).expect("present") as u64;
    assert_eq!(value(header, "twice", 8), Err(ErrorKind::DuplicateKey.at(at)));
    assert_eq!(value(header, "twice", 0), Err(ErrorKind::DuplicateKey.at(at)), "also without space");
    assert_eq!(value(header, "a", 8), Ok(Some("1".to_owned())));
    assert_eq!(value(header, "b", 8), Ok(Some("3".to_owned())));
    assert_eq!(value(header, "twic", 8), Ok(None));
}

#[test]
fn empty_window_is_an_error() {
    let file = with_header(&header_of(&["a"]), 0);
    let none = ErrorKind::NoWindow.at(0);
    assert_eq!(none.kind.code(), "usage.window");
    assert_eq!(Model::open(&file[..], &mut []).map(|_| ()), Err(none.into()));
    assert_eq!(Model::open_unordered(&file[..], &mut [], &mut []).map(|_| ()), Err(none.into()));
    let mut model = Model::open(&file[..], &mut [0]).expect("valid file");
    assert_eq!(model.find("a", &mut []), Err(none.into()));
    assert_eq!(model.find_all(&mut [], &mut []), Err(none.into()));
    assert_eq!(model.for_each(&mut [], &mut [], |_| {}), Err(none.into()));
    assert_eq!(model.metadata_value("a", &mut [], &mut []), Err(none.into()));
    assert_eq!(model.check_unchanged(&mut []), Err(none.into()));
    let names = model.validate_names([1, 2], &mut [SortSlot::EMPTY; 2], &mut [0], &mut []);
    assert_eq!(names, Err(none.into()));
}

#[test]
fn data_beyond_any_file_is_rejected() {
    let most = (1u64 << 61) - 1;
    let part = |i: u64| entry(&i.to_string(), "U8", [most], most * i..most * (i + 1));
    let file = with_entries(&(0..8).map(part).collect::<Vec<_>>(), 0);
    for reported_len in [FileLen::Unknown, FileLen::AtMost(u64::MAX)] {
        let storage = Storage::new(&file, Plan { reported_len: Some(reported_len), ..Plan::default() });
        let present = u64::MAX - file.len() as u64;
        let short = ErrorKind::DataShort { needed: most * 8, present }.at(u64::MAX);
        assert_eq!(Model::open(&storage, &mut [0; 64]).map(|_| ()), Err(short.into()));
    }
}

#[test]
fn list_owns_its_names() {
    let file = with_header(&header_of(&["b", "a long name", ""]), 0);
    let mut window = [0; 7];
    let mut model = Model::open(&file[..], &mut window).expect("valid file");
    let mut tensors: heapless::Vec<NamedTensor<11>, 3> = heapless::Vec::new();
    for _ in 0..2 {
        model.list(&mut tensors, &mut window).expect("fits");
        assert_eq!(tensors.iter().map(NamedTensor::name).collect::<Vec<_>>(), ["b", "a long name", ""]);
    }
    assert_eq!(model.reader(&tensors[1]).expect("of this file").byte_len(), 0);
    let info = model.find("b", &mut window).expect("valid file").expect("present");
    assert_eq!(*tensors[0].info(), info);

    let mut few: heapless::Vec<NamedTensor<11>, 2> = heapless::Vec::new();
    let at = file.len() as u64;
    let too_many = ErrorKind::Index { part: IndexPart::Tensors, needed: 3, capacity: 2 }.at(at);
    assert_eq!(model.list(&mut few, &mut window), Err(too_many.into()));
    let mut short: heapless::Vec<NamedTensor<10>, 3> = heapless::Vec::new();
    let error = model.list(&mut short, &mut window).expect_err("a longer name");
    let name_length = ErrorKind::NameLength { needed: 11, capacity: 10 };
    assert!(matches!(error, ReadError::Format(error) if error.kind == name_length));
    assert!(few.is_empty() && short.is_empty());
}

#[test]
fn metadata_string_owns_its_text() {
    let file = with_header(r#"{"__metadata__":{"unit":"s\u00e4vy","empty":""}}"#, 0);
    let mut window = [0; 5];
    let mut model = Model::open(&file[..], &mut window).expect("valid file");
    let unit: Option<heapless::String<5>> = model.metadata_string("unit", &mut window).expect("fits");
    assert_eq!(unit.as_deref(), Some("sävy"));
    let unit = model.metadata_string::<9>("unit", &mut window).expect("fits");
    assert_eq!(unit.as_deref(), Some("sävy"));
    let empty: Option<heapless::String<0>> = model.metadata_string("empty", &mut window).expect("fits");
    assert_eq!(empty.as_deref(), Some(""));
    assert_eq!(model.metadata_string::<4>("none", &mut window), Ok(None));
    let error = model.metadata_string::<4>("unit", &mut window).expect_err("longer");
    let value_length = ErrorKind::ValueLength { needed: 5, capacity: 4 };
    assert!(matches!(error, ReadError::Format(error) if error.kind == value_length));
}

/// Two models of the same tensors in another order: the offsets of one are inside the data of the other.
#[test]
fn query_of_another_model_is_rejected() {
    let file = |first, second| with_tensors(&[(first, "U8", [2], [1, 2]), (second, "U8", [2], [3, 4])]);
    let (old, new) = (file("a", "b"), file("b", "a"));
    let mut queries = [Query::required("a")];
    let mut model = Model::open_with(&old[..], &mut queries, &mut [0; 64]).expect("valid");
    assert!(model.reader(&queries[0]).is_ok());
    let mut model = Model::open(&new[..], &mut [0; 64]).expect("valid");
    let at = model.summary().data_start;
    assert_eq!(model.reader(&queries[0]).map(drop), Err(ErrorKind::OtherModel.at(at)));
    let mut in_memory = queries;
    View::parse(&new).unwrap().find_all(&mut in_memory).expect("it is there");
    assert!(model.reader(&in_memory[0]).is_ok(), "the mark of the old model is gone");
    model.find_all(&mut queries, &mut [0; 64]).expect("it is there");
    let mut bytes = [0; 2];
    assert_eq!(model.reader(&queries[0]).expect("its own").read_to_end(&mut bytes), Ok(&[3, 4][..]));
    let same = new.clone();
    let mut model = Model::open(&same[..], &mut [0; 64]).expect("valid");
    assert!(model.reader(&queries[0]).is_ok(), "a model with the same header");
}
