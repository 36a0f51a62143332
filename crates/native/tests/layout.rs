//! The Rust mirrors have the layout that the C compiler gives the structs.

use std::collections::BTreeMap;

use ccactl_native::layout::{
    AckSample, HostSock, InetConnectionSock, Ops, RateSample, Sock, SockCommon, TcpOptionsReceived, TcpSock, c_fields,
};

type Layout = BTreeMap<String, (usize, usize)>;

fn size_of_field<S, F>(_: fn(&S) -> &F) -> usize {
    size_of::<F>()
}

macro_rules! mirror {
    ($into:ident, $c:literal, $rust:ty $(, $member:ident)*) => {
        $into.insert($c.to_owned(), (0, size_of::<$rust>()));
        mirror!(members $into, $c, $rust $(, $member)*);
    };
    (members $into:ident, $c:literal, $rust:ty $(, $member:ident)*) => {
        $($into.insert(
            format!("{}.{}", $c, stringify!($member)),
            (std::mem::offset_of!($rust, $member), size_of_field(|s: &$rust| &s.$member)),
        );)*
    };
}

fn rust_layout() -> Layout {
    let mut all = Layout::new();
    mirror!(all, "sock_common", SockCommon);
    mirror!(all, "sock", Sock, sk_pacing_status, sk_pacing_rate, sk_max_pacing_rate, sk_gso_max_size, sk_pacing_shift);
    mirror!(all, "inet_connection_sock", InetConnectionSock, icsk_ca_ops, icsk_ca_priv);
    all.insert(
        "inet_connection_sock.icsk_ack".to_owned(),
        (std::mem::offset_of!(InetConnectionSock, icsk_ack_pending), 1),
    );
    mirror!(all, "tcp_options_received", TcpOptionsReceived);
    mirror!(
        all,
        "tcp_sock",
        TcpSock,
        rx_opt,
        snd_una,
        snd_nxt,
        snd_wnd,
        mss_cache,
        rcv_nxt,
        tcp_mstamp,
        tcp_wstamp_ns,
        tcp_clock_cache,
        srtt_us,
        rtt_min,
        packets_out,
        retrans_out,
        max_packets_out,
        cwnd_usage_seq,
        lsndtime,
        snd_ssthresh,
        snd_cwnd,
        snd_cwnd_cnt,
        snd_cwnd_clamp,
        snd_cwnd_used,
        snd_cwnd_stamp,
        prior_cwnd,
        prr_delivered,
        prr_out,
        delivered,
        delivered_ce,
        lost,
        app_limited,
        first_tx_mstamp,
        delivered_mstamp,
        rate_delivered,
        rate_interval_us,
        lost_out,
        sacked_out,
        total_retrans,
        bytes_sent,
        bytes_retrans,
        bytes_acked,
        bytes_received,
        data_segs_out,
        undo_marker,
        high_seq,
        ecn_flags,
        rack
    );
    mirror!(
        all,
        "rate_sample",
        RateSample,
        prior_mstamp,
        prior_delivered,
        prior_delivered_ce,
        delivered,
        delivered_ce,
        interval_us,
        snd_interval_us,
        rcv_interval_us,
        rtt_us,
        losses,
        acked_sacked,
        prior_in_flight,
        last_end_seq,
        is_app_limited,
        is_retrans,
        is_ack_delayed
    );
    mirror!(all, "ack_sample", AckSample, pkts_acked, rtt_us, in_flight);
    mirror!(
        all,
        "tcp_congestion_ops",
        Ops,
        ssthresh,
        cong_avoid,
        set_state,
        cwnd_event,
        in_ack_event,
        pkts_acked,
        min_tso_segs,
        cong_control,
        undo_cwnd,
        sndbuf_expand,
        name,
        init,
        release,
        flags
    );
    mirror!(
        all,
        "cc_host_sock",
        HostSock,
        jiffies,
        ktime_ns,
        random_state,
        storage,
        trace,
        hz,
        recording,
        storage_fails,
        app_limited_fixed,
        acks_sent,
        ack_rcv_nxt,
        mptcp_token
    );
    all
}

#[test]
fn every_member_lies_where_the_c_compiler_put_it() {
    let c: Layout = c_fields().iter().map(|field| (field.name.to_owned(), (field.offset, field.size))).collect();
    assert!(c.len() > 80, "the C table has {} rows", c.len());
    let rust = rust_layout();
    let differing: Vec<&String> = c.keys().chain(rust.keys()).filter(|name| c.get(*name) != rust.get(*name)).collect();
    assert!(differing.is_empty(), "the mirror differs in {differing:?}");
}
