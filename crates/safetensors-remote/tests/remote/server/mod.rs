//! A server that does what a script says, and counts.

mod file;
mod reply;

pub use file::File;
pub use reply::{Reply, part};

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Request {
    /// The number of requests before it.
    pub number: usize,
    pub path: String,
    pub headers: Vec<(String, String)>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The first and the last requested byte.
    pub fn range(&self) -> Option<(u64, u64)> {
        let (first, last) = self.header("range")?.strip_prefix("bytes=")?.split_once('-')?;
        Some((first.parse().ok()?, last.parse().ok()?))
    }
}

/// The connection to a client.
pub struct Wire {
    stream: TcpStream,
    sent: Arc<AtomicU64>,
    /// The script has closed the connection.
    pub is_closed: bool,
}

impl Wire {
    /// Counts before it writes: the client may read all bytes and end before `write_all` returns.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sent.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.stream.write_all(bytes)
    }

    /// Says nothing more until the client closes the connection.
    pub fn hang(&mut self) -> io::Result<()> {
        self.is_closed = true;
        io::copy(&mut self.stream, &mut io::sink()).map(drop)
    }
}

/// What a server does with a request.
pub type Script = Arc<dyn Fn(&Request, &mut Wire) -> io::Result<()> + Send + Sync>;

pub struct Server {
    pub address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    requests: Mutex<Vec<Request>>,
    sent: Arc<AtomicU64>,
    connections: AtomicUsize,
    /// The requests that are being answered, and the most at a time.
    running: AtomicUsize,
    peak: AtomicUsize,
}

impl Server {
    pub fn new(script: impl Fn(&Request, &mut Wire) -> io::Result<()> + Send + Sync + 'static) -> Self {
        // All addresses of loopback, so that a client sees several hosts.
        let listener = TcpListener::bind("0.0.0.0:0").unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], listener.local_addr().unwrap().port()));
        let state = Arc::new(State::default());
        let (script, shared): (Script, _) = (Arc::new(script), state.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (script, state) = (script.clone(), shared.clone());
                state.connections.fetch_add(1, Ordering::Relaxed);
                thread::spawn(move || drop(state.serve(stream, &script)));
            }
        });
        Self { address, state }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn requests(&self) -> Vec<Request> {
        self.state.requests.lock().unwrap().clone()
    }

    pub fn sent(&self) -> u64 {
        self.state.sent.load(Ordering::Relaxed)
    }

    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::Relaxed)
    }

    /// The most requests that were answered at the same time.
    pub fn peak(&self) -> usize {
        self.state.peak.load(Ordering::Relaxed)
    }
}

impl State {
    fn serve(&self, stream: TcpStream, script: &Script) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut wire = Wire { stream, sent: self.sent.clone(), is_closed: false };
        while !wire.is_closed {
            let Some(request) = self.read(&mut reader)? else { break };
            let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
            self.peak.fetch_max(running, Ordering::SeqCst);
            let outcome = script(&request, &mut wire);
            self.running.fetch_sub(1, Ordering::SeqCst);
            outcome?;
        }
        wire.stream.shutdown(std::net::Shutdown::Write)?;
        // Closing a socket with unread bytes would reset the connection, and lose what was sent.
        wire.stream.set_read_timeout(Some(std::time::Duration::from_secs(1)))?;
        io::copy(&mut reader.take(1 << 20), &mut io::sink()).map(drop)
    }

    fn read(&self, reader: &mut impl BufRead) -> io::Result<Option<Request>> {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let path = line.split(' ').nth(1).unwrap_or("").to_owned();
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut requests = self.requests.lock().unwrap();
        let request = Request { number: requests.len(), path, headers };
        requests.push(request.clone());
        Ok(Some(request))
    }
}
