//! Files, and models in several of them, compared with those of the reference in Python.

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
        features: "",
        seed: "IDENTITY_SEED",
    };
    let mut tally = comparison.judge("files are the reference's")?;
    tally.add(shards()?);
    Ok(tally)
}

/// Random models are divided among the same files, with the same index, and opened by either reader. `SHARDS_SEED` asks once more what an
/// earlier run has asked.
fn shards() -> Outcome {
    let comparison = Comparison {
        environment: "python-shards",
        folder: "tests/shards/python",
        script: "hub.py",
        program: "hub",
        features: "std",
        seed: "SHARDS_SEED",
    };
    comparison.judge("shards are huggingface_hub's")
}
