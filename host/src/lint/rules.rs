//! The rules for one file.

use crate::error::Error;
use crate::input::model::{Part, Tensor};
use crate::input::source::pieces;
use crate::lint::finding::{Code, Finding};
use crate::lint::groups::Groups;
use crate::lint::scan::{Entry, HeaderText, TEXT};
use crate::print::facts::{alignment, element_width};
use crate::text::{counted, grouped, is_plain, quoted};
use embedded_safetensors::Dtype;
use std::collections::{HashMap, HashSet};
use unicode_normalization::{char::is_combining_mark, is_nfc};

/// What the reference pads headers to.
const UNIT: u64 = 8;
/// More spaces at the end of a header are a waste.
const MUCH: u64 = 64 << 10;
/// Longer names do not fit into many tools and file systems.
const LONG: usize = 255;
/// Bytes read at a time.
const BUFFER: usize = 64 << 10;

/// The formats that transformers accepts: `mlx` since 4.39.
const FORMATS: [&str; 4] = ["pt", "tf", "flax", "mlx"];

/// All findings about a file, but equal tensors. The groups are those of the model.
///
/// # Errors
/// The file cannot be read.
pub fn findings(file: &Part, groups: &Groups<'_>) -> Result<Vec<Finding>, Error> {
    let data_start = file.index().summary().data_start;
    let (mut text, mut buffer) = (Vec::new(), vec![0; BUFFER]);
    let read = pieces::<crate::error::not_read::NotRead>(file, TEXT..data_start, &mut buffer, |piece| {
        text.extend_from_slice(piece);
        Ok(())
    });
    read.map_err(|reason| Error::not_read(file.path(), reason))?;
    let header = HeaderText::of(&text);
    drop(text);
    let mut found = Vec::new();
    header_text(&header, data_start, &mut found);
    let padding = file.padding()?;
    let by_name: HashMap<&str, Tensor<'_>> = file.tensors().map(|tensor| (tensor.name(), tensor)).collect();
    for entry in &header.entries {
        if let Some(tensor) = by_name.get(entry.name.as_str()) {
            member(entry, &mut found);
            if !padding.contains(&entry.name) {
                name(entry, groups, &mut found);
                dtype(entry, tensor.dtype(), &mut found);
            }
            align(entry, tensor, data_start, &mut found);
        }
    }
    order(&header, &by_name, &padding, &mut found);
    format(file, &mut found);
    Ok(found)
}

fn header_text(header: &HeaderText, data_start: u64, found: &mut Vec<Finding>) {
    let mut say = |code, at, message: String| found.push(Finding::new(code, at, message));
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
    let end = data_start - header.room;
    if let Some(at) = header.other_padding {
        say(Code::PaddingOther, at, "the header is padded with something other than spaces".to_owned());
    } else if header.room > MUCH {
        say(Code::PaddingLarge, end, format!("the header ends with {} spaces", grouped(header.room)));
    } else if header.room >= UNIT {
        say(Code::PaddingRoom, end, format!("the header ends with {} spaces", grouped(header.room)));
    }
    if !data_start.is_multiple_of(UNIT) {
        let message = format!("the data begins at byte {data_start}, which is no multiple of {UNIT}");
        say(Code::DataStart, data_start, message);
    }
}

fn member(entry: &Entry, found: &mut Vec<Finding>) {
    if let Some((at, unknown)) = &entry.unknown {
        let message = format!("unknown member {}", quoted(unknown));
        found.push(Finding::of(Code::UnknownMember, *at, &entry.name, message));
    }
    if !entry.is_ordered {
        let message = "its members are not in the order dtype, shape, data_offsets";
        found.push(Finding::of(Code::MemberOrder, entry.at, &entry.name, message));
    }
}

fn name(entry: &Entry, groups: &Groups<'_>, found: &mut Vec<Finding>) {
    let name = entry.name.as_str();
    let mut say = |code, message: &str| found.push(Finding::of(code, entry.at, name, message));
    if name.is_empty() {
        say(Code::NameEmpty, "the name is empty");
    }
    if name.contains('/') {
        say(Code::NameSlash, "the name contains a slash");
    }
    if name.trim() != name {
        say(Code::NameSpace, "the name begins or ends with whitespace");
    }
    // A combining mark has no width, but it is seen.
    if name.chars().any(|character| !is_plain(character) && !is_combining_mark(character)) {
        say(Code::NameControl, "the name has control or invisible characters");
    }
    if !is_nfc(name) {
        say(Code::NameNormal, "the name is not in the normal form NFC, so another one may look the same");
    }
    if name.len() > LONG {
        say(Code::NameLong, &format!("the name has {} bytes, more than {LONG}", grouped(name.len() as u64)));
    }
    if !name.is_empty() && name.split('.').any(str::is_empty) {
        say(Code::NamePart, "the name has an empty part, before, between or after dots");
    }
    if let Some(other) = groups.get(name).filter(|_| !name.is_empty()) {
        say(Code::NameGroup, &format!("the name is that of a group, too, which has {}", quoted(other)));
    }
}

