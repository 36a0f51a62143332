// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The host's time of day as QEMU gets it in the virtual lab: it stands still.
 *
 * QEMU makes its software TLB smaller when little of it was used for 100 ms of the host's time
 * (tlb_mmu_resize_locked(), accel/tcg/cputlb.c), and guests see its size (docs/virtual-lab.md has the measurement); by
 * what, is not known: perhaps by accessed bits, which a look-up in the guest's page table sets. A guest on a busy host
 * was thus another one, some instructions apart, however well its clock counts. With a time that stands still the TLB
 * only grows, by what the guest uses of it.
 *
 * The guest itself loses nothing: its calendar counts instructions, too (-rtc clock=vm).
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

/* 2025-01-01, where the guests' calendar begins. */
#define STANDS_AT_S 1735689600

/* Leaves a file behind, for the lab to see that QEMU really takes its time from here. */
static void tell(void)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;
	const char *path = getenv("CCACTL_HOST_TIME_ASKED");

	if (atomic_flag_test_and_set(&told) || !path)
		return;
	int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (file >= 0)
		close(file);
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
	(void)zone;
	tell();
	time->tv_sec = STANDS_AT_S;
	time->tv_usec = 0;
	return 0;
}
