// SPDX-License-Identifier: GPL-2.0
/*
 * HighSpeed TCP: RFC 3649.
 *
 * In a nutshell: Reno whose increase grows and whose decrease shrinks with the window w.
 *
 *   avoidance   cwnd += a(w) / w per ACK
 *   loss        ssthresh = max((1 - b(w)) w, 2)
 *
 * a and b are such that the window at a loss rate p is 0.12 / p^0.835 above 38 packets, where Reno's 1.2 /
 * sqrt(p) is left, up to 83000 packets at p = 10^-7:
 *
 *   b(w) = (0.1 - 0.5) (ln w - ln 38) / (ln 83000 - ln 38) + 0.5
 *   a(w) = w^2 p(w) 2 b(w) / (2 - b(w))
 *   p(w) = 0.078 / w^1.2
 *
 *                cwnd >= ssthresh        cwnd > 38
 *   SLOW_START -------------------> RENO -----------> HIGHSPEED
 *                                        <-----------
 *                                         cwnd <= 38
 *   SLOW_START -- cwnd >= ssthresh > 38 --> HIGHSPEED
 *   RENO, HIGHSPEED -- timeout, idle time: cwnd below ssthresh --> SLOW_START
 *
 * a and b are taken from the table of the RFC's appendix B. As native highspeed, step by step:
 *   - Between two rows the upper one holds (39 to 118 packets: a = 2).
 *   - The row is looked up in avoidance only, so a loss in slow start halves as if the window were small.
 *   - Growth is a(w) per call, whatever the ACK covers, and at most one packet.
 *
 * The module leaves the last row out (tunable rows). It also lowers snd_cwnd_clamp so that its product fits
 * 32 bits. BPF may not write that field, so growth stops at the same window here. The product has 64 bits for
 * the windows that slow start can still reach.
 */
#include "cc.bpf.h"
#include "cc_handover.bpf.h"

CC_ALGORITHM("hstcp", "loss",
	     "Reno whose increase grows and whose decrease shrinks with the window: HighSpeed TCP, native highspeed.",
	     "RFC 3649; net/ipv4/tcp_highspeed.c");
CC_COLOR("#882255");
CC_TRACE_V0("ai_pkts", "a(w): packets per round trip that the window grows");
CC_TRACE_V1("md_milli", "b(w): share of the window that a loss takes, in thousandths");

#define HSTCP_ROWS     73U
#define HSTCP_B_SHIFT  8           /* b = 1.0 is 256 */
#define HSTCP_MAX_CWND (~0U / 128) /* packets: the module's clamp */
#define HSTCP_MIN_CWND 2U          /* packets */
#define HSTCP_FIND     (1U << 6)   /* first step of the search: the largest power of two up to HSTCP_ROWS */

CC_TUNABLE(u32, rows, 72, 1, 73, "", "rows of the response function in use: 72 = native module, 73 = RFC, 1 = Reno",
	   "RFC 3649, appendix B; net/ipv4/tcp_highspeed.c");
CC_SWITCH(u32, count_packets, 0,
	  "grow by a(w)/w per packet acknowledged, not per ACK: the RFC's rate with stretch ACKs",
	  "RFC 3649, section 5");
CC_PRESET("p2", "count_packets=1", "counts like ACA-TCP, beside which P2 measures it", "Na, Park, Lee, Kim 2006");

CC_SWITCH(u32, rfc_rows, 0,
	  "a row of the table holds from its window on; 0 = up to its window, one row further, as the module",
	  "RFC 3649, appendix B");

/* reno: up to 38 packets: a = 1, b = 1/2 */
CC_MODES(hstcp_mode, HSTCP_SLOW_START, HSTCP_RENO, HSTCP_HIGHSPEED);

/* Row i: the smallest window at which a(w) has reached i + 1, and b(w) there, rounded down. RFC 3649, appendix B. */
struct hstcp_row {
	u32 cwnd;
	u32 b;
};

static const struct hstcp_row hstcp_table[HSTCP_ROWS] = {
    {38, 128},   {118, 112},  {221, 104},  {347, 98},   {495, 93},   {663, 89},   {851, 86},   {1058, 83},  {1284, 81},
    {1529, 78},  {1793, 76},  {2076, 74},  {2378, 72},  {2699, 71},  {3039, 69},  {3399, 68},  {3778, 66},  {4177, 65},
    {4596, 64},  {5036, 62},  {5497, 61},  {5979, 60},  {6483, 59},  {7009, 58},  {7558, 57},  {8130, 56},  {8726, 55},
    {9346, 54},  {9991, 53},  {10661, 52}, {11358, 52}, {12082, 51}, {12834, 50}, {13614, 49}, {14424, 48}, {15265, 48},
    {16137, 47}, {17042, 46}, {17981, 45}, {18955, 45}, {19965, 44}, {21013, 43}, {22101, 43}, {23230, 42}, {24402, 41},
    {25618, 41}, {26881, 40}, {28193, 39}, {29557, 39}, {30975, 38}, {32450, 38}, {33986, 37}, {35586, 36}, {37253, 36},
    {38992, 35}, {40808, 35}, {42707, 34}, {44694, 33}, {46776, 33}, {48961, 32}, {51258, 32}, {53677, 31}, {56230, 30},
    {58932, 30}, {61799, 29}, {64851, 28}, {68113, 28}, {71617, 27}, {75401, 26}, {79517, 26}, {84035, 25}, {89053, 24},
    {94717, 23},
};

