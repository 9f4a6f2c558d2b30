//! Faults that a run injects on purpose, to test fault detection.

use crate::{Durability, Extent, Op, SECTOR};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The unit of [`InjectionKind::TornPage`], in bytes.
const PAGE: u64 = 4096;

/// Kind of an injected fault. The words are those of the fault classes that a verification reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum InjectionKind {
    /// A write is acknowledged and not executed.
    Lost,
    /// A read returns once the content before the last write.
    Stale,
    /// After a read has returned the data of a write, the earlier content of the place is written again.
    Reverted,
    /// Some 4096-byte pages of a write are not written.
    TornPage,
    /// Some sectors of a write are not written; not all borders are those of pages.
    TornSector,
    /// A sector of a write keeps the end of its earlier content.
    TornInside,
    /// A write goes to another place.
    Misdirected,
    /// A write goes to another place in addition.
    Duplicated,
    /// A write exchanges its place with an earlier one.
    Swapped,
    /// A write writes the data of another target.
    OtherTarget,
    /// A write writes sectors that name another run.
    OtherRun,
    /// 1 to 64 bits of a sector change, none of them in its header.
    Flipped,
    /// More bits of a sector change, none of them in its header.
    Corrupted,
    /// Bytes of a sector's header change.
    HeaderDamaged,
    /// A write writes zeros.
    Zeroed,
    /// A write writes bytes of 0xFF.
    Ones,
    /// A write writes random bytes.
    Foreign,
    /// A read is acknowledged and transfers nothing.
    Untransferred,
    /// Beside a write, a place changes that no request has covered.
    Phantom,
    /// A request transfers less than requested, with success.
    Short,
    /// All reads of a place fail from now on.
    Unreadable,
    /// The device stops, and its volatile write cache loses some of its content: it has one from its first operation on.
    Crash,
    /// A flush, or a write that is to be on stable storage, is acknowledged and leaves its data in the volatile write cache.
    FlushIgnored,
}

impl InjectionKind {
    /// Every kind, in the order of the documentation.
    pub const ALL: [InjectionKind; 23] = [
        InjectionKind::Lost,
        InjectionKind::Stale,
        InjectionKind::Reverted,
        InjectionKind::TornPage,
        InjectionKind::TornSector,
        InjectionKind::TornInside,
        InjectionKind::Misdirected,
        InjectionKind::Duplicated,
        InjectionKind::Swapped,
        InjectionKind::OtherTarget,
        InjectionKind::OtherRun,
        InjectionKind::Flipped,
        InjectionKind::Corrupted,
        InjectionKind::HeaderDamaged,
        InjectionKind::Zeroed,
        InjectionKind::Ones,
        InjectionKind::Foreign,
        InjectionKind::Untransferred,
        InjectionKind::Phantom,
        InjectionKind::Short,
        InjectionKind::Unreadable,
        InjectionKind::Crash,
        InjectionKind::FlushIgnored,
    ];

