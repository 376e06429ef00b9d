//! The closed list of names that a pickle of a model may import.
//!
//! A new name also needs what the reader does with it: the list is why reading a pickle
//! executes nothing.

use embedded_safetensors::Dtype;

/// What a name on the list is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listed {
    /// A function that makes a tensor.
    Rebuild(Rebuild),
    /// A class of tensors.
    Tensor,
    Dict,
    DefaultDict,
    Set,
    Deque,
    Counter,
    /// A built-in class that only names a type.
    Builtin,
    /// A class of values that have no tensors, and its name.
    Plain(&'static str),
    Bytes,
    Size,
    Device,
    /// A class of storages with elements of one dtype.
    Storage(Dtype),
    /// A class of storages of bytes.
    Untyped,
    Dtype(Dtype),
    NumpyDtype,
    NumpyArray,
    /// The function that makes an empty array, to be filled by `BUILD`.
    NumpyReconstruct,
    /// The function that makes an array from bytes.
    NumpyFromBuffer,
    NumpyScalar,
    /// The function by which protocol 2 spells bytes.
    Encode,
}

/// A function that makes a tensor from others, or from a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rebuild {
    /// From a storage, an offset, a shape and strides.
    V1,
    /// The same, with what training needs.
    V2,
    /// The same, with a dtype.
    V3,
    /// A parameter from a tensor.
    Parameter,
    /// The same, with attributes.
    WithState,
    /// A tensor of a subclass, or with attributes.
    FromType,
    /// From an array of numpy.
    FromNumpy,
}

/// Modules and names in them, divided by spaces. Some are called differently in different releases.
const NAMES: &[(&str, &str, Listed)] = &[
    ("torch._utils", "_rebuild_tensor", Listed::Rebuild(Rebuild::V1)),
    ("torch._utils", "_rebuild_tensor_v2", Listed::Rebuild(Rebuild::V2)),
    ("torch._utils", "_rebuild_tensor_v3", Listed::Rebuild(Rebuild::V3)),
    ("torch._utils", "_rebuild_parameter", Listed::Rebuild(Rebuild::Parameter)),
    ("torch._utils", "_rebuild_parameter_with_state", Listed::Rebuild(Rebuild::WithState)),
    ("torch._utils", "_rebuild_device_tensor_from_numpy", Listed::Rebuild(Rebuild::FromNumpy)),
    ("torch._tensor", "_rebuild_from_type_v2", Listed::Rebuild(Rebuild::FromType)),
    ("torch torch._tensor", "Tensor", Listed::Tensor),
    ("torch.nn.parameter", "Parameter Buffer", Listed::Tensor),
    ("torch", "Size", Listed::Size),
    ("torch", "device", Listed::Device),
    ("torch torch.storage", "UntypedStorage", Listed::Untyped),
    ("torch.storage", "_UntypedStorage", Listed::Untyped),
    ("collections", "OrderedDict", Listed::Dict),
    ("collections", "defaultdict", Listed::DefaultDict),
    ("collections", "deque", Listed::Deque),
    ("collections", "Counter", Listed::Counter),
    ("builtins __builtin__", "dict", Listed::Dict),
    ("builtins __builtin__", "set frozenset", Listed::Set),
    ("builtins __builtin__", "list tuple int long float str unicode bool", Listed::Builtin),
    ("builtins __builtin__", "bytes", Listed::Bytes),
    ("builtins __builtin__", "bytearray", Listed::Plain("bytearray")),
    ("builtins __builtin__", "complex", Listed::Plain("complex")),
    ("builtins __builtin__", "range xrange", Listed::Plain("range")),
    ("builtins __builtin__", "slice", Listed::Plain("slice")),
    ("_codecs", "encode", Listed::Encode),
    ("numpy", "dtype", Listed::NumpyDtype),
    ("numpy", "ndarray", Listed::NumpyArray),
    ("numpy.core.multiarray numpy._core.multiarray", "scalar", Listed::NumpyScalar),
    ("numpy.core.multiarray numpy._core.multiarray", "_reconstruct", Listed::NumpyReconstruct),
    ("numpy.core.numeric numpy._core.numeric", "_frombuffer", Listed::NumpyFromBuffer),
];

