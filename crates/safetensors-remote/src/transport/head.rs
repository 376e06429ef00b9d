//! Connections that report a head of a reply that is too long. It fills the buffer of `ureq`, which
//! would see a lost connection.

use ureq::Error;
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, NextTimeout, Transport};

/// Makes [`Guarded`] of a connection.
#[derive(Debug)]
pub(super) struct Guard;

#[derive(Debug)]
pub(super) struct Guarded<T>(T);

impl<T: Transport> Connector<T> for Guard {
    type Out = Guarded<T>;

    fn connect(&self, _: &ConnectionDetails<'_>, inner: Option<T>) -> Result<Option<Self::Out>, Error> {
        Ok(inner.map(Guarded))
    }
}

impl<T: Transport> Transport for Guarded<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.0.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.0.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let buffers = self.0.buffers();
        match buffers.input_append_buf().len() {
            0 => Err(Error::LargeResponseHeader(buffers.input().len(), buffers.input().len())),
            _ => self.0.await_input(timeout),
        }
    }

    fn is_open(&mut self) -> bool {
        self.0.is_open()
    }

    fn is_tls(&self) -> bool {
        self.0.is_tls()
    }
}
