//! Reads the values of a checkpoint's index: its header, and what is known of each tensor.

use super::stored::Place;
use crate::listed::{add_dim, check_len, dtype_in};
use crate::proto::{BYTES, Fields, Known, Reason, Value, known};
use embedded_safetensors::Dtype;

/// The version of the format, of which a checkpoint states which versions of readers it needs.
const VERSION: u64 = 1;

/// The header of an index: the number of data files, and the order of bytes.
#[derive(Debug, PartialEq, Eq)]
pub struct Header {
    pub shards: u32,
    pub is_big_endian: bool,
}

impl Header {
    /// Reads the value of the empty key.
    pub fn read(message: &[u8]) -> Result<Self, Reason> {
        let [shards, order, version] = known(
            message,
            [
                (1, "num_shards", num_shards),
                (2, "endianness", Value::unsigned),
                (3, "version", Value::message),
            ],
        )?
        .map(Option::unwrap_or_default);
        check_version(version.bytes)?;
        let is_big_endian = match order.number {
            0 => false,
            1 => true,
            other => return Err(format!("the endianness {other} is unknown")),
        };
        match shards.small() {
            0 => Err("it has no shards".into()),
            shards => Ok(Self { shards, is_big_endian }),
        }
    }
}

fn num_shards<'b>(value: Value<&'b [u8]>, field: &str) -> Result<Value<&'b [u8]>, Reason> {
    match value.wire {
        BYTES => Err("this is a V1 checkpoint, which is not supported: load and save it with version 0.12 \
            or later, which writes V2"
            .into()),
        _ => value.small_count(field),
    }
}

fn check_version(message: &[u8]) -> Result<(), Reason> {
    let excludes = |version| match version {
        VERSION => Err(format!("it excludes readers of version {VERSION}, which this one is")),
        _ => Ok(()),
    };
    for field in Fields(message) {
        match field? {
            (2, value) if value.count("min_consumer")?.number > VERSION => {
                let needed = value.number;
                return Err(format!("it needs a reader of version {needed}, this one has version {VERSION}"));
            }
            (3, value) => value.numbers("bad_consumers").try_for_each(|version| excludes(version?))?,
            _ => {}
        }
    }
    Ok(())
}

/// The dtypes in the order of their numbers, from 1: by their names in safetensors, or else in TensorFlow.
/// The last one has a byte for each element, unlike F4.
const DTYPES: &str = "F32 F64 I32 U8 I16 I8 DT_STRING C64 I64 BOOL DT_QINT8 DT_QUINT8 DT_QINT32 BF16 \
    DT_QINT16 DT_QUINT16 U16 DT_COMPLEX128 F16 DT_RESOURCE DT_VARIANT U32 U64 F8_E5M2 F8_E4M3 F8_E4M3FNUZ \
    DT_FLOAT8_E4M3B11FNUZ F8_E5M2FNUZ DT_INT4 DT_UINT4 DT_INT2 DT_UINT2 DT_FLOAT4_E2M1FN";

/// What an index says of a tensor.
#[derive(Debug)]
pub struct Entry<'b> {
    /// The dtype; `None` for texts.
    pub dtype: Option<Dtype>,
    pub dims: Vec<u64>,
    pub place: Place,
    /// Whether its bytes are those of slices, which have entries of their own.
    pub is_sliced: bool,
    message: &'b [u8],
}

impl<'b> Entry<'b> {
    /// Reads the value of a tensor's key.
    pub fn read(message: &'b [u8]) -> Result<Self, Reason> {
        let fields: [Known<&[u8]>; 6] = [
            (1, "dtype", Value::unsigned),
            (2, "shape", Value::message),
            (3, "shard_id", Value::small_count),
            (4, "offset", Value::count),
            (5, "size", Value::count),
            (6, "crc32c", Value::fixed32),
        ];
        let [dtype, shape, shard, at, size, crc] = known(message, fields)?.map(Option::unwrap_or_default);
        let place = Place { shard: shard.small(), crc: crc.small(), at: at.number, size: size.number };
        let is_sliced = Fields(message).any(|field| matches!(field, Ok((7, _))));
        Ok(Self {
            dtype: dtype_in(DTYPES, 1, dtype.number)?,
            dims: dims(shape.bytes)?,
            place,
            is_sliced,
            message,
        })
    }

    /// Returns the messages of its slices, whose fields were read without an error.
    pub fn slices(&self) -> impl Iterator<Item = Result<&'b [u8], Reason>> + use<'b> {
        let slices = Fields(self.message).flatten().filter(|(number, _)| *number == 7);
        slices.map(|(_, value)| Ok(value.message("slices")?.bytes))
    }

    /// Checks that its file exists, and that its size is that of its shape.
    pub fn check(&self, shards: u32) -> Result<(), Reason> {
        let shard = self.place.shard;
        if shard >= shards {
            return Err(format!("it is in data file {shard}, but there are only {shards}"));
        }
        match self.dtype {
            Some(dtype) if !self.is_sliced => check_len(self.place.size, dtype, &self.dims),
            _ => Ok(()),
        }
    }
}

fn dims(shape: &[u8]) -> Result<Vec<u64>, Reason> {
    let mut dims = Vec::new();
    for field in Fields(shape) {
        match field? {
            (2, value) => {
                let [size] = known(value.message("dim")?.bytes, [(1, "size", Value::count)])?;
                add_dim(&mut dims, size.unwrap_or_default().number.cast_signed())?;
            }
            (3, value) if value.unsigned("unknown_rank")?.number != 0 => {
                return Err("its shape has an unknown rank".into());
            }
            _ => {}
        }
    }
    Ok(dims)
}
