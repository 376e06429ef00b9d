//! A model on a server, in one file or several.

use crate::client::Client;
use crate::error::{RemoteError, RemoteErrorKind};
use crate::exchange::fetch::{CONFIG, INDEX};
use crate::file::{RemoteFile, SLOTS};
use crate::hub::CANDIDATES;
use crate::location::{HubFile, Location, MAIN};
use crate::parallel::open_all;
use crate::parameters::{Entry, Parameters, Quantization};
use crate::shared::SharedFile;
use crate::url::Url;
use embedded_safetensors::index::OwnedIndex;
use embedded_safetensors::validate::SortSlot;
use embedded_safetensors::{Model, ReadError};
use safetensors_files::shards::ShardIndex;
use std::fmt;
use std::ops::Range;

/// The longest `config.json` in bytes, as in huggingface.js.
pub const MAX_CONFIG: u64 = 10_000_000;

/// The memory through which a header passes.
const WINDOW: usize = 4096;

/// The bytes of a tensor that are read at a time.
const PIECE: usize = 1 << 16;

/// A model on a server: one file, or several files with an index. The headers of all files are read and
/// validated; data is read on request.
///
/// *Memory*: for each file a [`RemoteFile`] and an [`OwnedIndex`], and the index of a model in several files,
/// also as text.
pub struct RemoteModel {
    client: Client,
    url: Url,
    index: Option<ShardIndex>,
    index_text: Option<Vec<u8>>,
    files: Vec<ModelFile>,
}

/// One file of a [`RemoteModel`].
pub struct ModelFile {
    name: String,
    file: SharedFile,
    index: OwnedIndex,
}

impl Client {
    /// Opens the file of a location: of a model of the Hub without a path the first of
    /// [`CANDIDATES`](crate::CANDIDATES) that exists. It may be an index, and its header may be invalid, as
    /// with [`RemoteFile::open`]. The cache of the Hub is not looked into: see
    /// [`Hub::cached`](crate::Hub::cached).
    ///
    /// # Errors
    /// [`RemoteErrorKind::Offline`], [`RemoteErrorKind::NoModel`]; those of the server and the connection.
    pub fn find(&self, location: &Location) -> Result<RemoteFile, RemoteError> {
        let file = match location {
            Location::Url(url) => return self.open(url),
            Location::Hub(file) => file,
        };
        let error = |kind| RemoteError::new(location, kind);
        if self.options().hub.offline {
            return Err(error(RemoteErrorKind::Offline));
        }
        if let Some(path) = file.path() {
            return self.open(&self.on_hub(file, path)?);
        }
        for name in CANDIDATES {
            match self.open(&self.on_hub(file, name)?) {
                Err(missing) if missing.is_missing() => {}
                outcome => return outcome,
            }
        }
        let revision = Some(file.revision()).filter(|name| *name != MAIN).map(str::to_owned);
        Err(error(RemoteErrorKind::NoModel { tried: CANDIDATES.to_vec(), revision }))
    }

    fn open(&self, url: &Url) -> Result<RemoteFile, RemoteError> {
        match is_index(url) {
            true => RemoteFile::connect(self, url, INDEX),
            false => RemoteFile::open(self, url),
        }
    }

    fn on_hub(&self, file: &HubFile, path: &str) -> Result<Url, RemoteError> {
        let url = self.options().hub.url(file, path);
        url.map_err(|reason| {
            let reason = reason.to_owned();
            RemoteError::new(Location::Hub(file.clone()), RemoteErrorKind::Setup(reason))
        })
    }

    /// Reads `config.json` of the directory of this file. Returns `None` if there is none.
    ///
    /// # Errors
    /// [`RemoteErrorKind::Config`], [`RemoteErrorKind::TooLarge`]; those of the server and the connection.
    pub fn config(&self, file: &Url) -> Result<Option<serde_json::Value>, RemoteError> {
        let url = file.sibling("config.json");
        let file = match RemoteFile::connect(self, &url, CONFIG) {
            Err(error) if error.is_missing() => return Ok(None),
            outcome => outcome?,
        };
        let text = file.into_text(MAX_CONFIG)?;
        let invalid =
            |error: serde_json::Error| RemoteError::new(&url, RemoteErrorKind::Config(error.to_string()));
        serde_json::from_slice(&text).map(Some).map_err(invalid)
    }
}

impl RemoteModel {
    /// Opens a model at a location. The cache of the Hub is not looked into: see
    /// [`Hub::cached`](crate::Hub::cached).
    ///
    /// # Errors
    /// Those of [`Client::find`] and [`of`](Self::of).
    pub fn open(client: &Client, location: &Location) -> Result<Self, RemoteError> {
        Self::of(client, client.find(location)?)
    }

    /// Opens the model of a file that [`Client::find`] has opened: reads an index, and opens its files.
    ///
    /// # Errors
    /// Errors of the header or the index; those of the server and the connection.
    pub fn of(client: &Client, file: RemoteFile) -> Result<Self, RemoteError> {
        let (client, url) = (client.clone(), file.url().clone());
        if !is_index(&url) {
            let name = url.path().rsplit('/').next().unwrap_or("").to_owned();
            let files = vec![ModelFile::of(file, name)?];
            return Ok(Self { client, url, index: None, index_text: None, files });
        }
        let text = file.into_text(client.options().max_index)?;
        let invalid = |kind| RemoteError::new(&url, RemoteErrorKind::Index(kind));
        let index = ShardIndex::read(&text[..], &crate::LIMITS);
        let index = index.map_err(|error| invalid(error.into_kind()))?;
        // Reading the index has checked that the names are safe.
        let shards = index.shards().map(|name| (url.sibling(name), name.to_owned())).collect();
        let files = open_all(&client, shards);
        // A shard that does not exist is an error of the index.
        let files = files.map_err(|error| match error.shard().filter(|_| error.is_missing()) {
            Some(shard) => invalid(index.missing(shard)),
            None => error,
        })?;
        let headers: Vec<&OwnedIndex> = files.iter().map(|file| &file.index).collect();
        index.check(&headers).map_err(invalid)?;
        Ok(Self { client, url, index: Some(index), index_text: Some(text), files })
    }

