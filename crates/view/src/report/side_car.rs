//! All requests of a run, in a file beside the page. The form is described in `docs/page.md`.

use super::points::PointBlock;
use serde_json::{Value, json};
use std::io::{self, Write};

const BEGIN: &[u8; 8] = b"IOSONARP";
const END: &[u8; 8] = b"IOSONARX";
const VERSION: u32 = 1;

/// Writes the file, block after block.
pub struct SideCar<W> {
    out: W,
    at: u64,
    requests: u64,
    blocks: Vec<Value>,
}

impl<W: Write> SideCar<W> {
    /// Starts the file.
    pub fn begin(mut out: W) -> io::Result<SideCar<W>> {
        out.write_all(BEGIN)?;
        Ok(SideCar { out, at: BEGIN.len() as u64, requests: 0, blocks: Vec::new() })
    }

    /// Adds a block.
    pub fn add(&mut self, block: &PointBlock) -> io::Result<()> {
        let bytes = block.deflated.len() as u64;
        self.blocks.push(json!({
            "at": self.at,
            "bytes": bytes,
            "n": block.count,
            "from_us": block.from_us,
            "to_us": block.to_us,
            "unit": block.unit,
            "crc32": format!("{:08x}", block.crc32),
        }));
        self.at += bytes;
        self.requests += block.count as u64;
        self.out.write_all(&block.deflated)
    }

    /// Writes the index, which ends the file.
    pub fn finish(mut self, run_id: &str) -> io::Result<W> {
        let index = json!({
            "version": VERSION,
            "run_id": run_id,
            "requests": self.requests,
            "blocks": self.blocks,
        })
        .to_string();
        self.out.write_all(index.as_bytes())?;
        self.out.write_all(&(index.len() as u64).to_le_bytes())?;
        self.out.write_all(END)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_locates_each_block() {
        let block = |bytes: &[u8]| PointBlock {
            count: bytes.len(),
            from_us: 1,
            to_us: 2,
            unit: 512,
            crc32: 0xab,
            deflated: bytes.to_vec(),
        };
        let mut file = SideCar::begin(Vec::new()).unwrap();
        file.add(&block(b"first")).unwrap();
        file.add(&block(b"2nd")).unwrap();
        let bytes = file.finish("abc").unwrap();
        let (rest, end) = bytes.split_at(bytes.len() - 8);
        assert_eq!(end, END);
        let (rest, length) = rest.split_at(rest.len() - 8);
        let length = u64::from_le_bytes(length.try_into().unwrap()) as usize;
        let index: Value = serde_json::from_slice(&rest[rest.len() - length..]).unwrap();
        assert_eq!((&index["requests"], &index["run_id"]), (&json!(8), &json!("abc")));
        let second = &index["blocks"][1];
        let at = second["at"].as_u64().unwrap() as usize;
        assert_eq!(&bytes[at..at + second["bytes"].as_u64().unwrap() as usize], b"2nd");
    }
}
