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
use embedded_safetensors::query::Query;
use embedded_safetensors::stream::{Receiver, Target};
use std::error::Error;
use support::model;
use support::uart::Uart;

/// What the program expects of the model. Elements of any dtype that `f32` can hold are converted.
const WEIGHT: Query<'_> = Query::required("fc2.weight").shape(&[3, 64]);
const BIAS: Query<'_> = Query::required("fc2.bias").shape(&[3]);

fn main() -> Result<(), Box<dyn Error>> {
    let mut uart = Uart::receiving(model::file());

    let (mut weight, mut bias) = ([0.0; 3 * 64], [0.0; 3]);
    let mut receiver = Receiver::new([Target::values(WEIGHT, &mut weight), Target::values(BIAS, &mut bias)]);
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
    println!("{:?}", layer(&weight, &bias, &[1.0; 64]));
    Ok(())
}

/// A dense layer: one row of the weight for each output.
fn layer(weight: &[f32], bias: &[f32], input: &[f32]) -> Vec<f32> {
    let rows = weight.chunks_exact(input.len());
    let products = rows.map(|row| row.iter().zip(input).map(|(weight, input)| weight * input).sum::<f32>());
    products.zip(bias).map(|(product, bias)| product + bias).collect()
}
