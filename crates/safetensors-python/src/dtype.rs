//! The dtypes of Python's frameworks: their names, and those of the elements of an object.

use crate::error::Failure;
use embedded_safetensors::{Dtype, ErrorKind};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyMemoryView, PyString};

/// The dtypes that frameworks have, with their names there. All frameworks use the names of numpy and
/// ml_dtypes, with those of torch for what only torch has.
const NAMES: [(&str, Dtype); 20] = [
    ("float32", Dtype::F32),
    ("float16", Dtype::F16),
    ("bfloat16", Dtype::BF16),
    ("float64", Dtype::F64),
    ("int64", Dtype::I64),
    ("int32", Dtype::I32),
    ("int16", Dtype::I16),
    ("int8", Dtype::I8),
    ("uint64", Dtype::U64),
    ("uint32", Dtype::U32),
    ("uint16", Dtype::U16),
    ("uint8", Dtype::U8),
    ("bool", Dtype::BOOL),
    ("complex64", Dtype::C64),
    ("float8_e4m3fn", Dtype::F8_E4M3),
    ("float8_e4m3fnuz", Dtype::F8_E4M3FNUZ),
    ("float8_e5m2", Dtype::F8_E5M2),
    ("float8_e5m2fnuz", Dtype::F8_E5M2FNUZ),
    ("float8_e8m0fnu", Dtype::F8_E8M0),
    ("float4_e2m1fn_x2", Dtype::F4),
];

/// The names of objects that are dtypes: numpy takes microseconds to find one.
static KNOWN: PyOnceLock<Py<PyDict>> = PyOnceLock::new();

/// Returns the name of a dtype: of a text, or of the object that a framework has for it.
pub fn name_of(dtype: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(name) = dtype.cast::<PyString>() {
        return Ok(name.to_string_lossy().into_owned());
    }
    let known = KNOWN.get_or_init(dtype.py(), || PyDict::new(dtype.py()).unbind()).bind(dtype.py());
    // An object without a hash is not known.
    if let Ok(Some(name)) = known.get_item(dtype) {
        return name.extract();
    }
    let name = asked_name(dtype)?;
    if find(&name).is_some() {
        let _ = known.set_item(dtype, &name);
    }
    Ok(name)
}

fn asked_name(dtype: &Bound<'_, PyAny>) -> PyResult<String> {
    let member = |member| dtype.getattr(member).and_then(|name| name.extract::<String>()).ok();
    let name = member("name").or_else(|| member("__name__"));
    // Paddle's float32 has the name FLOAT32 and the text paddle.float32.
    if let Some(known) = name.as_ref().filter(|name| find(name).is_some()) {
        return Ok(known.clone());
    }
    let text = dtype.str()?.to_string_lossy().into_owned();
    Ok(name.filter(|_| find(&text).is_none()).unwrap_or(text))
}

/// Returns the dtype of this name, of a framework or of the format.
pub fn parse(name: &str) -> Result<Dtype, Failure> {
    find(name).ok_or_else(|| {
        let names: Vec<&str> = NAMES.iter().map(|&(name, _)| name).collect();
        let sentence = format_args!("unknown dtype {name:?}; files can have {}", names.join(", "));
        Failure::of_argument(ErrorKind::DtypeUnknown, sentence)
    })
}

/// Returns the dtype of this name, if there is one.
pub fn find(name: &str) -> Option<Dtype> {
    // As in `torch.float32`, and `bool_` of old versions of numpy.
    let short = name.rsplit('.').next().unwrap_or(name).trim_end_matches('_');
    let known = NAMES.iter().find(|(known, _)| *known == short).map(|&(_, dtype)| dtype);
    known.or_else(|| Dtype::from_name(name.as_bytes()))
}

/// Checks that the elements of an object are those of a tensor of this dtype. Bytes may be those of any.
///
/// # Errors
/// When they have another dtype, or the other byte order.
pub fn check_elements(object: &Bound<'_, PyAny>, dtype: Dtype) -> Result<(), Failure> {
    let Some(Elements { name, is_big_endian }) = Elements::of(object)? else { return Ok(()) };
    match find(&name) {
        Some(Dtype::U8) => Ok(()),
        Some(given) if given == dtype && is_big_endian => {
            Err(Failure::say("the elements are big-endian, but those of files are little-endian"))
        }
        Some(given) if given == dtype => Ok(()),
        given => {
            let given = given.map_or(name, |given| given.name().to_owned());
            Err(Failure::of_values(format_args!("it is {dtype}, but the values are {given}")))
        }
    }
}

/// What an object says about its elements.
struct Elements {
    name: String,
    is_big_endian: bool,
}

impl Elements {
    /// Asks for the attribute `dtype`, because the types of ml_dtypes have no format that a buffer can state;
    /// otherwise for the format of the buffer.
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        if object.is_instance_of::<PyBytes>() || object.is_instance_of::<PyByteArray>() {
            return Ok(None);
        }
        if let Ok(dtype) = object.getattr("dtype") {
            // That of numpy has the byte order in its text, such as `>f4`.
            let text = dtype.getattr("str").and_then(|text| text.extract::<String>());
            let is_big_endian = text.is_ok_and(|text| text.starts_with('>'));
            return Ok(Some(Self { name: name_of(&dtype)?, is_big_endian }));
        }
        let view = PyMemoryView::from(object)?;
        let format: String = view.getattr("format")?.extract()?;
        let size: usize = view.getattr("itemsize")?.extract()?;
        Ok(Some(Self::of_format(&format, size)))
    }

    /// Parses the format of a buffer with one element, as the module `struct` of Python has it.
    fn of_format(format: &str, size: usize) -> Self {
        let (is_big_endian, letters) = match format.as_bytes() {
            [b'>' | b'!', ..] => (true, &format[1..]),
            [b'<', ..] => (false, &format[1..]),
            [b'@' | b'=', ..] => (cfg!(target_endian = "big"), &format[1..]),
            _ => (cfg!(target_endian = "big"), format),
        };
        let name = match letters {
            "c" | "B" => "uint8".to_owned(),
            "?" => "bool".to_owned(),
            "e" | "f" | "d" => format!("float{}", size * 8),
            "Zf" => "complex64".to_owned(),
            "b" | "h" | "i" | "l" | "q" | "n" => format!("int{}", size * 8),
            "H" | "I" | "L" | "Q" | "N" => format!("uint{}", size * 8),
            _ => format!("of the format {format:?}"),
        };
        Self { name, is_big_endian: is_big_endian && size > 1 }
    }
}
