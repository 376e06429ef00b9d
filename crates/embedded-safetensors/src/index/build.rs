//! Builds an index: one pass over the header, then the validation of its tensors.

use crate::error::{Error, ErrorKind, IndexPart};
use crate::header::progress::{Machine, Progress};
use crate::header::{HeaderParser, Signal, Signals, Whole};
use crate::index::Index;
use crate::index::memory::{IndexMemory, IndexRecord, IndexSize};
use crate::index::names::ByOffset;
use crate::tensor::info::Extent;
use crate::util::bytes::{copy, low_u32};
use crate::util::heapsort::sort;
use crate::validate::Summary;
use crate::validate::order::InOrder;

/// A pass over a header that keeps all of its tensors. When the memory is full it continues to count, so that
/// it can report how much is needed.
///
/// *Memory*: at most 400 bytes, and what it borrows.
pub(crate) struct IndexBuilder<'m> {
    pub(crate) parser: HeaderParser,
    order: InOrder,
    memory: IndexMemory<'m>,
    file_len: Option<u64>,
    count: u32,
    /// How many dimensions the shapes have so far.
    dims: u32,
    /// How many bytes the complete names have so far, without the current one.
    names: u32,
    name_len: u32,
}

impl<'m> IndexBuilder<'m> {
    /// Creates a builder for a new file. If the file's length is known, it is validated too.
    pub(crate) const fn new(file_len: Option<u64>, memory: IndexMemory<'m>) -> Self {
        Self {
            parser: HeaderParser::of_tensors(file_len),
            order: InOrder::new(),
            memory,
            file_len,
            count: 0,
            dims: 0,
            names: 0,
            name_len: 0,
        }
    }

    /// Returns how much memory the tensors so far take.
    pub(crate) const fn size(&self) -> IndexSize {
        IndexSize { tensors: self.count as usize, dims: self.dims as usize, name_bytes: self.names as usize }
    }

    /// Whether `__metadata__` has been read.
    #[cfg(feature = "std")]
    pub(crate) const fn has_metadata(&self) -> bool {
        self.parser.has_metadata()
    }

    /// As [`HeaderParser::end_of_input`](crate::header::HeaderParser::end_of_input).
    pub(crate) fn end_of_input(&mut self) -> Result<(), Error> {
        self.parser.end_of_input()
    }

    /// Validates, once the pass is over, that the tensors are contiguous and that the file ends with them.
    /// Records that are not in the order of their offsets are sorted for this.
    ///
    /// # Errors
    /// As [`Validator::push`](crate::validate::Validator::push); [`ErrorKind::Index`] when there are too few
    /// records to sort.
    pub(crate) fn prove(&mut self) -> Result<Summary, Error> {
        self.parser.end_of_input()?;
        match self.order.conclude() {
            Err(Error { kind: ErrorKind::OutOfOrder, .. }) => self.sort()?,
            verdict => verdict?,
        }
        let (data_start, data_len) = (self.parser.position(), self.order.end());
        let summary = Summary { tensors: self.count.into(), data_start, data_len };
        self.file_len.map_or(Ok(()), |file_len| summary.validate_file_len(file_len))?;
        Ok(summary)
    }

