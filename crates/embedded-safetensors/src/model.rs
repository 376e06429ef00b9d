//! A model in storage: opened, proven, searched and read.

use super::{ReadAt, TensorReader, form};
use crate::error::Error;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::header::Entry;
use crate::header::progress::Machine;
use crate::index::Index;
use crate::index::build::IndexBuilder;
use crate::index::memory::{IndexMemory, IndexSize};
use crate::io::{FileLen, ReadError};
#[cfg(feature = "serde-json-core")]
use crate::query::decode::{MetadataError, from_pairs, from_text};
use crate::query::find::{Query, Search};
use crate::query::list::List;
use crate::query::metadata::{Metadata, Pairs};
use crate::query::pump::{Pass, Proven, Prover, Turn};
use crate::query::value::ValueSearch;
use crate::tensor::info::TensorInfo;
use crate::tensor::location::Located;
use crate::tensor::span::Span;
use crate::util::bytes::WORDS;
use crate::util::top_k::SortSlot;
use crate::validate::duplicates::DuplicateFinder;
use crate::validate::{Summary, Validator};

/// A model in storage, whose header is proven sound.
///
/// It keeps nothing of the header but a fingerprint. Whatever looks something up reads the header
/// again, from its first byte to its last, through a window that you lend, and notices when it is no
/// longer the one that was proven: any accidental change, not one that was made to deceive by who can write to
/// the storage at that time. Any window of one byte or more will do; a larger one is faster, and from
/// one block of the storage on it is fast. For many lookups make an [`build_index`](Self::build_index).
///
/// The data themselves have no checksum in this format. Where they may change while they are read,
/// nobody can know.
///
/// *Memory*: 24 bytes and the source. [`open`](Self::open), [`find_all`](Self::find_all) and reading, whole or by rows, take
/// at most 704 bytes of stack on a Cortex-M3, the caller's share included, for headers of any length, and 64 more while
/// an error is made.
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Model<S> {
    source: S,
    proven: Proven,
}

#[form]
impl<S: ReadAt> Model<S> {
    /// Reads the header once and proves it: as [`Validator`], the length of the file included where the
    /// storage knows it. Names that occur twice show when they are looked up, or to
    /// [`validate_names`](Self::validate_names), or in an [`build_index`](Self::build_index).
    ///
    /// The source is consumed; lend it as `&mut source` to have it back when this fails.
    ///
    /// # Errors
    /// The faults of the file; [`ErrorKind::OutOfOrder`] when its tensors are not in the order of
    /// their offsets, for which there is [`open_unordered`](Self::open_unordered); [`ErrorKind::NoWindow`] when
    /// the window is empty; those of the storage.
    ///
    /// # Cancel safety
    /// When the future is dropped, the source that it consumed is dropped with it. One that was only lent can be
    /// opened again, from the start.
    #[inline(always)] // or what it has on the stack waits there for the end of the pass
    pub async fn open(source: S, window: &mut [u8]) -> Result<Self, ReadError<S::Error>> {
        let mut model = Self { source, proven: Proven::NONE };
        model.scan(&mut [], window).await?;
        Ok(model)
    }

