//! Layout of files on real file systems: maps agree with xfs_bmap and filefrag line by line, and cache contents are reported only where
//! they are known. Numbers in comments are those of the acceptance checks in `spec/iozone-and-layout.md`.

use crate::common::*;
use iosonar_plan::Op;
use iosonar_testkit::{Ended, Image, Lab, LoopDevice, Mounted, tool};
use serde_json::Value;
use std::fs::{File, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const KIB: u64 = 1024;
const MIB: u64 = 1 << 20;

/// A file system on a loop device, undone in this order.
pub struct Volume {
    mounted: Mounted,
    device: LoopDevice,
}

impl Volume {
    pub fn new(mkfs: &[&str]) -> Volume {
        Volume::mounted(mkfs, "rw")
    }

    fn mounted(mkfs: &[&str], options: &str) -> Volume {
        let device = LoopDevice::of(Image::sparse(512), &[]);
        let words: Vec<&str> = mkfs[1..].iter().copied().chain([device.text()]).collect();
        tool(mkfs[0], &words);
        Volume { mounted: Mounted::new(device.path(), options), device }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.mounted.path().join(name)
    }

    /// Path of the device.
    pub fn device_path(&self) -> PathBuf {
        self.device.path().to_path_buf()
    }

    /// Mounts the device again.
    pub fn remounted(self) -> Volume {
        let device = self.unmounted();
        Volume { mounted: Mounted::new(device.path(), "rw"), device }
    }

    /// Unmounts and returns the device.
    pub fn unmounted(self) -> LoopDevice {
        let Volume { mounted, device } = self;
        drop(mounted);
        device
    }

    /// Creates a file of random bytes, which no file system can compress.
    pub fn random(&self, name: &str, bytes: u64) -> PathBuf {
        let path = self.path(name);
        tool(
            "dd",
            &[
                "if=/dev/urandom".to_string(),
                format!("of={}", path.display()),
                "bs=64k".into(),
                format!("count={bytes}"),
                "iflag=fullblock,count_bytes".into(),
                "conv=fsync".into(),
                "status=none".into(),
            ],
        );
        path
    }
}

pub fn json(lab: &Lab, args: &str) -> Value {
    serde_json::from_str(&lab.expect(0, args).out).unwrap()
}

/// Returns the map of one file.
pub fn map_of(lab: &Lab, path: &Path) -> Value {
    json(lab, &format!("layout map --json {}", path.display()))["files"][0].clone()
}

pub fn number(value: &Value, field: &str) -> u64 {
    value[field].as_u64().unwrap_or_else(|| panic!("no {field} in {value}"))
}

/// A line of a map in bytes: offset, length, address, group and place in it, and whether it is unwritten and shared.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    offset: u64,
    length: u64,
    address: Option<u64>,
    group: Option<(u64, u64)>,
    unwritten: bool,
    shared: bool,
}

/// Lines of our map: with `holes` or without, and with `beyond` those after EOF. An extent cut at EOF becomes one line again.
fn ours(map: &Value, holes: bool, beyond: bool) -> Vec<Line> {
    let list = |name: &str| map[name].as_array().unwrap().clone();
    let mut rows = list("extents");
    rows.retain(|row| holes || row["kind"] != "hole");
    rows.extend(if beyond { list("extents_beyond_eof") } else { Vec::new() });
    let mut lines: Vec<Line> = Vec::new();
    for row in rows {
        let line = Line {
            offset: number(&row, "offset_bytes"),
            length: number(&row, "length_bytes"),
            address: row["address_bytes"].as_u64(),
            group: row["group"].as_u64().map(|group| (group, number(&row, "group_offset_bytes"))),
            unwritten: row["kind"] == "unwritten",
            shared: row["shared"] == true,
        };
        let is_cut = |last: &&mut Line| {
            last.offset + last.length == line.offset
                && line.offset == number(map, "size_bytes").next_multiple_of(4096)
                && last.address.map(|address| address + last.length) == line.address
                && (last.unwritten, last.shared) == (line.unwritten, line.shared)
        };
        match lines.last_mut().filter(is_cut) {
            Some(last) => last.length += line.length,
            None => lines.push(line),
        }
    }
    lines
}