struct hstcp {
	u32 row; /* a = row + 1 */
};
CC_PRIV_FITS(struct hstcp);

static __always_inline u32 hstcp_last_row(void)
{
	return clamp(rows, 1U, HSTCP_ROWS) - 1;
}

/* The row in use, whatever the private area holds before init. */
static __always_inline u32 hstcp_row(const struct hstcp *ca)
{
	return cc_index(min(ca->row, hstcp_last_row()), HSTCP_ROWS);
}

/* The first row that is not below this window, or the last one: a binary search over the number of rows below it. */
static __always_inline u32 hstcp_find_row(u32 cwnd)
{
	u32 last = hstcp_last_row();
	u32 below = 0;
	u32 step;

#pragma GCC unroll 7
	for (step = HSTCP_FIND; step; step >>= 1) {
		u32 probed = below + step - 1;

		if (probed < last && hstcp_table[probed].cwnd < cwnd)
			below += step;
	}
	return below;
}

/* The row of this window. A row of the RFC begins with the window that is printed beside it. */
static __always_inline u32 hstcp_row_of(u32 cwnd)
{
	u32 row = hstcp_find_row(rfc_rows ? cwnd + 1 : cwnd);

	if (rfc_rows && row && hstcp_table[cc_index(row, HSTCP_ROWS)].cwnd > cwnd)
		row--;
	return row;
}

static __always_inline void hstcp_grow(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct hstcp *ca = inet_csk_ca(sk);
	u32 grown_pkts = 1;

	if (!tcp_is_cwnd_limited(tp))
		return;
	if (tcp_in_slow_start(tp)) {
		tcp_slow_start(tp, acked);
		return;
	}
	ca->row = hstcp_row_of(tp->snd_cwnd);
	if (tp->snd_cwnd >= min(tp->snd_cwnd_clamp, HSTCP_MAX_CWND))
		return;
	tp->snd_cwnd_cnt += (ca->row + 1) * (count_packets ? acked : 1);
	if (tp->snd_cwnd_cnt < tp->snd_cwnd)
		return;
	if (count_packets)
		grown_pkts = tp->snd_cwnd_cnt / tp->snd_cwnd;
	tp->snd_cwnd_cnt -= grown_pkts * tp->snd_cwnd;
	tp->snd_cwnd += grown_pkts;
}

static __always_inline enum hstcp_mode hstcp_mode(const struct tcp_sock *tp, const struct hstcp *ca)
{
	if (tcp_in_slow_start(tp))
		return HSTCP_SLOW_START;
	return ca->row ? HSTCP_HIGHSPEED : HSTCP_RENO;
}

static __always_inline void hstcp_publish(struct sock *sk)
{
	struct cca_trace *trace = cc_trace(sk);
	const struct hstcp *ca = inet_csk_ca(sk);
	u32 row = hstcp_row(ca);

	if (!trace)
		return;
	trace->mode = hstcp_mode(tcp_sk(sk), ca);
	trace->v0 = row + 1;
	trace->v1 = hstcp_table[row].b * 1000 >> HSTCP_B_SHIFT;
	cc_trace_done(trace);
}

CC_OP(void, hstcp_init, struct sock *sk)
{
	struct hstcp *ca = inet_csk_ca(sk);

	cc_take_over(sk);
	ca->row = 0;
}

CC_OP(u32, hstcp_ssthresh, struct sock *sk)
{
	const struct hstcp *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd;
	u32 kept = cwnd - ((u64)cwnd * hstcp_table[hstcp_row(ca)].b >> HSTCP_B_SHIFT);

	return max(kept, HSTCP_MIN_CWND);
}

CC_OP(void, hstcp_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	hstcp_grow(sk, acked);
	hstcp_publish(sk);
}

CC_OP(u32, hstcp_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(bpf_hstcp) = {
    .init = (void *)hstcp_init,
    .ssthresh = (void *)hstcp_ssthresh,
    .cong_avoid = (void *)hstcp_cong_avoid,
    .undo_cwnd = (void *)hstcp_undo_cwnd,
    .name = "bpf_hstcp",
};