/// The dtypes that safetensors has, their names in the module `torch`, and their classes of storages there.
const DTYPES: &[(Dtype, &str, &str)] = &[
    (Dtype::BOOL, "bool", "BoolStorage"),
    (Dtype::U8, "uint8", "ByteStorage"),
    (Dtype::I8, "int8", "CharStorage"),
    (Dtype::I16, "int16 short", "ShortStorage"),
    (Dtype::I32, "int32 int", "IntStorage"),
    (Dtype::I64, "int64 long", "LongStorage"),
    (Dtype::U16, "uint16", ""),
    (Dtype::U32, "uint32", ""),
    (Dtype::U64, "uint64", ""),
    (Dtype::F16, "float16 half", "HalfStorage"),
    (Dtype::BF16, "bfloat16", "BFloat16Storage"),
    (Dtype::F32, "float32 float", "FloatStorage"),
    (Dtype::F64, "float64 double", "DoubleStorage"),
    (Dtype::C64, "complex64 cfloat", "ComplexFloatStorage"),
    (Dtype::F8_E4M3, "float8_e4m3fn", ""),
    (Dtype::F8_E5M2, "float8_e5m2", ""),
    (Dtype::F8_E4M3FNUZ, "float8_e4m3fnuz", ""),
    (Dtype::F8_E5M2FNUZ, "float8_e5m2fnuz", ""),
    (Dtype::F8_E8M0, "float8_e8m0fnu", ""),
];

/// Whether a text is one of the words, which are divided by spaces.
pub(crate) fn is_in(words: &str, text: &str) -> bool {
    words.split_ascii_whitespace().any(|word| word == text)
}

impl Listed {
    /// Returns what a name is, or `None` if it is not on the list.
    pub fn find(module: &str, name: &str) -> Option<Self> {
        let is_it = |row: &(&str, &str, Self)| is_in(row.0, module) && is_in(row.1, name);
        Self::all().find(is_it).map(|(_, _, listed)| listed)
    }

    /// Returns the module and the name, joined by a dot.
    pub fn name(self) -> String {
        let first = |words: &str| words.split(' ').next().unwrap_or_default().to_owned();
        let names = Self::all().find(|(_, _, listed)| *listed == self);
        names.map_or_else(String::new, |(modules, names, _)| [first(modules), first(names)].join("."))
    }

    /// Returns every row of the list.
    fn all() -> impl Iterator<Item = (&'static str, &'static str, Self)> {
        let of_dtype = |(dtype, names, storage): &(Dtype, &'static str, &'static str)| {
            [("torch", *names, Self::Dtype(*dtype)), ("torch", *storage, Self::Storage(*dtype))]
        };
        NAMES.iter().copied().chain(DTYPES.iter().flat_map(of_dtype))
    }

    /// Whether a text is a module or a name on the list.
    pub fn has_part(text: &str) -> bool {
        Self::all().any(|(modules, names, _)| is_in(modules, text) || is_in(names, text))
    }
}

#[cfg(test)]
mod tests {
    use super::{Dtype, Listed};
    use std::collections::HashSet;

    #[test]
    fn only_exact_names_are_listed() {
        assert_eq!(Listed::find("torch", "FloatStorage"), Some(Listed::Storage(Dtype::F32)));
        assert_eq!(Listed::find("torch", "float8_e4m3fn"), Some(Listed::Dtype(Dtype::F8_E4M3)));
        let torch =
            ["", "load", "storage.UntypedStorage", "FloatStorage ", "int32 int"].map(|name| ("torch", name));
        let spelled = ["Torch", "torch ", "", "torch torch._tensor"].map(|module| (module, "Tensor"));
        let others = [("os", "system"), ("builtins", "eval"), ("builtins", "getattr"), ("numpy", "load")];
        for (module, name) in [&torch[..], &spelled, &others].concat() {
            assert_eq!(Listed::find(module, name), None, "{module}.{name}");
        }
    }

    #[test]
    fn names_are_unique() {
        let mut seen = HashSet::new();
        for (modules, names, _) in Listed::all() {
            for module in modules.split(' ') {
                let mut names = names.split_ascii_whitespace();
                assert!(names.all(|name| seen.insert((module, name))), "{module}.{names:?}");
            }
        }
    }
}
