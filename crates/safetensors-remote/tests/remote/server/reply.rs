//! Replies: right ones, which a test then makes wrong.

use super::{File, Request, Wire};
use std::io;
use std::thread::sleep;
use std::time::Duration;

/// The version of a file.
pub const ETAG: &str = "\"v1\"";

pub struct Reply<'f> {
    file: &'f File,
    protocol: &'static str,
    status: u16,
    headers: Vec<(String, String)>,
    start: u64,
    end: u64,
    /// Closes the connection after so many bytes of the body.
    cut: Option<u64>,
    /// So many bytes at a time, with this pause.
    pace: Option<(u64, Duration)>,
    is_chunked: bool,
    extra: &'static [u8],
}

/// The right reply to a request: a part with 206, or the whole file with 200.
pub fn part<'f>(file: &'f File, request: &Request) -> Reply<'f> {
    let condition = request.header("if-range").is_none_or(|value| value == ETAG || value == "now");
    let reply = Reply::new(file).set("ETag", ETAG).set("Accept-Ranges", "bytes");
    match request.range().filter(|_| condition) {
        Some((first, _)) if first >= file.len => {
            reply.status(416).bytes(0, 0).set("Content-Range", &format!("bytes */{}", file.len))
        }
        Some((first, last)) => {
            let last = last.min(file.len - 1);
            let range = format!("bytes {first}-{last}/{}", file.len);
            reply.status(206).bytes(first, last + 1).set("Content-Range", &range)
        }
        None => reply,
    }
}

impl<'f> Reply<'f> {
    /// The whole file.
    pub fn new(file: &'f File) -> Self {
        let reply = Self {
            file,
            protocol: "HTTP/1.1",
            status: 200,
            headers: Vec::new(),
            start: 0,
            end: 0,
            cut: None,
            pace: None,
            is_chunked: false,
            extra: b"",
        };
        reply.bytes(0, file.len)
    }

    pub fn status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    pub fn protocol(self, protocol: &'static str) -> Self {
        Self { protocol, ..self }
    }

    /// The body, and its length.
    pub fn bytes(self, start: u64, end: u64) -> Self {
        Self { start, end, ..self }.set("Content-Length", &(end - start).to_string())
    }

    pub fn set(self, name: &str, value: &str) -> Self {
        let mut reply = self.without(name);
        reply.headers.push((name.into(), value.into()));
        reply
    }

    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self
    }

    pub fn cut(self, len: u64) -> Self {
        Self { cut: Some(len), ..self }
    }

    pub fn pace(self, len: u64, milliseconds: u64) -> Self {
        Self { pace: Some((len, Duration::from_millis(milliseconds))), ..self }
    }

    /// Sends the body in chunks, without its length.
    pub fn chunked(self) -> Self {
        let reply = self.without("Content-Length").set("Transfer-Encoding", "chunked");
        Self { is_chunked: true, ..reply }
    }

    /// Sends these bytes after the body.
    pub fn extra(self, extra: &'static [u8]) -> Self {
        Self { extra, ..self }
    }

    pub fn send(self, wire: &mut Wire) -> io::Result<()> {
        let mut head = format!("{} {} Status\r\n", self.protocol, self.status);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        wire.write((head + "\r\n").as_bytes())?;
        self.send_body(wire)?;
        let says_close = self.headers.iter().any(|(_, value)| value == "close");
        wire.is_closed |= self.cut.is_some() || says_close || self.protocol == "HTTP/1.0";
        Ok(())
    }

    fn send_body(&self, wire: &mut Wire) -> io::Result<()> {
        let end = self.cut.map_or(self.end, |cut| self.end.min(self.start + cut));
        let (piece, pause) = self.pace.unwrap_or((1 << 16, Duration::ZERO));
        let mut at = self.start;
        while at < end {
            let next = end.min(at + piece);
            self.send_piece(&self.file.bytes(at, next), wire)?;
            at = next;
            sleep(pause);
        }
        if self.cut.is_none() && !self.extra.is_empty() {
            self.send_piece(self.extra, wire)?;
        }
        if self.is_chunked && self.cut.is_none() { wire.write(b"0\r\n\r\n") } else { Ok(()) }
    }

    fn send_piece(&self, bytes: &[u8], wire: &mut Wire) -> io::Result<()> {
        if !self.is_chunked {
            return wire.write(bytes);
        }
        wire.write(&[format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat())
    }
}
