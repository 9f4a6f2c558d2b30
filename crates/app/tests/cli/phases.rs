//! Plans with several phases, on real files and on the null engine.

use crate::*;
use iosonar_plan::Op;

/// The plan of the documentation.
fn documented() -> String {
    let page =
        std::fs::read_to_string(super::documented::repository().join("docs/plan.md")).expect("the page");
    let section = page.split("## Several phases").nth(1).expect("the section");
    let plan = section.split("```toml").nth(1).expect("a plan");
    plan.split("```").next().expect("its end").to_string()
}

/// Adapts the plan to a file system that may lack direct I/O.
fn buffered(plan: &str) -> String {
    plan.replace("seed = 1\n", "seed = 1\naccess = { buffered = true }\nengine = { kind = \"threads\" }\n")
}

fn facts(lab: &Lab, result: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(lab.path(result).join("run.json")).unwrap()).unwrap()
}

#[test]
fn phases_write_and_read_a_file() {
    let lab = lab();
    lab.file("plan.toml", buffered(&documented()));
    let told = lab.expect(0, "run plan.toml --no-progress -o r");
    assert!(!lab.path("new.img").exists());
    let words = told.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for row in ["3 phases", "Each phase completed", "write 256 0", "read 512 0", "random read 2 000 0"] {
        assert!(words.contains(row), "{row}: {}", told.out);
    }
    let records = lab.records("r");
    for (phase, count, op, passes) in [(0, 256, Op::Write, 1), (1, 512, Op::Read, 2), (2, 2000, Op::Read, 1)]
    {
        let own: Vec<_> = records.iter().filter(|r| r.phase == phase).collect();
        assert_eq!(own.len(), count);
        assert!(own.iter().all(|r| r.op == op && r.is_completed() && r.pass < passes), "phase {phase}");
    }
    let last = |phase| records.iter().filter(|r| r.phase == phase).filter_map(|r| r.completed).max();
    let first = |phase| records.iter().filter(|r| r.phase == phase).filter_map(|r| r.submitted).min();
    assert!(last(0) < first(1) && last(1) < first(2));
    let names: Vec<_> =
        facts(&lab, "r")["phases"].as_array().unwrap().iter().map(|p| p["name"].clone()).collect();
    assert_eq!(names, ["write", "read", "random read"]);
    let parts = &summary(&lab, "r")["parts"];
    assert_eq!(parts["phases"].as_array().unwrap().len(), 3);
    assert_eq!(parts["passes"][2]["name"], "read, pass 2");
    // Later commands agree with the run; pictures and the page know the phases.
    assert!(lab.expect(0, "show --all r").out.contains("Each phase"));
    lab.expect(0, "plot r -o pictures --svg --only sonar");
    let picture = std::fs::read_dir(lab.path("pictures")).unwrap().find_map(|f| {
        let path = f.unwrap().path();
        (path.extension()? == "svg").then(|| std::fs::read_to_string(path).unwrap())
    });
    // As many names as fit, which depends on how long each phase took.
    let picture = picture.expect("a picture");
    assert!([">read<", ">random read<"].iter().any(|name| picture.contains(name)));
    lab.expect(0, "report r -o r.html");
    let compared = lab.expect(0, "compare r r --all");
    for part in ["Phases, each compared by itself", "\n  random read"] {
        assert!(compared.out.contains(part), "{part}: {}", compared.out);
    }
    assert!(lab.expect(0, "compare r r --markdown").out.contains("| phase of B | iops |"));
    let lines = lab.expect(0, "compare r r --csv").out;
    assert!(
        lines.lines().any(|line| line.contains(",\"read\",") && line.contains(",latency.p50,")),
        "{lines}"
    );
}

#[test]
fn phases_are_compared_by_name() {
    let lab = lab();
    let sim = "seed = 1\nengine = { kind = \"sim\", service = \"SERVICE\" }\n";
    let plan = documented().replace("path = \"new.img\"", "path = \"new.img\"\nsize = \"1GiB\"");
    for (name, service, phase) in [("a", "100us", "random read"), ("b", "150us", "other")] {
        let plan = plan.replace("seed = 1\n", &sim.replace("SERVICE", service));
        lab.file("plan.toml", plan.replace("random read", phase));
        lab.expect(0, &format!("run plan.toml --no-progress -o {name}"));
    }
    let compared = lab.expect(0, "compare a b --json").out;
    let compared: Value = serde_json::from_str(&compared).unwrap();
    let phases = &compared["comparisons"][0]["phases"];
    let names: Vec<_> = phases["both"].as_array().unwrap().iter().map(|p| p["name"].clone()).collect();
    let lists = serde_json::json!([names, phases["only_a"], phases["only_b"]]);
    assert_eq!(lists, serde_json::json!([["write", "read"], ["random read"], ["other"]]));
    let figures = phases["both"][1]["figures"].as_array().unwrap();
    let p50 = figures.iter().find(|f| f["name"] == "latency.p50").unwrap();
    assert_eq!(p50["change_percent"].as_f64().unwrap().round(), 50.0, "{p50}");
}

