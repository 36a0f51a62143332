//! What the queue disciplines of a device counted, from `tc -s -j qdisc show`.

use serde_json::Value;

/// Packets of one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counted {
    /// Left the device.
    pub sent_packets: u64,
    /// The same in bytes of Ethernet frames.
    pub sent_bytes: u64,
    /// Dropped for want of room; what netem loses at random counts here.
    pub dropped_full_packets: u64,
    /// Dropped by active queue management before that.
    pub dropped_early_packets: u64,
    /// Given the mark "congestion experienced".
    pub marked_packets: u64,
    /// Waiting.
    pub queued_packets: u64,
}

impl Counted {
    /// Packets that came to the device.
    pub fn offered_packets(&self) -> u64 {
        self.sent_packets + self.dropped_full_packets + self.dropped_early_packets + self.queued_packets
    }
}

/// The discipline that decides is the lower one of two; it counts what is sent and dropped by itself.
pub fn parse(text: &str) -> Result<Counted, String> {
    let disciplines: Vec<Value> = serde_json::from_str(text).map_err(|error| format!("{error}: {text:?}"))?;
    let of = disciplines.last().ok_or_else(|| "no discipline".to_owned())?;
    let number = |name: &str| of[name].as_u64().ok_or_else(|| format!("no {name} in {of}"));
    let drops = number("drops")?;
    let (full, early, marked) = match of["kind"].as_str().unwrap_or_default() {
        // The limit is one of several reasons there, and counted apart.
        "codel" | "fq_codel" => {
            let full = number("drop_overlimit")?;
            (full, drops.saturating_sub(full), number("ecn_mark")?)
        }
        "pie" => {
            let early = number("dropped")?;
            (drops.saturating_sub(early), early, number("ecn_mark")?)
        }
        _ => (drops, 0, 0),
    };
    Ok(Counted {
        sent_packets: number("packets")?,
        sent_bytes: number("bytes")?,
        dropped_full_packets: full,
        dropped_early_packets: early,
        marked_packets: marked,
        queued_packets: number("qlen")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As printed by iproute2 6.1, less what is not read.
    const BUCKET: &str =
        r#"{"kind":"tbf","handle":"1:","root":true,"bytes":1,"packets":1,"drops":9,"backlog":0,"qlen":1}"#;

    fn below(discipline: &str) -> Result<Counted, String> {
        parse(&format!("[{BUCKET},{discipline}]"))
    }

    #[test]
    fn a_fifo_drops_for_want_of_room_alone() {
        let fifo = r#"{"kind":"bfifo","handle":"2:","parent":"1:1","bytes":3028,"packets":2,"drops":3,"backlog":1514,"qlen":1}"#;
        let counted = below(fifo).unwrap();
        let expected = Counted {
            sent_packets: 2,
            sent_bytes: 3028,
            dropped_full_packets: 3,
            queued_packets: 1,
            ..Counted::default()
        };
        assert_eq!((counted, counted.offered_packets()), (expected, 6));
    }

    #[test]
    fn drops_of_active_queue_management_are_told_from_those_of_the_limit() {
        let codel = r#"{"kind":"codel","bytes":1,"packets":1,"drops":10,"qlen":0,"ecn_mark":4,"drop_overlimit":3}"#;
        let pie = r#"{"kind":"pie","bytes":1,"packets":1,"drops":10,"qlen":0,"ecn_mark":4,"dropped":7,"overlimit":3}"#;
        for text in [codel, pie] {
            let Counted { dropped_full_packets, dropped_early_packets, marked_packets, .. } = below(text).unwrap();
            assert_eq!((dropped_full_packets, dropped_early_packets, marked_packets), (3, 7, 4), "{text}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        assert!(parse("[]").unwrap_err().contains("no discipline"));
        assert!(parse("tc: no").is_err());
        let without = r#"{"kind":"codel","bytes":1,"packets":1,"drops":10,"qlen":0}"#;
        assert!(below(without).unwrap_err().contains("no drop_overlimit"));
    }
}
