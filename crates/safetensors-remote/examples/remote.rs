//! Looks at a model on a server: `count LOCATION…` prints its parameters, `read LOCATION TENSOR` a tensor's
//! bytes.

use safetensors_remote::{Client, Location, Options, RemoteError, RemoteModel};
use std::error::Error;
use std::io::{Write, stdout};
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let client = Client::new(Options::from_env())?;
    match arguments.as_slice() {
        ["count", locations @ ..] => locations.iter().try_for_each(|location| Ok(count(&client, location)?)),
        ["read", location, tensor] => {
            let model = RemoteModel::open(&client, &Location::parse(location)?)?;
            let file = model.file_of(tensor).ok_or("no such tensor")?;
            Ok(stdout().write_all(&file.read(tensor)?.unwrap_or_default())?)
        }
        _ => Err("usage: remote count LOCATION… | remote read LOCATION TENSOR".into()),
    }
}

fn count(client: &Client, location: &str) -> Result<(), RemoteError> {
    let model = RemoteModel::open(client, &Location::parse(location)?)?;
    let counted = model.parameters(model.config()?.as_ref());
    let by_dtype: Vec<String> =
        counted.by_dtype().iter().map(|(dtype, count)| format!("{dtype}={count}")).collect();
    println!("{location} {} {}", counted.total(), by_dtype.join(" "));
    Ok(())
}
