//! Slices: the right elements in the right order, whatever is asked for, wherever the tensor lies.

mod naive;
mod random;
mod values;
