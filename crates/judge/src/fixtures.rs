//! Other machines, as trees of `/proc` and `/sys`: through the code that reads them to the detectors. The files have the form given by the
//! kernel's documentation and by such machines; the run on them is synthetic.

use crate::detectors::detector_of;
use crate::device_of;
use crate::testing::Lab;
use iosonar_analyze::{Detection, DetectorId, Level, Verdict};
use iosonar_evidence::{Environment, Fact, Series, TargetFacts};
use iosonar_host::sampler::Sampler;
use iosonar_host::{Root, environment, identify};
use iosonar_plan::Claim;
use iosonar_testkit::KernelTree;

const MIB: u64 = 1 << 20;

/// A tree, and the file `/f` in it as the target.
struct Machine {
    tree: KernelTree,
}

/// State of a run of 64 MiB on it, by counters at its start and at its end.
struct Finding {
    before: Environment,
    after: Environment,
    samples: Vec<(u64, Series, f64)>,
}

impl Machine {
    /// `mount` is the end of a line of mountinfo: number, root, mount point, options and the remaining fields.
    fn new(mount: &str) -> Machine {
        let tree = KernelTree::new();
        tree.file("/f", "data").mountinfo("self", &format!("1 0 {mount}\n"));
        tree.file(
            "/proc/devices",
            "Character devices:\n  1 mem\n\nBlock devices:\n  8 sd\n 65 sd\n254 virtblk\n259 blkext\n",
        );
        tree.file("/proc/self/statm", "100 7 3 1 0 5 0\n");
        tree.file("/proc/meminfo", "MemTotal:       32595812 kB\nMemAvailable:   30112344 kB\nDirty:               392 kB\nWriteback:             0 kB\nCached:          1522332 kB\n");
        let machine = Machine { tree };
        machine.cpu(100_000, 0).own(0);
        machine
    }

    fn nvme() -> Machine {
        let machine = Machine::new("259:0 / / rw,relatime shared:1 - ext4 /dev/nvme0n1 rw");
        let directory = "devices/pci0000:00/0000:00:1d.0/0000:03:00.0/nvme/nvme0/nvme0n1";
        machine.tree.device(directory, "nvme0n1", "259:0", 1_953_525_168);
        // The disk's own directory holds these, and so does the controller's, the target of `device`.
        machine.files(
            directory,
            &[
                ("diskseq", "9\n"),
                ("wwid", "eui.0025385b11b2cd44\n"),
                ("device/model", "Samsung SSD 980 PRO 1TB                 \n"),
                ("device/serial", "S5P2NG0R123456A     \n"),
                ("queue/scheduler", "[none] mq-deadline kyber bfq \n"),
                ("queue/nr_requests", "1023\n"),
                ("queue/rotational", "0\n"),
                ("queue/write_cache", "write back\n"),
                ("queue/fua", "1\n"),
                ("queue/iostats", "1\n"),
                ("queue/logical_block_size", "512\n"),
                ("queue/physical_block_size", "512\n"),
            ],
        );
        machine.nvme_counts(0, 0, 0);
        machine
    }

    /// Counters of the SSD after these bytes and flushes: 17 fields.
    fn nvme_counts(&self, read_bytes: u64, written_bytes: u64, flushes: u64) {
        let [read, written] = [read_bytes, written_bytes].map(|bytes| bytes / 512);
        let (reads, writes) = (4_512_345 + read / 128, 8_123_456 + written / 128);
        let text = format!(
            "{reads:8} 12345 {:8} 987654 {writes:8} 456789 {:8} 7654321        0  3456789  9876543    12345        0 98765432    23456 {:8}    34567\n",
            361_234_567 + read,
            912_345_678 + written,
            654_321 + flushes
        );
        self.tree.file("/sys/class/block/nvme0n1/stat", &text);
    }