#[test]
fn shown_plan_of_phases_reproduces_the_run() {
    let lab = lab();
    lab.file("plan.toml", buffered(&documented()));
    let shown = lab.expect(0, "run plan.toml --show-plan").out;
    lab.file("shown.toml", &shown);
    let hashes = ["plan", "shown"].map(|name| {
        lab.expect(0, &format!("run {name}.toml --no-progress -o {name}"));
        summary(&lab, name)["targets"][0]["issued_hash"].clone()
    });
    assert!(hashes[0].is_string() && hashes[0] == hashes[1], "{hashes:?}");
    assert_eq!(lab.expect(0, "show plan --show-plan").out, shown);
}

#[test]
fn first_finished_job_ends_its_phase() {
    let lab = lab();
    let job = |target: u32, iops: u32, requests: u32| {
        format!(
            "[[phase.job]]\ntarget = {target}\nworkload = {{ kind = \"generated\", order = \"random\", block_size = \"4KiB\", \
             read_percent = 100, pace = {{ kind = \"rate\", iops = {iops}, process = \"constant\" }}, stop = {{ requests = \
             {requests} }} }}\n"
        )
    };
    let target = |name: &str| format!("[[target]]\npath = \"{name}\"\nsize = \"1GiB\"\n");
    let head = format!(
        "version = 2\nrun_id = 1\nseed = 1\ndepth = 4\nengine = {{ kind = \"null\" }}\n{}{}",
        target("a"),
        target("b")
    );
    let plan = format!(
        "{head}[[phase]]\nname = \"both\"\ncoordination = {{ ends = \"first\" }}\n{}{}[[phase]]\nname = \"after\"\n{}",
        job(0, 1000, 200),
        job(1, 1000, 100_000),
        job(1, 10_000, 100)
    );
    lab.file("plan.toml", &plan);
    lab.expect(0, "run plan.toml --no-progress -o r");
    let records = lab.records("r");
    let of = |phase, target| records.iter().filter(|r| (r.phase, r.target) == (phase, target)).count();
    assert_eq!((of(0, 0), of(1, 1)), (200, 100));
    // The other one had progressed about as far.
    assert!((100..5_000).contains(&of(0, 1)), "{}", of(0, 1));
    assert_eq!(facts(&lab, "r")["state"], serde_json::json!({ "state": "finished" }));
}

#[test]
fn incomplete_phase_ends_the_run() {
    let lab = lab();
    let sim = "engine = { kind = \"sim\", error_every = 1 }\nfaults = { max_errors = 2 }\ndepth = 1 ";
    let plan = documented().replace("depth = 1 ", sim).replace("ends = \"first\"", "");
    let plan = plan.replace("path = \"new.img\"", "path = \"new.img\"\nsize = \"1GiB\"");
    lab.file("plan.toml", &plan);
    let told = lab.expect(1, "run plan.toml --no-progress -o r");
    let why = "phase read was not started, because phase write ended before its end";
    assert!(told.err.contains(why), "{}", told.err);
    assert!(facts(&lab, "r")["phases"].as_array().unwrap().len() == 1);
    assert!(lab.records("r").iter().all(|r| r.phase == 0));
}

#[test]
fn rejects_contradictory_phases_with_remedy() {
    let lab = lab();
    let plan = documented();
    for (from, to, why) in [
        ("depth = 1 ", "passes = 2\ndepth = 1 ", "passes: in a plan with [[phase]] this belongs to a phase"),
        (
            "target = 0 ",
            "target = 1 ",
            "phase write: job 0: target = 1: there is no such target; there are 1",
        ),
        ("name = \"read\"", "name = \"write\"", "two phases are named 'write'"),
        ("depth = 4", "depth = 0", "phase write: target new.img: depth = 0: it must lie between 1 and 65536"),
        ("passes = 2 ", "passes = 0 ", "phase read: passes = 0"),
        ("[[target]]", "[target]", "write [[target]], [[phase]] and [[phase.job]]"),
        ("create = true, delete = true", "delete = true", "new.img"),
    ] {
        lab.file("plan.toml", plan.replacen(from, to, 1));
        let told = lab.expect(2, "run plan.toml -o never");
        assert!(told.err.contains(why), "{why}: {}", told.err);
        assert!(!lab.path("never").exists());
    }
}

