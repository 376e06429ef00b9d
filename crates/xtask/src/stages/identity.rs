//! Files, compared with those of the reference in Python.

use crate::python::Comparison;
use crate::report::Outcome;

/// Random dictionaries become the same bytes, and mean the same to either reader. `IDENTITY_SEED` asks once more what an
/// earlier run has asked.
pub fn files() -> Outcome {
    let comparison = Comparison {
        environment: "python-identity",
        folder: "tests/writing/python",
        script: "identity.py",
        program: "writes",
        seed: "IDENTITY_SEED",
    };
    comparison.judge("files are the reference's")
}
