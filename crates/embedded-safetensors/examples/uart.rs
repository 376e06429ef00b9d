//! A model that arrives over a UART and is never stored: two of its tensors are copied to buffers, the
//! others skipped.
//!
//! ```text
//! 4 tensors, 9228 bytes of data
//! [24.0, 24.25, 24.5]
//! ```

mod support {
    pub mod model;
    pub mod uart;
}

use embedded_io::Read;
use embedded_safetensors::stream::{Receiver, Target};
use std::error::Error;
use support::model::{self, floats};
use support::uart::Uart;

fn main() -> Result<(), Box<dyn Error>> {
    let mut uart = Uart::receiving(model::file());

    let (mut weight, mut bias) = ([0; 768], [0; 16]);
    let mut receiver =
        Receiver::new([Target::required("fc2.weight", &mut weight), Target::required("fc2.bias", &mut bias)]);
    let mut dma = [0; 64];
    loop {
        let len = uart.read(&mut dma)?;
        if len == 0 {
            // The sender has stopped; the error says what is missing.
            receiver.end_of_input()?;
            break;
        }
        if receiver.push(&dma[..len])?.is_complete() {
            break;
        }
    }

    let summary = receiver.summary().ok_or("the header is incomplete")?;
    println!("{} tensors, {} bytes of data", summary.tensors, summary.data_len);
    let [weight, bias] = receiver.into_targets();
    let weight = weight.bytes().ok_or("the weight is incomplete")?;
    let bias = bias.bytes().ok_or("the bias is incomplete")?;
    println!("{:?}", layer(weight, bias, &[1.0; 64]));
    Ok(())
}

/// A dense layer: one row of the weight for each output.
fn layer(weight: &[u8], bias: &[u8], input: &[f32]) -> Vec<f32> {
    let rows = weight.chunks_exact(4 * input.len());
    let products = rows.map(|row| floats(row).zip(input).map(|(weight, input)| weight * input).sum::<f32>());
    products.zip(floats(bias)).map(|(product, bias)| product + bias).collect()
}
