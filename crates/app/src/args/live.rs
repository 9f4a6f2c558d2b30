//! Options of `live`.

use clap::Args;
use iosonar_plan::{Nanos, Speed};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

/// Options of `live`.
#[derive(Debug, Args)]
#[command(after_help = "\
Keys: q quits, space or p pauses, left and right arrow move back and forward, + and - change the time span, r and w \
show reads or writes only, l toggles a logarithmic scale, s saves the picture as text, ? shows help.
The view follows a run that is still running, unless --at or --speed is given. Requests in flight are not recorded yet, so \
they are missing.
--http shows the report page of the last --window of the run in a browser instead, and renews it while the run is running. The link has a secret token. Ctrl-C ends it, and not the run.

Examples:
  iosonar live first
  iosonar live first --http 8080
  iosonar live first --speed 10 --at 60s
  iosonar live first --once --at 60s --size 120x40     the picture as text")]
pub struct LiveArgs {
    /// Directory of a result, finished or not
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Show it this much faster. Default: it takes at most 20 s
    #[arg(long, value_name = "FACTOR")]
    pub speed: Option<Speed>,
    /// Start at this time of the run; with --once show this time. Default there: the end
    #[arg(long, value_name = "TIME")]
    pub at: Option<Nanos>,
    /// Print one picture as plain text, and end
    #[arg(long, conflicts_with = "speed")]
    pub once: bool,
    /// Set columns and rows of that picture. Default: those of the terminal, or 80x24
    #[arg(long, value_name = "COLUMNSxROWS", requires = "once", value_parser = columns_and_rows)]
    pub size: Option<(usize, usize)>,
    /// Show it in a browser: serve the report page at this address, read-only, and print the link
    ///
    /// A port alone is one of 127.0.0.1; 0 is a free one.
    #[arg(long, value_name = "[ADDRESS:]PORT", conflicts_with_all = ["once", "speed", "at", "size"])]
    pub http: Option<HttpAddress>,
    /// Let --http listen on an address that other machines can reach
    ///
    /// The connection is not encrypted.
    #[arg(long, requires = "http")]
    pub http_remote: bool,
    /// Show this last part of the run in the browser, of at most 500000 requests
    #[arg(long, value_name = "TIME", default_value = "60s", requires = "http")]
    pub window: Nanos,
}

/// Address of the server for browsers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpAddress(pub SocketAddr);

impl FromStr for HttpAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<HttpAddress, String> {
        let of_port = || text.parse().ok().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let of_name = || {
            text.strip_prefix("localhost:")
                .and_then(|port| Some((Ipv4Addr::LOCALHOST, port.parse().ok()?).into()))
        };
        let address = text.parse().ok().or_else(of_port).or_else(of_name);
        address
            .map(HttpAddress)
            .ok_or("give an address and a port, for example 127.0.0.1:8080, or a port".into())
    }
}

/// `80x24`.
fn columns_and_rows(text: &str) -> Result<(usize, usize), String> {
    let (least, most) = (iosonar_view::live::LEAST, (1000, 1000));
    let parts = text.split_once('x').and_then(|(c, r)| Some((c.parse().ok()?, r.parse().ok()?)));
    let fits = |s: &(usize, usize)| s.0 >= least.0 && s.1 >= least.1 && s.0 <= most.0 && s.1 <= most.1;
    parts
        .filter(fits)
        .ok_or(format!("give columns and rows, from {}x{} to {}x{}", least.0, least.1, most.0, most.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_one_of_loopback() {
        let address = |text: &str| text.parse::<HttpAddress>().map(|address| address.0.to_string());
        for text in ["8080", "127.0.0.1:8080", "localhost:8080"] {
            assert_eq!(address(text).as_deref(), Ok("127.0.0.1:8080"));
        }
        assert_eq!(address("[::1]:0").as_deref(), Ok("[::1]:0"));
        for text in ["", "127.0.0.1", "65536", "example.org:80", "localhost", "localhost:"] {
            assert!(address(text).is_err(), "{text}");
        }
    }
}
