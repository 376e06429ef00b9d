//! The opcodes of all protocols.

/// How the bytes of an argument are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// There is no argument.
    Nothing,
    /// An unsigned integer of this many bytes, little-endian.
    Unsigned(usize),
    /// A signed integer of 4 bytes, little-endian.
    Signed,
    /// A float of 8 bytes, big-endian.
    Float,
    /// An integer of any length in two's complement; its length has this many bytes.
    Long(usize),
    /// UTF-8; its length has this many bytes.
    Text(usize),
    /// Bytes; their length has this many bytes.
    Bytes(usize),
    /// A text of Python 2, in no stated encoding; its length has this many bytes.
    OldText(usize),
    /// A line with a decimal integer, or a bool.
    IntLine,
    /// A line with a decimal integer and perhaps an `L`.
    LongLine,
    /// A line with a decimal index.
    IndexLine,
    /// A line with a float.
    FloatLine,
    /// A line with a text in quotes, with escapes.
    QuotedLine,
    /// A line with a text, with escapes.
    EscapedLine,
    /// A line.
    Line,
    /// Two lines: a module and a name.
    TwoLines,
}

macro_rules! opcodes {
    ($($(#[$doc:meta])+ $variant:ident $byte:literal $name:literal $form:expr;)+) => {
        /// An opcode of any protocol.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Opcode {
            $($(#[$doc])+ $variant = $byte,)+
        }

        impl Opcode {
            /// Every opcode.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the opcode with this byte.
            pub const fn of(byte: u8) -> Option<Self> {
                match byte {
                    $($byte => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// Returns its name, as Python spells it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// Whether it pushes a text.
            pub(super) const fn is_text(self) -> bool {
                matches!(
                    self.form(),
                    Form::Text(_) | Form::OldText(_) | Form::QuotedLine | Form::EscapedLine
                )
            }

            /// Returns how its argument is read.
            pub(super) const fn form(self) -> Form {
                match self {
                    $(Self::$variant => $form,)+
                }
            }
        }
    };
}

opcodes! {
    /// Begins a group of items on the stack.
    Mark b'(' "MARK" Form::Nothing;
    /// Ends the pickle.
    Stop b'.' "STOP" Form::Nothing;
    /// Drops an item or a mark.
    Pop b'0' "POP" Form::Nothing;
    /// Drops all items up to the mark.
    PopMark b'1' "POP_MARK" Form::Nothing;
    /// Duplicates an item.
    Dup b'2' "DUP" Form::Nothing;
    /// Pushes a float.
    Float b'F' "FLOAT" Form::FloatLine;
    /// Pushes an integer or a bool.
    Int b'I' "INT" Form::IntLine;
    /// Pushes an integer.
    BinInt b'J' "BININT" Form::Signed;
    /// Pushes an integer.
    BinInt1 b'K' "BININT1" Form::Unsigned(1);
    /// Pushes an integer.
    Long b'L' "LONG" Form::LongLine;
    /// Pushes an integer.
    BinInt2 b'M' "BININT2" Form::Unsigned(2);
    /// Pushes `None`.
    None b'N' "NONE" Form::Nothing;
    /// Pushes an object that the loader finds by an id.
    PersId b'P' "PERSID" Form::Line;
    /// Pushes an object that the loader finds by an id on the stack.
    BinPersId b'Q' "BINPERSID" Form::Nothing;
    /// Calls an item with arguments.
    Reduce b'R' "REDUCE" Form::Nothing;
    /// Pushes a text.
    String b'S' "STRING" Form::QuotedLine;
    /// Pushes a text.
    BinString b'T' "BINSTRING" Form::OldText(4);
    /// Pushes a text.
    ShortBinString b'U' "SHORT_BINSTRING" Form::OldText(1);
    /// Pushes a text.
    Unicode b'V' "UNICODE" Form::EscapedLine;
    /// Pushes a text.
    BinUnicode b'X' "BINUNICODE" Form::Text(4);
    /// Appends an item to a list.
    Append b'a' "APPEND" Form::Nothing;
    /// Sets the state of an object.
    Build b'b' "BUILD" Form::Nothing;
    /// Pushes what a module has under a name.
    Global b'c' "GLOBAL" Form::TwoLines;
    /// Pushes a dictionary of the items up to the mark.
    Dict b'd' "DICT" Form::Nothing;
    /// Appends the items up to the mark to a list.
    Appends b'e' "APPENDS" Form::Nothing;
    /// Pushes an item of the memo.
    Get b'g' "GET" Form::IndexLine;
    /// Pushes an item of the memo.
    BinGet b'h' "BINGET" Form::Unsigned(1);
    /// Calls what a module has under a name with the items up to the mark.
    Inst b'i' "INST" Form::TwoLines;
    /// Pushes an item of the memo.
    LongBinGet b'j' "LONG_BINGET" Form::Unsigned(4);
    /// Pushes a list of the items up to the mark.
    List b'l' "LIST" Form::Nothing;
    /// Calls the first item after the mark with the others.
    Obj b'o' "OBJ" Form::Nothing;
    /// Stores an item in the memo.
    Put b'p' "PUT" Form::IndexLine;
    /// Stores an item in the memo.
    BinPut b'q' "BINPUT" Form::Unsigned(1);
    /// Stores an item in the memo.
    LongBinPut b'r' "LONG_BINPUT" Form::Unsigned(4);
    /// Sets an item of a dictionary.
    SetItem b's' "SETITEM" Form::Nothing;
    /// Pushes a tuple of the items up to the mark.
    Tuple b't' "TUPLE" Form::Nothing;
    /// Sets the items up to the mark in a dictionary.
    SetItems b'u' "SETITEMS" Form::Nothing;
    /// Pushes an empty list.
    EmptyList b']' "EMPTY_LIST" Form::Nothing;
    /// Pushes an empty tuple.
    EmptyTuple b')' "EMPTY_TUPLE" Form::Nothing;
    /// Pushes an empty dictionary.
    EmptyDict b'}' "EMPTY_DICT" Form::Nothing;
    /// Pushes a float.
    BinFloat b'G' "BINFLOAT" Form::Float;
    /// States the protocol.
    Proto 0x80 "PROTO" Form::Unsigned(1);
    /// Calls `__new__` of a class.
    NewObj 0x81 "NEWOBJ" Form::Nothing;
    /// Pushes what a registry of the program has under a number.
    Ext1 0x82 "EXT1" Form::Unsigned(1);
    /// Pushes what a registry of the program has under a number.
    Ext2 0x83 "EXT2" Form::Unsigned(2);
    /// Pushes what a registry of the program has under a number.
    Ext4 0x84 "EXT4" Form::Signed;
    /// Pushes a tuple of one item.
    Tuple1 0x85 "TUPLE1" Form::Nothing;
    /// Pushes a tuple of two items.
    Tuple2 0x86 "TUPLE2" Form::Nothing;
    /// Pushes a tuple of three items.
    Tuple3 0x87 "TUPLE3" Form::Nothing;
    /// Pushes `True`.
    NewTrue 0x88 "NEWTRUE" Form::Nothing;
    /// Pushes `False`.
    NewFalse 0x89 "NEWFALSE" Form::Nothing;
    /// Pushes an integer.
    Long1 0x8A "LONG1" Form::Long(1);
    /// Pushes an integer.
    Long4 0x8B "LONG4" Form::Long(4);
    /// Pushes bytes.
    BinBytes b'B' "BINBYTES" Form::Bytes(4);
    /// Pushes bytes.
    ShortBinBytes b'C' "SHORT_BINBYTES" Form::Bytes(1);
    /// Pushes a text.
    ShortBinUnicode 0x8C "SHORT_BINUNICODE" Form::Text(1);
    /// Pushes a text.
    BinUnicode8 0x8D "BINUNICODE8" Form::Text(8);
    /// Pushes bytes.
    BinBytes8 0x8E "BINBYTES8" Form::Bytes(8);
    /// Pushes an empty set.
    EmptySet 0x8F "EMPTY_SET" Form::Nothing;
    /// Adds the items up to the mark to a set.
    AddItems 0x90 "ADDITEMS" Form::Nothing;
    /// Pushes a frozen set of the items up to the mark.
    FrozenSet 0x91 "FROZENSET" Form::Nothing;
    /// Calls `__new__` of a class with keyword arguments.
    NewObjEx 0x92 "NEWOBJ_EX" Form::Nothing;
    /// Pushes what a module has under a name, both from the stack.
    StackGlobal 0x93 "STACK_GLOBAL" Form::Nothing;
    /// Stores an item in the memo.
    Memoize 0x94 "MEMOIZE" Form::Nothing;
    /// Begins a frame of this length.
    Frame 0x95 "FRAME" Form::Unsigned(8);
    /// Pushes mutable bytes.
    ByteArray8 0x96 "BYTEARRAY8" Form::Bytes(8);
    /// Pushes a buffer that the caller of the loader supplies.
    NextBuffer 0x97 "NEXT_BUFFER" Form::Nothing;
    /// Makes a buffer immutable.
    ReadonlyBuffer 0x98 "READONLY_BUFFER" Form::Nothing;
}
