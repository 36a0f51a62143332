//! What a person sees while a suite runs: a bar for all of it with the time that is left, one for each cell under way. Where
//! standard error is no terminal, a line per event.

use crate::Cell;
use crate::runner::{FAILURES_IN_A_ROW, Ground, Notice, Overhead, Step, Watcher, remaining};
use ccactl_host::terminal::{self, fit, fit_line};
use ccactl_host::units::duration_text;
use ccactl_scenario::WHOLE;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Progress of a suite on standard error.
pub struct Progress {
    bars: MultiProgress,
    overall: ProgressBar,
    /// Name, length of a run and number of runs.
    cells: Vec<(String, Duration, u32)>,
    /// Those that have begun and not ended, by index.
    active: BTreeMap<usize, Active>,
    ground: Ground,
    overhead: Overhead,
    jobs: usize,
    begun: usize,
    ended: usize,
}

/// A cell under way.
struct Active {
    bar: ProgressBar,
    since: Instant,
    /// Runs begun, attempts included.
    attempts: u32,
    run: u32,
    elapsed: Duration,
}

impl Progress {
    /// For cells that are about to be run, `jobs` at a time.
    #[must_use]
    pub fn new(title: &str, cells: &[Cell], jobs: usize, ground: Ground) -> Self {
        let bars = MultiProgress::new();
        if terminal::is_quiet() {
            bars.set_draw_target(ProgressDrawTarget::hidden());
        }
        let overall = bars.add(ProgressBar::new(cells.len() as u64));
        overall.set_style(style("{prefix} [{bar:30}] {pos}/{len} cells{msg}"));
        overall.set_prefix(fit_line(title).into_owned());
        let overhead = ground.overhead(cells);
        let name = |cell: &Cell| if cell.id == WHOLE { title.to_owned() } else { cell.id.clone() };
        let cells = cells.iter().map(|cell| (name(cell), ground.length(cell), cell.scenario.repeat));
        Progress {
            bars,
            overall,
            cells: cells.collect(),
            active: BTreeMap::new(),
            ground,
            overhead,
            jobs,
            begun: 0,
            ended: 0,
        }
    }

    /// Takes the bars away.
    pub fn finish(&self) {
        self.active.values().for_each(|active| active.bar.finish_and_clear());
        self.overall.finish_and_clear();
    }

    /// Until all cells are done, as far as one can tell.
    fn left(&self) -> Duration {
        let running: Vec<Duration> = self.active.iter().map(|(&index, active)| self.left_of(index, active)).collect();
        let waiting = self.cells[self.begun..].iter().map(|(_, length, runs)| self.overhead.of_cell(*length, *runs));
        remaining(&running, waiting, self.jobs)
    }

    fn left_of(&self, index: usize, active: &Active) -> Duration {
        let (_, length, runs) = self.cells[index];
        if self.ground != Ground::Host {
            return self.overhead.of_cell(length, runs).saturating_sub(active.since.elapsed());
        }
        let of_this_run = (length + self.overhead.per_run()).saturating_sub(active.elapsed);
        of_this_run + self.overhead.of_cell(length, runs.saturating_sub(active.run))
    }

    fn say(&self, line: &str) {
        if self.overall.is_hidden() {
            terminal::note(line);
        } else {
            self.overall.println(fit(line));
        }
    }

    fn show_left(&self) {
        self.overall.set_message(format!(", about {} left", duration_text(self.left())));
    }

    fn begin(&mut self, index: usize) {
        let (id, length, _) = &self.cells[index];
        let bar = self.bars.add(ProgressBar::new(length.as_secs()));
        match self.ground {
            Ground::Host => bar.set_style(style("  {msg} [{bar:20}] {pos}/{len} s")),
            Ground::Guests | Ground::Simulator => {
                let place = if self.ground == Ground::Guests { "a guest" } else { "the simulator" };
                bar.set_style(style(&format!("  {{msg}} in {place} for {{elapsed}}")));
                bar.enable_steady_tick(Duration::from_secs(1));
            }
        }
        bar.set_message(fit_line(id).into_owned());
        let active = Active { bar, since: Instant::now(), attempts: 0, run: 1, elapsed: Duration::ZERO };
        self.active.insert(index, active);
        self.begun = self.begun.max(index + 1);
        if self.overall.is_hidden() {
            let (count, left) = (self.cells.len(), duration_text(self.left()));
            self.say(&format!("[{}/{count}] {} (about {left} left)", index + 1, self.cells[index].0));
        }
    }

    fn step(&mut self, index: usize, step: Step<'_>) {
        let (id, _, runs) = &self.cells[index];
        let Some(active) = self.active.get_mut(&index) else { return };
        match step {
            Step::Run { run, attempt } => {
                (active.run, active.elapsed) = (run, Duration::ZERO);
                active.attempts += 1;
                let again = if attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
                active.bar.set_position(0);
                active.bar.set_message(fit_line(&format!("{id} run {run}/{runs}{again}")).into_owned());
            }
            Step::Elapsed(elapsed) => {
                active.elapsed = elapsed;
                if self.ground == Ground::Host {
                    active.bar.set_position(elapsed.as_secs());
                }
                self.show_left();
            }
            Step::Invalid { run, problems } => {
                let line = format!("{id} run {run} is not valid: {}", problems.join("; "));
                self.say(&line);
            }
            Step::Remark(remark) => {
                let line = format!("{id}: {remark}");
                self.say(&line);
            }
        }
    }

    fn end(&mut self, index: usize) {
        if let Some(active) = self.active.remove(&index) {
            active.bar.finish_and_clear();
            let (_, length, runs) = self.cells[index];
            let attempts = if self.ground == Ground::Guests { runs } else { active.attempts };
            self.overhead.learn(active.since.elapsed(), length, attempts);
        }
        self.count();
    }

    fn count(&mut self) {
        self.ended += 1;
        self.overall.set_position(self.ended as u64);
        self.show_left();
    }
}

impl Watcher for Progress {
    fn notice(&mut self, notice: Notice<'_>) {
        match notice {
            Notice::Begun(index) => self.begin(index),
            Notice::Step(index, step) => self.step(index, step),
            Notice::Finished(index) => self.end(index),
            Notice::Failed(index, error) => {
                self.say(&format!("{} failed: {error}", self.cells[index].0));
                self.end(index);
            }
            Notice::Elsewhere(index) => {
                self.say(&format!("{}: another process runs it", self.cells[index].0));
                if let Some(active) = self.active.remove(&index) {
                    active.bar.finish_and_clear();
                }
                self.count();
            }
            Notice::GivenUp(left) => self.say(&format!(
                "{left} cells are not run: {FAILURES_IN_A_ROW} failed one after the other, so the fault is not theirs"
            )),
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("a constant").progress_chars("=> ")
}
