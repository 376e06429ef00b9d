//! Damaged files of ONNX and TFLite, and the sentence about each.

use crate::made::{
    Fields, Value, buffer, message, number, onnx, outside, scaled, tensor, tensor_of, tflite, varint,
};
use crate::onnx::Onnx;
use crate::samples::file;
use crate::tflite::Tflite;
use std::io;
use std::path::Path;

/// Opens a file beside which there is one of 1 GiB named `w.bin`.
fn open(contents: &[u8]) -> io::Result<Onnx> {
    Onnx::open(Path::new("m.onnx"), |path| match path.to_str() {
        Some("m.onnx") => Ok(file(contents)),
        Some("w.bin") => {
            let file = file(&[]);
            file.set_len(1 << 30).map(|()| file)
        }
        _ => Err(io::ErrorKind::NotFound.into()),
    })
}

#[test]
fn onnx_gets_a_sentence() {
    let of = |dtype, dims: &[u64], elements: &[u8]| onnx(&message(5, &tensor("w", dtype, dims, elements)));
    let raw = of(2, &[3], &message(9, b"abc"));
    let mut deep = message(5, &tensor("w", 2, &[0], &[]));
    for _ in 0..33 {
        deep = message(1, &message(5, &[message(1, b"g"), message(6, &deep)].concat()));
    }
    let twice = message(5, &tensor("w", 2, &[0], &[])).repeat(2);
    let place = |at: &str, len: &str| outside(&[("location", "w.bin"), ("offset", at), ("length", len)]);
    let whole = |name| message(5, &tensor(name, 2, &[1 << 30], &place("0", "1073741824")));
    for (file, sentence) in [
        (of(2, &[3], &message(9, b"ab")), "tensor \"w\" at byte 15: it has 2 bytes"),
        (of(2, &[3], &message(5, &[1, 2])), "it has 2 bytes, but its dtype U8 and shape [3] need 3"),
        (of(2, &[1], &message(5, &varint(256))), ": 256 is not an element of U8"),
        (of(9, &[1], &message(5, &[2])), ": 2 is not an element of BOOL"),
        (of(3, &[1], &message(5, &varint(128))), ": 128 is not an element of I8"),
        (of(2, &[1], &number(5, 1)), "the field int32_data has the wrong wire type"),
        (of(2, &[1], &message(7, &[1])), "its elements are in the field of other dtypes"),
        (of(27, &[4], &message(5, &[1, 2, 3])), "numbers of F6_E2M3 are not supported"),
        (of(2, &[1], &[]), "it has 0 bytes"),
        (of(2, &[1], &[message(9, b"a"), message(5, b"a")].concat()), "it has elements in 2 places"),
        (of(2, &[1], &[message(9, b"a"), place("0", "1")].concat()), "it has elements in 2 places"),
        (of(2, &[1], &number(14, 2)), "the field data_location has the unknown number 2"),
        (of(23, &[3], &[]), "its elements of dtype F4 and shape [3] do not end at a byte"),
        (of(2, &[0, 1 << 63], &[]), "its shape has the dim -9223372036854775808"),
        (of(2, &[1; 255], &[]), "its shape has more than 254 dims"),
        (of(1, &[1 << 40, 1 << 40], &[]), "has more bytes than 64 bits can count"),
        (of(2, &[1], &[message(9, b"a"), message(3, &[])].concat()), "the field segment is not supported"),
        (of(2, &[1], &number(14, 1)), "its elements are in another file without a name"),
        (of(2, &[3], &place("0", "10")), "it has 10 bytes"),
        (of(2, &[3], &place("1073741822", "3")), "bytes at byte 1073741822 exceed the 1073741824 of"),
        (of(2, &[3], &place("1 ", "3")), "the offset of its elements, \"1 \", is no number"),
        (of(2, &[3], &[place("1", "3"), place("1", "3")].concat()), "data_location is duplicate"),
        (onnx(&message(1, &message(5, &message(11, &[])))), "byte 19: the field graphs is not supported"),
        (onnx(&["a", "b", "c"].map(whole).concat()), "tensors share bytes: they have 3221225472,"),
        (onnx(&message(15, &[])), "byte 15: the field sparse_initializer is not supported"),
        ([raw, message(25, &[])].concat(), "the field functions is not supported"),
        (onnx(&twice), "tensor \"w\": the name is duplicate"),
        (onnx(&deep), "more than 100 messages in one another are not supported"),
        (onnx(&message(5, &tensor("", 2, &[0], &[]))), "byte 15: a tensor has no name"),
        (onnx(&message(5, &tensor("__metadata__", 2, &[0], &[]))), "reserves the name \"__metadata__\""),
        (number(1, 8), "the file has no graph"),
        (message(7, &[]), "the file has no version of ONNX"),
    ] {
        let error = open(&file).expect_err(sentence);
        assert!(error.to_string().contains(sentence), "{error} instead of {sentence}");
    }
}

