//! The files of a black box, written beside the recorder that feeds it.

use super::fired::{BlackBox, Fired, Options};
use super::limits::Suppressed;
use ccactl_abi::layout::Sample;
use ccactl_collector::{
    Clock, Metadata, Output, RecordOptions, Recorder, Summary, TriggerInfo, utc_compact, write_rows,
};
use ccactl_host::capabilities::Capability;
use ccactl_host::output::Folder;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

/// How often it is looked for what is due.
const LOOK: Duration = Duration::from_millis(100);
/// Any of them may be a trigger, and all of them belong to what was before one.
const EVENTS: &str = "all";

/// A file that was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// Where.
    pub path: PathBuf,
    /// As the user wrote the trigger.
    pub trigger: String,
    /// Rows in it.
    pub rows: usize,
}

/// What a black box has done.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Files written.
    pub files: u64,
    /// What has none.
    pub suppressed: Suppressed,
    /// The recorder's own figures.
    pub summary: Summary,
}

/// Watches until `end` is set or the recorder's time is over. `tell` hears of each file, and of each that could not be written.
/// `record` says which sockets and how often; its output and tap are set here.
///
/// # Errors
/// Those of the recorder, and a folder that cannot be made.
pub fn run(
    folder: &Path,
    record: RecordOptions,
    options: Options,
    end: &AtomicBool,
    tell: &mut dyn FnMut(Result<&Kept, &ccactl_collector::Error>),
) -> Result<Outcome, ccactl_collector::Error> {
    let made = Folder::make(folder)
        .map_err(|cause| ccactl_collector::Error::Target { path: folder.to_owned(), cause: cause.into() })?;
    drop(made);
    let kept = Arc::new(Mutex::new(BlackBox::new(options)));
    let fed = Arc::clone(&kept);
    let events = EVENTS.parse().expect("the names of events are right");
    let record = RecordOptions {
        output: Output::Nowhere,
        events,
        tap: Some(Arc::new(move |rows: &[Sample]| lock(&fed).feed(rows))),
        ..record
    };
    // Files may be in a folder of another user.
    let recorder = Recorder::start_keeping(record.clone(), &[Capability::CAP_DAC_OVERRIDE])?;
    let mut files = Files { folder, record, written_bytes: 0, number: 0, lost_told: 0 };
    loop {
        let is_over = end.load(Ordering::Relaxed) || recorder.is_finished();
        if is_over {
            recorder.request_stop();
            let summary = recorder.wait()?;
            files.write(&kept, u64::MAX, true, tell);
            return Ok(Outcome { files: files.number, suppressed: lock(&kept).suppressed(), summary });
        }
        files.write(&kept, Clock::now().monotonic_ns, false, tell);
        sleep(LOOK);
    }
}

struct Files<'a> {
    folder: &'a Path,
    record: RecordOptions,
    written_bytes: u64,
    number: u64,
    /// Lost triggers that an earlier file has told of.
    lost_told: u64,
}

impl Files<'_> {
    fn write(
        &mut self,
        kept: &Mutex<BlackBox>,
        now_ns: u64,
        is_end: bool,
        tell: &mut dyn FnMut(Result<&Kept, &ccactl_collector::Error>),
    ) {
        let due = lock(kept).due(now_ns, is_end);
        for fired in due {
            let (options, suppressed, rows) = {
                let kept = lock(kept);
                (kept.options().clone(), kept.suppressed(), kept.rows(&fired))
            };
            if self.written_bytes >= options.limits.disk_bytes {
                lock(kept).note(|suppressed| suppressed.disk += 1);
                continue;
            }
            match self.write_one(&fired, rows, &options, suppressed) {
                Ok(file) => tell(Ok(&file)),
                Err(error) => {
                    lock(kept).note(|suppressed| suppressed.failed += 1);
                    tell(Err(&error));
                }
            }
        }
    }

    fn write_one(
        &mut self,
        fired: &Fired,
        rows: Vec<Sample>,
        options: &Options,
        suppressed: Suppressed,
    ) -> Result<Kept, ccactl_collector::Error> {
        let trigger = &options.triggers[fired.trigger];
        self.number += 1;
        let path = self.folder.join(format!("{}-{:04}-{}.parquet", utc_compact(), self.number, trigger.short()));
        let begin_ns = rows.first().map_or(fired.at_ns, |row| row.time_ns);
        let told = TriggerInfo {
            condition: trigger.to_string(),
            flow_id: fired.flow.0,
            netns: fired.flow.1,
            at_us: (fired.at_ns - begin_ns) / 1000,
            further: fired.further,
            suppressed: suppressed.lost() - self.lost_told,
        };
        let metadata = Metadata { trigger: Some(told), ..Metadata::default() };
        let count = rows.len();
        let written = write_rows(&path, &self.record, metadata, rows);
        if written.is_err() {
            self.number -= 1;
        }
        self.written_bytes += written?;
        self.lost_told = suppressed.lost();
        Ok(Kept { path, trigger: trigger.to_string(), rows: count })
    }
}

/// What a panicking thread has left is whole: a row is in memory or not.
fn lock(kept: &Mutex<BlackBox>) -> MutexGuard<'_, BlackBox> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}
