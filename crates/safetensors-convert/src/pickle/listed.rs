//! The closed list of names that a pickle of a model may import.
//!
//! A new name also needs what the reader does with it: the list is why reading a pickle
//! executes nothing.

use embedded_safetensors::Dtype;

/// What a name on the list is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Listed {
    /// A function that makes a tensor from a storage.
    Rebuild(Rebuild),
    /// A class of tensors.
    Tensor,
    /// `collections.OrderedDict`, or `dict`.
    Dict,
    /// `collections.defaultdict`.
    DefaultDict,
    /// `set` or `frozenset`.
    Set,
    /// `collections.deque`.
    Deque,
    /// `collections.Counter`.
    Counter,
    /// `list` and other built-in classes, which only name a type.
    Builtin,
    /// A built-in class of values that have no tensors, such as `complex`, and its name.
    Plain(&'static str),
    /// `bytes`.
    Bytes,
    /// `torch.Size`.
    Size,
    /// `torch.device`.
    Device,
    /// A class of storages with elements of one dtype.
    Storage(Dtype),
    /// A class of storages of bytes.
    Untyped,
    /// A dtype of torch.
    Dtype(Dtype),
    /// `numpy.dtype`.
    NumpyDtype,
    /// `numpy.ndarray`.
    NumpyArray,
    /// numpy's function that makes an empty array, to be filled by `BUILD`.
    NumpyReconstruct,
    /// numpy's function that makes an array from bytes.
    NumpyFromBuffer,
    /// numpy's function that makes a scalar.
    NumpyScalar,
    /// `_codecs.encode`, by which protocol 2 spells bytes.
    Encode,
}

/// A function that makes a tensor from others, or from a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rebuild {
    /// From a storage, an offset, a shape and strides.
    V1,
    /// The same, with what training needs.
    V2,
    /// The same, with a dtype.
    V3,
    /// A parameter from a tensor.
    Parameter,
    /// A parameter from a tensor, with attributes.
    ParameterWithState,
    /// A tensor of a subclass, or with attributes.
    FromType,
    /// From an array of numpy.
    FromNumpy,
}

/// The dtypes of torch that safetensors has, their names in the module `torch`, and those of their classes of
/// storages.
const DTYPES: &[(Dtype, &[&str], &str)] = &[
    (Dtype::BOOL, &["bool"], "BoolStorage"),
    (Dtype::U8, &["uint8"], "ByteStorage"),
    (Dtype::I8, &["int8"], "CharStorage"),
    (Dtype::I16, &["int16", "short"], "ShortStorage"),
    (Dtype::I32, &["int32", "int"], "IntStorage"),
    (Dtype::I64, &["int64", "long"], "LongStorage"),
    (Dtype::U16, &["uint16"], ""),
    (Dtype::U32, &["uint32"], ""),
    (Dtype::U64, &["uint64"], ""),
    (Dtype::F16, &["float16", "half"], "HalfStorage"),
    (Dtype::BF16, &["bfloat16"], "BFloat16Storage"),
    (Dtype::F32, &["float32", "float"], "FloatStorage"),
    (Dtype::F64, &["float64", "double"], "DoubleStorage"),
    (Dtype::C64, &["complex64", "cfloat"], "ComplexFloatStorage"),
    (Dtype::F8_E4M3, &["float8_e4m3fn"], ""),
    (Dtype::F8_E5M2, &["float8_e5m2"], ""),
    (Dtype::F8_E4M3FNUZ, &["float8_e4m3fnuz"], ""),
    (Dtype::F8_E5M2FNUZ, &["float8_e5m2fnuz"], ""),
    (Dtype::F8_E8M0, &["float8_e8m0fnu"], ""),
];