    /// A disk of 7200 turns a minute with a partition, on a kernel before 4.18: 11 fields.
    fn scsi(start: u64) -> Machine {
        let machine = Machine::new("8:1 / / rw,relatime shared:1 - xfs /dev/sda1 rw");
        let disk = "devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda";
        machine.tree.device(disk, "sda", "8:0", 15_628_053_168);
        machine.tree.device(&format!("{disk}/sda1"), "sda1", "8:1", 15_628_050_432);
        machine.files(
            disk,
            &[
                ("device/model", "ST8000VN004-2M21\n"),
                ("device/wwid", "naa.5000c500c8a1b2c3\n"),
                ("queue/scheduler", "noop [deadline] cfq \n"),
                ("queue/rotational", "1\n"),
                ("queue/write_cache", "write back\n"),
                ("queue/logical_block_size", "512\n"),
                ("queue/physical_block_size", "4096\n"),
                ("sda1/partition", "1\n"),
                ("sda1/start", &format!("{start}\n")),
            ],
        );
        for name in ["sda", "sda1"] {
            machine
                .tree
                .file(&format!("/sys/class/block/{name}/stat"), "  100 0 2000 50 300 0 4000 80 0 120 130\n");
        }
        machine
    }

    fn files(&self, directory: &str, files: &[(&str, &str)]) {
        files.iter().for_each(|(path, text)| {
            self.tree.file(&format!("/sys/{directory}/{path}"), text);
        });
    }

    /// Ticks of two CPUs that were idle, and that were stolen.
    fn cpu(&self, idle: u64, steal: u64) -> &Machine {
        let text = format!(
            "cpu  3357 0 4313 {idle} 1238 0 214 {steal} 0 0\ncpu0 1678 0 2156 {idle} 619 0 107 0 0 0\nintr 114930548 113 0\nctxt 1990473\nsoftirq 183433 0 21755\n"
        );
        self.tree.file("/proc/stat", &text);
        self
    }

    /// Bytes that this process had read from devices.
    fn own(&self, read: u64) -> &Machine {
        let text = format!(
            "rchar: 4292\nwchar: 0\nsyscr: 13\nsyscw: 0\nread_bytes: {read}\nwrite_bytes: 0\ncancelled_write_bytes: 0\n"
        );
        self.tree.file("/proc/self/io", &text);
        self
    }

    /// A control group of version 2 with these files.
    fn cgroup(self, files: &[(&str, &str)]) -> Machine {
        let root = "1 0 259:0 / / rw,relatime shared:1 - ext4 /dev/nvme0n1 rw\n";
        let groups = "26 25 0:23 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
        self.tree.mountinfo("self", &format!("{root}{groups}"));
        self.tree.file("/proc/self/cgroup", "0::/user.slice/user-1000.slice/bench.scope\n");
        for (file, text) in files {
            self.tree.file(&format!("/sys/fs/cgroup/user.slice/user-1000.slice/{file}"), text);
        }
        self
    }

    fn root(&self) -> Root {
        Root::new(self.tree.prefix())
    }

    fn target(&self) -> TargetFacts {
        identify(&self.tree.path("/f"), &self.root()).unwrap()
    }

    /// Captures the machine, lets `run` change it, and captures it again.
    fn seen(&self, run: impl FnOnce(&Machine)) -> Finding {
        let (root, targets) = (self.root(), [self.target()]);
        let before = environment::capture(&targets, &root);
        let mut sampler = Sampler::of_machine(&targets, &root);
        let mut samples = self.sample(&mut sampler, 0);
        run(self);
        samples.extend(self.sample(&mut sampler, 60_000_000_000));
        Finding { before, after: environment::capture(&targets, &root), samples }
    }

    fn sample(&self, sampler: &mut Sampler, time_ns: u64) -> Vec<(u64, Series, f64)> {
        let mut values = Vec::new();
        sampler.sample(&mut values);
        let named = values
            .into_iter()
            .map(|(id, value)| (time_ns, sampler.series()[usize::from(id.0)].clone(), value));
        named.collect()
    }
}

impl Finding {
    /// Adds requests of 64 MiB.
    fn with(self, lab: Lab) -> Lab {
        lab.on_machine(self.before, self.after, self.samples).issuing(1e9, 0.0)
    }

    fn reading(self) -> Lab {
        self.with(Lab::new().latency_ns(90_000).reads(1_024, 65_536))
    }

    fn writing(self) -> Lab {
        self.with(Lab::new().latency_ns(90_000).writes(1_024, 65_536))
    }
}

#[track_caller]
fn of(lab: &Lab, id: DetectorId) -> Detection {
    let detector = detector_of(id).unwrap();
    lab.detection(detector).unwrap()
}

