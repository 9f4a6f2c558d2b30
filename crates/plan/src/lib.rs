//! The Plan: everything a run is asked to do, complete before the first I/O.
//!
//! Every front end turns the user's input into a [`Plan`]; the engine executes it; the archive keeps it beside the results. A plan
//! is plain data: it prints as TOML (`--show-plan`), and `iosonar run` on that TOML does the same run again.
//!
//! This room knows no clock, no files and no operating system.

mod access;
mod alignments;
mod claim;
mod coordination;
mod data;
mod dedupe;
mod derived;
mod engine;
mod executor;
mod extent;
mod extra_reads;
mod faults;
mod file_step;
mod filter;
mod generator;
mod host_rules;
mod injection;
mod input_files;
mod invalid;
mod job_options;
mod memory;
mod mix;
mod one_line_strings;
mod op;
mod overlap;
mod pacing;
mod phase;
mod place;
mod plan;
mod plan_text;
mod probe;
mod rising;
mod rules;
mod sizes;
mod stamp;
mod strict;
mod sync_flag;
mod think_time;
mod trace_path;
mod units;
mod validate;
mod validate_coordination;
mod validate_engine;
mod validate_executor;
mod validate_extras;
mod validate_file_steps;
mod validate_generator;
mod validate_injection;
mod validate_phase;
mod validate_verification;
mod verification;
mod window;
mod workload;

pub use access::Access;
pub use alignments::Alignments;
pub use claim::{Claim, UnknownClaim};
pub use coordination::{Amount, Begins, Coordination, Ends, Lockstep, PhaseEnd, Trigger};
pub use data::{Fill, RunId};
pub use dedupe::Dedupe;
pub use engine::{
    Engine, MapAdvice, MmapOptions, MsyncPolicy, SimChange, SimModel, SimStall, StdioOptions, UringOptions,
    Vectors,
};
pub use executor::{Executor, Host};
pub use extent::Extent;
pub use extra_reads::ExtraReads;
pub use faults::{Faults, ShortPolicy};
pub use file_step::{FileStep, ParseFileStepError};
pub use filter::{Filter, ParseFilterError, Pipeline};
pub use generator::{AtEnd, FlushOp, FlushRule, Generator, Order, Pace, Process, Sharing, Stop};
pub use host_rules::{Collect, HostClocks, HostRules, LostHost};
pub use injection::{Injection, InjectionKind, Occasion, ParseInjectionError};
pub use invalid::{InvalidPlan, Term};
pub use job_options::{BetweenPasses, Data, FileLifecycle, JobOptions};
pub use memory::Memory;
pub use mix::ReadMix;
pub use op::{Direction, Durability, Op};
pub use overlap::{Overlap, OverlapPolicy, Strong};
pub use pacing::{DEFAULT_SPIN, Pacing};
pub use phase::{Cell, Job, Phase};
pub use place::{Placed, Placement, PlacementError};
pub use plan::{PLAN_VERSION, Plan, PlanError, Target};
pub use probe::{Probe, UnknownProbe};
pub use rising::{Rising, RisingShape};
pub use sizes::{BlockSizes, SizeRange, SizeShare, Space, Zone};
pub use stamp::Stamp;
pub use sync_flag::SyncFlag;
pub use think_time::ThinkTime;
pub use trace_path::{NoWindows, TracePath};
pub use units::{ByteSize, Decimal, Nanos, ParseUnitError, SECTOR, Speed};
pub use validate::{LONGEST_SAMPLE, SHORTEST_SAMPLE};
pub use verification::{ExpectedData, JobVerification, Verification, VerifyModes};
pub use window::Window;
pub use workload::{Backward, IssuePolicy, LoadPace, LoadPart, TraceReplay, Workload};
