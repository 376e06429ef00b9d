//! Tensors found by their names, as many as are wanted in one pass over the header.

use crate::dtype::Dtype;
use crate::error::table::Fault;
use crate::error::{Error, ErrorKind};
use crate::header::progress::{Machine, Progress};
use crate::header::{HeaderParser, Signal, Signals, Whole};
use crate::shape::Shape;
use crate::tensor::info::{Extent, TensorInfo};
use crate::tensor::location::{Located, Location};
use crate::validate::Summary;
use crate::validate::order::InOrder;

/// The name of a tensor that is looked for, and what was found.
///
/// *Memory*: at most 112 bytes; the name is borrowed.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Query<'n> {
    name: &'n str,
    optional: bool,
    state: State,
    /// Whether the name that is coming by, or has, is this one as far as it goes.
    matches: bool,
    dtype: Dtype,
    shape: Shape,
    begin: u64,
    end: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
enum State {
    /// No tensor of this name has come by.
    Sought,
    /// One has, in a pass that is not over.
    Seen,
    /// A whole pass has found one and no second.
    Found,
}

impl<'n> Query<'n> {
    /// A tensor that must be there: a search that does not find it fails.
    pub const fn required(name: &'n str) -> Self {
        Self {
            name,
            optional: false,
            state: State::Sought,
            matches: false,
            dtype: Dtype::BOOL,
            shape: Shape::SCALAR,
            begin: 0,
            end: 0,
        }
    }

    /// A tensor that may be there or not.
    pub const fn optional(name: &'n str) -> Self {
        Self { optional: true, ..Self::required(name) }
    }

    /// The name that is looked for.
    pub const fn name(&self) -> &'n str {
        self.name
    }

    /// What was found. Nothing before a search has come to its end, or after one that failed.
    pub const fn info(&self) -> Option<TensorInfo> {
        match self.state {
            State::Found => {
                let place = Extent { begin: self.begin, end: self.end, begin_at: 0 };
                Some(TensorInfo::checked(self.dtype, self.shape, place))
            }
            State::Sought | State::Seen => None,
        }
    }

    /// Forgets what an earlier search has found.
    fn reset(&mut self) {
        self.state = State::Sought;
        self.shape = Shape::SCALAR;
    }

    /// Whether the name goes on with this piece behind its first `passed` bytes.
    fn goes_on(&self, passed: usize, piece: &[u8]) -> bool {
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

    /// Takes what was signalled of its entry. Not if it is the second of its name, or has more dimensions than can be held.
    #[inline(never)] // or all that it may take is kept ready for it
    fn take(&mut self, signal: Signal, parser: &HeaderParser) -> bool {
        match signal {
            Signal::Tensor => return self.state == State::Sought,
            Signal::Dim => return self.shape.push(parser.dim()).is_ok(),
            _ => {}
        }
        let Extent { begin, end, .. } = parser.extent();
        (self.dtype, self.begin, self.end) = (parser.dtype(), begin, end);
        self.state = State::Seen;
        true
    }

    /// Takes its entry. Not if it is the second of its name.
    fn keep(&mut self, entry: &Whole<'_>) -> bool {
        if self.state == State::Seen {
            return false;
        }
        let Extent { begin, end, .. } = entry.place;
        (self.dtype, self.shape, self.begin, self.end) = (entry.dtype, entry.shape, begin, end);
        self.state = State::Seen;
        true
    }
}

impl Located for Query<'_> {
    fn locate(&self) -> Result<Location, Error> {
        match self.state {
            State::Found => Ok(Location { dtype: self.dtype, begin: self.begin, end: self.end }),
            State::Sought | State::Seen => Err(ErrorKind::NotFound { query: None }.at(0)),
        }
    }

    fn dims(&self) -> &[u64] {
        self.shape.dims()
    }
}

/// Something that holds what is wanted: a [`Query`] alone, or one with a place for its bytes.
pub(crate) trait Seek<'n> {
    fn query(&mut self) -> &mut Query<'n>;
}

impl<'n> Seek<'n> for Query<'n> {
    fn query(&mut self) -> &mut Self {
        self
    }
}

