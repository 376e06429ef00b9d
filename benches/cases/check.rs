//! Validates a header that arrives in chunks. The reference has all of the header in memory, and keeps a
//! table of names. The floors are to check that the header is UTF-8, and to copy it.

use std::hint::black_box;

use embedded_safetensors::validate::Validator;

use super::headers::{Header, Model};
use super::{Amount, Bench, Case, KIB, contender, ours, reference, size};

const CHUNKS: [usize; 4] = [64, 512, 4 * KIB, usize::MAX];

pub fn measure(bench: &mut Bench) {
    for header in Header::ALL {
        for tensors in [1, 12, 100, 1000, 10_000, 100_000] {
            let chunks = CHUNKS.map(|chunk| (chunk, name(header, tensors, chunk)));
            let chunks: Vec<_> = chunks.into_iter().filter(|(_, name)| bench.wants(name)).collect();
            if !chunks.is_empty() {
                measure_model(bench, &Model::new(header, tensors), chunks);
            }
        }
    }
}

fn name(header: Header, tensors: usize, chunk: usize) -> String {
    let chunks = if chunk == usize::MAX { "whole".to_owned() } else { format!("{} chunks", size(chunk)) };
    format!("check, {header}, {tensors} tensors, {chunks}")
}

fn measure_model(bench: &mut Bench, model: &Model, chunks: Vec<(usize, String)>) {
    let mut copy = vec![0; model.data_start];
    for (chunk, what) in chunks {
        let text = &model.header()[8..];
        let contenders = vec![
            ours(|| check(black_box(model), chunk)),
            reference(|| black_box(model).reference()),
            contender("from_utf8", || std::str::from_utf8(black_box(text))),
            contender("memcpy", || black_box(&mut copy[..]).copy_from_slice(black_box(model.header()))),
        ];
        bench.measure(Case { what, amount: Amount::Tensors(model.names.len()) }, contenders);
    }
}

fn check(model: &Model, chunk: usize) {
    let mut check = Validator::new(Some(model.bytes.len() as u64), &mut []);
    for mut chunk in model.header().chunks(chunk) {
        assert!(check.push(&mut chunk).is_ok());
    }
    assert_eq!(check.summary().map(|summary| summary.tensors), Some(model.names.len() as u64));
}
