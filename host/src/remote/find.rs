//! Finds the file that a location means: in the cache of the Hub, or on a server.

use super::file::Remote;
use super::settings::{client, location, options};
use super::{is_missing, is_remote};
use crate::failure::NotRead;
use embedded_safetensors::ReadAt;
use safetensors_remote::{CANDIDATES, HubFile, Location, RemoteErrorKind, RemoteFile, Url};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where a model is.
#[derive(Clone)]
pub enum Place {
    /// In the cache of the Hub.
    Cached(PathBuf),
    Url(Url),
}

/// What was found for a path, and a file that was opened to find it.
struct Found {
    place: Result<Place, NotRead>,
    file: Option<RemoteFile>,
}

static FOUND: Mutex<Option<HashMap<PathBuf, Found>>> = Mutex::new(None);

fn found() -> MutexGuard<'static, Option<HashMap<PathBuf, Found>>> {
    FOUND.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Forgets everything.
pub fn forget() {
    *found() = None;
}

/// The place that a location means. The Hub is asked once for a model without a path.
///
/// # Errors
/// It is not a location; there is no model; those of the server.
pub fn place(path: &Path) -> Result<Place, NotRead> {
    if let Some(known) = found().as_ref().and_then(|found| found.get(path)) {
        return known.place.clone();
    }
    let new = find(path).unwrap_or_else(|error| Found { place: Err(error), file: None });
    let place = new.place.clone();
    found().get_or_insert_default().insert(path.to_path_buf(), new);
    place
}

/// Whether a location is that of an index. One that cannot be found is not.
pub fn is_sharded(path: &Path) -> bool {
    match place(path) {
        Ok(Place::Cached(file)) => crate::model::is_sharded(&file),
        Ok(Place::Url(url)) => url.path().ends_with(".index.json"),
        Err(_) => false,
    }
}

fn find(path: &Path) -> Result<Found, NotRead> {
    let at = |place| Found { place: Ok(place), file: None };
    match location(path)? {
        Location::Url(url) => Ok(at(Place::Url(url))),
        Location::Hub(model) => {
            let hub = options().hub;
            if let Some(file) = hub.cached(&model) {
                return Ok(at(Place::Cached(file)));
            }
            if hub.offline {
                return Err(NotRead::that(RemoteErrorKind::Offline.to_string()));
            }
            match model.path() {
                Some(path) => Ok(at(Place::Url(on_hub(&model, path)?))),
                None => find_weights(&model),
            }
        }
    }
}

fn on_hub(model: &HubFile, path: &str) -> Result<Url, NotRead> {
    let url = options().hub.url(model, path);
    url.map_err(|reason| NotRead::that(RemoteErrorKind::Location { reason }.to_string()))
}

/// The first of the usual names that the model has.
fn find_weights(model: &HubFile) -> Result<Found, NotRead> {
    for name in CANDIDATES {
        let url = on_hub(model, name)?;
        match RemoteFile::open_unchecked(&client()?, &url) {
            Err(error) if is_missing(&error) => {}
            Ok(file) => return Ok(Found { place: Ok(Place::Url(url)), file: Some(file) }),
            Err(error) => return Err(NotRead::that(format!("{url}: {}", super::sentence(&error)))),
        }
    }
    Err(NotRead::that(RemoteErrorKind::NoModel { tried: CANDIDATES.to_vec() }.to_string()))
}

/// Opens a file on a server, whose header is not validated yet.
///
/// # Errors
/// Those of the server.
pub fn open(path: &Path, url: &Url) -> Result<Remote, NotRead> {
    let opened = found().as_mut().and_then(|found| found.get_mut(path)?.file.take());
    let file = match opened.filter(|file| file.url() == url) {
        Some(file) => file,
        None => RemoteFile::open_unchecked(&client()?, url)?,
    };
    Ok(Remote::new(file))
}

/// Opens any file on a server, such as an index.
///
/// # Errors
/// Those of the server.
pub fn open_file(path: &Path) -> Result<Remote, NotRead> {
    match place(path)? {
        Place::Url(url) => open(path, &url),
        Place::Cached(file) => Err(NotRead::because(format!("it is the local file {}", file.display()))),
    }
}

/// Reads a short file in the directory of a model. None if there is none.
///
/// # Errors
/// Those of the server.
pub fn text_beside(path: &Path, name: &str, most: u64) -> Result<Option<Vec<u8>>, NotRead> {
    if !is_remote(path) {
        return Ok(None);
    }
    let url = match place(path)? {
        Place::Url(url) => url.sibling(name),
        Place::Cached(file) => return Ok(std::fs::read(file.with_file_name(name)).ok()),
    };
    let mut file = match RemoteFile::open_unchecked(&client()?, &url) {
        Err(error) if is_missing(&error) => return Ok(None),
        opened => opened?,
    };
    let mut text = file.beginning().to_vec();
    let mut piece = vec![0; 1 << 16];
    loop {
        match file.read_at(text.len() as u64, &mut piece)? {
            0 => return Ok(Some(text)),
            len => text.extend_from_slice(&piece[..len]),
        }
        if text.len() as u64 > most {
            return Err(NotRead::that(RemoteErrorKind::TooLarge { limit: most }.to_string()));
        }
    }
}
