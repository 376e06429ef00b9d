//! Finds tensors by name: any number of them in one pass over the header.

use crate::dtype::{Dtype, DtypeSet};
use crate::error::table::Fault;
use crate::error::{Error, ErrorKind, QueryIndex};
use crate::header::progress::{Machine, Progress};
use crate::header::{HeaderParser, Signal, Signals, Whole};
use crate::shape::{MAX_RANK, Shape, different_axis, shape_mismatch};
use crate::tensor::info::{Extent, TensorInfo};
use crate::tensor::span::{Located, Location};
use crate::validate::Summary;
use crate::validate::order::InOrder;

/// The name of a tensor to look up, the dtype and the shape that it must have, and the result.
///
/// A tensor with another dtype or shape than requested is an error, and the query cannot be used to read it.
/// What is not requested may be anything.
///
/// *Memory*: at most 128 bytes, 112 where pointers have 32 bits; the name and the shape are borrowed.
///
/// ```
/// use embedded_safetensors::{Dtype, Model, query::Query};
///
/// # let storage = &include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/network.safetensors"))[..];
/// let mut window = [0; 64];
/// let mut net = [
///     Query::required("fc1.weight").dtype(Dtype::I8).shape(&[64, 32]),
///     Query::optional("fc1.zero_point").dtype(Dtype::I8),
/// ];
/// let mut model = Model::open_with(storage, &mut net, &mut window)?;
/// let [weight, zero_point] = &net;
/// assert!(weight.info().is_some() && zero_point.info().is_none());
/// assert_eq!(model.reader(weight)?.byte_len(), 2048); // a query can be used as the tensor that it found
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct Query<'n> {
    name: &'n str,
    optional: bool,
    asked_dtypes: DtypeSet,
    asked_dims: Option<&'n [u64]>,
    state: State,
    /// Whether the current name has matched this one so far.
    matches: bool,
    dtype: Dtype,
    // As in a `Shape`, which would need 8 bytes for the rank.
    rank: u8,
    dims: [u64; MAX_RANK],
    begin: u64,
    end: u64,
    /// What the header of its model is recognised by; 0 if that is not known.
    header: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// No tensor of this name has been seen.
    Sought,
    /// One has been seen, in a pass that is still running.
    Seen,
    /// A complete pass has seen exactly one, which is as requested.
    Found,
    /// A complete pass has seen exactly one, which is not as requested.
    Different,
}

impl<'n> Query<'n> {
    /// Creates a query for a tensor that must exist: a lookup that does not find it fails.
    pub const fn required(name: &'n str) -> Self {
        Self {
            name,
            optional: false,
            asked_dtypes: DtypeSet::ANY,
            asked_dims: None,
            state: State::Sought,
            matches: false,
            dtype: Dtype::BOOL,
            rank: 0,
            dims: [0; MAX_RANK],
            begin: 0,
            end: 0,
            header: 0,
        }
    }

    /// Creates a query for a tensor that may be missing.
    pub const fn optional(name: &'n str) -> Self {
        Self { optional: true, ..Self::required(name) }
    }

    /// Requests this dtype.
    #[must_use]
    pub const fn dtype(self, dtype: Dtype) -> Self {
        self.dtypes(&[dtype])
    }

    /// Requests one of these dtypes.
    #[must_use]
    pub const fn dtypes(self, dtypes: &[Dtype]) -> Self {
        Self { asked_dtypes: DtypeSet::of(dtypes), ..self }
    }

    /// Requests these dimensions, outermost first. [`ANY_SIZE`](crate::tensor::ANY_SIZE) permits any size of
    /// an axis; [`info`](Self::info) returns the actual one.
    #[must_use]
    pub const fn shape(self, dims: &'n [u64]) -> Self {
        Self { asked_dims: Some(dims), ..self }
    }

