//! The program on the page of `emit`: it compiles with the output of `emit`, and reads the right values.

use crate::emit::{model, net as model};
use crate::support::model as file_of;
use embedded_safetensors::{Model, integrity::Sha256};
use std::error::Error;

const PAGE: &str = include_str!("../docs/emit.md");

/// The second row of the weight.
fn row(storage: &[u8]) -> Result<Vec<f32>, Box<dyn Error>> {
    // The page:
    let mut window = [0; 64];
    let mut net = model::QUERIES;
    let mut file = Model::open_with(storage, &mut net, &mut window)?; // each name, dtype and shape
    file.verify(Sha256::new(), &model::SHA256, &mut window)?; // each byte
    let weight = &net[model::FC1_WEIGHT.index];
    let mut values = [0.0_f32; model::LARGEST_ROW_ELEMENTS];
    let row = file.reader(weight)?.row(1)?.read(&mut values)?;
    // The end.
    Ok(row.to_vec())
}

#[test]
fn the_page_shows_this_program() {
    let (_, after) = include_str!("emit_page.rs").split_once("    // The page:\n").expect("its beginning");
    let (program, _) = after.split_once("    // The end.\n").expect("its end");
    let program: String =
        program.lines().map(|line| format!("{}\n", line.trim_start_matches("    "))).collect();
    let (_, after) = PAGE.split_once("```rust\n").expect("a program");
    let (shown, _) = after.split_once("```").expect("its end");
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(flat(shown), flat(&program));
}

/// The model of the page.
pub fn page_model() -> Vec<u8> {
    let rows = [("fc1.bias", "U8", &[4][..], vec![b'x'; 4]), ("fc1.weight", "U8", &[2, 4], vec![b'x'; 8])];
    file_of(r#"{"format":"pt"}"#, &rows)
}

#[test]
fn it_reads_the_row() -> Result<(), Box<dyn Error>> {
    let (mut file, _) = model();
    assert_eq!(row(&file)?, [0.0; 3]);
    *file.last_mut().expect("data") ^= 1;
    assert!(row(&file).is_err_and(|error| error.to_string().contains("sum")));
    Ok(())
}
