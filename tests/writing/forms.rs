//! The writer and its asynchronous form, behind one trait.

use embedded_safetensors::{
    WriteError, asynch,
    values::Native,
    write::{FilePlan, NextTensor, Streaming, Writer},
};
use support::executor::finish;
use support::mock::Fault;
use support::sink::Sink;
use support::waiting::{Waiting, Waits};

pub type Outcome<T> = Result<T, WriteError<Fault>>;

/// Operations of both forms. The sink is borrowed, so that it can be inspected after every error.
pub trait AnyWriter<'a>: Sized {
    fn begin(sink: &'a mut Sink, plan: FilePlan<'a>, window: &mut [u8]) -> Outcome<Self>;
    fn next_tensor(&self) -> Option<NextTensor<'a>>;
    fn position(&self) -> u64;
    fn bytes(&mut self, bytes: &[u8]) -> Outcome<()>;
    fn values<T: Native>(&mut self, values: &[T]) -> Outcome<()>;
    fn tensor(&mut self, name: &str, bytes: &[u8]) -> Outcome<()>;
    fn end(self) -> Outcome<()>;
}

pub trait Form {
    type Writer<'a>: AnyWriter<'a>;
}

/// [`Writer`].
pub struct Blocking;

/// [`asynch::Writer`], to a sink that waits before and after every call.
pub struct Awaited;

impl Form for Blocking {
    type Writer<'a> = Writer<'a, Streaming<&'a mut Sink>>;
}

impl Form for Awaited {
    type Writer<'a> = asynch::Writer<'a, asynch::Streaming<Waiting<&'a mut Sink>>>;
}

impl<'a> AnyWriter<'a> for Writer<'a, Streaming<&'a mut Sink>> {
    fn begin(sink: &'a mut Sink, plan: FilePlan<'a>, window: &mut [u8]) -> Outcome<Self> {
        Writer::new(sink, plan, window)
    }

    fn next_tensor(&self) -> Option<NextTensor<'a>> {
        Writer::next_tensor(self)
    }

    fn position(&self) -> u64 {
        Writer::position(self)
    }

    fn bytes(&mut self, bytes: &[u8]) -> Outcome<()> {
        self.write_bytes(bytes)
    }

    fn values<T: Native>(&mut self, values: &[T]) -> Outcome<()> {
        self.write(values)
    }

    fn tensor(&mut self, name: &str, bytes: &[u8]) -> Outcome<()> {
        self.write_tensor(name, bytes)
    }

    fn end(self) -> Outcome<()> {
        self.finish().map(drop)
    }
}

impl<'a> AnyWriter<'a> for asynch::Writer<'a, asynch::Streaming<Waiting<&'a mut Sink>>> {
    fn begin(sink: &'a mut Sink, plan: FilePlan<'a>, window: &mut [u8]) -> Outcome<Self> {
        finish(asynch::Writer::new(Waiting::new(sink, Waits { before: 1, after: 1 }), plan, window))
    }

    fn next_tensor(&self) -> Option<NextTensor<'a>> {
        asynch::Writer::next_tensor(self)
    }

    fn position(&self) -> u64 {
        asynch::Writer::position(self)
    }

    fn bytes(&mut self, bytes: &[u8]) -> Outcome<()> {
        finish(self.write_bytes(bytes))
    }

    fn values<T: Native>(&mut self, values: &[T]) -> Outcome<()> {
        finish(self.write(values))
    }

    fn tensor(&mut self, name: &str, bytes: &[u8]) -> Outcome<()> {
        finish(self.write_tensor(name, bytes))
    }

    fn end(self) -> Outcome<()> {
        finish(self.finish()).map(drop)
    }
}

/// Runs each test with both forms.
#[macro_export]
macro_rules! test_both_forms {
    ($($test:ident)*) => {
        mod blocking { $(#[test] fn $test() { super::$test::<$crate::writing::forms::Blocking>(); })* }
        mod awaited { $(#[test] fn $test() { super::$test::<$crate::writing::forms::Awaited>(); })* }
    };
}
