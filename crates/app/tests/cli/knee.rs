//! `iosonar knee` on simulated devices with known capacity: channels ÷ mean service time, or depth ÷ mean service time where the depth is
//! less.

use crate::*;

fn knee(lab: &Lab, code: i32, args: &str) -> Value {
    let told = lab.expect(code, &format!("knee {SIM} {args} --json"));
    serde_json::from_str(&told.out).unwrap_or_else(|e| panic!("{e}: {}", told.out))
}

#[test]
fn the_capacity_of_a_device_is_found() {
    slow!();
    let lab = lab();
    let devices = [
        ("--sim-service 1ms --sim-channels 8", 8000.0),
        ("--sim-service 5ms --sim-channels 1", 200.0),
        ("--sim-service 40us --sim-channels 1 --depth 4", 25_000.0),
        ("--sim-service 2ms --sim-jitter 2ms --sim-channels 6", 1500.0),
        ("--sim-service 10ms --depth 16", 1600.0),
    ];
    for (number, (device, capacity)) in devices.into_iter().enumerate() {
        for seed in 1..=3 {
            let told = knee(&lab, 0, &format!("{device} --seed {seed} --out k{number}-{seed}"));
            let verdict = &told["verdict"];
            assert_eq!(verdict["result"], "found", "{told:#}");
            let rate = verdict["sustained_per_second"].as_f64().unwrap();
            assert!((rate / capacity - 1.0).abs() < 0.05, "{device}: {rate}");
            let (low, high) =
                (verdict["low_per_second"].as_f64().unwrap(), verdict["high_per_second"].as_f64());
            assert!(low <= rate && rate <= high.unwrap() && low > 0.8 * rate, "{verdict:#}");
            assert_eq!(verdict["from_the_start"], false);
        }
    }
    // Results kept: the answer, the picture, an archive of each ramp.
    let dir = lab.path("k0-1");
    let kept: Value = serde_json::from_slice(&std::fs::read(dir.join("knee.json")).unwrap()).unwrap();
    let names: Vec<&str> =
        kept["ramps"].as_array().unwrap().iter().map(|ramp| ramp["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["coarse-1", "coarse-2", "coarse-3", "fine-1"]);
    for name in &names {
        lab.expect(0, &format!("show k0-1/{name} --json"));
    }
    let plan = lab.expect(0, "show k0-1/fine-1 --show-plan").out;
    assert!(plan.contains("kind = \"rising\""), "{plan}");
    assert!(std::fs::read(dir.join("knee.png")).unwrap().starts_with(b"\x89PNG"));
    assert!(std::fs::read_to_string(dir.join("knee.svg")).unwrap().contains("knee 8 000/s"));
}

#[test]
fn knee_output_shows_evidence_and_original_figures() {
    let lab = lab();
    let device = "--sim-service 2ms --sim-channels 1";
    let told = lab.expect(0, &format!("knee {SIM} {device} --from 250 --to 750 --out k")).out;
    assert!(told.contains("\n  sustains 500 requests/s (95 % interval "), "{told}");
    assert!(told.contains("SIMULATED"), "{told}");
    // Delays exceed a second: the original's figure is printed, and is close.
    let iops = told.split("IOPS=").nth(1).unwrap().split_whitespace().next().unwrap();
    assert!((iops.parse::<f64>().unwrap() / 500.0 - 1.0).abs() < 0.05, "{told}");
    let steps = told.lines().skip_while(|line| !line.contains("demanded/s")).skip(1);
    let steps: Vec<&str> = steps.take_while(|line| !line.is_empty()).collect();
    assert_eq!(steps.len(), 20, "{told}");
    // The rows are 25 requests/s apart.
    let marked: Vec<&&str> = steps.iter().filter(|line| line.ends_with("< the knee")).collect();
    assert!(marked.len() == 1 && marked[0].trim().starts_with("512"), "{told}");
}

#[test]
fn reports_missing_or_unclear_knee() {
    let lab = lab();
    let fast = knee(&lab, 0, "--sim-service 10us --from 100 --to 2000 --out fast");
    assert_eq!(fast["verdict"]["result"], "not_reached");
    let least = fast["verdict"]["at_least_per_second"].as_f64().unwrap();
    assert!((1850.0..=2000.0).contains(&least), "{least}");
    let text = lab.expect(0, &format!("knee {SIM} --sim-service 10us --most 5000 --out most")).out;
    assert!(text.contains("no knee reached: sustains at least 4 "), "{text}");
    let edge = knee(&lab, 1, "--sim-service 1ms --sim-channels 1 --from 900 --to 1040 --out edge");
    assert_eq!(
        (edge["verdict"]["result"].as_str(), edge["verdict"]["why"].as_str()),
        (Some("unclear"), Some("ended_there"))
    );
    let steep =
        knee(&lab, 1, "--sim-service 10ms --sim-channels 1 --from 50 --to 150 --duration 1s --out steep");
    assert_eq!(steep["verdict"]["why"], "too_short");
    let at_once = knee(&lab, 0, "--sim-service 1ms --sim-channels 1 --from 2000 --to 4000 --out once");
    assert_eq!(at_once["verdict"]["from_the_start"], true);
    assert!((at_once["verdict"]["sustained_per_second"].as_f64().unwrap() / 1000.0 - 1.0).abs() < 0.05);
}

#[test]
fn suggests_ramp_for_very_slow_target() {
    let lab = lab();
    let device = "--sim-service 1s --sim-channels 1";
    let told = knee(&lab, 1, &format!("{device} --out slow"));
    assert_eq!(told["verdict"]["why"], "too_few");
    // The rate is not raised without end.
    assert_eq!(told["ramps"].as_array().unwrap().len(), 1);
    let sentence = told["sentences"][1].as_str().unwrap();
    let (_, options) = sentence.split_once("iosonar knee -t dev ").unwrap_or_else(|| panic!("{sentence}"));
    let found = knee(&lab, 0, &format!("{device} {options} --out found"));
    let rate = found["verdict"]["sustained_per_second"].as_f64().unwrap();
    assert!((rate - 1.0).abs() < 0.1, "{found:#}");
    assert_eq!(found["stopped_by"], Value::Null);
}

#[test]
fn reports_interrupted_search() {
    slow!();
    let lab = lab();
    lab.target("a.img", 1 << 20);
    let mut command =
        lab.command("knee -t a.img --buffered --from 10 --to 50 --duration 60s --no-progress --json --out k");
    let child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let log = lab.path("k/ramp/records.log");
    iosonar_testkit::until("the ramp", || log.exists());
    std::thread::sleep(std::time::Duration::from_millis(1500));
    iosonar_testkit::signal(child.id(), "INT");
    let ended = iosonar_testkit::Ended::of(child.wait_with_output().unwrap());
    assert_eq!(ended.code, 130, "{}", ended.err);
    let told: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((&told["verdict"]["result"], &told["verdict"]["why"]), (&"unclear".into(), &"stopped".into()));
    assert_eq!((&told["stopped_by"], &told["ramps"][0]["stopped_by"]), (&"SIGINT".into(), &"SIGINT".into()));
    assert!(told["sentences"].to_string().contains("the search was stopped in ramp: SIGINT"), "{told:#}");
}

#[test]
fn load_is_issued_in_order_at_ramp_times() {
    let lab = lab();
    lab.expect(0, "generate mixed l.load.gz --rate 300 --duration 60s --size 64MiB");
    let device = "--sim-service 1ms --sim-channels 1";
    let told = knee(&lab, 0, &format!("l.load.gz {device} --from 500 --to 1500 --duration 15s --out k"));
    assert!(
        (told["verdict"]["sustained_per_second"].as_f64().unwrap() / 1000.0 - 1.0).abs() < 0.05,
        "{told:#}"
    );
    let want = crate::filter::read(&lab.expect(0, "filter shift:0 l.load.gz").out);
    let got = sorted(&lab, "k/ramp");
    assert!(got.len() == 15_000 && got.iter().zip(&want).all(|(record, row)| sector(record) == row.1));
    // A load that ends before the ramp shows nothing, and the answer says why.
    lab.expect(0, "generate mixed few.load --rate 20 --duration 5s");
    let text = lab.expect(0, &format!("knee few.load {SIM} {device} --growth 50 --out few")).out;
    assert!(text.contains("the load was over before the ramp"), "{text}");
}

#[test]
fn invalid_options_touch_nothing() {
    let lab = lab();
    lab.target("a.img", 1 << 20);
    std::fs::create_dir(lab.path("there")).unwrap();
    for (args, why) in [
        ("-t a.img --from 100 --to 50", "--to 50"),
        ("-t a.img --duration 10ms", "--duration"),
        ("-t a.img --to 100 --growth 3", "--growth"),
        ("-t a.img --from 2000000", "--from"),
        ("-t a.img --sim-service 1ms", "--sim-service has no effect"),
        ("-t none.img", "none.img"),
        ("l.load -t a.img --bs 8k", "--bs"),
        ("- -t a.img", "standard input"),
        ("-t a.img --out there", "--out there: it exists already"),
    ] {
        let told = lab.expect(2, &format!("knee {args} --no-progress")).err;
        assert!(told.contains(why), "{args}: {told}");
    }
    let left: Vec<_> = std::fs::read_dir(lab.path(".")).unwrap().flatten().map(|e| e.file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}
