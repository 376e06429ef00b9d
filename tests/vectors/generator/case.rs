//! One conformance vector as its author writes it, and the functions to write it with.
//!
//! The byte of an error is marked by hand: the text of a case holds the marker `¦` (the two bytes C2 A6) just
//! before the byte at which a reader must report it. No parser is asked.

use crate::recipe::{Part, Recipe};

/// Marks the byte at which the error shows; it is not part of the file.
pub const MARKER: &[u8] = "¦".as_bytes();

/// One vector, before anything is computed from it.
#[derive(Clone, Copy)]
pub struct Case {
    /// Area and subject, the stem of the file's name; never reused.
    pub id: &'static str,
    /// The rule of RULES.md that it tests.
    pub rule: &'static str,
    /// Why it exists.
    pub reason: &'static str,
    /// The content of the file.
    pub body: Body,
    /// This project's verdict.
    pub expect: Expect,
    /// The listed deviation from the reference that it shows.
    pub deviation: Option<&'static str>,
    /// The number of rules it breaks: with one, the class of the error is determined too.
    pub faults: u8,
    /// Flags besides those of its area.
    pub flags: &'static [&'static str],
    /// Whose rule its verdict is, if not that of its rule.
    pub source: Option<&'static str>,
    /// Whether readers may differ although it shows no listed deviation.
    pub either: bool,
    /// What the format's published text says, where readers may differ.
    pub published: Option<&'static str>,
    /// The id of its twin, if it is not the closest valid vector.
    pub twin: Option<&'static str>,
    /// Why it differs from its twin in more than one place or a few bytes.
    pub unlike: Option<&'static str>,
    /// The classes of which the reference 0.8.0 reports a random one.
    pub random: &'static [&'static str],
}

/// The content of a file.
#[derive(Clone, Copy)]
pub enum Body {
    /// A header after its true length, and data.
    Header(Header),
    /// Every byte of the file.
    Raw(&'static [u8]),
    /// How to make a file that is too large to be stored.
    Recipe(Recipe),
}

/// A header in three pieces, so that templates can wrap a text without allocating.
#[derive(Clone, Copy)]
pub struct Header {
    /// Before the text of interest.
    pub before: &'static str,
    /// The text of interest.
    pub text: &'static [u8],
    /// After it.
    pub after: &'static str,
    /// Bytes of data after the header.
    pub data: u64,
    /// The claimed length, if it is not the true one.
    pub claims: Option<u64>,
    /// The same header without the part that the reference rejects: its tensors are read from this one.
    pub twin: Option<&'static str>,
}

/// This project's verdict.
#[derive(Clone, Copy)]
pub enum Expect {
    /// The file is accepted.
    Accept,
    /// The file is rejected.
    Reject {
        /// The stable code of the error.
        code: &'static str,
        /// Where it shows.
        at: At,
    },
}

/// Where an error shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// At the marker.
    Marker,
    /// At this byte of the file.
    Byte(u64),
    /// At the end of the file.
    FileEnd,
    /// At this byte of the data.
    Data(u64),
}

/// Returns a case that is accepted.
pub const fn ok(id: &'static str, rule: &'static str, body: Body, reason: &'static str) -> Case {
    new(id, rule, Expect::Accept, body, reason)
}

/// Returns a case that is rejected with this code, at the marker.
pub const fn bad(
    id: &'static str,
    rule: &'static str,
    code: &'static str,
    body: Body,
    reason: &'static str,
) -> Case {
    new(id, rule, Expect::Reject { code, at: At::Marker }, body, reason)
}

const fn new(id: &'static str, rule: &'static str, expect: Expect, body: Body, reason: &'static str) -> Case {
    Case {
        id,
        rule,
        reason,
        body,
        expect,
        deviation: None,
        faults: 1,
        flags: &[],
        source: None,
        either: false,
        published: None,
        twin: None,
        unlike: None,
        random: &[],
    }
}

impl Case {
    /// Marks it as an example of this listed deviation.
    pub const fn deviates(mut self, deviation: &'static str) -> Self {
        self.deviation = Some(deviation);
        self
    }

