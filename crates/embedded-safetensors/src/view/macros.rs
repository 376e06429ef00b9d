//! Files in the program, where typed elements can be read in place.

/// A file as an aligned `static`: `include_aligned!("model.safetensors", 16)` is a `&'static`
/// [`AlignedFile`](crate::values::AlignedFile) at a multiple of 16 bytes, a power of two from 4 to 4096.
///
/// The path is relative to the file that the macro is called in, as for [`include_bytes!`], and may be
/// `concat!(env!("OUT_DIR"), "/model.safetensors")`.
///
/// *Memory*: the file, once, in flash, rounded up to the alignment.
#[macro_export]
macro_rules! include_aligned {
    ($path:expr, $align:expr $(,)?) => {{
        const __BYTES: &[::core::primitive::u8] = ::core::include_bytes!($path);
        static __FILE: $crate::values::AlignedFile<{ $align }, { __BYTES.len() }> =
            $crate::values::AlignedFile::copy(__BYTES);
        &__FILE
    }};
}

/// A model in the program, as an expression for a const: the file as an aligned `static`, as
/// [`include_aligned!`](crate::include_aligned) makes it, proven sound while the program is built, no name in it twice, and with
/// a table of its tensors, so that the compiler finds hundreds of them in no time. Its type is [`View<'static>`](crate::View).
///
/// ```ignore
/// use embedded_safetensors::{Dtype, Tensor, View, include_model};
///
/// const MODEL: View = include_model!("kws.safetensors", 16);
/// static CONV1: &[[i8; 32]; 16] = MODEL.expect_array("conv1.weight");
/// const CONV2: Tensor = MODEL.expect("conv2.weight", Dtype::I8, &[16, 32]);
/// ```
///
/// A file that is not sound, or is not what the program expects, fails the build, and the error says why.
///
/// *Memory*: the file, in flash, once however often the const is named. The table is in the program only if the view itself
/// is used at run time: 168 bytes a tensor.
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
