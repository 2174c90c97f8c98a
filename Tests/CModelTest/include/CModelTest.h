// Virtual time for a process that is tested: what the Swift runtime, libdispatch and the code under test ask of
// the C library is answered from one number that a test sets.

#ifndef CMODELTEST_H
#define CMODELTEST_H

#include <stdint.h>

/// From now on every clock shows this many nanoseconds (since 1970 and since the start of the machine alike).
/// Below zero: the machine's clocks.
void cmodeltest_set_clock(int64_t nanoseconds);

/// The machine's monotonic clock, whatever the others show.
int64_t cmodeltest_machine_clock(void);

/// Who is told of a task that goes to sleep: until when, and what to call with what when it is to wake up.
typedef void (*cmodeltest_sleeper)(int64_t until, void *context, void (*wake)(void *));
void cmodeltest_on_sleep(cmodeltest_sleeper sleeper);

/// From now on the system's random numbers are those of this seed; 0: the machine's.
void cmodeltest_set_randomness(uint64_t seed);

/// Runs this program anew with another environment variable and addresses that are the same each time; returns only
/// when that fails.
void cmodeltest_restart(const char *name, const char *value, char *const arguments[]);

#endif
