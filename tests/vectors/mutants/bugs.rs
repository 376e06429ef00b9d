//! The single bugs that [`crate::reader`] can have: what readers of this format, JSON and UTF-8 get wrong.

macro_rules! bugs {
    ($(#[doc = $about:literal] $name:ident,)*) => {
        /// One bug.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Bug {
            $(#[doc = $about] $name,)*
        }

        impl Bug {
            /// All bugs.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns a sentence about the bug.
            pub fn about(self) -> &'static str {
                match self {
                    $(Self::$name => $about,)*
                }
                .trim_start()
            }
        }
    };
}

bugs! {
    // The container.

    /// An empty file is an empty model.
    NoBytesAccepted,
    /// A file of fewer than 16 bytes is rejected.
    SmallFileRejected,
    /// A length of 0 is an empty header.
    NoHeaderAccepted,
    /// The length has 4 bytes.
    LengthOfFourBytes,
    /// The length is read big-endian.
    LengthBigEndian,
    /// The length is cut to 8 bits.
    LengthIn8,
    /// The length's highest bit is ignored.
    LengthIn63,
    /// A length above 2^63 is negative, and the rest of the file is read.
    LengthNegative,
    /// The length plus 8 wraps in 32 bits.
    LengthSumWraps32,
    /// The length plus 8 wraps in 64 bits.
    LengthSumWraps64,
    /// The length counts its own 8 bytes.
    LengthCountsItself,
    /// The header is one byte shorter than its length.
    LengthOffByOne,
    /// A header of 64 KiB or more is rejected.
    Header64K,
    /// A header whose length is not a multiple of 8 is rejected.
    HeaderUnaligned,
    /// A header that the file does not hold is cut.
    HeaderCut,
    /// The file may be one byte shorter than its header.
    HeaderCutByOne,
    /// A file that ends with its header is rejected.
    HeaderAtEndRejected,
    /// The header's object is read beyond the header.
    HeaderUnbounded,
    /// The data begins at a multiple of 8.
    DataAligned8,
    /// The data begins at a multiple of 64.
    DataAligned64,
    /// The bytes of a tensor are read from the start of the file.
    BytesFromFile,

    // The text.

    /// The header ends at its first NUL.
    HeaderEndsAtNul,
    /// A byte order mark before the header is skipped.
    BomSkipped,
    /// All bytes up to 0x20 are trimmed from the header, as Java's `trim` does.
    TrimControls,
    /// Whitespace of Unicode is trimmed from the header.
    TrimUnicode,
    /// Bytes of 0xFF are trimmed from the header's end.
    TrimErased,
    /// A header in UTF-16LE is decoded.
    Utf16Little,
    /// A header in UTF-16BE is decoded.
    Utf16Big,
    /// A header in UTF-32LE is decoded.
    Utf32Little,
    /// A tab is no whitespace.
    TabIsNoSpace,
    /// A line feed is no whitespace.
    LineFeedIsNoSpace,
    /// A carriage return is no whitespace.
    ReturnIsNoSpace,
    /// Vertical tabs and form feeds are whitespace, as for `isspace`.
    SpaceOfC,
    /// NUL is whitespace.
    NulIsSpace,
    /// The separators 1C to 1F are whitespace.
    SeparatorIsSpace,
    /// Every control character but NUL is whitespace.
    ControlIsSpace,
    /// DEL is whitespace.
    DelIsSpace,
    /// The whitespace of Unicode is whitespace.
    UnicodeIsSpace,
    /// A byte order mark is whitespace.
    BomIsSpace,
    /// A backslash and an n are whitespace.
    EscapeIsSpace,
    /// Comments that begin with two slashes are whitespace.
    LineComments,
    /// Comments in a slash and a star are whitespace.
    BlockComments,
    /// Comments that begin with a hash are whitespace.
    HashComments,

    // UTF-8.

    /// The text may be anything but UTF-8.
    Utf8Unchecked,
    /// Skipped strings may be anything but UTF-8.
    Utf8InSkipped,
    /// Metadata may be anything but UTF-8.
    Utf8InMetadata,
    /// Names may be anything but UTF-8.
    Utf8InNames,
    /// A character may be cut by an ASCII byte.
    Utf8CutByAscii,
    /// A character beyond ASCII is rejected.
    NonAsciiRejected,
    /// A continuation byte may stand alone.
    LoneContinuations,
    /// The second byte of a character is not checked.
    FirstContinuation,
    /// The third and fourth bytes of a character are not checked.
    LaterContinuations,
    /// A continuation byte is every byte from 80 on.
    ContinuationMask,
    /// A continuation byte is at most BE.
    ContinuationToBe,
    /// NUL may have two bytes.
    OverlongNul,
    /// Overlong forms of two bytes are allowed.
    OverlongTwo,
    /// Overlong forms of three bytes are allowed.
    OverlongThree,
    /// Overlong forms of four bytes are allowed.
    OverlongFour,
    /// Surrogates are allowed as three bytes.
    Surrogates,
    /// Characters above U+10FFFF are allowed in four bytes.
    Above10ffff,
    /// The first bytes F5 to F7 are allowed.
    LeadsAboveF4,
    /// Characters of five and six bytes are allowed.
    LongForms,
    /// The bytes FE and FF are allowed.
    FeAndFf,
    /// Characters from U+0080 to U+00BF are rejected.
    LeadC2Rejected,
    /// Characters from U+07C0 to U+07FF are rejected.
    LeadDfRejected,
    /// Characters from U+0800 to U+083F are rejected.
    LeadE0Strict,
    /// Characters from U+C000 to U+CFFF are rejected.
    LeadEcRejected,
    /// Characters from U+D7C0 to U+D7FF are rejected.
    LeadEdStrict,
    /// Characters from U+E000 to U+FFFF are rejected.
    LeadEeRejected,
    /// Characters of four bytes are rejected.
    FourBytesRejected,
    /// Characters from U+10000 to U+10FFF are rejected.
    LeadF0Strict,
    /// Characters from U+C0000 to U+FFFFF are rejected.
    LeadF3Rejected,
    /// Characters from U+100000 on are rejected.
    LeadF4Rejected,
    /// Characters from U+10F000 on are rejected.
    LeadF4Strict,
    /// The control characters from U+0080 to U+009F are rejected.
    C1Rejected,
    /// A line separator is rejected.
    LineSeparatorRejected,
    /// Noncharacters are rejected.
    NoncharactersRejected,
    /// The replacement character is rejected.
    ReplacementRejected,
    /// A byte order mark in a string is rejected.
    BomInStringRejected,

    // JSON: sequences.

    /// The 127th open bracket is rejected.
    Depth126,
    /// A brace may close a square bracket.
    BracketKinds,
    /// The kinds of 64 brackets are kept; beyond, any closes.
    BracketKinds64,
    /// Brackets may be missing at the header's end.
    UnclosedObject,
    /// Whitespace after an opening bracket is rejected.
    SpaceInEmpty,
    /// Whitespace before a comma or a closing bracket is rejected.
    SpaceBeforeComma,
    /// Whitespace before a colon is rejected.
    SpaceBeforeColon,
    /// Commas may be first in a sequence, or two.
    ExtraCommas,
    /// Semicolons may stand for commas, and equals signs for colons.
    OtherPunctuation,
    /// A comma may be last in the header, an entry or metadata.
    TrailingCommaInObject,
    /// A comma may be last in a shape or in offsets.
    TrailingCommaInArray,
    /// A comma may be last in a skipped value.
    TrailingCommaInSkipped,
    /// A comma may be missing between members.
    MissingCommaInObject,
    /// A comma may be missing between elements.
    MissingCommaInArray,
    /// Keys may be without quotes.
    BareKeys,
    /// A colon may be missing.
    MissingColon,
    /// A header that is an array is empty.
    TopArrayAccepted,
    /// The header's object may be in an array.
    TopArrayUnwrapped,
    /// A header that is null, a string, a number or a boolean is empty.
    TopScalarAccepted,
    /// Text after the object is ignored.
    TrailingTextAccepted,
    /// NULs after the object are ignored.
    TrailingNulsAccepted,
    /// All after a NUL after the object is ignored.
    TrailingAfterNulAccepted,
    /// One byte after the object is ignored.
    TrailingByteOfTextAccepted,
    /// Closing brackets after the object are ignored.
    TrailingBracketsAccepted,
    /// A comma after the object is ignored.
    TrailingCommaAccepted,
    /// A second object after the object is ignored.
    TrailingObjectAccepted,

    // JSON: values that are skipped.

    /// What is skipped is not parsed: strings are skipped and brackets counted.
    SkipCountsBrackets,
    /// What is skipped is not parsed: brackets are counted, also in strings.
    SkipCountsAllBrackets,
    /// An array or object in a skipped value is rejected.
    NestedRejected,
    /// A skipped negative number is rejected.
    SkippedNegative,
    /// A skipped number with a point is rejected.
    SkippedFraction,
    /// A skipped number with an exponent is rejected.
    SkippedExponent,
    /// A skipped number with an upper-case exponent is rejected.
    SkippedUpperExponent,
    /// A skipped number with a plus in its exponent is rejected.
    SkippedExponentPlus,
    /// A skipped integer above 2^53 is rejected.
    SkippedOver53,
    /// A skipped integer of more than 64 bits is rejected.
    SkippedOver64,
    /// A skipped number of more than 63 characters is rejected.
    SkippedLong,
    /// Every word is a literal.
    LiteralAny,
    /// Literals may be in any case.
    LiteralCase,
    /// Only the first letter of a literal is checked.
    LiteralFirstLetter,
    /// A letter after a literal is ignored.
    LiteralTail,
    /// `None`, `True` and `False` are literals.
    LiteralPython,
    /// `NaN`, `Infinity` and `undefined` are literals.
    LiteralNan,

    // JSON: numbers.

    /// A number is any run of its characters.
    NumberAny,
    /// Letters after a number are ignored.
    NumberSuffix,
    /// A number may begin with a plus.
    PlusSign,
    /// A number may have no digits before its point.
    MinusAlone,
    /// Numbers may be hexadecimal.
    HexNumbers,
    /// Numbers may begin with zeros.
    LeadingZeros,
    /// A number may begin or end with a point.
    PointAlone,
    /// An exponent may have no digits.
    ExponentEmpty,
    /// Digits may have underscores between them.
    Underscores,

    // JSON: strings.

    /// Strings may be in single quotes.
    SingleQuotes,
    /// DEL in a string is rejected.
    DelRejected,
    /// Control characters in strings are allowed.
    ControlsAllowed,
    /// Control characters in skipped strings are allowed.
    ControlsInSkipped,
    /// Control characters in metadata are allowed.
    ControlsInMetadata,
    /// NUL in strings is allowed.
    NulAllowed,
    /// Tabs in strings are allowed.
    TabAllowed,
    /// Line feeds and carriage returns in strings are allowed.
    LineFeedAllowed,
    /// The control character 1F in strings is allowed.
    LastControlAllowed,
    /// Escapes in skipped strings are not checked.
    EscapesInSkipped,
    /// Escapes in names are not decoded.
    EscapesInNames,
    /// Escapes in the keys of an entry are not decoded.
    EscapesInKeys,
    /// Escapes in dtypes are not decoded.
    EscapesInDtype,
    /// Escapes in the values of metadata are not decoded.
    EscapesInMetadata,
    /// Escapes in the keys of metadata are not decoded.
    EscapesInMetadataKeys,
    /// An escaped slash is rejected.
    SlashEscapeRejected,
    /// Escapes of control characters become their letters.
    EscapesAsLetters,
    /// Escaped backspaces and form feeds become letters.
    RareEscapesAsLetters,
    /// Any character may be escaped.
    EscapeAny,
    /// Escapes may be in upper case.
    EscapeCase,
    /// A single quote may be escaped.
    EscapedSingleQuote,
    /// `\0`, `\a`, `\e`, `\v` and `\x` are escapes.
    EscapesOfC,
    /// A line feed or a space may be escaped.
    EscapedLineEnd,
    /// An escaped NUL is rejected.
    EscapedNulRejected,
    /// `\u{41}` is an escape.
    EscapeBraces,
    /// The digits of an escape may begin with a sign or a space, as for `strtol`.
    EscapeSigns,
    /// The digits of an escape are not checked.
    EscapeDigitsAny,
    /// An escape may have fewer than four digits.
    EscapeDigitsShort,
    /// The digits of escapes are in upper case.
    HexUpperOnly,
    /// The digits of escapes are in lower case.
    HexLowerOnly,
    /// G is a hexadecimal digit.
    HexUpToG,
    /// The neighbours of digits in ASCII are hexadecimal digits.
    HexNeighbours,
    /// Escapes are cut to 8 bits.
    UnicodeLowByte,
    /// Escapes beyond ASCII become question marks.
    UnicodeQuestionMark,
    /// Surrogates may be alone.
    LoneSurrogates,
    /// High surrogates may be alone.
    LoneHigh,
    /// Low surrogates may be alone.
    LoneLow,
    /// U+DFFF is no surrogate.
    LastLowIsCharacter,
    /// Any escape may follow a high surrogate.
    LowAny,
    /// Low surrogates begin at U+DBFF and end at U+E000.
    LowOffByOne,
    /// Pairs of surrogates are rejected.
    PairsRejected,
    /// Pairs of surrogates become replacement characters.
    PairsReplaced,
    /// Pairs of surrogates lack their 0x10000.
    PairsWithoutOffset,
    /// Strings end at an escaped NUL.
    NulEndsStrings,
    /// Names end at an escaped NUL.
    NulEndsNames,
    /// Keys of an entry end at an escaped NUL.
    NulEndsKeys,
    /// Dtypes end at an escaped NUL.
    NulEndsDtype,
    /// Metadata ends at an escaped NUL.
    NulEndsMetadata,
    /// Spaces around strings are removed.
    StringsTrimmed,

    // Names.

    /// The tensor `__proto__` is lost, as in an object of JavaScript.
    ProtoNameLost,
    /// Members of the header that begin with two underscores are skipped.
    UnderscoresSkipped,
    /// Names that differ in case are duplicates.
    NamesIgnoreCase,
    /// Names that differ in spaces around them are duplicates.
    NamesTrimmed,
    /// Names that differ after a NUL are duplicates.
    NamesToNul,
    /// Names with the same first 64 bytes are duplicates.
    NamesOf64Bytes,
    /// Names with the same normal form are duplicates.
    NamesNormalised,
    /// Names that are the same integer are duplicates.
    NamesAsIntegers,
    /// An empty name is rejected.
    NameEmptyRejected,
    /// A name of more than 255 bytes is rejected.
    NameOver255Rejected,
    /// A name with a NUL is rejected.
    NameNulRejected,
    /// A name with a control character is rejected.
    NameControlRejected,
    /// A name with a slash is rejected.
    NameSlashRejected,
    /// A name with a backslash is rejected.
    NameBackslashRejected,
    /// A name with two dots is rejected.
    NameDotsRejected,
    /// A name with a space is rejected.
    NameSpaceRejected,
    /// A name beyond ASCII is rejected.
    NameAsciiRequired,
    /// A name that every object of JavaScript has is rejected.
    NameInheritedRejected,
    /// A name that is a key of entries is rejected.
    NameOfMemberRejected,
    /// A name of digits is rejected.
    NameDigitsRejected,

    // Entries.

    /// An entry of null is ignored.
    EntryNullIgnored,
    /// An entry that is no object is ignored.
    EntryOtherIgnored,
    /// An empty entry is ignored.
    EntryEmptyIgnored,
    /// An entry without known members is ignored.
    EntryWithoutKnownIgnored,
    /// A member of null is absent.
    NullMemberIsAbsent,
    /// Of two dtypes the last one counts.
    DtypeTwice,
    /// Of two shapes the last one counts.
    ShapeTwice,
    /// Of two offsets the last ones count.
    OffsetsTwice,
    /// Of two members the first one counts.
    FirstMemberWins,
    /// Of two members the last one counts.
    LastMemberWins,
    /// The members are in one order.
    MembersInOrder,
    /// Keys of an entry may be in any case.
    KeysIgnoreCase,
    /// Keys of an entry may have spaces around them.
    KeysTrimmed,
    /// Keys of an entry may go on after a known one.
    KeysByPrefix,
    /// Keys of an entry may be the beginning of a known one.
    KeysByBeginning,
    /// Keys of an entry are known by their length and first letter.
    KeysByLength,
    /// Keys of an entry are known by their first two letters.
    KeysByFirstLetters,
    /// `type`, `dims` and `offsets` are known keys.
    KeyAliases,
    /// Unknown members are rejected.
    UnknownRejected,
    /// An unknown member with an empty key is rejected.
    UnknownEmptyRejected,
    /// More than three unknown members are rejected.
    UnknownOver3Rejected,
    /// Unknown members that are no strings are rejected.
    UnknownStringsOnly,
    /// Members of a member `__proto__` are inherited, as in JavaScript.
    ProtoMembers,
    /// Without a dtype it is U8.
    DtypeDefault,
    /// Without a shape a tensor is a scalar.
    ShapeDefault,
    /// Without offsets a tensor follows the one before it.
    OffsetsDefault,
    /// A tensor without bytes needs no offsets.
    OffsetsOfEmpty,

    // Dtypes.

    /// A dtype of null is F32.
    DtypeNull,
    /// Spellings of other libraries are dtypes.
    DtypeAliases,
    /// Dtypes may be in any case.
    DtypeIgnoresCase,
    /// Dtypes may have spaces around them.
    DtypeTrimmed,
    /// Dtypes may go on after a known one.
    DtypeByPrefix,
    /// Dtypes may be the beginning of a known one.
    DtypeByBeginning,
    /// Marks in dtypes are ignored.
    DtypeIgnoresMarks,
    /// An unknown dtype is U8.
    DtypeUnknownIsU8,
    /// An unknown dtype has the bits that its name says, if these are not 8.
    DtypeUnknownOfItsWidth,
    /// F4 is unknown.
    WithoutF4,
    /// The dtypes of 6 bits are unknown.
    WithoutF6,
    /// The floats of 8 bits are unknown.
    WithoutF8,
    /// F8_E8M0 is unknown.
    WithoutF8E8m0,
    /// The dtypes with FNUZ are unknown.
    WithoutFnuz,
    /// C64 is unknown.
    WithoutC64,
    /// BF16 is unknown.
    WithoutBf16,
    /// BOOL is unknown.
    WithoutBool,
    /// U16, U32 and U64 are unknown.
    WithoutUnsigned,
    /// U64 is unknown.
    WithoutU64,
    /// I8 is unknown.
    WithoutI8,
    /// U8 is unknown.
    WithoutU8,
    /// A BOOL is a bit.
    BoolIsBit,
    /// A C64 is two doubles.
    C64IsPair,
    /// A C64 is one float.
    C64IsHalf,
    /// An F4 is a byte.
    F4IsByte,
    /// A float of 6 bits is a byte.
    F6IsByte,
    /// A BF16 has 32 bits.
    Bf16IsWide,
    /// A dtype with FNUZ is reported without it.
    FnuzConfused,
    /// An unsigned dtype is reported as a signed one.
    UnsignedConfused,
    /// BF16 is reported as F16.
    HalvesConfused,
    /// BOOL is reported as U8.
    BoolAsU8,

    // Numbers in shapes and offsets.

    /// `2.0` is an integer.
    IntegerFractions,
    /// Any float without a fraction is an integer.
    IntegerFloats,
    /// Floats are cut to integers.
    IntegerTruncated,
    /// `-0` is an integer.
    IntegerMinusZero,
    /// A negative dimension wraps around.
    ShapeNegative,
    /// A negative offset wraps around.
    OffsetsNegative,
    /// A negative integer is 0.
    IntegerNegativeIsZero,
    /// The sign of an integer is ignored.
    IntegerAbsolute,
    /// A string may be an integer.
    IntegerStrings,
    /// A boolean is 0 or 1.
    IntegerBooleans,
    /// null is 0.
    IntegerNulls,
    /// Dimensions and offsets are rounded to doubles.
    NumbersAreDoubles,
    /// Dimensions wrap around in 64 bits.
    ShapeWraps,
    /// Offsets wrap around in 64 bits.
    OffsetsWrap,
    /// The last digit of a dimension may wrap around in 64 bits.
    ShapeLastDigit,
    /// The last digit of an offset may wrap around in 64 bits.
    OffsetsLastDigit,
    /// Larger dimensions and offsets are 2^64 - 1.
    NumbersSaturate,
    /// Dimensions are cut to 32 bits.
    ShapeIn32,
    /// Offsets are cut to 32 bits.
    OffsetsIn32,
    /// Dimensions of more than 63 bits are rejected.
    ShapeUpTo63,

    // Shapes and offsets.

    /// A shape may be a number.
    ShapeNumber,
    /// A shape of null is a scalar.
    ShapeNull,
    /// A shape and offsets may be objects.
    ObjectsAsArrays,
    /// Dimensions may be in an inner array.
    ShapeNested,
    /// More than 64 dimensions are rejected.
    Rank64,
    /// Dimensions are counted in 8 bits.
    RankIn8,
    /// A scalar is rejected.
    ScalarRejected,
    /// A scalar has no elements.
    ScalarIsEmpty,
    /// A dimension of 0 is rejected.
    ZeroRejected,
    /// A first dimension of 0 is rejected.
    FirstZeroRejected,
    /// A dimension of 0 counts as 1.
    ZeroIsOne,
    /// Offsets may be one number, the end.
    OffsetsNumber,
    /// Offsets are a begin and a length.
    OffsetsLength,
    /// Begin and end may be exchanged.
    OffsetsSorted,
    /// The end is the last byte of the tensor.
    OffsetsInclusive,
    /// Offsets may be more than two.
    OffsetsThree,
    /// Offsets may lack their begin.
    OffsetsOne,

    // Sizes.

    /// More than 2^32 - 1 elements are rejected.
    ProductIn32,
    /// More than 2^63 - 1 elements are rejected.
    ProductSigned,
    /// The dimensions are multiplied from right to left.
    ProductBackwards,
    /// Only the first eight dimensions are multiplied.
    ProductOfEight,
    /// The product of the dimensions wraps around in 32 bits.
    ProductWraps32,
    /// The product of the dimensions wraps around in 64 bits.
    ProductWraps64,
    /// Only the first product of the dimensions is checked.
    ProductFirstChecked,
    /// The first product of the dimensions is not checked.
    ProductLaterChecked,
    /// Elements times bytes wrap around in 32 bits.
    BytesWrap32,
    /// Elements times bytes wrap around in 64 bits.
    BytesWrap64,
    /// Elements times bits wrap around in 32 bits.
    BitsWrap32,
    /// Elements times bits wrap around in 64 bits.
    BitsWrap64,
    /// Elements count as bytes.
    ElementsAreBytes,
    /// Bits that fill no byte are ignored.
    SubByteDown,
    /// Bits that fill no byte fill one.
    SubByteUp,
    /// A scalar of less than a byte is a byte.
    SubByteScalar,
    /// A row that is no whole bytes is rejected.
    SubByteRowsRejected,
    /// Every row begins at a byte.
    SubByteRowsPadded,
    /// A range that ends before it begins is empty.
    ReversedEmpty,
    /// The size of a tensor is not checked.
    SizeUnchecked,
    /// A tensor may have more bytes than its shape needs.
    SizeAtLeast,
    /// A tensor may have fewer bytes than its shape needs.
    SizeAtMost,
    /// Sizes are compared in 32 bits.
    SizeIn32,
    /// Sizes may differ by one.
    SizeOffByOne,
    /// A tensor may be padded to a multiple of 8.
    SizePadded,
    /// The size of a tensor without elements is not checked.
    SizeOfEmptyUnchecked,
    /// A tensor with an empty range may have any shape.
    SizeOfEmptyRangeUnchecked,
    /// The size of a scalar is not checked.
    SizeOfScalarUnchecked,
    /// The size of a tensor of one dimension is not checked.
    SizeOfVectorUnchecked,

    // The layout.

    /// More than 255 tensors are rejected.
    Tensors255,
    /// Tensors are counted in 8 bits when the layout is checked.
    TensorsIn8,
    /// Only the layout of two tensors is checked.
    LayoutOfFirstTwo,
    /// A file without tensors is rejected.
    NoTensorsRejected,
    /// A file without tensors may have data.
    DataWithoutTensors,
    /// Of the layout only the sum of the sizes is checked.
    BySizes,
    /// Tensors must be in the order of their offsets.
    HeaderOrderRequired,
    /// Tensors are sorted by their names.
    SortByName,
    /// Tensors are sorted by their begin alone.
    SortByBegin,
    /// Tensors are sorted by their end alone.
    SortByEnd,
    /// Of tensors with the same begin the longest is first.
    SortByBeginBackwards,
    /// More than twelve tensors are sorted by their begin alone.
    SortByBeginOverTwelve,
    /// Begins are sorted as text.
    SortAsText,
    /// Begins are cut to 8 bits to be sorted.
    SortIn8,
    /// Tensors are sorted by one pass of exchanges.
    SortOncePerTensor,
    /// Only holes are rejected, and overlaps hide none.
    MaximumOfEnds,
    /// Holes are accepted.
    HolesAccepted,
    /// The first tensor may begin anywhere.
    FirstHoleAccepted,
    /// Holes are accepted after the first tensor.
    LaterHolesAccepted,
    /// Holes of one byte are accepted.
    HoleOfOneAccepted,
    /// Holes before a multiple of 8 are accepted.
    HoleAligned8Accepted,
    /// Holes before an aligned tensor are accepted.
    HoleBefore64Accepted,
    /// Overlaps are accepted.
    OverlapsAccepted,
    /// Overlaps of one byte are accepted.
    OverlapOfOneAccepted,
    /// Two tensors may have the same range.
    EqualRangesAccepted,
    /// Two tensors may have the same begin.
    SameBeginAccepted,
    /// A tensor may be inside the one before it.
    NestedRangesAccepted,
    /// Tensors without bytes may be anywhere.
    EmptyAnywhere,
    /// Tensors without bytes may be inside others.
    EmptyInsideAccepted,
    /// Tensors without bytes are rejected.
    EmptyRejected,
    /// Offsets count from the start of the file.
    OffsetsFromFile,
    /// The data ends with the header's last tensor.
    EndOfLastInHeader,
    /// The length of the data is not checked.
    EndUnchecked,
    /// The length of the data is compared in 32 bits.
    EndIn32,
    /// The header's length plus the end wraps around in 64 bits.
    EndWraps,
    /// Tensors without bytes may be followed by data.
    EndOrZero,
    /// Data after the last tensor is accepted.
    TrailingDataAccepted,
    /// One byte after the last tensor is accepted.
    TrailingByteAccepted,
    /// Up to 7 bytes after the last tensor are accepted.
    TrailingPaddingAccepted,
    /// Data may be missing.
    MissingDataAccepted,
    /// The last byte may be missing.
    MissingByteAccepted,
    /// Tensors that are not aligned in the data are rejected.
    UnalignedRejected,
    /// Tensors that are not aligned in the file are rejected.
    UnalignedInFileRejected,
    /// A BOOL must be 0 or 1.
    BoolChecked,
    /// NaN is rejected.
    NanRejected,

    // Metadata.

    /// Metadata is not reported.
    MetadataLost,
    /// A file without metadata is rejected.
    MetadataRequired,
    /// `__metadata__` is the name of a tensor.
    MetadataIsTensor,
    /// `__METADATA__` is metadata.
    MetadataKeyIgnoresCase,
    /// `__metadata__` with spaces around it is metadata.
    MetadataKeyTrimmed,
    /// What begins with `__metadata__` is metadata.
    MetadataKeyByPrefix,
    /// A beginning of `__metadata__` is metadata.
    MetadataKeyByBeginning,
    /// `metadata` is metadata.
    MetadataKeyAlias,
    /// A header may have metadata more than once.
    MetadataTwice,
    /// Metadata may be there again after null.
    MetadataTwiceNull,
    /// Metadata may be there again after null or no pairs.
    MetadataTwiceEmpty,
    /// Metadata after a tensor is rejected.
    MetadataFirst,
    /// Metadata after a tensor is skipped.
    MetadataLateLost,
    /// Metadata may be any value.
    MetadataAny,
    /// Metadata may be an array.
    MetadataArray,
    /// Metadata may be a string.
    MetadataString,
    /// Metadata that is false, 0 or an empty string is absent.
    MetadataFalsy,
    /// Metadata without pairs is absent.
    MetadataEmptyIsAbsent,
    /// A pair with an empty key is lost.
    MetadataEmptyKeyLost,
    /// A pair with an empty value is lost.
    MetadataEmptyValueLost,
    /// Metadata keys that differ in case are duplicates.
    MetadataKeysIgnoreCase,
    /// Metadata keys with the same normal form are duplicates.
    MetadataKeysNormalised,
    /// More than 16 pairs are rejected.
    MetadataPairs16,
    /// A value of more than 255 bytes is rejected.
    MetadataValue255,
    /// Values may be numbers and booleans.
    MetadataScalars,
    /// Values may be null, which becomes text.
    MetadataNullText,
    /// Values of null are ignored.
    MetadataNullIgnored,
    /// Values may be objects and arrays.
    MetadataNested,
    /// Values may be anything.
    MetadataValuesUnchecked,
    /// The key `__proto__` is lost, as in an object of JavaScript.
    ProtoKeyLost,
    /// Metadata without `format` is rejected.
    FormatRequired,
    /// A `format` that is unknown is rejected.
    FormatChecked,
}
