// SPDX-License-Identifier: GPL-2.0
#include "kernel_types.h"
#include "ccactl_abi.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";
