//! Files from elsewhere: other encodings, other formats, transfers as text, keys that only look right or that
//! JavaScript treats specially.

use crate::case::{At, Case, bad, bytes, dtype, json, members, metadata, name, ok, raw};

const UTF8: &str = "text.utf8";
const SYNTAX: &str = "json.syntax";
const MISSING: &str = "entry.missing";
const UNKNOWN: &str = "dtype.unknown";
const LARGE: &str = "container.header-too-large";
const BEYOND: &str = "container.header-beyond-file";
const SURROGATE: &str = "json.surrogate";

#[rustfmt::skip] // One case, one or two lines.
pub const ENCODINGS: &[Case] = &[
    bad("encoding-utf16le-bom", "text-1", UTF8, bytes(b"\xC2\xA6\xFF\xFE{\0\"\0a\0\"\0:\0{\0\"\0d\0t\0y\0p\0e\0\"\0:\0\"\0U\x008\0\"\0,\0\"\0s\0h\0a\0p\0e\0\"\0:\0[\x001\0]\0,\0\"\0d\0a\0t\0a\0_\0o\0f\0f\0s\0e\0t\0s\0\"\0:\0[\x000\0,\x001\0]\0}\0}\0").data(1), "A header with a tensor in UTF-16 with its mark: some JSON libraries detect it.").flags(&["bom"]).unlike("entry-object", "Every byte is encoded in another way."),
    bad("encoding-utf16be-bom", "text-1", UTF8, bytes(b"\xC2\xA6\xFE\xFF\0{\0\"\0a\0\"\0:\0{\0\"\0d\0t\0y\0p\0e\0\"\0:\0\"\0U\x008\0\"\0,\0\"\0s\0h\0a\0p\0e\0\"\0:\0[\x001\0]\0,\0\"\0d\0a\0t\0a\0_\0o\0f\0f\0s\0e\0t\0s\0\"\0:\0[\x000\0,\x001\0]\0}\0}").data(1), "A header with a tensor in big-endian UTF-16 with its mark.").flags(&["bom"]).unlike("entry-object", "Every byte is encoded in another way."),
    bad("encoding-utf16le", "text-2", SYNTAX, bytes(b"{\xC2\xA6\0\"\0a\0\"\0:\0{\0\"\0d\0t\0y\0p\0e\0\"\0:\0\"\0U\x008\0\"\0,\0\"\0s\0h\0a\0p\0e\0\"\0:\0[\x001\0]\0,\0\"\0d\0a\0t\0a\0_\0o\0f\0f\0s\0e\0t\0s\0\"\0:\0[\x000\0,\x001\0]\0}\0}\0").data(1), "A header with a tensor in UTF-16 without a mark: the zeros tell.").unlike("entry-object", "Every byte is encoded in another way."),
    bad("encoding-utf16be", "text-2", SYNTAX, bytes(b"\xC2\xA6\0{\0\"\0a\0\"\0:\0{\0\"\0d\0t\0y\0p\0e\0\"\0:\0\"\0U\x008\0\"\0,\0\"\0s\0h\0a\0p\0e\0\"\0:\0[\x001\0]\0,\0\"\0d\0a\0t\0a\0_\0o\0f\0f\0s\0e\0t\0s\0\"\0:\0[\x000\0,\x001\0]\0}\0}").data(1), "A header with a tensor in big-endian UTF-16 without a mark.").unlike("entry-object", "Every byte is encoded in another way."),
    bad("encoding-utf32le", "text-2", SYNTAX, bytes(b"{\xC2\xA6\0\0\0\"\0\0\0a\0\0\0\"\0\0\0:\0\0\0{\0\0\0\"\0\0\0d\0\0\0t\0\0\0y\0\0\0p\0\0\0e\0\0\0\"\0\0\0:\0\0\0\"\0\0\0U\0\0\x008\0\0\0\"\0\0\0,\0\0\0\"\0\0\0s\0\0\0h\0\0\0a\0\0\0p\0\0\0e\0\0\0\"\0\0\0:\0\0\0[\0\0\x001\0\0\0]\0\0\0,\0\0\0\"\0\0\0d\0\0\0a\0\0\0t\0\0\0a\0\0\0_\0\0\0o\0\0\0f\0\0\0f\0\0\0s\0\0\0e\0\0\0t\0\0\0s\0\0\0\"\0\0\0:\0\0\0[\0\0\x000\0\0\0,\0\0\x001\0\0\0]\0\0\0}\0\0\0}\0\0\0").data(1), "A header with a tensor in UTF-32 without a mark.").unlike("entry-object", "Every byte is encoded in another way."),
    bad("encoding-utf32be", "text-2", SYNTAX, bytes(b"\xC2\xA6\0\0\0{\0\0\0\"\0\0\0a\0\0\0\"\0\0\0:\0\0\0{\0\0\0\"\0\0\0d\0\0\0t\0\0\0y\0\0\0p\0\0\0e\0\0\0\"\0\0\0:\0\0\0\"\0\0\0U\0\0\x008\0\0\0\"\0\0\0,\0\0\0\"\0\0\0s\0\0\0h\0\0\0a\0\0\0p\0\0\0e\0\0\0\"\0\0\0:\0\0\0[\0\0\x001\0\0\0]\0\0\0,\0\0\0\"\0\0\0d\0\0\0a\0\0\0t\0\0\0a\0\0\0_\0\0\0o\0\0\0f\0\0\0f\0\0\0s\0\0\0e\0\0\0t\0\0\0s\0\0\0\"\0\0\0:\0\0\0[\0\0\x000\0\0\0,\0\0\x001\0\0\0]\0\0\0}\0\0\0}").data(1), "A header with a tensor in big-endian UTF-32 without a mark.").unlike("entry-object", "Every byte is encoded in another way."),
    bad("encoding-utf32le-bom", "text-1", UTF8, bytes(b"\xC2\xA6\xFF\xFE\0\0{\0\0\0\"\0\0\0a\0\0\0\"\0\0\0:\0\0\0{\0\0\0\"\0\0\0d\0\0\0t\0\0\0y\0\0\0p\0\0\0e\0\0\0\"\0\0\0:\0\0\0\"\0\0\0U\0\0\x008\0\0\0\"\0\0\0,\0\0\0\"\0\0\0s\0\0\0h\0\0\0a\0\0\0p\0\0\0e\0\0\0\"\0\0\0:\0\0\0[\0\0\x001\0\0\0]\0\0\0,\0\0\0\"\0\0\0d\0\0\0a\0\0\0t\0\0\0a\0\0\0_\0\0\0o\0\0\0f\0\0\0f\0\0\0s\0\0\0e\0\0\0t\0\0\0s\0\0\0\"\0\0\0:\0\0\0[\0\0\x000\0\0\0,\0\0\x001\0\0\0]\0\0\0}\0\0\0}\0\0\0").data(1), "A header with a tensor in UTF-32 with its mark.").flags(&["bom"]).unlike("entry-object", "Every byte is encoded in another way."),
    bad("encoding-utf32be-bom", "order-1", SYNTAX, bytes(b"\xC2\xA6\0\0\xFE\xFF\0\0\0{\0\0\0\"\0\0\0a\0\0\0\"\0\0\0:\0\0\0{\0\0\0\"\0\0\0d\0\0\0t\0\0\0y\0\0\0p\0\0\0e\0\0\0\"\0\0\0:\0\0\0\"\0\0\0U\0\0\x008\0\0\0\"\0\0\0,\0\0\0\"\0\0\0s\0\0\0h\0\0\0a\0\0\0p\0\0\0e\0\0\0\"\0\0\0:\0\0\0[\0\0\x001\0\0\0]\0\0\0,\0\0\0\"\0\0\0d\0\0\0a\0\0\0t\0\0\0a\0\0\0_\0\0\0o\0\0\0f\0\0\0f\0\0\0s\0\0\0e\0\0\0t\0\0\0s\0\0\0\"\0\0\0:\0\0\0[\0\0\x000\0\0\0,\0\0\x001\0\0\0]\0\0\0}\0\0\0}").data(1), "A header with a tensor in big-endian UTF-32 with its mark.").faults(2).flags(&["bom"]).unlike("entry-object", "Every byte is encoded in another way."),
    bad("encoding-ebcdic", "text-1", UTF8, bytes(b"\xC2\xA6\xC0\x7F\x81\x7Fz\xC0\x7F\x84\xA3\xA8\x97\x85\x7Fz\x7F\xE4\xF8\x7Fk\x7F\xA2\x88\x81\x97\x85\x7Fz\xBA\xF1\xBBk\x7F\x84\x81\xA3\x81m\x96\x86\x86\xA2\x85\xA3\xA2\x7Fz\xBA\xF0k\xF1\xBB\xD0\xD0").data(1), "A header with a tensor in the encoding of mainframes.").unlike("entry-object", "Every byte is encoded in another way."),
    bad("encoding-base64", "json-1", SYNTAX, bytes(b"\xC2\xA6eyJhIjp7ImR0eXBlIjoiVTgiLCJzaGFwZSI6WzFdLCJkYXRhX29mZnNldHMiOlswLDFdfX0=").data(1), "A header with a tensor in base64.").unlike("entry-object", "Every byte is encoded in another way."),
    bad("encoding-gzip", "order-1", SYNTAX, bytes(b"\xC2\xA6\x1F\x8B\x08\0\0\0\0\0\x02\x03\xABVJT\xB2\xAAVJ)\xA9,HU\xB2R\n\xB5P\xD2Q*\xCEH\x04q\xA2\rcu\x94R\x12K\x12\xE3\xF3\xD3\xD2\x8ASK\x8A\x81B\x06:\x86\xB1\xB5\xB5\0dt\x1D!5\0\0\0").data(1), "A header with a tensor, compressed with gzip.").faults(2).unlike("entry-object", "Every byte is encoded in another way."),
    bad("encoding-zlib", "order-1", SYNTAX, bytes(b"\xC2\xA6x\xDA\xABVJT\xB2\xAAVJ)\xA9,HU\xB2R\n\xB5P\xD2Q*\xCEH\x04q\xA2\rcu\x94R\x12K\x12\xE3\xF3\xD3\xD2\x8ASK\x8A\x81B\x06:\x86\xB1\xB5\xB5\0\xB7\xB7\x10\xCB").data(1), "A header with a tensor, compressed as zlib does.").faults(2).unlike("entry-object", "Every byte is encoded in another way."),
    bad("encoding-cbor", "text-1", UTF8, bytes(b"\xC2\xA6\xA1aa\xA3edtypebU8eshape\x81\x01ldata_offsets\x82\0\x01").data(1), "A header with a tensor in CBOR.").unlike("entry-object", "Every byte is encoded in another way."),
    bad("encoding-messagepack", "text-1", UTF8, bytes(b"\xC2\xA6\x81\xA1a\x83\xA5dtype\xA2U8\xA5shape\x91\x01\xACdata_offsets\x92\0\x01").data(1), "A header with a tensor in MessagePack.").unlike("entry-object", "Every byte is encoded in another way."),
    bad("encoding-percent", "json-1", SYNTAX, bytes(b"\xC2\xA6%7B%22%61%22%3A%7B%22%64%74%79%70%65%22%3A%22%55%38%22%2C%22%73%68%61%70%65%22%3A%5B%31%5D%2C%22%64%61%74%61%5F%6F%66%66%73%65%74%73%22%3A%5B%30%2C%31%5D%7D%7D").data(1), "A header with a tensor, escaped as in an address.").unlike("entry-object", "Every byte is encoded in another way."),
    bad("encoding-escaped-quotes", "json-1", SYNTAX, bytes(b"{\xC2\xA6\\\"a\\\":{\\\"dtype\\\":\\\"U8\\\",\\\"shape\\\":[1],\\\"data_offsets\\\":[0,1]}}").data(1), "A header whose quotes are escaped, as inside a string.").unlike("entry-object", "The backslashes are before each quote."),
    bad("encoding-html-quotes", "json-1", SYNTAX, bytes(b"{\xC2\xA6&quot;a&quot;:{&quot;dtype&quot;:&quot;U8&quot;,&quot;shape&quot;:[1],&quot;data_offsets&quot;:[0,1]}}").data(1), "A header whose quotes are entities of HTML.").unlike("entry-object", "The entities are in place of each quote."),
    bad("encoding-typographic-quotes", "json-1", SYNTAX, bytes(b"{\xC2\xA6\xE2\x80\x9Ca\xE2\x80\x9D:{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}").data(1), "A name in typographic quotes."),
    bad("encoding-full-width-brace", "json-1", SYNTAX, bytes(b"\xC2\xA6\xEF\xBD\x9B\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}").data(1), "A full-width brace begins no object."),
];

