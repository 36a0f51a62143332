//! What is drawn on small and on large terminals, and what keys do. The expected screens stand in `tests/screens/`;
//! `UPDATE_SCREENS=1` writes them anew, to be looked at before they are committed.

use super::*;
use crate::live::board::{Board, FlowKey, History, Pace};
use crate::live::labels::{Labels, Unlabelled};
use crate::live::names::Names;
use crate::live::view::{Snapshot, Status};
use bytemuck::Zeroable;
use ccactl_abi::layout::{
    EVENT_CLOSE, EVENT_OPEN, EVENT_SAMPLE, FLAG_APP_LIMITED, FLAG_CWND_LIMITED, FLAG_TRACE, INFINITE_SSTHRESH, Sample,
    name_bytes,
};
use ccactl_collector::{Drops, Every, KnownAlgorithm};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::fs;
use std::net::Ipv6Addr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const MS: u64 = 1_000_000;
const START: u64 = 5_000_000 * MS;
/// The moment that is shown: the window reaches from 8.8 to 9.8 s after the start.
const NOW_MS: u64 = 10_000;

/// A host with five flows and one that was just closed.
struct Host {
    board: Board,
    labels: Labels,
}

impl Host {
    fn new() -> Host {
        let pace = Pace::new(Duration::from_secs(1), Every::Interval(Duration::from_millis(100)));
        let labels = Labels::new(names(), Arc::new(KnownAlgorithm::from_registry));
        let mut host = Host { board: Board::new(pace), labels };
        for ms in (0..NOW_MS).step_by(100) {
            host.board.feed(&rows(ms));
            host.board.advance(START + ms * MS);
        }
        host.board.advance(START + NOW_MS * MS);
        host.labels.learn(Unlabelled::of(&host.board));
        host
    }

    fn snapshot(&self) -> Snapshot {
        let status = Status {
            kernel: "6.12.5".to_owned(),
            every: "100ms".to_owned(),
            interval_s: 1.0,
            elapsed_s: 10.0,
            rows: 500,
            rows_per_s: 50.0,
            ..Status::default()
        };
        Snapshot::take(&self.board, &self.labels, status, START + NOW_MS * MS)
    }

    fn history(&self, key: Option<FlowKey>) -> Option<History> {
        self.board.flow(key?).map(|flow| flow.history.clone())
    }
}

fn names() -> Names {
    let cgroups = [(7, "/web"), (8, "/system.slice/backup-of-everything.service")];
    let netns = [(1, "host"), (2, "ccactl-a")];
    Names::known(cgroups.map(|(id, path)| (id, path.to_owned())), netns.map(|(inode, name)| (inode, name.to_owned())))
}

/// The rows of one moment.
fn rows(ms: u64) -> Vec<Sample> {
    let mut rows: Vec<Sample> = (1..=3).map(|id| bulk(id, ms)).collect();
    let backup = Sample { cgroup_id: 8, algorithm: name_bytes("cubic").unwrap(), ssthresh_pkts: 90, ..bulk(4, ms) };
    rows.push(Sample { flags: FLAG_CWND_LIMITED, ca_state: 3, retrans_pkts: ms as u32 / 100, ..backup });
    // Swapped a second ago.
    let algorithm = name_bytes(if ms < 9000 { "cubic" } else { "bpf_cubic" }).unwrap();
    let mut v6 = Sample { algorithm, flags: FLAG_APP_LIMITED, family: 6, ..bulk(5, ms) };
    v6.saddr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1).octets();
    v6.daddr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2).octets();
    rows.push(v6);
    if ms == 8000 {
        rows.push(short(ms, EVENT_OPEN));
    }
    if ms == 9300 {
        rows.push(Sample { bytes_acked: 150_000, bytes_sent: 150_000, delivered_pkts: 104, ..short(ms, EVENT_CLOSE) });
    }
    rows
}

