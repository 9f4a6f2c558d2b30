//! One connection: a request, its answer, and the end.

use crate::request::{Head, Refusal};
use crate::site::{Reply, Site};
use crate::{Bounds, Token};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// Maximum bytes of a request's head.
const HEAD: usize = 8 << 10;
/// Bytes after the head that are read and ignored, so that a client reads the answer before its connection is reset.
const REST: usize = 64 << 10;
/// Maximum time for a refusal, and for reading the rest.
const BRIEF: Duration = Duration::from_millis(500);
/// Policy of a page that loads nothing.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";

/// Reads a request and writes the answer. A client that is too slow is disconnected.
pub(crate) fn serve(mut stream: TcpStream, site: &dyn Site, token: &Token, bounds: &Bounds) {
    let mut bytes = Vec::new();
    let asked = read_head(&mut stream, &mut bytes, Instant::now() + bounds.head);
    let reply = asked.and_then(|end| Head::parse(&bytes[..end])).map(|head| reply(&head, site, token));
    let end = Instant::now() + bounds.answer;
    // A client that has gone needs no report.
    let _ = match reply {
        Ok(Reply::Found(answer)) => {
            let head = head("200 OK", answer.media, answer.policy, answer.body.len());
            write(&mut stream, head.as_bytes(), end).and_then(|()| write(&mut stream, &answer.body, end))
        }
        Ok(Reply::Missing) => refuse(&mut stream, Refusal::Missing, None),
        Ok(Reply::Unavailable(why)) => refuse(&mut stream, Refusal::Busy, Some(&why)),
        Err(refusal) => refuse(&mut stream, refusal, None),
    };
    finish(&mut stream);
}

/// Answers a client for which there is no room.
pub(crate) fn turn_away(mut stream: TcpStream) {
    let _ = refuse(&mut stream, Refusal::Busy, None);
}

fn reply(head: &Head<'_>, site: &dyn Site, token: &Token) -> Reply {
    match head.path[1..].split_once('/') {
        Some((text, name)) if token.is(text) => site.reply(name),
        _ => Reply::Missing,
    }
}

/// Reads up to the empty line after the head; returns where the head ends.
fn read_head(stream: &mut TcpStream, bytes: &mut Vec<u8>, end: Instant) -> Result<usize, Refusal> {
    let mut part = [0; 1024];
    loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            return Ok(at);
        }
        if bytes.len() >= HEAD {
            return Err(Refusal::TooLarge);
        }
        let left = left(end).ok_or(Refusal::Late)?;
        let read = stream.set_read_timeout(Some(left)).and_then(|()| stream.read(&mut part));
        match read {
            Ok(0) => return Err(Refusal::Malformed),
            Ok(read) => bytes.extend_from_slice(&part[..read]),
            Err(error) if is_late(&error) => return Err(Refusal::Late),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Err(Refusal::Malformed),
        }
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Time until `end`, which is never zero: that would mean no limit.
fn left(end: Instant) -> Option<Duration> {
    end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
}

fn head(status: &str, media: &str, policy: &str, length: usize) -> String {
    let allow = if status == Refusal::Method.status() { "Allow: GET\r\n" } else { "" };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media}\r\nContent-Length: {length}\r\nContent-Security-Policy: {policy}\r\n{allow}\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n\r\n"
    )
}

fn refuse(stream: &mut TcpStream, refusal: Refusal, why: Option<&str>) -> io::Result<()> {
    let status = refusal.status();
    let text = format!("{}\n", why.unwrap_or(status));
    let head = head(status, "text/plain; charset=utf-8", NOTHING, text.len());
    write(stream, (head + &text).as_bytes(), Instant::now() + BRIEF)
}

/// Writes all bytes before `end`.
fn write(stream: &mut TcpStream, mut bytes: &[u8], end: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(left(end).ok_or(ErrorKind::TimedOut)?))?;
        match stream.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Ends the answer, and ignores what the client still sends.
fn finish(stream: &mut TcpStream) {
    let end = Instant::now() + BRIEF;
    let (mut part, mut rest) = ([0; 4096], REST);
    let _ = stream.shutdown(Shutdown::Write);
    while let Some(left) = left(end).filter(|_| rest > 0) {
        match stream.set_read_timeout(Some(left)).and_then(|()| stream.read(&mut part)) {
            Ok(read @ 1..) => rest = rest.saturating_sub(read),
            _ => return,
        }
    }
}
