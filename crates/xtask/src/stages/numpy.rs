//! Slices, compared with numpy's.

use crate::python::Comparison;
use crate::report::Outcome;

/// Random slices are what numpy makes of them. `NUMPY_SEED` asks once more what an earlier run has asked.
pub fn slices() -> Outcome {
    let comparison = Comparison {
        environment: "python-numpy",
        folder: "tests/slicing/numpy",
        script: "numpy_slices.py",
        program: "slices",
        features: "",
        seed: "NUMPY_SEED",
    };
    comparison.judge("slices are numpy's", None)
}
