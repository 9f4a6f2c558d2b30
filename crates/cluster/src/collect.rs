//! Records that machines have kept, added to the result of their run.

use crate::clock::ClockMap;
use crate::coordinator::Assembled;
use crate::launch::Launch;
use crate::merge::{PartClock, PartResult, add_part, merge_records, merge_series};
use crate::results::{place_of_records, report_of};
use crate::session::error_of;
use iosonar_analyze::HostReport;
use iosonar_archive::{Archive, ArchiveWriter, PARTS, RunInfo, RunState, remove_archive};
use iosonar_os::create;
use iosonar_runner::{Ended, Error, Session};
use iosonar_text::shown;
use std::path::{Path, PathBuf};

/// A machine of a result that has kept its records: its number, and where they are.
type Kept = (usize, PathBuf);

/// Fetches the records that the machines of a run have kept, and makes a new result with all records in the directory `dir`. The machines
/// remove their records when the result is written.
///
/// # Errors
/// No machine has kept records, none of them can be reached or has them, or the new result cannot be written; the machines keep their
/// records then.
pub fn collect(session: &Session, setup: &Launch, result: &Archive, dir: &Path) -> Result<Collected, Error> {
    let (plan, info) = (result.plan(), result.run());
    let kept = kept(info);
    if kept.is_empty() {
        let why = format!("{}: no host has kept records of it", shown(&result.dir()));
        return Err(Error::refused_because(why));
    }
    let archive =
        ArchiveWriter::create(dir, plan, &result.environment_json(), info).map_err(Error::refused)?;
    let parts_dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_path_buf()).join(PARTS);
    let parts_made = create::new_dir(&parts_dir).map_err(Error::broke)?;
    let received = fetch(session, setup, result, &kept, &parts_dir).and_then(|fetched| {
        let info = merged(result, fetched.parts, &fetched.unreached, &archive)?;
        Ok((fetched.all, fetched.unreached, info))
    });
    let (all, unreached, info) = match received {
        Ok(received) => received,
        Err(error) => {
            // The machines still have all of it.
            archive.discard();
            return Err(error);
        }
    };
    all.confirm();
    for number in 0..kept.len() {
        // Archives that cannot be removed do not affect the result.
        let _ = remove_archive(&parts_dir.join(number.to_string()));
    }
    let _ = parts_made.remove();
    Ok(Collected { ended: Ended { archive, info, skipped: 0 }, unreached })
}

/// A result with the records that were fetched.
pub struct Collected {
    /// The result.
    pub ended: Ended,
    /// Machines whose records were not fetched, with the reason of each. The result still has the places.
    pub unreached: Vec<String>,
}

/// Archives that were received.
struct Fetched<'a> {
    all: Assembled<'a>,
    /// Those that arrived, with the numbers of their machines.
    parts: Vec<(usize, PartResult)>,
    unreached: Vec<String>,
}

fn kept(info: &RunInfo) -> Vec<Kept> {
    let hosts = info.hosts.iter().enumerate();
    let place = hosts.filter_map(|(number, host)| {
        let of_lost = || host.lost.as_ref()?.records.as_ref();
        Some((number, host.records.as_ref().or_else(of_lost)?))
    });
    place.map(|(number, dir)| (number, PathBuf::from(dir))).collect()
}

/// Receives the archives of the machines, which still keep them.
fn fetch<'a>(
    session: &Session,
    setup: &Launch,
    result: &'a Archive,
    kept: &[Kept],
    to: &Path,
) -> Result<Fetched<'a>, Error> {
    let info = result.run();
    let wanted: Vec<(Vec<u16>, PathBuf)> =
        kept.iter().map(|(number, dir)| (info.hosts[*number].targets.clone(), dir.clone())).collect();
    let mut all = Assembled::fetch(setup, result.plan(), &wanted, to, &session.control)
        .map_err(|error| error_of(error, &session.control))?;
    let (mut parts, mut unreached) = (Vec::new(), Vec::new());
    for (place, ((number, _), reported)) in kept.iter().zip(all.reported()).enumerate() {
        match reported {
            Ok(own) => {
                let archive = Archive::open(&to.join(place.to_string())).map_err(Error::broke)?;
                parts.push((*number, part_of(info, *number, own, archive)));
            }
            Err(why) => unreached.push(why),
        }
    }
    Ok(Fetched { all, parts, unreached })
}

