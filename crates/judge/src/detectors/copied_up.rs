//! Files that an overlay copied to its upper layer when they were opened for writing.

use crate::detector::Most;
use crate::stack::name_of;
use crate::{Case, Detector, Finding, PlannedRun};
use iosonar_analyze::{Channel, DetectorId, Level};
use iosonar_evidence::{TargetFacts, TargetKind};
use iosonar_text::shown;

pub(crate) const DETECTOR: Detector = Detector {
    id: DetectorId::CopiedUp,
    channel: Channel::Mapping,
    most: Most {
        device: Level::Caution,
        filesystem: Level::Caution,
        cache: Level::Info,
        replay: Level::Caution,
    },
    explains: &[],
    about: "The lower layer of an overlay is never written. Opening one of its files for writing copies the whole file to the upper layer first, so \
            that the file which is measured is in another file system, and often on another device, than the one that was prepared. Containers \
            have their images as lower layers.",
    is_witness: false,
    says: None,
    predict: Some(predict),
    detect,
};

const SOURCE: &str = "layers of the overlay in mountinfo, before the file was opened";

fn detect(case: &Case<'_>) -> Option<Finding> {
    if !case.is_real() {
        return None;
    }
    predict(&case.planned())
}

/// Preparing the run has opened its files.
fn predict(planned: &PlannedRun<'_>) -> Option<Finding> {
    let copied: Vec<String> = planned.before.targets.iter().filter_map(sentence).collect();
    let more = match copied.len() {
        0 => return None,
        1 => String::new(),
        all => format!(" So it was with {all} files."),
    };
    let seen = Finding::at(Level::Caution, format!("{}{more}", copied[0]), SOURCE)
        .remedy("Write the file once through the overlay before it is filled and measured, or measure the file system of the upper layer itself.")
        .with("files", copied.len() as f64);
    Some(seen)
}

fn sentence(target: &TargetFacts) -> Option<String> {
    let TargetKind::RegularFile(file) = &target.kind else { return None };
    let lower = name_of(file.copied_from.as_deref()?);
    let upper = file.file_system.known().and_then(|overlay| overlay.below.first());
    let upper = match upper {
        Some(iosonar_evidence::target::Layer::FileSystem(upper)) => name_of(upper),
        _ => "unknown".into(),
    };
    Some(format!(
        "{} was in the lower layer of an overlay ({lower}); opening it for writing copied it to the upper layer ({upper}), and the copy is measured.",
        shown(&target.path)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;
    use iosonar_plan::Claim;

    fn lab() -> Lab {
        Lab::new().writes(1_000, 65_536)
    }

    #[test]
    fn reports_copied_up_file_with_both_devices() {
        let copied = lab().on_overlay(true);
        let seen = copied.detection(&DETECTOR).unwrap();
        assert_eq!(seen.level, Level::Caution);
        let expected = "/target was in the lower layer of an overlay (xfs on vdb); opening it for writing copied it to the upper layer \
                        (ext4 on vda), and the copy is measured.";
        assert_eq!(seen.text, expected);
        assert_eq!(copied.claiming(Claim::Cache).detection(&DETECTOR).unwrap().level, Level::Info);
    }

    #[test]
    fn skips_files_already_in_upper_layer() {
        assert_eq!(lab().on_overlay(false).detection(&DETECTOR), None);
        assert_eq!(lab().on_file_system("ext4", "vda").detection(&DETECTOR), None);
    }
}
