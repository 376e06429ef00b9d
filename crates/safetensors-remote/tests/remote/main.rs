//! Reads models from servers on loopback that behave well, badly, or as told by a line of a table.

#[cfg(feature = "async")]
mod asynchronous;
mod blocking;
#[cfg(feature = "async")]
mod cancel;
mod cases;
mod environment;
mod hub;
mod neighbours;
mod server;
mod shards;
mod stop;