    /// Returns the name that is looked up.
    pub const fn name(&self) -> &'n str {
        self.name
    }

    /// Returns the tensor that was found, or `None` before a lookup has completed and after one that failed.
    pub const fn info(&self) -> Option<TensorInfo> {
        match self.state {
            State::Found => {
                let place = Extent { begin: self.begin, end: self.end, begin_at: 0 };
                Some(TensorInfo::checked(self.dtype, Shape::of(self.dims, self.rank), place))
            }
            State::Sought | State::Seen | State::Different => None,
        }
    }

    /// Returns the first axis whose size is not as requested; one that does not exist if the dtype or the
    /// rank is not.
    #[inline(never)] // it is called where a difference is noticed, and where its error is created
    fn different_axis(&self, found: Dtype, dims: &[u64]) -> Option<usize> {
        if self.asked_dtypes.contains(found) {
            different_axis(dims, self.asked_dims?)
        } else {
            Some(usize::MAX)
        }
    }

    /// Returns the error if a tensor is not as requested.
    fn mismatch(&self, query: Option<QueryIndex>, found: Dtype, dims: &[u64]) -> Option<ErrorKind> {
        let (axis, asked) = (self.different_axis(found, dims)?, self.asked_dtypes);
        Some(match self.asked_dims {
            Some(asked_dims) if asked.contains(found) => shape_mismatch(query, axis, dims, asked_dims),
            _ => ErrorKind::DtypeMismatch { query, found, asked },
        })
    }

    /// Checks a tensor that was found otherwise, in an index or a file of an operating system: its dtype and
    /// its shape. The error has no position, because such a tensor does not know where its data begins.
    ///
    /// ```
    /// use embedded_safetensors::{Dtype, View, query::Query};
    ///
    /// # let storage = &include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/network.safetensors"))[..];
    /// const BIAS: Query = Query::required("fc2.bias").dtype(Dtype::F32).shape(&[8]);
    ///
    /// let model = View::parse(storage)?;
    /// let bias = model.find(BIAS.name())?.ok_or("no bias")?;
    /// BIAS.check(&bias)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::DtypeMismatch`], [`ErrorKind::RankMismatch`] or [`ErrorKind::ShapeMismatch`] when it is
    /// not as requested; those of [`Located::locate`].
    pub fn check(&self, tensor: &impl Located) -> Result<(), ErrorKind> {
        let Location { dtype, .. } = tensor.locate().map_err(|error| error.kind)?;
        self.mismatch(None, dtype, tensor.dims()).map_or(Ok(()), Err)
    }

    /// Ends a lookup that has covered the right header, that of the model `header`. Returns whether it was
    /// successful.
    fn end(&mut self, header: u32) -> bool {
        self.header = header;
        if self.state == State::Sought {
            return self.optional;
        }
        let is_as_requested = self.different_axis(self.dtype, self.dims()).is_none();
        self.state = if is_as_requested { State::Found } else { State::Different };
        is_as_requested
    }

    /// Returns why the lookup was not successful. The data begins at byte `data_start`.
    #[inline(never)]
    fn error(&self, query: Option<QueryIndex>, data_start: u64) -> Error {
        match self.mismatch(query, self.dtype, self.dims()) {
            // A header may describe more data than any file can hold.
            Some(kind) if self.state == State::Different => kind.at(data_start.saturating_add(self.begin)),
            _ => ErrorKind::NotFound { query }.at(data_start),
        }
    }

    /// Fills in a tensor that was found otherwise than in a pass.
    fn fill(&mut self, info: &TensorInfo) {
        self.dtype = info.dtype();
        (self.dims, self.rank) = info.shape().parts();
        (self.begin, self.end) = (info.begin(), info.end());
        self.state = State::Seen;
    }

    /// Forgets the result of an earlier lookup.
    fn reset(&mut self) {
        self.state = State::Sought;
    }

    /// Whether `piece` continues the name after its first `passed` bytes.
    fn continues_with(&self, passed: usize, piece: &[u8]) -> bool {
        let Some(rest) = self.name.as_bytes().get(passed..) else { return false };
        if rest.len() < piece.len() {
            return false;
        }
        for (ours, theirs) in rest.iter().zip(piece) {
            if ours != theirs {
                return false;
            }
        }
        true
    }

    /// Stores one signal of the matching entry. Returns `false` for a duplicate name, and for more
    /// dimensions than a shape holds.
    fn take(&mut self, signal: Signal, parser: &HeaderParser) -> bool {
        match signal {
            Signal::Tensor => {
                (self.dims, self.rank) = ([0; MAX_RANK], 0);
                return self.state == State::Sought;
            }
            Signal::Dim => return self.push(parser.dim()),
            _ => {}
        }
        let Extent { begin, end, .. } = parser.extent();
        (self.dtype, self.begin, self.end) = (parser.dtype(), begin, end);
        self.state = State::Seen;
        true
    }

    /// Appends a dimension. Returns `false` if there is no space for it.
    fn push(&mut self, dim: u64) -> bool {
        let Some(slot) = self.dims.get_mut(usize::from(self.rank)) else { return false };
        *slot = dim;
        self.rank += 1;
        true
    }

    /// Stores a complete entry. Returns `false` for a duplicate name.
    fn keep(&mut self, entry: &Whole<'_>) -> bool {
        if self.state == State::Seen {
            return false;
        }
        let Extent { begin, end, .. } = entry.place;
        (self.dtype, self.begin, self.end) = (entry.dtype, begin, end);
        (self.dims, self.rank) = entry.shape.parts();
        self.state = State::Seen;
        true
    }
}