    /// As [`open`](Self::open) and [`find_all`](Self::find_all) together, in one pass over the header instead of two.
    ///
    /// ```
    /// use embedded_safetensors::{Model, query::Query};
    ///
    /// # let file = b"\x38\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}   xy";
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
    /// As [`open`](Self::open) and [`find`](Self::find), whichever shows first in the header; at its end [`ErrorKind::NotFound`]
    /// when a tensor is missing that is not [optional](Query::optional).
    ///
    /// # Cancel safety
    /// As [`open`](Self::open), and nothing is found: [`Query::info`] gives `None` for each.
    #[inline(always)] // as `open`
    pub async fn open_with(
        source: S,
        queries: &mut [Query<'_>],
        window: &mut [u8],
    ) -> Result<Self, ReadError<S::Error>> {
        let mut model = Self { source, proven: Proven::NONE };
        model.scan(queries, window).await?;
        Ok(model)
    }

    /// As [`open`](Self::open), for headers in any order: those in the order of their offsets take one
    /// pass, others one more for every so many slots.
    ///
    /// # Errors
    /// As [`open`](Self::open), but for [`ErrorKind::OutOfOrder`] if there is at least one slot.
    ///
    /// # Cancel safety
    /// As [`open`](Self::open). The slots may hold anything, and can be used again as they are.
    pub async fn open_unordered(
        mut source: S,
        slots: &mut [SortSlot],
        window: &mut [u8],
    ) -> Result<Self, ReadError<S::Error>> {
        let file_len = source.file_len().await.map_err(ReadError::Source)?;
        Self::prove(source, file_len, &mut Validator::new(file_len.exact(), slots), window).await
    }

    /// As [`open`](Self::open), for headers in any order, with an index of all tensors: in one pass, and no
    /// name occurs twice. Keys of `__metadata__` are not looked at for that.
    ///
    /// # Errors
    /// As [`open`](Self::open), but for [`ErrorKind::OutOfOrder`]; [`ErrorKind::Index`] when the memory is
    /// too small, with how much of its first part that is lacking the header needs; [`ErrorKind::NameTwice`].
    ///
    /// # Cancel safety
    /// As [`open`](Self::open). What the index was to be made of is free again.
    pub async fn open_indexed<'m>(
        mut source: S,
        memory: IndexMemory<'m>,
        window: &mut [u8],
    ) -> Result<(Self, Index<'m>), ReadError<S::Error>> {
        let file_len = source.file_len().await.map_err(ReadError::Source)?;
        let mut builder = IndexBuilder::new(file_len.exact(), memory);
        let model = Self::prove(source, file_len, &mut builder, window).await?;
        Ok((model, builder.finish()?))
    }

    /// How many tensors there are, where the data begins, how long it is.
    pub const fn summary(&self) -> Summary {
        self.proven.summary()
    }

    /// Gives the source back.
    pub fn into_source(self) -> S {
        self.source
    }

    /// Whether the header is still the one that was proven. It has nothing to say of the data.
    ///
    /// # Errors
    /// [`ErrorKind::Changed`] when it is not; those of the storage.
    ///
    /// # Cancel safety
    /// When the future is dropped, nothing is known. Ask again.
    pub async fn check_unchanged(&mut self, window: &mut [u8]) -> Result<(), ReadError<S::Error>> {
        self.find_all(&mut [], window).await
    }

    /// Looks up one tensor, in one pass over the header.
    ///
    /// # Errors
    /// [`ErrorKind::NameTwice`] when two tensors have this name; [`ErrorKind::Rank`] when it has more
    /// dimensions than a [`Shape`](crate::Shape) holds; [`ErrorKind::Changed`]; those of the storage.
    ///
    /// # Cancel safety
    /// When the future is dropped, nothing is found. Look it up again.
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

