//! Legal states after a crash, against a model of a device: a volatile cache, flushes, and a crash that keeps any part of it.

use iosonar_archive::WriteId;
use iosonar_plan::Nanos;
use iosonar_testkit::SplitMix;
use iosonar_verify::{Atomic, CrashWrite, Crashed, Legal, Sectors, Tag};

#[path = "support/mod.rs"]
#[allow(dead_code)]
mod support;

const SECTORS: u64 = 64;

struct Device {
    writes: Vec<CrashWrite>,
    /// When each took effect in the cache.
    effects: Vec<u64>,
    /// When the last acknowledged flush was submitted; effects until then are on stable storage.
    last_flush: Option<u64>,
    unit: u64,
}

impl Device {
    fn new(random: &mut SplitMix, unit: u64) -> Device {
        let mut device = Device { writes: Vec::new(), effects: Vec::new(), last_flush: None, unit };
        let count = 1 + random.below(20);
        for sequence in 0..count {
            let submitted = random.below(100);
            let ended = (random.below(8) > 0).then(|| submitted + random.below(30));
            let start = random.below(SECTORS);
            let mut range = Sectors::new(start, 1 + random.below((SECTORS - start).min(20)));
            if random.below(2) == 0 {
                let first = start / unit * unit;
                range = Sectors::between(first, range.end().next_multiple_of(unit).min(SECTORS));
            }
            let tag = Tag::of(WriteId { target: 0, phase: 0, pass: 0, sequence });
            let is_acknowledged = ended.is_some() && random.below(10) > 0;
            device.writes.push(CrashWrite {
                range,
                tag,
                submitted: Nanos(submitted),
                ended: ended.map(Nanos),
                is_acknowledged,
                is_durable: false,
                atomic: Atomic::Sector,
                may_be_cut: false,
            });
            device.effects.push(submitted + random.below(ended.unwrap_or(130) - submitted + 1));
        }
        device.last_flush = (random.below(3) > 0).then(|| random.below(130));
        for write in &mut device.writes {
            let is_flushed =
                device.last_flush.is_some_and(|flush| write.ended.is_some_and(|ended| ended.0 < flush));
            write.is_durable = write.is_acknowledged && (is_flushed || random.below(12) == 0);
        }
        device
    }

    /// The tag of each sector after a crash.
    fn crash(&self, random: &mut SplitMix) -> Vec<Tag> {
        let mut content = vec![Tag::INITIAL; SECTORS as usize];
        let mut order: Vec<usize> = (0..self.writes.len()).collect();
        order.sort_by_key(|number| self.effects[*number]);
        for number in order {
            let write = &self.writes[number];
            for unit in write.range.start / self.unit..=(write.range.end() - 1) / self.unit {
                if !write.is_durable && random.below(2) == 0 {
                    continue;
                }
                let (start, end) = (unit * self.unit, (unit + 1) * self.unit);
                let own = start.max(write.range.start)..end.min(write.range.end());
                own.for_each(|sector| content[sector as usize] = write.tag);
            }
        }
        content
    }

    /// Legal contents of a sector, by search.
    fn legal(&self, sector: u64) -> Vec<Tag> {
        let own =
            || self.writes.iter().filter(|write| (write.range.start..write.range.end()).contains(&sector));
        let is_superseded = |write: &&CrashWrite| {
            own().any(|durable| {
                durable.is_durable && write.ended.is_some_and(|ended| ended < durable.submitted)
            })
        };
        let mut tags: Vec<Tag> = own().filter(|write| !is_superseded(write)).map(|write| write.tag).collect();
        if own().all(|write| !write.is_durable) && own().next().is_some() {
            tags.push(Tag::INITIAL);
        }
        tags.sort_unstable();
        tags
    }
}

fn tags_of(legal: Legal<'_>) -> Vec<Tag> {
    let mut tags = match legal {
        Legal::One(tag) => vec![tag],
        Legal::Several(tags) | Legal::Mixed(tags) => tags.to_vec(),
        Legal::Unwritten => Vec::new(),
        Legal::Unknown | Legal::Any => panic!("nothing gives up, nothing was discarded"),
    };
    tags.sort_unstable();
    tags
}

#[test]
fn blames_lost_durable_writes_but_no_honest_device() {
    let mut blamed = 0;
    for seed in 0..20_000 {
        let mut random = SplitMix(seed);
        let unit = [1, 2, 8][random.below(3) as usize];
        let device = Device::new(&mut random, unit);
        let content = device.crash(&mut random);
        let mut crashed = Crashed::new(device.writes.clone(), unit);
        let torn = crashed.end_read(Sectors::new(0, SECTORS), |sector, legal, _| {
            let tags = tags_of(legal);
            assert_eq!(tags, device.legal(sector), "seed {seed}, sector {sector}");
            let own = content[sector as usize];
            let is_legal = tags.contains(&own) || tags.is_empty() && own == Tag::INITIAL;
            assert!(is_legal, "seed {seed}, sector {sector}: {own:?} of {tags:?}");
            Some(own)
        });
        assert!(torn.is_empty(), "seed {seed}: {torn:?}");
        let facts = crashed.facts();
        assert_eq!(facts.missing, 0);
        let all = [facts.not_durable, facts.in_flight, facts.failed].map(|survival| survival.total());
        assert_eq!(facts.durable + all.iter().sum::<u64>(), device.writes.len() as u64);
        // The same device without a write that it had to keep in one sector.
        let sector = random.below(SECTORS);
        let mut crashed = Crashed::new(device.writes.clone(), unit);
        let mut is_demanded = false;
        crashed.end_read(Sectors::new(sector, 1), |_, legal, _| {
            is_demanded = !matches!(legal, Legal::Unwritten) && !tags_of(legal).contains(&Tag::INITIAL);
            (!is_demanded).then_some(Tag::INITIAL)
        });
        assert_eq!(crashed.facts().missing > 0, is_demanded, "seed {seed}");
        blamed += u64::from(is_demanded);
    }
    assert!(blamed > 1000, "{blamed}");
}
