//! The test images: 64 handwritten digits that no network was trained with.

use embedded_safetensors::{View, include_model};

/// The number of images.
pub const COUNT: usize = 64;

/// The number of pixels of an image, in rows of 8.
pub const PIXELS: usize = 64;

/// An image, each pixel between 0 and 16.
pub type Image = [u8; PIXELS];

const FILE: View<'_> = include_model!("../models/digits-test.safetensors", 16);

static IMAGES: &[Image; COUNT] = FILE.expect_array("images");
static LABELS: &[u8; COUNT] = FILE.expect_array("labels");

/// An image with the right digit.
#[derive(Clone, Copy, Debug)]
pub struct Digit {
    /// The index of the image.
    pub number: usize,
    /// Its pixels.
    pub image: &'static Image,
    /// The right digit.
    pub label: u8,
}

/// Returns all images in order.
pub fn digits() -> impl Iterator<Item = Digit> {
    let images = IMAGES.iter().zip(LABELS).enumerate();
    images.map(|(number, (image, &label))| Digit { number, image, label })
}