/// The part of a machine, on the clock of the run as it was read then.
fn part_of(info: &RunInfo, number: usize, own: RunInfo, archive: Archive) -> PartResult {
    let (host, here) = (&info.hosts[number], info.origin_monotonic_ns);
    let map = ClockMap::of_known(host.clock.as_ref(), here);
    PartResult {
        name: format!("host {}", host.name.as_deref().unwrap_or_default()),
        host: host.name.clone(),
        targets: host.targets.clone(),
        clock: PartClock { map, here, there: own.origin_monotonic_ns },
        info: own,
        archive: Some(archive),
        is_numbered: false,
        failed: None,
        unread: None,
    }
}

/// The result without the targets of the machines that are added.
fn rest_of(result: &Archive, added: &[(usize, PartResult)]) -> Result<PartResult, Error> {
    let is_added = |target: &u16| added.iter().any(|(_, part)| part.targets.contains(target));
    let all = 0..result.plan().targets.len() as u16;
    Ok(PartResult {
        name: shown(&result.dir()).to_string(),
        host: None,
        targets: all.filter(|target| !is_added(target)).collect(),
        archive: Some(Archive::open(result.dir()).map_err(Error::broke)?),
        info: result.run().clone(),
        clock: PartClock::default(),
        is_numbered: true,
        failed: None,
        unread: None,
    })
}

/// Writes the records of the result and of the added parts, and the facts about the run.
fn merged(
    result: &Archive,
    added: Vec<(usize, PartResult)>,
    unreached: &[String],
    archive: &ArchiveWriter,
) -> Result<RunInfo, Error> {
    let info = info_with(result.run().clone(), &added, unreached);
    let mut reports: Vec<HostReport> = serde_json::from_value(result.hosts_json()).unwrap_or_default();
    for (number, part) in &added {
        if let Some(report) = reports.get_mut(*number) {
            *report = report_of(part);
        }
    }
    let mut parts = vec![rest_of(result, &added)?];
    parts.extend(added.into_iter().map(|(_, part)| part));
    let mut made = archive.made_log().map_err(Error::broke)?;
    merge_records(result.plan(), &mut parts, made.log()).map_err(Error::broke)?;
    made.publish().map_err(Error::broke)?;
    if let Some(why) = parts.iter().find_map(|part| part.unread.as_ref()) {
        return Err(Error::broke_because(why));
    }
    // Additions, as at the end of a run.
    let _ = archive.write_hosts(&serde_json::to_value(reports).unwrap_or_default());
    let maps = parts.iter().filter_map(|part| part.archive.as_ref()?.maps().ok());
    let _ = archive.write_maps(maps.flatten());
    let _ = archive.series_log().and_then(|mut log| merge_series(&parts[..1], &mut log));
    archive.write_run(&info).map_err(Error::broke)?;
    Ok(info)
}

/// The facts about the run with those of the added parts.
fn info_with(mut info: RunInfo, added: &[(usize, PartResult)], unreached: &[String]) -> RunInfo {
    for (number, part) in added {
        add_part(&mut info, part);
        let host = &mut info.hosts[*number];
        let places = [host.records.take(), host.lost.as_mut().and_then(|lost| lost.records.take())];
        if let Some(lost) = &mut host.lost {
            lost.is_collected = true;
        }
        if let RunState::Broken(why) = &info.state {
            let place = |dir: &String| place_of_records(Path::new(dir));
            let why = places.iter().flatten().fold(why.to_string(), |why, dir| why.replace(&place(dir), ""));
            info.state = RunState::Broken(why.into());
        }
    }
    if info.state == RunState::Finished && !unreached.is_empty() {
        info.state = RunState::Broken(unreached.join("; ").into());
    }
    info.passes.sort_by_key(|pass| (pass.phase, pass.pass, pass.target, pass.job));
    info
}
