//! A tensor read as values, against a plain copy of those values.

use std::hint::black_box;
use std::time::Duration;

use embedded_safetensors::Model;
use verification::file::with_header;
use verification::random::Random;

use crate::{KIB, MIB};

/// How many bytes of values are read in one call, and how much longer than copying these that may take: a limit for
/// what fits into no cache, where the memory sets the speed.
const OUTPUTS: [(usize, Option<f64>); 4] =
    [(4 * KIB, None), (64 * KIB, None), (MIB, None), (64 * MIB, Some(1.3))];
const DTYPES: [(&str, usize); 5] = [("F16", 2), ("BF16", 2), ("F8_E4M3", 1), ("I8", 1), ("F32", 4)];

/// Only these have a limit.
const LIMITED: [&str; 2] = ["F16", "BF16"];

pub fn measure() {
    for (output, most) in OUTPUTS {
        for (dtype, width) in DTYPES {
            let most = most.filter(|_| LIMITED.contains(&dtype));
            let what = format!("{dtype} to f32, {} KiB of output", output / KIB);
            crate::report(&what, best_times(dtype, width, output), most);
        }
    }
}

/// The file of one tensor of so many elements, none of which is special.
fn file(dtype: &str, width: usize, elements: usize) -> Vec<u8> {
    let len = elements * width;
    let header = format!(r#"{{"t":{{"dtype":"{dtype}","shape":[{elements}],"data_offsets":[0,{len}]}}}}"#);
    let mut file = with_header(&format!("{header:88}"), 0);
    let mut random = Random::new(1);
    file.extend((0..len).map(|_| random.number().to_le_bytes()[0]));
    file
}

fn best_times(dtype: &str, width: usize, output: usize) -> [Duration; 2] {
    let elements = output / 4;
    let file = file(dtype, width, elements);
    let (from, mut copied, mut values) = (vec![1f32; elements], vec![0f32; elements], vec![0f32; elements]);
    let mut model = Model::open(&file[..], &mut [0; 4096]).expect("it is sound");
    let info = model.find("t", &mut [0; 4096]).expect("it is sound").expect("it is there");
    let calls = (8 * MIB / output).max(1);
    let read = || {
        let mut reader = model.tensor(&info).expect("it is this file's").elements();
        let values = reader.read_lossless(black_box(&mut values[..])).expect("memory does not fail");
        black_box(values);
    };
    let copy = || black_box(&mut copied[..]).copy_from_slice(black_box(&from));
    crate::best_times(calls, read, copy)
}