/// Parses `0: [0..7]: 96..103 0 (96..103) 8 000000`, in sectors.
fn of_xfs_bmap(path: &Path) -> Vec<Line> {
    let text = tool("xfs_bmap", &["-vp".as_ref(), path.as_os_str()]);
    let line = |line: &str| {
        let (_, rest) = line.split_once(": [")?;
        let (offsets, rest) = rest.split_once("]:")?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let range = |text: &str| {
            let (from, to) = text.trim_matches(['(', ')']).split_once("..")?;
            let (from, to): (u64, u64) = (from.parse().ok()?, to.parse().ok()?);
            Some((from * 512, (to + 1 - from) * 512))
        };
        let (offset, length) = range(offsets)?;
        if words[0] == "hole" {
            return Some(Line {
                offset,
                length,
                address: None,
                group: None,
                unwritten: false,
                shared: false,
            });
        }
        // Blanks may stand inside the parentheses.
        let joined = words[2..].join("");
        let (place, rest) = joined.split_once(')')?;
        let flags = u32::from_str_radix(&rest[rest.len() - 6..], 8).ok()?;
        Some(Line {
            offset,
            length,
            address: Some(range(words[0])?.0),
            group: Some((words[1].parse().ok()?, range(place)?.0)),
            unwritten: flags & 0o10_000 != 0,
            shared: flags & 0o100_000 != 0,
        })
    };
    if text.ends_with(": no extents") {
        let length = path.metadata().unwrap().len();
        let hole = Line { offset: 0, length, address: None, group: None, unwritten: false, shared: false };
        return (length > 0).then_some(hole).into_iter().collect();
    }
    text.lines().filter_map(line).collect()
}

/// Parses ` 0:  0..  255:  12..  267:  256:  last,eof` in blocks of 4096 bytes, and the number of extents that filefrag reports.
fn of_filefrag(path: &Path) -> (Vec<Line>, u64) {
    let text = tool("filefrag", &["-v".as_ref(), "-s".as_ref(), path.as_os_str()]);
    let line = |line: &str| {
        let fields: Vec<&str> = line.split(':').map(str::trim).collect();
        fields.first()?.parse::<u64>().ok()?;
        let start = |field: &str| field.split_once("..")?.0.trim().parse::<u64>().ok();
        let flags = fields.last()?;
        Some(Line {
            offset: start(fields[1])? * 4096,
            length: fields[3].parse::<u64>().ok()? * 4096,
            address: Some(start(fields[2])? * 4096),
            group: None,
            unwritten: flags.contains("unwritten"),
            shared: flags.contains("shared"),
        })
    };
    let found = text.lines().last().unwrap().rsplit_once(": ").unwrap().1;
    (text.lines().filter_map(line).collect(), found.split(' ').next().unwrap().parse().unwrap())
}

#[track_caller]
fn assert_agrees_with_filefrag(lab: &Lab, path: &Path) {
    let map = map_of(lab, path);
    let (mut lines, found) = of_filefrag(path);
    let mut mine = ours(&map, false, true);
    for line in &mut mine {
        line.group = None;
    }
    // Inline data has no address, and filefrag takes its bytes for blocks.
    for (line, mine) in lines.iter_mut().zip(&mine).filter(|(_, mine)| mine.address.is_none()) {
        (line.address, line.length) = (None, mine.length);
    }
    assert_eq!(mine, lines, "{}: {map:#}", path.display());
    if number(&map, "beyond_eof_bytes") == 0
        && number(&map, "encoded_bytes") + number(&map, "inline_bytes") == 0
    {
        assert_eq!(number(&map, "fragments"), found, "{}", path.display());
    }
}

#[track_caller]
fn assert_agrees_with_xfs_bmap(lab: &Lab, path: &Path) {
    let map = map_of(lab, path);
    assert_eq!(ours(&map, true, false), of_xfs_bmap(path), "{}: {map:#}", path.display());
}

