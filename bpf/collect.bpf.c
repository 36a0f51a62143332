// SPDX-License-Identifier: GPL-2.0
/*
 * Samples and events of TCP sockets into a ring buffer.
 *
 *   tcp_probe               a segment has arrived on an established socket, nothing of it is processed yet -> sample
 *   tcp_rcv_state_process   the same on a socket that one side has closed already
 *   inet_sock_set_state     -> ESTABLISHED: open;  a connection -> CLOSE: close, with the final totals
 *   tcp_retransmit_skb      -> retrans, rto
 *   tcp_cong_state_set      -> ca_state
 *
 * Another algorithm and new ECN marks are found when a socket is looked at anyway. Filter, rate and choice of events
 * are decided here, per socket, so that user space sees only what becomes a row. Each recorder loads its own instance
 * of this object; only cca_trace_map is shared. Loaded by aya: no extern symbols.
 */
#include "kernel_types.h"
#include "ccactl_abi.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "socket.bpf.h"
#include "collect_row.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* include/net/tcp_states.h */
#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT    2
#define TCP_SYN_RECV    3
#define TCP_FIN_WAIT1   4
#define TCP_FIN_WAIT2   5
#define TCP_CLOSE       7
#define TCP_CLOSE_WAIT  8
#define TCP_LAST_ACK    9
#define TCP_LISTEN      10
#define TCP_CLOSING     11

/* After the handshake and before the end; with the first, data can still be acknowledged. */
#define HALF_CLOSED (1 << TCP_FIN_WAIT1 | 1 << TCP_CLOSE_WAIT | 1 << TCP_LAST_ACK | 1 << TCP_CLOSING)
#define CONNECTED   (HALF_CLOSED | 1 << TCP_ESTABLISHED | 1 << TCP_FIN_WAIT2)

static __always_inline int is_in(struct sock *sk, u32 states)
{
	return states >> sk->__sk_common.skc_state & 1;
}

static __always_inline int is_event_wanted(u32 event)
{
	return config.events >> event & 1;
}

/* Submits an event unless nobody wants to see it. */
static __always_inline void tell(struct sock *sk, struct tcp_sock *tp, struct flow_state *flow, u64 now_ns, u32 event)
{
	if (is_event_wanted(event & 0xff))
		submit(sk, tp, flow, now_ns, event);
}

/*
 * Whether rows of this socket are wanted as far as its algorithm goes; tells when it has another one than at the last
 * look, also when only the code under the name is another.
 */
static __always_inline int check_algorithm(struct sock *sk, struct tcp_sock *tp, struct flow_state *flow, u64 now_ns)
{
	u64 ops = (u64)tp->inet_conn.icsk_ca_ops;
	int is_match = has_wanted_algorithm(tp);

	if (is_match && flow->is_open_due)
		tell(sk, tp, flow, now_ns, CCA_EVENT_OPEN);
	flow->is_open_due = 0;
	if (ops == flow->ops)
		return is_match;
	/* With a filter both ends of the change belong to it, what comes after does not. */
	if (flow->ops && (is_match || is_wanted_algorithm(flow->algorithm)))
		tell(sk, tp, flow, now_ns, CCA_EVENT_ALGORITHM);
	flow->ops = ops;
	cca_algorithm_of(tp, flow->algorithm);
	return is_match;
}

/* New marks: a row for the first of them, then one per smoothed RTT at most, which is how often a sender reacts. */
static __always_inline void check_marks(struct sock *sk, struct tcp_sock *tp, struct flow_state *flow, u64 now_ns)
{
	if (tp->delivered_ce == flow->delivered_ce || now_ns - flow->ecn_ns < (tp->srtt_us >> 3) * NSEC_PER_USEC)
		return;
	flow->delivered_ce = tp->delivered_ce;
	flow->ecn_ns = now_ns;
	tell(sk, tp, flow, now_ns, CCA_EVENT_ECN);
}

/*
 * What is remembered of a socket, brought up to date; NULL when it is not wanted. A socket that has a memory has passed
 * the filters, so they cost something only where they refuse.
 */
