//! Accepts connections, a bounded number at a time.

use crate::connection::{serve, turn_away};
use crate::{Site, Token};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Pause after a connection could not be accepted, as when all file descriptors are in use.
const PAUSE: Duration = Duration::from_millis(100);
/// Maximum time for the connection that ends the server.
const WAKE: Duration = Duration::from_secs(1);

/// Bounds of a server.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Connections at the same time; more are answered with 503.
    pub connections: usize,
    /// Time for a request to arrive.
    pub head: Duration,
    /// Time for an answer to be read.
    pub answer: Duration,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { connections: 16, head: Duration::from_secs(5), answer: Duration::from_secs(60) }
    }
}

/// A running server. It accepts no connection after it is dropped; answers that are being written then end by themselves.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    token: Token,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens on `address`, and on no other; port 0 is a free one.
    ///
    /// # Errors
    /// The address cannot be used, or there is no random token.
    pub fn start(address: SocketAddr, site: Arc<dyn Site>, bounds: Bounds) -> io::Result<Server> {
        let token = Token::random()?;
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let accept = {
            let (token, is_over) = (token.clone(), is_over.clone());
            move || accept(&listener, &site, &token, bounds, &is_over)
        };
        let thread = thread::Builder::new().name("http".into()).spawn(accept)?;
        Ok(Server { address, token, is_over, thread: Some(thread) })
    }

    /// Address of the server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Link of the first page.
    pub fn link(&self) -> String {
        format!("http://{}/{}/", self.address, self.token)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        let own = match self.address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        // Wakes the thread, which waits for a connection. If it cannot be reached, it ends with the process.
        let woken = TcpStream::connect_timeout(&SocketAddr::new(own, self.address.port()), WAKE);
        if let (Ok(_), Some(thread)) = (woken, self.thread.take()) {
            let _ = thread.join();
        }
    }
}

fn accept(listener: &TcpListener, site: &Arc<dyn Site>, token: &Token, bounds: Bounds, is_over: &AtomicBool) {
    let used = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        if is_over.load(Relaxed) {
            return;
        }
        let Ok(stream) = stream else {
            thread::sleep(PAUSE);
            continue;
        };
        let Some(slot) = Slot::take(&used, bounds.connections) else {
            turn_away(stream);
            continue;
        };
        let (site, token) = (site.clone(), token.clone());
        let answer = move || {
            let _slot = slot;
            serve(stream, &*site, &token, &bounds);
        };
        // Without a thread the connection is closed, and the browser asks again.
        let _ = thread::Builder::new().name("http client".into()).spawn(answer);
    }
}

/// One of the connections that there may be.
struct Slot(Arc<AtomicUsize>);

impl Slot {
    fn take(used: &Arc<AtomicUsize>, most: usize) -> Option<Slot> {
        let more = |n: usize| (n < most).then_some(n + 1);
        used.fetch_update(Relaxed, Relaxed, more).ok().map(|_| Slot(used.clone()))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}
