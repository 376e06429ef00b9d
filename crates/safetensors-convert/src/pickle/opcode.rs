//! The opcodes of all protocols.

/// How the bytes of an argument are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
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
    ($($variant:ident $byte:literal $name:literal $form:expr;)+) => {
        /// An opcode of any protocol, which Python's module `pickletools` explains.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        #[allow(missing_docs)]
        pub enum Opcode {
            $($variant = $byte,)+
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
            pub(crate) const fn form(self) -> Form {
                match self {
                    $(Self::$variant => $form,)+
                }
            }
        }
    };
}

opcodes! {
    Mark b'(' "MARK" Form::Nothing;
    Stop b'.' "STOP" Form::Nothing;
    Pop b'0' "POP" Form::Nothing;
    PopMark b'1' "POP_MARK" Form::Nothing;
    Dup b'2' "DUP" Form::Nothing;
    Float b'F' "FLOAT" Form::FloatLine;
    Int b'I' "INT" Form::IntLine;
    BinInt b'J' "BININT" Form::Signed;
    BinInt1 b'K' "BININT1" Form::Unsigned(1);
    Long b'L' "LONG" Form::LongLine;
    BinInt2 b'M' "BININT2" Form::Unsigned(2);
    None b'N' "NONE" Form::Nothing;
    PersId b'P' "PERSID" Form::Line;
    BinPersId b'Q' "BINPERSID" Form::Nothing;
    Reduce b'R' "REDUCE" Form::Nothing;
    String b'S' "STRING" Form::QuotedLine;
    BinString b'T' "BINSTRING" Form::OldText(4);
    ShortBinString b'U' "SHORT_BINSTRING" Form::OldText(1);
    Unicode b'V' "UNICODE" Form::EscapedLine;
    BinUnicode b'X' "BINUNICODE" Form::Text(4);
    Append b'a' "APPEND" Form::Nothing;
    Build b'b' "BUILD" Form::Nothing;
    Global b'c' "GLOBAL" Form::TwoLines;
    Dict b'd' "DICT" Form::Nothing;
    Appends b'e' "APPENDS" Form::Nothing;
    Get b'g' "GET" Form::IndexLine;
    BinGet b'h' "BINGET" Form::Unsigned(1);
    Inst b'i' "INST" Form::TwoLines;
    LongBinGet b'j' "LONG_BINGET" Form::Unsigned(4);
    List b'l' "LIST" Form::Nothing;
    Obj b'o' "OBJ" Form::Nothing;
    Put b'p' "PUT" Form::IndexLine;
    BinPut b'q' "BINPUT" Form::Unsigned(1);
    LongBinPut b'r' "LONG_BINPUT" Form::Unsigned(4);
    SetItem b's' "SETITEM" Form::Nothing;
    Tuple b't' "TUPLE" Form::Nothing;
    SetItems b'u' "SETITEMS" Form::Nothing;
    EmptyList b']' "EMPTY_LIST" Form::Nothing;
    EmptyTuple b')' "EMPTY_TUPLE" Form::Nothing;
    EmptyDict b'}' "EMPTY_DICT" Form::Nothing;
    BinFloat b'G' "BINFLOAT" Form::Float;
    Proto 0x80 "PROTO" Form::Unsigned(1);
    NewObj 0x81 "NEWOBJ" Form::Nothing;
    Ext1 0x82 "EXT1" Form::Unsigned(1);
    Ext2 0x83 "EXT2" Form::Unsigned(2);
    Ext4 0x84 "EXT4" Form::Signed;
    Tuple1 0x85 "TUPLE1" Form::Nothing;
    Tuple2 0x86 "TUPLE2" Form::Nothing;
    Tuple3 0x87 "TUPLE3" Form::Nothing;
    NewTrue 0x88 "NEWTRUE" Form::Nothing;
    NewFalse 0x89 "NEWFALSE" Form::Nothing;
    Long1 0x8A "LONG1" Form::Long(1);
    Long4 0x8B "LONG4" Form::Long(4);
    BinBytes b'B' "BINBYTES" Form::Bytes(4);
    ShortBinBytes b'C' "SHORT_BINBYTES" Form::Bytes(1);
    ShortBinUnicode 0x8C "SHORT_BINUNICODE" Form::Text(1);
    BinUnicode8 0x8D "BINUNICODE8" Form::Text(8);
    BinBytes8 0x8E "BINBYTES8" Form::Bytes(8);
    EmptySet 0x8F "EMPTY_SET" Form::Nothing;
    AddItems 0x90 "ADDITEMS" Form::Nothing;
    FrozenSet 0x91 "FROZENSET" Form::Nothing;
    NewObjEx 0x92 "NEWOBJ_EX" Form::Nothing;
    StackGlobal 0x93 "STACK_GLOBAL" Form::Nothing;
    Memoize 0x94 "MEMOIZE" Form::Nothing;
    Frame 0x95 "FRAME" Form::Unsigned(8);
    ByteArray8 0x96 "BYTEARRAY8" Form::Bytes(8);
    NextBuffer 0x97 "NEXT_BUFFER" Form::Nothing;
    ReadonlyBuffer 0x98 "READONLY_BUFFER" Form::Nothing;
}