    /// Its word in plans.
    pub fn name(self) -> &'static str {
        match self {
            InjectionKind::Lost => "lost",
            InjectionKind::Stale => "stale",
            InjectionKind::Reverted => "reverted",
            InjectionKind::TornPage => "torn-page",
            InjectionKind::TornSector => "torn-sector",
            InjectionKind::TornInside => "torn-inside",
            InjectionKind::Misdirected => "misdirected",
            InjectionKind::Duplicated => "duplicated",
            InjectionKind::Swapped => "swapped",
            InjectionKind::OtherTarget => "other-target",
            InjectionKind::OtherRun => "other-run",
            InjectionKind::Flipped => "flipped",
            InjectionKind::Corrupted => "corrupted",
            InjectionKind::HeaderDamaged => "header-damaged",
            InjectionKind::Zeroed => "zeroed",
            InjectionKind::Ones => "ones",
            InjectionKind::Foreign => "foreign",
            InjectionKind::Untransferred => "untransferred",
            InjectionKind::Phantom => "phantom",
            InjectionKind::Short => "short",
            InjectionKind::Unreadable => "unreadable",
            InjectionKind::Crash => "crash",
            InjectionKind::FlushIgnored => "flush-ignored",
        }
    }

    /// Whether it affects the volatile write cache of a device, and hits operations that have no place, too.
    pub fn is_of_cache(self) -> bool {
        matches!(self, InjectionKind::Crash | InjectionKind::FlushIgnored)
    }

    /// Whether it can hit this operation. Only whole sectors are hit; a crash hits any operation.
    pub fn suits(self, op: Op, durability: Durability, extent: Extent) -> bool {
        let is_flush = op.is_flush();
        match self {
            InjectionKind::Crash => return is_flush || op.has_place(),
            InjectionKind::FlushIgnored => return is_flush || op.is_write() && !durability.is_none(),
            _ => {}
        }
        let is_whole = extent.offset.is_multiple_of(SECTOR) && extent.length.is_multiple_of(SECTOR);
        let sectors = extent.length / SECTOR;
        let has_direction = match self {
            InjectionKind::Stale | InjectionKind::Reverted | InjectionKind::Untransferred => op == Op::Read,
            InjectionKind::Short | InjectionKind::Unreadable => op.is_transfer(),
            _ => op.is_write(),
        };
        let is_long = match self {
            InjectionKind::TornPage => (extent.offset / PAGE + 1) * PAGE < extent.end(),
            // The only border of two sectors may be that of a page.
            InjectionKind::TornSector => {
                sectors > 2 || sectors == 2 && !(extent.offset + SECTOR).is_multiple_of(PAGE)
            }
            InjectionKind::Short => sectors > 1,
            _ => sectors > 0,
        };
        has_direction && is_whole && is_long
    }

    /// Whether it may hit some sectors of an operation. The others take the whole operation, or one sector by definition.
    pub fn takes_sectors(self) -> bool {
        !matches!(
            self,
            InjectionKind::Lost
                | InjectionKind::TornInside
                | InjectionKind::Misdirected
                | InjectionKind::Duplicated
                | InjectionKind::Swapped
                | InjectionKind::Crash
                | InjectionKind::FlushIgnored
        )
    }

    /// Whether it takes the data of another target.
    pub fn takes_two_targets(self) -> bool {
        self == InjectionKind::OtherTarget
    }
}

impl fmt::Display for InjectionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for InjectionKind {
    type Err = ParseInjectionError;

    fn from_str(word: &str) -> Result<InjectionKind, ParseInjectionError> {
        let kind = InjectionKind::ALL.into_iter().find(|kind| kind.name() == word);
        kind.ok_or_else(|| {
            let known = InjectionKind::ALL.map(InjectionKind::name).join(", ");
            ParseInjectionError(format!("'{word}' is no kind of injection: known are {known}"))
        })
    }
}

impl From<InjectionKind> for String {
    fn from(kind: InjectionKind) -> String {
        kind.name().into()
    }
}

impl TryFrom<String> for InjectionKind {
    type Error = ParseInjectionError;

    fn try_from(word: String) -> Result<InjectionKind, ParseInjectionError> {
        word.parse()
    }
}

/// The operations that are hit, of those that a kind [suits](InjectionKind::suits). Each target counts separately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Occasion {
    /// One in this many, drawn from the plan's seed.
    Every(u64),
    /// The operations with these numbers, from 0.
    At(Vec<u64>),
}

/// Faults of one kind that a run injects on purpose.
///
/// ```
/// use iosonar_plan::{Injection, InjectionKind, Occasion};
///
/// let injection: Injection = "flipped:every=1000,sectors=2,target=0,limit=5".parse()?;
/// assert_eq!((injection.kind, &injection.occasion), (InjectionKind::Flipped, &Occasion::Every(1000)));
/// assert_eq!(injection.to_string(), "flipped:every=1000,sectors=2,target=0,limit=5");
/// assert_eq!("lost:at=3+17".parse::<Injection>()?.occasion, Occasion::At(vec![3, 17]));
/// # Ok::<(), iosonar_plan::ParseInjectionError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "InjectionText", into = "InjectionText")]
pub struct Injection {
    /// Kind of the faults.
    pub kind: InjectionKind,
    /// The operations that are hit.
    pub occasion: Occasion,
    /// Target index; `None` means all.
    pub target: Option<u16>,
    /// The most sectors of an operation that are hit; `None` means all, or as the kind needs.
    pub sectors: Option<u64>,
    /// The most injections on each target.
    pub limit: Option<u64>,
}