    /// Sets the number of broken rules. With more than one, the class of the error is not determined.
    pub const fn faults(mut self, faults: u8) -> Self {
        self.faults = faults;
        self
    }

    /// Sets flags besides those of its area.
    pub const fn flags(mut self, flags: &'static [&'static str]) -> Self {
        self.flags = flags;
        self
    }

    /// Sets whose rule its verdict is: `text`, `json` or `reference`.
    pub const fn source(mut self, source: &'static str) -> Self {
        self.source = Some(source);
        self
    }

    /// Allows readers to differ: only the reference's behaviour decides.
    pub const fn either(mut self) -> Self {
        self.either = true;
        self.source("reference")
    }

    /// Allows readers to differ, because the published text says the opposite of the reference: this.
    pub const fn published(mut self, verdict: &'static str) -> Self {
        self.published = Some(verdict);
        self.either()
    }

    /// Sets the valid vector that is the same but for the fault.
    pub const fn twin(mut self, id: &'static str) -> Self {
        self.twin = Some(id);
        self
    }

    /// Sets a twin that differs in more than one place or a few bytes, and says why.
    pub const fn unlike(mut self, id: &'static str, why: &'static str) -> Self {
        self.unlike = Some(why);
        self.twin(id)
    }

    /// Sets the classes of which the reference reports one at random.
    pub const fn random(mut self, classes: &'static [&'static str]) -> Self {
        self.random = classes;
        self
    }

    /// Sets where the error shows, if not at a marker.
    pub const fn at(mut self, place: At) -> Self {
        if let Expect::Reject { code, .. } = self.expect {
            self.expect = Expect::Reject { code, at: place };
        }
        self
    }
}

impl Body {
    /// Sets the number of bytes of data.
    pub const fn data(self, data: u64) -> Self {
        match self {
            Self::Header(header) => Self::Header(Header { data, ..header }),
            other => other,
        }
    }

    /// Sets the claimed header length, true or not.
    pub const fn claims(self, length: u64) -> Self {
        match self {
            Self::Header(header) => Self::Header(Header { claims: Some(length), ..header }),
            Self::Recipe(recipe) => Self::Recipe(Recipe { length: Some(length), ..recipe }),
            raw => raw,
        }
    }

    /// Takes its tensors from this header, which the reference accepts too.
    pub const fn like(self, twin: &'static str) -> Self {
        match self {
            Self::Header(header) => Self::Header(Header { twin: Some(twin), ..header }),
            other => other,
        }
    }
}

/// Keeps a text that is made for a case.
pub fn leak(text: String) -> &'static str {
    text.leak()
}

/// An entire file, byte by byte.
pub const fn raw(file: &'static [u8]) -> Body {
    Body::Raw(file)
}

/// An entire header in bytes.
pub const fn bytes(text: &'static [u8]) -> Body {
    wrapped("", text, "", 0)
}

/// A file made by a recipe: the pieces of its header, and of its data.
pub const fn recipe(header: &'static [Part], data: &'static [Part]) -> Body {
    Body::Recipe(Recipe { header, data, length: None })
}

const fn wrapped(before: &'static str, text: &'static [u8], after: &'static str, data: u64) -> Body {
    Body::Header(Header { before, text, after, data, claims: None, twin: None })
}

/// The members of the entry of a tensor of one byte.
pub const MEMBERS: &str = r#""dtype":"U8","shape":[1],"data_offsets":[0,1]"#;

/// A header with a tensor of one byte.
pub const TENSOR: &str = r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#;

/// A header with a tensor, and a text after its object.
pub const fn tensor_then(text: &'static [u8]) -> Body {
    wrapped(TENSOR, text, "", 1)
}

