//! What objects that hold more than numbers show of themselves, and their small accessors.

use embedded_safetensors::{
    Dtype, ErrorKind, Model, ReadError, Shape, View, WriteError,
    error::QueryIndex,
    header::HeaderParser,
    index::{IndexMemory, IndexRecord, IndexStorage},
    integrity::{Sha256, Verifier},
    io::{NorFile, Seekable},
    metadata::JsonStr,
    query::Query,
    slice::AxisRange,
    stream::{FileReceiver, Receiver, Router, Status, Target},
    tensor::{DtypeSet, TensorInfo},
    write::{FileSpec, Placement, TensorSpec, Writer},
};
use support::Chip;
use support::file::{with_header, with_tensors};

fn file() -> Vec<u8> {
    with_tensors(&[("it's", "U8", [2], *b"xy")])
}

#[test]
fn objects_show_their_state() {
    let file = file();
    let start = file.len() - 2;
    let (mut storage, mut memory, mut buffer) = (IndexStorage::<1, 1, 4>::default(), [0; 2], [0; 64]);
    let (mut stored, mut records) = ([0; 8], [IndexRecord::default()]);
    let mut router = Router::new(storage.memory());
    assert_eq!(format!("{router:?}"), "Router { stage: Header, position: 0 }");
    router.next(&mut &file[..]).expect("valid file");
    let index = "[IndexedTensor { name: \"it's\", dims: [2], dtype: U8, begin: 0, end: 2 }]";
    assert_eq!(format!("{router:?}"), format!("Router {{ stage: {index}, position: {start} }}"));
    assert_eq!(format!("{:?}", router.into_index().expect("complete")), index);
    let mut failed = Router::new(IndexMemory::new(&mut records, &mut [], &mut []));
    let error = failed.next(&mut &[0xFF; 9][..]).expect_err("too long");
    assert_eq!(format!("{failed:?}"), format!("Router {{ stage: {error:?}, position: 8 }}"));
    assert!(failed.into_index().is_none());
    let mut receiver = Receiver::new([Target::new(Query::required("it's"), &mut memory)]);
    assert!(!receiver.push(&file[..9]).expect("valid file").is_complete());
    let target = "Target { name: \"it's\", info: None, filled: 0, .. }";
    let shown = format!("Receiver {{ at: 9, summary: None, targets: [{target}], .. }}");
    assert_eq!(format!("{receiver:?}"), shown);
    assert!(receiver.push(&file[9..]).is_ok_and(Status::is_complete));
    assert_eq!(receiver.targets()[0].as_ref(), "it's");
    let receiver = FileReceiver::new(&mut stored[..], 8, &mut [], &mut buffer);
    assert_eq!(format!("{:?}", receiver.expect("fits")), "FileReceiver { at: 0, summary: None, .. }");
    assert_eq!(format!("{:?}", Verifier::new(Sha256::new())), "Verifier { at: 0, .. }");
    assert_eq!(format!("{:?}", HeaderParser::default()), "HeaderParser { at: 0, .. }");
    let view = View::parse(&file).expect("valid file");
    let [tensor] = view.to_array();
    assert_eq!(format!("{:?}", tensor.name()), "\"it's\"");
}

#[test]
fn small_texts_and_errors() {
    assert_eq!(DtypeSet::ANY.to_string(), "any dtype");
    assert_eq!(DtypeSet::of(&[]).to_string(), "no dtype");
    assert_eq!(QueryIndex::new(usize::MAX), None);
    assert!(ErrorKind::NotFound { query: None }.is_wrong_model() && !ErrorKind::Utf8.is_wrong_model());
    let queries = [Query::required("a")];
    assert_eq!(ReadError::<()>::UnexpectedEof { at: 1 }.tensor_name(&queries), None);
    assert_eq!(WriteError::<()>::Full { at: 1 }.tensor_name(&queries), None);
    let matrix = Shape::new(&[1 << 32, 1 << 32]).expect("few dimensions");
    assert_eq!(matrix.rank(), 2);
    assert_eq!(TensorInfo::new(Dtype::U8, matrix, 0, 1), Err(ErrorKind::Overflow));
    let two = Shape::new(&[2]).expect("few dimensions");
    assert_eq!(TensorInfo::new(Dtype::U8, two, 0, 1), Err(ErrorKind::Size { range: 1, needed: 2 }));
}

#[test]
fn string_in_a_text_ends_at_its_quote() {
    for (text, at, string) in [
        (r#"{"a\"b\\":1}"#, 1, r#"a"b\"#),
        (r#"["", "c"]"#, 1, ""),
        (r#"["", "c"]"#, 5, "c"),
        (r#""open"#, 0, "open"),
        ("", 0, ""),
    ] {
        let found = JsonStr::opening_at(text.as_bytes(), at);
        assert_eq!((found.to_string().as_str(), found.at()), (string, at), "{text}");
    }
}

#[test]
fn first_missing_member_is_named() {
    for (members, missing) in [
        (r#""shape":[0],"data_offsets":[0,0]"#, "dtype"),
        (r#""dtype":"U8","data_offsets":[0,0]"#, "shape"),
        (r#""dtype":"U8","shape":[0]"#, "data_offsets"),
        (r#""data_offsets":[0,0]"#, "dtype"),
        (r#""dtype":"U8""#, "shape"),
    ] {
        let file = with_header(&format!(r#"{{"a":{{{members}}}}}"#), 0);
        let error = View::parse(&file).expect_err("incomplete").to_string();
        assert!(error.ends_with(&format!("the entry has no \"{missing}\"")), "{error}");
    }
}

#[test]
fn storage_can_be_taken_back() {
    let file = file();
    let mut model = Model::open(&file[..], &mut [0; 64]).expect("valid file");
    let info = model.find("it's", &mut [0; 64]).expect("valid file").expect("present");
    let reader = model.reader(&info).expect("of this file");
    assert_eq!(*reader.values().into_source(), &file[..]);
    let slice = model.reader(&info).expect("of this file").slice(&[AxisRange::ALL]).expect("in range");
    assert_eq!(*slice.into_source(), &file[..]);
    assert_eq!(NorFile::new(Chip::<1, 1>::new(7)).into_inner().memory().len(), 1024);
    assert_eq!(Seekable::new(&file[..]).into_inner(), file);
}

#[test]
fn recording_shows_its_plan() {
    let tensors = [TensorSpec::new("a", Dtype::U8, &[2])];
    let spec = FileSpec::new(&tensors);
    assert_eq!(spec.placement(), Placement::Start(8));
    let plan = spec.plan().expect("valid");
    let (mut memory, mut buffer) = ([0; 66], [0; 64]);
    let writer = Writer::record(&mut memory[..], plan, &mut buffer).expect("fits");
    let shown = format!("{writer:?}");
    assert!(shown.contains("Recording { plan: FilePlan {") && shown.contains(", filled: 0, .. }"), "{shown}");
}
