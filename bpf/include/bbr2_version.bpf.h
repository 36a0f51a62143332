/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which version of BBR the shared core builds. A file that wants version 3 says so before it includes anything:
 *
 *   #define BBR2_VERSION 3
 *
 * All difference between the versions is in the defaults below and in the functions of bbr2_rules_vN.bpf.h, of which a
 * program contains one set only.
 */
#ifndef CCACTL_BBR2_VERSION_BPF_H
#define CCACTL_BBR2_VERSION_BPF_H

#ifndef BBR2_VERSION
#define BBR2_VERSION 2
#endif

#if BBR2_VERSION == 2

#define BBR2_SOURCE "tcp_bbr2.c of google/bbr v2alpha"

/* 2 / ln 2; v2alpha rounds it up to 739/256. */
#define BBR2_STARTUP_PACING_GAIN 2887
#define BBR2_STARTUP_CWND_GAIN   2887
#define BBR2_DOWN_GAIN           750
#define BBR2_FULL_LOSS_COUNT     8
#define BBR2_TLP_IS_LOSS         0
#define BBR2_ECN_REPROBE_GAIN    0

#elif BBR2_VERSION == 3

#define BBR2_SOURCE              "tcp_bbr.c of google/bbr v3"

/* 4 ln 2 = 2.7726; v3 has 710/256. */
#define BBR2_STARTUP_PACING_GAIN 2773
#define BBR2_STARTUP_CWND_GAIN   2000
#define BBR2_DOWN_GAIN           910
#define BBR2_FULL_LOSS_COUNT     6
#define BBR2_TLP_IS_LOSS         1
#define BBR2_ECN_REPROBE_GAIN    500

#else
#error "BBR2_VERSION is 2 or 3"
#endif

#endif /* CCACTL_BBR2_VERSION_BPF_H */
