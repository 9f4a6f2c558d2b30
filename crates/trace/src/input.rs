//! Plain or compressed: seen from the first bytes, never from the name.

use flate2::bufread::MultiGzDecoder;
use std::io::{BufRead, BufReader, Chain, Cursor, Read};

/// Why an input cannot be opened for reading lines.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// Reading its first bytes failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// A compression that is not read.
    #[error("it is compressed with {0}, which is not read here: decompress it first, or use gzip")]
    Compression(&'static str),
}

const FOREIGN: [(&[u8], &str); 4] = [
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"),
    (&[0xfd, b'7', b'z', b'X', b'Z'], "xz"),
    (b"BZh", "bzip2"),
    (&[0x04, 0x22, 0x4d, 0x18], "lz4"),
];

/// Reads plain text as it is and gzip, in any number of members, decompressed.
pub fn decompress(mut input: impl Read + Send + 'static) -> Result<Box<dyn BufRead + Send>, InputError> {
    let mut head = Vec::with_capacity(6);
    input.by_ref().take(6).read_to_end(&mut head)?;
    if let Some((_, name)) = FOREIGN.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Err(InputError::Compression(name));
    }
    let gzip = head.starts_with(&[0x1f, 0x8b]);
    let whole: Chain<Cursor<Vec<u8>>, _> = Cursor::new(head).chain(input);
    let buffered = BufReader::with_capacity(1 << 16, whole);
    Ok(if gzip {
        Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(buffered)))
    } else {
        Box::new(buffered)
    })
}
