//! What a program expects of its model, settled while it is built.

use super::message::Message;
use super::tensor::Tensor;
use super::{View, fail};
use crate::dtype::Dtype;
use crate::error::sentence::Part;
use crate::values::native::Array;

impl<'a> View<'a> {
    /// The tensor of this name, which has this dtype and this shape. For consts.
    ///
    /// # Panics
    /// When there is none, or more than one, or it has another dtype or shape, which in a const fails the build with one sentence
    /// that says so. Not for run time.
    pub const fn expect(&self, name: &str, dtype: Dtype, dims: &[u64]) -> Tensor<'a> {
        let tensor = self.named(name);
        if tensor.dtype() as u8 != dtype as u8 || !are_equal(tensor.shape().dims(), dims) {
            other_type(name, &tensor, dtype, dims);
        }
        tensor
    }

    /// The elements of the tensor of this name as an array, or an array of arrays, where they lie. For consts and statics:
    /// `static FC1: &[[f32; 16]; 32] = MODEL.expect_array("fc1.weight");`
    ///
    /// # Panics
    /// As [`expect`](Self::expect); when the elements are not known to lie where the machine can read them:
    /// see [`include_aligned!`](crate::include_aligned); where the machine has the high byte first. In a const that fails the build. Not for run time.
    pub const fn expect_array<T: Array>(&self, name: &str) -> &'a T {
        let shape = T::SHAPE;
        let tensor = self.expect(name, T::DTYPE, shape.dims());
        if cfg!(target_endian = "big") && T::DTYPE.bits() > 8 {
            high_byte_first(name);
        }
        match tensor.aligned().as_array() {
            Some(array) => array,
            None => misaligned(name, &tensor, align_of::<T>()),
        }
    }

    const fn named(&self, name: &str) -> Tensor<'a> {
        match self.find(name) {
            Ok(Some(tensor)) => tensor,
            Ok(None) => self.missing(name),
            Err(error) => self.fail_at_name(error),
        }
    }

    const fn missing(&self, name: &str) -> ! {
        let mut message = Message::new();
        message.push("the model has no tensor ");
        message.push_name(name);
        let (mut tensors, mut left) = (self.tensors(), self.len());
        message.push(if left == 0 { ": it has none" } else { "; it has " });
        let mut comma = "";
        while let Some(tensor) = tensors.next_of_any_rank() {
            if !message.has_room(ROOM_FOR_A_NAME) {
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

/// The longest that is shown of one, and of the number of those that follow.
const ROOM_FOR_A_NAME: usize = 450;

const fn other_type(name: &str, tensor: &Tensor<'_>, dtype: Dtype, dims: &[u64]) -> ! {
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

const fn high_byte_first(name: &str) -> ! {
    let mut message = Message::new();
    message.push("the elements of the tensor ");
    message.push_name(name);
    message.push(" cannot be read where they lie by a machine that has the high byte first");
    fail(&message)
}

const fn misaligned(name: &str, tensor: &Tensor<'_>, unit: usize) -> ! {
    let mut message = Message::new();
    message.push("the tensor ");
    message.push_name(name);
    let over = tensor.at() & (unit as u64 - 1);
    if over == 0 {
        message.push(" must begin at a multiple of ");
        message.push_number(unit as u64);
        message
            .push(" bytes in memory, but the file is not known to: include it with include_model!(\"…\", ");
        message.push_number(unit as u64);
        message.push(") or include_aligned!(\"…\", ");
        message.push_number(unit as u64);
        message.push(")");
    } else {
        message.push(" begins at byte ");
        message.push_number(tensor.at());
        message.push(" of the file, ");
        message.push_part(Part::Bytes(over));
        message.push(" behind a multiple of ");
        message.push_number(unit as u64);
        message.push(": write the file with its tensors aligned");
    }
    fail(&message)
}

/// `==` on slices is not const.
const fn are_equal(mut some: &[u64], mut others: &[u64]) -> bool {
    while let ([a, rest @ ..], [b, others_rest @ ..]) = (some, others) {
        if *a != *b {
            return false;
        }
        (some, others) = (rest, others_rest);
    }
    some.is_empty() && others.is_empty()
}
