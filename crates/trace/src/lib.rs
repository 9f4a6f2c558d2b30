//! Codecs between bytes and timed requests
