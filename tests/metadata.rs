//! `__metadata__`: complete, and as user-defined types.

use embedded_safetensors::{
    ErrorKind, Model, ReadAt, ReadError,
    metadata::{DecodeError, MetadataError, Pair},
};
use serde::Deserialize;
use std::convert::Infallible;
use support::file::with_header;
use support::random::Random;

const WINDOWS: [usize; 4] = [1, 7, 64, 4096];

fn file_of(metadata: &str) -> Vec<u8> {
    with_header(&format!(r#"{{"__metadata__":{metadata}}}"#), 0)
}

fn after(file: &[u8], at: u64) -> &[u8] {
    &file[usize::try_from(at).expect("in the file")..]
}

fn open<'f>(file: &'f [u8], window: &mut [u8]) -> Model<&'f [u8]> {
    Model::open(file, window).expect("valid file")
}

#[derive(Debug, Deserialize, PartialEq)]
struct Card<'a> {
    format: &'a str,
    layers: u32,
    scale: f32,
    #[serde(default)]
    labels: Option<[&'a str; 2]>,
    kind: Kind,
    size: Only<Size>,
    signed: bool,
    #[serde(rename = "free text")]
    text: &'a str,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Perceptron,
    Convolution,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Size {
    rows: u16,
    columns: u16,
}

const CARD: &str = r#"{"format":"pt","unknown":"\"x\"","layers":"12","scale":"-0.5e1","kind":"convolution",
    "size":"{\"rows\": 3, \"columns\":4}","signed":"true",
    "free text":"say \"hi\" \ud83d\ude00\n","labels":"[\"no\",\"yes\"]"}"#;

#[derive(Debug, Deserialize, PartialEq)]
struct Only<T>(T);

#[test]
fn metadata_as_struct_borrows_strings() {
    let file = file_of(CARD);
    for window in WINDOWS {
        let (mut text, mut window) = ([0; 400], vec![0; window]);
        let card = open(&file, &mut window).metadata_as::<Card<'_>>(&mut text, &mut window);
        let expected = Card {
            format: "pt",
            layers: 12,
            scale: -5.0,
            labels: Some(["no", "yes"]),
            kind: Kind::Convolution,
            size: Only(Size { rows: 3, columns: 4 }),
            signed: true,
            text: "say \"hi\" 😀\n",
        };
        assert_eq!(card, Ok(Some(expected)));
    }
}

#[test]
fn wrong_value_is_reported_at_its_byte() {
    for (field, wrong) in [("12", "twelve"), ("12", "-1"), ("convolution", "transformer"), ("3, ", "3.5, ")] {
        let text = CARD.replacen(field, wrong, 1);
        let file = file_of(&text);
        let mut text = [0; 500];
        let outcome = open(&file, &mut [0; 64]).metadata_as::<Card<'_>>(&mut text, &mut [0; 64]);
        let Err(MetadataError::Decode(DecodeError { at: Some(at), .. })) = outcome else {
            panic!("{wrong}: {outcome:?}")
        };
        let value = String::from_utf8_lossy(after(&file, at));
        assert!(
            value.starts_with('"') && value[..40].contains(wrong.trim_end_matches(", ")),
            "{wrong}: {value}"
        );
    }
}

