//! Device numbers.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A device number, written `major:minor` as in sysfs and in mountinfo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct DevNumber {
    /// Driver, or 0 if there is no device (tmpfs, overlay, btrfs, NFS ...).
    pub major: u32,
    /// Device of the driver.
    pub minor: u32,
}

impl DevNumber {
    /// Decodes the number from stat(2): the low 8 bits of the minor number, 12 of the major, then the rest of both.
    pub fn from_raw(raw: u64) -> Self {
        let major = (raw >> 8 & 0xfff) | (raw >> 32 & 0xffff_f000);
        let minor = (raw & 0xff) | (raw >> 12 & 0xffff_ff00);
        Self { major: major as u32, minor: minor as u32 }
    }
}

impl fmt::Display for DevNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl FromStr for DevNumber {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text
            .trim()
            .split_once(':')
            .and_then(|(major, minor)| Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? }));
        parts.ok_or_else(|| format!("`{text}` is not a device number of the form major:minor"))
    }
}

impl From<DevNumber> for String {
    fn from(number: DevNumber) -> Self {
        number.to_string()
    }
}

impl TryFrom<String> for DevNumber {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::DevNumber;

    #[test]
    fn device_numbers_round_trip() {
        let number: DevNumber = "259:12\n".parse().unwrap();
        assert_eq!(number, DevNumber { major: 259, minor: 12 });
        assert_eq!(number.to_string(), "259:12");
        assert!("259".parse::<DevNumber>().is_err());
    }
}