#[track_caller]
fn level(lab: &Lab, id: DetectorId) -> Level {
    of(lab, id).level
}

#[test]
fn identifies_nvme_and_accounts_for_its_bytes() {
    let target = Machine::nvme().target();
    let device = device_of(&target).unwrap();
    assert_eq!(
        (device.name.as_str(), device.size, device.is_virtual),
        ("nvme0n1", 1_953_525_168 * 512, false)
    );
    assert_eq!(device.driver, Fact::Known("nvme".into()));
    assert_eq!(device.model, Fact::Known("Samsung SSD 980 PRO 1TB".into()));
    assert_eq!(device.serial, Fact::Known("S5P2NG0R123456A".into()));
    assert_eq!(device.queue.scheduler, Fact::Known("none".into()));
    let read = |machine: &Machine| machine.own(64 * MIB).nvme_counts(64 * MIB, 0, 0);
    assert_eq!(level(&Machine::nvme().seen(read).reading(), DetectorId::ReadsNotFromDevice), Level::Ok);
    let cached = Machine::nvme().seen(|_| ()).reading();
    assert_eq!(level(&cached, DetectorId::ReadsNotFromDevice), Level::Fail);
    assert_eq!(cached.judgement().verdict, Verdict::Fake);
}

/// Persistent memory shares its major number with NVMe.
#[test]
fn classifies_persistent_memory_as_memory() {
    let machine = Machine::new("259:0 / / rw,relatime shared:1 - ext4 /dev/pmem0 rw");
    let directory = "devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0012:00/ndbus0/region0/namespace0.0/block/pmem0";
    machine.tree.device(directory, "pmem0", "259:0", 4_194_304);
    let lab = machine.seen(|_| ()).reading();
    assert_eq!(level(&lab, DetectorId::MemoryTarget), Level::Fail);
    assert_eq!(level(&Machine::nvme().seen(|_| ()).reading(), DetectorId::MemoryTarget), Level::Ok);
}

#[test]
fn distinguishes_unflushed_from_flushed_nvme_cache() {
    let without = Machine::nvme().seen(|machine| machine.nvme_counts(0, 64 * MIB, 0)).writing();
    assert_eq!(level(&without, DetectorId::VolatileCache), Level::Info);
    let with = Machine::nvme().seen(|machine| machine.nvme_counts(0, 64 * MIB, 7)).writing();
    assert_eq!(level(&with, DetectorId::VolatileCache), Level::Ok);
    assert_eq!(level(&with, DetectorId::WritesNotOnDevice), Level::Ok);
}

#[test]
fn flushes_are_unknown_on_scsi_disks_of_old_kernels() {
    let lab = Machine::scsi(2048).seen(|_| ()).writing();
    assert_eq!(level(&lab, DetectorId::VolatileCache), Level::Unknown);
    assert_eq!(
        level(&lab, DetectorId::WritesNotOnDevice),
        Level::Fail,
        "the partition's counters stood still"
    );
}

#[test]
fn reports_misaligned_scsi_partition() {
    let target = Machine::scsi(2048).target();
    let names: Vec<&str> = target.devices().iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["sda1", "sda"]);
    assert_eq!(target.devices()[1].queue.scheduler, Fact::Known("deadline".into()));
    assert_eq!(target.devices()[1].queue.rotational, Fact::Known(true));
    let shifted = Machine::scsi(63).seen(|_| ()).writing();
    assert_eq!(level(&shifted, DetectorId::Misaligned), Level::Caution);
    assert_eq!(level(&Machine::scsi(2048).seen(|_| ()).writing(), DetectorId::Misaligned), Level::Ok);
}

const NFS: &str = "0:52 / / rw,relatime shared:1 - nfs4 server:/export rw,vers=4.2,rsize=1048576,wsize=1048576,addr=10.0.0.2";

