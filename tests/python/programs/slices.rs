//! Answers the questions of `test_slices.py`: which part of a tensor a slice is.
//!
//! A question is a line and the tensor's bytes: `F32 3,4 60|i2 r0,3,1`: dtype, dimensions, number of bytes,
//! then the ranges. An answer is a line, `dims|number of bytes`, and the bytes; or `refused|0`. For elements
//! narrower than a byte the answer has their codes, one per byte.

use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};

use embedded_safetensors::{
    Dtype, Model, ReadAt, View,
    reader::SliceReader,
    slice::{AxisRange, SlicePlan},
};
use support::file::with_header;
use support::mock::{Plan, Reads, Storage};
use support::random::Random;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let (mut input, mut output) = (BufReader::new(io::stdin().lock()), io::stdout().lock());
    let (mut line, mut number) = (String::new(), 0);
    while input.read_line(&mut line)? > 0 {
        let question = Question::read(&line, &mut input)?;
        let (dims, bytes) = question.answer(number).unwrap_or_else(|refused| (refused, vec![]));
        writeln!(output, "{dims}|{}", bytes.len())?;
        output.write_all(&bytes)?;
        output.flush()?;
        line.clear();
        number += 1;
    }
    Ok(())
}

struct Question {
    dtype: Dtype,
    dims: Vec<u64>,
    ranges: Vec<AxisRange>,
    tensor: Vec<u8>,
}

/// The dimensions in text, and the bytes; or that it was rejected.
type Answer = Result<(String, Vec<u8>), String>;

impl Question {
    fn read(line: &str, input: &mut impl Read) -> Outcome<Self> {
        let (tensor, ranges) = line.trim_end_matches('\n').split_once('|').ok_or("no ranges")?;
        let [dtype, dims, len] = tensor.split(' ').collect::<Vec<_>>()[..] else { return Err(line.into()) };
        let mut bytes = vec![0; len.parse()?];
        input.read_exact(&mut bytes)?;
        Ok(Self {
            dtype: Dtype::from_name(dtype.as_bytes()).ok_or("no dtype")?,
            dims: numbers(dims)?,
            ranges: ranges.split_terminator(' ').map(range).collect::<Outcome<_>>()?,
            tensor: bytes,
        })
    }

    fn answer(&self, number: u64) -> Answer {
        let plan = SlicePlan::new(self.dtype, &self.dims, &self.ranges).map_err(|_| "refused".to_owned())?;
        let file = file(self.dtype, &self.dims, &self.tensor);
        let bytes = match self.dtype.bits() {
            4 | 6 => self.codes(&file),
            _ => self.bytes(&file, number),
        };
        let dims: Vec<_> = plan.shape().dims().iter().map(u64::to_string).collect();
        Ok((dims.join(","), bytes))
    }

    /// Reads in another way each time.
    fn bytes(&self, file: &[u8], number: u64) -> Vec<u8> {
        let tensor = View::parse(file).and_then(|view| view.tensor("t")).expect("present");
        let mut random = Random::new(number);
        match random.below(4) {
            0 => tensor.slice_runs(&self.ranges).expect("matches the plan").collect::<Vec<_>>().concat(),
            1 => {
                let mut reader = tensor.reader().slice(&self.ranges).expect("matches the plan");
                let len = reader.byte_len().expect("whole bytes");
                let mut bytes = vec![0; usize::try_from(len).expect("fits in usize")];
                assert_eq!(reader.read_to_end(&mut bytes).map(<[u8]>::len), Ok(bytes.len()));
                bytes
            }
            2 => in_chunks(tensor.reader().slice(&self.ranges).expect("matches the plan"), &mut random),
            _ => {
                let storage = Storage::new(file, Plan { reads: Reads::Random(number), ..Plan::default() });
                let mut model = Model::open(&storage, &mut [0; 256]).expect("valid file");
                let found = model.find("t", &mut [0; 256]).expect("readable").expect("present");
                let reader = model.reader(&found).and_then(|tensor| tensor.slice(&self.ranges));
                in_chunks(reader.expect("matches the plan"), &mut random)
            }
        }
    }

    /// Reads as values, which are distinct for each code.
    fn codes(&self, file: &[u8]) -> Vec<u8> {
        let tensor = View::parse(file).and_then(|view| view.tensor("t")).expect("present");
        let known = values_of_codes(self.dtype);
        let mut reader = tensor.reader().slice(&self.ranges).expect("matches the plan").values();
        let mut values = vec![0f32; usize::try_from(reader.remaining()).expect("fits in usize")];
        reader.read_exact(&mut values).expect("exact values");
        let code = |value: &f32| known.iter().position(|known| known.to_bits() == value.to_bits());
        values.iter().map(|value| u8::try_from(code(value).expect("known")).expect("a code")).collect()
    }
}

/// Returns the values of a dtype's codes, in order.
fn values_of_codes(dtype: Dtype) -> Vec<f32> {
    let (bits, count) = (dtype.bits(), 1u64 << dtype.bits());
    let mut packed = vec![0u8; usize::from(bits) << bits >> 3];
    for at in 0..count * u64::from(bits) {
        let (code, bit) = (at / u64::from(bits), at % u64::from(bits));
        packed[usize::try_from(at / 8).expect("fits in usize")] |=
            (u8::from(code >> bit & 1 == 1)) << (at % 8);
    }
    let file = file(dtype, &[count], &packed);
    let tensor = View::parse(&file).and_then(|view| view.tensor("t")).expect("present");
    let mut values = vec![0f32; 1 << bits];
    tensor.reader().values().read_exact(&mut values).expect("exact values");
    values
}

fn in_chunks<S: ReadAt<Error: std::fmt::Debug>>(mut reader: SliceReader<S>, random: &mut Random) -> Vec<u8> {
    let mut bytes = vec![];
    loop {
        let mut buffer = vec![0; 8 + random.below(120)];
        match reader.next_chunk(&mut buffer).expect("fits") {
            Some(chunk) => bytes.extend(chunk),
            None => return bytes,
        }
    }
}

fn file(dtype: Dtype, dims: &[u64], tensor: &[u8]) -> Vec<u8> {
    let len = tensor.len();
    let header = format!(r#"{{"t":{{"dtype":"{dtype}","shape":{dims:?},"data_offsets":[0,{len}]}}}}"#);
    let mut file = with_header(&header, 0);
    file.extend(tensor);
    file
}

fn numbers(text: &str) -> Outcome<Vec<u64>> {
    Ok(text.split_terminator(',').map(str::parse).collect::<Result<_, _>>()?)
}

/// Parses a range: a letter for the form, then its numbers, the step last.
fn range(text: &str) -> Outcome<AxisRange> {
    let (form, rest) = text.split_at_checked(1).ok_or("no form")?;
    Ok(match (form, &numbers(rest)?[..]) {
        ("i", &[index]) => AxisRange::index(index),
        ("a", &[step]) => AxisRange::ALL.step_by(step),
        ("f", &[start, step]) => AxisRange::from(start..).step_by(step),
        ("t", &[end, step]) => AxisRange::from(..end).step_by(step),
        ("T", &[last, step]) => AxisRange::from(..=last).step_by(step),
        ("r", &[start, end, step]) => AxisRange::from(start..end).step_by(step),
        ("R", &[start, last, step]) => AxisRange::from(start..=last).step_by(step),
        _ => return Err(text.into()),
    })
}
