//! The APIs of the guide that need no heap, each as a program would use it. Devices run the same code.

use super::models::{Bytes, LONGEST, NET};
use core::convert::Infallible;
use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use embedded_safetensors::integrity::{Sha256, Sum};
use embedded_safetensors::stream::{FileReceiver, Receiver, Target};
use embedded_safetensors::{
    Error, ErrorKind, Model, ReadError, View, WriteError, asynch, error::QueryIndex, index::IndexStorage,
    query::Query,
};
use safetensors_quant::{Matrix, QuantReader};

/// An error, and the name of the tensor that it is about.
#[derive(Debug, PartialEq)]
pub struct Rejection {
    pub tensor: Option<&'static str>,
    pub kind: ErrorKind,
}

impl From<Error> for Rejection {
    fn from(error: Error) -> Self {
        let tensor = error.tensor_name(const { &NET });
        Self { tensor, kind: error.kind }
    }
}

impl From<ReadError<Infallible>> for Rejection {
    fn from(error: ReadError<Infallible>) -> Self {
        let ReadError::Format(format) = error else { panic!("{error}") };
        assert_eq!(error.tensor_name(&NET), format.tensor_name(&NET));
        format.into()
    }
}

/// An API: it reads numbers from a model, all of which it has checked, or says why it does not.
pub type Api = fn(&[u8]) -> Result<(), Rejection>;

pub const APIS: [(&str, Api); 9] = [
    ("Model::open_with", open_with),
    ("Model::find_all", find_all),
    ("asynch::Model::open_with", asynchronous),
    ("asynch::Model::find_all", find_asynchronously),
    ("View", view),
    ("Index", index),
    ("Receiver of values", receive_values),
    ("Receiver of bytes", receive_bytes),
    ("FileReceiver", receive_file),
];

/// An API that detects wrong bytes, and the right model for it.
pub type SumApi = (&'static str, Api, fn() -> Bytes);

pub const SUMS: [SumApi; 4] = [
    ("asynch::Model::verify", verify_asynchronously, Bytes::right),
    ("Sum beside a FileReceiver", sum_while_storing, Bytes::right),
    ("Model::verify_embedded", verify_embedded, Bytes::right_with_sum),
    ("Model::verify", verify, Bytes::right),
];

pub fn check_bias(bias: [f32; 3]) {
    assert_eq!(bias, [0x0302_0100, 0x0706_0504, 0x0B0A_0908].map(f32::from_bits));
}

/// Polls a future that waits for nothing.
fn finish<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("memory is never waited for"),
    }
}