    /// Looks up many tensors, in one pass over the header.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when one is missing that is not [optional](Query::optional), once the others are
    /// filled in; otherwise as [`find`](Self::find), and nothing is found.
    ///
    /// # Cancel safety
    /// When the future is dropped, nothing is found: [`Query::info`] gives `None` for each, even where an
    /// earlier search had found it. Look them up again.
    pub async fn find_all(
        &mut self,
        queries: &mut [Query<'_>],
        window: &mut [u8],
    ) -> Result<(), ReadError<S::Error>> {
        self.scan(queries, window).await
    }

    /// Shows `visitor` all tensors, in the header's order, in one pass over it. `name` bounds the
    /// length of their names.
    ///
    /// What it has shown holds once it has come to its end without an error.
    ///
    /// # Errors
    /// [`ErrorKind::NameLength`] and [`ErrorKind::Rank`] when a tensor cannot be shown; [`ErrorKind::Changed`];
    /// those of the storage.
    ///
    /// # Cancel safety
    /// When the future is dropped, `visitor` has seen the first few tensors, or none, and what it saw does not
    /// hold. A new call shows all of them from the first one on.
    ///
    /// # Panics
    /// Never, unless `visitor` does.
    pub async fn for_each(
        &mut self,
        name: &mut [u8],
        window: &mut [u8],
        visitor: impl FnMut(&Entry<'_>),
    ) -> Result<(), ReadError<S::Error>> {
        self.pass(&mut List::new(name, visitor), window).await
    }

    /// Reads the value of one key of `__metadata__` into the front of `value`, in one pass over the header.
    /// Nothing when there is no such key.
    ///
    /// # Errors
    /// [`ErrorKind::ValueLength`] when the value is longer than the memory for it, with the length it has;
    /// [`ErrorKind::KeyTwice`] when the key is there twice; [`ErrorKind::Changed`]; those of the storage.
    ///
    /// # Cancel safety
    /// When the future is dropped, `value` may hold part of the value. Ask again.
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

    /// Reads all of `__metadata__` into `text`, in one pass over the header: the keys, the values, and 12 bytes
    /// for each pair. Nothing when there is none.
    ///
    /// # Errors
    /// [`ErrorKind::MetadataLength`] when `text` is too small, with the length that is enough;
    /// [`ErrorKind::KeyTwice`] when a key is there twice, for which each is compared with all before it;
    /// [`ErrorKind::Changed`]; those of the storage.
    ///
    /// # Cancel safety
    /// When the future is dropped, `text` may hold some of the pairs. Ask again.
    pub async fn metadata<'v>(
        &mut self,
        text: &'v mut [u8],
        window: &mut [u8],
    ) -> Result<Option<Metadata<'v>>, ReadError<S::Error>> {
        let mut pairs = Pairs::new(text);
        self.pass(&mut pairs, window).await?;
        Ok(pairs.finish()?.map(|(metadata, _)| metadata))
    }

    /// Reads all of `__metadata__` as a type of your own, in one pass over the header. Nothing when there is none.
    ///
    /// Its values are strings. A field that is a string gets the value as it is, borrowed from `text` if it
    /// likes; a number of at most 64 bits, a list or a structure gets the JSON that the value holds (`null` is none of these); an `enum` without data
    /// is named by the value. `text` takes what [`metadata`](Self::metadata) takes, and what is left
    /// of it serves to unescape strings inside such JSON.
    ///
    /// # Errors
    /// As [`metadata`](Self::metadata), also when there is too little memory to unescape in;
    /// [`MetadataError::Decode`] when it does not fit the type, with the place
    /// of the value that does not.
    ///
    /// # Cancel safety
    /// As [`metadata`](Self::metadata).
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

    /// Reads the JSON inside the value of one key of `__metadata__` as a type of your own, in one pass over
    /// the header. Nothing when there is no such key.
    ///
    /// `text` takes the value, and what is left of it serves to unescape strings in the JSON: as much again is always
    /// enough. `null` is `None` to an `Option`, and not a number to a float. Strings without
    /// escapes may be borrowed from it.
    ///
    /// # Errors
    /// As [`metadata_value`](Self::metadata_value); [`MetadataError::Decode`] when it does not fit the type;
    /// [`ErrorKind::MetadataLength`] when there is too little memory to unescape in.
    ///
    /// # Cancel safety
    /// As [`metadata_value`](Self::metadata_value).
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

