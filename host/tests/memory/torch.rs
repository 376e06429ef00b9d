//! Files of PyTorch with very many tensors, as `torch.save` writes them.

use super::files::TENSORS;
use safetensors_convert::zip::Archive;
use std::io::{self, Write};

/// The element of each tensor.
const ELEMENT: [u8; 4] = 1_f32.to_le_bytes();

/// As PyTorch wrote it before 1.6: pickles, and the elements after them.
pub fn legacy(out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"\x80\x02\x8A\nl\xFC\x9CF\xF9 j\xA8P\x19.\x80\x02M\xE9\x03.\x80\x02}.")?;
    out.write_all(&pickle(b"N"))?;
    out.write_all(b"\x80\x02](")?;
    (0..TENSORS).try_for_each(|number| out.write_all(&text(&number.to_string())))?;
    out.write_all(b"e.")?;
    (0..TENSORS).try_for_each(|_| out.write_all(&[&1_u64.to_le_bytes()[..], &ELEMENT].concat()))
}

/// As an archive.
pub fn zip(out: &mut dyn Write) -> io::Result<()> {
    let mut archive = Archive::new(out, false);
    archive.add("m/data.pkl", |out: &mut dyn Write| out.write_all(&pickle(b"")))?;
    for number in 0..TENSORS {
        archive.add(&format!("m/data/{number}"), |out: &mut dyn Write| out.write_all(&ELEMENT))?;
    }
    archive.finish().map(|_| ())
}

/// The dictionary of all tensors. PyTorch stores all values in the memo, and fetches those that are
/// names.
fn pickle(of_storage: &[u8]) -> Vec<u8> {
    let mut pickle =
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\nq\x000ctorch\nFloatStorage\nq\x010".to_vec();
    pickle.extend(b"ccollections\nOrderedDict\nq\x020X\x07\0\0\0storageq\x030X\x03\0\0\0cpuq\x040}(");
    let mut next = 8_u32;
    for number in 0..TENSORS {
        for part in [
            &text(&format!("t{number}"))[..],
            &[b"h\0((h\x03h\x01", &text(&number.to_string())[..]].concat(),
            &[b"h\x04K\x01", of_storage, b"t"].concat(),
            b"QK\0K\x01\x85",
            b"K\x01\x85",
            b"\x89h\x02)R",
            b"t",
            b"R",
        ] {
            pickle.extend([part, b"r", &next.to_le_bytes()].concat());
            next += 1;
        }
    }
    pickle.extend(b"u.");
    pickle
}
fn text(text: &str) -> Vec<u8> {
    let len = u32::try_from(text.len()).expect("short").to_le_bytes();
    [b"X", &len[..], text.as_bytes()].concat()
}
