//! A random forest that scikit-learn has trained: tensors that are read in place.

use crate::demo::highest;
use crate::digits::{COUNT, Image, PIXELS, digits};
use crate::integer::{check, find};
use crate::network::CLASSES;
use crate::{Event, Failure, Sink};
use core::convert::Infallible;
use embedded_safetensors::View;

const TREES: usize = 12;
const NODES: usize = 300;

/// A value of each node. The first node of a tree is its root.
type Nodes<T> = [[T; NODES]; TREES];

struct Forest<'m> {
    pixels: &'m Nodes<u8>,
    thresholds: &'m Nodes<u8>,
    /// The next node for a pixel up to the threshold, and for a brighter one; 0 where the path ends.
    children: &'m Nodes<[u16; 2]>,
    digits: &'m Nodes<u8>,
}

impl<'m> Forest<'m> {
    /// Finds the forest, and checks all nodes. Children come after their parent, so every path ends.
    fn find(model: &View<'m>) -> Result<Self, Failure<Infallible>> {
        let (pixels, digits): (&Nodes<u8>, &Nodes<u8>) = (find(model, "pixel")?, find(model, "digit")?);
        let children: &Nodes<[u16; 2]> = find(model, "children")?;
        for (index, (&pixel, &digit)) in pixels.as_flattened().iter().zip(digits.as_flattened()).enumerate() {
            check(model, "pixel", index, pixel, [0, PIXELS - 1])?;
            check(model, "digit", index, digit, [0, CLASSES - 1])?;
        }
        let children_of_all = children.as_flattened().as_flattened().iter().enumerate();
        for (index, &child) in children_of_all.filter(|(_, child)| **child != 0) {
            check(model, "children", index, child, [index / 2 % NODES + 1, NODES - 1])?;
        }
        Ok(Self { pixels, thresholds: find(model, "threshold")?, children, digits })
    }

    /// Returns the digit with the most votes, the first if there are several, as scikit-learn's `predict`.
    fn predict(&self, image: &Image) -> u8 {
        let mut votes = [0_u8; CLASSES];
        for digit in (0..TREES).filter_map(|tree| self.vote(tree, image)) {
            votes.get_mut(usize::from(digit)).into_iter().for_each(|votes| *votes += 1);
        }
        highest(&votes)
    }

    fn vote(&self, tree: usize, image: &Image) -> Option<u8> {
        let mut node = 0;
        loop {
            let pixel = image.get(usize::from(*self.pixels.get(tree)?.get(node)?))?;
            let is_brighter = pixel > self.thresholds.get(tree)?.get(node)?;
            match self.children.get(tree)?.get(node)?.get(usize::from(is_brighter))? {
                0 => return self.digits.get(tree)?.get(node).copied(),
                child => node = usize::from(*child),
            }
        }
    }
}

/// Reads all images with a forest.
///
/// # Errors
/// The model is not a forest, or its predictions are not those of scikit-learn, which are in the model, too.
pub fn read_digits_with_forest(model: &View<'_>, sink: &mut impl Sink) -> Result<(), Failure<Infallible>> {
    let (forest, predictions) = (Forest::find(model)?, find::<[u8; COUNT], _>(model, "predictions")?);
    let mut right = 0;
    for (digit, &prediction) in digits().zip(predictions) {
        let guess = forest.predict(digit.image);
        check(model, "predictions", digit.number, prediction, [guess.into(); 2])?;
        right += u32::from(guess == digit.label);
    }
    sink.event(&Event::Score { right, of: COUNT as u32 });
    Ok(())
}
