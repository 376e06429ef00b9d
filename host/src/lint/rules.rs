//! The rules for one file.

use super::finding::{Code, Finding};
use super::scan::{Entry, HeaderText, TEXT};
use crate::error::Error;
use crate::input::model::Part;
use crate::input::source::{BUFFER, each_piece};
use crate::print::facts::{alignment, element_width};
use crate::text::{counted, grouped, is_plain, quoted};
use embedded_safetensors::Dtype;
use embedded_safetensors::index::IndexedTensor;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use unicode_normalization::{char::is_combining_mark, is_nfc};

/// What the reference pads headers to.
const UNIT: u64 = 8;
/// More spaces at the end of a header are a waste.
const MUCH: u64 = 64 << 10;
/// Longer names do not fit into many tools and file systems.
pub const LONG: usize = 255;

/// The formats that transformers accepts: `mlx` since 4.39.
const FORMATS: [&str; 4] = ["pt", "tf", "flax", "mlx"];

/// All findings about a file, but equal tensors. The names are those of the model.
///
/// # Errors
/// The file cannot be read.
pub fn findings(file: &Part, names: &BTreeSet<&str>) -> Result<Vec<Finding>, Error> {
    let (data_start, mut text) = (file.index().summary().data_start, Vec::new());
    each_piece(file.path(), file.reader(), TEXT..data_start, &mut vec![0; BUFFER], |piece| {
        text.extend_from_slice(piece);
        Ok(())
    })?;
    let header = HeaderText::of(&text);
    drop(text);
    let padding = file.padding()?;
    let is_padding = |tensor: &IndexedTensor<'_>| padding.contains(tensor.name());
    let tensors: Vec<_> = header.entries.iter().zip(file.index().in_header_order()).collect();
    let mut found = Vec::new();
    about_text(&header, data_start, &mut found);
    for (entry, tensor) in &tensors {
        about_entry(entry, tensor, data_start, &mut found);
        if !is_padding(tensor) {
            about_name(entry, tensor.name(), names, &mut found);
            about_dtype(entry, tensor, &mut found);
        }
    }
    let tensors: Vec<_> = tensors.into_iter().filter(|(_, tensor)| !is_padding(tensor)).collect();
    about_order(&tensors, &mut found);
    about_format(file, &mut found);
    Ok(found)
}

fn about_text(header: &HeaderText, data_start: u64, found: &mut Vec<Finding>) {
    let mut say = |code, at, message: String| found.push(Finding::new(code, at, None, message));
    if header.before > 0 {
        let bytes = counted(header.before, "byte");
        let rule = "the header begins with whitespace, but the format says that its first byte is `{`";
        say(Code::FirstByte, TEXT, format!("{rule} ({bytes})"));
    }
    if let Some((at, count)) = header.whitespace {
        let bytes = counted(count, "byte");
        say(Code::Whitespace, at, format!("{bytes} of whitespace between the tokens of the header"));
    }
    if let Some((at, count)) = header.escapes {
        let strings = counted(count, "string");
        say(Code::Escape, at, format!("{strings} with escapes that the reference does not write"));
    }
    if let Some(at) = header.other_padding {
        say(Code::PaddingOther, at, "the header is padded with something other than spaces".to_owned());
    } else if header.room >= UNIT {
        let code = if header.room > MUCH { Code::PaddingLarge } else { Code::PaddingRoom };
        let message = format!("the header ends with {} spaces", grouped(header.room));
        say(code, data_start - header.room, message);
    }
    if !data_start.is_multiple_of(UNIT) {
        let message = format!("the data begins at byte {data_start}, which is no multiple of {UNIT}");
        say(Code::DataStart, data_start, message);
    }
}

fn about_entry(entry: &Entry, tensor: &IndexedTensor<'_>, data_start: u64, found: &mut Vec<Finding>) {
    let mut say =
        |code, at, message: String| found.push(Finding::new(code, at, Some(tensor.name()), message));
    if let Some((at, unknown)) = &entry.unknown {
        say(Code::UnknownMember, *at, format!("unknown member {}", quoted(unknown)));
    }
    if !entry.is_ordered {
        let message = "its members are not in the order dtype, shape, data_offsets";
        say(Code::MemberOrder, entry.at, message.to_owned());
    }
    let (width, at) = (element_width(tensor.dtype()), data_start + tensor.begin());
    if tensor.byte_len() > 0 && alignment(data_start, tensor.begin()) < width {
        let rule = "which is no multiple of its element width";
        say(Code::Tensor, at, format!("it begins at byte {}, {rule}, {width}", grouped(at)));
    }
}

