//! Latencies by extent as JSON. Names and meanings stay within a version; fields may be added.

use super::{ExtentLatencies, FileLatencies, Jump, PlacedLatencies, Spot};
use serde_json::{Value, json};

/// Version of the form.
const VERSION: u32 = 1;
/// Maximum number of listed fragments.
const COSTLIEST: usize = 20;

impl ExtentLatencies {
    /// Converts to JSON. Times are in nanoseconds, sizes in bytes, shares in percent.
    pub fn to_json(&self, tool: &str) -> Value {
        let files: Vec<Value> = self.files.iter().map(FileLatencies::to_json).collect();
        json!({ "version": VERSION, "tool": tool, "files": files })
    }
}

impl FileLatencies {
    fn to_json(&self) -> Value {
        json!({
            "target": self.target,
            "path": self.map.path.display().to_string(),
            "size_bytes": self.map.size,
            "file_system": &*self.map.volume,
            "fragments": self.map.figures.fragments,
            "buffered": self.is_buffered,
            "earlier_requests": self.earlier_requests,
            "reads": self.placed_json(&self.reads),
            "writes": self.placed_json(&self.writes),
        })
    }

    /// JSON of one operation; `None` without requests.
    fn placed_json(&self, of: &PlacedLatencies) -> Option<Value> {
        let all = of.all.figures()?;
        let spots = Spot::ALL.map(|spot| json!({ "place": spot, "latency": of.at_spot(spot) }));
        let jumps = Jump::ALL.map(|jump| json!({ "start": jump, "latency": of.at_jump(jump) }));
        let sizes = of.by_fragment_size.iter();
        let sizes = sizes.map(|(from, l)| json!({ "from_bytes": from, "latency": l.figures() }));
        let costliest = of.costliest(COSTLIEST).into_iter().map(|(number, sums)| {
            let fragment = self.placed.fragments()[number];
            json!({
                "fragment": number,
                "offset_bytes": fragment.offset,
                "address_bytes": fragment.address,
                "bytes": fragment.bytes,
                "requests": sums.requests,
                "total_ns": sums.total_ns,
                "mean_ns": sums.mean_ns(),
                "max_ns": sums.max_ns,
            })
        });
        Some(json!({
            "latency": all,
            "by_place": spots,
            "by_start": jumps,
            "by_fragment_size": sizes.collect::<Vec<_>>(),
            "across_slower": of.across.slower(),
            "elsewhere_slower": of.elsewhere.slower(),
            "costliest_fragments": costliest.collect::<Vec<_>>(),
        }))
    }
}