#[test]
fn tflite_gets_a_sentence() {
    let open = |bytes: &[u8]| Tflite::open(file(bytes));
    let one = |fields: Fields| open(&tflite(&[("", vec![fields])], &[buffer(b"abcd")]));
    let with = |field: (usize, Value)| one([tensor_of("w", 9, &[2, 2], 1), vec![field]].concat());
    let with_table = |field: usize, fields| with((field, Value::Table(fields)));
    for (opened, sentence) in [
        (one(tensor_of("w", 9, &[3], 1)), "subgraph 0: tensor \"w\" at byte 164: it has 4"),
        (one(tensor_of("w", 9, &[-1, 4], 1)), "its shape has the dim -1"),
        (one(tensor_of("w", 9, &[4], 2)), "it has buffer 2, but there are only 2"),
        (one(tensor_of("__metadata__", 9, &[4], 1)), "reserves the name \"__metadata__\""),
        (with_table(6, vec![]), "it is sparse, which is not supported"),
        (with((10, Value::Number(1))), "its elements are in another file, which is not supported"),
        (with_table(4, vec![(4, Value::Number(1))]), "quantisation of kind 1 is not supported"),
        (with(scaled(&[1.0, 2.0, 3.0], &[], 0)), "it has 3 scales, but its shape is [2, 2], axis 0"),
        (with(scaled(&[1.0, 2.0], &[0], 1)), "it has 2 scales, but 1 zero points"),
        (with(scaled(&[1.0], &[128], 0)), "the zero point 128 is not an element of I8"),
    ] {
        let error = opened.expect_err(sentence);
        assert!(error.to_string().contains(sentence), "{error} instead of {sentence}");
    }
}

/// Many subgraphs with the same tensors are not read again and again, nor are many bytes made of one buffer.
#[test]
fn what_is_shared_is_limited() {
    let graphs: Vec<_> = (0..20_000)
        .map(|_| ("", vec![]))
        .chain([("", vec![tensor_of(&"n".repeat(60_000), 9, &[], 0)])])
        .collect();
    let mut bytes = tflite(&graphs, &[buffer(b"a")]);
    let vector = bytes.windows(4).position(|four| four == 20_001_u32.to_le_bytes()).expect("the vector") + 4;
    let last = vector + 20_000 * 4;
    let graph = last + u32::from_le_bytes(bytes[last..][..4].try_into().expect("an offset")) as usize;
    for at in (vector..).step_by(4).take(20_001) {
        bytes[at..at + 4].copy_from_slice(&u32::try_from(graph - at).expect("short").to_le_bytes());
    }
    let tensors = (0..1100).map(|index| tensor_of(&index.to_string(), 9, &[1 << 20], 1)).collect();
    let data = tflite(&[("", tensors)], &[buffer(&vec![0; 1 << 20])]);
    for (bytes, sentence) in
        [(bytes, "each as often as it is used"), (data, "tensors share bytes: they have 1075838976,")]
    {
        let error = Tflite::open(file(&bytes)).expect_err(sentence);
        assert_eq!(error.kind(), io::ErrorKind::QuotaExceeded, "{error}");
        assert!(error.to_string().contains(sentence), "{error}");
    }
}
