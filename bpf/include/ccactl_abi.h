/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/*
 * The structs that BPF programs and user space share. Rust mirrors them in crates/abi/src/layout.rs; sizes and
 * offsets are asserted on both sides. Only fixed-width types, no bool, padding explicit.
 */
#ifndef CCACTL_ABI_H
#define CCACTL_ABI_H

#define CCA_NAME_LEN 16 /* TCP_CA_NAME_MAX of include/net/tcp.h, terminating NUL included */

/* "No bound" in the unsigned fields of struct cca_trace. */
#define CCA_UNBOUNDED_U32 0xffffffffU
#define CCA_UNBOUNDED_U64 0xffffffffffffffffULL

/*
 * Inner state of an algorithm, one per socket, written by the algorithm only while a recorder has created the
 * storage of that socket (map cca_trace_map). A field that the algorithm does not have stays 0, which a recording shows
 * as "no value", like CCA_UNBOUNDED_* in a bound.
 */
struct cca_trace {
	unsigned long long bw_bps;    /* bandwidth estimate, bit/s of payload */
	unsigned long long bw_lo_bps; /* short-term bound, bit/s */
	unsigned long long bw_hi_bps; /* long-term bound, bit/s */
	long long v0;                 /* free values, named by the registry */
	long long v1;
	unsigned int mode;              /* phase, index into the registry's mode names */
	unsigned int min_rtt_us;        /* the algorithm's own propagation-delay estimate */
	unsigned int inflight_lo_pkts;  /* short-term inflight bound */
	unsigned int inflight_hi_pkts;  /* long-term inflight bound */
	unsigned int pacing_gain_milli; /* gain x 1000 */
	unsigned int cwnd_gain_milli;   /* gain x 1000 */
	unsigned int updates;           /* how often the algorithm has published; 0 = never */
	unsigned int publisher;         /* low half of the address of its struct tcp_congestion_ops */
};

enum cca_event {
	CCA_EVENT_SAMPLE = 0,
	CCA_EVENT_OPEN = 1,
	CCA_EVENT_CLOSE = 2, /* carries the final totals */
};

enum cca_sample_flags {
	CCA_FLAG_APP_LIMITED = 1,
	CCA_FLAG_CWND_LIMITED = 2,
	CCA_FLAG_TRACE = 4, /* the trace member is filled */
};

/* One row of a recording. */
struct cca_sample {
	unsigned long long time_ns;         /* CLOCK_MONOTONIC */
	unsigned long long flow_id;         /* socket cookie */
	unsigned long long cgroup_id;       /* cgroup2 of the socket */
	unsigned long long pacing_rate_Bps; /* bytes/s, ~0 = unlimited */
	unsigned long long delivery_interval_us;
	unsigned long long bytes_acked;
	unsigned long long bytes_sent; /* payload, retransmissions included */
	unsigned long long bytes_retrans;
	unsigned int delivery_pkts; /* rate_delivered over delivery_interval_us */
	unsigned int netns;         /* inode number of the network namespace */
	unsigned int cwnd_pkts;
	unsigned int ssthresh_pkts; /* >= 0x7fffffff = infinite */
	unsigned int inflight_pkts; /* packets_out - sacked - lost + retrans (tcp_packets_in_flight) */
	unsigned int srtt_us;
	unsigned int rtt_us;     /* latest sample, 0 = none */
	unsigned int min_rtt_us; /* kernel's windowed minimum, ~0 = none */
	unsigned int mss_bytes;
	unsigned int retrans_pkts; /* tp->total_retrans */
	unsigned int lost_pkts;    /* tp->lost, cumulative */
	unsigned int delivered_pkts;
	unsigned int delivered_ce_pkts;
	unsigned short sport; /* host order */
	unsigned short dport;
	unsigned char event;     /* enum cca_event */
	unsigned char family;    /* 4 or 6 */
	unsigned char ca_state;  /* TCP_CA_Open .. TCP_CA_Loss */
	unsigned char flags;     /* enum cca_sample_flags */
	unsigned char saddr[16]; /* IPv4 in the first four bytes */
	unsigned char daddr[16];
	char algorithm[CCA_NAME_LEN]; /* kernel name */
	unsigned int pad;
	struct cca_trace trace;
};

/* Filter and rate of a recorder; zero means "any". */
struct cca_record_config {
	unsigned long long cgroup_id;   /* this cgroup and its descendants */
	unsigned long long interval_ns; /* with mode CCA_EVERY_INTERVAL */
	unsigned int cgroup_level;      /* depth of cgroup_id, needed for descendants */
	unsigned int netns;
	unsigned int port;  /* local or remote, host order */
	unsigned int every; /* enum cca_every */
};

enum cca_every {
	CCA_EVERY_ACK = 0,
	CCA_EVERY_RTT = 1,
	CCA_EVERY_INTERVAL = 2,
};

/* Why a recorder has lost a row: index into its per-CPU array of counts. */
enum cca_drop {
	CCA_DROP_RING_FULL = 0,  /* user space did not keep up */
	CCA_DROP_NO_STORAGE = 1, /* no memory for the rate state of a socket */
	CCA_DROP_REASONS,
};

/* Policy of one cgroup: what its new sockets get. Key: cgroup id. */
struct cca_policy {
	char kernel_name[CCA_NAME_LEN];
	unsigned long long attached_unix_ns;
	unsigned int level; /* depth of the cgroup: the nearest policy wins */
	unsigned int flags; /* enum cca_policy_flags */
};

enum cca_policy_flags {
	CCA_POLICY_BEFORE_SYN = 1, /* negotiates ECN, which the SYN carries */
};

/* Which policy gave a socket its algorithm; inherited by accepted children. */
struct cca_mark {
	unsigned long long cgroup_id;
	char kernel_name[CCA_NAME_LEN];
};

#define CCA_MAX_TUNABLES     64
#define CCA_TUNABLE_NAME_LEN 32

struct cca_tunable_value {
	char name[CCA_TUNABLE_NAME_LEN];
	long long raw; /* as stored in .rodata */
};

/* What was loaded under a kernel name; pinned beside the struct_ops link so that a later call can read it back. */
struct cca_loaded {
	char algorithm[CCA_TUNABLE_NAME_LEN]; /* registry name */
	char kernel_name[CCA_NAME_LEN];
	unsigned long long loaded_unix_ns;
	unsigned int struct_ops_map_id;
	unsigned int n_tunables; /* those set by the user */
	struct cca_tunable_value tunables[CCA_MAX_TUNABLES];
};

#ifndef CCA_NO_STATIC_ASSERT
_Static_assert(sizeof(struct cca_trace) == 72, "struct cca_trace");
_Static_assert(sizeof(struct cca_sample) == 248, "struct cca_sample");
_Static_assert(sizeof(struct cca_record_config) == 32, "struct cca_record_config");
_Static_assert(sizeof(struct cca_policy) == 32, "struct cca_policy");
_Static_assert(sizeof(struct cca_mark) == 24, "struct cca_mark");
_Static_assert(sizeof(struct cca_loaded) == 2624, "struct cca_loaded");
#endif

#endif /* CCACTL_ABI_H */
