//! Help, generated from the table of options.

use crate::options::TABLE;
use std::fmt::Write;

/// Lists every option in one line.
pub fn full_help() -> String {
    let mut text = String::from(
        "iozone [option]...\n\nMeasures how fast each kind of file operation is, for each size of file and record. Sizes are KiB, \
         or have k, m or g. docs/iozone.md lists what differs from IOzone 3.\n\n",
    );
    for option in TABLE {
        let args = if option.args.is_empty() { String::new() } else { format!(" {}", option.args) };
        let _ = writeln!(text, "  {}{args}: {}", option.name, option.brief);
    }
    text += "\nTests: 0 write, rewrite; 1 read, reread; 2 random read, random write; 3 backward read; 4 record rewrite; 5 stride \
             read; 6 fwrite, refwrite; 7 fread, refread; 8 mixed reads and writes (-t); 9 pwrite; 10 pread; 11 pwritev; 12 \
             preadv.\n\nExit codes: 0 all cells measured; 1 a request failed; 2 refused; 4 the figures are fake; 5 data was not what was \
             written; 130 interrupted.\n";
    text
}
