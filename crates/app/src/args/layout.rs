//! What can be typed about the layout of files.

use crate::args::common::ProgressArgs;
use clap::{Args, Subcommand, ValueEnum};
use iosonar_cells::creation::Method;
use iosonar_plaintext::MapUnit;
use iosonar_plan::{ByteSize, Nanos};
use iosonar_scratch::{Age, FsKind};
use std::path::PathBuf;

/// Options of `layout`.
#[derive(Debug, Args)]
pub struct LayoutArgs {
    #[command(subcommand)]
    pub what: Layout,
}

/// What is done with files.
#[derive(Debug, Subcommand)]
pub enum Layout {
    /// Create files in several ways, scan them, and compare rates and extents
    Run(RunArgs),
    /// Print where the blocks of files are: extents, fragments, holes, preallocation
    Map(MapArgs),
    /// Print the free space of a file system: its ranges by size and by allocation group
    Free(FreeArgs),
    /// Print latencies of a run by the place of its requests on the disk
    Latency(LatencyArgs),
}

/// Options of `layout run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each method creates its file in DIR. The file is flushed, its extent map is read, and then all files are scanned in rounds, \
each round in a new random order. Before each scan the file is evicted from the page cache, and its pages are counted. \
Methods are compared by the scans after the first round.

A method is words joined by +:
  buffered, direct, mmap     how data is written [buffered]
  64k, whole                 bytes of a write [64k]; whole: one write of up to 1 GiB
  sync, dsync                each write waits for stable storage (O_SYNC, O_DSYNC)
  truncate                   the file gets its length first; random, reverse: it is filled in this order
  fallocate, fallocate-keep, zero-range
                             the file gets its blocks first, with its length or without it, or as zeros
  extsize=16m                the extent size hint of XFS
  fsync=1m, reopen=1m        flush, or close and open the file again, after so many bytes
  files=4, dirs=4, turns=2   several files at the same time: in one directory, each in its own, or one write to each in turn
  zeros, compressible=50     what is written; else it cannot be compressed
  xfs_mkfile, xfs_mkfile-p, xfs_mkfile-n
                             direct+256k, fallocate-keep+direct+256k, truncate+no-data

--scratch gives each method a new file system on a loop device, and removes all of them at the end. What a killed run left \
is removed by the next one in the same DIR. It takes root. With --age holes=84,hole=15.75m,spacing=256k and --scratch 6g, \
free space is that of the experiment in docs/layout.md.

The result directory contains layout.json, layout.csv, maps.json, layout.html, layout.png with all methods side by side, a picture \
of each map, and the archives create and scan with all requests.
Exit codes: 0 all measured; 1 something failed; 2 refused; 130 interrupted.

Examples:
  iosonar layout run . --size 1g
  iosonar layout run . --size 256m --methods direct+4k+turns=2,buffered+4k+turns=2")]
pub struct RunArgs {
    /// Directory on the file system to measure; of --scratch, where its images are
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Set the size of each file
    #[arg(long, value_name = "SIZE")]
    pub size: ByteSize,
    /// Select the ways to create files
    #[arg(
        long,
        value_name = "METHOD,…",
        value_delimiter = ',',
        default_value = "xfs_mkfile,buffered+whole,buffered+64k,fallocate+buffered+64k"
    )]
    pub methods: Vec<Method>,
    /// Create holes in free space first: holes=84,hole=15.75m,spacing=256k
    ///
    /// Sizes can be ranges: hole=4m..16m. seed=2 draws others.
    #[arg(long, value_name = "SPEC")]
    pub age: Option<Age>,
    /// Create a file system of this size for each method
    #[arg(long, value_name = "SIZE")]
    pub scratch: Option<ByteSize>,
    /// Set the type of file systems of --scratch: xfs, ext4 or btrfs
    #[arg(long, value_name = "TYPE", default_value = "xfs", requires = "scratch")]
    pub fs: FsKind,
    /// Add options of mkfs
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true, requires = "scratch")]
    pub mkfs_options: Option<String>,
    /// Set the mount options of file systems of --scratch
    #[arg(long, value_name = "OPTIONS", requires = "scratch")]
    pub mount_options: Option<String>,
    /// Set the size of the reads of scans
    #[arg(long, value_name = "SIZE", default_value = "64k")]
    pub scan_size: ByteSize,
    /// Read with O_DIRECT in scans
    #[arg(long)]
    pub scan_direct: bool,
    /// Set how often each file is scanned; the first scan is not compared
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Set the seed of orders, data and prepared free space
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u64).range(..1 << 63))]
    pub seed: u64,
    /// Set the interval between samples of the machine's counters
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub sample_every: Nanos,
    /// Keep the files at the end
    #[arg(long, conflicts_with = "scratch")]
    pub keep: bool,
    /// Set the result directory
    #[arg(long, short = 'o', value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Write an apostrophe before words of layout.csv that a spreadsheet would take for formulas
    #[arg(long)]
    pub csv_safe: bool,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

/// Options of `layout map`.
#[derive(Debug, Args)]
#[command(after_help = "\
One file: its extents, then its figures. Several files or a directory: a line for each file, the most fragmented first, and \
the sum. Records are the entries that the file system reports, as xfs_bmap counts. Fragments are parts that are contiguous \
on the device, as filefrag counts; encoded (compressed, encrypted) and inline extents are none. Files are flushed first, so \
that all blocks have addresses. What lies beyond the end of a file is preallocated space and no data. Directories are \
walked on their file system; symbolic links in them are not followed.

