//! Facts about this machine for XDD's results.

use iosonar_dialect_xdd::SystemFacts;
use iosonar_host::{Root, environment};
use iosonar_plan::Nanos;

/// The machine, now.
pub fn machine() -> SystemFacts {
    let it = environment::capture(&[], &Root::default());
    let known = |fact: Option<&String>| fact.map_or("unknown".into(), |text| text.trim().to_string());
    let (release, version) = (known(it.kernel.release.known()), known(it.kernel.version.known()));
    let page_size = it.memory.page_size;
    SystemFacts {
        computer: known(it.hostname.known()),
        user: std::env::var("USER").unwrap_or_else(|_| format!("uid {}", it.process.uid)),
        system: format!("Linux {release} {version}"),
        hardware: std::env::consts::ARCH.into(),
        processors: it.cpu.count.known().map_or(0, |n| u32::try_from(*n).unwrap_or(u32::MAX)),
        page_size,
        pages: it.memory.total.known().map_or(0, |bytes| bytes / page_size.max(1)),
        until_start: Nanos(0),
    }
}
