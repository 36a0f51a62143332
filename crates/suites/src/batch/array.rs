//! Numbers of tasks as batch systems write them.

/// `1-3,7,9-10`
#[must_use]
pub fn ranges(numbers: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let text = |(first, last): (usize, usize)| match last - first {
        0 => first.to_string(),
        _ => format!("{first}-{last}"),
    };
    runs.into_iter().map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn neighbours_become_ranges() {
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1-3,7,9-10");
        assert_eq!((ranges(&[]), ranges(&[4])), (String::new(), "4".to_owned()));
    }
}
