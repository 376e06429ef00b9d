//! Expectations of a program about its model, checked at build time.

use super::message::Message;
use super::tensor::Tensor;
use super::{View, fail};
use crate::dtype::Dtype;
use crate::error::sentence::Part;
use crate::shape::different_axis;
use crate::values::native::Array;

impl<'a> View<'a> {
    /// Returns the tensor of this name, with this dtype and shape, in which
    /// [`ANY_SIZE`](crate::tensor::ANY_SIZE) permits any size of an axis. For consts, statics and
    /// `const { … }`.
    ///
    /// # Panics
    /// When there is none, or more than one, or it has another dtype or shape. In a const that fails the
    /// build with one sentence that says so. Elsewhere, also in a `let` without `const { … }`, lookup and
    /// panic happen at run time: use [`find`](Self::find) there.
    pub const fn expect(&self, name: &str, dtype: Dtype, dims: &[u64]) -> Tensor<'a> {
        let tensor = self.find_or_fail(name);
        if tensor.dtype() as u8 != dtype as u8 || different_axis(tensor.shape().dims(), dims).is_some() {
            fail_type_mismatch(name, &tensor, dtype, dims);
        }
        tensor
    }

    /// Returns the elements of the tensor of this name in place, as an array or an array of arrays. For
    /// consts, statics and `const { … }`:
    ///
    /// ```
    /// # use embedded_safetensors::{View, include_model};
    /// # const MODEL: View =
    /// #     include_model!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/network.safetensors"), 16);
    /// static WEIGHT: &[[i8; 32]; 64] = MODEL.expect_array("fc1.weight");
    /// let bias: &[i32; 64] = const { MODEL.expect_array("fc1.bias") };
    /// # assert_eq!((WEIGHT.len(), bias.len()), (64, 64));
    /// ```
    ///
    /// # Panics
    /// As [`expect`](Self::expect); when the elements are not known to be aligned: see
    /// [`include_aligned!`](crate::include_aligned); on a big-endian target.
    pub const fn expect_array<T: Array>(&self, name: &str) -> &'a T {
        let shape = T::SHAPE;
        let tensor = self.expect(name, T::DTYPE, shape.dims());
        if cfg!(target_endian = "big") && T::DTYPE.bits() > 8 {
            fail_big_endian(name);
        }
        match tensor.aligned().as_array() {
            Some(array) => array,
            None => fail_misaligned(name, &tensor, align_of::<T>()),
        }
    }

    const fn find_or_fail(&self, name: &str) -> Tensor<'a> {
        match self.find(name) {
            Ok(Some(tensor)) => tensor,
            Ok(None) => self.fail_missing(name),
            Err(error) => self.fail_at_name(error),
        }
    }

    const fn fail_missing(&self, name: &str) -> ! {
        let mut message = Message::new();
        message.push("the model has no tensor ");
        message.push_name(name);
        let (mut tensors, mut left) = (self.tensors(), self.len());
        message.push(if left == 0 { ": it has none" } else { "; it has " });
        let mut comma = "";
        while let Some(tensor) = tensors.next_of_any_rank() {
            if !message.has_space(SPACE_FOR_NAME) {
                message.push(" and ");
                message.push_number(left as u64);
                message.push(" more");
                break;
            }
            message.push(comma);
            message.push_quoted(&tensor.name());
            (comma, left) = (", ", left - 1);
        }
        fail(&message)
    }
}

/// The bytes needed for the longest name in the list and for the count of the names left out.
const SPACE_FOR_NAME: usize = 450;

const fn fail_type_mismatch(name: &str, tensor: &Tensor<'_>, dtype: Dtype, dims: &[u64]) -> ! {
    let mut message = Message::new();
    message.push("the tensor ");
    message.push_name(name);
    message.push(" is ");
    message.push_type(tensor.dtype(), tensor.shape().dims());
    message.push(" in the model, but ");
    message.push_type(dtype, dims);
    message.push(" is expected");
    fail(&message)
}

const fn fail_big_endian(name: &str) -> ! {
    let mut message = Message::new();
    message.push("the elements of the tensor ");
    message.push_name(name);
    message.push(" cannot be read in place on a big-endian target");
    fail(&message)
}

const fn fail_misaligned(name: &str, tensor: &Tensor<'_>, unit: usize) -> ! {
    let mut message = Message::new();
    message.push("the tensor ");
    message.push_name(name);
    let over = tensor.at() & (unit as u64 - 1);
    if over == 0 {
        message.push(" must begin at a multiple of ");
        message.push_number(unit as u64);
        message.push(" bytes in memory, but nothing aligns the file: include it with include_model!(\"…\", ");
        message.push_number(unit as u64);
        message.push(") or include_aligned!(\"…\", ");
        message.push_number(unit as u64);
        message.push(")");
    } else {
        message.push(" begins at byte ");
        message.push_number(tensor.at());
        message.push(" of the file, ");
        message.push_part(Part::Bytes(over));
        message.push(" after a multiple of ");
        message.push_number(unit as u64);
        message.push(": write the file with its tensors aligned");
    }
    fail(&message)
}
