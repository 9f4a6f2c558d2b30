//! Detects whether a device lost all writes since some moment: one line then replaces a list of lost writes.

use super::records::Records;
use super::verifier::Verifier;
use iosonar_archive::{ArchiveError, Fault, FaultClass, MissingWrites, Outcome, Record, ScanFacts, Verified};
use iosonar_plan::{Nanos, Op};
use iosonar_verify::Sectors;

/// Minimum number of missing writes; fewer are reported one by one.
const FEWEST: u64 = 2;

/// Places of one device whose writes are missing, each with the time when the write that is due there was acknowledged.
#[derive(Default)]
struct Lost {
    places: Vec<(Sectors, Nanos)>,
    /// Sectors of the longest.
    longest: u64,
    /// When the last write that is there was acknowledged.
    last_there: Option<Nanos>,
    writes: u64,
}

impl Lost {
    fn add(&mut self, place: Sectors, due: Nanos) {
        self.places.push((place, due));
        self.longest = self.longest.max(place.count);
    }

    /// Whether all of a write is missing: no sector of it holds it, or a later one.
    fn has_lost(&self, write: Sectors, acknowledged: Nanos) -> bool {
        let from = self.places.partition_point(|(place, _)| place.start + self.longest <= write.start);
        let near = self.places[from..].iter().take_while(|(place, _)| place.start < write.end());
        let mut at = write.start;
        for (place, due) in near {
            if *due >= acknowledged && place.start <= at {
                at = at.max(place.end());
            }
        }
        at >= write.end()
    }
}

/// The devices that lost all writes since some moment. This needs a whole scan.
pub(super) fn missing_writes(
    verifier: &Verifier,
    verified: &Verified,
    faults: &[Fault],
    records: &Records<'_>,
) -> Result<Vec<MissingWrites>, ArchiveError> {
    let is_whole = |scan: &ScanFacts| !scan.stopped && scan.read_chunks == scan.chunks;
    let is_known = verified.given_up == 0 && verified.not_listed == 0;
    if !is_known || !verified.scan.as_ref().is_some_and(is_whole) {
        return Ok(Vec::new());
    }
    let mut lost = lost_places(verifier, faults);
    if lost.iter().all(|lost| lost.places.is_empty()) {
        return Ok(Vec::new());
    }
    records.for_each(&mut |record| {
        let Some((device, write, acknowledged)) = acknowledged(verifier, record) else { return };
        let lost = &mut lost[device];
        if !write.is_some_and(|write| lost.has_lost(write, acknowledged)) {
            lost.last_there = lost.last_there.max(Some(acknowledged));
        }
    })?;
    records.for_each(&mut |record| {
        let Some((device, _, acknowledged)) = acknowledged(verifier, record) else { return };
        let lost = &mut lost[device];
        lost.writes += u64::from(lost.last_there.is_none_or(|last| acknowledged > last));
    })?;
    let missing = verifier.first_targets().filter_map(|target| {
        let Lost { places, last_there, writes, .. } = &lost[verifier.places[target].device];
        let is_reported = !places.is_empty() && *writes >= FEWEST;
        is_reported.then_some(MissingWrites { target: target as u16, after: *last_there, writes: *writes })
    });
    Ok(missing.collect())
}

/// Lost places, by number of the device.
fn lost_places(verifier: &Verifier, faults: &[Fault]) -> Vec<Lost> {
    let mut lost: Vec<Lost> = verifier.devices.iter().map(|_| Lost::default()).collect();
    for fault in faults.iter().filter(|fault| fault.class == FaultClass::Lost && !fault.transient) {
        let place = verifier.places[usize::from(fault.target)];
        let lost = &mut lost[place.device];
        // A write found in place of the expected one is not missing.
        lost.last_there = lost.last_there.max(fault.found.and_then(|found| found.acknowledged));
        if let Some(due) = fault.expected.and_then(|write| write.acknowledged) {
            let sectors =
                Sectors::covering(iosonar_plan::Extent { offset: fault.offset, length: fault.length });
            lost.add(Sectors { start: sectors.start + place.base, ..sectors }, due);
        }
    }
    lost.iter_mut().for_each(|lost| lost.places.sort_by_key(|(place, _)| place.start));
    lost
}

/// The device of an acknowledged write, its sectors if it has whole ones, and when it was acknowledged.
fn acknowledged(verifier: &Verifier, record: &Record) -> Option<(usize, Option<Sectors>, Nanos)> {
    let is_write = record.op == Op::Write && !record.is_step() && record.outcome == Outcome::Completed;
    let acknowledged = record.completed.filter(|_| is_write)?;
    let device = verifier.places[usize::from(record.target)].device;
    Some((device, verifier.sectors(record.target, record.executed), acknowledged))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_is_lost_if_no_sector_has_it_or_a_later_one() {
        let mut lost = Lost::default();
        lost.add(Sectors::new(0, 8), Nanos(50));
        lost.add(Sectors::new(8, 8), Nanos(20));
        lost.add(Sectors::new(32, 8), Nanos(50));
        assert!(lost.has_lost(Sectors::new(0, 16), Nanos(20)));
        // The second half holds this write: only an earlier one is missing there.
        assert!(!lost.has_lost(Sectors::new(0, 16), Nanos(30)));
        assert!(
            lost.has_lost(Sectors::new(4, 4), Nanos(50)) && !lost.has_lost(Sectors::new(4, 4), Nanos(51))
        );
        assert!(
            !lost.has_lost(Sectors::new(12, 8), Nanos(1)) && !lost.has_lost(Sectors::new(28, 8), Nanos(1))
        );
        assert!(
            lost.has_lost(Sectors::new(34, 2), Nanos(50)) && !lost.has_lost(Sectors::new(64, 8), Nanos(1))
        );
    }
}
