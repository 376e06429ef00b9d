//! Quantised matrices: the same bits as a plain model of the arithmetic, in both forms and from any
//! storage, and an error for tensors that do not match.

use embedded_safetensors::{
    Dtype, Error, ErrorKind, Model, ReadError, TensorInfo, asynch,
    error::{Class, QuantRole},
    query::Query,
    tensor::DtypeSet,
};
use safetensors_quant::{Matrix, QuantReader};
use support::executor::{drop_at, finish};
use support::file::with_tensors;
use support::mock::{Failure, Fault, Plan, Reads, Storage};
use support::random::Random;
use support::waiting::{Waiting, Waits};

/// The products that numpy computes, and the model with its matrices.
const PRODUCTS: &str = include_str!("quantised/products.txt");
const MODEL: &[u8] = include_bytes!("../firmware/app/models/quantised.safetensors");

/// A tensor: its name, dtype, shape and bytes.
type Tensor = (&'static str, Dtype, Vec<u64>, Vec<u8>);

/// The constructor of a matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scheme {
    Q8,
    Q4,
    Mxfp4,
    Nvfp4,
    Nvfp4Packed,
    Fp8,
}

/// A layout with its tensors and what they mean.
struct Sample {
    scheme: Scheme,
    rows: usize,
    columns: usize,
    group: usize,
    tensors: Vec<Tensor>,
    /// Each value as a float, without its scale, and its doubled integer; 512 times the value for FP8.
    exact: Vec<(f32, i64)>,
    /// The scale of each value.
    scales: Vec<f32>,
}

const SIZES: [(usize, usize, usize); 6] =
    [(3, 32, 32), (2, 128, 128), (3, 1152, 32), (1, 2176, 64), (2, 96, 16), (2, 0, 32)];

/// Returns samples of each layout.
fn samples() -> Vec<Sample> {
    let mut random = Random::new(17);
    let mut samples = Vec::new();
    for (rows, columns, group) in SIZES {
        for weights in [Dtype::I8, Dtype::U8] {
            for (scale, shape) in [
                (Dtype::F32, vec![]),
                (Dtype::F16, vec![1]),
                (Dtype::BF16, vec![rows as u64]),
                (Dtype::F32, vec![rows as u64, 1]),
            ] {
                for has_zeros in [false, true] {
                    samples.push(q8(&mut random, [rows, columns + 5], weights, scale, &shape, has_zeros));
                }
            }
        }
        for scale in [Dtype::F16, Dtype::BF16, Dtype::F32] {
            samples.push(q4(&mut random, [rows, columns, group], Dtype::U8, scale, true));
            samples.push(q4(&mut random, [rows, columns, group], Dtype::I32, scale, false));
        }
        samples.push(mxfp4(&mut random, [rows, columns], Dtype::F4, Dtype::F8_E8M0));
        samples.push(mxfp4(&mut random, [rows, columns], Dtype::U8, Dtype::U8));
        samples.push(nvfp4(&mut random, Scheme::Nvfp4, [rows, columns], Dtype::U8, &[]));
        samples.push(nvfp4(&mut random, Scheme::Nvfp4Packed, [rows, columns], Dtype::F4, &[1]));
        samples.push(fp8(&mut random, [rows, columns + 5], Dtype::BF16));
    }
    samples.push(fp8(&mut random, [130, 200], Dtype::F32));
    samples
}

/// Returns scales with their values.
fn scales(random: &mut Random, dtype: Dtype, count: usize) -> (Vec<u8>, Vec<f32>) {
    let mut bytes = Vec::new();
    let values = (0..count).map(|_| {
        // A significand of 7 bits and a small exponent, which F16, BF16 and F32 have.
        let [significand, exponent, ..] = random.number().to_le_bytes();
        let (significand, exponent) = (u16::from(significand & 127), 110 + u16::from(exponent % 20));
        let value = f32::from_bits(u32::from(exponent) << 23 | u32::from(significand) << 16);
        match dtype {
            Dtype::F32 => bytes.extend(value.to_bits().to_le_bytes()),
            Dtype::BF16 => bytes.extend((exponent << 7 | significand).to_le_bytes()),
            Dtype::F16 if exponent >= 113 => {
                bytes.extend(((exponent - 112) * 1024 + significand * 8).to_le_bytes());
            }
            _ => {
                // Subnormal: units of 2^-24.
                let units = (128 + significand) << (exponent - 110);
                bytes.extend(units.to_le_bytes());
                return f32::from(units) / f32::from(1u16 << 12) / f32::from(1u16 << 12);
            }
        }
        value
    });
    let values = values.collect();
    (bytes, values)
}

