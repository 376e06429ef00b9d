//! Finds the file that a location means: in the cache of the Hub, or on a server.

use super::file::Remote;
use super::settings::{client, location, options, run};
use crate::error::not_read::{NotRead, sentence_of_server};
use safetensors_remote::{Location, RemoteError, RemoteErrorKind, RemoteFile, RemoteModel, Url};
use std::path::{Path, PathBuf};

/// Where a model is.
#[derive(Clone)]
pub enum Place {
    /// In the cache of the Hub.
    Cached(PathBuf),
    Url(Url),
}

/// What was found for a path, and a file that was opened to find it.
pub struct Found {
    place: Result<Place, NotRead>,
    file: Option<RemoteFile>,
}

/// The place that a location means. The Hub is asked once for a model.
///
/// # Errors
/// It is not a location; there is no model; those of the server.
pub fn place(path: &Path) -> Result<Place, NotRead> {
    if let Some(known) = run().found.get(path) {
        return known.place.clone();
    }
    let new = find(path).unwrap_or_else(|error| Found { place: Err(error), file: None });
    let place = new.place.clone();
    run().found.insert(path.to_path_buf(), new);
    place
}

/// Finds out whether a location is that of an index; of a model of the Hub from the server.
///
/// # Errors
/// Those of [`place`].
pub fn is_sharded(path: &Path) -> Result<bool, NotRead> {
    Ok(match place(path)? {
        Place::Cached(file) => crate::input::model::is_index(&file),
        Place::Url(url) => url.path().ends_with(".index.json"),
    })
}

fn find(path: &Path) -> Result<Found, NotRead> {
    let location = location(path)?;
    let at = |place| Found { place: Ok(place), file: None };
    match &location {
        Location::Url(url) => Ok(at(Place::Url(url.clone()))),
        Location::Hub(model) => {
            if let Some(file) = options().hub.cached(model) {
                return Ok(at(Place::Cached(file)));
            }
            let file = client()?.find(&location).map_err(|error| match error.kind() {
                RemoteErrorKind::NoModel { .. }
                | RemoteErrorKind::Offline
                | RemoteErrorKind::Setup { .. } => error.into(),
                _ => of_file(&error),
            })?;
            Ok(Found { place: Ok(Place::Url(file.url().clone())), file: Some(file) })
        }
    }
}

/// An error of a file whose path is not the one that was given.
pub fn of_file(error: &RemoteError) -> NotRead {
    NotRead::of_server(error, format!("{}: {}", error.url(), sentence_of_server(error)))
}

fn open_file(path: &Path, url: &Url) -> Result<RemoteFile, NotRead> {
    let opened = run().found.get_mut(path).and_then(|found| found.file.take());
    match opened.filter(|file| file.url() == url) {
        Some(file) => Ok(file),
        None => Ok(client()?.find(&Location::Url(url.clone()))?),
    }
}

/// Opens a file on a server, whose header is not validated yet.
///
/// # Errors
/// Those of the server.
pub fn open(path: &Path, url: &Url) -> Result<Remote, NotRead> {
    open_file(path, url).map(Remote::new)
}

/// Opens the files of an index.
///
/// # Errors
/// The index or a file is invalid; those of the server.
pub fn open_shards(path: &Path, url: &Url) -> Result<Result<RemoteModel, RemoteError>, NotRead> {
    let (client, location) = (client()?, Location::Url(url.clone()));
    let opened = run().found.get_mut(path).and_then(|found| found.file.take());
    let file = opened.map_or_else(|| client.find(&location), Ok);
    Ok(file.and_then(|file| RemoteModel::of(&client, file)))
}

/// Reads the text of an index.
///
/// # Errors
/// Those of the server; it is too long.
pub fn index_text(path: &Path) -> Result<Vec<u8>, NotRead> {
    match place(path)? {
        Place::Url(url) => Ok(open_file(path, &url)?.into_text(options().max_index)?),
        Place::Cached(file) => Ok(std::fs::read(file)?),
    }
}
