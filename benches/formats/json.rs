//! JSON by serde_json: a list of numbers in decimal, each the shortest that is still the same.

use std::io::Cursor;

use crate::row::{Kind, Row, written};
use crate::shapes::{NUMBERS, Numbers, OwnNumbers};

pub fn rows(features: &'static [f32]) -> Vec<Row> {
    let encode = move |file: &mut [u8]| {
        let mut file = Cursor::new(file);
        serde_json::to_writer(&mut file, &Numbers { features }).expect("there is room");
        written(&file)
    };
    let decode = |file: &[u8], values: &mut Vec<f32>| {
        *values = serde_json::from_slice::<OwnNumbers>(file).expect("it is JSON").features;
    };
    vec![Row::memory(Kind::Other, ["JSON (serde_json)", NUMBERS], encode, decode)]
}