/// Reads a header tensor by tensor, checks each against itself and all against each other, and fills in those that are
/// wanted.
pub(crate) struct Lookup {
    parser: HeaderParser,
    order: InOrder,
    /// How long the name is that is coming by, so far; [`OTHER`] when it is none of those that are wanted.
    name_len: usize,
    /// Whether the header is proven, so that entries may be passed by.
    skims: bool,
}

/// No name is as long as this.
const OTHER: usize = usize::MAX;

/// What is told of a tensor that nobody wants.
const PLACES: Signals = Signals::of(&[Signal::Metadata, Signal::TensorEnd]);
/// What is told of one that nobody wants, in a header that is proven.
const NAMES: Signals = Signals::of(&[Signal::Metadata, Signal::Tensor]);
/// What is told of one that may be wanted.
const ALL: Signals =
    Signals::of(&[Signal::Name, Signal::Metadata, Signal::Tensor, Signal::Dim, Signal::TensorEnd]);

impl Lookup {
    /// Stands before byte 0 of a file, and forgets what an earlier search has found. Where the length of the file is
    /// known the header must lie in it.
    pub(crate) fn new<'n>(file_len: Option<u64>, skims: bool, queries: &mut [impl Seek<'n>]) -> Self {
        all(queries).for_each(Query::reset);
        let (parser, order) = (HeaderParser::of_tensors(file_len), InOrder::new());
        let mut lookup = Self { parser, order, name_len: 0, skims };
        lookup.begin_name(queries);
        lookup
    }

    pub(crate) const fn parser(&self) -> &HeaderParser {
        &self.parser
    }

    /// The error behind [`Signal::Failed`].
    pub(crate) const fn error(&self) -> Error {
        self.parser.error()
    }

    /// As [`HeaderParser::end_of_input`].
    pub(crate) fn end_of_input(&mut self) -> Result<(), Error> {
        self.parser.end_of_input()
    }

    /// What the header describes, once it is complete.
    pub(crate) const fn summary(&self) -> Summary {
        let (tensors, data_start) = (self.order.tensors(), self.parser().position());
        Summary { tensors, data_start, data_len: self.order.end() }
    }

    /// Whether the tensors lie end to end, once the header is complete.
    ///
    /// # Errors
    /// As [`InOrder::conclude`].
    pub(crate) const fn conclude(&self) -> Result<(), Error> {
        self.order.conclude()
    }

    /// Reads on to the end of the header, or to where no more can be read, and moves `input` past what it consumed.
    #[inline] // for it lies between the frames of the caller and the parser
    pub(crate) fn run<'n>(&mut self, input: &mut &[u8], queries: &mut [impl Seek<'n>]) -> Signal {
        let mut run: &[u8] = &[];
        loop {
            if !self.skims {
                while let Some(entry) = self.parser.take_entry::<false>(input) {
                    self.keep(&entry, queries);
                }
            }
            // A fault of the file goes before a limit of the memory.
            let told = match self.name_len {
                OTHER if self.skims => NAMES,
                OTHER => PLACES,
                _ => ALL,
            };
            let signal = self.parser.advance::<false>(input, &mut run, told);
            match signal {
                Signal::NeedInput | Signal::HeaderEnd | Signal::Failed => return signal,
                Signal::Name => self.see_piece(signal, run, queries),
                Signal::Metadata => self.begin_name(queries),
                Signal::Tensor => self.end_name(run, queries),
                Signal::TensorEnd => self.end_entry(queries),
                _ => self.take(signal, queries),
            }
        }
    }

    fn end_name<'n>(&mut self, run: &[u8], queries: &mut [impl Seek<'n>]) {
        if self.name_len != OTHER {
            self.see_piece(Signal::Tensor, run, queries);
        }
        self.take(Signal::Tensor, queries);
        if self.skims && self.name_len == OTHER {
            self.parser.skim_entry();
            self.begin_name(queries);
        }
    }

    fn end_entry<'n>(&mut self, queries: &mut [impl Seek<'n>]) {
        self.take(Signal::TensorEnd, queries);
        self.order.see(self.parser.extent());
        self.begin_name(queries);
    }

    /// Takes what was seen for found, once the pass is known to have been over the right header. The first that is missing
    /// and must be there, if there is one; the rest is found all the same.
    #[inline(never)] // so that what it has on the stack does not wait there for the end of the pass
    pub(crate) fn settle<'n>(queries: &mut [impl Seek<'n>]) -> Option<usize> {
        let mut missing = None;
        for (index, one) in all(queries).enumerate() {
            if one.state != State::Sought {
                one.state = State::Found;
            } else if !one.optional && missing.is_none() {
                missing = Some(index);
            }
        }
        missing
    }

    /// The error that this one of those that are wanted is missing.
    pub(crate) const fn not_found(&self, index: usize) -> Error {
        ErrorKind::NotFound { query: Some(index as u64) }.at(self.parser().position())
    }

    /// Takes a tensor that was seen all at once.
    fn keep<'n>(&mut self, entry: &Whole<'_>, queries: &mut [impl Seek<'n>]) {
        for one in all(queries).filter(|one| one.name.as_bytes() == entry.name) {
            if !one.keep(entry) {
                self.parser.stop(Fault::NameTwice, entry.name_at);
            }
        }
        self.order.see(entry.place);
    }

    /// Listens to names again, and to what is said of a tensor if it is one that is wanted.
    const fn begin_name<'n>(&mut self, queries: &[impl Seek<'n>]) {
        self.name_len = if queries.is_empty() { OTHER } else { 0 };
    }

    // What the next two have on the stack must not wait there for the parser: their caller calls that too.

    #[inline(never)]
    fn see_piece<'n>(&mut self, signal: Signal, run: &[u8], queries: &mut [impl Seek<'n>]) {
        let piece = self.parser.piece(signal, run);
        let piece = piece.as_bytes();
        let passed = self.name_len;
        self.name_len = OTHER;
        for one in all(queries) {
            one.matches = (one.matches || passed == 0) && one.goes_on(passed, piece);
            if one.matches {
                self.name_len = passed + piece.len();
            }
        }
    }

    /// Shows what was signalled to those whose name has come by. What is wrong with it is told by the next call.
    fn take<'n>(&mut self, signal: Signal, queries: &mut [impl Seek<'n>]) {
        if self.name_len != OTHER {
            self.fill_queries(signal, queries);
        }
    }

    #[inline(never)]
    fn fill_queries<'n>(&mut self, signal: Signal, queries: &mut [impl Seek<'n>]) {
        let len = self.name_len;
        let mut is_wanted = false;
        for one in all(queries) {
            if one.matches && one.name.len() == len {
                is_wanted = true;
                if !one.take(signal, &self.parser) {
                    self.parser.stop_here(if signal == Signal::Tensor {
                        Fault::NameTwice
                    } else {
                        Fault::RANK
                    });
                }
            }
        }
        if !is_wanted {
            self.name_len = OTHER;
        }
    }
}