/// Written, sparse, preallocated and partly written files, one of holes alone, an empty one, and one of odd length.
fn common_files(volume: &Volume) -> Vec<PathBuf> {
    let sparse = volume.path("sparse");
    let file = File::create(&sparse).unwrap();
    for place in [1, 7, 8, 300] {
        file.write_all_at(&[7; 4096], place * 64 * KIB).unwrap();
    }
    file.set_len(64 * MIB).unwrap();
    file.sync_all().unwrap();
    let allocated = volume.path("preallocated");
    tool("fallocate", &["-l", "8m", allocated.to_str().unwrap()]);
    let file = OpenOptions::new().write(true).open(&allocated).unwrap();
    file.write_all_at(&[7; 65_536], MIB).unwrap();
    file.sync_all().unwrap();
    let holes = volume.path("holes");
    File::create(&holes).unwrap().set_len(10 * MIB).unwrap();
    let empty = volume.path("empty");
    File::create(&empty).unwrap();
    let beyond = volume.random("beyond", MIB + 100);
    tool("fallocate", &["-n", "-o", "1m", "-l", "4m", beyond.to_str().unwrap()]);
    let written = volume.random("written", 8 * MIB);
    vec![written, sparse, allocated, holes, empty, beyond]
}

/// Two files, written in turn: direct appends of 4 KiB, so that the blocks of one lie between those of the other.
fn round_robin(lab: &Lab, volume: &Volume, requests: u64) -> [PathBuf; 2] {
    let paths = ["one", "two"].map(|name| volume.path(name));
    let target = |path: &PathBuf| {
        format!(
            "[[target]]\npath = \"{}\"\nfile = {{ create = true }}\n[target.workload]\nkind = \"generated\"\norder = \
             \"sequential\"\nblock_size = \"4KiB\"\nread_percent = 0\nat_end = \"extend\"\nstop = {{ requests = {requests} }}\n",
            path.display()
        )
    };
    let targets: String = paths.iter().map(target).collect();
    let head = "version = 2\nrun_id = 1\nseed = 1\ndepth = 1\nengine = { kind = \"threads\" }\n[coordination]\nin_turn = true\n";
    lab.file("in_turn.toml", format!("{head}{targets}"));
    std::fs::remove_dir_all(lab.path("in_turn")).ok();
    lab.expect(0, "run in_turn.toml --no-progress -o in_turn");
    paths
}

#[test]
fn maps_on_xfs_agree_with_xfs_bmap_and_filefrag() {
    needs!("mkfs.xfs", "xfs_bmap", "filefrag");
    let (lab, volume) = (lab(), Volume::new(&["mkfs.xfs", "-q"]));
    let mut files = common_files(&volume);
    let copy = volume.path("copy");
    tool("cp", &["--reflink=always".as_ref(), files[0].as_os_str(), copy.as_os_str()]);
    OpenOptions::new().write(true).open(&copy).unwrap().write_all_at(&[9; 4096], 2 * MIB).unwrap();
    tool("sync", &["-f".as_ref(), copy.as_os_str()]);
    files.push(copy.clone());
    files.extend(round_robin(&lab, &volume, 64));
    for path in &files {
        assert_agrees_with_filefrag(&lab, path);
        if !path.ends_with("beyond") {
            assert_agrees_with_xfs_bmap(&lab, path);
        }
    }
    let map = map_of(&lab, &copy);
    assert_eq!(number(&map, "shared_bytes"), 8 * MIB - 4096, "{map:#}");
    assert_eq!(
        (&map["file_system"]["type"], &map["file_system"]["addresses"]),
        (&"xfs".into(), &"device".into())
    );
    assert_eq!(map["file_system"]["groups"]["count"], 4);
    // The text has the lines of xfs_bmap.
    let text = lab.expect(0, &format!("layout map {}", copy.display())).out;
    let tight = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let bmap = tool("xfs_bmap", &["-v".as_ref(), copy.as_os_str()]);
    for line in bmap.lines().skip(2).map(tight) {
        // Its flags are bits, ours are words.
        let line = line.rsplit_once(" 100000").map_or(line.as_str(), |(line, _)| line).to_string();
        assert!(text.lines().any(|mine| tight(mine).starts_with(&line)), "no '{line}' in\n{text}");
    }
}