static __noinline struct flow_state *meet(struct sock *sk, struct tcp_sock *tp, u64 now_ns)
{
	struct flow_state *flow = bpf_sk_storage_get(&flow_states, sk, NULL, 0);

	if (!flow) {
		if (!is_wanted(sk, tp) || !has_wanted_algorithm(tp))
			return NULL;
		flow = bpf_sk_storage_get(&flow_states, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
		if (!flow) {
			count_drop(CCA_DROP_NO_STORAGE);
			return NULL;
		}
		begin(flow, sk, tp);
	}
	look(flow, tp);
	if (!check_algorithm(sk, tp, flow, now_ns))
		return NULL;
	check_marks(sk, tp, flow, now_ns);
	return flow;
}

static __always_inline void on_ack(struct sock *sk)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct flow_state *flow;
	u64 now_ns;

	if (!tp)
		return;
	/*
	 * With nothing outstanding the segment acknowledges nothing: a receiver's socket, or an idle sender. A receiver is
	 * of interest when an algorithm decides what it offers.
	 */
	if ((!tp->packets_out || !tp->bytes_sent) && !bpf_sk_storage_get(&offers, sk, NULL, 0))
		return;
	now_ns = bpf_ktime_get_ns();
	flow = meet(sk, tp, now_ns);
	if (flow && is_due(flow, tp, now_ns))
		submit(sk, tp, flow, now_ns, CCA_EVENT_SAMPLE);
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(on_segment, struct sock *sk)
{
	on_ack(sk);
	return 0;
}

/* tcp_probe is not reached once a FIN was sent or received, though most of the data may still be on its way. */
SEC("fentry/tcp_rcv_state_process")
int BPF_PROG(on_late_segment, struct sock *sk)
{
	if (is_in(sk, HALF_CLOSED))
		on_ack(sk);
	return 0;
}

/*
 * The end of the handshake. What the socket had before counts as nothing: it may have been connected before, and the
 * algorithm is the one of its creation, since the policy of its cgroup comes a moment later on the connecting side.
 */
static __always_inline void on_open(struct sock *sk, struct tcp_sock *tp, int is_connecting, u64 now_ns)
{
	struct flow_state *flow;

	if (!is_wanted(sk, tp))
		return;
	flow = bpf_sk_storage_get(&flow_states, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!flow) {
		count_drop(CCA_DROP_NO_STORAGE);
		return;
	}
	begin(flow, sk, tp);
	flow->opened_ns = now_ns;
	flow->syn_bytes = is_connecting;
	flow->acked_bytes = payload_acked(flow, tp);
	flow->is_open_due = !has_wanted_algorithm(tp);
	if (!flow->is_open_due)
		tell(sk, tp, flow, now_ns, CCA_EVENT_OPEN);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_state, struct sock *sk, int old_state, int new_state)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	u64 now_ns = bpf_ktime_get_ns();
	struct flow_state *flow;

	if (!tp)
		return 0;
	if (new_state == TCP_SYN_SENT || new_state == TCP_LISTEN) {
		/* Both are reached by a system call of the owner. */
		if (config.pid && bpf_get_current_pid_tgid() >> 32 == config.pid &&
		    !bpf_sk_storage_get(&owned, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE))
			count_drop(CCA_DROP_NO_STORAGE);
	} else if (new_state == TCP_ESTABLISHED) {
		on_open(sk, tp, old_state == TCP_SYN_SENT, now_ns);
	} else if (is_in(sk, CONNECTED)) {
		if (new_state == TCP_CLOSE) {
			flow = meet(sk, tp, now_ns);
			if (flow)
				tell(sk, tp, flow, now_ns, CCA_EVENT_CLOSE);
		} else {
			flow = bpf_sk_storage_get(&flow_states, sk, NULL, 0);
			if (flow)
				look(flow, tp);
		}
	}
	return 0;
}

/*
 * The kernel comes here for a segment that it has sent again, and since 6.15 for one that it could not send: what has
 * been counted decides. A timeout is counted before its retransmission.
 */
SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(on_retransmit, struct sock *sk)
{
	struct tcp_sock *tp;
	struct flow_state *flow;
	u32 timeouts, retrans;
	u64 now_ns;

	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp || !is_in(sk, CONNECTED))
		return 0;
	now_ns = bpf_ktime_get_ns();
	flow = meet(sk, tp, now_ns);
	if (!flow)
		return 0;
	timeouts = rto_count(flow, tp);
	retrans = tp->total_retrans;
	if (timeouts != flow->rto_count)
		tell(sk, tp, flow, now_ns, CCA_EVENT_RTO);
	else if (retrans != flow->retrans_pkts)
		tell(sk, tp, flow, now_ns, CCA_EVENT_RETRANS);
	flow->rto_count = timeouts;
	flow->retrans_pkts = retrans;
	flow->is_rto_due = 0;
	return 0;
}

/* The kernel sets the state very often to what it is, and to Loss at each timeout before it sends again. */
SEC("tp_btf/tcp_cong_state_set")
int BPF_PROG(on_ca_state, struct sock *sk, u8 new_state)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct flow_state *flow;
	u64 now_ns;
	int is_same;

	if (!tp)
		return 0;
	is_same = BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state) == new_state;
	if ((is_same && new_state != TCP_CA_Loss) || !is_in(sk, CONNECTED))
		return 0;
	now_ns = bpf_ktime_get_ns();
	flow = meet(sk, tp, now_ns);
	if (!flow)
		return 0;
	if (new_state == TCP_CA_Loss)
		flow->is_rto_due = 1;
	if (!is_same)
		tell(sk, tp, flow, now_ns, STATE_EVENT(new_state));
	return 0;
}