fn all<'w, 'n: 'w>(queries: &'w mut [impl Seek<'n>]) -> impl Iterator<Item = &'w mut Query<'n>> {
    queries.iter_mut().map(Seek::query)
}

/// Follows one pass over a header, and fills in what is wanted.
pub(crate) struct Search<'w, 'n> {
    lookup: Lookup,
    queries: &'w mut [Query<'n>],
}

impl<'w, 'n> Search<'w, 'n> {
    /// As [`Lookup::new`].
    pub(crate) fn new(file_len: Option<u64>, skims: bool, queries: &'w mut [Query<'n>]) -> Self {
        Self { lookup: Lookup::new(file_len, skims, queries), queries }
    }

    /// What the header describes, once it is complete.
    pub(crate) const fn summary(&self) -> Summary {
        self.lookup.summary()
    }

    /// As [`Lookup::settle`].
    pub(crate) fn settle(&mut self) -> Option<usize> {
        Lookup::settle(self.queries)
    }

    /// As [`Lookup::not_found`].
    pub(crate) const fn not_found(&self, index: usize) -> Error {
        self.lookup.not_found(index)
    }

    /// As [`Lookup::conclude`].
    pub(crate) const fn conclude(&self) -> Result<(), Error> {
        self.lookup.conclude()
    }
}

impl Machine for Search<'_, '_> {
    fn push(&mut self, input: &mut &[u8]) -> Option<Progress> {
        self.lookup.run(input, self.queries).progress()
    }

    fn error(&self) -> Error {
        self.lookup.error()
    }

    fn cut_short(&mut self) {
        self.lookup.parser.end_pass(true);
    }

    fn header_len(&self) -> Option<u64> {
        self.lookup.parser().header_len()
    }
}
