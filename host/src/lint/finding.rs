//! The findings, and what each code means.

use super::rules::{LONG, is_seen};
use crate::input::discover::{ShardName, name_of};
use crate::text::{quoted_whole, shell_word};
use clap::ValueEnum;
use serde::Serialize;
use std::path::Path;
use unicode_normalization::UnicodeNormalization;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Something stumbles over it: the exit code is 1.
    Warning,
    /// Good to know.
    Note,
}

impl Level {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// Declares [`Code`]: a line for each code, with its level and what to do.
macro_rules! codes {
    ($($variant:ident, $name:literal, $level:ident, $advice:expr;)+) => {
        /// The subject of a finding.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
        pub enum Code {
            $(#[serde(rename = $name)] #[value(name = $name)] $variant,)+
        }

        impl Code {
            const fn facts(self) -> (&'static str, Level, &'static str) {
                match self {
                    $(Self::$variant => ($name, Level::$level, $advice),)+
                }
            }
        }
    };
}

const REWRITE: &str = "rewrite the file with `safetensors pack FILE -o new.safetensors`";

/// Advice to rename a tensor, after a reason.
macro_rules! rename {
    ($why:literal) => {
        concat!($why, "rename it with `safetensors pack FILE --rename OLD=NEW -o new.safetensors`")
    };
}

codes! {
    FirstByte, "header.first-byte", Warning, REWRITE;
    Whitespace, "canonical.whitespace", Warning, REWRITE;
    Escape, "canonical.escape", Warning, REWRITE;
    MemberOrder, "canonical.member-order", Note, REWRITE;
    UnknownMember, "entry.unknown-member", Warning, "move it to the metadata: no reader shows it";
    PaddingOther, "padding.not-spaces", Warning,
        "pad the header with spaces: `safetensors pack FILE -o new.safetensors`";
    PaddingLarge, "padding.large", Warning, "remove them with `safetensors pack FILE -o new.safetensors`";
    PaddingRoom, "padding.room", Note,
        "names and metadata can grow in place; `safetensors pack FILE -o new.safetensors` removes them";
    DataStart, "align.data", Warning, "align it with `safetensors pack FILE -o new.safetensors`";
    Tensor, "align.tensor", Warning,
        "align the tensors with `safetensors pack --align 64 FILE -o new.safetensors`";
    OffsetOrder, "order.offset", Warning,
        "a device needs sort slots or an index; `safetensors pack FILE -o new.safetensors` sorts them";
    WriterOrder, "order.writer", Note,
        "to get the order of the reference, use `safetensors pack --order canonical FILE -o new.safetensors`";
    NameEmpty, "name.empty", Warning, rename!("");
    NameSlash, "name.slash", Note, rename!("tools that make a file of each tensor need another name: ");
    NameSpace, "name.space", Warning, rename!("");
    NameControl, "name.control", Warning, rename!("");
    NameNormal, "name.not-nfc", Warning, rename!("names are compared byte for byte: ");
    NameLong, "name.long", Warning, rename!("");
    NamePart, "name.empty-part", Warning, rename!("no torch module has such a name: ");
    NameGroup, "name.group", Note, rename!("no torch module has both: ");
    DtypeNew, "dtype.new", Note,
        "if old readers matter, cast it with `safetensors convert FILE --to F32 --only TENSOR -o new.safetensors`, which takes all but C64";
    MetadataFormat, "metadata.format", Note,
        "`safetensors pack --set format=pt FILE -o new.safetensors` adds it";
    MetadataValue, "metadata.format-value", Warning,
        "set it with `safetensors pack --set format=pt FILE -o new.safetensors`";
    Duplicate, "data.duplicate", Warning, "store one of them, and tie the others to it in the program";
}

impl Code {
    /// The stable name.
    pub const fn name(self) -> &'static str {
        self.facts().0
    }

    pub const fn level(self) -> Level {
        self.facts().1
    }

    /// What to do, as a sentence without its end; a command in it names FILE, TENSOR and OLD=NEW.
    pub const fn advice(self) -> &'static str {
        self.facts().2
    }
}

/// One finding.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    pub code: Code,
    pub level: Level,
    /// The file of a model that has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The offset in the file.
    pub at: u64,
    /// The problem, as a sentence without its end.
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tensor: Option<String>,
}

impl Finding {
    pub fn new(code: Code, at: u64, tensor: Option<&str>, message: impl Into<String>) -> Self {
        let (level, tensor) = (code.level(), tensor.map(str::to_owned));
        Self { code, level, file: None, at, message: message.into(), tensor }
    }

    /// The sentence, with the names.
    pub fn sentence(&self) -> String {
        let tensor =
            self.tensor.as_ref().map_or(String::new(), |name| format!("tensor {}: ", quoted_whole(name)));
        format!("{tensor}{}", self.message)
    }

    /// What to do about this file, as a sentence without its end. A command in it can be run as it stands, or
    /// names FILE, TENSOR or OLD=NEW, if none can that is as simple.
    pub fn advice(&self, file: &Path, is_taken: impl Fn(&str) -> bool) -> String {
        let (name, path) = (self.tensor.as_deref().unwrap_or_default(), file.to_string_lossy());
        let advice = self.code.advice();
        let (new, is_shard) = (renamed(name), ShardName::parse(&name_of(file)).is_some());
        let is_new = !advice.contains("OLD=NEW") || !(is_taken(&new) || name.contains(['=', '*', '?', '[']));
        if is_shard || name.contains('\0') || !is_new {
            return advice.to_owned();
        }
        let glob =
            |letter: char| if "*?[".contains(letter) { format!("[{letter}]") } else { letter.to_string() };
        let words = advice.split(' ').map(|word| match word {
            "FILE" if path.len() > 1 && path.starts_with('-') => shell_word(&format!("./{path}")),
            "FILE" => shell_word(&path),
            "TENSOR" => shell_word(&name.chars().map(glob).collect::<String>()),
            "OLD=NEW" => shell_word(&format!("{name}={new}")),
            word => word.to_owned(),
        });
        words.collect::<Vec<_>>().join(" ")
    }
}

/// A name like this one in which no rule about single names finds anything.
fn renamed(name: &str) -> String {
    let mut seen: String = name.nfc().filter(|letter| is_seen(*letter)).collect();
    while seen.len() >= LONG {
        seen.pop();
    }
    let parts = seen.split(['.', '/']).map(str::trim).filter(|part| !part.is_empty());
    let new = parts.collect::<Vec<_>>().join(".");
    // There is nothing else, or a group of the same name.
    if new.is_empty() || new == name { new + "_" } else { new }
}