shown!(Query<'_>, it => "Query {{ name: {:?}, info: {:?} }}", it.name(), it.info());

impl AsRef<str> for Query<'_> {
    /// Returns the name.
    fn as_ref(&self) -> &str {
        self.name
    }
}

impl Located for Query<'_> {
    fn locate(&self) -> Result<Location, Error> {
        match self.state {
            State::Found => {
                let Self { dtype, header, begin, end, .. } = *self;
                Ok(Location { dtype, header, begin, end })
            }
            State::Sought | State::Seen | State::Different => Err(ErrorKind::NotFound { query: None }.at(0)),
        }
    }

    fn dims(&self) -> &[u64] {
        self.dims.get(..usize::from(self.rank)).unwrap_or_default()
    }
}

/// Something that holds a query: a [`Query`] alone, or one with a buffer for the tensor's bytes.
pub(crate) trait HasQuery<'n> {
    fn query(&mut self) -> &mut Query<'n>;
}

impl<'n> HasQuery<'n> for Query<'n> {
    fn query(&mut self) -> &mut Self {
        self
    }
}

/// Reads a header tensor by tensor, validates each tensor and their order, and fills in the queries.
pub(crate) struct Lookup {
    parser: HeaderParser,
    order: InOrder,
    /// The length of the current name so far; [`OTHER`] when it matches no query.
    name_len: usize,
    /// Whether the header is known to be valid, so that entries may be skipped.
    pub(crate) skims: bool,
}

/// No name is this long.
const OTHER: usize = usize::MAX;

/// The signals for a tensor that matches no query.
const END_SIGNALS: Signals = Signals::of(&[Signal::Metadata, Signal::TensorEnd]);
/// The signals for a tensor that matches no query, in a header that is known to be valid.
const NAME_SIGNALS: Signals = Signals::of(&[Signal::Metadata, Signal::Tensor]);
/// The signals for a tensor that may match a query.
const ALL_SIGNALS: Signals =
    Signals::of(&[Signal::Name, Signal::Metadata, Signal::Tensor, Signal::Dim, Signal::TensorEnd]);