    /// Reads all tensors into an index, in one pass over the header.
    ///
    /// # Errors
    /// [`ErrorKind::Index`] when the memory is too small, with how much of its first part that is lacking the
    /// header needs; [`ErrorKind::NameTwice`] when two tensors have the same name; [`ErrorKind::Changed`];
    /// those of the storage.
    ///
    /// # Cancel safety
    /// When the future is dropped, there is no index, and what it was to be made of is free again. Make it
    /// again.
    pub async fn build_index<'m>(
        &mut self,
        memory: IndexMemory<'m>,
        window: &mut [u8],
    ) -> Result<Index<'m>, ReadError<S::Error>> {
        let mut builder = IndexBuilder::new(None, memory);
        self.pass(&mut builder, window).await?;
        Ok(builder.finish()?)
    }

    /// How much memory an [`build_index`](Self::build_index) takes, all of its parts, in one pass over the header.
    ///
    /// # Errors
    /// [`ErrorKind::Changed`]; those of the storage.
    ///
    /// # Cancel safety
    /// When the future is dropped, nothing is known. Ask again.
    pub async fn index_size(&mut self, window: &mut [u8]) -> Result<IndexSize, ReadError<S::Error>> {
        let mut builder = IndexBuilder::new(None, IndexMemory::new(&mut [], &mut [], &mut []));
        self.pass(&mut builder, window).await?;
        Ok(builder.size())
    }

    /// Proves that no name occurs twice, as [`DuplicateFinder`], in as many passes as its memory asks for.
    ///
    /// # Errors
    /// As [`DuplicateFinder::push`]; those of the storage.
    ///
    /// # Cancel safety
    /// When the future is dropped, nothing is proven, whatever passes it had done. Ask again.
    pub async fn validate_names(
        &mut self,
        key: [u64; 2],
        slots: &mut [SortSlot],
        text: &mut [u8],
        window: &mut [u8],
    ) -> Result<(), ReadError<S::Error>> {
        self.pass(&mut DuplicateFinder::new(key, slots, text).of_proven(), window).await
    }

    /// Reads the bytes of a tensor: a [`TensorInfo`], a [`Query`] that was found, a tensor of an index.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when it was not found; [`ErrorKind::OutsideData`] when it lies beyond the
    /// data of this file, so must be another's.
    pub fn reader<'a>(&'a mut self, tensor: &'a impl Located) -> Result<TensorReader<'a, &'a mut S>, Error> {
        let Summary { data_start, data_len, .. } = self.summary();
        let place = tensor.locate()?;
        place.check_inside(data_start, data_len)?;
        Ok(TensorReader::new(&mut self.source, Span::of(place, data_start), tensor.dims()))
    }

    /// Reads the header once, and validates it if that has not been done. `open` and `find_all` share it, so that a program contains the
    /// parser once.
    #[inline(never)] // its stack is free again when it returns
    async fn scan(
        &mut self,
        queries: &mut [Query<'_>],
        window: &mut [u8],
    ) -> Result<(), ReadError<S::Error>> {
        let is_proven = self.proven.is_known();
        let file_len = if is_proven {
            FileLen::Unknown
        } else {
            self.source.file_len().await.map_err(ReadError::Source)?
        };
        let mut search = Search::new(file_len.exact(), is_proven, queries);
        self.pass(&mut search, window).await?;
        if !is_proven {
            self.proven.keep_of(&mut search, file_len)?;
        }
        match search.settle() {
            None => Ok(()),
            Some(index) => Err(ReadError::Format(search.not_found(index))),
        }
    }

    /// Leads a machine through a header that is to be proven.
    async fn prove(
        source: S,
        file_len: FileLen,
        machine: &mut impl Prover,
        window: &mut [u8],
    ) -> Result<Self, ReadError<S::Error>> {
        let mut model = Self { source, proven: Proven::NONE };
        model.pass(machine, window).await?;
        model.proven.keep_of(machine, file_len)?;
        Ok(model)
    }

    /// Leads a machine through the header, as often as it wants: that which was proven, or which is to be.
    async fn pass(
        &mut self,
        machine: &mut impl Machine,
        window: &mut [u8],
    ) -> Result<(), ReadError<S::Error>> {
        run(&mut self.source, &mut self.proven, machine, window).await
    }
}

/// Reads the header and feeds it to the machine until that is done.
#[form]
#[inline]
async fn run<S: ReadAt>(
    source: &mut S,
    known: &mut Proven,
    machine: &mut impl Machine,
    window: &mut [u8],
) -> Result<(), ReadError<S::Error>> {
    let mut pass = Pass::over(known);
    let turn = loop {
        let room = pass.room(machine, window);
        if room.is_empty() {
            break Turn::NoWindow;
        }
        let turn = match source.in_memory() {
            // Entries that stand whole are read at once, and nothing is copied.
            Some(file) if WORDS => {
                let part = pass.part(machine, file);
                pass.take(machine, part, part.len())
            }
            _ => {
                let len = source.read_at(pass.position(), room).await.map_err(ReadError::Source)?;
                pass.take(machine, room, len)
            }
        };
        if turn != Turn::Read {
            break turn;
        }
    };
    pass.end(machine, turn)
}