/// Counters of an NFS client after these bytes from and to its server.
fn nfs_counts(machine: &Machine, read: u64, written: u64) {
    let (asked, pages) = (900 * MIB, 4096);
    let text = format!(
        "device sysfs mounted on /sys with fstype sysfs\ndevice server:/export mounted on / with fstype nfs4 statvers=1.1\n\
         \topts:\trw,vers=4.2,rsize=1048576,wsize=1048576,proto=tcp,addr=10.0.0.2,local_lock=none\n\tage:\t86400\n\
         \tevents:\t10 20 0 0 5 1 40 0 0 8 0 0 0 0 2 0 0 0 0 0 0 0 0 0 0 0 0\n\
         \tbytes:\t{asked} {asked} {asked} {asked} {} {} {pages} {pages}\n\
         \tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n\txprt:\ttcp 0 0 2 0 0 300 300 0 300 0 2 0 0\n\tper-op statistics\n\
         \t        READ: 64 64 0 15360 67117056 0 40 44 0\n\n",
        500 * MIB + read,
        300 * MIB + written
    );
    machine.tree.file("/proc/self/mountstats", &text);
}

fn nfs(read: u64, written: u64) -> Finding {
    let machine = Machine::new(NFS);
    nfs_counts(&machine, 0, 0);
    machine.seen(|machine| nfs_counts(machine, read, written))
}

#[test]
fn nfs_server_bytes_account_for_all_reads() {
    let read = nfs(64 * MIB, 0).reading();
    let seen = of(&read, DetectorId::ReadsNotFromDevice);
    assert_eq!(seen.level, Level::Ok, "{seen:?}");
    assert!(seen.text.starts_with("100 % of the bytes read came from server:/export."), "{}", seen.text);
    assert!(seen.text.contains("its own memory cannot be seen"), "{}", seen.text);
    // The server's memory cannot be observed: the result is not trusted, and not called fake.
    let judgement = read.judgement();
    assert_eq!(judgement.verdict, Verdict::Care, "{judgement:?}");
    assert!(judgement.missing.iter().any(|one| one.contains("NFS server")), "{judgement:?}");
    assert!(judgement.of(DetectorId::NotObservable).is_none(), "{judgement:?}");
    // From 2 % on, the client's page cache is what was measured.
    let most = of(&nfs(61 * MIB, 0).reading(), DetectorId::ReadsNotFromDevice);
    assert_eq!((most.level, most.is_proof), (Level::Fail, false), "{most:?}");
    let cached = nfs(0, 0).reading();
    assert_eq!(cached.judgement().verdict, Verdict::Fake);
    let written = nfs(0, 64 * MIB).writing();
    assert_eq!(level(&written, DetectorId::WritesNotOnDevice), Level::Ok);
    assert_eq!(level(&nfs(0, 0).writing(), DetectorId::WritesNotOnDevice), Level::Fail);
}

#[test]
fn reports_cached_nfs_when_claiming_device() {
    let buffered = |seen: Finding| seen.with(Lab::new().buffered().latency_ns(90_000).reads(1_024, 65_536));
    let claimed = buffered(nfs(64 * MIB, 0)).claiming(Claim::Device);
    assert_eq!(level(&claimed, DetectorId::ReadsNotFromDevice), Level::Caution);
    let as_it_is = buffered(nfs(64 * MIB, 0)).claiming(Claim::Filesystem);
    assert!(level(&as_it_is, DetectorId::ReadsNotFromDevice) <= Level::Info);
}

#[test]
fn nfs_is_unobservable_but_never_fake() {
    let seen = Machine::new(NFS).seen(|_| ());
    // Faster than any device and with nothing counted: it may be a cache, or a fast server.
    let lab = seen.with(Lab::new().latency_ns(700).reads(20_000, 4096));
    assert_eq!(level(&lab, DetectorId::ReadsNotFromDevice), Level::Unknown);
    let judgement = lab.judgement();
    assert!(judgement.of(DetectorId::NotObservable).is_some(), "{judgement:?}");
    assert_eq!(judgement.verdict, Verdict::Care);
    let local = Machine::nvme().seen(|_| ()).with(Lab::new().latency_ns(700).reads(20_000, 4096));
    assert_eq!(local.judgement().verdict, Verdict::Fake);
}

/// The thirteenth lie of spec 2.3: an idle machine under pressure.
#[test]
fn pressure_of_idle_machine_is_no_disturbance() {
    let machine = Machine::nvme();
    let pressure = "some avg10=18.42 avg60=17.90 avg300=16.31 total=";
    machine.tree.file("/proc/pressure/cpu", &format!("{pressure}123456789\n"));
    let seen = machine.seen(|machine| {
        machine.tree.file("/proc/pressure/cpu", &format!("{pressure}987654321\n"));
        machine.cpu(111_000, 0).own(64 * MIB).nvme_counts(64 * MIB, 0, 0);
    });
    let lab = seen.reading().issuing(1e9, 0.04e9);
    assert_eq!(level(&lab, DetectorId::CpuDisturbed), Level::Ok);
}

