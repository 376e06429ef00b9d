//! Macros that include a file in the program, so that typed elements can be read in place.

/// Includes a file as an aligned `static`: `include_aligned!("model.safetensors", 16)` is a `&'static`
/// [`AlignedFile`](crate::values::AlignedFile) at a multiple of 16 bytes. The alignment is a power of two
/// from 4 to 4096.
///
/// The path is relative to the file that calls the macro, as for [`include_bytes!`], and may be
/// `concat!(env!("OUT_DIR"), "/model.safetensors")`.
///
/// *Memory*: the file, once, in flash, rounded up to the alignment.
///
/// ```
/// use embedded_safetensors::{View, include_aligned, values::AlignedFile};
///
/// # fn main() -> Result<(), embedded_safetensors::Error> {
/// static FILE: &AlignedFile<16, 4992> =
///     include_aligned!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/network.safetensors"), 16);
/// let scale = View::parse(FILE.bytes())?.tensor("fc1.scale")?;
/// assert_eq!(scale.as_f32()?.len(), 64); // aligned, so borrowed
/// # Ok(())
/// # }
/// ```
#[macro_export]
macro_rules! include_aligned {
    ($path:expr, $align:expr $(,)?) => {{
        const __BYTES: &[::core::primitive::u8] = ::core::include_bytes!($path);
        static __FILE: $crate::values::AlignedFile<{ $align }, { __BYTES.len() }> =
            $crate::values::AlignedFile::copy(__BYTES);
        &__FILE
    }};
}

/// Includes a model in the program, as an expression for a const of type [`View<'static>`](crate::View).
///
/// The file is an aligned `static`, as from [`include_aligned!`](crate::include_aligned). The compiler
/// validates it, rejects duplicate names, and builds a table of the tensors, so that hundreds of lookups take
/// it no noticeable time.
///
/// ```
/// use embedded_safetensors::{Dtype, Tensor, View, include_model};
///
/// const MODEL: View =
///     include_model!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/network.safetensors"), 16);
/// static WEIGHT: &[[i8; 32]; 64] = MODEL.expect_array("fc1.weight");
/// const BIAS: Tensor = MODEL.expect("fc1.bias", Dtype::I32, &[64]);
/// ```
///
/// A file that is invalid, or is not what the program expects, fails the build with an error that says why.
/// In a function, that takes `const { MODEL.expect_array("fc1.weight") }`: without `const`, a lookup is done
/// at run time, and panics there.
///
/// *Memory*: the file, once, in flash, however often the const is used. The table is in the program only if
/// the view itself is used at run time: 168 bytes per tensor.
#[macro_export]
macro_rules! include_model {
    ($path:expr, $align:expr $(,)?) => {{
        const __ROOM: ::core::primitive::usize = $crate::__room(::core::include_bytes!($path));
        #[allow(long_running_const_eval)]
        const __MODEL: $crate::__Embedded<'static, { __ROOM }> =
            $crate::__Embedded::new($crate::include_aligned!($path, $align));
        const __COUNT: ::core::primitive::usize = __MODEL.tensor_count();
        static __TENSORS: [$crate::Tensor<'static>; __COUNT] = __MODEL.tensors();
        #[allow(long_running_const_eval)]
        static __LINKS: [$crate::__Link; __COUNT] = __MODEL.links();
        #[allow(long_running_const_eval)]
        const __VIEW: $crate::View<'static> = __MODEL.view(&__TENSORS, &__LINKS);
        __VIEW
    }};
}