impl Injection {
    /// On all targets, whole operations, without a limit.
    pub fn new(kind: InjectionKind, occasion: Occasion) -> Injection {
        Injection { kind, occasion, target: None, sectors: None, limit: None }
    }
}

/// Why a text is no injection: the text as typed, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseInjectionError(String);

/// An injection as TOML writes it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct InjectionText {
    kind: InjectionKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    every: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<Vec<u64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    target: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sectors: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
}

impl TryFrom<InjectionText> for Injection {
    type Error = ParseInjectionError;

    fn try_from(text: InjectionText) -> Result<Injection, ParseInjectionError> {
        let InjectionText { kind, every, at, target, sectors, limit } = text;
        let occasion = match (every, at) {
            (Some(every), None) => Occasion::Every(every),
            (None, Some(at)) => Occasion::At(at),
            (None, None) => {
                return Err(ParseInjectionError(format!(
                    "the injection '{kind}' does not say which operations it hits: give `every` or `at`"
                )));
            }
            (Some(_), Some(_)) => {
                return Err(ParseInjectionError(format!(
                    "the injection '{kind}' has `every` and `at`: remove one of them"
                )));
            }
        };
        Ok(Injection { kind, occasion, target, sectors, limit })
    }
}

impl From<Injection> for InjectionText {
    fn from(injection: Injection) -> InjectionText {
        let Injection { kind, occasion, target, sectors, limit } = injection;
        let (every, at) = match occasion {
            Occasion::Every(every) => (Some(every), None),
            Occasion::At(at) => (None, Some(at)),
        };
        InjectionText { kind, every, at, target, sectors, limit }
    }
}

impl fmt::Display for Injection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.occasion {
            Occasion::Every(every) => write!(f, "{}:every={every}", self.kind)?,
            Occasion::At(at) => {
                let numbers: Vec<String> = at.iter().map(u64::to_string).collect();
                write!(f, "{}:at={}", self.kind, numbers.join("+"))?;
            }
        }
        let rest = [("sectors", self.sectors), ("target", self.target.map(u64::from)), ("limit", self.limit)];
        rest.into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .try_for_each(|(name, value)| write!(f, ",{name}={value}"))
    }
}

impl FromStr for Injection {
    type Err = ParseInjectionError;

