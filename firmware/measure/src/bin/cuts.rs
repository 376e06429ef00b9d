//! Runs updates of models with faults at writes and erasures of a simulated flash, as the tests of
//! `safetensors-slots` do: one of so many as the first word of the request says.
#![no_std]
#![no_main]

#[path = "../../../../crates/safetensors-slots/tests/slots/device.rs"]
mod device;
#[allow(dead_code)] // some of it is for other tests
#[path = "../../../../crates/safetensors-slots/tests/slots/nor.rs"]
mod nor;

measure::program!(|job| job.done = Some(device::sweep(0..1, measure::request().words[0].into()) as u32));
