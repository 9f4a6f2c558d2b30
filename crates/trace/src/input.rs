//! Detects compression from the first bytes, never from the name.

use flate2::bufread::GzDecoder;
use std::io::{BufRead, BufReader, Chain, Cursor, Error, ErrorKind, Read};

/// Why an input cannot be read as lines.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// Reading the first bytes failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// An unsupported compression.
    #[error("it is compressed with {0}, which is not read here: decompress it first, or use gzip")]
    Compression(&'static str),
}

const FOREIGN: [(&[u8], &str); 4] = [
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"),
    (&[0xfd, b'7', b'z', b'X', b'Z'], "xz"),
    (b"BZh", "bzip2"),
    (&[0x04, 0x22, 0x4d, 0x18], "lz4"),
];

/// Passes plain text through and decompresses gzip with any number of members.
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
        let text = Failing { input: Members::new(buffered), failed: None };
        Box::new(BufReader::with_capacity(1 << 16, text))
    } else {
        Box::new(buffered)
    })
}

/// Something other than gzip follows a gzip stream, which was unpacked completely and with a valid checksum.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error(
    "trailing garbage follows the gzip stream; the stream itself is whole: unpack it with 'gzip -dc' and compress it again"
)]
struct TrailingGarbage;

impl From<TrailingGarbage> for Error {
    fn from(garbage: TrailingGarbage) -> Error {
        Error::new(ErrorKind::InvalidData, garbage)
    }
}

/// Whether an input was unpacked completely and is only followed by trailing garbage.
pub(crate) fn is_trailing_garbage(error: &Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<TrailingGarbage>())
}

/// Members of a gzip file, one after the other. Zeros after the last one are padding, as for gzip(1).
struct Members<R> {
    /// `None` after the last one.
    member: Option<GzDecoder<R>>,
    is_first: bool,
}

impl<R: BufRead> Members<R> {
    fn new(input: R) -> Members<R> {
        Members { member: Some(GzDecoder::new(input)), is_first: true }
    }

    /// Starts the member after one that has ended.
    fn start_next_member(&mut self) -> std::io::Result<()> {
        let Some(member) = self.member.take() else { return Ok(()) };
        let mut input = member.into_inner();
        let mut is_padded = false;
        loop {
            let bytes = input.fill_buf()?;
            let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
            match bytes.get(zeros) {
                Some(0x1f) if !is_padded && zeros == 0 => break,
                Some(_) => return Err(TrailingGarbage.into()),
                None if bytes.is_empty() => return Ok(()),
                None => (is_padded, _) = (true, input.consume(zeros)),
            }
        }
        (self.member, self.is_first) = (Some(GzDecoder::new(input)), false);
        Ok(())
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        while let Some(member) = &mut self.member {
            match member.read(bytes) {
                Ok(0) if !bytes.is_empty() => self.start_next_member()?,
                // Not a gzip member: no magic.
                Err(e)
                    if !self.is_first && member.header().is_none() && e.kind() == ErrorKind::InvalidInput =>
                {
                    return Err(TrailingGarbage.into());
                }
                read => return read,
            }
        }
        Ok(0)
    }
}

/// Repeats its first error: after damage a decoder may report EOF, which would hide the damage.
struct Failing<R> {
    input: R,
    failed: Option<Failed>,
}

#[derive(Clone)]
enum Failed {
    Garbage(TrailingGarbage),
    Damaged(ErrorKind, String),
}

impl Failed {
    fn of(error: &Error) -> Failed {
        match is_trailing_garbage(error) {
            true => Failed::Garbage(TrailingGarbage),
            false => Failed::Damaged(error.kind(), error.to_string()),
        }
    }
}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Error {
        match failed {
            Failed::Garbage(garbage) => garbage.into(),
            Failed::Damaged(kind, why) => Error::new(kind, why),
        }
    }
}

impl<R: Read> Read for Failing<R> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone().into());
        }
        let read = self.input.read(bytes);
        let failed = read.as_ref().err().filter(|error| is_damage(error));
        self.failed = failed.map(Failed::of);
        read
    }
}

/// Whether the error comes from unpacking an input that was read, so that everything before it is valid.
pub fn is_damage(error: &Error) -> bool {
    let of_decoder = [ErrorKind::UnexpectedEof, ErrorKind::InvalidData, ErrorKind::InvalidInput];
    error.raw_os_error().is_none() && of_decoder.contains(&error.kind())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn truncated_text_never_ends_cleanly() {
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
    }

    #[test]
    fn distinguishes_trailing_garbage_from_damage() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        (0..2000).for_each(|n| writeln!(gzip, "{}", n * 7919 % 100_003).unwrap());
        let whole = gzip.finish().unwrap();
        let lines = |out: &[u8]| out.iter().filter(|b| **b == b'\n').count();
        let read = |parts: &[&[u8]]| {
            let mut out = Vec::new();
            let ended = decompress(Cursor::new(parts.concat())).unwrap().read_to_end(&mut out);
            (lines(&out), ended)
        };
        for garbage in [&b"rubbish behind it"[..], b"x", b"\x1fother than gzip", b"\0\0\0x", &[0x1f; 20]] {
            let (lines, ended) = read(&[&whole, garbage]);
            let error = ended.unwrap_err();
            assert!(is_damage(&error) && is_trailing_garbage(&error), "{garbage:?}: {error:?}");
            assert_eq!(lines, 2000, "{garbage:?}");
            let mut text = decompress(Cursor::new([&whole[..], garbage].concat())).unwrap();
            let mut out = Vec::new();
            for _ in 0..3 {
                assert!(is_trailing_garbage(&text.read_to_end(&mut out).unwrap_err()));
            }
        }
        // Several members, and zeros that pad tape blocks.
        let (lines, ended) = read(&[&whole, &whole, &[0; 1000]]);
        assert!(lines == 4000 && ended.is_ok(), "{lines} {ended:?}");
        // A truncated or damaged member is not garbage.
        for second in [&whole[..9], &whole[..whole.len() / 2]] {
            let error = read(&[&whole, second]).1.unwrap_err();
            assert!(is_damage(&error) && !is_trailing_garbage(&error), "{error:?}");
        }
    }
}
