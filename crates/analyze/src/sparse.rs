//! Lists of counts that are mostly zero, as they are stored: their length, and each run of other counts with the number of zeros before it.

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;

/// No list of this room takes more bytes; a damaged file may claim any length.
const LARGEST: usize = 8 << 20;

/// Fewer zeros than this are no reason for a new run.
const LEAST_ZEROS: usize = 4;

#[derive(Serialize, Deserialize)]
struct Stored<T> {
    length: usize,
    runs: Vec<(usize, Vec<T>)>,
}

pub(crate) fn serialize<T, S>(list: &[T], serializer: S) -> Result<S::Ok, S::Error>
where
    T: Serialize + Default + PartialEq + Clone,
    S: Serializer,
{
    let zero = T::default();
    let mut runs: Vec<(usize, Vec<T>)> = Vec::new();
    let mut end = 0;
    for (place, value) in list.iter().enumerate().filter(|(_, value)| **value != zero) {
        match runs.last_mut().filter(|_| place - end < LEAST_ZEROS) {
            Some((_, run)) => {
                run.resize(run.len() + place - end, zero.clone());
                run.push(value.clone());
            }
            None => runs.push((place - end, vec![value.clone()])),
        }
        end = place + 1;
    }
    Stored { length: list.len(), runs }.serialize(serializer)
}

pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: Deserialize<'de> + Default + Clone,
    D: Deserializer<'de>,
{
    let stored = Stored::<T>::deserialize(deserializer)?;
    if stored.length.saturating_mul(size_of::<T>()) > LARGEST {
        return Err(D::Error::custom("a list of counts is too long"));
    }
    let mut list = Vec::with_capacity(stored.length);
    for (zeros, run) in stored.runs {
        let is_within = zeros.checked_add(run.len()).is_some_and(|more| more <= stored.length - list.len());
        if !is_within {
            return Err(D::Error::custom("counts lie beyond the end of their list"));
        }
        list.resize(list.len() + zeros, T::default());
        list.extend(run);
    }
    list.resize(stored.length, T::default());
    Ok(list)
}

/// A list of at most `MOST` elements, which may be large.
pub(crate) fn at_most<'de, T, D, const MOST: usize>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    struct Elements<T, const MOST: usize>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Elements<T, MOST> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of at most {MOST} elements")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Vec<T>, A::Error> {
            let mut list = Vec::new();
            while let Some(element) = from.next_element()? {
                if list.len() == MOST {
                    return Err(A::Error::invalid_length(MOST + 1, &self));
                }
                list.push(element);
            }
            Ok(list)
        }
    }
    deserializer.deserialize_seq(Elements::<T, MOST>(PhantomData))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Counts(#[serde(with = "super")] Vec<u64>);

    #[test]
    fn zeros_are_not_stored() {
        let mut list = vec![0; 10_000];
        (list[3], list[5], list[9_000]) = (1, 2, 7);
        let text = serde_json::to_string(&Counts(list)).unwrap();
        assert_eq!(text, r#"{"length":10000,"runs":[[3,[1,0,2]],[8994,[7]]]}"#);
    }

    #[test]
    fn lists_of_large_elements_are_bounded() {
        #[derive(Debug, Deserialize)]
        struct Few(#[serde(deserialize_with = "at_most::<_, _, 2>")] Vec<u64>);
        assert_eq!(serde_json::from_str::<Few>("[1,2]").unwrap().0, [1, 2]);
        let why = serde_json::from_str::<Few>("[1,2,3]").unwrap_err().to_string();
        assert!(why.contains("expected a list of at most 2 elements"), "{why}");
    }

    #[test]
    fn runs_beyond_the_end_are_refused() {
        for text in [
            r#"{"length":3,"runs":[[2,[1,2]]]}"#,
            r#"{"length":3,"runs":[[18446744073709551615,[1]]]}"#,
            r#"{"length":99999999999,"runs":[]}"#,
        ] {
            assert!(serde_json::from_str::<Counts>(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_list_comes_back_as_it_was(list in prop::collection::vec(prop_oneof![3 => Just(0u64), 1 => any::<u64>()], 0..80)) {
            let text = serde_json::to_string(&Counts(list.clone())).unwrap();
            prop_assert_eq!(serde_json::from_str::<Counts>(&text).unwrap(), Counts(list));
        }
    }
}
