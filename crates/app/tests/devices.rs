//! Replays on real devices: loop devices that the tests create and remove, the kernel's own trace of them, faults, and other programs
//! reading the records.
//!
//! All of it needs root. One test runs at a time, since two would disturb each other's times.

#[macro_use]
#[path = "devices/common.rs"]
mod common;
#[path = "devices/bad_luck.rs"]
mod bad_luck;
#[path = "devices/blkreplay.rs"]
mod blkreplay;
#[path = "devices/blocks.rs"]
mod blocks;
#[path = "devices/cluster.rs"]
mod cluster;
#[path = "devices/data.rs"]
mod data;
#[path = "devices/discards.rs"]
mod discards;
#[path = "devices/disturbed.rs"]
mod disturbed;
#[path = "devices/documented.rs"]
mod documented;
#[path = "devices/experiments.rs"]
mod experiments;
#[path = "devices/faults.rs"]
mod faults;
#[path = "devices/fill.rs"]
mod fill;
#[path = "devices/flushes.rs"]
mod flushes;
#[path = "devices/full_disks.rs"]
mod full_disks;
#[path = "devices/generator.rs"]
mod generator;
#[path = "devices/guard.rs"]
mod guard;
#[path = "devices/history.rs"]
mod history;
#[path = "devices/host_verbs.rs"]
mod host_verbs;
#[path = "devices/hosts.rs"]
mod hosts;
#[path = "devices/in_use.rs"]
mod in_use;
#[path = "devices/iozone.rs"]
mod iozone;
#[path = "devices/kernel.rs"]
mod kernel;
#[path = "devices/knee.rs"]
mod knee;
#[path = "devices/layout.rs"]
mod layout;
#[path = "devices/layout_free.rs"]
mod layout_free;
#[path = "devices/layout_latency.rs"]
mod layout_latency;
#[path = "devices/layout_run.rs"]
mod layout_run;
#[path = "devices/machines.rs"]
mod machines;
#[path = "devices/outputs.rs"]
mod outputs;
#[path = "devices/path.rs"]
mod path;
#[path = "devices/probe.rs"]
mod probe;
#[cfg(feature = "mpi")]
#[path = "devices/ranks.rs"]
mod ranks;
#[path = "devices/readers.rs"]
mod readers;
#[path = "devices/record.rs"]
mod record;
#[path = "devices/recorded.rs"]
mod recorded;
#[path = "devices/series.rs"]
mod series;
#[path = "devices/shapes.rs"]
mod shapes;
#[path = "devices/validity.rs"]
mod validity;
#[path = "devices/verify.rs"]
mod verify;
#[path = "devices/vm.rs"]
mod vm;
#[path = "devices/vm_crash.rs"]
mod vm_crash;
#[path = "devices/vm_judged.rs"]
mod vm_judged;
#[path = "devices/vm_path.rs"]
mod vm_path;
#[path = "devices/vm_verify.rs"]
mod vm_verify;
#[path = "devices/xdd.rs"]
mod xdd;