#[test]
fn maps_on_ext4_agree_with_filefrag() {
    needs!("mkfs.ext4", "filefrag");
    let (lab, volume) = (lab(), Volume::new(&["mkfs.ext4", "-q"]));
    let files = common_files(&volume);
    files.iter().for_each(|path| assert_agrees_with_filefrag(&lab, path));
    let map = map_of(&lab, &files[0]);
    assert!(map["file_system"]["groups"].is_null() && map["groups_used"].is_null(), "{map:#}");
    // 34
    for path in round_robin(&lab, &volume, 1024) {
        assert!(number(&map_of(&lab, &path), "fragments") < 100, "{}", path.display());
    }
}

/// 48, and reflinks, inline files and preallocation.
#[test]
fn maps_on_btrfs_agree_with_filefrag_and_addresses_are_logical() {
    needs!("mkfs.btrfs", "btrfs", "filefrag");
    let (lab, volume) = (lab(), Volume::new(&["mkfs.btrfs", "-q"]));
    let mut files = common_files(&volume);
    let copy = volume.path("copy");
    tool("cp", &["--reflink=always".as_ref(), files[0].as_os_str(), copy.as_os_str()]);
    let small = volume.path("small");
    std::fs::write(&small, [7; 500]).unwrap();
    let packed = volume.path("packed");
    File::create(&packed).unwrap();
    tool("btrfs", &["property", "set", packed.to_str().unwrap(), "compression", "zstd"]);
    std::fs::write(&packed, "sixteen letters!".repeat(65_536)).unwrap();
    files.extend([copy.clone(), small.clone(), packed.clone()]);
    files.iter().for_each(|path| assert_agrees_with_filefrag(&lab, path));
    assert_eq!(number(&map_of(&lab, &copy), "shared_bytes"), 8 * MIB);
    assert!(number(&map_of(&lab, &small), "inline_bytes") > 0);
    let map = map_of(&lab, &packed);
    assert_eq!((number(&map, "fragments"), number(&map, "written_bytes")), (0, 0), "{map:#}");
    assert_eq!((number(&map, "encoded_bytes"), number(&map, "records")), (MIB, 8));
    let text = lab.expect(0, &format!("layout map {}", packed.display())).out;
    assert!(text.contains("logical addresses of btrfs, not of a device"), "{text}");
    assert!(text.contains("encoded") && text.contains("at least 1 fragment"), "{text}");
}

/// Pieces written from the end of a file to its start lie in as many places, however well they compress.
#[test]
fn noncontiguous_compressed_extents_are_fragments() {
    needs!("mkfs.btrfs", "btrfs");
    let (lab, volume) = (lab(), Volume::new(&["mkfs.btrfs", "-q"]));
    let path = volume.path("packed");
    let file = File::create(&path).unwrap();
    tool("btrfs", &["property", "set", path.to_str().unwrap(), "compression", "zstd"]);
    let piece = "sixteen letters!".repeat(4096);
    for number in (0..32u64).rev() {
        file.write_all_at(piece.as_bytes(), number * 65_536).unwrap();
        file.sync_all().unwrap();
    }
    let map = map_of(&lab, &path);
    let pieces = number(&map, "encoded_fragments_at_least");
    assert!(number(&map, "fragments") == 0 && pieces > 8, "{map:#}");
    let text = lab.expect(0, &format!("layout map {}", path.display())).out;
    assert!(text.contains(&format!("at least {pieces} fragments")), "{text}");
}

