//! The parser's states between strings and numbers: values, keys, and what stands around them.

use super::machine::{HeaderParser, Signal};
use super::schema::{Inside, State, Want};
use crate::error::table::Fault;
use crate::error::{Field, MAX_HEADER_LEN};
use crate::util::bytes::low_u32;

impl HeaderParser {
    /// 8 bytes, little-endian; at most 100,000,000 inclusive.
    pub(super) const fn length(&mut self, byte: u8) -> Signal {
        self.number = (self.number >> 8) | ((byte as u64) << 56);
        if self.position < 7 {
            return Signal::Taken;
        }
        let length = self.number;
        if length > MAX_HEADER_LEN {
            return self.fail_at(Fault::HeaderTooLarge, 0);
        }
        self.end = low_u32(length) + 8;
        self.emit(Signal::Length, State::Value)
    }

    /// The first byte of what is wanted.
    pub(super) const fn value(&mut self, byte: u8) -> Signal {
        match (self.want, byte) {
            (Want::Anything, _) => self.skip_value(byte),
            (Want::Integer, b'0'..=b'9') => self.begin_number(byte),
            (Want::Dtype | Want::Text, b'"') => self.begin_string(),
            (Want::List, b'[') => self.open_list(),
            (Want::Header, b'{') => self.open(Inside::Header),
            (Want::Entry, b'{') => self.open(Inside::Entry),
            (Want::Metadata, b'{') => self.open(Inside::Metadata),
            (Want::Metadata, b'n') => self.begin_literal(*b"ull\0"),
            _ => self.wrong_type(byte),
        }
    }

    /// A value of another type than is wanted.
    #[inline(never)]
    const fn wrong_type(&mut self, byte: u8) -> Signal {
        let (b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') = byte else {
            return self.unexpected(byte);
        };
        let fault = match (self.want, byte) {
            (Want::Header, _) => Fault::HeaderType,
            (Want::Entry, b'[') => Fault::EntryArray,
            (Want::Entry, _) => Fault::EntryType,
            (Want::Dtype, b'{') => Fault::DtypeObject,
            (Want::Dtype, _) => Fault::DtypeType,
            (Want::List, _) => self.of_list(Fault::ShapeType, Fault::OffsetsType),
            (Want::Integer, _) => self.of_list(Fault::ShapeInteger, Fault::OffsetsInteger),
            (Want::Metadata, _) => Fault::MetadataType,
            _ => Fault::MetadataValue,
        };
        self.fail(fault)
    }

    /// The one of the two faults that belongs to the list.
    pub(super) const fn of_list(&self, shape: Fault, offsets: Fault) -> Fault {
        if matches!(self.list, Field::Offsets) { offsets } else { shape }
    }

    /// Opens an object.
    const fn open(&mut self, inside: Inside) -> Signal {
        self.inside = inside;
        self.fields = 0;
        self.go(State::FirstKey)
    }

    pub(super) const fn open_list(&mut self) -> Signal {
        self.items = 0;
        self.inside = Inside::List;
        self.want = Want::Integer;
        match self.list {
            Field::Offsets => self.go(State::FirstItem),
            _ => {
                self.token = self.position;
                self.shape_at = self.position;
                self.elements = 1;
                self.emit(Signal::Shape, State::FirstItem)
            }
        }
    }

    pub(super) const fn key(&mut self, byte: u8) -> Signal {
        if byte != b'"' {
            return self.unexpected(byte);
        }
        self.want = match self.inside {
            Inside::Header => Want::Name,
            Inside::Entry => Want::Field,
            Inside::Metadata => Want::Key,
            Inside::List | Inside::Skipped => Want::SkipKey,
        };
        self.begin_string()
    }

    pub(super) const fn colon(&mut self, byte: u8) -> Signal {
        match byte {
            b':' => self.go(State::Value),
            _ => self.unexpected(byte),
        }
    }

    /// Behind a member or an item.
    pub(super) const fn after(&mut self, byte: u8) -> Signal {
        match (byte, self.in_array()) {
            (b',', true) => self.next_item(),
            (b',', false) => self.go(State::NextKey),
            (b']', true) | (b'}', false) => self.close(),
            _ => self.unexpected(byte),
        }
    }

    const fn in_array(&self) -> bool {
        match self.inside {
            Inside::List => true,
            Inside::Skipped => !self.nesting.in_object(),
            _ => false,
        }
    }

    const fn next_item(&mut self) -> Signal {
        if let (Inside::List, Field::Offsets, 2) = (self.inside, self.list, self.items) {
            return self.fail(Fault::OffsetsCount);
        }
        self.go(State::Value)
    }

    /// Closes the innermost bracket.
    pub(super) const fn close(&mut self) -> Signal {
        match self.inside {
            Inside::Header => self.go(State::Tail),
            Inside::Entry => self.close_entry(),
            Inside::List => self.close_list(),
            Inside::Metadata => {
                self.inside = Inside::Header;
                self.token = self.position;
                self.emit(Signal::MetadataEnd, State::After)
            }
            Inside::Skipped => {
                if self.nesting.close() {
                    self.inside = Inside::Entry;
                }
                self.go(State::After)
            }
        }
    }

    const fn close_entry(&mut self) -> Signal {
        self.token = self.position;
        self.inside = Inside::Header;
        let missing = match self.fields {
            0b111 => return self.emit(Signal::TensorEnd, State::After),
            fields if fields & 0b001 == 0 => Field::Dtype,
            fields if fields & 0b010 == 0 => Field::Shape,
            _ => Field::Offsets,
        };
        self.fail(Fault::Missing(missing))
    }

    const fn close_list(&mut self) -> Signal {
        self.inside = Inside::Entry;
        match (self.list, self.items) {
            (Field::Offsets, 0 | 1) => self.fail(Fault::OffsetsCount),
            _ => self.go(State::After),
        }
    }

    /// A value that nobody asked for.
    #[inline(never)]
    const fn skip_value(&mut self, byte: u8) -> Signal {
        match byte {
            b'"' => self.begin_string(),
            b't' => self.begin_literal(*b"rue\0"),
            b'f' => self.begin_literal(*b"alse"),
            b'n' => self.begin_literal(*b"ull\0"),
            b'{' => self.skip_bracket(true, State::FirstKey),
            b'[' => self.skip_bracket(false, State::FirstItem),
            _ => self.skip_number_begins(byte),
        }
    }

    const fn skip_bracket(&mut self, is_object: bool, next: State) -> Signal {
        self.inside = Inside::Skipped;
        if self.nesting.open(is_object) { self.go(next) } else { self.fail(Fault::Depth) }
    }

    const fn begin_literal(&mut self, left: [u8; 4]) -> Signal {
        self.token = self.position;
        self.literal = u32::from_le_bytes(left);
        self.go(State::Literal)
    }

    pub(super) const fn literal(&mut self, byte: u8) -> Signal {
        if self.literal & 0xFF != byte as u32 {
            return self.unexpected(byte);
        }
        self.literal >>= 8;
        match (self.literal, self.want) {
            (0, Want::Metadata) => self.emit(Signal::MetadataNull, State::After),
            (0, _) => self.go(State::After),
            _ => Signal::Taken,
        }
    }
}
