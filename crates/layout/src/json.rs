//! Maps as JSON. Names and meanings are stable within a version; fields may be added.

use crate::{Extent, Figures, FreeReport, FreeSpace, GroupFree, Kind, Map, Row, SizeClass, Sizes, Volume};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Map as Object, Value, json};

/// Version of the form.
pub const VERSION: u32 = 1;

/// Several maps, their sum, and mapping errors. It is written piece by piece: a million extents need no memory beside that
/// of the map.
#[derive(Debug, Clone, Copy)]
pub struct MapsJson<'a> {
    /// Name and version of the program.
    pub tool: &'a str,
    /// The maps.
    pub maps: &'a [Map],
    /// Paths without a map, and the reasons.
    pub errors: &'a [(String, String)],
}

impl Serialize for MapsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let errors = self.errors.iter().map(|(path, error)| json!({ "path": path, "error": error }));
        let mut document = serializer.serialize_map(None)?;
        document.serialize_entry("version", &VERSION)?;
        document.serialize_entry("tool", self.tool)?;
        document.serialize_entry("files", &Sequence(|| self.maps.iter().map(MapJson)))?;
        document.serialize_entry("total", &self.total())?;
        document.serialize_entry("errors", &errors.collect::<Vec<Value>>())?;
        document.end()
    }
}

impl MapsJson<'_> {
    fn total(&self) -> Object<String, Value> {
        let mut figures = Figures::default();
        self.maps.iter().for_each(|map| figures.merge(&map.figures));
        let size = self.maps.iter().fold(0u64, |sum, map| sum.saturating_add(map.size));
        let mut object = Object::from_iter([
            ("files".to_string(), Value::from(self.maps.len())),
            ("size_bytes".to_string(), size.into()),
        ]);
        object.extend(figures_json(&figures));
        object
    }
}

/// Serializes the items of an iterator as an array.
struct Sequence<F>(F);

impl<I: Iterator<Item: Serialize>, F: Fn() -> I> Serialize for Sequence<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

struct MapJson<'a>(&'a Map);

impl Serialize for MapJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let map = self.0;
        let groups = map.volume.groups.map(|_| map.figures.groups_used());
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("path", &map.path.display().to_string())?;
        object.serialize_entry("size_bytes", &map.size)?;
        object.serialize_entry("extent_size_hint_bytes", &map.extent_size_hint)?;
        object.serialize_entry("synced", &map.is_synced)?;
        object.serialize_entry("file_system", &*map.volume)?;
        object.serialize_entry("groups_used", &groups)?;
        for (name, value) in figures_json(&map.figures) {
            object.serialize_entry(&name, &value)?;
        }
        if let Some(rows) = &map.rows {
            let rows = || rows.iter().map(|row| RowJson::of_row(row, &map.volume));
            object.serialize_entry("extents", &Sequence(rows))?;
        }
        if let Some(beyond) = &map.beyond {
            let beyond = || beyond.iter().map(|extent| RowJson::of_extent(extent, &map.volume));
            object.serialize_entry("extents_beyond_eof", &Sequence(beyond))?;
        }
        object.end()
    }
}

/// The free space of a file system.
#[derive(Debug, Clone, Copy)]
pub struct FreeJson<'a> {
    /// Name and version of the program.
    pub tool: &'a str,
    /// The free space.
    pub report: &'a FreeReport,
}

impl Serialize for FreeJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let FreeReport { path, volume, is_synced, statfs_free, statfs_available, free } = self.report;
        let mut document = serializer.serialize_map(None)?;
        document.serialize_entry("version", &VERSION)?;
        document.serialize_entry("tool", self.tool)?;
        document.serialize_entry("path", &path.display().to_string())?;
        document.serialize_entry("file_system", volume)?;
        document.serialize_entry("synced", is_synced)?;
        document.serialize_entry("statfs_free_bytes", statfs_free)?;
        document.serialize_entry("statfs_available_bytes", statfs_available)?;
        document.serialize_entry("free_space", free)?;
        document.end()
    }
}

impl Serialize for FreeSpace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let groups = self.groups().map(|groups| {
            let group = |(number, group): (u64, GroupFree)| {
                json!({
                    "group": number,
                    "ranges": group.ranges,
                    "bytes": group.bytes,
                    "largest_bytes": group.largest,
                })
            };
            groups.into_iter().map(group).collect::<Value>()
        });
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("ranges", &self.sizes().count())?;
        object.serialize_entry("bytes", &self.bytes())?;
        object.serialize_entry("range_bytes", &spread(self.sizes()))?;
        object.serialize_entry("histogram", &histogram(self.sizes(), "ranges"))?;
        object.serialize_entry("groups", &groups)?;
        object.end()
    }
}

/// Classes of sizes; `counted` is the name of the counted items.
fn histogram(sizes: &Sizes, counted: &str) -> Value {
    let class = |class: SizeClass| {
        json!({
            "from_bytes": class.from_bytes,
            "below_bytes": class.from_bytes.checked_mul(2),
            counted: class.extents,
            "bytes": class.bytes,
        })
    };
    sizes.classes().into_iter().map(class).collect()
}

fn spread(sizes: &Sizes) -> Value {
    json!({ "min": sizes.min(), "median": sizes.median(), "max": sizes.max(), "mean": sizes.mean() })
}

