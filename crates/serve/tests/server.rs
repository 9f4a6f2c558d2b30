//! The server as clients see it, over real connections. No test asserts a time: slow clients are those that never send or read.

use iosonar_serve::{Answer, Bounds, Reply, Server, Site};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// More than the kernel buffers for a client that does not read.
const LARGE: usize = 64 << 20;
const PATIENCE: Duration = Duration::from_secs(30);

struct Documents {
    large: Arc<[u8]>,
}

impl Site for Documents {
    fn reply(&self, name: &str) -> Reply {
        let found = |body: Arc<[u8]>| {
            Reply::Found(Answer { media: "text/plain", policy: "default-src 'self'", body })
        };
        match name {
            "" => found(Arc::from(*b"first")),
            "large" => found(self.large.clone()),
            "broken" => Reply::Unavailable("the result is gone".into()),
            _ => Reply::Missing,
        }
    }
}

fn started(bounds: Bounds) -> Server {
    let site = Documents { large: vec![b'x'; LARGE].into() };
    Server::start("127.0.0.1:0".parse().unwrap(), Arc::new(site), bounds).expect("loopback")
}

fn connected(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address()).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// The path of a document below the token.
fn path(server: &Server, name: &str) -> String {
    let link = server.link();
    let (_, token) = link.trim_end_matches('/').rsplit_once('/').unwrap();
    format!("/{token}/{name}")
}

fn send(server: &Server, request: &str) -> TcpStream {
    let mut stream = connected(server);
    stream.write_all(request.as_bytes()).expect("the request is taken");
    stream
}

/// The answer to a request, or the part of it that arrived before the server closed the connection.
fn answer_to(server: &Server, request: &str) -> String {
    let mut answer = Vec::new();
    let mut stream = connected(server);
    // A server without room has closed the connection.
    let _ = stream.write_all(request.as_bytes());
    match stream.read_to_end(&mut answer) {
        Ok(_) => {}
        // A server that turns a client away does not read its request.
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        Err(error) => panic!("{error}"),
    }
    String::from_utf8(answer).expect("text")
}

fn get(server: &Server, path: &str) -> String {
    answer_to(server, &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"))
}

/// Waits until there is room for one more client.
#[track_caller]
fn until_served(server: &Server) {
    let end = Instant::now() + PATIENCE;
    while !get(server, &path(server, "")).starts_with("HTTP/1.1 200 ") {
        assert!(Instant::now() < end, "no place became free");
    }
}

#[track_caller]
fn assert_status(answer: &str, status: &str) {
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{status}: {answer}");
    assert!(answer.contains("\r\nCache-Control: no-store\r\n"), "{answer}");
}

#[test]
fn documents_are_below_the_token_alone() {
    let server = started(Bounds::default());
    let answer = get(&server, &path(&server, ""));
    assert_status(&answer, "200");
    assert!(answer.ends_with("\r\n\r\nfirst") && answer.contains("\r\nContent-Length: 5\r\n"), "{answer}");
    assert!(answer.contains("\r\nContent-Security-Policy: default-src 'self'\r\n"), "{answer}");
    let token = path(&server, "");
    let wrong = [
        "/",
        "//",
        "/large",
        "/0/",
        &token[..token.len() - 1],
        &token[..token.len() - 2],
        &format!("/x{token}"),
    ];
    for path in wrong {
        assert_status(&get(&server, path), "404");
    }
    assert_status(&get(&server, &path(&server, "none")), "404");
    assert_status(&get(&server, &path(&server, "../large")), "404");
    let answer = get(&server, &path(&server, "broken"));
    assert_status(&answer, "503");
    assert!(answer.ends_with("\r\n\r\nthe result is gone\n"), "{answer}");
}

#[test]
fn other_methods_and_hosts_are_refused() {
    let server = started(Bounds::default());
    let path = path(&server, "");
    let post = answer_to(
        &server,
        &format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"),
    );
    assert_status(&post, "405");
    assert!(post.contains("\r\nAllow: GET\r\n"), "{post}");
    assert_status(&answer_to(&server, &format!("GET {path} HTTP/1.1\r\nHost: evil.example\r\n\r\n")), "421");
    assert_status(&answer_to(&server, &format!("GET {path} HTTP/1.1\r\n\r\n")), "400");
    assert_status(&answer_to(&server, "nonsense\r\n\r\n"), "400");
}

#[test]
fn a_large_head_is_refused() {
    let server = started(Bounds::default());
    let request = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(10_000));
    assert_status(&answer_to(&server, &request), "431");
}

#[test]
fn a_request_that_never_ends_is_given_up() {
    let server = started(Bounds { head: Duration::from_millis(50), ..Bounds::default() });
    assert_status(&answer_to(&server, "GET / HTTP/1.1\r\nHost: local"), "408");
}

#[test]
fn a_reader_that_stalls_holds_up_no_other() {
    let server = started(Bounds::default());
    let request = format!("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", path(&server, "large"));
    let mut stalled = send(&server, &request);
    stalled.read_exact(&mut [0]).expect("the answer has started");
    assert_status(&get(&server, &path(&server, "")), "200");
}

#[test]
fn a_reader_that_stalls_is_disconnected() {
    let server = started(Bounds { connections: 1, answer: Duration::from_millis(200), ..Bounds::default() });
    let request = format!("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", path(&server, "large"));
    let mut stalled = send(&server, &request);
    stalled.read_exact(&mut [0]).expect("the answer has started");
    // It has the only place until the server gives up.
    until_served(&server);
    let mut rest = Vec::new();
    let _ = stalled.read_to_end(&mut rest);
    assert!(rest.len() < LARGE, "{}", rest.len());
}

#[test]
fn a_patient_reader_gets_all_of_a_large_answer() {
    let server = started(Bounds::default());
    let answer = get(&server, &path(&server, "large"));
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(body.len() == LARGE && body.bytes().all(|byte| byte == b'x'));
}

#[test]
fn connections_beyond_the_limit_are_turned_away() {
    let server = started(Bounds { connections: 2, ..Bounds::default() });
    let request = format!("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", path(&server, "large"));
    // Each reads a byte, so that its answer is being written.
    let mut held = [send(&server, &request), send(&server, &request)];
    held.iter_mut().for_each(|stream| stream.read_exact(&mut [0]).unwrap());
    let mut turned_away = connected(&server);
    let mut answer = String::new();
    turned_away.read_to_string(&mut answer).unwrap();
    assert_status(&answer, "503");
    drop(held);
    until_served(&server);
}

#[test]
fn several_clients_are_answered_at_once() {
    let server = started(Bounds::default());
    let path = path(&server, "");
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..8).map(|_| scope.spawn(|| get(&server, &path))).collect();
        clients.into_iter().for_each(|client| assert_status(&client.join().unwrap(), "200"));
    });
}

#[test]
fn a_dropped_server_accepts_no_connection() {
    let server = started(Bounds::default());
    let address: SocketAddr = server.address();
    drop(server);
    assert!(TcpStream::connect(address).is_err());
}
