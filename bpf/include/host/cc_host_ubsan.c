// SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0
/*
 * What the compiler calls at undefined behaviour (-fsanitize=undefined -fno-sanitize-recover): the place in the source
 * is told, and the process ends. So no run-time library of a compiler is needed. As the kernel's lib/ubsan.c: whatever
 * is handed over begins with the place.
 */
#include <stdio.h>
#include <unistd.h>

struct place {
	const char *file;
	unsigned int line;
	unsigned int column;
};

#define HANDLER(name, what)                                                                                            \
	void __ubsan_handle_##name(const struct place *at);                                                            \
	void __ubsan_handle_##name(const struct place *at)                                                             \
	{                                                                                                              \
		fprintf(stderr, "%s:%u:%u: %s\n", at->file, at->line, at->column, what);                               \
		_exit(1);                                                                                              \
	}

HANDLER(divrem_overflow_abort, "a division by zero, or of the smallest number by -1")
HANDLER(add_overflow_abort, "a signed sum that its type cannot hold")
HANDLER(sub_overflow_abort, "a signed difference that its type cannot hold")
HANDLER(mul_overflow_abort, "a signed product that its type cannot hold")
HANDLER(negate_overflow_abort, "a negation that its type cannot hold")
HANDLER(shift_out_of_bounds_abort, "a shift by more bits than the type has, or of a negative number")
HANDLER(out_of_bounds_abort, "an index beyond the end of the array")
HANDLER(type_mismatch_v1_abort, "an access through a pointer that is NULL, misaligned or to too small an object")
HANDLER(pointer_overflow_abort, "a pointer that arithmetic took out of the address space")
HANDLER(load_invalid_value_abort, "a bool or an enum with a value that it does not have")
HANDLER(vla_bound_not_positive_abort, "an array of a size that is not positive")
HANDLER(invalid_builtin_abort, "a builtin that was called with zero")
HANDLER(nonnull_arg_abort, "NULL where the function allows none")
HANDLER(builtin_unreachable, "code that was said never to run")
HANDLER(missing_return, "the end of a function without the value that it returns")