/// A file of an overlay has no pages: those of the file below count.
#[test]
fn overlay_file_shows_cache_state_of_lower_file() {
    needs!("mkfs.ext4");
    let (lab, volume) = (lab(), Volume::new(&["mkfs.ext4", "-q"]));
    let [lower, upper, work] = ["l", "u", "w"].map(|name| volume.path(name));
    [&lower, &upper, &work].into_iter().for_each(|dir| std::fs::create_dir(dir).unwrap());
    let below = lower.join("f");
    std::fs::write(&below, vec![7; 4 << 20]).unwrap();
    let overlay = or_skip!(Mounted::overlay(&lower, &upper, &work));
    let path = overlay.path().join("f");
    std::fs::read(&path).unwrap();
    let state =
        |path: &Path| json(&lab, &format!("layout cached --json {}", path.display()))["files"][0].clone();
    let (above, truth) = (state(&path), state(&below));
    assert_eq!((&above["state"], &truth["state"]), (&"cached".into(), &"cached".into()), "{above:#}");
    assert!(above["dirty_pages"].is_null(), "mincore does not tell: {above:#}");
    let ended = lab.run(&format!("layout evict {}", path.display()));
    let left = number(&state(&below), "cached_pages");
    assert_eq!(ended.out.contains("none stays"), left == 0, "{left} pages stay\n{}", ended.out);
}

/// 34: every block is a fragment.
#[test]
fn alternating_direct_writers_fragment_xfs_files() {
    needs!("mkfs.xfs");
    let (lab, volume) = (lab(), Volume::new(&["mkfs.xfs", "-q"]));
    for path in round_robin(&lab, &volume, 1024) {
        let map = map_of(&lab, &path);
        assert!(number(&map, "fragments") >= 1000 && number(&map, "size_bytes") == 4 * MIB, "{map:#}");
        assert_eq!(map["record_bytes"]["median"], 4096);
    }
    // For a directory the most fragmented file is listed first, and the sum covers all.
    volume.random("whole", MIB);
    let text = lab.expect(0, &format!("layout map {}", volume.mounted.path().display())).out;
    let first = text.lines().nth(1).unwrap();
    assert!(first.ends_with("/one") || first.ends_with("/two"), "{text}");
    assert!(text.contains("3 files, 9.00 MiB: "), "{text}");
    let all = json(&lab, &format!("layout map --json {}", volume.mounted.path().display()));
    assert!(all["files"][0].get("extents").is_none() && all["total"]["files"] == 3);
}

/// Writes a file with 1 MiB of direct requests of 4 KiB, after a file operation.
fn written_after(lab: &Lab, path: &Path, steps: &str) -> Ended {
    std::fs::remove_dir_all(lab.path("r")).ok();
    let words = "--rw write --bs 4k --size 1m --create --engine threads --no-progress -o r";
    lab.run(&format!("run -t {} {words} --before-pass {steps}", path.display()))
}

#[test]
fn extent_size_hint_works_only_on_xfs_before_data() {
    needs!("mkfs.xfs", "mkfs.ext4", "mkfs.btrfs", "xfs_io");
    let (lab, volume) = (lab(), Volume::new(&["mkfs.xfs", "-q"]));
    let path = volume.path("f");
    let ended = written_after(&lab, &path, "extent-hint:1m");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_eq!(lab.records("r").iter().filter(|r| r.op == Op::Hint && r.is_completed()).count(), 1);
    let hint = tool("xfs_io", &["-r".as_ref(), "-c".as_ref(), "extsize".as_ref(), path.as_os_str()]);
    assert!(hint.starts_with("[1048576] "), "{hint}");
    assert_eq!(number(&map_of(&lab, &path), "fragments"), 1);
    let ended = written_after(&lab, &path, "extent-hint:2m");
    let why = "the file operation extent-hint:2MiB failed: Invalid argument (os error 22): XFS takes a hint of whole blocks";
    assert!(ended.code == 1 && ended.err.contains(why), "{}", ended.err);
    let ended = written_after(&lab, &path, "truncate:0,extent-hint:2m");
    assert_eq!(ended.code, 0, "{}", ended.err);
    for mkfs in [&["mkfs.ext4", "-q"][..], &["mkfs.btrfs", "-q"]] {
        let volume = Volume::new(mkfs);
        let ended = written_after(&lab, &volume.path("f"), "extent-hint:1m");
        let why =
            "the file operation extent-hint:1MiB failed: Operation not supported (os error 95): only XFS has";
        assert!(ended.code == 1 && ended.err.contains(why), "{mkfs:?}: {}", ended.err);
    }
}