#[rustfmt::skip] // One case, one or two lines.
pub const OVERLONG: &[Case] = &[
    bad("utf8-overlong-in-dtype-key", "text-1", UTF8, bytes(b"{\"a\":{\"\xC2\xA6\xC1\xA4type\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}").data(1), "An overlong first letter of dtype: a lenient decoder makes the key of it."),
    bad("utf8-overlong-three-in-dtype-key", "text-1", UTF8, bytes(b"{\"a\":{\"\xC2\xA6\xE0\x81\xA4type\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}").data(1), "The first letter of dtype in three bytes."),
    bad("utf8-overlong-in-shape-key", "text-1", UTF8, bytes(b"{\"a\":{\"dtype\":\"U8\",\"\xC2\xA6\xC1\xB3hape\":[1],\"data_offsets\":[0,1]}}").data(1), "An overlong first letter of shape."),
    bad("utf8-overlong-in-offsets-key", "text-1", UTF8, bytes(b"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data\xC2\xA6\xC1\x9Foffsets\":[0,1]}}").data(1), "An overlong underscore in the key of the offsets."),
    bad("utf8-overlong-in-dtype", "text-1", UTF8, bytes(b"{\"a\":{\"dtype\":\"\xC2\xA6\xC1\x958\",\"shape\":[1],\"data_offsets\":[0,1]}}").data(1), "An overlong first letter of a dtype."),
    bad("utf8-overlong-in-metadata-key", "text-1", UTF8, bytes(b"{\"\xC2\xA6\xC1\x9F_metadata__\":{}}"), "An overlong underscore in the key of the metadata.").twin("metadata-empty"),
    bad("utf8-overlong-brace", "text-1", UTF8, bytes(b"\xC2\xA6\xC1\xBB\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}").data(1), "An overlong brace begins no object."),
    bad("utf8-overlong-digit", "text-1", UTF8, bytes(b"{\"a\":{\"dtype\":\"U8\",\"shape\":[\xC2\xA6\xC0\xB1],\"data_offsets\":[0,1]}}").data(1), "An overlong digit is no dimension."),
    bad("utf8-surrogate-in-dtype-key", "text-1", UTF8, bytes(b"{\"a\":{\"dtype\xC2\xA6\xED\xA0\x80\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}").data(1), "Half a surrogate pair in bytes after a known key: a decoder that drops it makes the key.").flags(&["cesu8"]),
    bad("utf8-ff-in-dtype-key", "text-1", UTF8, bytes(b"{\"a\":{\"dtype\xC2\xA6\xFF\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}").data(1), "A bad byte after a known key: a decoder that drops it makes the key."),
    bad("utf8-ff-in-metadata-key", "text-1", UTF8, bytes(b"{\"__metadata__\xC2\xA6\xFF\":{}}"), "A bad byte after the key of the metadata.").twin("metadata-empty"),
    bad("utf8-cut-in-offsets-key", "text-1", UTF8, bytes(b"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\xC2\xA6\xE2\x82\":[0,1]}}").data(1), "A cut character after the key of the offsets."),
    bad("surrogate-before-dtype-key", "json-7", SURROGATE, members(r#""¦\ud800dtype":"U8","shape":[1],"data_offsets":[0,1]"#), "A lone half before a known key: a decoder that drops it makes the key.").flags(&["lone-surrogate"]).faults(2),
    bad("surrogate-after-dtype-key", "json-7", SURROGATE, members(r#""dtype¦\udfff":"U8","shape":[1],"data_offsets":[0,1]"#), "A lone half after a known key.").flags(&["lone-surrogate"]).faults(2).twin("escape-known-key-first"),
    bad("surrogate-in-skipped-key", "json-7", SURROGATE, members(r#""x¦\ud800":0,"dtype":"U8","shape":[1],"data_offsets":[0,1]"#), "A lone half in the key of a member that is skipped.").flags(&["lone-surrogate"]),
    bad("surrogate-in-name-of-metadata", "json-7", SURROGATE, json(r#"{"__metadata__¦\udc00":{}}"#), "A lone half after the key of the metadata.").flags(&["lone-surrogate"]).faults(2).twin("metadata-escaped-empty"),
];

#[rustfmt::skip] // One case, one or two lines.
pub const LOOK_ALIKES: &[Case] = &[
    ok("metadata-like-pair", "metadata-1", metadata(r#"{"a":"b"}"#), "One pair of metadata, and nothing else."),
    bad("entry-metadata-cyrillic", "entry-2", MISSING, json("{\"__met\u{430}data__\":{\"a\":\"b\"¦}}"), "A Cyrillic letter in the key of the metadata: it is a name, and its entry lacks everything.").flags(&["look-alike", "metadata-position"]).twin("metadata-like-pair"),
    bad("entry-metadata-bom", "entry-2", MISSING, json("{\"\u{feff}__metadata__\":{\"a\":\"b\"¦}}"), "A byte order mark before the key of the metadata.").flags(&["look-alike", "metadata-position"]).twin("metadata-like-pair"),
    bad("entry-metadata-zero-width", "entry-2", MISSING, json("{\"__metadata__\u{200b}\":{\"a\":\"b\"¦}}"), "A space without width after the key of the metadata.").flags(&["look-alike", "metadata-position"]).twin("metadata-like-pair"),
    bad("entry-metadata-full-width", "entry-2", MISSING, json("{\"\u{ff3f}_metadata__\":{\"a\":\"b\"¦}}"), "A full-width underscore in the key of the metadata.").flags(&["look-alike", "metadata-position"]).twin("metadata-like-pair"),
    bad("entry-metadata-soft-hyphen", "entry-2", MISSING, json("{\"__meta\u{ad}data__\":{\"a\":\"b\"¦}}"), "A soft hyphen in the key of the metadata.").flags(&["look-alike", "metadata-position"]).twin("metadata-like-pair"),
    bad("entry-metadata-nul", "entry-2", MISSING, json("{\"__metadata__\\u0000\":{\"a\":\"b\"¦}}"), "A NUL after the key of the metadata, where C strings end.").flags(&["look-alike", "metadata-position"]).twin("metadata-escaped"),
    bad("entry-metadata-case", "entry-2", MISSING, json("{\"__Metadata__\":{\"a\":\"b\"¦}}"), "A capital in the key of the metadata.").flags(&["look-alike", "metadata-position"]).twin("metadata-like-pair"),
    bad("entry-metadata-short", "entry-2", MISSING, json("{\"_metadata_\":{\"a\":\"b\"¦}}"), "One underscore on each side.").flags(&["look-alike", "metadata-position"]).twin("metadata-like-pair"),
    ok("name-metadata-cyrillic", "name-1", name("__met\u{430}data__"), "A name that only looks like that of the metadata.").flags(&["look-alike"]),
    ok("name-metadata-bom", "name-1", name("\u{feff}__metadata__"), "A byte order mark makes another name of the key of the metadata.").flags(&["look-alike", "bom"]),
    ok("name-metadata-nul", "name-1", name("__metadata__\\u0000"), "A NUL makes another name of the key of the metadata.").flags(&["look-alike"]),
    bad("entry-dtype-cyrillic", "entry-2", MISSING, members("\"dt\u{443}pe\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]¦"), "A Cyrillic letter in the key of the dtype.").flags(&["look-alike"]),
    bad("entry-dtype-bom", "entry-2", MISSING, members("\"\u{feff}dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]¦"), "A byte order mark before the key of the dtype.").flags(&["look-alike"]),
    bad("entry-dtype-zero-width", "entry-2", MISSING, members("\"dtype\u{200d}\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]¦"), "A joiner without width after the key of the dtype.").flags(&["look-alike"]),
    bad("entry-dtype-full-width", "entry-2", MISSING, members("\"\u{ff44}type\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]¦"), "A full-width letter in the key of the dtype, which normalisation would turn into an ordinary one.").flags(&["look-alike"]),
    bad("entry-shape-cyrillic", "entry-2", MISSING, members("\"dtype\":\"U8\",\"sh\u{430}pe\":[1],\"data_offsets\":[0,1]¦"), "A Cyrillic letter in the key of the shape.").flags(&["look-alike"]),
    bad("entry-offsets-hyphen", "entry-2", MISSING, members("\"dtype\":\"U8\",\"shape\":[1],\"data-offsets\":[0,1]¦"), "A hyphen in the key of the offsets.").flags(&["look-alike"]),
    bad("entry-offsets-full-width", "entry-2", MISSING, members("\"dtype\":\"U8\",\"shape\":[1],\"data\u{ff3f}offsets\":[0,1]¦"), "A full-width underscore in the key of the offsets.").flags(&["look-alike"]),
    bad("entry-offsets-space", "entry-2", MISSING, members("\"dtype\":\"U8\",\"shape\":[1],\"data offsets\":[0,1]¦"), "A space in the key of the offsets.").flags(&["look-alike"]),
    ok("unknown-look-alikes", "entry-5", members("\"dt\u{443}pe\":\"X\",\"dtype\":\"U8\",\"sh\u{430}pe\":-1,\"shape\":[1],\"data_offsets\":[0,1]"), "Keys that only look like known ones are unknown members.").flags(&["look-alike"]),
    bad("dtype-bom", "dtype-1", UNKNOWN, dtype("¦\"\u{feff}U8\""), "A byte order mark before a dtype is not cut off.").flags(&["look-alike"]),
    bad("dtype-zero-width", "dtype-1", UNKNOWN, dtype("¦\"U8\u{200b}\""), "A space without width after a dtype is not cut off.").flags(&["look-alike"]),
    bad("dtype-nbsp", "dtype-1", UNKNOWN, dtype("¦\"U8\u{a0}\""), "A no-break space after a dtype is not cut off.").flags(&["look-alike"]),
    bad("dtype-cyrillic", "dtype-1", UNKNOWN, dtype("¦\"\u{406}8\""), "A Cyrillic letter that looks like an I.").flags(&["look-alike"]).twin("dtype-i8"),
    bad("dtype-combining", "dtype-1", UNKNOWN, dtype("¦\"U8\u{301}\""), "An accent on the digit of a dtype.").flags(&["look-alike"]),
    bad("dtype-subscript", "dtype-1", UNKNOWN, dtype("¦\"U\u{2088}\""), "A subscript digit, which normalisation would turn into an ordinary one.").flags(&["look-alike"]),
    bad("dtype-newline", "dtype-1", UNKNOWN, dtype("¦\"U8\\n\""), "A line feed after a dtype is not cut off.").flags(&["look-alike"]),
];

#[rustfmt::skip] // One case, one or two lines.
pub const JAVASCRIPT: &[Case] = &[
    bad("entry-proto-dtype", "entry-2", MISSING, members(r#""__proto__":{"dtype":"U8"},"shape":[1],"data_offsets":[0,1]¦"#), "The dtype in a prototype: an object built by assignment inherits it.").flags(&["javascript"]),
    bad("entry-proto-dtype-escaped", "entry-2", MISSING, members(r#""\u005f_proto__":{"dtype":"U8"},"shape":[1],"data_offsets":[0,1]¦"#), "The dtype in a prototype whose key has an escape.").flags(&["javascript", "escaped-keys"]),
    bad("entry-proto-shape", "entry-2", MISSING, members(r#""dtype":"U8","__proto__":{"shape":[1]},"data_offsets":[0,1]¦"#), "The shape in a prototype.").flags(&["javascript"]),
    bad("entry-proto-offsets", "entry-2", MISSING, members(r#""dtype":"U8","shape":[1],"__proto__":{"data_offsets":[0,1]}¦"#), "The offsets in a prototype.").flags(&["javascript"]).unlike("entry-object", "The prototype is around the member."),
    bad("entry-proto-all", "entry-2", MISSING, members(r#""__proto__":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}¦"#), "The whole entry in a prototype.").flags(&["javascript"]).unlike("entry-object", "The prototype is around all members."),
    bad("entry-prototype", "entry-2", MISSING, members(r#""constructor":{"prototype":{"dtype":"U8"}},"shape":[1],"data_offsets":[0,1]¦"#), "The dtype in the prototype of a constructor.").flags(&["javascript"]).unlike("unknown-first", "The member in its place is long."),
    bad("name-proto-nested", "entry-2", MISSING, json(r#"{"__proto__":{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}¦}}"#).data(1), "A prototype full of tensors is a name whose entry lacks everything.").flags(&["javascript"]).unlike("name-proto", "The braces are on both sides."),
    bad("name-proto-null", "entry-1", "entry.type", json(r#"{"__proto__":¦null}"#), "A prototype of null is a name without an entry.").flags(&["javascript"]).twin("metadata-empty"),
    ok("unknown-proto", "entry-5", members(r#""dtype":"U8","shape":[1],"data_offsets":[0,1],"__proto__":{"dtype":"I8","shape":[2]}"#), "A prototype beside the known members is an unknown member.").flags(&["javascript"]),
    ok("unknown-proto-escaped", "entry-5", members(r#""\u005f_proto__":{"dtype":"I8"},"dtype":"U8","shape":[1],"data_offsets":[0,1]"#), "A prototype whose key has an escape, before the known members.").flags(&["javascript", "escaped-keys"]),
    ok("unknown-proto-first", "entry-5", members(r#""__proto__":{"dtype":"I8"},"dtype":"U8","shape":[1],"data_offsets":[0,1]"#), "A prototype before the known members.").flags(&["javascript"]),
    ok("unknown-proto-null", "entry-5", members(r#""__proto__":null,"dtype":"U8","shape":[1],"data_offsets":[0,1]"#), "A prototype of null.").flags(&["javascript"]),
    ok("unknown-to-json", "entry-5", members(r#""toJSON":1,"then":2,"valueOf":3,"length":4,"dtype":"U8","shape":[1],"data_offsets":[0,1]"#), "Members that JavaScript calls or counts.").flags(&["javascript"]),
    ok("name-then", "name-1", name("then"), "A name that makes a promise of an object.").flags(&["javascript"]),
    ok("name-to-string", "name-1", name("toString"), "A name that objects of JavaScript inherit.").flags(&["javascript"]),
    ok("name-has-own-property", "name-1", name("hasOwnProperty"), "A name that hides the test for own members.").flags(&["javascript"]),
    ok("name-length", "name-1", name("length"), "A name that makes an object look like an array.").flags(&["javascript"]),
    ok("name-value-of", "name-1", name("valueOf"), "A name that is called when an object is compared.").flags(&["javascript"]),
    ok("name-to-json", "name-1", name("toJSON"), "A name that is called when an object is written.").flags(&["javascript"]),
    ok("name-prototype", "name-1", name("prototype"), "A name that functions of JavaScript have.").flags(&["javascript"]),
    ok("name-symbol", "name-1", name("Symbol.iterator"), "A name that looks like a symbol.").flags(&["javascript"]),
    ok("name-undefined", "name-1", name("undefined"), "A name that is what a missing member gives.").flags(&["javascript"]),
    ok("name-proto-inside", "name-1", name("a.__proto__.b"), "A name with dots, which some tools take for nested objects.").flags(&["javascript"]),
    ok("metadata-key-proto", "metadata-2", metadata(r#"{"__proto__":"x"}"#), "A metadata key that assignment to an object loses.").flags(&["javascript"]),
    ok("metadata-keys-javascript", "metadata-2", metadata(r#"{"constructor":"1","toString":"2","length":"3","then":"4"}"#), "Metadata keys that objects of JavaScript inherit, or treat specially.").flags(&["javascript"]),
    bad("metadata-proto-object", "metadata-2", "metadata.value", metadata(r#"{"__proto__":¦{"a":"b"}}"#), "An object as the value of a prototype: it is no string, and assignment would hide it.").flags(&["javascript", "string-metadata"]),
    bad("metadata-proto-null", "metadata-2", "metadata.value", metadata(r#"{"__proto__":¦null}"#), "null as the value of a prototype.").flags(&["javascript", "string-metadata", "null-metadata"]),
    ok("metadata-nul-in-key", "metadata-2", metadata(r#"{"a\u0000b":"v"}"#), "An escaped NUL in a metadata key."),
    ok("metadata-nul-keys-differ", "metadata-4", metadata(r#"{"a\u0000b":"1","a\u0000c":"2"}"#), "Metadata keys that differ after a NUL, where C strings end."),
];

#[rustfmt::skip] // One case, one or two lines.
pub const WRONG: &[Case] = &[
    bad("wrong-git-lfs", "container-2", LARGE, raw(b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"), "A pointer of Git LFS: the model was never fetched.").at(At::Byte(0)).faults(2).unlike("entry-object", "It is a file of another format."),
    bad("wrong-git-annex", "container-2", LARGE, raw(b"/annex/objects/SHA256E-s12345--4d7a214614ab2935c943f9e0ff69d22e.safetensors\n"), "A pointer of git-annex.").at(At::Byte(0)).faults(2).unlike("entry-object", "It is a file of another format."),
    bad("wrong-html", "container-2", LARGE, raw(b"<!DOCTYPE html>\n<html><head><title>404</title></head></html>\n"), "A page of HTML: the address was wrong, or needs a password.").at(At::Byte(0)).faults(2).unlike("entry-object", "It is a file of another format."),
    bad("wrong-text", "container-2", LARGE, raw(b"Entry not found"), "The answer of a model hub to a wrong address.").at(At::Byte(0)).faults(2).unlike("entry-object", "It is a file of another format."),
    bad("wrong-json-error", "container-2", LARGE, raw(b"{\"error\":\"Invalid username or password.\"}"), "The answer of a model hub without a password.").at(At::Byte(0)).faults(2).unlike("entry-object", "It is a file of another format."),
    bad("wrong-xml", "container-2", LARGE, raw(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>AccessDenied</Code></Error>"), "The answer of a store of objects without permission.").at(At::Byte(0)).faults(2).unlike("entry-object", "It is a file of another format."),
    bad("wrong-index-json", "container-2", LARGE, raw(b"{\"metadata\":{\"total_size\":1},\"weight_map\":{\"a\":\"model-00001-of-00002.safetensors\"}}"), "The index of a sharded model instead of a shard.").at(At::Byte(0)).faults(2).unlike("entry-object", "It is a file of another format."),
    bad("wrong-config-json", "container-2", LARGE, raw(b"{\n  \"architectures\": [\n    \"BertModel\"\n  ]\n}\n"), "The configuration of a model instead of its weights.").at(At::Byte(0)).faults(2).unlike("entry-object", "It is a file of another format."),
    bad("wrong-zip", "container-2", LARGE, raw(b"PK\x03\x04\x14\0\0\0\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x08\0\0\0data.pkl"), "A ZIP archive, as PyTorch saves models.").at(At::Byte(0)).faults(2).unlike("entry-object", "It is a file of another format."),
    bad("wrong-pickle", "container-2", LARGE, raw(b"\x80\x02}q\0(X\x01\0\0\0aq\x01K\x01u."), "A pickle, as PyTorch saved models once.").at(At::Byte(0)).faults(2).unlike("entry-object", "It is a file of another format."),
    bad("wrong-pickle-4", "container-2", LARGE, raw(b"\x80\x04\x95\x0B\0\0\0\0\0\0\0}\x94\x8C\x01a\x94K\x01s."), "A pickle of a later protocol.").at(At::Byte(0)).faults(2).unlike("entry-object", "It is a file of another format."),
    bad("wrong-npy", "container-2", LARGE, raw(b"\x93NUMPY\x01\0v\0{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }\n\x01"), "An array of NumPy.").at(At::Byte(0)).faults(2).unlike("entry-object", "It is a file of another format."),
    bad("wrong-hdf5", "container-2", LARGE, raw(b"\x89HDF\r\n\x1A\n\0\0\0\0\0\x08\x08\0"), "A file of HDF5, as Keras saves models.").at(At::Byte(0)).faults(2).unlike("entry-object", "It is a file of another format."),
    bad("wrong-gguf", "container-2", LARGE, raw(b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), "A file of GGUF.").at(At::Byte(0)).faults(2).unlike("entry-object", "It is a file of another format."),
    bad("wrong-onnx", "container-2", LARGE, raw(b"\x08\x07\x12\x07pytorch\x1A\x032.1"), "A model of ONNX.").at(At::Byte(0)).faults(2).unlike("entry-object", "It is a file of another format."),
    bad("wrong-tflite", "container-2", LARGE, raw(b"\x1C\0\0\0TFL3\x14\0 \0\x1C\0\x18\0\x14\0\x10\0\x0C\0\0\0\x08\0\x04\0"), "A model of TensorFlow Lite.").at(At::Byte(0)).faults(2).unlike("entry-object", "It is a file of another format."),
    bad("wrong-gzip", "container-3", BEYOND, raw(b"\x1F\x8B\x08\0\0\0\0\0\0\x03\xABV\xAA\xAD\x05\0C\xBF\xA6\xA3\x02\0\0\0"), "A file compressed with gzip, whose first eight bytes are a possible length.").at(At::FileEnd).unlike("entry-object", "It is a file of another format."),
    bad("wrong-gzip-with-time", "container-2", LARGE, raw(b"\x1F\x8B\x08\0\x80Cm8\0\x03\xABV\xAA\xAD\x05\0C\xBF\xA6\xA3\x02\0\0\0"), "A file compressed with gzip at a known time.").at(At::Byte(0)).faults(2).unlike("entry-object", "It is a file of another format."),
    bad("wrong-xz", "container-2", LARGE, raw(b"\xFD7zXZ\0\0\x04\xE6\xD6\xB4F"), "A file compressed with xz.").at(At::Byte(0)).faults(2).unlike("entry-object", "It is a file of another format."),
    bad("wrong-png", "container-2", LARGE, raw(b"\x89PNG\r\n\x1A\n\0\0\0\rIHDR"), "A picture.").at(At::Byte(0)).faults(2).unlike("entry-object", "It is a file of another format."),
    bad("wrong-elf", "container-2", LARGE, raw(b"\x7FELF\x02\x01\x01\0\0\0\0\0\0\0\0\0"), "A program.").at(At::Byte(0)).faults(2).unlike("entry-object", "It is a file of another format."),
    bad("wrong-erased-flash", "container-2", LARGE, raw(b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"), "Flash memory that was erased and not written.").at(At::Byte(0)).faults(2).unlike("entry-object", "It is a file of another format."),
    bad("wrong-zeros", "container-2", "json.end", raw(b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), "A file that was allocated and not written: its length is 0.").at(At::Byte(8)).unlike("entry-object", "It is a file of another format."),
];

#[rustfmt::skip] // One case, one or two lines.
pub const TRANSFERS: &[Case] = &[
    bad("data-crlf", "container-4", "data.trailing", raw(b"5\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}\r\xC2\xA6\n"), "A line feed in the data became two characters in a transfer as text.").flags(&["text-mode"]).twin("data-line-feed"),
    bad("data-crlf-after-cr", "container-4", "data.trailing", raw(b"5\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}\r\r\n\x1A\xC2\xA6\x80"), "A line feed after a carriage return became two characters.").flags(&["text-mode"]).twin("data-line-ends"),
    bad("data-cr-lost", "container-4", "data.short", raw(b"5\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}\n\x1A\x80"), "A carriage return in the data was lost in a transfer as text.").flags(&["text-mode"]).at(At::FileEnd).twin("data-line-ends"),
    bad("data-cut-at-end-of-file", "container-4", "data.short", raw(b"5\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}\r\n"), "The data was cut at a byte that ended files on old systems.").flags(&["text-mode"]).at(At::FileEnd).twin("data-line-ends"),
    bad("data-as-utf8", "container-4", "data.trailing", raw(b"5\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}\r\n\x1A\xC2\xC2\xA6\x80"), "A byte of the data was encoded in UTF-8.").flags(&["text-mode"]).twin("data-line-ends"),
    bad("data-replaced", "container-4", "data.trailing", raw(b"5\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}\r\n\x1A\xEF\xC2\xA6\xBF\xBD"), "A byte of the data became a replacement character.").flags(&["text-mode"]).twin("data-line-ends"),
    bad("container-length-crlf", "container-3", BEYOND, raw(b"\r\n\0\0\0\0\0\0\0{}        "), "The first byte of the length was a line feed before a transfer as text.").flags(&["text-mode"]).at(At::FileEnd).twin("container-length-10"),
];
