//! Prints numbers as text that reads back as the same number.

use super::Number;
use super::format::Format;
use embedded_safetensors::Dtype;

/// The format of the text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// As numpy and Python write numbers.
    Text,
    /// For JSON: values that it has no numbers for are strings.
    Json,
}

/// Prints an element (two numbers if it is complex) with the shortest decimals that read back as the same.
pub fn printed(dtype: Dtype, numbers: &[Number], style: Style) -> String {
    match (dtype, numbers) {
        (Dtype::BOOL, [number, ..]) => {
            let [text, json] =
                if *number == Number::Signed(0) { ["False", "false"] } else { ["True", "true"] };
            of_style(style, text, json)
        }
        (Dtype::C64, [real, imaginary, ..]) => {
            let [real, imaginary] = [real, imaginary].map(|part| plain(Dtype::F32, *part, style));
            match style {
                Style::Json => format!("[{real},{imaginary}]"),
                Style::Text if imaginary.starts_with('-') => format!("{real}{imaginary}j"),
                Style::Text => format!("{real}+{imaginary}j"),
            }
        }
        (_, [number, ..]) => plain(dtype, *number, style),
        _ => String::new(),
    }
}

fn plain(dtype: Dtype, number: Number, style: Style) -> String {
    match number {
        Number::Signed(integer) => integer.to_string(),
        Number::Unsigned(integer) => integer.to_string(),
        Number::Float(float) if float.is_finite() => shortest(dtype, float),
        Number::Float(float) if float.is_nan() => of_style(style, "nan", "\"NaN\""),
        Number::Float(float) if float > 0.0 => of_style(style, "inf", "\"Infinity\""),
        Number::Float(_) => of_style(style, "-inf", "\"-Infinity\""),
    }
}

fn of_style(style: Style, text: &str, json: &str) -> String {
    if style == Style::Json { json.to_owned() } else { text.to_owned() }
}

/// Returns the shortest decimal that rounds to the same number of the dtype. With 8 bits or fewer, the
/// precision is so low that it may be a visibly different number: it is the shortest one as `f64`.
#[allow(clippy::cast_possible_truncation)]
fn shortest(dtype: Dtype, float: f64) -> String {
    if dtype == Dtype::F32 {
        return format!("{:?}", float as f32);
    }
    let format = Format::of(dtype).filter(|_| dtype.bits() == 16);
    let is_same = |format: Format, other: f64| format.round(other.into()) == format.round(float.into());
    let shorter = format.and_then(|format| {
        let mut all = (0..17).filter_map(|digits| format!("{float:.digits$e}").parse::<f64>().ok());
        all.find(|shorter| is_same(format, *shorter))
    });
    format!("{:?}", shorter.unwrap_or(float))
}

#[cfg(test)]
mod tests {
    use super::{Dtype, Number, Style, printed};

    #[test]
    fn decimals_are_as_short_as_possible() {
        for (dtype, float, text) in [
            (Dtype::F16, 0.0999755859375, "0.1"),
            (Dtype::F16, 65504.0, "65500.0"),
            (Dtype::F16, 5.960464477539063e-8, "6e-8"),
            (Dtype::BF16, 3.140625, "3.14"),
            (Dtype::F8_E4M3, 448.0, "448.0"),
            (Dtype::F8_E5M2, 0.9375, "0.9375"),
            (Dtype::F32, f64::from(0.1f32), "0.1"),
            (Dtype::F64, 0.1, "0.1"),
            (Dtype::F32, 1e16, "1e16"),
            (Dtype::F16, -0.0, "-0.0"),
            (Dtype::F4, 1.5, "1.5"),
            (Dtype::F16, f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(printed(dtype, &[Number::Float(float)], Style::Text), text, "{dtype} {float}");
        }
    }

    #[test]
    fn special_values_have_two_styles() {
        let (one, nan, zero) = (Number::Float(1.5), Number::Float(f64::NAN), Number::Float(0.0));
        for (dtype, numbers, text, json) in [
            (Dtype::C64, &[one, nan][..], "1.5+nanj", "[1.5,\"NaN\"]"),
            (Dtype::C64, &[zero, Number::Float(-0.0)], "0.0-0.0j", "[0.0,-0.0]"),
            (Dtype::BOOL, &[Number::Signed(1)], "True", "true"),
            (Dtype::BOOL, &[Number::Signed(0)], "False", "false"),
            (Dtype::U64, &[Number::Unsigned(u64::MAX)], "18446744073709551615", "18446744073709551615"),
            (Dtype::F16, &[Number::Float(f64::INFINITY)], "inf", "\"Infinity\""),
        ] {
            assert_eq!([Style::Text, Style::Json].map(|style| printed(dtype, numbers, style)), [text, json]);
        }
    }
}
