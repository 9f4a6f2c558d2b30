//! `iosonar live --http`: the report page of a finished or running run in a browser.

mod moments;
mod page;
mod recent;
mod site;

use self::moments::Moments;
use self::site::LiveSite;
use crate::args::live::LiveArgs;
use crate::exit::{Exit, Failure};
use crate::output::{print, print_message};
use crate::signals;
use anyhow::{Context, anyhow};
use iosonar_archive::Archive;
use iosonar_engine::Control;
use iosonar_serve::{Bounds, Server};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// How often a signal is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// Serves the page until a signal ends the command.
pub fn live_http(args: &LiveArgs, address: SocketAddr, archive: &Archive) -> Result<Exit, Failure> {
    check(args, address)?;
    if args.window.0 == 0 {
        return Err(Failure::refused(anyhow!("--window 0s shows no request: give a time")));
    }
    let control = Arc::new(Control::default());
    signals::stop_on_signal(control.clone(), || {})?;
    let moments = Moments::start(archive, args.window)?;
    let site = Arc::new(LiveSite::new(&archive.dir().display().to_string(), moments));
    let server = Server::start(address, site, Bounds::default())
        .with_context(|| format!("--http: cannot listen on {address}"))
        .map_err(Failure::refused)?;
    print(&format!("{}\n", server.link()))?;
    print_message("iosonar: open the link in a browser; Ctrl-C ends the server, and not the run");
    while control.signal().is_none() {
        std::thread::sleep(LOOK);
    }
    Ok(control.signal().map_or(Exit::Fine, |signal| Exit::Signal(signal.0)))
}

/// Refuses an address that others can reach, unless it is wanted.
fn check(args: &LiveArgs, address: SocketAddr) -> Result<(), Failure> {
    if address.ip().is_loopback() {
        return Ok(());
    }
    if !args.http_remote {
        return Err(Failure::refused(anyhow!(
            "--http {address}: other machines may reach this address: give one of this machine alone (127.0.0.1), or add --http-remote"
        )));
    }
    print_message(format_args!(
        "iosonar: warning: every machine that reaches {address} can read this result with the link, and the link can be read on its way: \
         the connection is not encrypted"
    ));
    Ok(())
}
