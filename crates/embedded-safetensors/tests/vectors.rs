//! Conformance vectors of each kind through the models in files. The suite opens all of them so.

use embedded_safetensors::{FileModel, MappedModel, file::FileError, file::FileErrorKind};
use std::path::{Path, PathBuf};

/// The number of tensors, or the code of the error and its byte.
type Verdict = Result<usize, (&'static str, u64)>;

const VECTORS: [(&str, Verdict); 24] = [
    ("valid/container-empty-object", Ok(0)),
    ("valid/top-object-of-three", Ok(3)),
    ("valid/dtype-all", Ok(22)),
    ("valid/layout-shuffled", Ok(5)),
    ("valid/empty-between-last", Ok(3)),
    ("valid/d6-rank-9", Ok(1)),
    ("either/space-pretty-printed", Ok(1)),
    ("either/d5-1e309", Ok(1)),
    ("either/d1-empty-then-full", Err(("name.duplicate", 61))),
    ("either/d2-same-value", Err(("metadata.duplicate", 33))),
    ("invalid/container-no-bytes", Err(("container.short", 0))),
    ("invalid/container-length-100000000-short", Err(("container.header-beyond-file", 10))),
    ("invalid/after-bad-utf8", Err(("text.utf8", 10))),
    ("invalid/surrogate-high-alone", Err(("json.surrogate", 10))),
    ("invalid/container-length-zero", Err(("json.end", 8))),
    ("invalid/top-array", Err(("header.type", 8))),
    ("invalid/entry-empty", Err(("entry.missing", 14))),
    ("invalid/utf8-valid-in-dtype", Err(("dtype.unknown", 22))),
    ("invalid/shape-max-plus-1", Err(("shape.range", 38))),
    ("invalid/offsets-none", Err(("offsets.count", 55))),
    ("invalid/entry-order-size", Err(("tensor.size", 30))),
    ("invalid/layout-overlap-one", Err(("layout.overlap", 107))),
    ("invalid/metadata-value-number", Err(("metadata.value", 29))),
    ("invalid/data-one-too-few", Err(("data.short", 64))),
];

fn path(vector: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/vectors/{vector}.safetensors"))
}

fn verdict(outcome: Result<usize, FileError>) -> Verdict {
    outcome.map_err(|error| match error.kind() {
        FileErrorKind::Format(error) | FileErrorKind::Duplicate { error, .. } => {
            (error.kind.code(), error.at)
        }
        other => panic!("{other}"),
    })
}

/// Maps a file of the repository.
fn map(path: &Path) -> Result<MappedModel, FileError> {
    // SAFETY: nothing writes to the files while the tests run.
    unsafe { MappedModel::open(path) }
}

#[test]
fn files_have_their_verdicts() {
    for (vector, expected) in VECTORS {
        let path = path(vector);
        let opened = FileModel::open(&path).map(|model| model.tensors().len());
        assert_eq!(verdict(opened), expected, "{vector}");
        assert_eq!(verdict(map(&path).map(|model| model.index().len())), expected, "{vector}, mapped");
    }
}

#[test]
fn files_have_the_same_bytes_when_mapped() {
    for (vector, _) in VECTORS.iter().filter(|(_, verdict)| verdict.is_ok()) {
        let (model, mapped) =
            (FileModel::open(path(vector)).expect("valid"), map(&path(vector)).expect("valid"));
        for tensor in model.tensors() {
            let name = tensor.name();
            let mut bytes = vec![0; usize::try_from(tensor.byte_len()).expect("small")];
            let bytes = tensor.reader().read_to_end(&mut bytes).expect("readable");
            let at = mapped.index().find(name).expect("valid").expect("present").begin();
            let at = usize::try_from(mapped.index().summary().data_start + at).expect("small");
            assert_eq!(&mapped.view().file()[at..at + bytes.len()], bytes, "{vector}: {name}");
        }
    }
}