fn q8(
    random: &mut Random,
    [rows, columns]: [usize; 2],
    dtype: Dtype,
    scale: Dtype,
    shape: &[u64],
    has_zeros: bool,
) -> Sample {
    let count = usize::try_from(shape.iter().product::<u64>()).unwrap();
    let (weights, (scale_bytes, scale_values)) = (random.bytes(rows * columns), scales(random, scale, count));
    let zeros = if has_zeros { random.bytes(count) } else { vec![0; count] };
    let integer = |byte: u8| if dtype == Dtype::I8 { i64::from(byte.cast_signed()) } else { i64::from(byte) };
    let of_row = |index: usize| if count == 1 { 0 } else { index / columns };
    let exact = weights.iter().enumerate().map(|(index, byte)| {
        let integer = integer(*byte) - integer(zeros[of_row(index)]);
        (integer as f32, 2 * integer)
    });
    let exact = exact.collect();
    let scales = (0..rows * columns).map(|index| scale_values[of_row(index)]).collect();
    let mut tensors = vec![
        ("w", dtype, vec![rows as u64, columns as u64], weights),
        ("s", scale, shape.to_vec(), scale_bytes),
    ];
    if has_zeros {
        tensors.push(("z", dtype, shape.to_vec(), zeros));
    }
    Sample { scheme: Scheme::Q8, rows, columns, group: columns, tensors, exact, scales }
}

fn nibbles(bytes: &[u8]) -> impl Iterator<Item = u8> {
    bytes.iter().flat_map(|byte| [byte & 15, byte >> 4])
}

fn q4(
    random: &mut Random,
    [rows, columns, group]: [usize; 3],
    dtype: Dtype,
    scale: Dtype,
    has_zeros: bool,
) -> Sample {
    let groups = columns / group;
    let (weights, (scale_bytes, scale_values)) =
        (random.bytes(rows * columns / 2), scales(random, scale, rows * groups));
    let zeros = if has_zeros { random.bytes(rows * groups) } else { vec![8; rows * groups] };
    let exact = nibbles(&weights).enumerate().map(|(index, element)| {
        let integer = i64::from(element) - i64::from(zeros[index / group]);
        (integer as f32, 2 * integer)
    });
    let exact = exact.collect();
    let scales = (0..rows * columns).map(|index| scale_values[index / group]).collect();
    let stored = if dtype == Dtype::I32 { 8 } else { 2 };
    let shape = vec![rows as u64, groups as u64];
    let mut tensors = vec![
        ("w", dtype, vec![rows as u64, (columns / stored) as u64], weights),
        ("s", scale, shape.clone(), scale_bytes),
    ];
    if has_zeros {
        tensors.push(("z", Dtype::U8, shape, zeros));
    }
    Sample { scheme: Scheme::Q4, rows, columns, group, tensors, exact, scales }
}

