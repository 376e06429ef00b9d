//! Files, and models in several of them, compared with those of the reference in Python.

use crate::python::Comparison;
use crate::report::Outcome;

/// Random dictionaries become the same bytes, and mean the same to either reader. `IDENTITY_SEED` asks once more what an
/// earlier run has asked.
pub fn files() -> Outcome {
    judge(None, None)
}

/// A part of them.
pub fn share() -> Outcome {
    judge(Some(2000), Some(100))
}

fn judge(of_files: Option<u32>, of_shards: Option<u32>) -> Outcome {
    let comparison = Comparison {
        environment: "python-identity",
        folder: "tests/writing/python",
        script: "identity.py",
        program: "writes",
        features: "",
        seed: "IDENTITY_SEED",
    };
    let mut tally = comparison.judge("files are the reference's", of_files)?;
    tally.add(shards(of_shards)?);
    Ok(tally)
}

/// Random models are divided among the same files, with the same index, and opened by either reader. `SHARDS_SEED` asks once more what an
/// earlier run has asked.
fn shards(cases: Option<u32>) -> Outcome {
    let comparison = Comparison {
        environment: "python-shards",
        folder: "tests/shards/python",
        script: "hub.py",
        program: "hub",
        features: "std",
        seed: "SHARDS_SEED",
    };
    comparison.judge("shards are huggingface_hub's", cases)
}