    /// Reads `config.json`, which is in the directory of the model. Returns `None` if there is none.
    ///
    /// # Errors
    /// Those of [`Client::config`].
    pub fn config(&self) -> Result<Option<serde_json::Value>, RemoteError> {
        self.client.config(&self.url)
    }
}

impl ModelFile {
    pub(super) fn open(client: Client, url: Url, name: String) -> Result<Self, RemoteError> {
        Self::of(RemoteFile::open(&client, &url)?, name)
    }

    fn of(file: RemoteFile, name: String) -> Result<Self, RemoteError> {
        file.check_header()?;
        let len = file.len().map_or_else(|| file.len_by_header(), Ok);
        let index = len.and_then(|len| OwnedIndex::of(file.header(), len).map_err(RemoteErrorKind::Format));
        let index = index.map_err(|kind| RemoteError::new(file.url(), kind))?;
        Ok(Self { name, file: SharedFile::new(file), index })
    }

    /// Reads the bytes of a tensor: with one request, unless they are among the first bytes of the file, or
    /// come from the reply of [announced](Self::expect) tensors. Returns `None` if there is no tensor of this
    /// name.
    ///
    /// # Errors
    /// [`RemoteErrorKind::Memory`]; those of the server and the connection.
    ///
    /// *Memory*: the tensor, on the heap. Nothing is allocated for bytes that have not arrived, but for the
    /// next 64 KiB.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>, RemoteError> {
        let Some(range) = self.range_of(name) else { return Ok(None) };
        let mut bytes = Vec::new();
        loop {
            let (len, offset) = (bytes.len(), range.start + bytes.len() as u64);
            let wanted = usize::try_from(range.end - offset).unwrap_or(PIECE).min(PIECE);
            if wanted == 0 {
                return Ok(Some(bytes));
            }
            let error = |kind| Err(RemoteError::new(self.file.opened().url(), kind));
            if bytes.try_reserve(wanted).is_err() {
                return error(RemoteErrorKind::Memory(range.end - range.start));
            }
            bytes.resize(len + wanted, 0);
            let free = bytes.get_mut(len..).unwrap_or_default();
            let read = self.file.read(offset, free, Some(range.end))?;
            if read == 0 {
                return error(RemoteErrorKind::wrong_length(range.end, offset));
            }
            bytes.truncate(len + read);
        }
    }

    /// Returns the file as a [`Model`], for values, rows and slices, while the entries of
    /// [`index`](Self::index) stay borrowed. The header is in memory, so this needs no request. Call
    /// [`expect`](Self::expect) or [`expect_all`](Self::expect_all) before tensors are read in chunks.
    ///
    /// # Errors
    /// None: the header has been validated.
    pub fn model(&self) -> Result<Model<&SharedFile>, ReadError<RemoteError>> {
        let mut slots = [SortSlot::EMPTY; SLOTS];
        Model::open_unordered(&self.file, &mut slots, &mut [0; WINDOW])
    }

    /// Returns the name of the file: of a shard, as in the index.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the tensors and the metadata.
    pub fn index(&self) -> &OwnedIndex {
        &self.index
    }

    /// Returns the file, and the tensors and the metadata.
    pub fn into_parts(self) -> (SharedFile, OwnedIndex) {
        (self.file, self.index)
    }

    /// Returns the file.
    pub fn file(&self) -> &SharedFile {
        &self.file
    }

    /// Returns the header with the 8 bytes of its length.
    pub fn header(&self) -> &[u8] {
        self.file.opened().header()
    }

    /// Announces that a tensor is going to be read, as [`SharedFile::expect`] does. Returns whether it
    /// exists.
    pub fn expect(&self, tensor: &str) -> bool {
        let Some(range) = self.range_of(tensor) else { return false };
        self.file.expect([range]);
        true
    }

    /// Announces that all tensors are going to be read, as [`SharedFile::expect`] does.
    pub fn expect_all(&self) {
        let start = self.index.summary().data_start;
        self.file.expect(self.index.tensors().map(|tensor| start + tensor.begin()..start + tensor.end()));
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

    /// Returns the text of that index.
    pub fn index_text(&self) -> Option<&[u8]> {
        self.index_text.as_deref()
    }

    /// Returns the files, in the order of the index.
    pub fn files(&self) -> &[ModelFile] {
        &self.files
    }

    /// Returns the files, to keep them without the model.
    pub fn into_files(self) -> Vec<ModelFile> {
        self.files
    }

    /// Returns the file that contains a tensor.
    pub fn file_of(&self, tensor: &str) -> Option<&ModelFile> {
        self.files.iter().find(|file| file.range_of(tensor).is_some())
    }

    /// Counts the parameters as huggingface.js does. `config` is [`config.json`](Self::config), which says
    /// how quantised weights are packed.
    pub fn parameters(&self, config: Option<&serde_json::Value>) -> Parameters {
        let quantization = config.map(Quantization::of).unwrap_or_default();
        let tensors = self.files.iter().flat_map(|file| file.index.tensors().map(Entry::of));
        Parameters::of(&tensors.collect::<Vec<_>>(), &quantization)
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

/// Whether a URL is that of an index.
fn is_index(url: &Url) -> bool {
    url.path().ends_with(".index.json")
}
