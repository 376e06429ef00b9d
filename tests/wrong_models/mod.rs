//! Models that are not the one that the program expects, through every API that finds tensors of a file at
//! run time: none gives a number, each gives a sentence that says what is wrong. The right model passes the
//! same table. Boards run it, too. What is resolved at build time is in the tests of `include_model!`.

mod apis;
mod check;
mod models;

use apis::{APIS, Api};
use embedded_safetensors::{Dtype, ErrorKind, Model, index::IndexStorage, query::Query, tensor::ANY_SIZE};
use models::Bytes;
use support::file::with_tensors;

#[cfg(feature = "std")]
const ON_A_DESKTOP: &[(&str, Api)] =
    &[("FileModel", desktop::file_model), ("MappedModel", desktop::mapped_model)];

#[cfg(not(feature = "std"))]
const ON_A_DESKTOP: &[(&str, Api)] = &[];

#[test]
fn wrong_models_give_no_number() {
    check::check(&[&APIS, ON_A_DESKTOP].concat(), |_, _| ());
}

#[cfg(feature = "std")]
mod desktop {
    use super::apis::{Rejection, check_bias};
    use super::models::NET;
    use crate::files::{mapped, temp_dir::TempDir};
    use embedded_safetensors::file::{FileError, FileErrorKind};
    use embedded_safetensors::{ErrorKind, FileModel, error::QueryIndex, query::Query, tensor::Located};

    pub fn file_model(file: &[u8]) -> Result<(), Rejection> {
        let dir = TempDir::new();
        let model = FileModel::open(dir.put("m.safetensors", file)).map_err(of_file)?;
        for query in NET {
            let tensor = model.find(query.name())?;
            check(&query, tensor.as_ref())?;
        }
        let bias: Vec<f32> =
            model.find("fc.bias")?.expect("checked").reader().values().read_to_vec().expect("read");
        check_bias(bias.try_into().expect("three"));
        Ok(())
    }

    pub fn mapped_model(file: &[u8]) -> Result<(), Rejection> {
        let dir = TempDir::new();
        let model = mapped::open(&dir.put("m.safetensors", file)).map_err(of_file)?;
        for query in NET {
            let tensor = model.find(query.name())?;
            check(&query, tensor.as_ref())?;
        }
        let bytes = model.find("fc.bias")?.expect("checked").bytes().to_vec();
        assert_eq!(bytes, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
        Ok(())
    }

    fn of_file(error: FileError) -> Rejection {
        match error.into_parts().1 {
            FileErrorKind::Format(error) | FileErrorKind::Duplicate { error, .. } => error.into(),
            kind => panic!("{kind}"),
        }
    }

    fn check(query: &Query<'static>, tensor: Option<&impl Located>) -> Result<(), Rejection> {
        let missing = ErrorKind::NotFound { query: QueryIndex::new(0) };
        let checked = tensor.ok_or(missing).and_then(|tensor| query.check(tensor));
        checked.map_err(|kind| Rejection { tensor: Some(query.name()), kind })
    }
}

/// A set of dtypes and a free size accept what they are to accept, and the size is handed back.
#[test]
fn free_sizes_are_returned() {
    let mut net = [
        Query::required("fc.weight").shape(&[ANY_SIZE, 8]),
        Query::optional("fc.zero").dtype(Dtype::I8),
        Query::required("fc.scale").dtypes(&[]),
    ];
    let file = Bytes::right();
    let error = Model::open_with(&file[..], &mut net, &mut [0; 64]).expect_err("no dtype is accepted");
    assert_eq!(error.tensor_name(&net), Some("fc.scale"));
    assert_eq!(net[0].info().expect("found").shape().dims(), [3, 8]);
    assert!(net[1].info().is_none() && net[2].info().is_none());
    let outcome = Query::required("x").shape(&[3, ANY_SIZE]).check(&net[0].info().expect("found"));
    assert_eq!(outcome, Ok(()));
}

/// An index has tensors of any rank, also of one that looks small in its lowest byte.
#[test]
fn rank_of_an_indexed_tensor_is_not_cut() {
    let file = with_tensors(&[("a", "U8", vec![1; 258], [0])]);
    let mut storage = IndexStorage::<1, 258, 1>::new();
    let (_, index) = Model::open_indexed(&file[..], storage.memory(), &mut [0; 64]).expect("valid");
    let tensor = index.find("a").expect("valid").expect("present");
    let outcome = Query::required("a").shape(&[1, 1]).check(&tensor);
    assert_eq!(outcome, Err(ErrorKind::RankMismatch { query: None, found: 255, asked: 2 }));
}
