//! What a test does with a model.

use crate::cases::{Seen, Step};
use crate::server::File;
use embedded_safetensors::ReadAt;
use safetensors_remote::{Client, Location, Options, RemoteError, RemoteModel};

/// Opens a model in one file, takes these steps, and compares all bytes with those of the file.
pub fn act(options: Options, location: &str, steps: &[Step], file: &File) -> Result<(), RemoteError> {
    let client = Client::new(options)?;
    let model = RemoteModel::open(&client, &Location::parse(location)?)?;
    assert_eq!(model.files()[0].header(), file.beginning, "the header");
    for &step in steps {
        match step {
            Step::Tensor(name) => {
                let part = model.file_of(name).expect("the tensor");
                let bytes = part.read(name)?;
                assert!(bytes == Some(file.tensor(name)), "the bytes of {name}");
            }
            Step::Neighbours => {
                let part = &model.files()[0];
                part.expect_all();
                for tensor in part.index().tensors() {
                    let bytes = part.read(tensor.name())?;
                    assert!(bytes == Some(file.tensor(tensor.name())), "the bytes of {}", tensor.name());
                }
            }
            Step::Pieces(start, end, len) => {
                let mut remote = model.files()[0].file();
                let (mut at, mut buffer) = (start, vec![0; len]);
                while at < end.min(file.len) {
                    let read = remote.read_at(at, &mut buffer)?;
                    assert!(read > 0 && buffer[..read] == file.bytes(at, at + read as u64), "byte {at}");
                    at += read as u64;
                }
            }
        }
    }
    Ok(())
}

/// Opens a model, and returns the names of its files, its tensors and its parameters.
pub fn look(options: Options, location: &str) -> Result<Seen, RemoteError> {
    let client = Client::new(options)?;
    let model = RemoteModel::open(&client, &Location::parse(location)?)?;
    let config = model.config()?;
    Ok(Seen {
        files: model.files().iter().map(|file| file.name().to_owned()).collect(),
        tensors: model.files().iter().map(|file| file.index().len()).sum(),
        parameters: model.parameters(config.as_ref()).total(),
        has_config: config.is_some(),
    })
}
