//! The images that are read: 64 handwritten digits that no network has seen in its training.

use embedded_safetensors::{View, include_model};

/// How many images there are.
pub const COUNT: usize = 64;

/// How many pixels an image has, in rows of 8.
pub const PIXELS: usize = 64;

/// An image, each pixel between 0 and 16.
pub type Image = [u8; PIXELS];

const FILE: View<'_> = include_model!("../models/digits-test.safetensors", 16);

static IMAGES: &[Image; COUNT] = FILE.expect_array("images");
static LABELS: &[u8; COUNT] = FILE.expect_array("labels");

/// An image and the digit that its writer meant.
#[derive(Clone, Copy, Debug)]
pub struct Digit {
    /// Which of the images it is, counted from 0.
    pub number: usize,
    /// Its pixels.
    pub image: &'static Image,
    /// What was meant.
    pub label: u8,
}

/// All images, in their order.
pub fn digits() -> impl Iterator<Item = Digit> {
    let images = IMAGES.iter().zip(LABELS).enumerate();
    images.map(|(number, (image, &label))| Digit { number, image, label })
}
