//! Integers that hold the bits of dtypes which numpy does not know.

use super::input::{Array, Input};
use super::plan::is_chosen;
use crate::complaint::Complaint;
use crate::numbers::bits_of;
use crate::text::quoted;
use embedded_safetensors::Dtype;

/// Reinterprets the selected integer tensors as these dtypes; returns how many there are.
///
/// # Errors
/// No tensor is left for one of the dtypes; raw bits are left that no dtype is given for.
pub fn read_bits(
    input: &mut Input,
    dtypes: &[Dtype],
    only: &[String],
    except: &[String],
) -> Result<u64, Complaint> {
    let about = |sentence: String| Complaint::about(input.path(), sentence);
    check(dtypes).map_err(about)?;
    let is_chosen = |array: &Array| is_chosen(&array.name, only, except);
    let of = |array: &Array| {
        dtypes.iter().find(|&&dtype| is_chosen(array) && bits_of(dtype) == array.dtype).copied()
    };
    for dtype in dtypes {
        if !input.arrays.iter().any(|array| of(array) == Some(*dtype)) {
            let integer = bits_of(*dtype);
            return Err(about(format!("no selected tensor is {integer}, which holds the bits of {dtype}")));
        }
    }
    let unknown = input.arrays.iter().find(|array| array.is_raw && of(array).is_none());
    if let Some(Array { name, dtype, .. }) = unknown {
        let bits = dtype.bits();
        let name = quoted(name);
        return Err(about(format!(
            "tensor {name}: elements of {bits} raw bits, as numpy stores dtypes that it does not know; --from-bits says which dtype, such as BF16 or F8_E4M3"
        )));
    }
    let mut count = 0;
    let found: Vec<Option<Dtype>> = input.arrays.iter().map(of).collect();
    for (array, dtype) in input.arrays.iter_mut().zip(found) {
        if let Some(dtype) = dtype {
            (array.dtype, array.is_raw) = (dtype, false);
            count += 1;
        }
    }
    Ok(count)
}

/// Which integer is which must be clear.
fn check(dtypes: &[Dtype]) -> Result<(), String> {
    for (index, dtype) in dtypes.iter().enumerate() {
        if bits_of(*dtype) == *dtype {
            return Err(format!(
                "--from-bits takes the dtypes that --bits writes, such as BF16 and F8_E4M3, not {dtype}"
            ));
        }
        if let Some(other) = dtypes[..index].iter().find(|other| bits_of(**other) == bits_of(*dtype)) {
            let bits = bits_of(*dtype);
            return Err(format!(
                "{other} and {dtype} are both stored as {bits}; convert them in separate runs with --only"
            ));
        }
    }
    Ok(())
}
