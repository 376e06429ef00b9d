//! The findings, and what each code means.

use crate::text::quoted_whole;
use clap::ValueEnum;
use serde::Serialize;

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
    ($($variant:ident, $name:literal, $level:ident, $advice:literal;)+) => {
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

codes! {
    FirstByte, "header.first-byte", Warning, "rewrite the file with `safetensors pack FILE -o NEW`";
    Whitespace, "canonical.whitespace", Warning, "rewrite the file with `safetensors pack FILE -o NEW`";
    Escape, "canonical.escape", Warning, "rewrite the file with `safetensors pack FILE -o NEW`";
    MemberOrder, "canonical.member-order", Note, "rewrite the file with `safetensors pack FILE -o NEW`";
    UnknownMember, "entry.unknown-member", Warning, "move it to the metadata: no reader shows it";
    PaddingOther, "padding.not-spaces", Warning, "pad the header with spaces: `safetensors pack FILE -o NEW`";
    PaddingLarge, "padding.large", Warning, "remove them with `safetensors pack FILE -o NEW`";
    PaddingRoom, "padding.room", Note, "names and metadata can grow in place; `safetensors pack FILE -o NEW` removes them";
    DataStart, "align.data", Warning, "align it with `safetensors pack FILE -o NEW`";
    Tensor, "align.tensor", Warning, "align the tensors with `safetensors pack --align 64 FILE -o NEW`";
    OffsetOrder, "order.offset", Warning, "a device needs sort slots or an index; `safetensors pack FILE -o NEW` sorts them";
    WriterOrder, "order.writer", Note, "to get the order of the reference, use `safetensors pack --order canonical FILE -o NEW`";
    NameEmpty, "name.empty", Warning, "rename it with `safetensors pack --rename`";
    NameSlash, "name.slash", Note, "tools that make a file of each tensor need another name; see `safetensors pack --rename`";
    NameSpace, "name.space", Warning, "rename it with `safetensors pack --rename`";
    NameControl, "name.control", Warning, "rename it with `safetensors pack --rename`";
    NameNormal, "name.not-nfc", Warning, "names are compared byte for byte: rename it to the form NFC";
    NameLong, "name.long", Warning, "rename it with `safetensors pack --rename`";
    NamePart, "name.empty-part", Warning, "no torch module has such a name: rename it with `safetensors pack --rename`";
    NameGroup, "name.group", Note, "no torch module has both; see `safetensors pack --rename`";
    DtypeNew, "dtype.new", Note, "if old readers matter, cast it with `safetensors convert --to`, which takes all but C64";
    MetadataFormat, "metadata.format", Note, "`safetensors pack --set format=pt` adds it";
    MetadataValue, "metadata.format-value", Warning, "set it with `safetensors pack --set format=pt`";
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

    /// What to do, as a sentence without its end.
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
    /// What to do.
    pub advice: &'static str,
}

impl Finding {
    pub fn new(code: Code, at: u64, tensor: Option<&str>, message: impl Into<String>) -> Self {
        let (level, advice, tensor) = (code.level(), code.advice(), tensor.map(str::to_owned));
        Self { code, level, file: None, at, message: message.into(), tensor, advice }
    }

    /// The sentence, with the names.
    pub fn sentence(&self) -> String {
        let tensor =
            self.tensor.as_ref().map_or(String::new(), |name| format!("tensor {}: ", quoted_whole(name)));
        format!("{tensor}{}", self.message)
    }
}