/// The first release of the reference that reads a dtype; None if all known ones do.
fn first_release(dtype: Dtype) -> Option<&'static str> {
    match dtype {
        Dtype::F4 | Dtype::F6_E2M3 | Dtype::F6_E3M2 | Dtype::F8_E8M0 => Some("0.6"),
        Dtype::C64 => Some("0.7"),
        Dtype::F8_E4M3FNUZ | Dtype::F8_E5M2FNUZ => Some("0.8"),
        _ => None,
    }
}

fn dtype(entry: &Entry, dtype: Dtype, found: &mut Vec<Finding>) {
    if let Some(release) = first_release(dtype) {
        let message = format!("releases of safetensors before {release} reject {dtype}");
        found.push(Finding::of(Code::DtypeNew, entry.at, &entry.name, message));
    }
}

fn align(entry: &Entry, tensor: &Tensor<'_>, data_start: u64, found: &mut Vec<Finding>) {
    let (width, at) = (element_width(tensor.dtype()), data_start + tensor.begin());
    if tensor.byte_len() > 0 && alignment(data_start, tensor.begin()) < width {
        let message =
            format!("it begins at byte {}, which is no multiple of its element width, {width}", grouped(at));
        found.push(Finding::of(Code::Tensor, at, &entry.name, message));
    }
}

/// The first tensor that is not where the reference writes it. Not sorted by offset is worse than sorted in
/// another order.
fn order(
    header: &HeaderText,
    by_name: &HashMap<&str, Tensor<'_>>,
    padding: &HashSet<String>,
    found: &mut Vec<Finding>,
) {
    let listed = header.entries.iter().filter(|entry| !padding.contains(&entry.name));
    let tensors: Vec<_> =
        listed.filter_map(|entry| Some((entry, by_name.get(entry.name.as_str())?))).collect();
    let mut pairs = tensors.windows(2);
    let range = |tensor: &Tensor<'_>| (tensor.begin(), tensor.end());
    if let Some([(before, _), (entry, _)]) = pairs.find(|pair| range(pair[1].1) < range(pair[0].1)) {
        let message = format!("listed after {}, but its data comes first", quoted(&before.name));
        return found.push(Finding::of(Code::OffsetOrder, entry.at, &entry.name, message));
    }
    // Another order is what misaligns them.
    if found.iter().any(|finding| finding.code == Code::Tensor) {
        return;
    }
    let rank =
        |(entry, tensor): &(&Entry, &Tensor<'_>)| (std::cmp::Reverse(tensor.dtype()), entry.name.clone());
    if let Some(pair) = tensors.windows(2).find(|pair| rank(&pair[1]) < rank(&pair[0])) {
        let [(before, _), (entry, _)] = [pair[0], pair[1]];
        let message = format!(
            "the reference, which sorts by dtype and name, writes it before {}",
            quoted(&before.name)
        );
        found.push(Finding::of(Code::WriterOrder, entry.at, &entry.name, message));
    }
}

fn format(file: &Part, found: &mut Vec<Finding>) {
    let mut say = |code, message: &str| found.push(Finding::new(code, TEXT, message));
    let missing = "transformers 4.26 to 4.47 rejects the file";
    match file.metadata().map(|pairs| pairs.get("format")) {
        None => {
            say(Code::MetadataFormat, &format!("there is no metadata with the key \"format\": {missing}"));
        }
        Some(None) => {
            say(
                Code::MetadataFormat,
                "the metadata has no key \"format\": transformers 4.26 to 4.57 rejects the file",
            );
        }
        Some(Some(value)) if FORMATS.contains(&value.as_str()) => {}
        Some(Some(value)) => {
            let known = "transformers 4.26 to 4.57 accepts only pt, tf, flax and mlx";
            say(Code::MetadataValue, &format!("the metadata has the format {}, but {known}", quoted(value)));
        }
    }
}
