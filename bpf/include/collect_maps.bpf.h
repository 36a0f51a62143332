/* SPDX-License-Identifier: GPL-2.0 */
/* What a recorder's programs share: configuration, ring, counts, and what is remembered of each socket. */
#ifndef CCACTL_COLLECT_MAPS_BPF_H
#define CCACTL_COLLECT_MAPS_BPF_H

#include "offers_map.bpf.h"
#include "trace_map.bpf.h"

/* Filter and rate of this recorder. */
const volatile struct cca_record_config config = {};

/*
 * Bytes in the ring. User space is woken when their number passes a multiple of wakeup_bytes (a power of two); below,
 * its own timer collects them. Above sample_limit_bytes only events find room.
 */
const volatile u32 wakeup_bytes = 4 * 1024 * 1024;
const volatile u32 sample_limit_bytes = 14 * 1024 * 1024;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 * 1024 * 1024); /* set anew by the recorder */
} rows SEC(".maps");

/* By enum cca_count. The name is how others find it: what is in a file can be compared with what left the kernel. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CCA_COUNTS);
	__type(key, u32);
	__type(value, u64);
} ccactl_counts SEC(".maps");

/* What a recorder remembers of a socket. */
struct flow_state {
	u64 flow_id; /* what never changes is looked up once */
	u64 cgroup_id;
	u64 opened_ns;   /* end of the handshake, 0 = before the recording */
	u64 sampled_ns;  /* last sample */
	u64 ecn_ns;      /* last event about marks */
	u64 progress_ns; /* last ACK known to have delivered payload */
	u64 acked_bytes; /* payload acknowledged at the last look */
	u64 rtt_sum_us;
	u64 ce_bytes; /* the kernel's count of 32 bits, carried on */
	u64 ops;      /* address of the algorithm's table at the last look, 0 = not looked at yet */
	u32 netns;
	u32 rtt_samples;
	u32 rtt_min_us;   /* 0 = none */
	u32 delivered;    /* at the last look */
	u32 delivered_ce; /* at the last event about marks */
	u32 retrans_pkts; /* at the last retransmission */
	u32 rto_count;    /* likewise */
	u8 syn_bytes;     /* what the kernel counts as acknowledged for our SYN */
	u8 is_open_due;   /* its open row waits until it is known which algorithm it has */
	u8 is_counted;    /* there is a row of it */
	u8 is_rto_due;    /* the next retransmission is that of a timeout; before Linux 6.7 */
	char algorithm[CCA_NAME_LEN];
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow_state);
} flow_states SEC(".maps");

/* Sockets of the process that config.pid names; what a listener accepts inherits it. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, u32);
} owned SEC(".maps");

static __always_inline void count(u32 index)
{
	u64 *counter = bpf_map_lookup_elem(&ccactl_counts, &index);

	if (counter)
		(*counter)++;
}

static __always_inline void count_drop(u32 reason)
{
	count(CCA_COUNT_DROPS + reason);
}

#endif /* CCACTL_COLLECT_MAPS_BPF_H */
