//! Elements of 32 and 64 bits, one block at a time.

use crate::tensor::stats::aggregate::Aggregate;
use crate::tensor::stats::moments::Moments;
use embedded_safetensors::Dtype;
use safetensors_convert::numbers::Number;

/// The number of values in a block. Its sums do not depend on the number of threads.
pub const BLOCK: usize = 8 * 1024;

/// Summarises a block of elements, and leaves its finite values in `values`.
pub fn summary(dtype: Dtype, bytes: &[u8], values: &mut Vec<f64>) -> Aggregate {
    decode(dtype, bytes, values);
    let mut part = Aggregate { values: values.len() as u64, ..Aggregate::default() };
    if !values.iter().fold(true, |finite, value| finite & value.is_finite()) {
        values.retain(|value| keep(*value, &mut part));
    }
    part.zeros = values.iter().map(|value| u64::from(*value == 0.0)).sum();
    (part.least, part.largest) = extremes(dtype, bytes, values);
    part.moments = Moments::of(values);
    part
}

/// Whether the value is finite; otherwise it is counted.
fn keep(value: f64, part: &mut Aggregate) -> bool {
    match value {
        value if value.is_finite() => return true,
        value if value.is_nan() => part.nan += 1,
        value if value > 0.0 => part.positive += 1,
        _ => part.negative += 1,
    }
    false
}

/// 64-bit integers are rounded to the nearest double.
fn decode(dtype: Dtype, bytes: &[u8], values: &mut Vec<f64>) {
    values.clear();
    let (fours, eights) = (bytes.as_chunks::<4>().0.iter(), bytes.as_chunks::<8>().0.iter());
    match dtype {
        Dtype::F64 => values.extend(eights.map(|bytes| f64::from_le_bytes(*bytes))),
        Dtype::I64 => values.extend(eights.map(|bytes| i64::from_le_bytes(*bytes) as f64)),
        Dtype::U64 => values.extend(eights.map(|bytes| u64::from_le_bytes(*bytes) as f64)),
        Dtype::I32 => values.extend(fours.map(|bytes| f64::from(i32::from_le_bytes(*bytes)))),
        Dtype::U32 => values.extend(fours.map(|bytes| f64::from(u32::from_le_bytes(*bytes)))),
        // F32, and both parts of C64.
        _ => values.extend(fours.map(|bytes| f64::from(f32::from_le_bytes(*bytes)))),
    }
}

/// Exact, also for 64-bit integers.
fn extremes(dtype: Dtype, bytes: &[u8], values: &[f64]) -> (Option<Number>, Option<Number>) {
    let eights = bytes.as_chunks::<8>().0.iter();
    match dtype {
        Dtype::I64 => {
            let all = eights.map(|bytes| i64::from_le_bytes(*bytes));
            (all.clone().min().map(Number::Signed), all.max().map(Number::Signed))
        }
        Dtype::U64 => {
            let all = eights.map(|bytes| u64::from_le_bytes(*bytes));
            (all.clone().min().map(Number::Unsigned), all.max().map(Number::Unsigned))
        }
        _ if values.is_empty() => (None, None),
        _ => {
            let (mut least, mut largest) = ([f64::INFINITY; 8], [f64::NEG_INFINITY; 8]);
            let (whole, rest) = values.as_chunks::<8>();
            for chunk in whole {
                for ((least, largest), value) in least.iter_mut().zip(&mut largest).zip(chunk) {
                    *least = if value < least { *value } else { *least };
                    *largest = if value > largest { *value } else { *largest };
                }
            }
            let least = least.iter().chain(rest).fold(f64::INFINITY, |least, value| least.min(*value));
            let largest = largest.iter().chain(rest).fold(f64::NEG_INFINITY, |most, value| most.max(*value));
            // Without the sign of a zero.
            (Some(Number::Float(least + 0.0)), Some(Number::Float(largest + 0.0)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::summary;
    use embedded_safetensors::Dtype;
    use safetensors_convert::numbers::Number;

    #[test]
    fn what_is_not_finite_is_counted_apart() {
        let floats = [1.5_f32, f32::NAN, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::INFINITY, -2.0];
        let bytes: Vec<u8> = floats.iter().flat_map(|float| float.to_le_bytes()).collect();
        let mut values = Vec::new();
        let part = summary(Dtype::F32, &bytes, &mut values);
        assert_eq!((part.values, part.nan, part.positive, part.negative, part.zeros), (7, 1, 2, 1, 1));
        assert_eq!((part.least, part.largest), (Some(Number::Float(-2.0)), Some(Number::Float(1.5))));
        assert!((part.moments.mean() * 3.0 + 0.5).abs() < 1e-15);
        assert_eq!(part.finite(), 3);
        assert_eq!(values, [1.5, 0.0, -2.0]);
    }

    #[test]
    fn the_extremes_of_integers_are_exact() {
        let mut values = Vec::new();
        let bytes = [u64::MAX - 1, (1 << 53) + 1].map(u64::to_le_bytes).concat();
        let part = summary(Dtype::U64, &bytes, &mut values);
        let extremes = (Some(Number::Unsigned((1 << 53) + 1)), Some(Number::Unsigned(u64::MAX - 1)));
        assert_eq!((part.least, part.largest), extremes);
        let bytes = [i64::MIN + 1, i64::MAX - 1].map(i64::to_le_bytes).concat();
        let part = summary(Dtype::I64, &bytes, &mut values);
        let extremes = (Some(Number::Signed(i64::MIN + 1)), Some(Number::Signed(i64::MAX - 1)));
        assert_eq!((part.least, part.largest), extremes);
    }
}
