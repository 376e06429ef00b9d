//! Two verdicts on one file, and which differences between them are allowed.

use std::fmt;

use crate::reference::{LATEST, Rejection};
use crate::verdict::Reader;
use embedded_safetensors::{Error, ErrorKind, error::Class, tensor::MAX_RANK, validate::validate_header};
use vectors::table::Table;

use crate::forms::{Forms, forms};

/// The verdicts of both readers.
pub struct Verdicts {
    /// This project's.
    pub ours: Result<Table, Error>,
    /// The reference's.
    pub theirs: Result<Table, Rejection>,
}

/// Asks both readers.
pub fn verdicts(file: &[u8], reader: &Reader) -> Verdicts {
    Verdicts { ours: reader.verdict(file), theirs: LATEST.read(file) }
}

impl Verdicts {
    /// Returns the category of an agreement to count by, or why these verdicts must not differ.
    ///
    /// # Errors
    /// A sentence.
    pub fn agreement(&self, file: &[u8]) -> Result<&'static str, String> {
        match (&self.ours, &self.theirs) {
            (Err(error), _) if error.kind.class() != Class::File => Err(format!("not a verdict: {error}")),
            (Err(error), _) if error.at > file.len() as u64 => Err(format!("beyond the file: {error}")),
            (Ok(ours), Ok(theirs)) => agree_on_tables(file, ours, theirs),
            (Err(error), Err(_)) => Ok(error.kind.code()),
            (Err(error), Ok(_)) => allow_rejection(forms(file).unwrap_or_default(), error),
            (Ok(_), Err(rejection)) => allow_acceptance(rejection),
        }
    }
}

impl fmt::Display for Verdicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.ours {
            Ok(table) => writeln!(f, "this project accepts {table:?}")?,
            Err(error) => writeln!(f, "this project: error[{}] at byte {}", error.kind.code(), error.at)?,
        }
        match &self.theirs {
            Ok(table) => write!(f, "  the reference accepts {table:?}"),
            Err(rejection) => write!(f, "  the reference: {} ({})", rejection.class, rejection.text),
        }
    }
}

fn agree_on_tables(file: &[u8], ours: &Table, theirs: &Table) -> Result<&'static str, String> {
    if forms(file) != Some(Forms::default()) {
        return Err(format!("accepted, although it holds {:?}", forms(file)));
    }
    if ours == theirs { Ok(word_for(file, ours)) } else { Err("the tables differ".to_owned()) }
}

fn word_for(file: &[u8], table: &Table) -> &'static str {
    let is_out_of_order =
        validate_header(file, &mut []).is_err_and(|error| error.kind == ErrorKind::OutOfOrder);
    let has_many_dims = table.tensors.iter().any(|tensor| tensor.shape.len() > MAX_RANK);
    match (table.tensors.len(), &table.metadata) {
        _ if is_out_of_order => "valid: not in the order of the offsets",
        _ if has_many_dims => "valid: more dimensions than a shape holds",
        (0, None) => "valid: nothing",
        (0, Some(_)) => "valid: metadata alone",
        (_, None) => "valid: tensors alone",
        (_, Some(_)) => "valid: tensors and metadata",
    }
}

/// D1 to D4. Of a duplicate name, the earlier tensor counts for this project's other checks.
fn allow_rejection(forms: Forms, error: &Error) -> Result<&'static str, String> {
    match error.kind.code() {
        "name.duplicate" if forms.duplicate_name => Ok("D1"),
        "metadata.duplicate" if forms.duplicate_key => Ok("D2"),
        "entry.array" if forms.array_entry => Ok("D3"),
        "dtype.object" if forms.dtype_object => Ok("D4"),
        code if forms.duplicate_name && is_of_tensors(code) => Ok("D1: the earlier tensor is at fault"),
        code => Err(format!("only the reference accepts; {code}, but the file holds {forms:?}")),
    }
}

fn is_of_tensors(code: &str) -> bool {
    ["tensor.", "layout.", "data."].iter().any(|area| code.starts_with(area))
}

/// D5.
fn allow_acceptance(rejection: &Rejection) -> Result<&'static str, String> {
    if rejection.class == "JSON" && rejection.text.contains("number out of range") {
        return Ok("D5");
    }
    Err("only the reference rejects".to_owned())
}
