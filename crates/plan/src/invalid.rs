//! Why a plan cannot be executed: the field, the rule that it breaks, and the remedy, each as data, so that every front end
//! spells them in its own words.

use std::fmt::{self, Display};

/// A plan that cannot be executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidPlan(Box<Message>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Message {
    /// Enclosing places, from the outside in.
    places: Vec<String>,
    field: Option<Term>,
    rule: Phrase,
    remedy: Option<Phrase>,
}

/// A field of a plan, with a value where the message is about that value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// Name as in a plan file: `coordination.lockstep`, `block_size`.
    pub field: String,
    /// Value as in a plan file: `"staggered"`, `4KiB`.
    pub value: Option<String>,
}

/// Words with terms among them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Phrase(Vec<PhrasePart>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum PhrasePart {
    Words(String),
    Term(Term),
}

impl Term {
    /// Reads `field` or `field = value`.
    fn read(text: &str) -> Term {
        match text.split_once(" = ") {
            Some((field, value)) => Term { field: field.into(), value: Some(value.into()) },
            None => Term { field: text.into(), value: None },
        }
    }

    /// The option that sets it, with the value as it is typed; a flag has no value.
    fn typed(&self, option: &str) -> String {
        match self.value.as_deref().map(|value| value.trim_matches('"')) {
            None | Some("true") => option.trim_end_matches(['=', ':']).into(),
            Some(value) if option.ends_with(['=', ':']) => format!("{option}{value}"),
            Some(value) => format!("{option} {value}"),
        }
    }
}

impl Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "{} = {value}", self.field),
            None => f.write_str(&self.field),
        }
    }
}

impl Phrase {
    /// Reads words in which terms stand between backquotes.
    fn read(text: &str) -> Phrase {
        let part = |(number, text): (usize, &str)| match number % 2 {
            0 => PhrasePart::Words(text.into()),
            _ => PhrasePart::Term(Term::read(text)),
        };
        Phrase(text.split('`').enumerate().map(part).collect())
    }

    fn spelled(&self, spell: &dyn Fn(&Term) -> String) -> String {
        let part = |part: &PhrasePart| match part {
            PhrasePart::Words(words) => words.clone(),
            PhrasePart::Term(term) => spell(term),
        };
        self.0.iter().map(part).collect()
    }

    fn terms(&self) -> impl Iterator<Item = &Term> {
        self.0.iter().filter_map(|part| if let PhrasePart::Term(term) = part { Some(term) } else { None })
    }
}

impl InvalidPlan {
    /// `field` breaks `rule`, which includes the remedy, such as a range. Fields, with values or without, stand between backquotes
    /// in a rule.
    pub(crate) fn of(field: &str, rule: impl AsRef<str>) -> InvalidPlan {
        InvalidPlan(Box::new(Message {
            places: Vec::new(),
            field: Some(Term { field: field.into(), value: None }),
            rule: Phrase::read(rule.as_ref()),
            remedy: None,
        }))
    }

    /// The plan, or a part of it, breaks `rule`.
    pub(crate) fn whole(rule: impl AsRef<str>) -> InvalidPlan {
        let mut why = InvalidPlan::of("", rule);
        why.0.field = None;
        why
    }

    /// Sets the value of the field.
    #[must_use]
    pub(crate) fn value(mut self, value: impl Display) -> InvalidPlan {
        if let Some(field) = &mut self.0.field {
            field.value = Some(value.to_string());
        }
        self
    }

    /// Sets the remedy; fields as in a rule.
    #[must_use]
    pub(crate) fn remedy(mut self, remedy: impl AsRef<str>) -> InvalidPlan {
        self.0.remedy = Some(Phrase::read(remedy.as_ref()));
        self
    }

    /// Adds the enclosing place, one level further out.
    #[must_use]
    pub(crate) fn within(mut self, place: &str) -> InvalidPlan {
        self.0.places.insert(0, place.into());
        self
    }

    /// The field that breaks the rule; `None` where it is the plan, or a part of it.
    pub fn field(&self) -> Option<&Term> {
        self.0.field.as_ref()
    }

    /// All fields that the message names.
    pub fn terms(&self) -> impl Iterator<Item = &Term> {
        let phrases = std::iter::once(&self.0.rule).chain(&self.0.remedy);
        self.0.field.iter().chain(phrases.flat_map(Phrase::terms))
    }

    /// The message in the words of a command line. `tables` hold fields, each with the option that sets it; one that ends in
    /// `:` or `=` has its value right after it. Fields that no option sets keep their names.
    pub fn in_options(&self, tables: &[&[(&str, &str)]]) -> String {
        let option_of =
            |term: &Term| tables.iter().copied().flatten().find(|(field, _)| *field == term.field);
        self.spelled(&|term| {
            option_of(term).map_or_else(|| term.to_string(), |(_, option)| term.typed(option))
        })
    }

    /// The option to blame, if the message is about a field that one sets, and the rest of the message. `option_of` has the
    /// option of a field, or another word of the front end for it; the value of the field stands in the rest.
    pub fn blamed(&self, option_of: &dyn Fn(&str) -> Option<String>) -> (Option<String>, String) {
        let Message { places, field, rule, remedy } = &*self.0;
        let option = field.as_ref().and_then(|term| option_of(&term.field));
        let spell = |term: &Term| {
            option_of(&term.field).map_or_else(|| term.to_string(), |option| term.typed(&option))
        };
        let value = match (field, &option) {
            (Some(field), None) => Some(field.to_string()),
            (field, _) => field.as_ref().and_then(|field| field.value.clone()),
        };
        let (rule, remedy) = (rule.spelled(&spell), remedy.as_ref().map(|remedy| remedy.spelled(&spell)));
        let parts = places.iter().cloned().chain(value).chain([rule]).chain(remedy);
        (option, parts.collect::<Vec<_>>().join(": "))
    }

    /// The message, with each field as `spell` has it.
    fn spelled(&self, spell: &dyn Fn(&Term) -> String) -> String {
        let Message { places, field, rule, remedy } = &*self.0;
        let field = field.as_ref().map(spell);
        let remedy = remedy.as_ref().map(|remedy| remedy.spelled(spell));
        let rule = Some(rule.spelled(spell));
        let parts = places.iter().cloned().chain([field, rule, remedy].into_iter().flatten());
        parts.collect::<Vec<_>>().join(": ")
    }
}

impl Display for InvalidPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.spelled(&Term::to_string))
    }
}

impl std::error::Error for InvalidPlan {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_use_field_names_of_each_front_end() {
        let why =
            InvalidPlan::of("order", "requests are spread over `region`, so their number must be known")
                .value("\"staggered\"")
                .remedy("give `stop.requests` or `stop.bytes`")
                .within("target /dev/sdx")
                .within("phase write");
        assert_eq!(
            why.to_string(),
            "phase write: target /dev/sdx: order = \"staggered\": requests are spread over region, so their number must be \
             known: give stop.requests or stop.bytes"
        );
        assert_eq!(
            why.in_options(&[
                &[("order", "--steps")],
                &[("region", "--size="), ("stop.requests", "--number-ios")]
            ]),
            "phase write: target /dev/sdx: --steps staggered: requests are spread over --size, so their number must be \
             known: give --number-ios or stop.bytes"
        );
        let joined =
            InvalidPlan::of("order.zipf.theta", "it is too high").value(11).remedy("say `create = true`");
        let words = joined.in_options(&[&[("order.zipf.theta", "zipf:"), ("create", "--create")]]);
        assert_eq!(words, "zipf:11: it is too high: say --create");
        assert_eq!(why.terms().count(), 4);
    }
}