/// Counts and sums of a map as fields of JSON. Sizes are in bytes.
pub fn figures_json(figures: &Figures) -> Object<String, Value> {
    let sizes = &figures.sizes;
    let counts = [
        ("records", figures.records),
        ("fragments", figures.fragments),
        ("encoded_fragments_at_least", figures.encoded_fragments),
        ("holes", figures.holes),
        ("hole_bytes", figures.hole_bytes),
        ("shared_bytes", figures.shared_bytes),
        ("beyond_eof_records", figures.beyond_records),
        ("beyond_eof_bytes", figures.beyond_bytes),
        ("gap_bytes", figures.gap_bytes),
        ("backward_jumps", figures.backward_jumps),
    ];
    let kinds = Kind::ALL.map(|kind| (format!("{}_bytes", kind.name()), Value::from(figures.bytes_of(kind))));
    let counts = counts.map(|(name, count)| (name.to_string(), Value::from(count)));
    let mut object: Object<String, Value> = counts.into_iter().chain(kinds).collect();
    object.insert("record_bytes".into(), spread(sizes));
    object.insert("histogram".into(), histogram(sizes, "extents"));
    object
}

/// A line of a map.
#[derive(Serialize)]
#[serde(untagged)]
enum RowJson {
    Hole {
        kind: &'static str,
        offset_bytes: u64,
        length_bytes: u64,
    },
    Extent {
        kind: &'static str,
        offset_bytes: u64,
        length_bytes: u64,
        address_bytes: Option<u64>,
        group: Option<u64>,
        group_offset_bytes: Option<u64>,
        shared: bool,
        encrypted: bool,
    },
}

impl RowJson {
    fn of_row(row: &Row, volume: &Volume) -> RowJson {
        match row {
            Row::Extent(extent) => RowJson::of_extent(extent, volume),
            Row::Hole { offset, length } => {
                RowJson::Hole { kind: "hole", offset_bytes: *offset, length_bytes: *length }
            }
        }
    }

    fn of_extent(extent: &Extent, volume: &Volume) -> RowJson {
        let group = volume.groups.zip(extent.address).map(|(groups, address)| groups.of(address));
        RowJson::Extent {
            kind: extent.kind.name(),
            offset_bytes: extent.offset,
            length_bytes: extent.length,
            address_bytes: extent.address,
            group: group.map(|(group, _)| group),
            group_offset_bytes: group.map(|(_, offset)| offset),
            shared: extent.is_shared,
            encrypted: extent.is_encrypted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Addresses, Groups, Scan};
    use std::sync::Arc;

    #[test]
    fn json_of_free_space_has_its_classes_and_groups() {
        let mut free = FreeSpace::new(Some(Groups { count: 3, bytes: 1 << 20 }));
        [(4096, 4096), (65_536, 8192), ((2 << 20) + 4096, 8192)]
            .into_iter()
            .for_each(|(at, n)| free.add(at, n));
        let value = serde_json::to_value(&free).unwrap();
        assert_eq!((&value["ranges"], &value["bytes"]), (&3.into(), &20_480.into()));
        assert_eq!(
            (&value["range_bytes"]["min"], &value["range_bytes"]["median"]),
            (&4096.into(), &8192.into())
        );
        let class = json!({ "from_bytes": 8192, "below_bytes": 16_384, "ranges": 2, "bytes": 16_384 });
        assert_eq!(value["histogram"][1], class);
        let full = json!({ "group": 1, "ranges": 0, "bytes": 0, "largest_bytes": 0 });
        assert_eq!((&value["groups"][1], value["groups"].as_array().unwrap().len()), (&full, 3));
        let without = serde_json::to_value(FreeSpace::new(None)).unwrap();
        assert!(without["groups"].is_null() && without["range_bytes"]["median"].is_null(), "{without}");
    }

    #[test]
    fn json_contains_every_sum_with_unit() {
        let groups = Some(Groups { count: 4, bytes: 1 << 20 });
        let volume = Volume {
            kind: "xfs".into(),
            mount_point: None,
            source: Some("/dev/sdx".into()),
            block_bytes: 4096,
            groups,
            bytes: None,
            addresses: Addresses::Device,
        };
        let mut scan = Scan::new(16_384, 4096, groups, true);
        scan.add(Extent::new(0, (1 << 20) + 8192, 4096, 0x2000));
        scan.add(Extent::new(12_288, 65_536, 8192, 0x800));
        let (figures, rows) = scan.finish();
        let (rows, beyond) = rows.unzip();
        let path = "a b".into();
        let maps = [Map {
            path,
            volume: Arc::new(volume),
            size: 16_384,
            extent_size_hint: 0,
            is_synced: true,
            figures,
            rows,
            beyond,
        }];
        let errors = [("x".to_string(), "no".to_string())];
        let value =
            serde_json::to_value(MapsJson { tool: "iosonar 1", maps: &maps, errors: &errors }).unwrap();
        let file = &value["files"][0];
        for (field, expected) in [
            ("records", 2),
            ("fragments", 2),
            ("encoded_fragments_at_least", 0),
            ("hole_bytes", 8192),
            ("written_bytes", 4096),
            ("unwritten_bytes", 4096),
            ("shared_bytes", 4096),
            ("beyond_eof_bytes", 4096),
            ("encoded_bytes", 0),
            ("inline_bytes", 0),
            ("delalloc_bytes", 0),
            ("groups_used", 2),
            ("backward_jumps", 1),
        ] {
            assert_eq!(file[field], expected, "{field}");
        }
        assert_eq!((&value["version"], &value["total"]["files"]), (&1.into(), &1.into()));
        let extent = &file["extents"][0];
        assert_eq!((&extent["group"], &extent["group_offset_bytes"]), (&1.into(), &8192.into()));
        assert_eq!(file["extents"][1]["kind"], "hole");
        assert_eq!(file["extents_beyond_eof"][0]["offset_bytes"], 16_384);
        assert_eq!(value["errors"][0]["path"], "x");
    }
}
