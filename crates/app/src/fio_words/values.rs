//! Values of fio's options that have another form here.

/// Translation of a value.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// In our words.
    pub args: Vec<String>,
    /// Difference of fio's behaviour.
    pub note: Option<String>,
}

type Result = std::result::Result<Read, String>;

fn args(args: impl IntoIterator<Item = String>) -> Result {
    Ok(Read { args: args.into_iter().collect(), note: None })
}

fn percent(value: &str) -> std::result::Result<u8, String> {
    let number = value.trim_end_matches('%').parse().ok().filter(|percent| *percent <= 100);
    number.ok_or_else(|| "it is no whole number of percent from 0 to 100".to_string())
}

/// Sizes as fio reads them: `KB` is 1024 bytes, like `k`. `KiB` stays 1024, where fio by default means 1000.
pub fn size(value: &str) -> String {
    let bytes = value.as_bytes();
    let is_power = |at: usize| bytes.get(at).is_some_and(|b| b"kmgtpe".contains(&b.to_ascii_lowercase()));
    let follows_digit = |at: usize| at > 0 && bytes[at - 1].is_ascii_digit();
    let is_dropped = |at: usize| {
        bytes[at].eq_ignore_ascii_case(&b'b') && at > 0 && is_power(at - 1) && follows_digit(at - 1)
    };
    value.char_indices().filter(|(at, _)| !is_dropped(*at)).map(|(_, c)| c).collect()
}

/// A list of files, separated by colons that are not escaped with a backslash.
pub fn filename(value: &str) -> Result {
    let mut files = vec![String::new()];
    let mut chars = value.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, files.last_mut()) {
            (':', _) => files.push(String::new()),
            ('\\', Some(file)) if chars.peek() == Some(&':') => file.extend(chars.next()),
            (c, Some(file)) => file.push(c),
            (_, None) => {}
        }
    }
    files.retain(|file| !file.is_empty());
    if files.is_empty() {
        return Err("it names no file".into());
    }
    let note = (files.len() > 1).then(|| {
        format!("each of the {} targets gets the whole pattern; fio spreads it over all of them", files.len())
    });
    Ok(Read { args: files.into_iter().map(|file| format!("--target={file}")).collect(), note })
}

/// Maps fio's engines to ours.
pub fn ioengine(value: &str) -> Result {
    let (ours, note) = match value {
        "io_uring" => ("uring", None),
        "libaio" => ("aio", None),
        "psync" | "null" | "uring" | "aio" | "threads" | "sim" | "sync" | "vsync" | "pvsync" | "mmap"
        | "posixaio" | "stdio" => (if value == "psync" { "threads" } else { value }, None),
        "pvsync2" => {
            let note =
                format!("--ioengine={value} is --engine pvsync here: preadv and pwritev without flags");
            ("pvsync", Some(note))
        }
        _ => {
            let known = "there are io_uring, libaio, psync, sync, vsync, pvsync, mmap, posixaio and null (ours: uring, aio, threads, stdio, \
                         sim, too)";
            return Err(format!("there is no such engine: {known}"));
        }
    };
    Ok(Read { args: vec![format!("--engine={ours}")], note })
}

/// Times without a unit are microseconds.
fn microseconds(option: &str, value: &str) -> Result {
    let has_unit = value.ends_with(|c: char| c.is_ascii_alphabetic());
    args([format!("--{option}={value}{}", if has_unit { "" } else { "us" })])
}

/// A pause.
pub fn thinktime(value: &str) -> Result {
    microseconds("thinktime", value)
}

/// The part of a pause in which the processor is busy.
pub fn thinktime_spin(value: &str) -> Result {
    microseconds("thinktime-spin", value)
}

/// Reads are 100 % minus the share of writes.
pub fn rwmixwrite(value: &str) -> Result {
    args([format!("--rwmixread={}", 100 - percent(value)?)])
}

/// Random data is 100 % minus the compressible share.
pub fn compressible(value: &str) -> Result {
    args([format!("--fill-random={}", 100 - percent(value)?)])
}

/// `randrepeat=0`: another seed in every run.
pub fn randrepeat(value: &str) -> Result {
    match value {
        "1" => args([]),
        "0" => {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            args([format!("--seed={}", now.as_nanos() as u64 >> 1)])
        }
        _ => Err("known are 0 and 1".into()),
    }
}

/// Format of reports: programs that parse fio's form would find another one.
pub fn output_format(value: &str) -> Result {
    match value {
        "normal" => args([]),
        _ => Err("run does not print fio's forms: --json prints the summary as JSON of its own form (docs/summary.md), \
                  'iosonar convert RESULT --to csv' every request; leave it out for text"
            .into()),
    }
}

/// Memory of the data. Ordinary memory is the default of run.
pub fn mem(value: &str) -> Result {
    match value.split(':').next().unwrap_or_default() {
        "malloc" | "mmap" => args([]),
        "mmaphuge" | "shmhuge" => args(["--hugepages".to_string()]),
        _ => Err(
            "use --hugepages, or --shared-memory with --steps; malloc and mmap are what there is otherwise"
                .into(),
        ),
    }
}

/// Directions of requests.
pub fn rw(value: &str) -> Result {
    let (kind, modifier) = value.split_once(':').map_or((value, None), |(kind, n)| (kind, Some(n)));
    if kind.contains("trimwrite") {
        let mixed = if kind.starts_with("rand") { "randwrite" } else { "write" };
        return Err(format!(
            "there are no writes after trims of the same blocks: use --rw {mixed} --rwmixtrim 50 for a mix, or a plan with two \
             phases"
        ));
    }
    match modifier {
        None => args([format!("--rw={kind}")]),
        Some(_) => Err("run has no sequences inside of a pattern: remove what follows the colon, or use \
                        --steps interleaved:N"
            .into()),
    }
}

/// Checks of data, in fio's words and in ours.
pub fn verify(value: &str) -> Result {
    /// fio's checksums and headers.
    const OF_FIO: [&str; 17] = [
        "1",
        "md5",
        "crc64",
        "crc32c",
        "crc32c-intel",
        "crc32",
        "crc16",
        "crc7",
        "xxhash",
        "sha512",
        "sha256",
        "sha1",
        "sha3-224",
        "sha3-256",
        "meta",
        "pattern",
        "null",
    ];
    match value {
        "0" => args([]),
        value if OF_FIO.contains(&value) => Err("every sector that run writes has a header and a checksum: use --verify read to \
                  check what is read, --verify final to read all back at the end, or both: --verify read,final"
            .into()),
        words => args([format!("--verify={words}")]),
    }
}

/// Method of reserving space for files.
pub fn fallocate(value: &str) -> Result {
    match value {
        "none" | "0" => args([]),
        _ => {
            Err("run makes no files: use --preallocate SIZE with --steps, or fallocate(1) before the run"
                .into())
        }
    }
}