    /// Returns the index, once the pass is over.
    ///
    /// # Errors
    /// As [`prove`](Self::prove), then [`ErrorKind::Index`], then [`ErrorKind::DuplicateName`].
    pub(crate) fn finish(mut self) -> Result<Index<'m>, Error> {
        let summary = self.prove()?;
        self.check_capacity()?;
        let size = self.size();
        let IndexMemory { records, dims, names, key } = self.memory;
        // The parser has validated every name that it completes.
        let names = core::str::from_utf8(front(names, size.name_bytes)).unwrap_or("");
        Index::new(front(records, size.tensors), front(dims, size.dims), names, key, summary)
    }

    fn sort(&mut self) -> Result<(), Error> {
        self.check_part(IndexPart::Tensors, self.count, self.memory.records.len())?;
        let records = front(self.memory.records, self.count as usize);
        sort(&mut ByOffset { records });
        self.order = InOrder::new();
        records.iter().for_each(|record| self.order.see(extent(record)));
        self.order.conclude()
    }

    fn check_capacity(&self) -> Result<(), Error> {
        let IndexMemory { records, dims, names, .. } = &self.memory;
        self.check_part(IndexPart::Tensors, self.count, records.len())?;
        self.check_part(IndexPart::Dims, self.dims, dims.len())?;
        self.check_part(IndexPart::Names, self.names, names.len())
    }

    fn check_part(&self, part: IndexPart, needed: u32, capacity: usize) -> Result<(), Error> {
        let (needed, capacity) = (needed.into(), capacity as u64);
        if needed > capacity {
            return Err(ErrorKind::Index { part, needed, capacity }.at(self.parser.position()));
        }
        Ok(())
    }

    /// Keeps a tensor of a canonical entry.
    fn keep(&mut self, entry: &Whole<'_>) {
        let (name, dims) = (entry.name, entry.shape.dims());
        let record = IndexRecord {
            begin: entry.place.begin,
            end: entry.place.end,
            name: self.names,
            name_len: low_u32(name.len() as u64),
            dims: self.dims,
            rank: low_u32(dims.len() as u64),
            first: 0,
            name_at_or_by_name: entry.name_at,
            begin_at_or_next: entry.place.begin_at,
            dtype: entry.dtype,
            hash: [0; 3],
        };
        self.order.see(entry.place);
        copy(self.memory.names.get_mut(self.names as usize..).unwrap_or(&mut []), name);
        copy(self.memory.dims.get_mut(self.dims as usize..).unwrap_or(&mut []), dims);
        if let Some(slot) = self.record() {
            *slot = record;
        }
        (self.names, self.name_len) = (self.names + record.name_len, 0);
        self.dims += record.rank;
        self.count += 1;
    }

    fn take(&mut self, input: &mut &[u8]) -> Signal {
        const SELECTED: Signals = Signals::of(&[
            Signal::Name,
            Signal::Metadata,
            Signal::Tensor,
            Signal::Shape,
            Signal::Dim,
            Signal::TensorEnd,
        ]);
        let mut run: &[u8] = &[];
        loop {
            while let Some(entry) = self.parser.take_entry::<false>(input) {
                self.keep(&entry);
            }
            let signal = self.parser.advance::<false>(input, &mut run, SELECTED);
            let piece = self.parser.piece(signal, run);
            match signal {
                Signal::NeedInput | Signal::HeaderEnd | Signal::Failed => return signal,
                Signal::Name => self.keep_name(piece.as_bytes()),
                Signal::Metadata => self.name_len = 0,
                Signal::Tensor => {
                    self.keep_name(piece.as_bytes());
                    self.end_name(low_u32(self.parser.event_start()));
                }
                Signal::Shape => self.begin_shape(),
                Signal::Dim => self.keep_dim(self.parser.dim()),
                Signal::TensorEnd => self.end_entry(),
                _ => {}
            }
        }
    }

    fn keep_name(&mut self, piece: &[u8]) {
        let start = self.names as usize + self.name_len as usize;
        let free = self.memory.names.get_mut(start..).unwrap_or(&mut []);
        copy(free, piece);
        self.name_len += low_u32(piece.len() as u64);
    }

    fn end_name(&mut self, at: u32) {
        let (name, name_len) = (self.names, self.name_len);
        self.names += name_len;
        self.name_len = 0;
        if let Some(record) = self.record() {
            (record.name, record.name_len, record.name_at_or_by_name) = (name, name_len, at);
        }
    }

    fn begin_shape(&mut self) {
        let dims = self.dims;
        if let Some(record) = self.record() {
            (record.dims, record.rank) = (dims, 0);
        }
    }

    fn keep_dim(&mut self, dim: u64) {
        if let Some(slot) = self.memory.dims.get_mut(self.dims as usize) {
            *slot = dim;
        }
        self.dims += 1;
        if let Some(record) = self.record() {
            record.rank += 1;
        }
    }

    fn end_entry(&mut self) {
        let (dtype, extent) = (self.parser.dtype(), self.parser.extent());
        self.order.see(extent);
        if let Some(record) = self.record() {
            (record.begin, record.end, record.dtype) = (extent.begin, extent.end, dtype);
            (record.first, record.begin_at_or_next) = (0, extent.begin_at);
        }
        self.count += 1;
    }

    /// Returns the record of the current tensor, if there is memory for it.
    fn record(&mut self) -> Option<&mut IndexRecord> {
        self.memory.records.get_mut(self.count as usize)
    }
}

impl Machine for IndexBuilder<'_> {
    fn push(&mut self, input: &mut &[u8]) -> Option<Progress> {
        self.take(input).progress()
    }

    fn parser(&mut self) -> &mut HeaderParser {
        &mut self.parser
    }
}

/// Returns the extent of a tensor. Its record must still hold where its first offset is in the header.
fn extent(record: &IndexRecord) -> Extent {
    Extent { begin: record.begin, end: record.end, begin_at: record.begin_at_or_next }
}

/// Returns the first `len` elements, or none if there are fewer.
fn front<T>(slice: &mut [T], len: usize) -> &mut [T] {
    slice.get_mut(..len).unwrap_or(&mut [])
}