#[test]
fn reports_exhausted_cgroup_v2_cpu_limits() {
    let limited = || {
        let stat = "usage_usec 7123456\nuser_usec 5123456\nsystem_usec 2000000\nnr_periods 100\nnr_throttled 3\nthrottled_usec 81234\n";
        Machine::nvme().cgroup(&[
            ("cpu.max", "20000 100000\n"),
            ("bench.scope/cpu.max", "max 100000\n"),
            ("cpu.stat", stat),
        ])
    };
    let count = |machine: &Machine, periods: u64, throttled: u64| {
        let text = format!(
            "usage_usec 9123456\nuser_usec 6123456\nsystem_usec 3000000\nnr_periods {periods}\nnr_throttled {throttled}\nthrottled_usec 4381234\n"
        );
        machine.cpu(111_000, 0).tree.file("/sys/fs/cgroup/user.slice/user-1000.slice/cpu.stat", &text);
    };
    let held = limited().seen(|machine| count(machine, 700, 600)).reading();
    let seen = of(&held, DetectorId::CpuDisturbed);
    assert!(seen.level == Level::Fail && seen.text.contains("CPU limit"), "{seen:?}");
    let free = limited().seen(|machine| count(machine, 700, 4)).reading();
    assert_eq!(level(&free, DetectorId::CpuDisturbed), Level::Ok);
}

#[test]
fn reports_reached_cgroup_v2_io_limits() {
    // 64 MiB in 92 ms are 728 MB/s.
    let at = |line: &str| Machine::nvme().cgroup(&[("io.max", line)]).seen(|_| ()).reading();
    let lab = at("259:0 rbps=728000000 wbps=max riops=max wiops=max\n");
    assert_eq!(level(&lab, DetectorId::OwnLimit), Level::Fail);
    assert_eq!(
        level(&at("259:0 rbps=2000000000 wbps=max riops=max wiops=max\n"), DetectorId::OwnLimit),
        Level::Info
    );
    assert_eq!(
        level(&at("8:0 rbps=728000000 wbps=max riops=max wiops=max\n"), DetectorId::OwnLimit),
        Level::Ok
    );
}

#[test]
fn reports_steal_time() {
    let with = |steal: u64| {
        Machine::nvme()
            .seen(|machine| {
                machine.cpu(100_000 + 12_000 - steal, steal);
            })
            .reading()
    };
    let seen = of(&with(720), DetectorId::CpuDisturbed);
    assert!(seen.level == Level::Fail && seen.text.starts_with("The hypervisor gave 6 %"), "{seen:?}");
    assert_eq!(level(&with(48), DetectorId::CpuDisturbed), Level::Ok);
}

#[test]
fn reports_thermal_throttling_and_governor_changes() {
    let heat = |machine: &Machine, count: u64| {
        for cpu in 0..2 {
            machine.tree.file(
                &format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/core_throttle_count"),
                &format!("{count}\n"),
            );
        }
        machine.cpu(112_000, 0);
    };
    let machine = || {
        let machine = Machine::nvme();
        heat(&machine, 17);
        machine
            .cpu(100_000, 0)
            .tree
            .file("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance\n");
        machine
    };
    let hot = machine().seen(|machine| heat(machine, 21)).reading();
    let seen = of(&hot, DetectorId::CpuDisturbed);
    assert!(seen.level == Level::Caution && seen.text.contains("because of heat, 8 times"), "{seen:?}");
    let cool = machine().seen(|machine| heat(machine, 17)).reading();
    assert_eq!(level(&cool, DetectorId::CpuDisturbed), Level::Ok);
    assert_eq!(level(&cool, DetectorId::SettingsChanged), Level::Ok);
    let saving = |machine: &Machine| {
        machine.tree.file("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n");
    };
    let changed = of(&machine().seen(saving).reading(), DetectorId::SettingsChanged);
    assert!(
        changed.level == Level::Caution
            && changed.text.contains("CPU governors from [performance] to [powersave]"),
        "{changed:?}"
    );
}
