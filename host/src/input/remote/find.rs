//! Finds the file that a location means: in the cache of the Hub, or on a server.

use super::file::Remote;
use crate::context::{Context, Found, Place};
use crate::error::not_read::{NotRead, sentence_of_server};
use safetensors_remote::{Location, RemoteError, RemoteErrorKind, RemoteFile, RemoteModel, Url};
use std::path::Path;

/// The place that a location means. The Hub is asked once for a model.
///
/// # Errors
/// It is not a location; there is no model; those of the server.
pub fn place(context: &Context, path: &Path) -> Result<Place, NotRead> {
    if let Some(known) = context.found().get(path) {
        return known.place.clone();
    }
    let new = find(context, path).unwrap_or_else(|error| Found { place: Err(error), file: None });
    let place = new.place.clone();
    context.found().insert(path.to_path_buf(), new);
    place
}

/// Finds out whether a location is that of an index; of a model of the Hub from the server.
///
/// # Errors
/// Those of [`place`].
pub fn is_sharded(context: &Context, path: &Path) -> Result<bool, NotRead> {
    Ok(match place(context, path)? {
        Place::Cached(file) => crate::input::model::is_index(&file),
        Place::Url(url) => url.path().ends_with(".index.json"),
    })
}

fn find(context: &Context, path: &Path) -> Result<Found, NotRead> {
    let location = context.location(path)?;
    let at = |place| Found { place: Ok(place), file: None };
    match &location {
        Location::Url(url) => Ok(at(Place::Url(url.clone()))),
        Location::Hub(model) => {
            if let Some(file) = context.options().hub.cached(model) {
                return Ok(at(Place::Cached(file)));
            }
            let file = context.client()?.find(&location).map_err(|error| match error.kind() {
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

fn open_file(context: &Context, path: &Path, url: &Url) -> Result<RemoteFile, NotRead> {
    let opened = context.found().get_mut(path).and_then(|found| found.file.take());
    match opened.filter(|file| file.url() == url) {
        Some(file) => Ok(file),
        None => Ok(context.client()?.find(&Location::Url(url.clone()))?),
    }
}

/// Opens a file on a server, whose header is not validated yet.
///
/// # Errors
/// Those of the server.
pub fn open(context: &Context, path: &Path, url: &Url) -> Result<Remote, NotRead> {
    open_file(context, path, url).map(Remote::new)
}

/// Opens the files of an index.
///
/// # Errors
/// The index or a file is invalid; those of the server.
pub fn open_shards(
    context: &Context,
    path: &Path,
    url: &Url,
) -> Result<Result<RemoteModel, RemoteError>, NotRead> {
    let (client, location) = (context.client()?, Location::Url(url.clone()));
    let opened = context.found().get_mut(path).and_then(|found| found.file.take());
    let file = opened.map_or_else(|| client.find(&location), Ok);
    Ok(file.and_then(|file| RemoteModel::of(&client, file)))
}

/// Reads the text of an index.
///
/// # Errors
/// Those of the server; it is too long.
pub fn index_text(context: &Context, path: &Path) -> Result<Vec<u8>, NotRead> {
    match place(context, path)? {
        Place::Url(url) => Ok(open_file(context, path, &url)?.into_text(context.options().max_index)?),
        Place::Cached(file) => Ok(std::fs::read(file)?),
    }
}
