//! The head of a request.

use std::net::IpAddr;

/// Why a request has no document as answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    Malformed,
    Missing,
    Method,
    Late,
    OtherHost,
    TooLarge,
    Busy,
    Version,
}

impl Refusal {
    /// Code and reason of the status line.
    pub(crate) fn status(self) -> &'static str {
        match self {
            Refusal::Malformed => "400 Bad Request",
            Refusal::Missing => "404 Not Found",
            Refusal::Method => "405 Method Not Allowed",
            Refusal::Late => "408 Request Timeout",
            Refusal::OtherHost => "421 Misdirected Request",
            Refusal::TooLarge => "431 Request Header Fields Too Large",
            Refusal::Busy => "503 Service Unavailable",
            Refusal::Version => "505 HTTP Version Not Supported",
        }
    }
}

/// The parts of a GET request that decide about the answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head<'a> {
    /// Path, without the query.
    pub path: &'a str,
}

impl<'a> Head<'a> {
    /// Parses the bytes before the empty line.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Head<'a>, Refusal> {
        let text = std::str::from_utf8(bytes).map_err(|_| Refusal::Malformed)?;
        let mut lines = text.split("\r\n");
        let path = path_of(lines.next().unwrap_or_default())?;
        let mut hosts = Vec::new();
        for line in lines {
            let is_plain = !line.contains(|c: char| c.is_control() && c != '\t');
            let (name, value) = line.split_once(':').filter(|_| is_plain).ok_or(Refusal::Malformed)?;
            if name.eq_ignore_ascii_case("host") {
                hosts.push(value.trim());
            }
        }
        match hosts[..] {
            [host] if is_address(host) => Ok(Head { path }),
            [_] => Err(Refusal::OtherHost),
            _ => Err(Refusal::Malformed),
        }
    }
}

/// The path in `GET /path?query HTTP/1.1`.
fn path_of(line: &str) -> Result<&str, Refusal> {
    let words: Vec<&str> = line.split(' ').collect();
    let [method, target, version] = words[..] else { return Err(Refusal::Malformed) };
    if line.contains(|c: char| c.is_control()) || !target.starts_with('/') {
        return Err(Refusal::Malformed);
    }
    if !matches!(version, "HTTP/1.1" | "HTTP/1.0") {
        return Err(Refusal::Version);
    }
    if method != "GET" {
        return Err(Refusal::Method);
    }
    Ok(target.split_once('?').map_or(target, |(path, _)| path))
}

/// Whether a host is an address, or `localhost`. A foreign page whose name has been pointed to this machine (DNS rebinding) sends that name.
fn is_address(host: &str) -> bool {
    let is_port = |text: &str| text.parse::<u16>().is_ok() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(rest) = host.strip_prefix('[') {
        let Some((address, after)) = rest.split_once(']') else { return false };
        let is_end = after.is_empty() || after.strip_prefix(':').is_some_and(is_port);
        return is_end && address.parse::<IpAddr>().is_ok_and(|address| address.is_ipv6());
    }
    let (name, port) = host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port)));
    let is_own = name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok();
    is_own && port.is_none_or(is_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_has_the_path_without_the_query() {
        let head = Head::parse(b"GET /abc/page?7 HTTP/1.1\r\nhOsT: 127.0.0.1:8080\r\nAccept: */*");
        assert_eq!(head, Ok(Head { path: "/abc/page" }));
    }

    #[test]
    fn malformed_heads_are_refused() {
        let cases: [(&[u8], Refusal); 14] = [
            (b"", Refusal::Malformed),
            (b"GET / HTTP/1.1", Refusal::Malformed),
            (b"GET  / HTTP/1.1\r\nHost: localhost", Refusal::Malformed),
            (b"GET http://localhost/ HTTP/1.1\r\nHost: localhost", Refusal::Malformed),
            (b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost", Refusal::Malformed),
            (b"GET / HTTP/1.1\r\nHost: localhost\r\nno colon", Refusal::Malformed),
            (b"GET / HTTP/1.1\r\nHost: localhost\nX: y", Refusal::Malformed),
            (b"GET /\0 HTTP/1.1\r\nHost: localhost", Refusal::Malformed),
            (b"GET /\xff HTTP/1.1\r\nHost: localhost", Refusal::Malformed),
            (b"GET / HTTP/2\r\nHost: localhost", Refusal::Version),
            (b"POST / HTTP/1.1\r\nHost: localhost", Refusal::Method),
            (b"get / HTTP/1.1\r\nHost: localhost", Refusal::Method),
            (b"HEAD / HTTP/1.0\r\nHost: localhost", Refusal::Method),
            (b"GET / HTTP/1.1\r\nHost: evil.example", Refusal::OtherHost),
        ];
        for (bytes, refusal) in cases {
            assert_eq!(Head::parse(bytes), Err(refusal), "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn only_addresses_and_localhost_are_hosts() {
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1", "10.1.2.3:65535", "[::1]", "[::1]:8080"] {
            assert!(is_address(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example:80",
            "localhost:",
            "localhost:+80",
            "localhost:65536",
            "::1",
            "[127.0.0.1]",
            "[::1",
            "[::1]x",
            "localhost@evil.example",
        ] {
            assert!(!is_address(host), "{host}");
        }
    }
}
