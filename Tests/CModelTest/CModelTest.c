#define _GNU_SOURCE
#include "CModelTest.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int64_t clock_nanoseconds = -1;
static cmodeltest_sleeper on_sleep;
static uint64_t randomness;

void cmodeltest_set_clock(int64_t nanoseconds) { clock_nanoseconds = nanoseconds; }

int64_t cmodeltest_machine_clock(void) {
    struct timespec time;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ll + time.tv_nsec;
}

void cmodeltest_on_sleep(cmodeltest_sleeper sleeper) { on_sleep = sleeper; }

void cmodeltest_set_randomness(uint64_t seed) { randomness = seed; }

void cmodeltest_restart(const char *name, const char *value, char *const arguments[]) {
    setenv(name, value, 1);
    personality(ADDR_NO_RANDOMIZE);
    execv("/proc/self/exe", arguments);
}

// The functions of the C library and of libdispatch that stand in for theirs: the dynamic linker prefers the
// program's own.

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (clock_nanoseconds < 0 || clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID)
        return (int)syscall(SYS_clock_gettime, clock, time);
    time->tv_sec = clock_nanoseconds / 1000000000;
    time->tv_nsec = clock_nanoseconds % 1000000000;
    return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

// SystemRandomNumberGenerator.
void swift_stdlib_random(void *buffer, size_t count) {
    unsigned char *bytes = buffer;
    if (randomness == 0) {
        while (count > 0) {
            long got = syscall(SYS_getrandom, bytes, count, 0);
            if (got < 0) continue;
            bytes += got;
            count -= (size_t)got;
        }
        return;
    }
    for (size_t index = 0; index < count; index++) {
        // Marsaglia's xorshift.
        randomness ^= randomness << 13;
        randomness ^= randomness >> 7;
        randomness ^= randomness << 17;
        bytes[index] = (unsigned char)(randomness >> 24);
    }
}

// There is one thread: nobody else does anything meanwhile.
int usleep(useconds_t time) {
    if (clock_nanoseconds >= 0) {
        clock_nanoseconds += time * 1000ll;
        return 0;
    }
    struct timespec wait = {time / 1000000, (long)(time % 1000000) * 1000};
    return nanosleep(&wait, NULL);
}

// Task.sleep. The two highest bits say which clock the moment is on; here they all show the same.
void dispatch_after_f(uint64_t when, void *queue, void *context, void (*work)(void *)) {
    if (on_sleep) return on_sleep((int64_t)(when & 0x3fffffffffffffffull), context, work);
    void (*real)(uint64_t, void *, void *, void (*)(void *)) = dlsym(RTLD_NEXT, "dispatch_after_f");
    real(when, queue, context, work);
}
