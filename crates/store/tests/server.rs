//! A week of parts, and the answers of a real S3 server.

#[path = "common/parts.rs"]
mod parts;
#[path = "common/server.rs"]
mod server;

use ccactl_store::{Clock, Destination, Kind, Location, Options, Settings, Spool, Store, Uploader};
use server::{BUCKET, Server};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Parts of `--rotate 60s` in a week.
const WEEK: u32 = 7 * 24 * 60;
/// Monday, noon: a week from there has eight dates.
const NOON_MINUTE: u32 = 12 * 60;
const FIRST_DAY: u32 = 23;
/// The server is killed this often, at other moments each time.
const KILLS: u32 = 3;
const PATIENCE: Duration = Duration::from_secs(90);

fn location(bucket: &str) -> Location {
    Location::parse(&format!("s3://{bucket}/week")).unwrap()
}

/// Part `number` of a recording that began on Monday at noon.
fn add_part(folder: &Path, number: u32) {
    let minute = NOON_MINUTE + number;
    let (day, hour) = (FIRST_DAY + minute / 1440, minute / 60 % 24);
    let started = format!("2026-11-{day:02}T{hour:02}:{:02}:00.000Z", minute % 60);
    let (number_text, rows) = (number.to_string(), (number % 100).to_string());
    let pairs = [
        ("ccactl.host", "web-1"),
        ("ccactl.part", number_text.as_str()),
        ("ccactl.rows", rows.as_str()),
        ("ccactl.part_started", started.as_str()),
    ];
    let draft = folder.join("draft");
    fs::write(&draft, parts::part(&pairs)).unwrap();
    fs::rename(draft, folder.join(format!("part-{number:05}.parquet"))).unwrap();
}

#[test]
fn a_week_of_parts_arrives_although_the_server_is_killed_again_and_again() {
    let Some(mut server) = Server::start() else { return };
    let began = Instant::now();
    let dir = TempDir::new().unwrap();
    let settings = Settings::of(server.settings());
    let store = Store::to(&location(BUCKET), &settings).unwrap();
    let spool = Spool::open(&dir.path().join("spool")).unwrap();
    let claim = spool.claim("week", Destination::of(&location(BUCKET), &settings)).unwrap();
    let folder = claim.parts();
    // An hour of waits is some seconds.
    let look_every = Duration::from_secs(100);
    let options = Options { clock: Clock::fast(500.0), look_every, ..Options::new(1 << 30) };
    let uploader = Uploader::start(store, vec![claim], 0, options, Box::new(|_| {})).unwrap();
    let is_written = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            (0..WEEK).for_each(|number| add_part(&folder, number));
            is_written.store(true, Ordering::Relaxed);
        });
        for kill in 1..=KILLS {
            let enough = u64::from(WEEK * kill / (KILLS + 1));
            wait_for("the next quarter", &uploader, || uploader.status().stored.parts >= enough);
            server.down();
            wait_for("the trouble", &uploader, || uploader.status().trouble.is_some());
            server.up();
        }
        wait_for("the last part", &uploader, || is_written.load(Ordering::Relaxed));
    });
    uploader.finish();
    let report = uploader.wait();
    assert!(report.is_complete(), "{report:?}");
    let rows = (0..WEEK).map(|number| u64::from(number % 100)).sum();
    assert_eq!((report.stored.parts, report.stored.rows), (u64::from(WEEK), rows));
    let objects = server.objects(".parquet");
    assert_eq!(objects.len(), WEEK as usize);
    let dates: Vec<_> = fs::read_dir(objects[0].ancestors().nth(4).unwrap()).unwrap().flatten().collect();
    let dates = dates.iter().filter(|entry| entry.file_name().to_string_lossy().starts_with("date=")).count();
    assert_eq!(dates, 8);
    assert!(!folder.exists());
    eprintln!(
        "{WEEK} parts, {KILLS} kills, {} were there already: {:.1} s",
        report.were_there,
        began.elapsed().as_secs_f64()
    );
}

#[test]
fn what_was_sent_comes_back_to_the_byte() {
    let Some(server) = Server::start() else { return };
    let dir = TempDir::new().unwrap();
    let settings = Settings::of(server.settings());
    let spool = Spool::open(&dir.path().join("spool")).unwrap();
    let claim = spool.claim("one", Destination::of(&location(BUCKET), &settings)).unwrap();
    (0..3).for_each(|number| add_part(&claim.parts(), number));
    let sent: Vec<_> = (0..3).map(|n| fs::read(claim.parts().join(format!("part-{n:05}.parquet"))).unwrap()).collect();
    let store = Store::to(&location(BUCKET), &settings).unwrap();
    let uploader = Uploader::start(store, vec![claim], 0, Options::new(1 << 20), Box::new(|_| {})).unwrap();
    uploader.finish();
    assert!(uploader.wait().is_complete());

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let fetch = |text: &str| {
        let (store, here) = (Store::from(&Location::parse(text).unwrap(), &settings).unwrap(), TempDir::new().unwrap());
        runtime.block_on(store.fetch(here.path())).map(|fetched| (fetched, here))
    };
    let (fetched, here) = fetch("s3://tcp/week").unwrap();
    assert_eq!(fetched.files, 3);
    for (number, sent) in sent.iter().enumerate() {
        let name = format!("host=web-1/18a-2-3/part-0000{number}.parquet");
        assert_eq!(fs::read(here.path().join(name)).unwrap(), *sent);
    }
    let one = "s3://tcp/week/date=2026-11-23/host=web-1/18a-2-3/part-00001.parquet";
    assert_eq!(fetch(one).unwrap().0.files, 1, "a single object");
    let nothing = fetch("s3://tcp/weak").unwrap_err().to_string();
    assert!(nothing.starts_with("s3://tcp/weak: expected recordings"), "{nothing}");
}

#[test]
fn wrong_keys_and_a_missing_bucket_are_known_before_a_recording_begins() {
    let Some(server) = Server::start() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let probe =
        |bucket: &str, settings: &Settings| runtime.block_on(Store::to(&location(bucket), settings).unwrap().probe());
    let settings = Settings::of(server.settings());
    assert_eq!(probe(BUCKET, &settings), Ok(()));
    assert_eq!(probe(BUCKET, &settings), Ok(()), "versitygw keeps what is there");
    assert_eq!(probe("no-such-bucket", &settings).unwrap_err().kind, Kind::Missing);
    let mut wrong = server.settings();
    wrong[3].1 = "another secret".to_owned();
    let fault = probe(BUCKET, &Settings::of(wrong)).unwrap_err();
    assert_eq!(fault.kind, Kind::Denied, "{fault}");
    assert!(fault.found.contains("403 SignatureDoesNotMatch"), "{fault}");
}

fn wait_for(what: &str, uploader: &Uploader, mut is_there: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_there() {
        assert!(Instant::now() < deadline, "{what} did not come: {:?}", uploader.status());
        sleep(Duration::from_millis(5));
    }
}