/// The inside of a tensor's name, in bytes.
pub const fn name_bytes(text: &'static [u8]) -> Body {
    wrapped(r#"{""#, text, r#"":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#, 1)
}

/// The inside of a string that is a value in `__metadata__`, in bytes.
pub const fn value_bytes(text: &'static [u8]) -> Body {
    wrapped(r#"{"__metadata__":{"k":""#, text, r#""}}"#, 0)
}

/// The dtype of a tensor, with a shape and data for elements of this many bits.
pub const fn dtype_of(bits: u64, text: &'static str) -> Body {
    let (after, data) = match bits {
        4 => (r#","shape":[8],"data_offsets":[0,4]}}"#, 4),
        6 => (r#","shape":[8],"data_offsets":[0,6]}}"#, 6),
        32 => (r#","shape":[8],"data_offsets":[0,32]}}"#, 32),
        128 => (r#","shape":[4],"data_offsets":[0,64]}}"#, 64),
        _ => panic!("no dtype of this width is asked for"),
    };
    wrapped(r#"{"a":{"dtype":"#, text.as_bytes(), after, data)
}

/// Bodies with a text at a place of a header: what is before and after it, and the bytes of data.
macro_rules! places {
    ($($(#[$doc:meta])* $place:ident: $before:expr, $after:expr, $data:literal;)*) => {$(
        $(#[$doc])*
        pub const fn $place(text: &'static str) -> Body {
            wrapped($before, text.as_bytes(), $after, $data)
        }
    )*};
}

places! {
    /// An entire header.
    json: "", "", 0;
    /// A text before a header with a tensor.
    then_tensor: "", TENSOR, 1;
    /// The inside of a header after its first brace, up to the entry of a tensor.
    before_name: "{", r#"{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#, 1;
    /// The place after the first comma of an entry.
    in_entry: r#"{"a":{"dtype":"U8","#, r#""shape":[1],"data_offsets":[0,1]}}"#, 1;
    /// The value of `__metadata__` before a tensor.
    metadata_then_tensor:
        r#"{"__metadata__":"#, r#","t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#, 1;
    /// A tensor's entry, for one byte of data.
    entry: r#"{"a":"#, "}", 1;
    /// The members of a tensor's entry, for one byte of data.
    members: r#"{"a":{"#, "}}", 1;
    /// The dtype of a tensor of eight elements, for eight bytes of data.
    dtype: r#"{"a":{"dtype":"#, r#","shape":[8],"data_offsets":[0,8]}}"#, 8;
    /// The shape of a tensor of one byte.
    shape: r#"{"a":{"dtype":"U8","shape":"#, r#","data_offsets":[0,1]}}"#, 1;
    /// The shape of a tensor of no bytes.
    empty_shape: r#"{"a":{"dtype":"U8","shape":"#, r#","data_offsets":[0,0]}}"#, 0;
    /// The offsets of a tensor of no bytes.
    empty_offsets: r#"{"a":{"dtype":"U8","shape":[0],"data_offsets":"#, "}}", 0;
    /// The offsets of a tensor of one byte.
    offsets: r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":"#, "}}", 1;
    /// The value of an unknown member of an otherwise valid entry.
    unknown: r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":"#, "}}", 1;
    /// The inside of a tensor's name.
    name: r#"{""#, r#"":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#, 1;
    /// The value of `__metadata__`.
    metadata: r#"{"__metadata__":"#, "}", 0;
    /// The inside of a string that is a value in `__metadata__`.
    value: r#"{"__metadata__":{"k":""#, r#""}}"#, 0;
}

/// A header of tensors, each `(name, dtype, shape, offsets)`.
macro_rules! tensors {
    ($(($name:literal $dtype:literal $shape:literal $offsets:literal)),*) => {
        crate::case::joined!($(concat!(
            "\"", $name, "\":{\"dtype\":\"", $dtype, "\",\"shape\":", $shape,
            ",\"data_offsets\":", $offsets, "}"
        )),*)
    };
}

/// Members of the header's object, with commas between them.
macro_rules! joined {
    ($first:expr $(, $rest:expr)*) => {
        crate::case::json(concat!("{", $first $(, ",", $rest)*, "}"))
    };
}

pub(crate) use {joined, tensors};
