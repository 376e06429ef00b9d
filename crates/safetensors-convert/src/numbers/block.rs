//! Rounds blocks of floats to elements, without branches, so that the compiler vectorises the loops. Values
//! that do not become finite elements of the dtype are left to [`Cast`](super::Cast), which is also the
//! oracle for all others.

use super::cast::Kind;
use super::format::{Format, Special};
use super::{Cast, Mean, Number, Report, wide};

/// The number of values of a block: the arrays of one fit into the first cache.
pub const BLOCK: usize = 512;

/// Sums are kept in this many lanes, whatever the processor has, so that they are the same everywhere.
const LANES: usize = 8;

macro_rules! blocks {
    ($module:ident, $float:ident, $bits:ident, $mantissa:literal, $bias:literal) => {
        pub mod $module {
            use super::*;

            const SIGN: $bits = 1 << ($bits::BITS - 1);

            /// Returns a power of two.
            const fn power(exponent: i32) -> $float {
                $float::from_bits(((exponent + $bias).unsigned_abs() as $bits) << $mantissa)
            }

            /// The last bit of a sum with this number is 1: it is rounded to an integer.
            pub const UNIT: $float = power($mantissa) * 1.5;

            /// A float with a shorter mantissa.
            struct ToFloat {
                shift: u32,
                /// The difference of the biases, in the bits of an element.
                rebias: $bits,
                /// The smallest value with a normal element, and the largest one.
                normal: $float,
                largest: $float,
                /// A sum with this number has the unit of subnormal elements as its last bit.
                magic: $float,
                sign: u32,
            }

            impl ToFloat {
                #[allow(clippy::cast_possible_truncation)]
                fn new(format: &Format) -> Self {
                    let shift = $mantissa - format.mantissa;
                    let magic = 1 - format.bias + shift.cast_signed();
                    Self {
                        shift,
                        rebias: $bits::from(($bias - format.bias).unsigned_abs()) << format.mantissa,
                        normal: power(1 - format.bias),
                        largest: format.largest_value() as $float,
                        magic: if format.bias == $bias { 0.0 } else { power(magic) },
                        sign: $bits::BITS - 1 - format.exponent - format.mantissa,
                    }
                }

                /// Returns the bits of the nearest element, and its value. If the exponents are not
                /// `NARROW`, they are those of the values, so that subnormal values are rounded like all
                /// others.
                #[inline(always)]
                fn round<const NARROW: bool, const MINUS_ZERO: bool>(
                    &self,
                    value: $float,
                ) -> ($bits, $float) {
                    let (magnitude, sign) = (value.to_bits() & !SIGN, value.to_bits() & SIGN);
                    let half = (1 << (self.shift - 1)) - 1 + (magnitude >> self.shift & 1);
                    let units = magnitude.wrapping_add(half) >> self.shift;
                    let mut element = units.wrapping_sub(self.rebias);
                    let mut rounded = $float::from_bits(units << self.shift);
                    if NARROW {
                        let moved = value.abs() + self.magic;
                        let is_normal = value.abs() >= self.normal;
                        let subnormal = moved.to_bits().wrapping_sub(self.magic.to_bits());
                        element = if is_normal { element } else { subnormal };
                        rounded = if is_normal { rounded } else { moved - self.magic };
                    }
                    let sign_bit = if !MINUS_ZERO && element == 0 { 0 } else { sign >> self.sign };
                    (element | sign_bit, $float::from_bits(rounded.to_bits() | sign))
                }
            }

            /// Casts values. Those that may not become finite elements are cast one by one, as the number
            /// that `number` returns for their index and their value.
            pub fn cast(
                cast: &mut Cast,
                values: &[$float],
                out: &mut [u8],
                number: &dyn Fn(usize, f64) -> Number,
            ) -> Result<(), String> {
                let kind = cast.kind;
                wide::run(
                    #[inline(always)]
                    || match kind {
                        Kind::Integer { least, largest } => {
                            let most = 1 << ($mantissa - 1);
                            let (least, largest) =
                                (least.max(-most) as $float, largest.min(most - 1) as $float);
                            let holds = |value: $float| (value >= least) & (value <= largest);
                            let round = |value: $float| {
                                let moved = value + UNIT;
                                (moved.to_bits().wrapping_sub(UNIT.to_bits()), moved - UNIT)
                            };
                            cast_all::<false>((holds, round), cast, values, out, number)
                        }
                        Kind::Float(format) if format.mantissa == $mantissa => {
                            let same = |value: $float| (value.to_bits(), value);
                            cast_all::<true>(($float::is_finite, same), cast, values, out, number)
                        }
                        Kind::Float(format) if format.mantissa == f32::MANTISSA_DIGITS - 1 => {
                            let holds = |value: $float| value.abs() <= f32::MAX as $float;
                            #[allow(clippy::cast_possible_truncation)]
                            let round = |value: $float| {
                                let single = value as f32;
                                ($bits::from(single.to_bits()), single as $float)
                            };
                            cast_all::<false>((holds, round), cast, values, out, number)
                        }
                        Kind::Float(format) => {
                            let to = ToFloat::new(&format);
                            let holds = |value: $float| value.abs() <= to.largest;
                            if format.bias == $bias {
                                let round = |value| to.round::<false, true>(value);
                                cast_all::<false>((holds, round), cast, values, out, number)
                            } else if format.special == Special::NanIsMinusZero {
                                let round = |value| to.round::<true, false>(value);
                                cast_all::<false>((holds, round), cast, values, out, number)
                            } else {
                                let round = |value| to.round::<true, true>(value);
                                cast_all::<false>((holds, round), cast, values, out, number)
                            }
                        }
                    },
                )
            }

            /// Casts values of which the first function tells whether they become finite elements; otherwise
            /// they may. The second one returns the bits of the nearest element, and its value.
            #[inline(always)]
            fn cast_all<const IS_EXACT: bool>(
                (holds, round): (impl Fn($float) -> bool, impl Fn($float) -> ($bits, $float)),
                cast: &mut Cast,
                values: &[$float],
                out: &mut [u8],
                number: &dyn Fn(usize, f64) -> Number,
            ) -> Result<(), String> {
                let (mut elements, mut errors, width) = ([0; BLOCK], [0.0; BLOCK], cast.width);
                let blocks = values.chunks(BLOCK).zip(out.chunks_mut(BLOCK * width));
                for (block, (values, out)) in blocks.enumerate() {
                    let (elements, errors) = (&mut elements[..values.len()], &mut errors[..values.len()]);
                    let [left, zeroed] = round_all(&holds, &round, values, elements, errors);
                    store(elements, out, width);
                    let kept = values.len() as u64 - u64::from(left);
                    let losses = if IS_EXACT { Report::default() } else { summed(errors) };
                    let zeroed = u64::from(zeroed);
                    cast.report.add(&Report { values: kept, finite: kept, zeroed, ..losses });
                    if left == 0 {
                        continue;
                    }
                    for (index, (&value, out)) in values.iter().zip(out.chunks_mut(width)).enumerate() {
                        if !holds(value) {
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
            fn round_all(
                holds: impl Fn($float) -> bool,
                round: impl Fn($float) -> ($bits, $float),
                values: &[$float],
                elements: &mut [$bits],
                errors: &mut [$float],
            ) -> [$bits; 2] {
                let (mut left, mut zeroed) = (0, 0);
                for ((&value, element), error) in values.iter().zip(elements).zip(errors) {
                    let holds = holds(value);
                    let value = if holds { value } else { 0.0 };
                    let (bits, rounded) = round(value);
                    *element = bits;
                    *error = (value - rounded).abs();
                    left += $bits::from(!holds);
                    zeroed += $bits::from((rounded == 0.0) & (value != 0.0));
                }
                [left, zeroed]
            }

            /// Returns the losses by errors, without the number of values.
            #[inline(always)]
            pub fn summed(errors: &[$float]) -> Report {
                let (mut inexact, mut largest, mut sums) = ([0; LANES], [0.0; LANES], [0.0; LANES]);
                let (lanes, rest) = errors.as_chunks::<LANES>();
                let rest: [$float; LANES] =
                    std::array::from_fn(|lane| rest.get(lane).copied().unwrap_or_default());
                for errors in lanes.iter().chain([&rest]) {
                    for lane in 0..LANES {
                        inexact[lane] += $bits::from(errors[lane] > 0.0);
                        largest[lane] =
                            if errors[lane] > largest[lane] { errors[lane] } else { largest[lane] };
                    }
                }
                // In a loop of its own, since it has other lanes if these are `f32`.
                for errors in lanes.iter().chain([&rest]) {
                    for lane in 0..LANES {
                        sums[lane] += errors[lane] as f64;
                    }
                }
                let inexact = inexact.into_iter().map(u64::from).sum();
                let largest = largest.into_iter().fold(0.0, $float::max) as f64;
                let mut sum = Mean::default();
                if largest < Mean::HUGE {
                    sum.add(sums.iter().sum());
                } else {
                    errors.iter().for_each(|&error| sum.add(error as f64));
                }
                Report { inexact, max_error: largest, errors: sum, ..Report::default() }
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
