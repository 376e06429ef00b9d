//! Reads models from servers on loopback that behave well, badly, or as told by a line of a table.

mod act;
mod cases;
mod environment;
mod hub;
mod neighbours;
mod server;
mod shards;
mod stop;
