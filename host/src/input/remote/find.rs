//! Finds the file that a location means: in the cache of the Hub, or on a server.

use crate::args::remote::is_remote;
use crate::context::{Context, Place};
use crate::error::not_read::{NotRead, sentence_of_server};
use safetensors_remote::{Location, RemoteError, RemoteErrorKind, RemoteFile, RemoteModel, SharedFile, Url};
use std::path::Path;

/// The place that a path means. The Hub is asked once for a model.
///
/// # Errors
/// It is not a location; there is no model; those of the server.
pub fn place(context: &Context, path: &Path) -> Result<Place, NotRead> {
    if !is_remote(path) {
        return Ok(Place::Local(path.to_path_buf()));
    }
    if let Some((place, _)) = context.found().get(path) {
        return place.clone();
    }
    let found = find(context, path);
    let (place, file) = found.map_or_else(|reason| (Err(reason), None), |(place, file)| (Ok(place), file));
    context.found().insert(path.to_path_buf(), (place.clone(), file));
    place
}

/// The place of a location, and the file that was opened to find it.
fn find(context: &Context, path: &Path) -> Result<(Place, Option<RemoteFile>), NotRead> {
    let location = context.location(path)?;
    let model = match &location {
        Location::Url(url) => return Ok((Place::Url(url.clone()), None)),
        Location::Hub(model) => model,
    };
    if let Some(file) = context.options().hub.cached(model) {
        return Ok((Place::Local(file), None));
    }
    let file = context.client()?.find(&location).map_err(|error| match error.kind() {
        RemoteErrorKind::NoModel { .. } | RemoteErrorKind::Offline | RemoteErrorKind::Setup { .. } => {
            error.into()
        }
        _ => of_file(&error),
    })?;
    Ok((Place::Url(file.url().clone()), Some(file)))
}

/// An error of a file whose path is not the one that was given.
pub fn of_file(error: &RemoteError) -> NotRead {
    NotRead::of_server(error, format!("{}: {}", error.url(), sentence_of_server(error)))
}

/// The file that was opened to find a path, or opens it.
fn open_file(context: &Context, path: &Path, url: &Url) -> Result<RemoteFile, RemoteError> {
    let opened = context.found().get_mut(path).and_then(|(_, file)| file.take());
    match opened.filter(|file| file.url() == url) {
        Some(file) => Ok(file),
        None => context.client()?.find(&Location::Url(url.clone())),
    }
}

/// Opens a file on a server, whose header is not validated yet.
///
/// # Errors
/// Those of the server.
pub fn open(context: &Context, path: &Path, url: &Url) -> Result<SharedFile, NotRead> {
    Ok(SharedFile::new(open_file(context, path, url)?))
}

/// Opens the files of an index.
///
/// # Errors
/// The index or a file is invalid; those of the server.
pub fn open_shards(context: &Context, path: &Path, url: &Url) -> Result<RemoteModel, RemoteError> {
    RemoteModel::of(&context.client()?, open_file(context, path, url)?)
}

/// Reads the text of an index.
///
/// # Errors
/// Those of the server; it is too long.
pub fn index_text(context: &Context, path: &Path, url: &Url) -> Result<Vec<u8>, NotRead> {
    Ok(open_file(context, path, url)?.into_text(context.options().max_index)?)
}
