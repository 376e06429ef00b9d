//! Tensors in memory as arrays of the crate `ndarray`.

use embedded_safetensors::{values::Native, view::Tensor};
use ndarray::ArrayViewD;
use std::io;

/// Returns a tensor of a mapped or loaded file as an array of the crate `ndarray`, version 0.17. Nothing is
/// copied.
///
/// # Errors
/// Those of [`Tensor::as_slice`]: another dtype, a misaligned tensor or a big-endian target. One of kind
/// [`Unsupported`](io::ErrorKind::Unsupported) if `ndarray` cannot hold the shape, as with `[0, 2^63]`.
///
/// ```
/// use embedded_safetensors::{Dtype, MappedModel};
/// use safetensors_files::{array_view, save};
///
/// # let path = std::env::temp_dir().join(format!("array-view-{}", std::process::id()));
/// # let huge = ("huge", Dtype::U8, &[0, 1 << 63][..], &[][..]);
/// # save(&path, &[("ids", Dtype::U8, &[2, 3], &[1, 2, 3, 4, 5, 6]), huge], &[])?;
/// // SAFETY: this program's own file, which is only ever replaced.
/// let model = unsafe { MappedModel::open(&path)? };
/// let ids = model.find("ids")?.ok_or("no ids")?;
/// assert_eq!(array_view::<u8>(&ids)?, ndarray::array![[1, 2, 3], [4, 5, 6]].into_dyn());
/// assert!(array_view::<i8>(&ids).unwrap_err().to_string().contains("has dtype U8, but I8 was requested"));
/// # let error = array_view::<u8>(&model.find("huge")?.ok_or("no tensor")?).unwrap_err().to_string();
/// # assert_eq!(error, r#"tensor "huge": ndarray cannot hold the shape [0, 9223372036854775808]"#);
/// # drop(model); std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn array_view<'a, T: Native>(tensor: &Tensor<'a>) -> io::Result<ArrayViewD<'a, T>> {
    let (elements, shape) = (tensor.as_slice()?, tensor.shape());
    let dims: Result<Vec<_>, _> = shape.dims().iter().map(|&dim| usize::try_from(dim)).collect();
    let view = dims.ok().and_then(|dims| ArrayViewD::from_shape(dims, elements).ok());
    view.ok_or_else(|| {
        let reason = format!("tensor \"{}\": ndarray cannot hold the shape {shape:?}", tensor.name());
        io::Error::new(io::ErrorKind::Unsupported, reason)
    })
}
