//! A model on a server, in one file or several.

use super::{Client, Model, ReadAt, RemoteFile, form, open_all};
use crate::error::{RemoteError, RemoteErrorKind};
use crate::hub::CANDIDATES;
use crate::location::Location;
use crate::parameters::{Entry, Parameters, Quantization};
use crate::shards::{SLOTS, compare, is_index, len_of, name_of, shards};
use crate::url::Url;
use embedded_safetensors::ReadError;
use embedded_safetensors::index::OwnedIndex;
use embedded_safetensors::validate::SortSlot;
use safetensors_files::shards::ShardIndex;
use std::fmt;
use std::ops::Range;

/// The longest `config.json` in bytes, as in huggingface.js.
const MAX_CONFIG: u64 = 10_000_000;

/// The memory through which a header passes.
const WINDOW: usize = 4096;

/// A model on a server: one file, or several files with an index. The headers of all files are read and
/// validated; data is read on request.
///
/// *Memory*: for each file a [`RemoteFile`] and an [`OwnedIndex`], and the index of a model in several files.
pub struct RemoteModel {
    client: Client,
    url: Url,
    config_url: Url,
    index: Option<ShardIndex>,
    files: Vec<ModelFile>,
}

/// One file of a [`RemoteModel`].
pub struct ModelFile {
    name: String,
    file: RemoteFile,
    index: OwnedIndex,
}

#[form]
impl RemoteModel {
    /// Opens a model at a location. The cache of the Hub is not looked into: see
    /// [`Hub::cached`](crate::Hub::cached).
    ///
    /// # Errors
    /// [`RemoteErrorKind::Offline`], [`RemoteErrorKind::NoModel`]; errors of the header or the index; those
    /// of the server and the connection.
    pub async fn open(client: &Client, location: &Location) -> Result<Self, RemoteError> {
        let hub = &client.options().hub;
        let file = match location {
            Location::Url(url) => {
                return Self::open_at(client, url.clone(), url.sibling("config.json")).await;
            }
            Location::Hub(file) => file,
        };
        let error = |kind| RemoteError::new(location, kind);
        if hub.offline {
            return Err(error(RemoteErrorKind::Offline));
        }
        let url =
            |path: &str| hub.url(file, path).map_err(|reason| error(RemoteErrorKind::Location { reason }));
        let config = url("config.json")?;
        if let Some(path) = file.path() {
            return Self::open_at(client, url(path)?, config).await;
        }
        for name in CANDIDATES {
            match Self::open_at(client, url(name)?, config.clone()).await {
                Err(missing) if is_missing(&missing) => {}
                outcome => return outcome,
            }
        }
        Err(error(RemoteErrorKind::NoModel { tried: CANDIDATES.to_vec() }))
    }

    async fn open_at(client: &Client, url: Url, config_url: Url) -> Result<Self, RemoteError> {
        let (index, files) = match is_index(&url) {
            false => {
                let name = name_of(&url);
                (None, vec![ModelFile::open(client.clone(), url.clone(), name).await?])
            }
            true => {
                let index = read_index(client, &url).await?;
                let files = open_all(client, shards(&url, &index)).await?;
                let found: Vec<(&str, &OwnedIndex)> =
                    files.iter().map(|file| (file.name.as_str(), &file.index)).collect();
                compare(&index, &found).map_err(|kind| RemoteError::new(&url, kind))?;
                (Some(index), files)
            }
        };
        Ok(Self { client: client.clone(), url, config_url, index, files })
    }

    /// Reads `config.json`, which is in the directory of the model. Returns `None` if there is none.
    ///
    /// # Errors
    /// [`RemoteErrorKind::Config`], [`RemoteErrorKind::TooLarge`]; those of the server and the connection.
    pub async fn config(&self) -> Result<Option<serde_json::Value>, RemoteError> {
        let url = &self.config_url;
        let file = match RemoteFile::connect(&self.client, url).await {
            Err(error) if is_missing(&error) => return Ok(None),
            outcome => outcome?,
        };
        let text = file.read_text(MAX_CONFIG).await?;
        let invalid = |error: serde_json::Error| {
            RemoteError::new(url, RemoteErrorKind::Config { reason: error.to_string() })
        };
        serde_json::from_slice(&text).map(Some).map_err(invalid)
    }
}

#[form]
impl ModelFile {
    pub(super) async fn open(client: Client, url: Url, name: String) -> Result<Self, RemoteError> {
        let file = RemoteFile::open(&client, &url).await?;
        // Without a length from the server, the header says where the file ends.
        let len = file.len().map_or_else(|| len_of(file.header()), Ok);
        let index = len.and_then(|len| OwnedIndex::of(file.header(), len).map_err(RemoteErrorKind::Format));
        let index = index.map_err(|kind| RemoteError::new(&url, kind))?;
        Ok(Self { name, file, index })
    }