/// Whether a character is seen. A combining mark has no width, but it is.
pub fn is_seen(character: char) -> bool {
    is_plain(character) || is_combining_mark(character)
}

fn about_name(entry: &Entry, name: &str, names: &BTreeSet<&str>, found: &mut Vec<Finding>) {
    let long = format!("the name has {} bytes, more than {LONG}", grouped(name.len() as u64));
    // The first name of its group, if there is one.
    let begin = format!("{name}.");
    let group = names.range(&*begin..).next().filter(|other| other.starts_with(&begin));
    let member = group.map_or(String::new(), |other| quoted(other));
    for (is_found, code, message) in [
        (name.is_empty(), Code::NameEmpty, "the name is empty"),
        (name.contains('/'), Code::NameSlash, "the name contains a slash"),
        (name.trim() != name, Code::NameSpace, "the name begins or ends with whitespace"),
        (!name.chars().all(is_seen), Code::NameControl, "the name has control or invisible characters"),
        (
            !is_nfc(name),
            Code::NameNormal,
            "the name is not in the normal form NFC, so another one may look the same",
        ),
        (name.len() > LONG, Code::NameLong, &long),
        (
            !name.is_empty() && name.split('.').any(str::is_empty),
            Code::NamePart,
            "the name has an empty part, before, between or after dots",
        ),
        (
            group.is_some() && !name.is_empty(),
            Code::NameGroup,
            &format!("the name is that of a group, too, which has {member}"),
        ),
    ] {
        if is_found {
            found.push(Finding::new(code, entry.at, Some(name), message));
        }
    }
}

fn about_dtype(entry: &Entry, tensor: &IndexedTensor<'_>, found: &mut Vec<Finding>) {
    // The first release of the reference that reads it.
    let release = match tensor.dtype() {
        Dtype::F4 | Dtype::F6_E2M3 | Dtype::F6_E3M2 | Dtype::F8_E8M0 => "0.6",
        Dtype::C64 => "0.7",
        Dtype::F8_E4M3FNUZ | Dtype::F8_E5M2FNUZ => "0.8",
        _ => return,
    };
    let message = format!("releases of safetensors before {release} reject {}", tensor.dtype());
    found.push(Finding::new(Code::DtypeNew, entry.at, Some(tensor.name()), message));
}

/// Finds the first tensor that is not where the reference writes it. Not sorted by offset is worse than
/// sorted in another order.
fn about_order(tensors: &[(&Entry, IndexedTensor<'_>)], found: &mut Vec<Finding>) {
    let mut pairs = tensors.windows(2).map(|pair| (&pair[0].1, &pair[1]));
    let range = |tensor: &IndexedTensor<'_>| (tensor.begin(), tensor.end());
    if let Some((before, (entry, tensor))) = pairs.find(|(before, (_, tensor))| range(tensor) < range(before))
    {
        let message = format!("listed after {}, but its data comes first", quoted(before.name()));
        return found.push(Finding::new(Code::OffsetOrder, entry.at, Some(tensor.name()), message));
    }
    // Another order is what misaligns them.
    if found.iter().any(|finding| finding.code == Code::Tensor) {
        return;
    }
    let mut pairs = tensors.windows(2).map(|pair| (&pair[0].1, &pair[1]));
    let rank = |tensor: &IndexedTensor<'_>| (Reverse(tensor.dtype()), tensor.name().to_owned());
    if let Some((before, (entry, tensor))) = pairs.find(|(before, (_, tensor))| rank(tensor) < rank(before)) {
        let before = quoted(before.name());
        let message = format!("the reference, which sorts by dtype and name, writes it before {before}");
        found.push(Finding::new(Code::WriterOrder, entry.at, Some(tensor.name()), message));
    }
}

fn about_format(file: &Part, found: &mut Vec<Finding>) {
    let (missing, last) = match file.metadata().map(|pairs| pairs.get("format")) {
        None => ("there is no metadata", "4.47"),
        Some(None) => ("the metadata has no key \"format\"", "4.57"),
        Some(Some(value)) if FORMATS.contains(&value.as_str()) => return,
        Some(Some(value)) => {
            let known = "transformers 4.26 to 4.57 accepts only pt, tf, flax and mlx";
            let message = format!("the metadata has the format {}, but {known}", quoted(value));
            return found.push(Finding::new(Code::MetadataValue, TEXT, None, message));
        }
    };
    let message = format!("{missing}: transformers 4.26 to {last} rejects the file");
    found.push(Finding::new(Code::MetadataFormat, TEXT, None, message));
}
