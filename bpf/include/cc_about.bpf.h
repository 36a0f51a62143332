/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What an algorithm says about itself, and its tunables. Every line becomes one string in the section .ccactl of the
 * object, fields with a tab between them, as a module of the kernel has its .modinfo. Nobody loads the section: ccactl
 * reads it from the file (crates/abi/src/about.rs), and the native build leaves it out.
 */
#ifndef CCACTL_CC_ABOUT_BPF_H
#define CCACTL_CC_ABOUT_BPF_H

/* Of the macros below and of what a file may use of cc.bpf.h. Raised when a file would have to be changed for it. */
#define CC_CONTRACT 1

#define CC_TEXT_(tokens...) #tokens
#define CC_TEXT(tokens...)  CC_TEXT_(tokens)
#define CC_JOIN_(a, b)      a##b
#define CC_JOIN(a, b)       CC_JOIN_(a, b)

#ifdef CCA_HOST
#define CC_ABOUT(text) _Static_assert(1, "")
#else
#define CC_ABOUT(text)                                                                                                 \
	static const char CC_JOIN(cc_about_, __COUNTER__)[]                                                            \
	    __attribute__((section(".ccactl"), used, nodebug, aligned(1))) = text
#endif

CC_ABOUT("contract\t" CC_TEXT(CC_CONTRACT));

/*
 * CC_ALGORITHM("cubic", "loss", "what it does, in one sentence", "paper, RFC or source that defines it");
 * The family is what it takes as its signal: loss, delay, hybrid (both), model (bandwidth and delay) or ecn.
 */
#define CC_ALGORITHM(name, family, summary, reference)                                                                 \
	CC_ABOUT("algorithm\t" name "\t" family "\t" summary "\t" reference)

/* Of its lines in figures: CC_COLOR("#0072B2"); Without one ccactl chooses by the name. */
#define CC_COLOR(color) CC_ABOUT("color\t" color)

/*
 * The values of cca_trace.mode: CC_MODES(cubic_mode, CUBIC_SLOW_START, CUBIC_CONCAVE); declares the enum. The names in
 * recordings are those without the first word of the enum's own name: slow-start, concave.
 */
#define CC_MODES(tag, names...)                                                                                        \
	enum tag { names };                                                                                            \
	CC_ABOUT("modes\t" #tag "\t" #names)

/*
 * What cca_trace.v0 and v1 are: CC_TRACE_V0("origin_pkts", "plateau of the cubic"); The unit ends the name.
 * A report has means of it, unless the name ends with _bits (a sum of bits) or _token (the name of something).
 */
#define CC_TRACE_V0(name, meaning) CC_ABOUT("v0\t" name "\t" meaning)
#define CC_TRACE_V1(name, meaning) CC_ABOUT("v1\t" name "\t" meaning)

/*
 * A variable that may be set before the load, from min to max, both included. Its initial value is the default.
 * Those of the file itself are shown before those of its headers.
 */
#define CC_SCALED(type, variable, value, scale, min, max, unit, meaning, source)                                       \
	CC_VARIABLE(type, variable, value);                                                                            \
	CC_ABOUT("tunable\t" CC_TEXT(__INCLUDE_LEVEL__) "\t" #type "\t" #variable "\t" #scale "\t" CC_TEXT(            \
	    min) "\t" CC_TEXT(max) "\t" unit "\t" meaning "\t" source)

/* A whole number: CC_TUNABLE(u32, max_cwnd, 65535, 2, 1000000, "packets", "largest window", "RFC 5681"); */
#define CC_TUNABLE(type, variable, value, min, max, unit, meaning, source)                                             \
	CC_SCALED(type, variable, value, 1, min, max, unit, meaning, source)

/* A gain or a fraction, in thousandths: CC_GAIN(u32, up_gain, 1250, 1000, 10000, "pacing gain of UP", "tcp_bbr.c"); */
#define CC_GAIN(type, variable, value, min, max, meaning, source)                                                      \
	CC_SCALED(type, variable, value, 1000, min, max, "", meaning, source)

/* 0 = off, 1 = on: CC_SWITCH(u32, fast_convergence, 1, "release bandwidth to newcomers", "RFC 9438"); */
#define CC_SWITCH(type, variable, value, meaning, source)                                                              \
	CC_SCALED(type, variable, value, 1, 0, 1, "0/1", meaning, source)

/*
 * A named set of values for --preset: CC_PRESET("p1", "up_sets_hi=1 alpha=1.3", "what it stands for", "paper"); Values
 * are as --set takes them.
 */
#define CC_PRESET(name, settings, meaning, source) CC_ABOUT("preset\t" name "\t" settings "\t" meaning "\t" source)

#endif /* CCACTL_CC_ABOUT_BPF_H */
