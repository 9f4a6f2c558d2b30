//! The target whose entry lab/fuzz.sh has written.
#![no_main]

include!(env!("IOSONAR_FUZZ_ENTRY"));
