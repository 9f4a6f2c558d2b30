//! Plain or compressed: seen from the first bytes, never from the name.

use flate2::bufread::MultiGzDecoder;
use std::io::{BufRead, BufReader, Chain, Cursor, Error, ErrorKind, Read};

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
        let text = Failing { input: MultiGzDecoder::new(buffered), failed: None };
        Box::new(BufReader::with_capacity(1 << 16, text))
    } else {
        Box::new(buffered)
    })
}

/// Fails again each time once it has failed: behind damage a decoder may say that the text is over, and nobody would know.
struct Failing<R> {
    input: R,
    failed: Option<(ErrorKind, String)>,
}

impl<R: Read> Read for Failing<R> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        if let Some((kind, why)) = &self.failed {
            return Err(Error::new(*kind, why.clone()));
        }
        let read = self.input.read(bytes);
        let failed = read.as_ref().err().filter(|error| is_damage(error));
        self.failed = failed.map(|error| (error.kind(), error.to_string()));
        read
    }
}

/// Whether an input was read and what it holds cannot be unpacked, so that all before it is as it should be.
pub fn is_damage(error: &Error) -> bool {
    let of_decoder = [ErrorKind::UnexpectedEof, ErrorKind::InvalidData, ErrorKind::InvalidInput];
    error.raw_os_error().is_none() && of_decoder.contains(&error.kind())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_text_that_was_cut_off_never_seems_to_be_over() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        (0..2000).for_each(|n| writeln!(gzip, "{}", n * 7919 % 100_003).unwrap());
        let whole = gzip.finish().unwrap();
        for length in (10..whole.len()).step_by(61).chain(whole.len() - 9..whole.len()) {
            let cut = whole[..length].to_vec();
            let mut text = decompress(Cursor::new(cut)).unwrap();
            let mut out = Vec::new();
            for _ in 0..3 {
                let error = text.read_to_end(&mut out).unwrap_err();
                assert!(is_damage(&error), "{length}: {error:?}");
            }
        }
        let mut text = decompress(Cursor::new([&whole[..], b"rubbish behind it"].concat())).unwrap();
        let mut out = Vec::new();
        assert!(is_damage(&text.read_to_end(&mut out).unwrap_err()));
        assert_eq!(out.iter().filter(|b| **b == b'\n').count(), 2000);
    }
}
