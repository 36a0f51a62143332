//! What the keys and the columns mean.

use ratatui::text::Line;

const TEXT: &str = "\
Tab 1 2 3  cgroups, algorithms, flows      ←→ < >  sort by another column
↑↓ PgUp PgDn Home End  select a row        r       reverse the order
Enter      flows of a group, details       /       filter: words that all occur
Esc        back                            x       hide or show closed flows
p Space    pause                           q       quit

Rates are over the interval that ended --every + 0.1 s ago, when all that
happened in it has been reported. goodput: payload acknowledged; thrput: payload
sent, retransmissions included; retr %: retransmitted of the bytes sent.
RTT of a flow: smoothed by the kernel; its bars reach from the smallest RTT to
twice that, or to the largest. RTT of a group: over the samples of its flows,
one per flow and --every at most, when new data was delivered.
phase: of the algorithm; the kernel's state where it publishes none. limit: what
keeps the sender back. CE: packets delivered with an ECN mark.
→f_bbrv2, f_bbrv2←cubic: moved a moment ago. closed: payload acknowledged,
duration, FCT (handshake to the last ACK of new data), retransmissions, mean RTT.
Sockets that were open before appear with their next ACK, those that only
receive do not. A closed flow stays for 5 s, a silent one for 5 min.";

pub(super) fn lines() -> Vec<Line<'static>> {
    TEXT.lines().map(Line::from).collect()
}
