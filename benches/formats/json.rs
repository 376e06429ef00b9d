//! JSON, with serde_json: a list of decimal numbers, each as short as possible.

use std::io::Cursor;

use crate::row::{Kind, Row, written};
use crate::shapes::{NUMBERS, Numbers, OwnNumbers};

pub fn rows(features: &'static [f32]) -> Vec<Row> {
    let encode = move |file: &mut [u8]| {
        let mut file = Cursor::new(file);
        serde_json::to_writer(&mut file, &Numbers { features }).expect("enough space");
        written(&file)
    };
    let decode = |file: &[u8], values: &mut Vec<f32>| {
        *values = serde_json::from_slice::<OwnNumbers>(file).expect("JSON").features;
    };
    vec![Row::memory(Kind::Other, ["JSON (serde_json)", NUMBERS], encode, decode)]
}