/// In these tests hashes have two bits: almost all names collide.
#[cfg(test)]
mod tests {
    extern crate std;
    use super::IndexBuilder;
    use crate::error::{Error, ErrorKind};
    use crate::header::progress::{Machine, Progress};
    use crate::index::Index;
    use crate::index::memory::{IndexMemory, IndexRecord};
    use std::{format, string::String, vec, vec::Vec};

    struct Memory(Vec<IndexRecord>, Vec<u64>, Vec<u8>);

    impl Memory {
        fn new() -> Self {
            Self(vec![IndexRecord::EMPTY; 100], vec![0; 100], vec![0; 2000])
        }

        fn index(&mut self, header: &[u8]) -> Result<Index<'_>, Error> {
            let memory = IndexMemory::new(&mut self.0, &mut self.1, &mut self.2);
            let mut builder = IndexBuilder::new(None, memory);
            let progress = builder.push(&mut &*header).ok_or_else(|| builder.failure())?;
            assert_eq!(progress, Progress::Done);
            builder.finish()
        }
    }

    /// Returns a header with these names, and the offset of each. The tensors are in the opposite order.
    fn header_of(names: &[String]) -> (Vec<u8>, Vec<u64>) {
        header_with(names, |index| names.len() - 1 - index)
    }

    /// Returns a header with these names, whose tensors begin at `begin`, and the offset of each name.
    fn header_with(names: &[String], begin: impl Fn(usize) -> usize) -> (Vec<u8>, Vec<u64>) {
        let mut header = String::from("{");
        let mut offsets = vec![];
        for (i, name) in names.iter().enumerate() {
            header += if i > 0 { "," } else { "" };
            offsets.push(8 + header.len() as u64);
            let range = format!("[{},{}]", begin(i), begin(i) + 1);
            header += &format!(r#""{name}":{{"dtype":"U8","shape":[1],"data_offsets":{range}}}"#);
        }
        header += "}";
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend(header.as_bytes());
        (file, offsets)
    }

    fn names() -> Vec<String> {
        (10..50).map(|i| format!("layer.{i}.weight")).collect()
    }

    #[test]
    fn names_with_equal_hash_are_distinguished() {
        let (header, _) = header_of(&names());
        let mut memory = Memory::new();
        let mut index = memory.index(&header).expect("valid header");
        for (begin, name) in names().iter().rev().enumerate() {
            let found = index.find(name).expect("valid header").map(|tensor| (tensor.name(), tensor.begin()));
            assert_eq!(found, Some((name.as_str(), begin as u64)));
        }
        for absent in ["", "layer.50.weight", "layer.10.weigh", "layer.10.weights"] {
            assert_eq!(index.find(absent), Ok(None));
        }
        assert!(index.by_name().map(|tensor| tensor.name()).eq(names()));
        assert!(
            names().iter().all(|name| index.find(name).is_ok_and(|found| found.is_some())),
            "lookups still work after sorting by name"
        );
    }

    /// The field of a link holds another value while the index is built, which may look like a link.
    #[test]
    fn links_lead_to_earlier_records() {
        let names: Vec<String> = (0..100).map(|i| format!("{i}")).collect();
        let (header, _) = header_with(&names, |index| index);
        let mut memory = Memory::new();
        assert_eq!(memory.index(&header).map(|index| index.len()), Ok(100));
        let links = memory.0.iter().map(|record| record.begin_at_or_next as usize);
        assert!(links.zip(0..).all(|(link, index)| link <= index));
    }

    #[test]
    fn duplicate_is_found_among_hash_collisions() {
        for (first, second) in [(0, 1), (0, 39), (17, 23), (38, 39)] {
            let mut all = names();
            all[second] = all[first].clone();
            let (header, offsets) = header_of(&all);
            let verdict = Memory::new().index(&header).map(|index| index.len());
            assert_eq!(verdict, Err(ErrorKind::DuplicateName.at(offsets[second])));
        }
    }

    #[test]
    fn incomplete_header_is_rejected() {
        let (header, _) = header_of(&names());
        let mut memory = Memory::new();
        let memory = IndexMemory::new(&mut memory.0, &mut memory.1, &mut memory.2);
        let mut builder = IndexBuilder::new(None, memory);
        assert_eq!(builder.push(&mut &header[..header.len() - 1]), Some(Progress::NeedInput));
        let error = builder.finish().map(|index| index.len());
        let kind =
            ErrorKind::HeaderBeyondFile { length: header.len() as u64 - 8, present: header.len() as u64 - 9 };
        assert_eq!(error, Err(kind.at(header.len() as u64 - 1)));
    }

    #[test]
    fn builder_has_documented_size() {
        assert!(size_of::<IndexBuilder<'_>>() <= 400, "{}", size_of::<IndexBuilder<'_>>());
    }
}
