//! A model in storage.

use super::{ReadAt, TensorReader, feed, form};
use crate::error::{Error, ErrorKind};
use crate::header::Entry;
use crate::header::progress::Machine;
use crate::index::Index;
use crate::index::build::IndexBuilder;
use crate::index::memory::{IndexMemory, IndexSize};
use crate::integrity::{Sum, Verifier, check};
use crate::io::read::counted;
use crate::io::{FileLen, ReadError};
#[cfg(feature = "serde-json-core")]
use crate::query::decode::{MetadataError, from_pairs, from_text};
use crate::query::find::{Query, Search};
use crate::query::list::List;
use crate::query::metadata::{Metadata, Pairs};
#[cfg(feature = "heapless")]
use crate::query::owned::{self, NamedTensor};
use crate::query::pump::{HeaderValidator, Pass, Step, ValidHeader};
use crate::query::value::ValueSearch;
use crate::tensor::info::TensorInfo;
use crate::tensor::span::{Located, Span};
use crate::util::bytes::WORDS;
use crate::util::top_k::SortSlot;
use crate::validate::duplicates::DuplicateFinder;
use crate::validate::{Summary, Validator};

/// A model in storage, whose header is valid.
///
/// Opening a model reads the header once and validates it. The model then keeps only a fingerprint of the
/// header. Each lookup reads the entire header again, and fails with [`ErrorKind::Changed`] if it has
/// changed. That detects any accidental change, but not a deliberate one by someone who can write to the
/// storage at that time.
///
/// The header is read through a window, a buffer you pass to each call. One byte is enough; a larger window
/// is faster, up to about one block of the storage. For many lookups, [build an index](Self::build_index).
///
/// The format has no checksum for the data, so changes of the data are not detected, unless you
/// [verify a sum](Self::verify).
///
/// *Memory*: 24 bytes and the storage. Opening a model, finding a tensor and reading it takes less than 900
/// bytes of RAM on a Cortex-M3, with a window of 64 bytes, for headers of any length.
///
/// ```
/// use embedded_safetensors::Model;
///
/// # let storage = &include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/network.safetensors"))[..];
/// let mut window = [0; 64];
/// let mut model = Model::open(storage, &mut window)?; // any `ReadAt`: here, a slice
/// let bias = model.find("fc2.bias", &mut window)?.ok_or("no bias")?;
/// let mut values = [0.0_f32; 8];
/// model.reader(&bias)?.values().read_exact(&mut values)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Cancel safety
/// See [`asynch`](crate::asynch#cancel-safety).
#[form]
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Model<S> {
    pub(super) source: S,
    header: ValidHeader,
}

#[form]
impl<S: ReadAt> Model<S> {
    /// Opens a model: reads the header once, and validates it as [`Validator`] does. That includes the
    /// length of the file, if the storage knows it.
    ///
    /// Duplicate names are not detected here. They are detected when they are looked up, by
    /// [`validate_names`](Self::validate_names), and by an [index](Self::build_index).
    ///
    /// The source is consumed. To keep it when this fails, pass it as `&mut source`.
    ///
    /// # Errors
    /// Errors in the file; [`ErrorKind::OutOfOrder`] when its tensors are not in the order of their
    /// offsets: use [`open_unordered`](Self::open_unordered); [`ErrorKind::NoWindow`] when the window is
    /// empty; those of the storage.
    #[inline(always)] // otherwise its stack is reserved until the end of the pass
    pub async fn open(source: S, window: &mut [u8]) -> Result<Self, ReadError<S::Error>> {
        let mut model = Self { source, header: ValidHeader::NONE };
        model.scan(&mut [], window).await?;
        Ok(model)
    }

