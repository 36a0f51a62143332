//! The page of `ccactl serve`, of the same parts as a report's.

use super::{PAGE_CSS, UPLOT_CSS, UPLOT_JS};

const HTML: &str = include_str!("../../assets/page/live.html");
const CSS: &str = include_str!("../../assets/page/live.css");
/// In the order in which they build on each other.
const JS: [&str; 6] = [
    include_str!("../../assets/page/look.js"),
    include_str!("../../assets/page/group.js"),
    include_str!("../../assets/page/time.js"),
    include_str!("../../assets/page/other.js"),
    include_str!("../../assets/page/groups.js"),
    include_str!("../../assets/page/live.js"),
];

/// A page whose figures come while it is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LivePage {
    /// Asks for `page.css`, `page.js`, `events`, `results` and `figures/…` beside it.
    pub html: String,
    /// `page.css`
    pub style: String,
    /// `page.js`
    pub script: String,
}

/// The same for every host.
#[must_use]
pub fn live_page() -> LivePage {
    LivePage {
        html: HTML.to_owned(),
        style: format!("{UPLOT_CSS}\n{PAGE_CSS}\n{CSS}"),
        script: format!("{UPLOT_JS}\n{}", super::wrapped(&JS)),
    }
}