impl Lookup {
    /// Starts at byte 0 of a file, and resets the queries. If the length of the file is known, the header
    /// must fit into it.
    pub(crate) fn new<'n>(file_len: Option<u64>, skims: bool, queries: &mut [impl HasQuery<'n>]) -> Self {
        all(queries).for_each(Query::reset);
        let (parser, order) = (HeaderParser::of_tensors(file_len), InOrder::new());
        let mut lookup = Self { parser, order, name_len: 0, skims };
        lookup.begin_name(queries);
        lookup
    }

    pub(crate) const fn parser(&self) -> &HeaderParser {
        &self.parser
    }

    /// The error after [`Signal::Failed`].
    pub(crate) const fn error(&self) -> Error {
        self.parser.error()
    }

    /// As [`HeaderParser::end_of_input`].
    pub(crate) fn end_of_input(&mut self) -> Result<(), Error> {
        self.parser.end_of_input()
    }

    /// Returns the summary of the header, once it is complete.
    pub(crate) const fn summary(&self) -> Summary {
        let (tensors, data_start) = (self.order.tensors(), self.parser().position());
        Summary { tensors, data_start, data_len: self.order.end() }
    }

    /// Validates that the tensors are contiguous, once the header is complete.
    ///
    /// # Errors
    /// As [`InOrder::conclude`].
    pub(crate) const fn conclude(&self) -> Result<(), Error> {
        self.order.conclude()
    }

    /// Reads to the end of the header, or as far as the input goes, and moves `input` past the consumed
    /// bytes.
    #[inline] // keeps a stack frame out of the path from the caller to the parser
    pub(crate) fn run<'n>(&mut self, input: &mut &[u8], queries: &mut [impl HasQuery<'n>]) -> Signal {
        let mut run: &[u8] = &[];
        loop {
            if !self.skims {
                while let Some(entry) = self.parser.take_entry::<false>(input) {
                    self.keep(&entry, queries);
                }
            }
            // An error in the file takes precedence over a limit of the caller's memory.
            let signals = match self.name_len {
                OTHER if self.skims => NAME_SIGNALS,
                OTHER => END_SIGNALS,
                _ => ALL_SIGNALS,
            };
            let signal = self.parser.advance::<false>(input, &mut run, signals);
            match signal {
                Signal::NeedInput | Signal::HeaderEnd | Signal::Failed => return signal,
                Signal::Name => self.match_piece(signal, run, queries),
                Signal::Metadata => self.begin_name(queries),
                Signal::Tensor => self.end_name(run, queries),
                Signal::TensorEnd => self.end_entry(queries),
                _ => self.take(signal, queries),
            }
        }
    }

    fn end_name<'n>(&mut self, run: &[u8], queries: &mut [impl HasQuery<'n>]) {
        if self.name_len != OTHER {
            self.match_piece(Signal::Tensor, run, queries);
        }
        self.take(Signal::Tensor, queries);
        if self.skims && self.name_len == OTHER {
            self.parser.skim_entry();
            self.begin_name(queries);
        }
    }

    fn end_entry<'n>(&mut self, queries: &mut [impl HasQuery<'n>]) {
        self.take(Signal::TensorEnd, queries);
        self.order.see(self.parser.extent());
        self.begin_name(queries);
    }

    /// Takes an entry that was parsed as one piece.
    fn keep<'n>(&mut self, entry: &Whole<'_>, queries: &mut [impl HasQuery<'n>]) {
        for one in all(queries).filter(|one| one.name.as_bytes() == entry.name) {
            if !one.keep(entry) {
                self.parser.stop(Fault::DuplicateName, entry.name_at);
            }
        }
        self.order.see(entry.place);
    }

    /// Starts to compare names again, and with that to collect the entries that match.
    const fn begin_name<'n>(&mut self, queries: &[impl HasQuery<'n>]) {
        self.name_len = if queries.is_empty() { OTHER } else { 0 };
    }

    // The next two functions are not inlined: their caller also calls the parser, below which their stack
    // would stay reserved.

    #[inline(never)]
    fn match_piece<'n>(&mut self, signal: Signal, run: &[u8], queries: &mut [impl HasQuery<'n>]) {
        let piece = self.parser.piece_bytes(signal, run);
        let passed = self.name_len;
        self.name_len = OTHER;
        for one in all(queries) {
            one.matches = (one.matches || passed == 0) && one.continues_with(passed, piece);
            if one.matches {
                self.name_len = passed + piece.len();
            }
        }
    }

    /// Passes a signal to the queries whose name matches. The parser's next call reports an error.
    fn take<'n>(&mut self, signal: Signal, queries: &mut [impl HasQuery<'n>]) {
        if self.name_len != OTHER {
            self.fill_queries(signal, queries);
        }
    }

    #[inline(never)]
    fn fill_queries<'n>(&mut self, signal: Signal, queries: &mut [impl HasQuery<'n>]) {
        let len = self.name_len;
        let mut is_match = false;
        for one in all(queries) {
            if one.matches && one.name.len() == len {
                is_match = true;
                if !one.take(signal, &self.parser) {
                    self.parser.stop_here(if signal == Signal::Tensor {
                        Fault::DuplicateName
                    } else {
                        Fault::RANK
                    });
                }
            }
        }
        if !is_match {
            self.name_len = OTHER;
        }
    }
}

