//! The machines of the streams.

use crate::exit::Failure;
use anyhow::anyhow;
use iosonar_cluster::Placement;
use iosonar_dialect_iozone::{Client, Settings, read_clients};
use iosonar_os::bounded::{TEXT_LIMIT, read_text};
use iosonar_plan::Host;
use std::path::Path;

/// Adds the machines of `-+m` or `--on` to the settings.
pub fn with_clients(settings: &Settings) -> Result<Settings, Failure> {
    let Some(file) = &settings.cluster else {
        let typed = Placement::parse(&settings.on).map_err(|why| Failure::refused(anyhow!("--on {why}")))?;
        let client = |(name, file): (Option<&str>, Option<&Path>)| Client {
            host: name.map(Host::new),
            file: file.map(|file| file.to_string_lossy().into_owned()),
        };
        return Ok(Settings { clients: typed.places().map(client).collect(), ..settings.clone() });
    };
    let text = read_text(Path::new(file), TEXT_LIMIT)
        .map_err(|why| Failure::refused(anyhow!("-+m {file}: {why}")))?;
    let clients = read_clients(file, &text).map_err(Failure::refused)?;
    Ok(Settings { clients, ..settings.clone() })
}
