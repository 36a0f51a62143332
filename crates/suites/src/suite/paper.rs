//! The papers whose experiments are run again. The documentation and the suites call them by number.

use super::SUITES;

/// A paper.
struct Paper {
    code: &'static str,
    citation: &'static str,
}

const PAPERS: [Paper; 5] = [
    Paper { code: "P0", citation: "“Performance evaluation between TCP congestion control algorithms”" },
    Paper {
        code: "P1", citation: "Cho and Cho 2023, “Improvement of Bandwidth Fairness between TCP BBRv2 and CUBIC”"
    },
    Paper { code: "P2", citation: "Na, Park, Lee and Kim 2006, “Design and Performance Evaluation of ACA-TCP”" },
    Paper {
        code: "P3",
        citation: "Han, Kim and Lee, “Performance Comparison of TCP Congestion Control Algorithms in Wireless Networks with Bufferbloat”",
    },
    Paper {
        code: "P4",
        citation: "Lim and Park 2015, “TCP issues for low-latency communication in high-speed wireless networks”",
    },
];

/// A reference such as `P1 figure 4` with the paper's authors and title.
#[must_use]
pub fn in_full(reference: &str) -> String {
    let of = PAPERS.iter().find_map(|paper| Some((paper.citation, reference.strip_prefix(paper.code)?)));
    match of {
        None => reference.to_owned(),
        Some((citation, rest)) => match rest.trim_start_matches([',', ' ']) {
            "" => citation.to_owned(),
            place => format!("{citation}, {place}"),
        },
    }
}

/// Each paper with the suites that run experiments of it.
pub fn papers() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    let of = |paper: &Paper| {
        SUITES.iter().filter(|suite| suite.paper.starts_with(paper.code)).map(|suite| suite.name).collect()
    };
    PAPERS.iter().map(move |paper| (paper.citation, of(paper)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_names_its_paper_in_full() {
        for suite in SUITES {
            let full = in_full(suite.paper);
            assert!(!PAPERS.iter().any(|paper| full.starts_with(paper.code)), "{}: {full}", suite.name);
            let rest = PAPERS.iter().find_map(|paper| suite.paper.strip_prefix(paper.code)).unwrap_or_default();
            assert!(rest.is_empty() || rest.starts_with([' ', ',']), "{}: the code is a word of its own", suite.name);
            assert!(suite.look_at.ends_with('.'), "{}: a sentence", suite.name);
        }
        assert!(in_full("P1 figure 4").ends_with("BBRv2 and CUBIC”, figure 4"));
        assert!(in_full("P2, conclusion").ends_with("ACA-TCP”, conclusion"));
        assert_eq!(papers().map(|(_, suites)| suites.len()).sum::<usize>(), SUITES.len() - 1, "rivals has four papers");
        assert!(in_full("P3").ends_with("with Bufferbloat”"));
    }
}
