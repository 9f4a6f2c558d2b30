//! Every option of fio 3.33, and its translation after `run`.
//!
//! Names are written with `_`, as in fio; a hyphen in its place is accepted. Options that fio lacks are not listed: they are ours.

use super::values::{self, Read};

/// An option of fio.
pub struct Word {
    /// Its name, then its aliases.
    pub names: &'static [&'static str],
    pub meaning: Meaning,
}

/// Translation of an option.
pub enum Meaning {
    /// Our option of this name, with the same value.
    Same(&'static str),
    /// Our option of this name; the value has sizes in fio's form.
    Size(&'static str),
    /// A switch, which may have the value 0 or 1, and our switches for both; "" where no option is needed.
    Switch { on: &'static str, off: &'static str },
    /// One of these values, and our words for each; for others the reason for refusing them.
    Choice { values: &'static [(&'static str, &'static str)], or_else: &'static str },
    /// Its value makes no difference here.
    Ignored,
    /// It changes no request, but selects something that has an alternative here, named in a note.
    Noted(Takes, &'static str),
    /// Translates the value.
    Read(fn(&str) -> Result<Read, String>),
    /// Refused: the reason, and an alternative.
    None(&'static str),
    /// Not supported yet.
    Later(&'static str),
}

/// Syntax of the value of an option that changes no request.
pub enum Takes {
    /// 0 or 1, or nothing.
    Switch,
    Value,
    /// A value, or nothing.
    PerhapsValue,
}

use Meaning::{Choice, Ignored, Later, None as No, Noted, Same, Size, Switch};
use Takes::{PerhapsValue, Value};

const fn word(names: &'static [&'static str], meaning: Meaning) -> Word {
    Word { names, meaning }
}

const BLOCKS: &str = "requests start at multiples of --bs, counted from --offset";
const FILES: &str = "name each target with --target; a file has to be there before (truncate -s 1g FILE), or made with --create \
                     and --steps";
const HANDED: &str = "each request is issued as soon as fewer than --iodepth are in flight";
const CHECKS: &str = "checks are --verify read,final: faults are named, and the exit code is 5";
const CHECKS_LATER: &str = "every result keeps what its run wrote: 'iosonar verify RESULT' verifies that later, also after a crash \
                            (--mode after-crash; the run gets --journal FILE)";
const TRIGGERS: &str = "cut the power or kill the run from outside, and start it with --journal FILE: 'iosonar verify RESULT --mode \
                        after-crash' finds what was lost";
const RECORDED: &str = "every request is recorded: 'iosonar convert RESULT --to csv' prints all of them, 'iosonar plot RESULT' draws \
                        them over time";
const REPLAYS: &str =
    "recorded workloads are replayed by 'iosonar replay'; 'iosonar convert LOG x.load' reads logs of fio";
const CPUS: &str = "use --pin 2,4-7, or numactl(8) around the command";
const ZONES: &str =
    "zoned devices are not supported; --random-distribution zoned:60/10:40/90 distributes requests";
const TRIMS: &str = "discards are --rw trim, --rw randtrim, and --rwmixtrim for a share of the writes";
const THINKTIME: &str =
    "pauses follow a number of requests: use --thinktime with --thinktime-blocks, or --rate-iops";
const SYNCS: &str = "use --fsync N or --fdatasync N";
const CONTENT: &str =
    "written data is unique and --fill-random percent of it incompressible; --data chooses it with --steps";
const DEDUPES: &str = "fio repeats whole buffers within a file; --data dedupe:percent=50 makes half of each unit equal on all \
                       targets, and constant=P a part of that within a target";
const ERROR_REMEDY: &str = "use --max-errors N to stop a target after N failed requests";
const LIMITS: &str = "use --bad-latency TIME to mark a run as failed, or 'iosonar knee' to find the rate that a target sustains";
const JOBS: &str = "a run has one job: start one after the other in a shell, or write a plan with several targets \
                    (docs/plan.md)";
const FLOW: &str = "use --lockstep with --steps to let targets wait for each other";
const PRIORITY: &str = "use --realtime, --nice, or ionice(1) around the command";
const TIMES: &str = "every request has its times; they cost some nanoseconds (docs/performance.md)";
const MERGES: &str =
    "use 'iosonar load derive' to put workloads side by side, or 'iosonar load filter merge:FILE'";
const STEADY: &str = "use 'iosonar analyze DIR' after the run: it finds where the run is steady";
const BATCHES: &str = "each request is issued as soon as fewer than --iodepth are in flight";
const SUMMARY: &str =
    "the summary goes to standard output, and 'iosonar show RESULT --all > FILE' writes it again";
const FIGURES: &str = "'iosonar show RESULT --json' prints figures for programs, 'iosonar convert RESULT --to csv' every request";
const ONE_JOB: &str = "a run has one job";
const NO_FILES: &str = "run makes no files";
const DIAGNOSED: &str = "'iosonar show RESULT --all' says how well the run itself did";
const CLIENTS: &str = "a run is on one machine: use ssh";

/// All options, the most common ones first.
pub const WORDS: &[Word] = &[
    word(&["filename"], Meaning::Read(values::filename)),
    word(&["name"], Same("name")),
    word(&["rw", "readwrite"], Meaning::Read(values::rw)),
    word(&["bs", "blocksize"], Size("bs")),
    word(&["bsrange", "blocksize_range"], Size("bsrange")),
    word(&["bssplit"], Size("bssplit")),
    word(&["ioengine"], Meaning::Read(values::ioengine)),
    word(&["iodepth"], Same("iodepth")),
    word(&["direct"], Switch { on: "", off: "buffered" }),
    word(&["buffered"], Switch { on: "buffered", off: "" }),
    word(&["size"], Size("size")),
    word(&["io_size", "io_limit"], Size("io-size")),
    word(&["offset", "fileoffset"], Size("offset")),
    word(&["number_ios"], Same("number-ios")),
    word(&["numjobs"], Same("numjobs")),
    word(&["runtime", "timeout"], Same("runtime")),
    word(&["time_based"], Switch { on: "time-based", off: "" }),
    word(&["ramp_time"], Same("ramp-time")),
    word(&["startdelay"], Same("start-delay")),
    word(&["loops"], Same("passes")),
    word(&["rate"], Size("rate")),
    word(&["rate_iops"], Same("rate-iops")),
    word(&["rate_process"], Same("rate-process")),
    word(&["thinktime"], Meaning::Read(values::thinktime)),
    word(&["thinktime_spin"], Meaning::Read(values::thinktime_spin)),
    word(&["thinktime_blocks"], Same("thinktime-blocks")),
    word(&["rwmixread"], Same("rwmixread")),
    word(&["rwmixwrite"], Meaning::Read(values::rwmixwrite)),
    word(&["random_distribution"], Size("random-distribution")),
    word(&["norandommap"], Switch { on: "norandommap", off: "" }),
    word(&["randseed"], Same("seed")),
    word(&["randrepeat", "allrandrepeat"], Meaning::Read(values::randrepeat)),
    word(&["percentile_list"], Same("percentile-list")),
    word(&["output_format"], Meaning::Read(values::output_format)),
    word(&["nice"], Same("nice")),
    word(&["cpus_allowed"], Same("pin")),
    word(&["sync"], SYNC),
    word(&["unlink"], Switch { on: "unlink", off: "" }),
    word(&["end_fsync"], Switch { on: "end-fsync", off: "" }),
    word(&["fsync"], Same("fsync")),
    word(&["fdatasync"], Same("fdatasync")),
    word(&["iomem_align", "mem_align"], Size("align")),
    word(&["verify"], Meaning::Read(values::verify)),
    word(&["verify_fatal"], Switch { on: "verify-fatal", off: "" }),
    word(&["verify_dump"], Switch { on: "verify-dump", off: "" }),
    word(&["zero_buffers"], Switch { on: "fill-random=0", off: "" }),
    word(&["buffer_compress_percentage"], Meaning::Read(values::compressible)),
    word(&["serialize_overlap"], Switch { on: "overlap=order", off: "" }),
    word(&["continue_on_error"], CONTINUES),
    word(&["fallocate"], Meaning::Read(values::fallocate)),
    word(&["hipri"], Switch { on: "hipri", off: "" }),
    word(&["sqthread_poll"], Switch { on: "sqpoll", off: "" }),
    word(
        &["eta"],
        Choice {
            values: &[("always", ""), ("auto", ""), ("never", "--no-progress")],
            or_else: "known are always, auto and never",
        },
    ),
    word(&["status_interval", "eta_newline"], Same("progress-every")),
    // Options that are the default here, or have no effect.
    word(&["description", "random_generator", "unified_rw_reporting", "unit_base"], Ignored),
    word(&["group_reporting", "thread", "invalidate", "refill_buffers", "scramble_buffers"], NOTHING),
    word(&["clat_percentiles", "lat_percentiles", "slat_percentiles", "disk_util"], NOTHING),
    word(&["overwrite", "exitall", "create_serialize"], NOTHING),
    word(&["registerfiles", "fixedbufs", "nonvectored", "userspace_reap"], NOTHING),
    word(
        &["kb_base"],
        Choice { values: &[("1024", "")], or_else: "there is 1024 alone: k and KB are 1024 bytes" },
    ),
    word(
        &["io_submit_mode"],
        Choice {
            values: &[("inline", "")],
            or_else: "with --rate-iops requests are due whether the target follows or not, which is what offload is for: leave it \
                  out",
        },
    ),
    word(&["zonemode"], Choice { values: &[("none", "")], or_else: ZONES }),
    word(
        &["thinktime_blocks_type"],
        Choice {
            values: &[("complete", "")],
            or_else: "a pause starts when the requests before it have completed",
        },
    ),
    // Options that change no request, but select something that has an alternative here.
    word(&["clocksource", "gtod_cpu"], Noted(Value, TIMES)),
    word(&["gtod_reduce", "disable_lat", "disable_clat", "disable_slat"], Noted(Takes::Switch, TIMES)),
    word(&["disable_bw_measurement", "disable_bw"], Noted(Takes::Switch, TIMES)),
    word(&["stats"], Noted(Takes::Switch, SUMMARY)),
    word(&["significant_figures"], Noted(Value, "percentiles are right to 0.1 %; --json prints nanoseconds")),
    word(&["block_error_percentiles"], Noted(Takes::Switch, FIGURES)),
    word(
        &["write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log"],
        Noted(PerhapsValue, RECORDED),
    ),
    word(
        &["write_iolog"],
        Noted(Value, "every request is recorded: 'iosonar convert RESULT x.iolog' makes a log of fio"),
    ),
    word(&["per_job_logs", "log_max_value", "log_offset", "log_prio"], Noted(Takes::Switch, RECORDED)),
    word(&["log_store_compressed", "log_unix_epoch", "log_alternate_epoch"], Noted(Takes::Switch, RECORDED)),
    word(&["bandwidth_log"], Noted(Takes::Switch, RECORDED)),
    word(
        &["bwavgtime", "iopsavgtime", "log_entries", "log_avg_msec", "log_hist_msec"],
        Noted(Value, RECORDED),
    ),
    word(&["log_hist_coarseness", "log_compression", "log_compression_cpus"], Noted(Value, RECORDED)),
    word(&["log_alternate_epoch_clock_id"], Noted(Value, RECORDED)),
    word(&["output"], Noted(Value, SUMMARY)),
    word(&["minimal", "append_terse"], Noted(Takes::Switch, FIGURES)),
    word(&["terse_version"], Noted(Value, FIGURES)),
    word(&["iodepth_batch", "iodepth_batch_submit", "iodepth_batch_complete_min"], Noted(Value, BATCHES)),
    word(&["iodepth_batch_complete", "iodepth_batch_complete_max"], Noted(Value, BATCHES)),
    word(&["stonewall", "wait_for_previous", "new_group"], Noted(Takes::Switch, ONE_JOB)),
    word(&["exit_what", "max_jobs"], Noted(Value, ONE_JOB)),
    word(&["create_fsync", "allow_file_create"], Noted(Takes::Switch, NO_FILES)),
    word(&["openfiles"], Noted(Value, NO_FILES)),
    word(&["unique_filename"], Noted(Takes::Switch, NO_FILES)),
    word(&["alloc_size"], Noted(Value, "memory of the program is not limited")),
    word(&["aux_path"], Noted(Value, "--out DIR names the directory of the result")),
    word(&["warnings_fatal"], Noted(Takes::Switch, "a line that cannot be executed as a whole is refused")),
    word(
        &["error_dump"],
        Noted(Takes::Switch, "failed requests are counted, and recorded with their errors"),
    ),
    word(&["rate_cycle", "ratecycle"], Noted(Value, "due times follow from the rate alone")),
    word(&["idle_prof"], Noted(PerhapsValue, DIAGNOSED)),
    word(&["debug"], Noted(Value, DIAGNOSED)),
    word(&["lockmem"], Noted(Value, "memory is not locked; --buffer-memory says how much data takes")),
    word(&["hugepage_size"], Noted(Value, "--hugepages takes those of the kernel's default size")),
    word(&["readonly"], Switch { on: "readonly", off: "" }),
    // Options that are not supported yet.
    word(&["thinktime_iotime", "rate_ignore_thinktime"], Later(THINKTIME)),
    word(&["sync_file_range", "write_barrier"], No(SYNCS)),
    // Options that are refused.
    word(
        &["ba", "blockalign", "bs_unaligned", "blocksize_unaligned", "bs_is_seq_rand", "offset_align"],
        No(BLOCKS),
    ),
    word(
        &["offset_increment"],
        No("jobs share one sequence; use --target-offset with --steps to move targets apart"),
    ),
    word(
        &["rw_sequencer", "percentage_random"],
        No("requests are either sequential or random; use --steps for series"),
    ),
    word(&["directory", "filename_format", "opendir", "lockfile"], No(FILES)),
    word(&["nrfiles", "nr_files"], Choice { values: &[("1", "")], or_else: FILES }),
    word(&["file_service_type", "filesize", "file_append", "filetype"], No(FILES)),
    word(&["create_on_open", "create_only"], No(FILES)),
    word(
        &["fill_device", "fill_fs"],
        No("a run ends with the target; give --rw write without --size to write all of it"),
    ),
    word(&["unlink_each_loop"], No("use --between-passes recreate with --steps")),
    word(&["fsync_on_close"], No("use --end-fsync, or --after-pass fsync,close")),
    word(&["fadvise_hint"], No("runs go past the page cache; with --buffered the kernel decides")),
    word(&["pre_read"], No("use --buffered and a first pass (--passes 2) to warm the page cache")),
    word(&["write_hint"], No("writes have no lifetime")),
    word(&["atomic"], No("there are no atomic writes")),
    word(
        &["allow_mounted_write"],
        No("a device that is mounted, held or in use is never written; --destroy allows others"),
    ),
    word(&["mem", "iomem"], Meaning::Read(values::mem)),
    word(&["iodepth_low"], No(HANDED)),
    word(
        &["sqthread_poll_cpu", "uncached", "nowait", "force_async", "cmd_type", "hipri_percentage"],
        No(HANDED),
    ),
    word(&["cmdprio_percentage", "cmdprio_class", "cmdprio", "cmdprio_bssplit"], No(PRIORITY)),
    word(&["prio", "prioclass"], No(PRIORITY)),
    word(&["cpumask", "cpus_allowed_policy", "numa_cpu_nodes", "numa_mem_policy"], No(CPUS)),
    word(&["cgroup", "cgroup_nodelete", "cgroup_weight"], No("use 'systemd-run --scope' around the command")),
    word(&["uid", "gid"], No("use sudo(8) or setpriv(1) around the command")),
    word(&["exec_prerun", "exec_postrun"], No("run the command before or after it in the shell")),
    word(&["ioscheduler"], No("write it to /sys/block/DEVICE/queue/scheduler before the run")),
    word(
        &["zonesize", "zonecapacity", "zonerange", "zoneskip", "read_beyond_wp", "max_open_zones"],
        No(ZONES),
    ),
    word(
        &["job_max_open_zones", "ignore_zone_limits", "zone_reset_threshold", "zone_reset_frequency"],
        No(ZONES),
    ),
    word(&["trim_percentage", "trim_verify_zero", "trim_backlog", "trim_backlog_batch"], No(TRIMS)),
    word(&["verify_only", "do_verify", "verify_state_load", "verify_state_save"], No(CHECKS_LATER)),
    word(&["verify_interval", "verify_offset", "verify_pattern"], No(CHECKS)),
    word(&["verify_async", "verify_async_cpus", "verify_backlog"], No(CHECKS)),
    word(&["verify_backlog_batch", "experimental_verify"], No(CHECKS)),
    word(&["buffer_pattern", "buffer_compress_chunk"], No(CONTENT)),
    word(&["dedupe_percentage", "dedupe_mode"], No(DEDUPES)),
    word(&["dedupe_working_set_percentage", "dedupe_global"], No(DEDUPES)),
    word(
        &["read_iolog", "read_iolog_chunked", "replay_no_stall", "replay_redirect", "replay_scale"],
        No(REPLAYS),
    ),
    word(&["replay_align", "replay_time_scale", "replay_skip"], No(REPLAYS)),
    word(&["merge_blktrace_file", "merge_blktrace_scalars", "merge_blktrace_iters"], No(MERGES)),
    word(&["inflate_log"], No(RECORDED)),
    word(&["rate_min", "ratemin", "rate_iops_min"], No(LIMITS)),
    word(
        &["max_latency", "latency_target", "latency_window", "latency_percentile", "latency_run"],
        No(LIMITS),
    ),
    word(&["ignore_error", "exitall_on_error"], No(ERROR_REMEDY)),
    word(&["wait_for", "profile"], No(JOBS)),
    word(&["flow_id", "flow", "flow_sleep"], No(FLOW)),
    word(
        &["steadystate", "ss", "steadystate_duration", "ss_dur", "steadystate_ramp_time", "ss_ramp"],
        No(STEADY),
    ),
    // Options of the command itself.
    word(&["parse_only", "showcmd"], No("use --show-plan: it prints the plan and stops")),
    word(&["section"], No(JOBS)),
    word(&["cpuclock_test", "crctest"], No(DIAGNOSED)),
    word(&["cmdhelp", "enghelp"], No("use -h or --help after the command")),
    word(&["server", "daemonize", "client", "remote_config"], No(CLIENTS)),
    word(&["trigger", "trigger_remote", "trigger_file", "trigger_timeout"], No(TRIGGERS)),
    word(&["merge_blktrace_only"], No(MERGES)),
];

/// Options that run lacks, and whose value 0 is the default here.
pub const OFF: &[&str] = &[
    "allow_mounted_write",
    "atomic",
    "blocksize_unaligned",
    "bs_is_seq_rand",
    "bs_unaligned",
    "create_on_open",
    "create_only",
    "dedupe_percentage",
    "exitall_on_error",
    "experimental_verify",
    "file_append",
    "fill_device",
    "fill_fs",
    "force_async",
    "fsync_on_close",
    "nowait",
    "offset_increment",
    "percentage_random",
    "pre_read",
    "rate_ignore_thinktime",
    "trim_percentage",
    "uncached",
    "unlink_each_loop",
    "verify_async",
    "verify_backlog",
    "verify_only",
    "verify_state_load",
    "verify_state_save",
    "write_barrier",
];

/// A switch that selects the default.
const NOTHING: Meaning = Switch { on: "", off: "" };

const SYNC: Meaning = Choice {
    values: &[
        ("1", "--sync"),
        ("sync", "--sync"),
        ("dsync", "--sync=dsync"),
        ("rsync", "--sync=rsync"),
        ("0", ""),
        ("none", ""),
    ],
    or_else: "there are none, sync (O_SYNC) and dsync (O_DSYNC): use --sync=dsync",
};

const CONTINUES: Meaning = Choice {
    values: &[("none", "--max-errors=0"), ("all", ""), ("io", ""), ("read", ""), ("write", "")],
    or_else: "known are none, read, write, io and all; --max-errors N stops a target after N failed requests",
};