Exit code 1: some files have no map; the others are printed. 2: none has one.

Examples:
  iosonar layout map a.img                       extents and figures of one file
  iosonar layout map --picture a.png a.img       and the file on the disk as a picture
  iosonar layout map --top 10 first              the ten most fragmented files of a directory
  iosonar layout map --json a.img b.img")]
pub struct MapArgs {
    /// Files, and directories that are walked
    #[arg(required = true, value_name = "FILE|DIR")]
    pub files: Vec<PathBuf>,
    /// Print the extents of each of several files, too
    #[arg(long, conflicts_with = "summary")]
    pub extents: bool,
    /// Print the figures of one file without its extents
    #[arg(long)]
    pub summary: bool,
    /// Set the unit of offsets, addresses and lengths in the text
    #[arg(long, value_enum, value_name = "UNIT", default_value = "sectors")]
    pub unit: UnitArg,
    /// Draw one file on the disk: PNG or SVG, by the name
    #[arg(long, value_name = "FILE")]
    pub picture: Option<PathBuf>,
    /// Replace a picture that exists
    #[arg(long, requires = "picture")]
    pub force: bool,
    /// Read maps without flushing the files: blocks that were not written yet are delalloc
    #[arg(long)]
    pub no_sync: bool,
    /// Print at most this many files of several
    #[arg(long, value_name = "N", default_value = "20", conflicts_with = "json")]
    pub top: usize,
    /// Print JSON with sizes in bytes
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

/// Options of `layout free`.
#[derive(Debug, Args)]
#[command(after_help = "\
The file system is that of the directory or file. It is flushed first: data in memory gets its place, and ext4 frees blocks \
of removed files with the next commit of its journal. XFS and ext4 report their free ranges (GETFSMAP), also to users other \
than root; btrfs, tmpfs and network file systems do not. XFS has no range across the border of two allocation groups. On a \
large ext4 the first call after mounting reads all block bitmaps.

A line of the first table counts the ranges from one power of two up to the next. Space that statfs does not count as free \
is in the ranges, too, where the file system reserves it for itself.

Exit code 2: the free space is not known.

Examples:
  iosonar layout free .                          as e2freefrag, or freesp of xfs_db
  iosonar layout free . --json                   all of it for programs")]
pub struct FreeArgs {
    /// Directory or file on the file system
    #[arg(value_name = "DIR|FILE")]
    pub path: PathBuf,
    /// Read free ranges without flushing the file system
    #[arg(long)]
    pub no_sync: bool,
    /// Print JSON with sizes in bytes
    #[arg(long)]
    pub json: bool,
}

/// Units of maps.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum UnitArg {
    /// 512 bytes, as xfs_bmap
    Sectors,
    /// Blocks of the file system, as filefrag
    Blocks,
    /// Bytes
    Bytes,
}

impl From<UnitArg> for MapUnit {
    fn from(unit: UnitArg) -> MapUnit {
        match unit {
            UnitArg::Sectors => MapUnit::Sectors,
            UnitArg::Blocks => MapUnit::Blocks,
            UnitArg::Bytes => MapUnit::Bytes,
        }
    }
}

/// Options of `cache evict`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each file is flushed (fsync), evicted (POSIX_FADV_DONTNEED), and its pages are counted again. Pages stay that a process has \
mapped, that are written again meanwhile, or whose file system is in memory. Caches of the device, its controller and a \
host below a virtual machine are out of reach.

Exit code 1: pages stay, or the kernel does not say whether any stay. 2: nothing could be evicted.

Examples:
  iosonar cache evict a.img
  iosonar cache evict first           all files of a directory")]
pub struct EvictArgs {
    /// Files, and directories that are walked
    #[arg(required = true, value_name = "FILE|DIR")]
    pub files: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

/// Options of `cache count`.
#[derive(Debug, Args)]
#[command(after_help = "\
The kernel answers the owner of a file and those who may write to it. For others the answer is 'unknown', never 'cached' or \
'cold'. The question brings nothing into the cache.

Exit code 1: of some files the answer is unknown, or they cannot be read. 2: of all files.

Examples:
  iosonar cache count a.img
  iosonar cache count --json first    all files of a directory")]
pub struct CachedArgs {
    /// Files, and directories that are walked
    #[arg(required = true, value_name = "FILE|DIR")]
    pub files: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

/// Options of `layout latency`.
#[derive(Debug, Args)]
#[command(after_help = "\
At the end of a run the extent maps of its files are kept in the result. Requests are grouped by their place: within one \
fragment of the file or across several; and by the distance on the disk from the end of the request before. For both, the \
share of pairs is printed in which a request of the one group took longer than one of the other, with its 95 % interval: 50 % \
is no difference. Of a result of layout run its archive scan is used, else create. iosonar plot --only extents draws an archive.

Examples:
  iosonar layout latency reads
  iosonar layout latency --json reads")]
pub struct LatencyArgs {
    /// Result directory of a run on files
    #[arg(value_name = "RESULT")]
    pub result: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
