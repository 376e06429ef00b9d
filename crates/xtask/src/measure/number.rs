//! Formats numbers for people.

/// Formats without decimals if the number is whole or large, else with three significant digits; with
/// commas between thousands.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return value.to_string();
    }
    let magnitude = value.abs();
    let decimals = match magnitude {
        _ if value.fract() == 0.0 || magnitude >= 100.0 => 0,
        10.0.. => 1,
        1.0.. => 2,
        0.1.. => 3,
        0.01.. => 4,
        _ => 5,
    };
    let text = format!("{magnitude:.decimals$}");
    let (whole, rest) = text
        .split_once('.')
        .map_or((text.as_str(), String::new()), |(whole, fraction)| (whole, format!(".{fraction}")));
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}{rest}", with_commas(whole))
}

fn with_commas(digits: &str) -> String {
    let grouped = digits.bytes().enumerate().flat_map(|(index, digit)| {
        let comma = index > 0 && (digits.len() - index).is_multiple_of(3);
        comma.then_some(',').into_iter().chain([char::from(digit)])
    });
    grouped.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_significant_digits() {
        let cases = [
            (0.0, "0"),
            (7.0, "7"),
            (1000.0, "1,000"),
            (1234567.0, "1,234,567"),
            (123456.7, "123,457"),
            (52.06, "52.1"),
            (9.876, "9.88"),
            (0.5, "0.500"),
            (0.0312, "0.0312"),
            (0.00312, "0.00312"),
            (-1234.0, "-1,234"),
            (f64::NAN, "NaN"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
    }
}
