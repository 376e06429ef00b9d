//! Ends the work of a client.

use crate::client::Client;

impl Client {
    /// Ends all requests and delays of this client and its clones, also those of other threads, and rejects
    /// all that follow: they fail with [`RemoteErrorKind::Stopped`](crate::RemoteErrorKind::Stopped). Only
    /// the search for an address and the first step of a connection go on until their timeout.
    ///
    /// In the asynchronous form, drop the future instead.
    pub fn stop(&self) {
        self.transport().stop();
    }
}