/// A bulk transfer of as many MB/s as its number says, over a path of 20 ms with a queue that comes and goes.
fn bulk(id: u64, ms: u64) -> Sample {
    let queue_us = [0, 4000, 9000, 15_000, 22_000, 14_000, 6000, 1000][(ms / 500 % 8) as usize];
    let bytes = id * ms * 1000;
    let mut row = Sample {
        time_ns: START + ms * MS,
        flow_id: id,
        cgroup_id: 7,
        netns: 1,
        event: EVENT_SAMPLE,
        family: 4,
        sport: 40_000 + id as u16,
        dport: 5201,
        algorithm: name_bytes("f_bbrv2").unwrap(),
        flags: FLAG_TRACE | FLAG_CWND_LIMITED,
        bytes_acked: bytes,
        bytes_sent: bytes + bytes / 50,
        bytes_retrans: bytes / 50,
        delivered_pkts: (bytes / 1448) as u32,
        retrans_pkts: (bytes / 72_400) as u32,
        delivery_pkts: 10 * id as u32,
        delivery_interval_us: 11_584,
        cwnd_pkts: 40 * id as u32,
        inflight_pkts: 35 * id as u32,
        ssthresh_pkts: INFINITE_SSTHRESH,
        snd_wnd_bytes: 3_145_728,
        srtt_us: 20_000 + queue_us,
        rtt_us: 20_100 + queue_us,
        min_rtt_us: 20_000,
        mss_bytes: 1448,
        pacing_rate_bytes_per_s: 1_100_000 * id,
        lost_pkts: 3,
        ..Sample::zeroed()
    };
    row.saddr[..4].copy_from_slice(&[10, 77, 0, 1]);
    row.daddr[..4].copy_from_slice(&[10, 77, 0, 2]);
    row.trace.bw_bps = 8_200_000 * id;
    row.trace.bw_lo_bps = u64::MAX;
    row.trace.bw_hi_bps = 9_000_000 * id;
    row.trace.min_rtt_us = 20_000;
    row.trace.inflight_lo_pkts = u32::MAX;
    row.trace.inflight_hi_pkts = 44 * id as u32;
    row.trace.pacing_gain_milli = 1000;
    row.trace.cwnd_gain_milli = 2000;
    row.trace.mode = if id == 3 { 5 } else { 3 };
    row.trace.v0 = 20_000;
    row.trace.v1 = 3;
    row
}

/// A connection of 1.3 s to another address.
fn short(ms: u64, event: u8) -> Sample {
    let mut row = Sample {
        time_ns: START + ms * MS,
        flow_id: 6,
        event,
        dport: 443,
        opened_ns: START + 8000 * MS,
        progress_ns: START + 9280 * MS,
        rtt_sum_us: 2_500_000,
        rtt_samples: 100,
        rtt_min_us: 20_010,
        bytes_acked: 0,
        bytes_sent: 0,
        delivered_pkts: 0,
        retrans_pkts: 0,
        ..bulk(6, ms)
    };
    row.daddr[..4].copy_from_slice(&[192, 168, 100, 200]);
    row
}

/// The screen as text, lines without the blanks at their end.
fn screen(app: &mut App, host: &Host, snapshot: &Snapshot, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let history = host.history(app.detail());
    terminal.draw(|frame| draw(frame, app, Theme::Plain, snapshot, history.as_ref())).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned() + "\n";
    (0..height).map(line).collect()
}

fn expect(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/screens").join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_SCREENS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, found).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{name}: found\n{found}\nexpected\n{expected}");
}

fn press(app: &mut App, snapshot: &Snapshot, keys: &[KeyCode]) -> bool {
    keys.iter().any(|key| app.press(KeyEvent::new(*key, KeyModifiers::NONE), snapshot))
}

fn chars(text: &str) -> Vec<KeyCode> {
    text.chars().map(KeyCode::Char).collect()
}

#[test]
fn every_view_is_drawn_on_small_and_on_large_terminals() {
    let host = Host::new();
    let snapshot = host.snapshot();
    for (width, height) in [(80, 24), (200, 50)] {
        let views = [("cgroups", "1"), ("algorithms", "2"), ("flows", "3"), ("detail", "3\njj"), ("help", "?")];
        for (name, keys) in views {
            let mut app = App::default();
            for key in keys.chars() {
                let key = if key == '\n' { KeyCode::Enter } else { KeyCode::Char(key) };
                press(&mut app, &snapshot, &[key]);
            }
            expect(&format!("{name}-{width}x{height}"), &screen(&mut app, &host, &snapshot, width, height));
        }
    }
}

#[test]
fn notes_stand_below_the_details_of_the_first_flow_that_comes() {
    let host = Host::new();
    let notes = Notes::default();
    let mut app = App::beside(notes.clone());
    app.see(&Snapshot::default());
    assert!(screen(&mut app, &host, &Snapshot::default(), 80, 40).contains("[3 flows]"));
    assert_eq!(app.detail(), None, "no flow, no details");

    let snapshot = host.snapshot();
    app.see(&snapshot);
    for line in 0..200 {
        notes.push(&format!("line {line}\x1b[2J"));
    }
    let drawn = screen(&mut app, &host, &snapshot, 80, 40);
    assert!(drawn.contains("goodput") && app.detail().is_some(), "{drawn}");
    assert!(drawn.contains("line 199") && !drawn.contains("line 186") && !drawn.contains('\x1b'), "{drawn}");
    // A rejection is one long line: its end has the way out.
    notes.push(&format!("{}the way out", "reason ".repeat(30)));
    assert!(screen(&mut app, &host, &snapshot, 80, 40).contains("the way out"));
    // Whoever goes back to the tables stays there.
    press(&mut app, &snapshot, &[KeyCode::Esc]);
    app.see(&snapshot);
    assert_eq!(app.detail(), None);
}

