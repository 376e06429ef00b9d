//! Parses sizes such as `5GB`.

/// Parses a number of bytes such as `5GB`, `1.5 MB` or `4096`, with the decimal units of the Python package
/// `huggingface_hub`: KB, MB, GB, TB. Fractions of a byte are truncated.
///
/// ```
/// assert_eq!(safetensors_files::shards::parse_shard_size("1.5MB"), Some(1_500_000));
/// assert_eq!(safetensors_files::shards::parse_shard_size("5GiB"), None);
/// ```
pub fn parse_shard_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let zeros = match text.get(digits.len()..)?.to_ascii_uppercase().as_str() {
        "" => 0,
        "KB" => 3,
        "MB" => 6,
        "GB" => 9,
        "TB" => 12,
        _ => return None,
    };
    let (whole, part) = digits.trim_end().split_once('.').unwrap_or((digits.trim_end(), "0"));
    if [whole, part]
        .iter()
        .any(|digits| digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()))
    {
        return None;
    }
    let part = part.bytes().chain(core::iter::repeat(b'0')).take(zeros);
    whole
        .bytes()
        .chain(part)
        .try_fold(0_u64, |number, digit| number.checked_mul(10)?.checked_add(u64::from(digit - b'0')))
}
