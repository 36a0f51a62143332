//! A time that may never come, as JSON, which has no infinity: a number, `"never"` or null.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Never {
    Never,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Time {
    After(f64),
    Never(Never),
}

pub fn serialize<S: Serializer>(time: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    let time = time.map(|time| if time.is_finite() { Time::After(time) } else { Time::Never(Never::Never) });
    time.serialize(serializer)
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let time: Option<Time> = Option::deserialize(deserializer)?;
    Ok(time.map(|time| match time {
        Time::After(time) => time,
        Time::Never(Never::Never) => f64::INFINITY,
    }))
}

#[cfg(test)]
mod tests {
    use crate::results::Part;

    #[test]
    fn what_never_comes_is_still_that_after_a_round_trip() {
        for time in [None, Some(0.25), Some(f64::INFINITY)] {
            let part = Part { converged_after_s: time, ..Part::default() };
            let json = serde_json::to_string(&part).unwrap();
            assert_eq!(serde_json::from_str::<Part>(&json).unwrap(), part, "{json}");
        }
    }
}
