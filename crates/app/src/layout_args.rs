//! What can be typed about the layout of files.

use crate::args::ProgressArgs;
use clap::{Args, Subcommand, ValueEnum};
use iosonar_view::MapUnit;
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
    /// Print where the blocks of files are: extents, fragments, holes, preallocation
    Map(MapArgs),
    /// Remove files from the page cache, and verify that nothing stays
    Evict(EvictArgs),
    /// Print how many pages of files are in the page cache
    Cached(CachedArgs),
}

/// Options of `layout map`.
#[derive(Debug, Args)]
#[command(after_help = "\
One file: its extents, then its figures. Several files or a directory: a line for each file, the most fragmented first, and \
the sum. Records are the entries that the file system reports, as xfs_bmap counts. Fragments are pieces that are contiguous \
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

/// Options of `layout evict`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each file is flushed (fsync), evicted (POSIX_FADV_DONTNEED), and its pages are counted again. Pages stay that a process has \
mapped, that are written again meanwhile, or whose file system is in memory. Caches of the device, its controller and a \
host below a virtual machine are out of reach.

Exit code 1: pages stay, or the kernel does not say whether any stay. 2: nothing could be evicted.

Examples:
  iosonar layout evict a.img
  iosonar layout evict first                     all files of a directory")]
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

/// Options of `layout cached`.
#[derive(Debug, Args)]
#[command(after_help = "\
The kernel answers the owner of a file and those who may write to it. For others the answer is 'unknown', never 'cached' or \
'cold'. The question brings nothing into the cache.

Exit code 1: of some files the answer is unknown, or they cannot be read. 2: of all files.

Examples:
  iosonar layout cached a.img
  iosonar layout cached --json first             all files of a directory")]
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