    /// Opens a model and looks up tensors: [`open`](Self::open) and [`find_all`](Self::find_all) in one
    /// pass over the header.
    ///
    /// ```
    /// use embedded_safetensors::{Model, query::Query};
    ///
    /// # let header = br#"{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}   "#;
    /// # let file = [&(header.len() as u64).to_le_bytes(), &header[..], b"xy"].concat();
    /// let mut queries = [Query::required("a"), Query::optional("bias")];
    /// let mut model = Model::open_with(&file[..], &mut queries, &mut [0; 64])?;
    /// let [a, bias] = queries;
    /// assert!(bias.info().is_none());
    /// let mut bytes = [0; 2];
    /// model.reader(&a)?.read_to_end(&mut bytes)?;
    /// assert_eq!(&bytes, b"xy");
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open) and [`find`](Self::find), whichever occurs first in the header; at its end, as
    /// [`find_all`](Self::find_all), when a tensor is missing or not as requested.
    #[inline(always)] // as `open`
    pub async fn open_with(
        source: S,
        queries: &mut [Query<'_>],
        window: &mut [u8],
    ) -> Result<Self, ReadError<S::Error>> {
        let mut model = Self { source, header: ValidHeader::NONE };
        model.scan(queries, window).await?;
        Ok(model)
    }

    /// Opens a model whose header may have the tensors in any order. If they are in the order of their
    /// offsets, this takes one pass. Otherwise, it takes another pass for every `slots.len()` tensors.
    ///
    /// # Errors
    /// As [`open`](Self::open), except [`ErrorKind::OutOfOrder`] if there is at least one slot.
    pub async fn open_unordered(
        mut source: S,
        slots: &mut [SortSlot],
        window: &mut [u8],
    ) -> Result<Self, ReadError<S::Error>> {
        let file_len = source.file_len().await.map_err(ReadError::Source)?;
        Self::validate(source, file_len, &mut Validator::new(file_len.exact(), slots), window).await
    }

    /// Opens a model whose header may have the tensors in any order, and indexes all tensors, in one pass.
    /// Duplicate names are detected; duplicate keys of `__metadata__` are not.
    ///
    /// # Errors
    /// As [`open`](Self::open), except [`ErrorKind::OutOfOrder`]; [`ErrorKind::Index`] when the memory is
    /// too small: the error names the first part that is too small, and the size that the header needs;
    /// [`ErrorKind::DuplicateName`].
    pub async fn open_indexed<'m>(
        mut source: S,
        memory: IndexMemory<'m>,
        window: &mut [u8],
    ) -> Result<(Self, Index<'m>), ReadError<S::Error>> {
        let file_len = source.file_len().await.map_err(ReadError::Source)?;
        let mut builder = IndexBuilder::new(file_len.exact(), memory);
        let model = Self::validate(source, file_len, &mut builder, window).await?;
        Ok((model, builder.finish()?))
    }

    /// Returns the number of tensors, and the offset and length of the data.
    pub const fn summary(&self) -> Summary {
        self.header.summary()
    }

    /// Returns a number by which the header is recognised, never 0: for the C API, whose tensors remember it.
    #[doc(hidden)]
    pub const fn header_mark(&self) -> u32 {
        self.header.data().header
    }

    /// Returns the storage, for reads of your own.
    pub const fn source_mut(&mut self) -> &mut S {
        &mut self.source
    }

    /// Returns the source.
    pub fn into_source(self) -> S {
        self.source
    }

    /// Checks that the header has not changed. The data is not checked.
    ///
    /// # Errors
    /// [`ErrorKind::Changed`] when the header has changed; those of the storage.
    pub async fn check_unchanged(&mut self, window: &mut [u8]) -> Result<(), ReadError<S::Error>> {
        self.find_all(&mut [], window).await
    }

    /// Looks up one tensor, in one pass over the header.
    ///
    /// # Errors
    /// [`ErrorKind::DuplicateName`] when two tensors have this name; [`ErrorKind::Rank`] when the tensor has
    /// more dimensions than a [`Shape`](crate::Shape) holds; [`ErrorKind::Changed`]; those of the storage.
    pub async fn find(
        &mut self,
        name: &str,
        window: &mut [u8],
    ) -> Result<Option<TensorInfo>, ReadError<S::Error>> {
        let mut queries = [Query::optional(name)];
        self.find_all(&mut queries, window).await?;
        let [query] = queries;
        Ok(query.info())
    }

    /// Looks up any number of tensors, in one pass over the header.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when a tensor that is not [optional](Query::optional) is missing;
    /// [`ErrorKind::DtypeMismatch`], [`ErrorKind::RankMismatch`] and [`ErrorKind::ShapeMismatch`] when one is
    /// not as requested; all other queries are then filled in. Otherwise as [`find`](Self::find); after those
    /// errors, nothing is found.
    pub async fn find_all(
        &mut self,
        queries: &mut [Query<'_>],
        window: &mut [u8],
    ) -> Result<(), ReadError<S::Error>> {
        self.scan(queries, window).await
    }

    /// Calls `visitor` for each tensor, in the order of the header, in one pass over it. The longest name
    /// must fit into `name`.
    ///
    /// Do not rely on the tensors that `visitor` was given until this has returned `Ok`.
    ///
    /// # Errors
    /// [`ErrorKind::NameLength`] and [`ErrorKind::Rank`] when a tensor cannot be passed on;
    /// [`ErrorKind::Changed`]; those of the storage.
    pub async fn for_each(
        &mut self,
        name: &mut [u8],
        window: &mut [u8],
        visitor: impl FnMut(&Entry<'_>),
    ) -> Result<(), ReadError<S::Error>> {
        self.pass(&mut List::new(name, visitor), window).await
    }

    /// Lists all tensors with their names, in the order of the header, in one pass over it. The list is
    /// cleared first.
    ///
    /// ```
    /// use embedded_safetensors::{Model, query::NamedTensor};
    /// use heapless::Vec;
    ///
    /// # let storage = &include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/network.safetensors"))[..];
    /// let mut window = [0; 64];
    /// let mut model = Model::open(storage, &mut window)?;
    /// let mut tensors: Vec<NamedTensor<24>, 8> = Vec::new();
    /// model.list(&mut tensors, &mut window)?;
    /// for tensor in &tensors {
    ///     println!("{} {}", tensor.name(), tensor.info().dtype());
    /// }
    /// # assert_eq!(tensors.len(), 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Index`] when there are more tensors than the list holds, with their number;
    /// [`ErrorKind::NameLength`] when a name is longer than `NAME` bytes; [`ErrorKind::Rank`] when a tensor
    /// has more dimensions than a [`Shape`](crate::Shape) holds; [`ErrorKind::Changed`]; those of the
    /// storage. The list is empty then.
    #[cfg(feature = "heapless")]
    pub async fn list<const NAME: usize, const TENSORS: usize>(
        &mut self,
        tensors: &mut heapless::Vec<NamedTensor<NAME>, TENSORS>,
        window: &mut [u8],
    ) -> Result<(), ReadError<S::Error>> {
        tensors.clear();
        let Summary { tensors: count, data_start, .. } = self.summary();
        if count > TENSORS as u64 {
            return Err(owned::too_many(count, TENSORS, data_start).into());
        }
        let mut name = [0; NAME];
        let outcome = self.for_each(&mut name, window, |entry| owned::append(tensors, entry)).await;
        if outcome.is_err() {
            tensors.clear();
        }
        outcome
    }

    /// Reads the value of one key of `__metadata__` into a string of at most `N` bytes, in one pass over the
    /// header. Returns `None` when there is no such key.
    ///
    /// # Errors
    /// As [`metadata_value`](Self::metadata_value).
    #[cfg(feature = "heapless")]
    pub async fn metadata_string<const N: usize>(
        &mut self,
        key: &str,
        window: &mut [u8],
    ) -> Result<Option<heapless::String<N>>, ReadError<S::Error>> {
        let mut bytes = heapless::Vec::from_array([0; N]);
        let len = self.metadata_value(key, &mut bytes, window).await?.map(str::len);
        Ok(len.map(|len| owned::string(bytes, len)))
    }

    /// Reads the value of one key of `__metadata__` into the front of `value`, in one pass over the header.
    /// Returns `None` when there is no such key.
    ///
    /// # Errors
    /// [`ErrorKind::ValueLength`], with the length of the value, when it is longer than the buffer;
    /// [`ErrorKind::DuplicateKey`] when the key is a duplicate; [`ErrorKind::Changed`]; those of the storage.
    pub async fn metadata_value<'v>(
        &mut self,
        key: &str,
        value: &'v mut [u8],
        window: &mut [u8],
    ) -> Result<Option<&'v str>, ReadError<S::Error>> {
        let mut search = ValueSearch::new(key, value);
        self.pass(&mut search, window).await?;
        Ok(search.finish()?)
    }

    /// Reads all of `__metadata__` into `text`, in one pass over the header: the keys, the values, and 12
    /// bytes for each pair. Returns `None` when there is no `__metadata__`.
    ///
    /// # Errors
    /// [`ErrorKind::MetadataLength`] when `text` is too small, with the length that is enough;
    /// [`ErrorKind::DuplicateKey`] when a key is a duplicate; [`ErrorKind::Changed`]; those of the storage.
    ///
    /// # Cost
    /// Each key is compared with all earlier ones, so the length of `text` limits the time: `n` bytes hold at
    /// most `n / 12` pairs, which take half the square of that number of comparisons. That is 58,000 for 4
    /// KiB, and 15 million for 64 KiB.
    pub async fn metadata<'v>(
        &mut self,
        text: &'v mut [u8],
        window: &mut [u8],
    ) -> Result<Option<Metadata<'v>>, ReadError<S::Error>> {
        let mut pairs = Pairs::new(text);
        self.pass(&mut pairs, window).await?;
        Ok(pairs.finish()?.map(|(metadata, _)| metadata))
    }

    /// Reads all of `__metadata__` as a type of your own, in one pass over the header. Returns `None` when
    /// there is no `__metadata__`.
    ///
    /// All values are strings. A string field gets the value unchanged, and may borrow it from `text`. A
    /// number of at most 64 bits, a list or a structure is decoded from the JSON in the value; `null` is an
    /// error for all of these. For an `enum` without data, the value is the name of the variant. `text` holds
    /// the same bytes as for [`metadata`](Self::metadata); the rest of it is scratch for unescaping strings
    /// in such JSON.
    ///
    /// # Errors
    /// As [`metadata`](Self::metadata), also when the scratch is too small; [`MetadataError::Decode`], with
    /// the offset of the value, when a value does not fit the type.
    #[cfg(feature = "serde-json-core")]
    pub async fn metadata_as<'v, T: serde::Deserialize<'v>>(
        &mut self,
        text: &'v mut [u8],
        window: &mut [u8],
    ) -> Result<Option<T>, MetadataError<S::Error>> {
        let mut pairs = Pairs::new(text);
        self.pass(&mut pairs, window).await?;
        let Some((metadata, scratch)) = pairs.finish()? else { return Ok(None) };
        from_pairs(metadata, scratch).map(Some)
    }

    /// Reads the JSON in the value of one key of `__metadata__` as a type of your own, in one pass over the
    /// header. Returns `None` when there is no such key.
    ///
    /// `text` holds the value; the rest of it is scratch for unescaping strings in the JSON. Twice the
    /// length of the value is always enough. Strings without escapes may be borrowed from `text`. `null` is
    /// `None` for an `Option`, and not a valid float.
    ///
    /// # Errors
    /// As [`metadata_value`](Self::metadata_value); [`MetadataError::Decode`] when the value does not fit
    /// the type; [`ErrorKind::MetadataLength`] when the scratch is too small.
    #[cfg(feature = "serde-json-core")]
    pub async fn metadata_value_as<'v, T: serde::Deserialize<'v>>(
        &mut self,
        key: &str,
        text: &'v mut [u8],
        window: &mut [u8],
    ) -> Result<Option<T>, MetadataError<S::Error>> {
        let mut search = ValueSearch::new(key, text);
        self.pass(&mut search, window).await?;
        let Some((value, scratch, at)) = search.finish_in_memory()? else { return Ok(None) };
        from_text(value, scratch, at).map(Some)
    }

    /// Builds an index of all tensors, in one pass over the header.
    ///
    /// # Errors
    /// [`ErrorKind::Index`] when the memory is too small: the error names the first part that is too small,
    /// and the size that the header needs; [`ErrorKind::DuplicateName`] when two tensors have the same name;
    /// [`ErrorKind::Changed`]; those of the storage.
    pub async fn build_index<'m>(
        &mut self,
        memory: IndexMemory<'m>,
        window: &mut [u8],
    ) -> Result<Index<'m>, ReadError<S::Error>> {
        let mut builder = IndexBuilder::new(None, memory);
        self.pass(&mut builder, window).await?;
        Ok(builder.finish()?)
    }

    /// Returns how much memory an [index](Self::build_index) needs, for each of its parts, in one pass over
    /// the header.
    ///
    /// # Errors
    /// [`ErrorKind::Changed`]; those of the storage.
    pub async fn index_size(&mut self, window: &mut [u8]) -> Result<IndexSize, ReadError<S::Error>> {
        let mut builder = IndexBuilder::new(None, IndexMemory::new(&mut [], &mut [], &mut []));
        self.pass(&mut builder, window).await?;
        Ok(builder.size())
    }

    /// Validates that no name is a duplicate, as [`DuplicateFinder`] does, in as many passes as its memory
    /// requires.
    ///
    /// # Errors
    /// As [`DuplicateFinder::push`]; those of the storage.
    pub async fn validate_names(
        &mut self,
        key: [u64; 2],
        slots: &mut [SortSlot],
        text: &mut [u8],
        window: &mut [u8],
    ) -> Result<(), ReadError<S::Error>> {
        self.pass(&mut DuplicateFinder::new(key, slots, text).of_proven(), window).await
    }

    /// Computes a sum of the whole file, in one pass. What follows the last tensor in a partition is not
    /// read.
    ///
    /// The bytes pass through the window, or are read in place if the file is
    /// [in memory](ReadAt::in_memory).
    ///
    /// *Memory*: that of the sum.
    ///
    /// # Errors
    /// [`ErrorKind::NoWindow`]; those of the storage; [`ReadError::UnexpectedEof`].
    pub async fn sum<H: Sum>(
        &mut self,
        mut sum: H,
        window: &mut [u8],
    ) -> Result<H::Value, ReadError<S::Error>> {
        let end = self.summary().file_len();
        feed(&mut self.source, 0, end, &mut sum, window).await?;
        Ok(sum.finish())
    }

    /// Computes a sum of the data, all tensors together, without the header. Otherwise as
    /// [`sum`](Self::sum).
    ///
    /// *Memory*: that of the sum.
    ///
    /// # Errors
    /// As [`sum`](Self::sum).
    pub async fn data_sum<H: Sum>(
        &mut self,
        mut sum: H,
        window: &mut [u8],
    ) -> Result<H::Value, ReadError<S::Error>> {
        let (begin, end) = (self.summary().data_start, self.summary().file_len());
        feed(&mut self.source, begin, end, &mut sum, window).await?;
        Ok(sum.finish())
    }

    /// Computes a sum of the whole file, and compares it with the expected one.
    ///
    /// *Memory*: that of the sum.
    ///
    /// # Errors
    /// [`ErrorKind::SumMismatch`] when the file has changed; otherwise as [`sum`](Self::sum).
    pub async fn verify<H: Sum>(
        &mut self,
        sum: H,
        expected: &H::Value,
        window: &mut [u8],
    ) -> Result<(), ReadError<S::Error>> {
        let found = self.sum(sum, window).await?;
        Ok(check::<H>(expected, &found, self.summary().file_len())?)
    }

    /// Computes the SHA-256 of the whole file, and compares it with the
    /// [sum in the file](crate::integrity#the-embedded-sum), in one pass.
    ///
    /// *Memory*: that of a [`Verifier`].
    ///
    /// # Errors
    /// [`ErrorKind::SumMismatch`] when the file has changed; [`ErrorKind::SumMissing`] when it contains no
    /// sum; [`ErrorKind::SumSpelling`] when the sum is not 64 hexadecimal digits in lowercase;
    /// [`ErrorKind::DuplicateKey`]; [`ErrorKind::Changed`]; otherwise as [`sum`](Self::sum).
    pub async fn verify_embedded(
        &mut self,
        sum: impl Sum<Value = [u8; 32]>,
        window: &mut [u8],
    ) -> Result<(), ReadError<S::Error>> {
        let mut verifier = Verifier::new(sum);
        self.pass(&mut verifier, window).await?;
        verifier.found()?;
        let (begin, end) = (self.summary().data_start, self.summary().file_len());
        feed(&mut self.source, begin, end, verifier.sum(), window).await?;
        Ok(verifier.verify()?)
    }

    /// Returns a reader for the bytes of a tensor: a [`TensorInfo`], a [`Query`] after a lookup, or a
    /// tensor of an index.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when a query has not found its tensor; [`ErrorKind::OtherModel`] when it has
    /// found it in a model with another header; [`ErrorKind::OutsideData`] when the tensor ends after the
    /// data of this file. Whether a [`TensorInfo`] or a tensor of an index is from another model is not known
    /// otherwise: use them with the model that they are from.
    pub fn reader<'a>(&'a mut self, tensor: &'a impl Located) -> Result<TensorReader<'a, &'a mut S>, Error> {
        let (place, data) = (tensor.locate()?, self.header.data());
        if place.header != 0 && place.header != data.header {
            return Err(ErrorKind::OtherModel.at(data.start));
        }
        if place.begin > place.end || place.end > data.len {
            let kind = ErrorKind::OutsideData { end: place.end, data_len: data.len };
            return Err(kind.at(data.start + data.len));
        }
        let span = Span::of(place, data.start);
        Ok(TensorReader { source: &mut self.source, span, dims: tensor.dims() })
    }

    /// Reads the header once, and validates it unless that has been done. `open` and `find_all` share this
    /// function, so that a program contains the parser only once.
    #[inline(never)] // frees its stack when it returns
    async fn scan(
        &mut self,
        queries: &mut [Query<'_>],
        window: &mut [u8],
    ) -> Result<(), ReadError<S::Error>> {
        let is_known = self.header.is_known();
        let file_len = if is_known {
            FileLen::Unknown
        } else {
            self.source.file_len().await.map_err(ReadError::Source)?
        };
        let mut search = Search::new(file_len.exact(), is_known, queries);
        let mut pass = Pass::over(&mut self.header);
        let step = run(&mut self.source, &mut pass, &mut search, window).await?;
        pass.end_search(&mut search, step, file_len.limit())
    }

    /// Validates a new header by a machine.
    async fn validate(
        source: S,
        file_len: FileLen,
        machine: &mut impl HeaderValidator,
        window: &mut [u8],
    ) -> Result<Self, ReadError<S::Error>> {
        let mut model = Self { source, header: ValidHeader::NONE };
        model.pass(machine, window).await?;
        model.header.accept(machine, file_len.limit())?;
        Ok(model)
    }

    /// Passes the header to a machine, as often as it needs.
    async fn pass(
        &mut self,
        machine: &mut impl Machine,
        window: &mut [u8],
    ) -> Result<(), ReadError<S::Error>> {
        let mut pass = Pass::over(&mut self.header);
        let step = run(&mut self.source, &mut pass, machine, window).await?;
        pass.end(machine, step)
    }
}

/// Reads the header and feeds it to the machine until the machine is done, or the pass is over.
#[form]
#[inline]
async fn run<S: ReadAt>(
    source: &mut S,
    pass: &mut Pass<'_>,
    machine: &mut impl Machine,
    window: &mut [u8],
) -> Result<Step, ReadError<S::Error>> {
    loop {
        let room = pass.room(machine, window);
        if room.is_empty() {
            return Ok(Step::NoWindow);
        }
        let step = match source.in_memory() {
            // Complete entries are parsed at once, and nothing is copied.
            Some(file) if WORDS => {
                let part = pass.part(machine, file);
                pass.take(machine, part, part.len())
            }
            _ => {
                let outcome = source.read_at(pass.position(), room).await;
                let len = counted(outcome, pass.position(), room.len())?;
                pass.take(machine, room, len)
            }
        };
        if step != Step::Read {
            return Ok(step);
        }
    }
}