/// A plan of phases with a job each on one file, through the page cache.
fn on_a_file(lifecycle: &str, phases: &[(&str, &str, &str)]) -> String {
    let head = format!(
        "version = 2\nrun_id = 1\nseed = 1\naccess = {{ buffered = true }}\nengine = {{ kind = \"threads\" }}\n\
         [[target]]\npath = \"new.img\"\nfile = {{ {lifecycle} }}\n"
    );
    let phase = |(name, of_phase, workload): &(&str, &str, &str)| {
        format!(
            "[[phase]]\nname = \"{name}\"\n{of_phase}\n[[phase.job]]\ntarget = 0\nworkload = {{ kind = \"generated\", \
             order = \"sequential\", block_size = \"64KiB\", {workload} }}\n"
        )
    };
    head + &phases.iter().map(phase).collect::<String>()
}

#[test]
fn phase_reads_only_data_actually_written() {
    let lab = lab();
    let write = "read_percent = 0, at_end = \"extend\", pace = { kind = \"rate\", iops = 200, process = \"constant\" }, \
                 stop = { runtime = \"0.2s\" }";
    let whole = "read_percent = 100, stop = { bytes = \"100%\" }";
    let plan = on_a_file("create = true", &[("write", "", write), ("read", "", whole)]);
    lab.file("plan.toml", &plan);
    lab.expect(0, "run plan.toml --no-progress -o r");
    let records = lab.records("r");
    let of = |phase| records.iter().filter(move |r| r.phase == phase && r.op.is_transfer());
    let blocks = std::fs::metadata(lab.path("new.img")).unwrap().len() >> 16;
    assert!((1..=40).contains(&blocks), "{blocks}");
    assert_eq!((of(0).count() as u64, of(1).count() as u64), (blocks, blocks));
    assert!(of(1).all(|r| r.is_completed() && r.executed.length == 1 << 16));
    // A phase that requests more than there is by then does not start, and the other one is kept.
    let far = "read_percent = 100, offset = \"1GiB\", region = \"1GiB\", stop = { requests = 5 }";
    let plan = plan.replacen(whole, far, 1);
    lab.file("far.toml", plan.replace("new.img", "other.img"));
    let told = lab.expect(1, "run far.toml --no-progress -o far");
    assert!(told.err.contains("phase read could not start: target other.img holds"), "{}", told.err);
    assert!(lab.records("far").iter().any(|r| r.phase == 0 && r.is_completed()));
}

#[test]
fn passes_of_later_phases_use_their_own_files() {
    let lab = lab();
    let write = "read_percent = 0, at_end = \"extend\", stop = { requests = 4 }";
    let read = "read_percent = 100, at_end = \"extend\", stop = { requests = 4 }";
    let new = "create = true, between_passes = \"new-file\"";
    let phases = |write_passes: &str, read_passes: &str, lifecycle: &str| {
        on_a_file(lifecycle, &[("write", write_passes, write), ("read", read_passes, read)])
    };
    lab.file("plan.toml", phases("passes = 3", "passes = 3", new));
    lab.expect(0, "run plan.toml --no-progress -o r");
    let records = lab.records("r");
    let read_in =
        |pass| records.iter().filter(|r| (r.phase, r.pass) == (1, pass) && r.op == Op::Read).count();
    assert_eq!([0, 1, 2].map(read_in), [4, 4, 4]);
    assert!(
        records.iter().all(|r| r.is_completed() && (!r.op.is_transfer() || r.executed.length == 1 << 16))
    );
    let files = || (1..=4).filter(|n| lab.path(&format!("new.img.0000000{n}")).exists()).count();
    assert_eq!(files(), 3);
    let recreate = "create = true, between_passes = \"recreate\"";
    for (passes, lifecycle) in [("4", new), ("3", recreate)] {
        lab.file("refused.toml", phases("passes = 3", &format!("passes = {passes}"), lifecycle));
        let told = lab.expect(2, "run refused.toml -o never");
        let why = format!("phase read: target new.img: {passes} passes only read");
        assert!(told.err.contains(&why), "{}", told.err);
    }
    // One pass takes the file that the last one left.
    lab.file("recreate.toml", phases("passes = 3", "", recreate).replace("new.img", "again.img"));
    lab.expect(0, "run recreate.toml --no-progress -o again");
    assert_eq!(lab.records("again").iter().filter(|r| r.op == Op::Read && r.is_completed()).count(), 4);
}

#[test]
fn conversion_warns_that_phases_are_not_kept() {
    let lab = lab();
    let read = "read_percent = 100, stop = { requests = 4 }";
    let plan = on_a_file("", &[("a", "", read), ("b", "passes = 2", read)]);
    let plan = plan.replace(
        "access = { buffered = true }\nengine = { kind = \"threads\" }",
        "engine = { kind = \"null\" }",
    );
    lab.file("plan.toml", plan.replace("file = {  }", "size = \"1GiB\""));
    lab.expect(0, "run plan.toml --no-progress -o r");
    for out in ["x.load", "archive"] {
        let told = lab.expect(0, &format!("convert r {out}")).err;
        assert!(told.contains("8 requests of later phases or passes follow on the same clock"), "{told}");
    }
}