const NAMES: &[(&str, &str, Listed)] = &[
    ("torch._utils", "_rebuild_tensor", Listed::Rebuild(Rebuild::V1)),
    ("torch._utils", "_rebuild_tensor_v2", Listed::Rebuild(Rebuild::V2)),
    ("torch._utils", "_rebuild_tensor_v3", Listed::Rebuild(Rebuild::V3)),
    ("torch._utils", "_rebuild_parameter", Listed::Rebuild(Rebuild::Parameter)),
    ("torch._utils", "_rebuild_parameter_with_state", Listed::Rebuild(Rebuild::ParameterWithState)),
    ("torch._utils", "_rebuild_device_tensor_from_numpy", Listed::Rebuild(Rebuild::FromNumpy)),
    ("torch._tensor", "_rebuild_from_type_v2", Listed::Rebuild(Rebuild::FromType)),
    ("torch", "Tensor", Listed::Tensor),
    ("torch._tensor", "Tensor", Listed::Tensor),
    ("torch.nn.parameter", "Parameter", Listed::Tensor),
    ("torch.nn.parameter", "Buffer", Listed::Tensor),
    ("collections", "OrderedDict", Listed::Dict),
    ("collections", "defaultdict", Listed::DefaultDict),
    ("collections", "deque", Listed::Deque),
    ("collections", "Counter", Listed::Counter),
    ("torch", "Size", Listed::Size),
    ("torch", "device", Listed::Device),
    ("torch", "UntypedStorage", Listed::Untyped),
    ("torch.storage", "UntypedStorage", Listed::Untyped),
    ("torch.storage", "_UntypedStorage", Listed::Untyped),
    ("numpy", "dtype", Listed::NumpyDtype),
    ("numpy", "ndarray", Listed::NumpyArray),
    ("_codecs", "encode", Listed::Encode),
];

/// Names of a module that is called differently in different releases.
type Moved = (&'static [&'static str], &'static [(&'static str, Listed)]);

const MOVED: &[Moved] = &[
    (
        &["builtins", "__builtin__"],
        &[
            ("dict", Listed::Dict),
            ("list", Listed::Builtin),
            ("tuple", Listed::Builtin),
            ("set", Listed::Set),
            ("frozenset", Listed::Set),
            ("int", Listed::Builtin),
            ("long", Listed::Builtin),
            ("float", Listed::Builtin),
            ("str", Listed::Builtin),
            ("unicode", Listed::Builtin),
            ("bool", Listed::Builtin),
            ("bytes", Listed::Bytes),
            ("bytearray", Listed::Plain("bytearray")),
            ("complex", Listed::Plain("complex")),
            ("range", Listed::Plain("range")),
            ("xrange", Listed::Plain("range")),
            ("slice", Listed::Plain("slice")),
        ],
    ),
    (
        &["numpy.core.multiarray", "numpy._core.multiarray"],
        &[("scalar", Listed::NumpyScalar), ("_reconstruct", Listed::NumpyReconstruct)],
    ),
    (&["numpy.core.numeric", "numpy._core.numeric"], &[("_frombuffer", Listed::NumpyFromBuffer)]),
];

impl Listed {
    /// Returns what a name is, or `None` if it is not on the list.
    pub fn find(module: &str, name: &str) -> Option<Self> {
        let mut names = Self::all();
        names.find(|(one, other, _)| (*one, *other) == (module, name)).map(|(_, _, listed)| listed)
    }

    /// Returns the module and the name, joined by a dot.
    pub fn name(self) -> String {
        let names = Self::all().find(|(_, _, listed)| *listed == self);
        names.map_or_else(String::new, |(module, name, _)| format!("{module}.{name}"))
    }

    /// Returns every module and name on the list.
    pub fn all() -> impl Iterator<Item = (&'static str, &'static str, Self)> {
        let shared = MOVED.iter().flat_map(|(modules, names)| {
            modules
                .iter()
                .flat_map(|module| names.iter().map(move |(name, listed)| (*module, *name, *listed)))
        });
        let dtypes = DTYPES
            .iter()
            .flat_map(|(dtype, names, _)| names.iter().map(|name| ("torch", *name, Self::Dtype(*dtype))));
        let storages = DTYPES.iter().filter(|(_, _, storage)| !storage.is_empty());
        let storages = storages.map(|(dtype, _, storage)| ("torch", *storage, Self::Storage(*dtype)));
        NAMES.iter().copied().chain(shared).chain(dtypes).chain(storages)
    }

    /// Whether a text is a module or a name on the list.
    pub(super) fn has_part(text: &str) -> bool {
        Self::all().any(|(module, name, _)| [module, name].contains(&text))
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
        for (module, name) in [
            ("os", "system"),
            ("torch", ""),
            ("torch", "storage.UntypedStorage"),
            ("torch", "load"),
            ("builtins", "eval"),
            ("builtins", "getattr"),
            ("numpy", "load"),
            ("torch ", "FloatStorage"),
            ("Torch", "FloatStorage"),
        ] {
            assert_eq!(Listed::find(module, name), None, "{module}.{name}");
        }
    }

    #[test]
    fn names_are_unique() {
        let mut seen = HashSet::new();
        for (module, name, _) in Listed::all() {
            assert!(seen.insert((module, name)), "{module}.{name}");
        }
    }
}