#[test]
fn missing_field_is_an_error_without_offset() {
    let file = file_of(r#"{"format":"pt"}"#);
    let mut text = [0; 500];
    let outcome = open(&file, &mut [0; 64]).metadata_as::<Card<'_>>(&mut text, &mut [0; 64]);
    assert!(matches!(outcome, Err(MetadataError::Decode(DecodeError { at: None, .. }))), "{outcome:?}");
    let shown = outcome.expect_err("incomplete").to_string();
    assert!(shown.starts_with("\"__metadata__\" does not fit its type: "), "{shown}");
}

#[test]
fn value_as_struct() {
    let file = file_of(r#"{"size":"{\"rows\":1,\"columns\":2}","names":"[\"a\\u0021\",\"b\"]"}"#);
    let mut model = open(&file, &mut [0; 64]);
    let (mut text, mut window) = ([0; 64], [0; 64]);
    assert_eq!(
        model.metadata_value_as("size", &mut text, &mut window),
        Ok(Some(Size { rows: 1, columns: 2 }))
    );
    assert_eq!(model.metadata_value_as::<Size>("shape", &mut text, &mut window), Ok(None));
    let size = model.metadata_value_as("size", &mut text, &mut window);
    assert_eq!(size, Ok(Some(Only(Size { rows: 1, columns: 2 }))));
    let names = model.metadata_value_as::<[heapless::String<4>; 2]>("names", &mut text, &mut window);
    assert_eq!(names.unwrap().unwrap().map(|name| name.as_str().to_owned()), ["a!", "b"]);
    let not_json = model.metadata_value_as::<[&str; 2]>("names", &mut text, &mut window);
    assert!(matches!(not_json, Err(MetadataError::Decode(_))), "a text with escapes cannot be borrowed");
}

fn pairs<S: ReadAt>(
    model: &mut Model<S>,
    memory: usize,
    window: usize,
) -> Result<Vec<(String, String)>, ReadError<S::Error>> {
    let mut text = vec![0; memory];
    let metadata = model.metadata(&mut text, &mut vec![0; window])?;
    let owned = |Pair { key, value, .. }: Pair<'_>| (key.to_owned(), value.to_owned());
    Ok(metadata.into_iter().flatten().map(owned).collect())
}

#[test]
fn pairs_are_in_header_order() {
    let file = file_of(r#"{"b":"1","":"","a":"\u00e9","bb":"two"}"#);
    let mut model = open(&file, &mut [0; 64]);
    let expected = [("b", "1"), ("", ""), ("a", "é"), ("bb", "two")];
    let expected: Vec<_> = expected.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let enough = 4 * 12 + 4 + 6;
    for window in WINDOWS {
        assert_eq!(pairs(&mut model, enough, window), Ok(expected.clone()));
        for memory in 0..enough {
            let kind = ErrorKind::MetadataLength { needed: enough as u64, capacity: memory as u64 };
            let error = pairs(&mut model, memory, window).expect_err("too little memory");
            assert_eq!(error, ReadError::Format(kind.at(9)));
        }
    }
}

#[test]
fn duplicate_key_is_detected_by_all_pairs() {
    let file = file_of(r#"{"a":"1","b":"2","\u0061":"3"}"#);
    let mut model = open(&file, &mut [0; 64]);
    let at = file.windows(2).position(|two| two == br#""\"#).unwrap() as u64;
    let duplicate: ReadError<Infallible> = ReadError::Format(ErrorKind::DuplicateKey.at(at));
    assert_eq!(pairs(&mut model, 200, 16), Err(duplicate));
    assert_eq!(
        model.metadata_as::<Card<'_>>(&mut [0; 200], &mut [0; 16]),
        Err(MetadataError::Read(duplicate))
    );
}

/// Values are arbitrary text; decoding them must end with one or the other outcome.
#[test]
fn hostile_values_are_rejected() {
    let mut random = Random::new(7);
    let letters =
        [r#"\""#, r"\\", "{", "}", "[", "]", ":", ",", "1", "e", "-", ".", "t", "u", r"\u0000", " ", "é"];
    for _ in 0..20_000 {
        let value: String = (0..random.below(12)).map(|_| random.pick(&letters)).collect();
        let file = file_of(&format!(r#"{{"size":"{value}","labels":"{value}"}}"#));
        let mut model = open(&file, &mut [0; 256]);
        let (mut text, mut window) = ([0; 256], [0; 256]);
        assert!(model.metadata_as::<Card<'_>>(&mut text, &mut window).is_err());
        let _either = model.metadata_value_as::<Size>("size", &mut text, &mut window);
        let _either = model.metadata_value_as::<[heapless::String<2>; 2]>("labels", &mut text, &mut window);
    }
}

#[test]
fn null_is_not_a_number() {
    #[derive(Debug, Deserialize, PartialEq)]
    struct Scale {
        scale: Option<f32>,
    }
    let read = |value: &str| {
        let file = file_of(&format!(r#"{{"scale":"{value}"}}"#));
        open(&file, &mut [0; 64]).metadata_as::<Scale>(&mut [0; 64], &mut [0; 64]).map(Option::unwrap)
    };
    assert_eq!(read("0.5"), Ok(Scale { scale: Some(0.5) }));
    for none in ["null", " null ", "NaN", ""] {
        assert!(matches!(read(none), Err(MetadataError::Decode(DecodeError { at: Some(_), .. }))), "{none}");
    }
}

#[derive(Debug, Deserialize, PartialEq)]
struct Named {
    name: heapless::String<16>,
}

#[test]
fn too_little_memory_reports_enough() {
    let value = r#"{\"name\":\"one\\ntwo\"}"#;
    let len = r#"{"name":"one\ntwo"}"#.len();
    let file = file_of(&format!(r#"{{"text":"{value}"}}"#));
    let at = file.windows(8).position(|bytes| bytes == br#":"{\"nam"#).unwrap() as u64 + 1;
    let read = |memory: usize| {
        let mut text = vec![0; memory];
        open(&file, &mut [0; 64]).metadata_value_as::<Named>("text", &mut text, &mut [0; 64])
    };
    let enough = 2 * len as u64;
    assert_eq!(read(2 * len).unwrap().unwrap().name, "one\ntwo");
    let kind = ErrorKind::MetadataLength { needed: enough, capacity: len as u64 + 3 };
    assert_eq!(read(len + 3), Err(MetadataError::Read(ReadError::Format(kind.at(at)))));
}

#[test]
fn too_little_memory_for_all_pairs_reports_enough() {
    #[derive(Debug, Deserialize, PartialEq)]
    struct Card {
        text: Named,
    }
    let value = r#"{\"name\":\"one\\ntwo\"}"#;
    let file = file_of(&format!(r#"{{"a":"","text":"{value}"}}"#));
    let kept = 2 * 12 + 5 + r#"{"name":"one\ntwo"}"#.len();
    let read = |memory: usize| {
        let mut text = vec![0; memory];
        open(&file, &mut [0; 64]).metadata_as::<Card>(&mut text, &mut [0; 64])
    };
    let Err(MetadataError::Read(ReadError::Format(error))) = read(kept + 3) else {
        panic!("there is too little")
    };
    let ErrorKind::MetadataLength { needed, capacity } = error.kind else { panic!("{error}") };
    assert_eq!(capacity, kept as u64 + 3);
    let enough = usize::try_from(needed).expect("fits in usize");
    assert_eq!(read(enough).unwrap().unwrap().text.name, "one\ntwo");
}