    /// Reads the bytes of a tensor: with one request, unless they are among the first bytes of the file.
    /// Returns `None` if there is no tensor of this name.
    ///
    /// # Errors
    /// Those of the server and the connection.
    ///
    /// *Memory*: the tensor, on the heap.
    pub async fn read(&mut self, name: &str) -> Result<Option<Vec<u8>>, RemoteError> {
        let Some(range) = self.range_of(name) else { return Ok(None) };
        let mut bytes = vec![0; usize::try_from(range.end - range.start).unwrap_or(usize::MAX)];
        self.file.expect(range.clone());
        let (mut offset, mut rest) = (range.start, &mut bytes[..]);
        while !rest.is_empty() {
            let len = self.file.read_at(offset, rest).await?;
            if len == 0 {
                let needed = range.end;
                let kind = RemoteErrorKind::WrongLength { announced: needed, found: offset };
                return Err(RemoteError::new(self.file.url(), kind));
            }
            offset += len as u64;
            rest = rest.get_mut(len..).unwrap_or_default();
        }
        Ok(Some(bytes))
    }

    /// Returns the file as a [`Model`], for values, rows and slices. The header is in memory, so this needs
    /// no request. Call [`expect`](Self::expect) before a tensor is read in chunks.
    ///
    /// # Errors
    /// None: the header has been validated.
    pub async fn model(&mut self) -> Result<Model<&mut RemoteFile>, ReadError<RemoteError>> {
        let mut slots = [SortSlot::EMPTY; SLOTS];
        Model::open_unordered(&mut self.file, &mut slots, &mut [0; WINDOW]).await
    }
}

impl ModelFile {
    /// Returns the name of the file: of a shard, as in the index.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the tensors and the metadata.
    pub fn index(&self) -> &OwnedIndex {
        &self.index
    }

    /// Returns the file, and the tensors and the metadata.
    pub fn into_parts(self) -> (RemoteFile, OwnedIndex) {
        (self.file, self.index)
    }

    /// Returns the file.
    pub fn file(&mut self) -> &mut RemoteFile {
        &mut self.file
    }

    /// Returns the header with the 8 bytes of its length.
    pub fn header(&self) -> &[u8] {
        self.file.header()
    }

    /// Announces that a tensor is going to be read, as [`RemoteFile::expect`] does. Returns whether it
    /// exists.
    pub fn expect(&mut self, tensor: &str) -> bool {
        let range = self.range_of(tensor);
        let exists = range.is_some();
        range.into_iter().for_each(|range| self.file.expect(range));
        exists
    }

    /// The bytes of a tensor in the file.
    fn range_of(&self, name: &str) -> Option<Range<u64>> {
        let tensor = self.index.find(name).ok().flatten()?;
        let start = self.index.summary().data_start;
        Some(start + tensor.begin()..start + tensor.end())
    }
}

impl RemoteModel {
    /// Returns the URL of the file, or of the index.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Returns the index of a model in several files.
    pub fn index(&self) -> Option<&ShardIndex> {
        self.index.as_ref()
    }

    /// Returns the files, in the order of the index.
    pub fn files(&self) -> &[ModelFile] {
        &self.files
    }

    /// Returns the files, to read from them.
    pub fn files_mut(&mut self) -> &mut [ModelFile] {
        &mut self.files
    }

    /// Returns the files, to keep them without the model.
    pub fn into_files(self) -> Vec<ModelFile> {
        self.files
    }

    /// Returns the file that contains a tensor.
    pub fn file_of(&mut self, tensor: &str) -> Option<&mut ModelFile> {
        self.files.iter_mut().find(|file| file.range_of(tensor).is_some())
    }

    /// Counts the parameters as huggingface.js does. `config` is [`config.json`](Self::config), which says
    /// how quantised weights are packed.
    pub fn parameters(&self, config: Option<&serde_json::Value>) -> Parameters {
        let quantization = config.map(Quantization::of).unwrap_or_default();
        let files = self.files.iter().map(|file| file.index.tensors().map(Entry::of).collect());
        let files: Vec<Vec<Entry<'_>>> = files.collect();
        let files: Vec<&[Entry<'_>]> = files.iter().map(Vec::as_slice).collect();
        Parameters::of(&files, &quantization)
    }
}

impl fmt::Debug for RemoteModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteModel")
            .field("url", &self.url)
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ModelFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tensors = self.index.len();
        f.debug_struct("ModelFile")
            .field("name", &self.name)
            .field("tensors", &tensors)
            .finish_non_exhaustive()
    }
}

fn is_missing(error: &RemoteError) -> bool {
    matches!(error.kind(), RemoteErrorKind::Status { status: 404 | 410, .. })
}

#[form]
async fn read_index(client: &Client, url: &Url) -> Result<ShardIndex, RemoteError> {
    let file = RemoteFile::connect(client, url).await?;
    let text = file.read_text(client.options().max_index).await?;
    let limits = crate::LIMITS;
    ShardIndex::read(&text[..], &limits).map_err(|error| RemoteError::new(url, RemoteErrorKind::Index(error)))
}