/// Ends a lookup, once it is known to have covered the right header, that of the model `header`. The data
/// begins at byte `data_start`.
///
/// # Errors
/// That of the first tensor that is missing or not as requested. All others can be used.
#[inline]
pub(crate) fn end_lookup<'n, E: From<Error>>(
    queries: &mut [impl HasQuery<'n>],
    header: u32,
    data_start: u64,
) -> Result<(), E> {
    let failed = end_each(queries, header);
    match queries.get_mut(failed) {
        Some(one) => Err(E::from(one.query().error(QueryIndex::new(failed), data_start))),
        None => Ok(()),
    }
}

/// Ends the lookup of each query. Returns the index of the first one that was not successful, or of none.
fn end_each<'n>(queries: &mut [impl HasQuery<'n>], header: u32) -> usize {
    let mut failed = usize::MAX;
    for (index, one) in all(queries).enumerate() {
        if !one.end(header) {
            failed = failed.min(index);
        }
    }
    failed
}

/// Looks up each query by its name, without a pass over a header.
///
/// # Errors
/// Those of `find`, and then nothing is found; otherwise as [`end_lookup`].
pub(crate) fn find_each(
    queries: &mut [Query<'_>],
    data_start: u64,
    mut find: impl FnMut(&str) -> Result<Option<TensorInfo>, Error>,
) -> Result<(), Error> {
    queries.iter_mut().for_each(Query::reset);
    for query in queries.iter_mut() {
        find(query.name)?.iter().for_each(|info| query.fill(info));
    }
    end_lookup(queries, 0, data_start)
}

fn all<'w, 'n: 'w>(queries: &'w mut [impl HasQuery<'n>]) -> impl Iterator<Item = &'w mut Query<'n>> {
    queries.iter_mut().map(HasQuery::query)
}

/// Follows one pass over a header and fills in the queries.
pub(crate) struct Search<'w, 'n> {
    pub(crate) lookup: Lookup,
    pub(crate) queries: &'w mut [Query<'n>],
}

impl<'w, 'n> Search<'w, 'n> {
    /// As [`Lookup::new`].
    pub(crate) fn new(file_len: Option<u64>, skims: bool, queries: &'w mut [Query<'n>]) -> Self {
        Self { lookup: Lookup::new(file_len, skims, queries), queries }
    }
}

impl Machine for Search<'_, '_> {
    fn push(&mut self, input: &mut &[u8]) -> Option<Progress> {
        self.lookup.run(input, self.queries).progress()
    }

    fn parser(&mut self) -> &mut HeaderParser {
        &mut self.lookup.parser
    }
}