/// Reads numbers by the queries that have found their tensors.
fn use_model(mut model: Model<&[u8]>, net: &[Query<'_>; 3]) -> Result<(), Rejection> {
    let mut bias = [0.0; 3];
    model.reader(&net[2])?.values().read_exact(&mut bias)?;
    check_bias(bias);
    let mut row = [0_i8; 8];
    model.reader(&net[0])?.row(0)?.read_exact(&mut row)?;
    assert_eq!(row, [18, 19, 20, 21, 22, 23, 24, 25]);
    Ok(())
}

fn open_with(file: &[u8]) -> Result<(), Rejection> {
    let mut net = NET;
    let model = Model::open_with(file, &mut net, &mut [0; 1])?;
    use_model(model, &net)
}

/// After an error, a query of a tensor that is not as requested has no result.
fn find_all(file: &[u8]) -> Result<(), Rejection> {
    let mut net = NET;
    let mut model = Model::open(file, &mut [0; 64])?;
    let found = model.find_all(&mut net, &mut [0; 64]);
    if let Some(name) = found.as_ref().err().and_then(|error| error.tensor_name(&NET)) {
        let named = net.iter().find(|query| query.name() == name).expect("one of them");
        assert!(named.info().is_none(), "{name}");
    }
    for query in net.iter().filter(|query| query.info().is_none()) {
        assert!(model.reader(query).is_err(), "{query:?}");
    }
    found?;
    use_model(model, &net)
}

fn asynchronous(file: &[u8]) -> Result<(), Rejection> {
    finish(async {
        let mut net = NET;
        let mut model = asynch::Model::open_with(file, &mut net, &mut [0; 16]).await?;
        let mut bias = [0.0; 3];
        model.reader(&net[2])?.values().read_exact(&mut bias).await?;
        check_bias(bias);
        Ok(())
    })
}

fn find_asynchronously(file: &[u8]) -> Result<(), Rejection> {
    finish(async {
        let mut net = NET;
        let mut model = asynch::Model::open(file, &mut [0; 16]).await?;
        model.find_all(&mut net, &mut [0; 16]).await?;
        let mut bias = [0.0; 3];
        model.reader(&net[2])?.values().read_exact(&mut bias).await?;
        check_bias(bias);
        Ok(())
    })
}

fn view(file: &[u8]) -> Result<(), Rejection> {
    let (mut net, view) = (NET, View::parse(file)?);
    view.find_all(&mut net)?;
    let mut bias = [0.0; 3];
    view.tensor("fc.bias")?.reader().values().read_exact(&mut bias)?;
    check_bias(bias);
    Ok(())
}

/// Each tensor of an index is checked by itself, so the error has no number of a query.
fn index(file: &[u8]) -> Result<(), Rejection> {
    let mut storage = IndexStorage::<8, 16, 128>::new();
    let (mut model, index) = Model::open_indexed(file, storage.memory(), &mut [0; 64])?;
    for query in NET {
        let missing = ErrorKind::NotFound { query: QueryIndex::new(0) };
        let rejection = |kind| Rejection { tensor: Some(query.name()), kind };
        let tensor = index.find(query.name())?.ok_or_else(|| rejection(missing))?;
        query.check(&tensor).map_err(rejection)?;
    }
    let mut bias = [0.0; 3];
    let tensor = index.find("fc.bias")?.expect("checked");
    model.reader(&tensor)?.values().read_exact(&mut bias)?;
    check_bias(bias);
    Ok(())
}

fn receive_values(file: &[u8]) -> Result<(), Rejection> {
    let (mut weight, mut scale, mut bias) = ([0_i8; 24], [0.0_f32; 3], [0.0_f32; 3]);
    let [of_weight, of_scale, of_bias] = NET;
    let targets = [
        Target::values(of_weight, &mut weight),
        Target::values(of_scale, &mut scale),
        Target::values(of_bias, &mut bias),
    ];
    let received = receive(file, Receiver::new(targets));
    if received.is_err() && !is_known_only_at_the_end(file) {
        assert_eq!((weight, scale, bias), ([0; 24], [0.0; 3], [0.0; 3]), "numbers of a wrong model");
    }
    received?;
    check_bias(bias);
    Ok(())
}

/// What arrives before the end of a file of a wrong length cannot be taken back; the error comes last.
fn is_known_only_at_the_end(file: &[u8]) -> bool {
    View::parse(file).is_err_and(|error| error.kind.code().starts_with("data."))
}

fn receive_bytes(file: &[u8]) -> Result<(), Rejection> {
    let (mut weight, mut scale, mut bias) = ([0; 24], [0; 6], [0; 12]);
    let [of_weight, of_scale, of_bias] = NET;
    let targets = [
        Target::new(of_weight, &mut weight),
        Target::new(of_scale, &mut scale),
        Target::new(of_bias, &mut bias),
    ];
    receive(file, Receiver::new(targets))?;
    assert_eq!(bias, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    Ok(())
}

fn receive(file: &[u8], mut receiver: Receiver<[Target<'_, '_>; 3]>) -> Result<(), Rejection> {
    for piece in file.chunks(5) {
        receiver.push(piece)?;
    }
    receiver.end_of_input()?;
    assert!(receiver.targets().iter().all(Target::is_complete));
    Ok(())
}

/// A file that is rejected is never valid in the storage, which has the right model before.
fn receive_file(file: &[u8]) -> Result<(), Rejection> {
    let (right, mut slot) = (Bytes::right(), [0xAA; LONGEST]);
    slot[..right.len()].copy_from_slice(&right);
    let storage = &mut slot[..file.len()];
    let stored = store(file, storage);
    if let Err(rejection) = stored {
        assert!(View::parse(storage).is_err(), "a wrong model is valid in the storage");
        return Err(rejection);
    }
    assert_eq!(storage, file);
    open_with(storage)
}

fn store(file: &[u8], storage: &mut [u8]) -> Result<(), Rejection> {
    let (mut net, mut buffer) = (NET, [0; 24]);
    let mut receiver =
        FileReceiver::new(storage, file.len() as u64, &mut net, &mut buffer).map_err(stored)?;
    for piece in file.chunks(7) {
        receiver.push(piece).map_err(stored)?;
    }
    receiver.finish().map(drop).map_err(stored)
}

fn stored(error: WriteError<Infallible>) -> Rejection {
    let WriteError::Format(format) = error else { panic!("{error}") };
    assert_eq!(error.tensor_name(&NET), format.tensor_name(&NET));
    format.into()
}

/// The sum that the program pins.
fn pinned() -> [u8; 32] {
    let file = Bytes::right();
    let mut model = Model::open(&file[..], &mut [0; 64]).expect("valid");
    model.sum(Sha256::new(), &mut [0; 7]).expect("in memory")
}

fn verify(file: &[u8]) -> Result<(), Rejection> {
    let mut net = NET;
    let mut model = Model::open_with(file, &mut net, &mut [0; 64])?;
    model.verify(Sha256::new(), &pinned(), &mut [0; 64])?;
    use_model(model, &net)
}

fn verify_embedded(file: &[u8]) -> Result<(), Rejection> {
    let mut net = NET;
    let mut model = Model::open_with(file, &mut net, &mut [0; 64])?;
    model.verify_embedded(Sha256::new(), &mut [0; 64])?;
    use_model(model, &net)
}

fn verify_asynchronously(file: &[u8]) -> Result<(), Rejection> {
    finish(async {
        let mut net = NET;
        let mut model = asynch::Model::open_with(file, &mut net, &mut [0; 64]).await?;
        Ok(model.verify(Sha256::new(), &pinned(), &mut [0; 64]).await?)
    })
}

fn sum_while_storing(file: &[u8]) -> Result<(), Rejection> {
    let (mut slot, mut net, mut buffer) = ([0; LONGEST], NET, [0; 24]);
    let storage = &mut slot[..file.len()];
    let mut receiver =
        FileReceiver::new(&mut storage[..], file.len() as u64, &mut net, &mut buffer).map_err(stored)?;
    let mut sum = Sha256::new();
    for piece in file.chunks(9) {
        sum.update(piece);
        receiver.push(piece).map_err(stored)?;
    }
    if sum.finish() == pinned() {
        receiver.finish().map_err(stored)?;
        return open_with(storage);
    }
    assert!(View::parse(storage).is_err());
    // The error is made by the caller, so this is what another API says about the file.
    verify(file)
}

/// Reads the only row of the matrix, in groups of this many values.
pub fn read_matrix(file: &[u8], group: u64) -> Result<(), Rejection> {
    let mut queries = ["w", "s", "z"].map(Query::required);
    let mut model = Model::open_with(file, &mut queries, &mut [0; 64])?;
    let [weights, scales, zeros] = &queries;
    let matrix = Matrix::q4(weights, scales, zeros.info(), group)?;
    let mut row = [f32::NAN; 64];
    QuantReader::new(&mut model, &matrix)?.read_row(0, &mut row)?;
    assert!(row.iter().all(|value| value.is_finite()));
    Ok(())
}