#[test]
fn a_small_terminal_has_the_key_columns_whole() {
    let host = Host::new();
    let snapshot = host.snapshot();
    let drawn = screen(&mut App::default(), &host, &snapshot, 80, 24);
    for text in
        [":40004→10.77.0.2:5201", ":40005→[fd00::2]:5201", ":40006→192.168.100.200:443", "f_bbrv2", "bpf_cubic", "32.0"]
    {
        assert!(drawn.contains(text), "{text} is missing in\n{drawn}");
    }
    assert!(drawn.lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn lost_rows_and_flows_without_room_are_told() {
    let host = Host::new();
    let mut snapshot = host.snapshot();
    assert!(screen(&mut App::default(), &host, &snapshot, 80, 24).contains("no row lost"));
    snapshot.status.drops = Drops { ring_full_samples: 1200, ring_full_events: 34, no_storage: 0 };
    snapshot.flows_without_room = 17;
    let drawn = screen(&mut App::default(), &host, &snapshot, 80, 24);
    assert!(drawn.contains("1234 ROWS LOST  1200 samples, 34 events"), "{drawn}");
    assert!(drawn.contains("17 FLOWS WITHOUT ROOM") && !drawn.contains("no row lost"), "{drawn}");
}

#[test]
fn a_table_is_sorted_by_any_column_and_reversed() {
    let host = Host::new();
    let snapshot = host.snapshot();
    let mut app = App::default();
    let order = |app: &App| app.flows(&snapshot).iter().map(|flow| flow.flow_id).collect::<Vec<_>>();
    assert_eq!(order(&app), [5, 4, 3, 2, 1, 6], "by goodput");
    press(&mut app, &snapshot, &chars("r"));
    assert_eq!(order(&app), [6, 1, 2, 3, 4, 5]);
    let columns = crate::live::view::FLOWS.len();
    let mut seen = vec![false; columns];
    for _ in 0..columns {
        press(&mut app, &snapshot, &[KeyCode::Right]);
        seen[app.look().sort] = true;
        assert!(!app.look().is_reversed, "another column begins in its own order");
        let drawn = screen(&mut app, &host, &snapshot, 80, 24);
        let title = crate::live::view::FLOWS[app.look().sort].title;
        assert!(drawn.contains(&format!("▼{title}")), "the sorted column is on the screen, {title} is not in\n{drawn}");
    }
    assert!(seen.iter().all(|seen| *seen));
    press(&mut app, &snapshot, &[KeyCode::Right, KeyCode::Left]);
    assert_eq!(order(&app), [5, 4, 3, 2, 1, 6], "and back");
}

#[test]
fn what_is_not_known_is_sorted_last_either_way() {
    let host = Host::new();
    let snapshot = host.snapshot();
    let mut app = App::default();
    while crate::live::view::FLOWS[app.look().sort].title != "age" {
        press(&mut app, &snapshot, &[KeyCode::Right]);
    }
    let first = |app: &App| app.flows(&snapshot)[0].flow_id;
    assert_eq!(first(&app), 6, "the only one that was opened while we looked");
    press(&mut app, &snapshot, &chars("r"));
    assert_eq!(first(&app), 6);
}

#[test]
fn a_filter_has_words_of_address_port_cgroup_and_algorithm() {
    let host = Host::new();
    let snapshot = host.snapshot();
    let filtered = |text: &str| {
        let mut app = App::default();
        press(&mut app, &snapshot, &[vec![KeyCode::Char('/')], chars(text), vec![KeyCode::Enter]].concat());
        let mut ids: Vec<u64> = app.flows(&snapshot).iter().map(|flow| flow.flow_id).collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(filtered(":443"), [6]);
    assert_eq!(filtered("fd00::2"), [5]);
    assert_eq!(filtered("/SYSTEM.slice"), [4]);
    assert_eq!(filtered("f-bbrv2 :4000"), [1, 2, 3, 6], "the name of the registry will do, and all words must occur");
    assert_eq!(filtered("f_bbrv2 :40001"), [1]);
    assert_eq!(filtered("nothing"), [0_u64; 0]);
}

#[test]
fn keys_of_a_filter_do_nothing_else_and_escape_clears_it() {
    let host = Host::new();
    let snapshot = host.snapshot();
    let mut app = App::default();
    assert!(!press(&mut app, &snapshot, &chars("/qp1")), "q is a letter here");
    assert_eq!((app.filter.as_str(), app.is_paused(), app.view), ("qp1", false, View::Flows));
    press(&mut app, &snapshot, &[KeyCode::Backspace]);
    assert!(screen(&mut app, &host, &snapshot, 80, 24).contains("filter: qp▏"));
    press(&mut app, &snapshot, &[KeyCode::Esc]);
    assert_eq!((app.filter.as_str(), app.is_typing), ("", false));
}

#[test]
fn enter_goes_from_a_group_to_its_flows_and_to_their_details_and_escape_back() {
    let host = Host::new();
    let snapshot = host.snapshot();
    let mut app = App::default();
    press(&mut app, &snapshot, &chars("1"));
    assert!(screen(&mut app, &host, &snapshot, 80, 24).contains("[1 cgroups]"));
    press(&mut app, &snapshot, &[KeyCode::Down, KeyCode::Down, KeyCode::Enter]);
    let ids: Vec<u64> = app.flows(&snapshot).iter().map(|flow| flow.flow_id).collect();
    assert_eq!((app.view, ids), (View::Flows, vec![4]));
    press(&mut app, &snapshot, &[KeyCode::Enter]);
    assert_eq!(app.detail(), Some((4, 1)));
    press(&mut app, &snapshot, &[KeyCode::Esc, KeyCode::Esc]);
    assert_eq!((app.view, app.detail(), app.within.clone()), (View::Cgroups, None, None));
}

#[test]
fn the_selection_stays_with_its_flow_when_the_order_changes() {
    let host = Host::new();
    let snapshot = host.snapshot();
    let mut app = App::default();
    press(&mut app, &snapshot, &[KeyCode::Down, KeyCode::Down, KeyCode::Char('r'), KeyCode::Enter]);
    assert_eq!(app.detail(), Some((4, 1)));
    press(&mut app, &snapshot, &[KeyCode::Down]);
    assert_eq!(app.detail(), Some((5, 1)), "the details move with it");
    press(&mut app, &snapshot, &[KeyCode::Esc, KeyCode::End, KeyCode::Down, KeyCode::Enter]);
    assert_eq!(app.detail(), Some((5, 1)));
    press(&mut app, &snapshot, &[KeyCode::Esc, KeyCode::Home, KeyCode::Up, KeyCode::Enter]);
    assert_eq!(app.detail(), Some((6, 1)));
}

#[test]
fn closed_flows_show_their_totals_and_can_be_hidden() {
    let host = Host::new();
    let snapshot = host.snapshot();
    let mut app = App::default();
    let totals = "closed 150 kB 1.30 s FCT 1.28 s retr 0";
    assert!(screen(&mut app, &host, &snapshot, 80, 24).contains(totals));
    press(&mut app, &snapshot, &chars("x"));
    let drawn = screen(&mut app, &host, &snapshot, 80, 24);
    assert!(!drawn.contains("FCT") && drawn.contains("closed hidden"), "{drawn}");
}

#[test]
fn a_flow_that_is_gone_says_so_instead_of_its_details() {
    let host = Host::new();
    let mut snapshot = host.snapshot();
    let mut app = App::default();
    press(&mut app, &snapshot, &[KeyCode::Enter]);
    snapshot.flows.clear();
    assert!(screen(&mut app, &host, &snapshot, 80, 24).contains("closed and gone"));
    assert!(!press(&mut app, &snapshot, &[KeyCode::Down, KeyCode::Esc, KeyCode::Enter, KeyCode::PageDown]));
}

#[test]
fn details_say_what_a_flow_had_before_it_was_moved() {
    let host = Host::new();
    let snapshot = host.snapshot();
    let mut app = App::default();
    press(&mut app, &snapshot, &[KeyCode::Enter]);
    let drawn = screen(&mut app, &host, &snapshot, 80, 24);
    assert!(drawn.contains("bpf_cubic (cubic until 1.00 s ago)"), "{drawn}");
    assert!(drawn.contains("bpf_cubic publishes no inner state"), "{drawn}");
}

#[test]
fn quitting_pausing_and_tiny_terminals() {
    let host = Host::new();
    let snapshot = host.snapshot();
    let mut app = App::default();
    assert!(press(&mut app, &snapshot, &chars("q")));
    let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    press(&mut app, &snapshot, &chars("/"));
    assert!(app.press(interrupt, &snapshot), "while a filter is typed too");
    app = App::default();
    press(&mut app, &snapshot, &chars("p"));
    assert!(app.is_paused() && screen(&mut app, &host, &snapshot, 80, 24).contains("PAUSED"));
    for (width, height) in [(1, 1), (10, 3), (30, 8), (79, 6)] {
        for keys in ["1", "2", "3", "3\n", "?"] {
            let mut app = App::default();
            for key in keys.chars() {
                let key = if key == '\n' { KeyCode::Enter } else { KeyCode::Char(key) };
                press(&mut app, &snapshot, &[key]);
            }
            screen(&mut app, &host, &snapshot, width, height);
        }
    }
}
