//! What a test does with a model.

use super::{Client, ReadAt, RemoteModel, form};
use crate::cases::Step;
use crate::server::File;
use safetensors_remote::{Location, Options, RemoteError};

/// Opens a model in one file, takes these steps, and compares all bytes with those of the file.
#[form]
pub async fn act(options: Options, location: &str, steps: &[Step], file: &File) -> Result<(), RemoteError> {
    let client = Client::new(options)?;
    let mut model = RemoteModel::open(&client, &Location::parse(location)?).await?;
    assert_eq!(model.files()[0].header(), file.beginning, "the header");
    for &step in steps {
        match step {
            Step::Tensor(name) => {
                let part = model.file_of(name).expect("the tensor");
                let bytes = part.read(name).await?;
                assert!(bytes == Some(file.tensor(name)), "the bytes of {name}");
            }
            Step::Pieces(start, end, len) => {
                let remote = model.files_mut()[0].file();
                let (mut at, mut buffer) = (start, vec![0; len]);
                while at < end.min(file.len) {
                    let read = remote.read_at(at, &mut buffer).await?;
                    assert!(read > 0 && buffer[..read] == file.bytes(at, at + read as u64), "byte {at}");
                    at += read as u64;
                }
            }
        }
    }
    Ok(())
}