/// 38: blocks that XFS has allocated beyond the end of an open file are no data.
#[test]
fn reports_preallocation_of_open_file_separately() {
    needs!("mkfs.xfs", "xfs_bmap", "filefrag");
    let (lab, volume) = (lab(), Volume::new(&["mkfs.xfs", "-q"]));
    let path = volume.path("open");
    let mut file = File::create(&path).unwrap();
    for _ in 0..160 {
        file.write_all(&[7; 65_536]).unwrap();
    }
    let map = map_of(&lab, &path);
    assert_eq!(number(&map, "written_bytes"), 10 * MIB, "{map:#}");
    assert!(number(&map, "beyond_eof_bytes") > 0, "{map:#}");
    assert_eq!(number(&map, "hole_bytes") + number(&map, "unwritten_bytes"), 0);
    assert_agrees_with_xfs_bmap(&lab, &path);
    assert_agrees_with_filefrag(&lab, &path);
    let text = lab.expect(0, &format!("layout map {}", path.display())).out;
    assert!(text.contains("Beyond the end of the file, preallocated, no data:"), "{text}");
    drop(file);
}

/// Recreates the file: rewriting after a truncation would be written back on close.
fn write_anew(path: &Path, length: usize) {
    let _ = std::fs::remove_file(path);
    std::fs::write(path, vec![7; length]).unwrap();
}

/// 39: unallocated blocks have no address, and none is invented.
#[test]
fn delalloc_extents_have_no_address() {
    needs!("mkfs.xfs", "mkfs.ext4", "mkfs.btrfs");
    let lab = lab();
    for mkfs in [&["mkfs.xfs", "-q"][..], &["mkfs.ext4", "-q"], &["mkfs.btrfs", "-q"]] {
        let volume = Volume::new(mkfs);
        let path = volume.path("fresh");
        // Written shortly before the map is read: the kernel allocates during writeback.
        let mapped = |how: &str| {
            write_anew(&path, 65_536);
            lab.expect(0, &format!("layout map --no-sync {how} {}", path.display())).out
        };
        let map = comes_to_say(
            |map| number(map, "delalloc_bytes") == 65_536,
            || serde_json::from_str::<Value>(&mapped("--json")).unwrap()["files"][0].clone(),
        );
        assert!(map["extents"][0]["address_bytes"].is_null() && map["fragments"] == 0, "{map:#}");
        let third_word = || {
            let text = mapped("");
            let line = text.lines().find(|line| line.contains("[0..127]:")).unwrap();
            line.split_whitespace().nth(2).into()
        };
        comes_to_say(|word| word == "delalloc", third_word);
        let map = map_of(&lab, &path);
        assert_eq!((number(&map, "written_bytes"), number(&map, "delalloc_bytes")), (65_536, 0), "{map:#}");
        assert!(map["extents"][0]["address_bytes"].as_u64() > Some(0));
    }
}

/// 40
#[test]
fn tmpfs_has_no_maps_and_is_all_in_memory() {
    needs!();
    let (lab, mounted) = (lab(), Mounted::tmpfs());
    let path = mounted.path().join("f");
    std::fs::write(&path, [7; 8192]).unwrap();
    let ended = lab.expect(2, &format!("layout map {}", path.display()));
    assert!(ended.err.contains("tmpfs has no extent maps"), "{}", ended.err);
    assert_eq!(ended.out, "");
    // Other files are still mapped.
    lab.file("a.img", [7; 8192]);
    let ended = lab.expect(1, &format!("layout map {} a.img", path.display()));
    assert!(ended.out.contains("a.img") && ended.err.contains("tmpfs"), "{}{}", ended.out, ended.err);
    let ended = lab.expect(1, &format!("layout evict {}", path.display()));
    assert!(ended.out.contains("2 pages stay: tmpfs keeps its files in memory"), "{}", ended.out);
}

/// Runs the binary as a user who owns nothing.
pub fn as_nobody(program: &Path, args: &[&str]) -> Ended {
    let mut command = Command::new(program);
    command.args(args).current_dir("/").stdin(Stdio::null()).uid(65_534).gid(65_534);
    Ended::of(command.output().unwrap())
}