    fn from_str(typed: &str) -> Result<Injection, ParseInjectionError> {
        const FORM: &str = "write KIND:every=N or KIND:at=N+N, then optionally ,sectors=N ,target=N ,limit=N";
        let refused = |why: String| ParseInjectionError(format!("'{typed}' is no injection: {why}: {FORM}"));
        let (kind, options) = typed
            .split_once(':')
            .ok_or_else(|| refused("it does not say which operations it hits".into()))?;
        let kind = kind.parse()?;
        let mut text =
            InjectionText { kind, every: None, at: None, target: None, sectors: None, limit: None };
        for option in options.split(',') {
            let (name, value) =
                option.split_once('=').ok_or_else(|| refused(format!("'{option}' has no value")))?;
            let number = |value: &str| {
                value.parse::<u64>().map_err(|_| refused(format!("'{value}' is no whole number")))
            };
            let is_double = match name {
                "every" => text.every.replace(number(value)?).is_some(),
                "at" => text.at.replace(value.split('+').map(number).collect::<Result<_, _>>()?).is_some(),
                "sectors" => text.sectors.replace(number(value)?).is_some(),
                "limit" => text.limit.replace(number(value)?).is_some(),
                "target" => {
                    let target = u16::try_from(number(value)?);
                    let target = target.map_err(|_| refused(format!("there is no target {value}")))?;
                    text.target.replace(target).is_some()
                }
                _ => return Err(refused(format!("it has no option '{name}'"))),
            };
            if is_double {
                return Err(refused(format!("'{name}' is there twice")));
            }
        }
        Injection::try_from(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn injection() -> impl Strategy<Value = Injection> {
        let occasion = prop_oneof![
            (1u64..1 << 52).prop_map(Occasion::Every),
            prop::collection::vec(0u64..1 << 52, 1..5).prop_map(Occasion::At),
        ];
        let number = || prop::option::of(1u64..1 << 30);
        let kind = prop::sample::select(&InjectionKind::ALL[..]);
        (kind, occasion, prop::option::of(any::<u16>()), number(), number()).prop_map(
            |(kind, occasion, target, sectors, limit)| Injection { kind, occasion, target, sectors, limit },
        )
    }

    proptest! {
        #[test]
        fn the_text_form_and_toml_round_trip(injection in injection()) {
            prop_assert_eq!(injection.to_string().parse(), Ok(injection.clone()));
            let text = toml::to_string(&injection).unwrap();
            prop_assert_eq!(toml::from_str::<Injection>(&text).unwrap(), injection, "{}", text);
        }
    }

    #[test]
    fn rejects_invalid_injections_with_reason() {
        for (text, why) in [
            ("lost", "which operations"),
            ("loss:every=2", "known are lost, stale"),
            ("lost:limit=2", "give `every` or `at`"),
            ("lost:every=2,at=3", "remove one of them"),
            ("lost:every", "'every' has no value"),
            ("lost:every=2,every=3", "'every' is there twice"),
            ("lost:every=-2", "'-2' is no whole number"),
            ("lost:at=1++2", "'' is no whole number"),
            ("lost:every=2,sector=3", "no option 'sector'"),
            ("lost:every=2,target=65536", "no target 65536"),
        ] {
            let error = text.parse::<Injection>().expect_err(text).to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        let error = toml::from_str::<Injection>("kind = 'lost'\nevery = 2\nbogus = 3").unwrap_err();
        assert!(error.to_string().contains("bogus"), "{error}");
        let error = toml::from_str::<Injection>("kind = 'lost'").unwrap_err().to_string();
        assert!(error.contains("give `every` or `at`"), "{error}");
    }

    #[test]
    fn kinds_apply_only_to_suitable_operations() {
        use InjectionKind as Kind;
        let extent = |sector, sectors| Extent::from_sectors(sector, sectors).unwrap();
        for (kind, op, extent, suits) in [
            (Kind::Lost, Op::Write, extent(0, 1), true),
            (Kind::Lost, Op::Read, extent(0, 1), false),
            (Kind::Lost, Op::Write, Extent { offset: 0, length: 1000 }, false),
            (Kind::Lost, Op::Flush, Extent::default(), false),
            (Kind::Lost, Op::Write, Extent::default(), false),
            (Kind::Stale, Op::Read, extent(3, 1), true),
            (Kind::Stale, Op::Write, extent(3, 1), false),
            (Kind::TornPage, Op::Write, extent(0, 8), false),
            (Kind::TornPage, Op::Write, extent(4, 8), true),
            (Kind::TornPage, Op::Write, extent(0, 9), true),
            (Kind::TornSector, Op::Write, extent(0, 2), true),
            (Kind::TornSector, Op::Write, extent(7, 2), false),
            (Kind::TornSector, Op::Write, extent(7, 3), true),
            (Kind::Short, Op::Read, extent(0, 1), false),
            (Kind::Short, Op::Write, extent(0, 2), true),
            (Kind::Unreadable, Op::Read, extent(0, 1), true),
            (Kind::Crash, Op::Read, Extent { offset: 0, length: 1000 }, true),
            (Kind::Crash, Op::Fsync, Extent::default(), true),
            (Kind::Crash, Op::Discard, extent(0, 1), true),
            (Kind::FlushIgnored, Op::Flush, Extent::default(), true),
            (Kind::FlushIgnored, Op::Write, extent(0, 1), false),
        ] {
            assert_eq!(kind.suits(op, Durability::NONE, extent), suits, "{kind} {op} {extent:?}");
        }
        let durable = [Durability::FUA, Durability::PREFLUSH];
        assert!(durable.iter().all(|d| Kind::FlushIgnored.suits(Op::Write, *d, extent(0, 1))));
    }
}