fn mxfp4(random: &mut Random, [rows, columns]: [usize; 2], dtype: Dtype, scale: Dtype) -> Sample {
    const VALUES: [f32; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
    let groups = columns / 32;
    let weights = random.bytes(rows * columns / 2);
    // Not NaN, and no sum of infinities.
    let exponents: Vec<u8> = random.bytes(rows * groups).into_iter().map(|byte| byte % 200).collect();
    let exact = nibbles(&weights).map(|element| {
        let value = VALUES[usize::from(element & 7)];
        let value = if element & 8 == 0 { value } else { -value };
        let doubled = (0..=12).find(|doubled| *doubled as f32 == value.abs() * 2.0).unwrap();
        (value, if value < 0.0 { -doubled } else { doubled })
    });
    let exact = exact.collect();
    let power = |exponent: u8| {
        let exponent = i32::from(exponent) - 127;
        2f32.powi(exponent / 2) * 2f32.powi(exponent - exponent / 2)
    };
    let scales = (0..rows * columns).map(|index| power(exponents[index / 32])).collect();
    let width = if dtype == Dtype::F4 { columns } else { columns / 2 };
    let tensors = vec![
        ("w", dtype, vec![rows as u64, width as u64], weights),
        ("s", scale, vec![rows as u64, groups as u64], exponents),
    ];
    Sample { scheme: Scheme::Mxfp4, rows, columns, group: 32, tensors, exact, scales }
}

/// Returns numbers of F8_E4M3 that are not NaN, and their values.
fn e4m3(random: &mut Random, count: usize) -> (Vec<u8>, Vec<f32>) {
    let bytes = random.bytes(count).into_iter().map(|byte| if byte & 127 == 127 { 0x80 } else { byte });
    let bytes: Vec<u8> = bytes.collect();
    let values = bytes.iter().map(|byte| {
        let (exponent, significand) = (i32::from(byte >> 3 & 15), f32::from(byte & 7));
        let significand = if exponent == 0 { significand } else { 8.0 + significand };
        let sign = if byte & 128 == 0 { 1.0 } else { -1.0 };
        sign * significand * 2f32.powi(exponent.max(1) - 10)
    });
    let values = values.collect();
    (bytes, values)
}

fn nvfp4(random: &mut Random, scheme: Scheme, dims: [usize; 2], dtype: Dtype, shape: &[u64]) -> Sample {
    let ([rows, columns], global) = (dims, 0.037f32);
    let (bytes, values) = e4m3(random, rows * columns / 16);
    let scale = |value: f32| if scheme == Scheme::Nvfp4 { value * global } else { value / global };
    let scales = (0..rows * columns).map(|index| scale(values[index / 16])).collect();
    let mut sample = mxfp4(random, dims, dtype, Dtype::U8);
    sample.tensors[1] = ("s", Dtype::F8_E4M3, vec![rows as u64, (columns / 16) as u64], bytes);
    sample.tensors.push(("z", Dtype::F32, shape.to_vec(), global.to_le_bytes().to_vec()));
    Sample { scheme, group: 16, scales, ..sample }
}

#[allow(clippy::cast_possible_truncation)] // whole numbers
fn fp8(random: &mut Random, [rows, columns]: [usize; 2], scale: Dtype) -> Sample {
    let blocks = [rows.div_ceil(128), columns.div_ceil(128)];
    let (weights, values) = e4m3(random, rows * columns);
    let (bytes, of_block) = scales(random, scale, blocks[0] * blocks[1]);
    let block = |index: usize| index / columns / 128 * blocks[1] + index % columns / 128;
    let scales = (0..rows * columns).map(|index| of_block[block(index)]).collect();
    let exact = values.into_iter().map(|value| (value, (value * 512.0) as i64)).collect();
    let tensors = vec![
        ("w", Dtype::F8_E4M3, vec![rows as u64, columns as u64], weights),
        ("s", scale, blocks.map(|count| count as u64).to_vec(), bytes),
    ];
    Sample { scheme: Scheme::Fp8, rows, columns, group: 128, tensors, exact, scales }
}

fn find(file: &[u8], name: &str) -> Option<TensorInfo> {
    Model::open(file, &mut [0; 64]).expect("valid").find(name, &mut [0; 64]).expect("readable")
}

fn matrix_of(scheme: Scheme, group: u64, file: &[u8]) -> Matrix {
    let [weights, scales] = ["w", "s"].map(|name| find(file, name).expect("present"));
    let zeros = find(file, "z");
    match scheme {
        Scheme::Q8 => Matrix::q8(&weights, &scales, zeros),
        Scheme::Q4 => Matrix::q4(&weights, &scales, zeros, group),
        Scheme::Mxfp4 => Matrix::mxfp4(&weights, &scales),
        Scheme::Nvfp4 => Matrix::nvfp4(&weights, &scales, &zeros.expect("present")),
        Scheme::Nvfp4Packed => Matrix::nvfp4_packed(&weights, &scales, &zeros.expect("present")),
        Scheme::Fp8 => Matrix::fp8(&weights, &scales),
    }
    .expect("found")
}

impl Sample {
    fn matrix(&self, file: &[u8]) -> Matrix {
        matrix_of(self.scheme, self.group as u64, file)
    }

    /// Returns the bits of a row.
    fn values(&self, row: usize) -> Vec<u32> {
        let range = row * self.columns..(row + 1) * self.columns;
        let pairs = self.exact[range.clone()].iter().zip(&self.scales[range]);
        pairs.map(|((exact, _), scale)| (exact * scale).to_bits()).collect()
    }

    /// Returns the product of a row.
    fn product(&self, row: usize, inputs: &[i8]) -> u32 {
        let mut sum = 0.0f32;
        let starts = (row * self.columns..(row + 1) * self.columns).step_by(self.group.max(1));
        for (start, inputs) in starts.zip(inputs.chunks(self.group.max(1))) {
            let pairs = self.exact[start..].iter().zip(inputs);
            let doubled: i64 = pairs.map(|((_, doubled), input)| doubled * i64::from(*input)).sum();
            let float = match self.scheme {
                Scheme::Q8 | Scheme::Q4 => (doubled / 2) as f32,
                Scheme::Fp8 => doubled as f32 / 512.0,
                _ => doubled as f32 * 0.5,
            };
            sum += float * self.scales[start];
        }
        sum.to_bits()
    }
}

fn inputs(columns: usize) -> Vec<i8> {
    Random::new(columns as u64).bytes(columns).into_iter().map(u8::cast_signed).collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn rows_and_products_have_the_bits_of_the_formula() {
    for sample in samples() {
        let file = with_tensors(&sample.tensors);
        let (matrix, inputs) = (sample.matrix(&file), inputs(sample.columns));
        for reads in [Reads::Whole, Reads::AtMost(1), Reads::AtMost(7), Reads::Random(3)] {
            let storage = Storage::new(&file, Plan::default());
            let mut model = Model::open(&storage, &mut [0; 64]).expect("valid");
            storage.set_plan(Plan { reads, ..Plan::default() });
            let mut rows = QuantReader::new(&mut model, &matrix).expect("tensors match");
            assert_eq!(rows.rows(), sample.rows as u64);
            assert_eq!((rows.columns(), rows.group()), (sample.columns as u64, sample.group as u64));
            let (mut values, mut buffer) = (vec![0.0; sample.columns], vec![0; sample.columns]);
            for row in (0..sample.rows).rev() {
                rows.read_row(row as u64, &mut values).expect("readable");
                assert_eq!(bits(&values), sample.values(row), "{:?} {row}", sample.scheme);
                let dot = rows.dot(row as u64, &inputs, &mut buffer).expect("readable");
                assert_eq!(dot.to_bits(), sample.product(row, &inputs), "{:?} {row}", sample.scheme);
            }
            let mut memory = vec![0; usize::try_from(rows.scales_len()).unwrap()];
            let mut rows = rows.with_scales(&mut memory).expect("readable");
            for row in 0..sample.rows {
                rows.read_row(row as u64, &mut values).expect("readable");
                assert_eq!(bits(&values), sample.values(row), "{:?} {row}", sample.scheme);
            }
        }
    }
}

#[test]
fn a_row_takes_a_read_for_weights_and_one_for_16_groups_of_factors_that_are_not_in_memory() {
    let sample = q4(&mut Random::new(1), [2, 1152, 32], Dtype::U8, Dtype::F16, true);
    let file = with_tensors(&sample.tensors);
    let storage = Storage::new(&file, Plan::default());
    let mut model = Model::open(&storage, &mut [0; 64]).expect("valid");
    let mut rows = QuantReader::new(&mut model, &sample.matrix(&file)).expect("tensors match");
    storage.set_plan(Plan::default());
    rows.read_row(1, &mut [0.0; 1152]).expect("readable");
    // 36 groups: 16, 16 and 4.
    assert_eq!(storage.counts().reads, 1 + 3 + 3);
    assert_eq!(storage.counts().bytes, 576 + 72 + 36);
    assert_eq!(rows.scales_len(), 2 * (72 + 36));
    let mut memory = [0; 217];
    let small = ErrorKind::BufferLength { needed: 216, capacity: 215 };
    let refused = rows.with_scales(&mut memory[..215]).map(drop);
    assert!(matches!(refused, Err(ReadError::Format(Error { kind, .. })) if kind == small));
    let mut rows = QuantReader::new(&mut model, &sample.matrix(&file))
        .unwrap()
        .with_scales(&mut memory)
        .expect("readable");
    // One for the scales, one for the zero points, and then one for a row.
    assert_eq!(storage.counts().reads, 1 + 3 + 3 + 2);
    rows.read_row(0, &mut [0.0; 1152]).expect("readable");
    rows.dot(1, &[0; 1152], &mut [0; 576]).expect("readable");
    assert_eq!(storage.counts().reads, 1 + 3 + 3 + 2 + 2);

    // 32 groups, and one read for the global scale.
    let sample = nvfp4(&mut Random::new(1), Nvfp4, [1, 512], U8, &[]);
    let file = with_tensors(&sample.tensors);
    let storage = Storage::new(&file, Plan::default());
    let mut model = Model::open(&storage, &mut [0; 64]).expect("valid");
    let mut rows = QuantReader::new(&mut model, &sample.matrix(&file)).expect("tensors match");
    storage.set_plan(Plan::default());
    rows.read_row(0, &mut [0.0; 512]).expect("readable");
    assert_eq!((storage.counts().reads, rows.scales_len()), (1 + 2 + 1, 32 + 4));
}

#[test]
fn products_with_the_model_of_the_boards_match_numpy() {
    let mut window = [0; 64];
    let mut model = Model::open(MODEL, &mut window).expect("valid");
    let (mut floats, mut integers) = ([0f32; 96], [0i8; 96]);
    let [input, input_i8] = ["input", "input.i8"].map(|name| find(MODEL, name).expect("present"));
    model.reader(&input).unwrap().values().read_exact(&mut floats).unwrap();
    model.reader(&input_i8).unwrap().values().read_exact(&mut integers).unwrap();
    let mut lines = String::new();
    for name in ["channel", "tensor", "group", "mx", "nv", "nv.packed", "fp8"] {
        let part = |part: &str| find(MODEL, &format!("{name}{part}"));
        let (weights, scales) = (part("").unwrap(), part(".scale").unwrap());
        let zeros = part(".zero_point");
        let matrix = match name {
            "group" => Matrix::q4(&weights, &scales, zeros, 32),
            "mx" => Matrix::mxfp4(&weights, &scales),
            "nv" => Matrix::nvfp4(&weights, &scales, &part(".scale_2").unwrap()),
            "nv.packed" => Matrix::nvfp4_packed(&weights, &scales, &part(".global_scale").unwrap()),
            "fp8" => Matrix::fp8(&weights, &scales),
            _ => Matrix::q8(&weights, &scales, zeros),
        };
        let mut rows = QuantReader::new(&mut model, &matrix.unwrap()).expect("tensors match");
        for row in 0..rows.rows() {
            let mut values = [0.0; 96];
            rows.read_row(row, &mut values).unwrap();
            let product = values.iter().zip(&floats).fold(0f32, |sum, (value, input)| sum + value * input);
            let dot = rows.dot(row, &integers, &mut [0; 96]).unwrap();
            lines += &format!(
                "product of {name}, row {row}: {:08x} of values, {:08x} of integers\n",
                product.to_bits(),
                dot.to_bits()
            );
        }
    }
    assert_eq!(lines, PRODUCTS);
}

#[test]
fn nan_weight_makes_its_value_and_the_product_nan() {
    let tensors = [("w", F8_E4M3, vec![1, 2], vec![0xFF, 0]), ("s", F32, vec![1, 1], vec![0; 4])];
    let file = with_tensors(&tensors);
    let mut model = Model::open(&file[..], &mut [0; 64]).expect("valid");
    let mut rows = QuantReader::new(&mut model, &matrix_of(Fp8, 0, &file)).expect("tensors match");
    let (mut values, dot) = ([1.0; 2], rows.dot(0, &[0; 2], &mut [0; 2]).expect("readable"));
    rows.read_row(0, &mut values).expect("readable");
    assert!(dot.is_nan() && values[0].is_nan() && values[1] == 0.0);
}

const WAITS: Waits = Waits { before: 1, after: 1 };

#[test]
fn asynchronous_reader_has_the_same_bits_also_after_dropped_futures() {
    for sample in samples() {
        let file = with_tensors(&sample.tensors);
        let storage = Storage::new(&file, Plan::default());
        let opening =
            async { asynch::Model::open(Waiting::new(&storage, WAITS), &mut [0; 64]).await.expect("valid") };
        let mut model = finish(opening);
        let mut rows = safetensors_quant::asynch::QuantReader::new(&mut model, &sample.matrix(&file))
            .expect("tensors match");
        let (mut values, mut buffer) = (vec![0.0; sample.columns], vec![0; sample.columns]);
        let inputs = inputs(sample.columns);
        for row in 0..sample.rows {
            for wait in 0..4 {
                _ = drop_at(wait, rows.read_row(row as u64, &mut values));
                _ = drop_at(wait, rows.dot(row as u64, &inputs, &mut buffer));
            }
            finish(rows.read_row(row as u64, &mut values)).expect("readable");
            assert_eq!(bits(&values), sample.values(row));
            let dot = finish(rows.dot(row as u64, &inputs, &mut buffer)).expect("readable");
            assert_eq!(dot.to_bits(), sample.product(row, &inputs));
        }
        let mut memory = vec![0; usize::try_from(rows.scales_len()).unwrap()];
        let mut rows = finish(rows.with_scales(&mut memory)).expect("readable");
        for row in 0..sample.rows {
            let dot = finish(rows.dot(row as u64, &inputs, &mut buffer)).expect("readable");
            assert_eq!(dot.to_bits(), sample.product(row, &inputs));
        }
    }
}

#[test]
fn calls_can_be_repeated_after_a_fault() {
    let sample = q4(&mut Random::new(2), [2, 1152, 32], Dtype::U8, Dtype::F16, true);
    let file = with_tensors(&sample.tensors);
    let storage = Storage::new(&file, Plan::default());
    let mut model = Model::open(&storage, &mut [0; 64]).expect("valid");
    let mut rows = QuantReader::new(&mut model, &sample.matrix(&file)).expect("tensors match");
    let (mut values, inputs) = ([0.0; 1152], inputs(1152));
    for call in 0..7 {
        let broken = Plan { failure: Some(Failure::Once(call)), ..Plan::default() };
        storage.set_plan(broken.clone());
        assert_eq!(rows.read_row(1, &mut values), Err(ReadError::Source(Fault::Broken)));
        rows.read_row(1, &mut values).expect("works again");
        assert_eq!(bits(&values), sample.values(1));
        storage.set_plan(broken);
        assert_eq!(rows.dot(1, &inputs, &mut [0; 576]), Err(ReadError::Source(Fault::Broken)));
        let dot = rows.dot(1, &inputs, &mut [0; 576]).expect("works again");
        assert_eq!(dot.to_bits(), sample.product(1, &inputs));
    }
}

/// Returns the error of tensors with these dtypes and shapes, and the offset of the tensor that it is about.
fn error_of(scheme: Scheme, group: u64, tensors: &[(&'static str, Dtype, &[u64])]) -> (ErrorKind, String) {
    let tensors: Vec<Tensor> = tensors
        .iter()
        .map(|(name, dtype, shape)| {
            let bits = shape.iter().product::<u64>() * u64::from(dtype.bits());
            (*name, *dtype, shape.to_vec(), vec![0; usize::try_from(bits / 8).unwrap()])
        })
        .collect();
    let file = with_tensors(&tensors);
    let mut model = Model::open(&file[..], &mut [0; 64]).expect("valid");
    let matrix = matrix_of(scheme, group, &file);
    let error: Error = QuantReader::new(&mut model, &matrix).expect_err("tensors do not match");
    assert_eq!(error.kind.class(), Class::Usage);
    let data_start = model.summary().data_start;
    let mut names = ["w", "s", "z"].into_iter();
    let at = |name: &&str| find(&file, name).is_some_and(|info| data_start + info.begin() == error.at);
    (error.kind, names.find(at).expect("the start of a tensor").to_owned())
}

use Dtype::{BF16, F4, F8_E4M3, F8_E5M2, F8_E8M0, F16, F32, F64, I8, I32, U8};
use QuantRole::{GlobalScale, Scale, Weight, ZeroPoint};
use Scheme::{Fp8, Mxfp4, Nvfp4, Q4, Q8};

fn dtype(role: QuantRole, found: Dtype, needed: &[Dtype]) -> ErrorKind {
    ErrorKind::QuantDtype { role, found, needed: DtypeSet::of(needed) }
}

/// Tensors of an NVFP4 matrix.
const WEIGHTS: (&str, Dtype, &[u64]) = ("w", U8, &[4, 16]);
const SCALES: (&str, Dtype, &[u64]) = ("s", F8_E4M3, &[4, 2]);
const GLOBAL: (&str, Dtype, &[u64]) = ("z", F32, &[]);

/// Each row: the layout, the group size, the tensors, the error and the tensor where it is.
type Mismatch = (Scheme, u64, &'static [(&'static str, Dtype, &'static [u64])], ErrorKind, &'static str);

#[test]
fn tensors_that_do_not_match_are_an_error() {
    let rank = |role, found, needed| ErrorKind::QuantRank { role, found, needed };
    let size = |role, axis, found, needed| ErrorKind::QuantSize { role, axis, found, needed };
    let group = |group, columns| ErrorKind::QuantGroup { group, columns };
    let cases: &[Mismatch] = &[
        (Q8, 0, &[("w", F32, &[4, 8]), ("s", F32, &[4])], dtype(Weight, F32, &[I8, U8]), "w"),
        (Q4, 32, &[("w", I8, &[4, 16]), ("s", F16, &[4, 1])], dtype(Weight, I8, &[U8, I32]), "w"),
        (Mxfp4, 0, &[("w", I8, &[4, 16]), ("s", F8_E8M0, &[4, 1])], dtype(Weight, I8, &[F4, U8]), "w"),
        (Q8, 0, &[("w", I8, &[4, 8]), ("s", F64, &[4])], dtype(Scale, F64, &[F32, F16, BF16]), "s"),
        (
            Q4,
            32,
            &[("w", U8, &[4, 16]), ("s", F8_E8M0, &[4, 1])],
            dtype(Scale, F8_E8M0, &[F32, F16, BF16]),
            "s",
        ),
        (Mxfp4, 0, &[("w", F4, &[4, 32]), ("s", F16, &[4, 1])], dtype(Scale, F16, &[F8_E8M0, U8]), "s"),
        (Q8, 0, &[("w", I8, &[4, 8]), ("s", F32, &[4]), ("z", U8, &[4])], dtype(ZeroPoint, U8, &[I8]), "z"),
        (
            Q4,
            32,
            &[("w", U8, &[4, 16]), ("s", F16, &[4, 1]), ("z", I8, &[4, 1])],
            dtype(ZeroPoint, I8, &[U8]),
            "z",
        ),
        (Q8, 0, &[("w", I8, &[32]), ("s", F32, &[4])], rank(Weight, 1, 2), "w"),
        (Q8, 0, &[("w", I8, &[4, 2, 4]), ("s", F32, &[4])], rank(Weight, 3, 2), "w"),
        (Q8, 0, &[("w", I8, &[4, 8]), ("s", F32, &[4, 1, 1])], rank(Scale, 3, 1), "s"),
        (Q4, 32, &[("w", U8, &[4, 16]), ("s", F16, &[4])], rank(Scale, 1, 2), "s"),
        (Q4, 32, &[("w", U8, &[4, 16]), ("s", F16, &[])], rank(Scale, 0, 2), "s"),
        (Q4, 32, &[("w", U8, &[1, 16]), ("s", F16, &[1])], rank(Scale, 1, 2), "s"),
        (Q8, 0, &[("w", I8, &[4, 8]), ("s", F32, &[4]), ("z", I8, &[])], rank(ZeroPoint, 0, 1), "z"),
        (Q8, 0, &[("w", I8, &[4, 8]), ("s", F32, &[8])], size(Scale, 0, 8, 4), "s"),
        (Q8, 0, &[("w", I8, &[4, 8]), ("s", F32, &[4, 2])], size(Scale, 1, 2, 1), "s"),
        (Q8, 0, &[("w", I8, &[4, 8]), ("s", F32, &[4]), ("z", I8, &[1])], size(ZeroPoint, 0, 1, 4), "z"),
        (Q4, 32, &[("w", U8, &[4, 32]), ("s", F16, &[3, 2])], size(Scale, 0, 3, 4), "s"),
        (Q4, 64, &[("w", U8, &[4, 64]), ("s", F16, &[4, 4])], size(Scale, 1, 4, 2), "s"),
        (Q4, 32, &[("w", U8, &[4, 64]), ("s", F16, &[4, 2])], size(Scale, 1, 2, 4), "s"),
        (Q4, 32, &[("w", I32, &[4, 16]), ("s", F16, &[4, 2])], size(Scale, 1, 2, 4), "s"),
        (
            Q4,
            32,
            &[("w", U8, &[4, 32]), ("s", F16, &[4, 2]), ("z", U8, &[4, 1])],
            size(ZeroPoint, 1, 1, 2),
            "z",
        ),
        (Mxfp4, 0, &[("w", U8, &[4, 32]), ("s", F8_E8M0, &[4, 1])], size(Scale, 1, 1, 2), "s"),
        (Q4, 8, &[("w", U8, &[4, 16]), ("s", F16, &[4, 4])], group(8, 32), "w"),
        (Q4, 0, &[("w", U8, &[4, 16]), ("s", F16, &[4, 2])], group(0, 32), "w"),
        (Q4, 96, &[("w", U8, &[4, 48]), ("s", F16, &[4, 1])], group(96, 96), "w"),
        (Q4, 128, &[("w", U8, &[4, 32]), ("s", F16, &[4, 1])], group(128, 64), "w"),
        (Mxfp4, 0, &[("w", F4, &[2, 33]), ("s", F8_E8M0, &[2, 2])], group(32, 33), "w"),
        (Nvfp4, 0, &[WEIGHTS, ("s", F8_E8M0, &[4, 2]), GLOBAL], dtype(Scale, F8_E8M0, &[F8_E4M3]), "s"),
        (Nvfp4, 0, &[WEIGHTS, SCALES, ("z", BF16, &[])], dtype(GlobalScale, BF16, &[F32]), "z"),
        (Nvfp4, 0, &[WEIGHTS, SCALES, ("z", F32, &[4])], size(GlobalScale, 0, 4, 1), "z"),
        (Nvfp4, 0, &[WEIGHTS, SCALES, ("z", F32, &[1, 1])], rank(GlobalScale, 2, 1), "z"),
        (Fp8, 0, &[("w", F8_E5M2, &[1, 1]), ("s", F32, &[1, 1])], dtype(Weight, F8_E5M2, &[F8_E4M3]), "w"),
        (Fp8, 0, &[("w", F8_E4M3, &[129, 1]), ("s", F32, &[1, 1])], size(Scale, 0, 1, 2), "s"),
        (Fp8, 0, &[("w", F8_E4M3, &[1, 129]), ("s", F32, &[1, 1])], size(Scale, 1, 1, 2), "s"),
    ];
    for (scheme, group, tensors, kind, at) in cases {
        let (found, found_at) = error_of(*scheme, *group, tensors);
        assert_eq!((found, found_at.as_str()), (*kind, *at), "{tensors:?}");
    }
}

#[test]
fn wrong_rows_and_lengths_are_errors_before_anything_is_read() {
    let sample = q4(&mut Random::new(3), [2, 64, 32], Dtype::U8, Dtype::F16, false);
    let file = with_tensors(&sample.tensors);
    let storage = Storage::new(&file, Plan::default());
    let mut model = Model::open(&storage, &mut [0; 64]).expect("valid");
    let start = model.summary().data_start;
    let mut rows = QuantReader::new(&mut model, &sample.matrix(&file)).expect("tensors match");
    storage.set_plan(Plan::default());
    let format = |kind: ErrorKind, at: u64| Err(ReadError::<Fault>::Format(kind.at(at)));
    let no_row = ErrorKind::OutsideAxis { axis: 0, asked: 2, size: 2 };
    assert_eq!(rows.read_row(2, &mut [0.0; 64]), format(no_row, start));
    assert_eq!(rows.dot(2, &[0; 64], &mut [0; 64]).map(drop), format(no_row, start));
    let length = |given| ErrorKind::QuantLength { given, needed: 64 };
    assert_eq!(rows.read_row(0, &mut [0.0; 63]), format(length(63), start));
    assert_eq!(rows.dot(0, &[0; 65], &mut [0; 64]).map(drop), format(length(65), start));
    let small = ErrorKind::BufferLength { needed: 32, capacity: 31 };
    assert_eq!(rows.dot(0, &[0; 64], &mut [0; 31]).map(drop), format(small, start + 31));
    assert_eq!(storage.counts().reads, 0);
}

#[test]
fn tensor_that_was_not_found_or_is_of_another_file_is_an_error() {
    let sample = q4(&mut Random::new(4), [2, 64, 32], Dtype::U8, Dtype::F16, true);
    let file = with_tensors(&sample.tensors);
    let query = Query::required("w");
    let scales = find(&file, "s").unwrap();
    let missing = Matrix::q4(&query, &scales, None, 32).map(drop).map_err(|error| error.kind);
    assert_eq!(missing, Err(ErrorKind::NotFound { query: None }));
    let short = with_tensors(&sample.tensors[..1]);
    let mut model = Model::open(&short[..], &mut [0; 64]).expect("valid");
    let kind = QuantReader::new(&mut model, &sample.matrix(&file)).map(drop).map_err(|error| error.kind);
    assert_eq!(kind, Err(ErrorKind::OutsideData { end: 72, data_len: 64 }));
}

/// The documented size of the futures, besides those of the storage.
const OF_A_READER: usize = if cfg!(target_pointer_width = "32") { 260 } else { 368 };

#[test]
fn futures_are_small() {
    let sample = mxfp4(&mut Random::new(5), [1, 32], F4, F8_E8M0);
    let file = with_tensors(&sample.tensors);
    let storage = Storage::new(&file, Plan::default());
    let mut source = Waiting::new(&storage, WAITS);
    let of_storage = size_of_val(&asynch::ReadAt::read_at(&mut source, 0, &mut []));
    let mut model = finish(asynch::Model::open(source, &mut [0; 64])).expect("valid");
    let mut rows = safetensors_quant::asynch::QuantReader::new(&mut model, &sample.matrix(&file))
        .expect("tensors match");
    let (mut values, mut buffer) = ([0.0; 32], [0; 16]);
    let of_row = size_of_val(&rows.read_row(0, &mut values));
    let of_product = size_of_val(&rows.dot(0, &[0; 32], &mut buffer));
    let of_scales = size_of_val(&rows.with_scales(&mut buffer));
    let most = of_row.max(of_product).max(of_scales);
    assert!(most <= OF_A_READER + of_storage, "{of_row}, {of_product}, {of_scales}, {of_storage}");
}
