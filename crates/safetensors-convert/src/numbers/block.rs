//! Rounds blocks of floats to elements, without branches, so that the compiler vectorises the loops. Values
//! that do not become finite elements of the dtype are left to [`Cast`](super::Cast), which is also the
//! oracle for all others.

use super::cast::{CastError, Kind};
use super::format::{Format, Special};
use super::{Cast, Mean, Number, wide};

/// The number of values of a block: the arrays of one fit into the first cache.
pub const BLOCK: usize = 512;

/// Sums are kept in this many lanes, whatever the processor has, so that they are the same everywhere.
const LANES: usize = 8;

/// The errors of values that were rounded.
#[derive(Clone, Copy, Default)]
pub struct Errors {
    pub inexact: u64,
    pub largest: f64,
    pub sum: Mean,
}

macro_rules! blocks {
    ($module:ident, $float:ident, $bits:ident, $mantissa:literal, $bias:literal) => {
        pub mod $module {
            use super::*;

            const SIGN: $bits = 1 << ($bits::BITS - 1);

            /// A way to round values to elements.
            pub trait Round: Copy {
                /// Whether the value becomes a finite element; otherwise it may.
                fn holds(&self, value: $float) -> bool;

                /// Returns the bits of the nearest element, and its value.
                fn round(&self, value: $float) -> ($bits, $float);
            }

            /// Returns a power of two.
            const fn power(exponent: i32) -> $float {
                $float::from_bits(((exponent + $bias).unsigned_abs() as $bits) << $mantissa)
            }

            /// Rounds to a float with a shorter mantissa.
            #[derive(Clone, Copy)]
            pub struct ToFloat {
                shift: u32,
                /// The difference of the biases, in the bits of an element.
                rebias: $bits,
                /// The bits of the smallest value with a normal element, and of the largest one.
                normal: $bits,
                largest: $bits,
                /// A sum with this number has the unit of subnormal elements as its last bit.
                magic: $float,
                sign: u32,
                has_minus_zero: bool,
            }

            impl ToFloat {
                /// Creates it; `None` if the format has no shorter mantissa.
                pub fn new(format: &Format) -> Option<Self> {
                    let (mantissa, bias) = (format.mantissa, format.bias);
                    let shift = u32::checked_sub($mantissa, mantissa).filter(|shift| *shift > 0)?;
                    let rebias = ($bias - bias).unsigned_abs() as $bits;
                    let narrow = bias != $bias;
                    Some(Self {
                        shift,
                        rebias: rebias << mantissa,
                        // With the same exponents, subnormal values are rounded like all others.
                        normal: if narrow { power(1 - bias).to_bits() } else { 0 },
                        largest: (format.largest_value() as $float).to_bits(),
                        magic: if narrow { power(1 - bias + shift.cast_signed()) } else { 0.0 },
                        sign: $bits::BITS - 1 - format.exponent - mantissa,
                        has_minus_zero: format.special != Special::NanIsMinusZero,
                    })
                }
            }

            impl Round for ToFloat {
                #[inline(always)]
                fn holds(&self, value: $float) -> bool {
                    value.to_bits() & !SIGN <= self.largest
                }

                #[inline(always)]
                fn round(&self, value: $float) -> ($bits, $float) {
                    let (magnitude, sign) = (value.to_bits() & !SIGN, value.to_bits() & SIGN);
                    let half = (1 << (self.shift - 1)) - 1 + (magnitude >> self.shift & 1);
                    let rounded = (magnitude.wrapping_add(half)) >> self.shift;
                    let moved = $float::from_bits(magnitude) + self.magic;
                    let is_normal = magnitude >= self.normal;
                    let element = if is_normal {
                        rounded.wrapping_sub(self.rebias)
                    } else {
                        moved.to_bits().wrapping_sub(self.magic.to_bits())
                    };
                    let size = if is_normal {
                        $float::from_bits(rounded << self.shift)
                    } else {
                        moved - self.magic
                    };
                    let has_sign = self.has_minus_zero | (element != 0);
                    let sign_bit = if has_sign { sign >> self.sign } else { 0 };
                    (element | sign_bit, $float::from_bits(size.to_bits() | sign))
                }
            }

            /// Rounds to integers.
            #[derive(Clone, Copy)]
            pub struct ToInteger {
                least: $float,
                largest: $float,
            }

            /// The last bit of a sum with this number is 1.
            const UNIT: $float = power($mantissa) * 1.5;

            impl ToInteger {
                pub fn new(least: i128, largest: i128) -> Self {
                    let most = 1 << ($mantissa - 1);
                    Self { least: least.max(-most) as $float, largest: largest.min(most - 1) as $float }
                }
            }

            impl Round for ToInteger {
                #[inline(always)]
                fn holds(&self, value: $float) -> bool {
                    (value >= self.least) & (value <= self.largest)
                }

                #[inline(always)]
                fn round(&self, value: $float) -> ($bits, $float) {
                    let moved = value + UNIT;
                    (moved.to_bits().wrapping_sub(UNIT.to_bits()), moved - UNIT)
                }
            }

            /// Keeps values unchanged.
            #[derive(Clone, Copy)]
            pub struct Same;

            impl Round for Same {
                #[inline(always)]
                fn holds(&self, value: $float) -> bool {
                    value.is_finite()
                }

                #[inline(always)]
                fn round(&self, value: $float) -> ($bits, $float) {
                    (value.to_bits(), value)
                }
            }

            /// Casts values. Those that may not become finite elements are cast one by one, as the number that
            /// `number` returns for their index and their value.
            pub fn cast(
                cast: &mut Cast,
                values: &[$float],
                out: &mut [u8],
                number: &dyn Fn(usize, f64) -> Number,
            ) -> Result<(), CastError> {
                let kind = cast.kind;
                wide::run(
                    #[inline(always)]
                    || match kind {
                        Kind::Integer { least, largest } => {
                            cast_all(ToInteger::new(least, largest), cast, values, out, number)
                        }
                        Kind::Float(format) => match ToFloat::new(&format) {
                            Some(round) => cast_all(round, cast, values, out, number),
                            None => cast_all(Same, cast, values, out, number),
                        },
                    },
                )
            }

            #[inline(always)]
            fn cast_all<R: Round>(
                round: R,
                cast: &mut Cast,
                values: &[$float],
                out: &mut [u8],
                number: &dyn Fn(usize, f64) -> Number,
            ) -> Result<(), CastError> {
                let (mut elements, mut errors, width) = ([0; BLOCK], [0.0; BLOCK], cast.width);
                let blocks = values.chunks(BLOCK).zip(out.chunks_mut(BLOCK * width));
                for (block, (values, out)) in blocks.enumerate() {
                    let (elements, errors) = (&mut elements[..values.len()], &mut errors[..values.len()]);
                    let [left, zeroed] = round_all(round, values, elements, errors);
                    store(elements, out, width);
                    let count = values.len() as u64 - u64::from(left);
                    cast.report.see_all(count, u64::from(zeroed), &summed(errors));
                    if left == 0 {
                        continue;
                    }
                    for (index, (&value, out)) in values.iter().zip(out.chunks_mut(width)).enumerate() {
                        if !round.holds(value) {
                            let element = cast.element(number(block * BLOCK + index, value as f64))?;
                            out.copy_from_slice(&element[..width]);
                        }
                    }
                }
                Ok(())
            }

            /// Returns how many values are left, and how many became 0. Those that are left become 0 without
            /// an error.
            #[inline(always)]
            fn round_all<R: Round>(
                round: R,
                values: &[$float],
                elements: &mut [$bits],
                errors: &mut [$float],
            ) -> [u32; 2] {
                let (mut left, mut zeroed) = (0, 0);
                for ((&value, element), error) in values.iter().zip(elements).zip(errors) {
                    let holds = round.holds(value);
                    let value = if holds { value } else { 0.0 };
                    let (bits, rounded) = round.round(value);
                    *element = bits;
                    *error = (value - rounded).abs();
                    left += u32::from(!holds);
                    zeroed += u32::from((rounded == 0.0) & (value != 0.0));
                }
                [left, zeroed]
            }

            #[inline(always)]
            pub fn summed(errors: &[$float]) -> Errors {
                let (mut inexact, mut largest, mut sums) = ([0_u32; LANES], [0.0; LANES], [0.0_f64; LANES]);
                let (lanes, rest) = errors.as_chunks::<LANES>();
                let rest: [$float; LANES] =
                    std::array::from_fn(|lane| rest.get(lane).copied().unwrap_or_default());
                for errors in lanes.iter().chain([&rest]) {
                    for lane in 0..LANES {
                        inexact[lane] += u32::from(errors[lane] > 0.0);
                        largest[lane] = if errors[lane] > largest[lane] { errors[lane] } else { largest[lane] };
                        sums[lane] += errors[lane] as f64;
                    }
                }
                let largest = largest.into_iter().fold(0.0, $float::max) as f64;
                let inexact = inexact.into_iter().map(u64::from).sum();
                let mut sum = Mean::default();
                match sums.iter().sum() {
                    sum_of if largest < Mean::HUGE => sum.add(sum_of),
                    _ => errors.iter().for_each(|&error| sum.add(error as f64)),
                }
                Errors { inexact, largest, sum }
            }

            /// Writes the lower bytes of each element.
            #[inline(always)]
            fn store(elements: &[$bits], out: &mut [u8], width: usize) {
                #[inline(always)]
                fn lower<const WIDTH: usize>(elements: &[$bits], out: &mut [u8]) {
                    for (element, out) in elements.iter().zip(out.as_chunks_mut::<WIDTH>().0) {
                        element.to_le_bytes().first_chunk().inspect(|lower| *out = **lower);
                    }
                }
                match width {
                    1 => lower::<1>(elements, out),
                    2 => lower::<2>(elements, out),
                    4 => lower::<4>(elements, out),
                    _ => lower::<8>(elements, out),
                }
            }
        }
    };
}

blocks!(single, f32, u32, 23, 127);
blocks!(double, f64, u64, 52, 1023);
