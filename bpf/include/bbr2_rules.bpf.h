/* SPDX-License-Identifier: GPL-2.0 */
/* The decisions that the versions of BBR take differently: one set of functions for each, with the same names. */
#ifndef CCACTL_BBR2_RULES_BPF_H
#define CCACTL_BBR2_RULES_BPF_H

#include "bbr2_version.bpf.h"

#if BBR2_VERSION == 2
#include "bbr2_rules_v2.bpf.h"
#else
#include "bbr2_rules_v3.bpf.h"
#endif

#endif /* CCACTL_BBR2_RULES_BPF_H */
