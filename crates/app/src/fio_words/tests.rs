//! Every option of fio is known, and typed words are translated as intended.

use super::table::WORDS;
use super::*;

/// `fio --cmdhelp=all` of fio 3.33, names only.
const OPTIONS: &str = include_str!("../../tests/fixtures/fio/options-3.33.txt");

fn run(line: &str) -> Result<Translated, String> {
    translate(["iosonar", "run"].into_iter().chain(line.split_whitespace()).map(OsString::from))
}

#[track_caller]
fn ours(line: &str) -> String {
    let args = run(line).unwrap().args;
    args[2..].iter().map(|arg| arg.to_str().unwrap()).collect::<Vec<_>>().join(" ")
}

#[test]
fn every_option_of_fio_is_in_the_table_once() {
    let mut names: Vec<&str> = WORDS.iter().flat_map(|word| word.names).copied().collect();
    for option in OPTIONS.lines() {
        assert!(word(option).is_some(), "{option} is an option of fio, and the table has it not");
    }
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count, "a name stands twice in the table");
    assert!(OPTIONS.lines().count() > 200);
}

#[test]
fn translates_fio_options() {
    for (fio, want) in [
        ("--filename=/dev/sda:b\\:c --rw randread", "--target=/dev/sda --target=b:c --rw=randread"),
        ("--bs 4KB --size=1GB --direct=1", "--bs=4K --size=1G"),
        ("--bssplit=4kb/60:64kB/40 --bs=,8kb", "--bssplit=4k/60:64k/40 --bs=,8k"),
        ("--bs=4KiB --bs=512b --bs=8s", "--bs=4KiB --bs=512b --bs=8s"),
        ("--direct=0 --time_based --time_based=0", "--buffered --time-based"),
        ("--time_based 1 plan.toml", "--time-based plan.toml"),
        (
            "-filename=/dev/sda -direct=1 -iodepth 4 -rw=randread -bs=16k",
            "--target=/dev/sda --iodepth=4 --rw=randread --bs=16k",
        ),
        ("-nice -5 -rw=read", "--nice=-5 --rw=read"),
        ("-t a.img -o out -bs 4k", "-t a.img -o out --bs=4k"),
        ("--rwmixwrite=30 --startdelay 5 --loops=3", "--rwmixread=70 --start-delay=5 --passes=3"),
        ("--ioengine=libaio --ioengine=io_uring", "--engine=aio --engine=uring"),
        ("--ioengine psync --group_reporting --thread --name=a", "--engine=threads --name=a"),
        ("--ioengine=sync --ioengine=vsync", "--engine=sync --engine=vsync"),
        ("--sync --rw=read --sync=0 --sync 1 --sync=dsync", "--sync --rw=read --sync --sync=dsync"),
        ("--io_limit=50% --readonly", "--io-size=50% --readonly"),
        ("--gtod_reduce=1 --minimal --write_lat_log=x --output o.txt --rw=read", "--rw=read"),
        ("--mem=mmaphuge --iomem=malloc --pre_read=0 --nrfiles=1", "--hugepages"),
        ("--output-format=normal --eta=never --randseed=3", "--no-progress --seed=3"),
        ("--zero_buffers --buffer_compress_percentage=30", "--fill-random=0 --fill-random=70"),
        ("--nice -5 -t a b --fill_random=3", "--nice=-5 -t a b --fill-random=3"),
        (
            "--thinktime=5 --thinktime_spin 2ms --thinktime_blocks=8",
            "--thinktime=5us --thinktime-spin=2ms --thinktime-blocks=8",
        ),
        ("-t a -- --filename", "-t a -- --filename"),
    ] {
        assert_eq!(ours(fio), want, "{fio}");
    }
    assert!(run("--filename=a:b").unwrap().notes[0].contains("each of the 2 targets"));
    let other = translate(["iosonar", "replay", "--filename=a"].into_iter().map(OsString::from)).unwrap();
    assert_eq!(other.args[2], "--filename=a");
}