/// 42
#[test]
fn cache_state_is_unknown_to_other_users() {
    needs!("mkfs.xfs");
    let (lab, volume) = (lab(), Volume::new(&["mkfs.xfs", "-q"]));
    for directory in [lab.path(""), volume.path("")] {
        std::fs::set_permissions(directory, Permissions::from_mode(0o755)).unwrap();
    }
    let program = lab.path("iosonar");
    std::fs::copy(env!("CARGO_BIN_EXE_iosonar"), &program).unwrap();
    let path = volume.random("f", MIB);
    std::fs::read(&path).unwrap();
    let name = path.to_str().unwrap();
    let ended = as_nobody(&program, &["layout", "cached", "--json", name]);
    assert_eq!(ended.code, 2, "{}{}", ended.out, ended.err);
    let value: Value = serde_json::from_str(&ended.out).unwrap();
    let file = &value["files"][0];
    assert_eq!(file["state"], "unknown", "{value:#}");
    assert!(file["cached_pages"].is_null() && file["dirty_pages"].is_null(), "{value:#}");
    let ended = as_nobody(&program, &["layout", "evict", name]);
    assert_eq!(ended.code, 1, "{}{}", ended.out, ended.err);
    assert!(ended.out.contains("unknown whether pages stay"), "{}", ended.out);
    // The eviction worked anyway, as root can see.
    let value = json(&lab, &format!("layout cached --json {name}"));
    assert_eq!(
        (&value["files"][0]["state"], &value["files"][0]["cached_pages"]),
        (&"cold".into(), &0.into())
    );
    // A file that this user may write to.
    std::fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    std::fs::read(&path).unwrap();
    let ended = as_nobody(&program, &["layout", "cached", name]);
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    // The kernel may reclaim a page at any time: then the file is partly cached, which is known, too.
    assert!(ended.out.contains(" cached ") && !ended.out.contains("unknown"), "{}", ended.out);
}

#[test]
fn eviction_flushes_verifies_and_names_causes_of_remaining_pages() {
    needs!("mkfs.xfs", "mkfs.ext4", "mkfs.btrfs", "python3");
    let lab = lab();
    for mkfs in [&["mkfs.xfs", "-q"][..], &["mkfs.ext4", "-q"], &["mkfs.btrfs", "-q"]] {
        let volume = Volume::new(mkfs);
        let path = volume.path("f");
        let args = format!("layout cached --json {}", path.display());
        // The kernel writes them back when it likes.
        let is_dirty =
            |file: &Value| (number(file, "cached_pages"), number(file, "dirty_pages")) == (1024, 1024);
        comes_to_say(is_dirty, || {
            write_anew(&path, 4 << 20);
            json(&lab, &args)["files"][0].clone()
        });
        let ended = lab.expect(0, &format!("layout evict {}", path.display()));
        assert!(ended.out.contains("1 024 pages evicted, none stays"), "{}", ended.out);
        assert_eq!(number(&json(&lab, &args)["files"][0], "cached_pages"), 0, "{mkfs:?}");
    }
    let volume = Volume::new(&["mkfs.xfs", "-q"]);
    let path = volume.random("f", MIB);
    let script = "import mmap, sys\nf = open(sys.argv[1], 'rb')\nm = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)\n\
                  sum(m[::4096])\nprint('mapped', flush=True)\nsys.stdin.read()";
    let mut holder = Command::new("python3");
    let holder = holder.args(["-c", script]).arg(&path).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut holder = holder.spawn().unwrap();
    std::io::Read::read_exact(holder.stdout.as_mut().unwrap(), &mut [0; 7]).unwrap();
    let ended = lab.run(&format!("layout evict {}", path.display()));
    drop(holder.stdin.take());
    holder.wait().unwrap();
    assert_eq!(ended.code, 1, "{}{}", ended.out, ended.err);
    let reason = format!("256 pages stay: mapped by process {} (python3", holder.id());
    assert!(ended.out.contains(&reason), "{}", ended.out);
    lab.expect(0, &format!("layout evict {}", path.display()));
}
