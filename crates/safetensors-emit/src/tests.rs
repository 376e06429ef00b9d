//! Models for tests, and the sums of a model.

use crate::{Constants, FileModel};
use embedded_safetensors::Model;
use embedded_safetensors::integrity::{Crc32, Sha256};

/// The header of a model with 6 bytes of data.
pub const MODEL: &str = r#"{"fc.weight":{"dtype":"U8","shape":[2,3],"data_offsets":[0,6]}}"#;

/// A model with this header and this many bytes of data.
pub fn file(header: &str, bytes: u8) -> Vec<u8> {
    let data: Vec<u8> = (0..bytes).collect();
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat()
}

#[test]
fn sums_are_those_that_a_device_computes() -> Result<(), Box<dyn std::error::Error>> {
    let path = tempfile::NamedTempFile::new()?.into_temp_path();
    // Around the length of a block.
    for len in [6, 64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, 200_000] {
        let header = MODEL.replace("[2,3]", &format!("[{len}]")).replace("[0,6]", &format!("[0,{len}]"));
        let mut bytes = file(&header, 0);
        bytes.extend((0..len).map(|at| u8::try_from(at % 251).unwrap_or(0)));
        std::fs::write(&path, &bytes)?;
        let model = FileModel::open(&path)?;
        let constants = Constants::of(&model)?;
        let mut device = Model::open(&bytes[..], &mut [0; 64])?;
        device.verify(Sha256::new(), constants.sha256(), &mut [])?;
        device.verify(Crc32::new(), &constants.crc32(), &mut [])?;
    }
    Ok(())
}

#[test]
fn tensors_of_many_dimensions_are_left_out_of_rust() -> Result<(), Box<dyn std::error::Error>> {
    let entry = |name: &str, rank: usize, at: u8| {
        let shape = vec!["1"; rank].join(",");
        format!(r#""{name}":{{"dtype":"U8","shape":[{shape}],"data_offsets":[{at},{}]}}"#, at + 1)
    };
    let header = format!("{{{},{},{}}}", entry("a", 8, 0), entry("deep\\n", 9, 1), entry("c", 1, 2));
    let path = tempfile::NamedTempFile::new()?.into_temp_path();
    std::fs::write(&path, file(&header, 3))?;
    let (model, mut text) = (FileModel::open(&path)?, Vec::new());
    Constants::of(&model)?.prefix("net")?.write_rust(&mut text)?;
    let text = String::from_utf8(text)?;
    let left_out = r#"// "deep\n": U8 with 9 dimensions is left out: a query has at most 8."#;
    assert!(text.contains(left_out) && !text.contains("NET_DEEP"), "{text}");
    assert!(
        text.contains("NET_QUERIES: [Query<'static>; 2] = [\n    NET_A.query(),\n    NET_C.query(),\n];")
    );
    assert!(text.contains("pub const NET_C: Tensor = Tensor {\n    index: 1,\n    name: \"c\","), "{text}");
    assert!(text.contains("pub const NET_INDEX_TENSORS: usize = 3;"), "an index holds all tensors");
    Ok(())
}

#[test]
fn wrong_options_are_one_sentence() -> Result<(), Box<dyn std::error::Error>> {
    let path = tempfile::NamedTempFile::new()?.into_temp_path();
    let bytes = file(MODEL, 6);
    std::fs::write(&path, &bytes)?;
    let model = FileModel::open(&path)?;
    let last = u64::MAX - bytes.len() as u64;
    assert!(Constants::of(&model)?.address(last).is_ok());
    // `Debug` is what cargo shows of an error that `main` returns.
    let error = Constants::of(&model)?.address(last + 1).err().map(|error| format!("{error:?}"));
    let past_the_end =
        format!("the model would end past the last address: it has 77 bytes, at {:#x}", last + 1);
    assert_eq!(error, Some(past_the_end));
    let error = Constants::of(&model)?.prefix("1x").err().map(|error| format!("{error:?}"));
    let prefix = "not a valid prefix: \"1x\"; use letters, digits and `_`, beginning with a letter";
    assert_eq!(error.as_deref(), Some(prefix));
    Ok(())
}