#[test]
fn rejects_unsupported_fio_options_by_name() {
    for (line, why) in [
        ("--thinktime_iotime=5", "run has not yet: pauses"),
        ("--sync_file_range=write:8", "use --fsync N"),
        ("--iodepth-low=4", "run has not: each request"),
        ("--ioengine=rbd", "--ioengine=rbd: there is no such engine"),
        ("--output-format=terse", "--json prints the summary"),
        ("--output-format=json", "--json prints the summary"),
        ("--pre_read=1", "--passes 2"),
        ("--nrfiles=2", "name each target"),
        ("--verify=crc32c", "--verify read,final"),
        ("--rw=randtrimwrite", "--rwmixtrim 50"),
        ("--sync=often", "O_DSYNC"),
        ("--name=a --rw=read --name=b", "two jobs"),
        ("--loops=3 --runtime=5", "--passes"),
        ("--bs", "--bs needs a value"),
        ("-filename -direct=1", "-filename needs a value"),
        ("--direct=2", "known are 0, 1"),
        ("--rwmixwrite=101", "from 0 to 100"),
    ] {
        let error = run(line).unwrap_err();
        assert!(error.contains(why), "{line}: {error}");
    }
}

#[test]
fn notes_options_with_different_meaning() {
    for (line, wanted) in [
        (
            "--rw=randread --numjobs=4 --rate_iops=100 --time_based --runtime=3",
            &["400 in all: --rate-iops=400"][..],
        ),
        ("--rw=randread --numjobs 4 --rate-iops 100 --time-based --runtime 3", &["400 in all"]),
        (
            "--rw=randrw --rate_iops=200 --runtime=3 --time_based",
            &["for reads and for writes, each, 400 in all"],
        ),
        (
            "--rw=rw --numjobs=2 --rate=1m --time_based",
            &["4m in all: --rate=4m --rwmixread=50", "share one sequence"],
        ),
        ("--rw=randread --numjobs=4 --size=16m", &["--size=16m together here", "--io-size=64m"]),
        ("--rw=randread --numjobs=3 --number_ios=10", &["--number-ios=30"]),
        ("--rw=read --numjobs=2 --size=50%", &["--passes=2"]),
        ("--filename=a --rw=randread", &["without --direct=1"]),
        ("--filename=a --rw=randread --direct=0", &["cache evict FILE"]),
        ("--filename=a --rw=randread --direct=1 --iodepth=32", &["uses psync"]),
        ("--rw=randread --direct=1 --iodepth=32 --ioengine=psync", &["--iodepth=1 is as in fio"]),
    ] {
        let notes = run(line).unwrap().notes.join("\n");
        assert!(wanted.iter().all(|wanted| notes.contains(wanted)), "{line}: {notes}");
    }
    for line in [
        "--target=a --rw=randread --iodepth 32 --runtime 60",
        "--filename=a --rw=randread --direct=1 --ioengine=libaio --iodepth=4 --numjobs=4 --time_based --runtime=1",
        "--filename=a --rw=randwrite --direct=0 --numjobs=1 --rate_iops=5",
        "plan.toml --destroy",
    ] {
        assert_eq!(run(line).unwrap().notes, [""; 0], "{line}");
    }
}

#[test]
fn translates_job_file_to_commands() {
    let text = "; a comment\n[global]\nrw=randread\nbs = 4k # here, too\ndirect=1\nioengine=libaio\n\n[one]\nfilename=/dev/sdx\n\
                time_based\nruntime=5\nthinktime_iotime=3\n[two]\nname=b c\nsize=2G\nrw=read\n";
    let all = |_: &[OsString]| Ok(());
    let found = suggestions_for_job_file(text, &all).unwrap();
    assert_eq!(
        found,
        [
            "iosonar run --name=one --rw=randread --filename=/dev/sdx --bs=4k --direct=1 --ioengine=libaio --time_based --runtime=5",
            "  omitted: thinktime_iotime=3",
            "iosonar fill b_c.0.0 --size 2G",
            "iosonar run --name=b_c --filename=b_c.0.0 --rw=read --bs=4k --direct=1 --ioengine=libaio --size=2G",
            "fio runs these jobs at the same time, and a shell one after the other: docs/plan.md shows plans with several"
        ]
    );
    for text in ["", "[one]\n", "hello\n", "version = 2\n[engine]\nkind = \"null\"\n"] {
        assert_eq!(suggestions_for_job_file(text, &all), None, "{text}");
    }
}
