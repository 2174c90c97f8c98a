// The timed loops of the benchmark: system calls, as made by a program. A loop in a script would take longer than its
// calls, and hide the difference. Prints one figure (its unit is given below), or fails with a message.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *what) {
    fprintf(stderr, "fileops: %s: %s\n", what, strerror(errno));
    exit(1);
}

/// Seconds.
static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static char buffer[1 << 20];

static void write_whole(int fd, const char *name, size_t size) {
    while (size > 0) {
        size_t part = size < sizeof buffer ? size : sizeof buffer;
        ssize_t count = write(fd, buffer, part);
        if (count <= 0) fail(name);
        size -= count;
    }
}

static void *run_thread(void *(*body)(void *), int threads) {
    pthread_t running[64];
    if (threads < 1 || threads > 64) {
        errno = EINVAL;
        fail("threads");
    }
    for (int index = 0; index < threads; index++)
        if ((errno = pthread_create(&running[index], NULL, body, (void *)(intptr_t)index)) != 0) fail("thread");
    for (int index = 0; index < threads; index++) pthread_join(running[index], NULL);
    return NULL;
}

// MARK: Reading

/// Reads a whole file, 128 KiB per call: MB/s.
static double sequential(const char *path) {
    double start = now();
    int fd = open(path, O_RDONLY);
    if (fd < 0) fail(path);
    long long total = 0;
    ssize_t count;
    while ((count = read(fd, buffer, 128 << 10)) > 0) total += count;
    if (count < 0 || close(fd) != 0) fail(path);
    return total / (now() - start) / 1e6;
}

static const char *random_path;
static off_t random_pages;
static double random_end;
static atomic_llong random_calls;

static void *random_reads(void *number) {
    int fd = open(random_path, O_RDONLY);
    if (fd < 0) fail(random_path);
    uint64_t state = 88172645463325252ULL + (uintptr_t)number * 0x9e3779b97f4a7c15ULL;
    char page[4096];
    long long calls = 0;
    while (now() < random_end) {
        for (int times = 0; times < 100; times++, calls++) {
            // xorshift64
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            if (pread(fd, page, sizeof page, (off_t)(state % random_pages) * 4096) != sizeof page) fail(random_path);
        }
    }
    close(fd);
    atomic_fetch_add(&random_calls, calls);
    return NULL;
}

/// Reads 4 KiB at random offsets, by several threads, for a time: thousands per second.
static double at_random(const char *path, int threads, double seconds) {
    struct stat status;
    if (stat(path, &status) != 0) fail(path);
    random_path = path;
    random_pages = status.st_size / 4096;
    double start = now();
    random_end = start + seconds;
    run_thread(random_reads, threads);
    return atomic_load(&random_calls) / (now() - start) / 1e3;
}

/// One open, one read at an offset, one close: seconds.
static double head(const char *path, off_t offset, size_t size) {
    double start = now();
    int fd = open(path, O_RDONLY);
    if (fd < 0) fail(path);
    if (pread(fd, buffer, size, offset) != (ssize_t)size) fail(path);
    if (close(fd) != 0) fail(path);
    return now() - start;
}

static void read_one(const char *path) {
    int fd = open(path, O_RDONLY);
    if (fd < 0) fail(path);
    ssize_t count;
    while ((count = read(fd, buffer, 64 << 10)) > 0) {}
    if (count < 0 || close(fd) != 0) fail(path);
}

static char **paths;
static int path_count;
static atomic_int next_path;

static void read_list(const char *list) {
    FILE *file = fopen(list, "r");
    if (!file) fail(list);
    char *line = NULL;
    size_t room = 0;
    for (ssize_t length; (length = getline(&line, &room, file)) > 0;) {
        if (line[length - 1] == '\n') line[length - 1] = 0;
        paths = realloc(paths, (path_count + 1) * sizeof *paths);
        paths[path_count++] = strdup(line);
    }
    fclose(file);
}

static void *reader(void *number) {
    (void)number;
    for (int index; (index = atomic_fetch_add(&next_path, 1)) < path_count;) read_one(paths[index]);
    return NULL;
}

/// Reads each file of a list completely, once, by several threads, in the list's order: seconds.
static double read_all(const char *list, int threads) {
    read_list(list);
    double start = now();
    run_thread(reader, threads);
    return now() - start;
}

/// Reads each file of a list completely, over and over for a time: thousands per second.
static double open_rate(const char *list, double seconds) {
    read_list(list);
    double start = now(), end = start + seconds;
    long long calls = 0;
    while (now() < end)
        for (int index = 0; index < path_count; index++, calls++) read_one(paths[index]);
    return calls / (now() - start) / 1e3;
}

// MARK: Listing

static long long entries_seen;

static void list(int parent, const char *name) {
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY);
    if (fd < 0) fail(name);
    DIR *folder = fdopendir(fd);
    if (!folder) fail(name);
    char **folders = NULL;
    int count = 0;
    errno = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        struct stat status;
        if (fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) fail(entry->d_name);
        entries_seen++;
        if (S_ISDIR(status.st_mode)) {
            folders = realloc(folders, (count + 1) * sizeof *folders);
            folders[count++] = strdup(entry->d_name);
        }
        errno = 0;
    }
    if (errno != 0) fail(name);
    for (int index = 0; index < count; index++) {
        list(fd, folders[index]);
        free(folders[index]);
    }
    free(folders);
    closedir(folder);
}

/// Lists a folder and all below it, with an lstat of every entry: milliseconds. Fewer entries than expected are a
/// failure.
static double list_all(const char *path, long long expected) {
    double start = now();
    list(AT_FDCWD, path);
    double end = now();
    if (entries_seen < expected) {
        fprintf(stderr, "fileops: %s: %lld entries, %lld were expected\n", path, entries_seen, expected);
        exit(1);
    }
    return (end - start) * 1e3;
}

// MARK: Writing

/// Creates new files: seconds.
static double create(int count, size_t size) {
    double start = now();
    for (int number = 0; number < count; number++) {
        char name[32];
        snprintf(name, sizeof name, "new-%d", number);
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0644);
        if (fd < 0) fail(name);
        write_whole(fd, name, size);
        if (close(fd) != 0) fail(name);
    }
    return now() - start;
}

static double rename_all(int count) {
    double start = now();
    for (int number = 0; number < count; number++) {
        char from[32], to[32];
        snprintf(from, sizeof from, "new-%d", number);
        snprintf(to, sizeof to, "renamed-%d", number);
        if (rename(from, to) != 0) fail(from);
    }
    return now() - start;
}

static double unlink_all(int count) {
    double start = now();
    for (int number = 0; number < count; number++) {
        char name[32];
        snprintf(name, sizeof name, "renamed-%d", number);
        if (unlink(name) != 0) fail(name);
    }
    return now() - start;
}

/// Appends 100 bytes to each file of a list: milliseconds in all.
static double append_all(const char *list) {
    read_list(list);
    double start = now();
    for (int index = 0; index < path_count; index++) {
        int fd = open(paths[index], O_WRONLY | O_APPEND);
        if (fd < 0) fail(paths[index]);
        write_whole(fd, paths[index], 100);
        if (close(fd) != 0) fail(paths[index]);
    }
    return (now() - start) * 1e3;
}

/// Writes a new file, 1 MiB per call, and closes it: MB/s.
static double write_file(const char *path, int mebibytes) {
    double start = now();
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0) fail(path);
    write_whole(fd, path, (size_t)mebibytes << 20);
    if (close(fd) != 0) fail(path);
    return mebibytes * 1.048576 / (now() - start);
}

static int compare(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return difference < 0 ? -1 : difference > 0;
}

/// Saves like an editor: a new file beside the document, fsync, rename over it: milliseconds, the median.
static double save(const char *path, int count, size_t size) {
    double *times = calloc(count, sizeof *times);
    char draft[4096];
    snprintf(draft, sizeof draft, "%s.new", path);
    for (int number = 0; number < count; number++) {
        double start = now();
        int fd = open(draft, O_WRONLY | O_CREAT | O_EXCL, 0644);
        if (fd < 0) fail(draft);
        write_whole(fd, draft, size);
        if (fsync(fd) != 0 || close(fd) != 0 || rename(draft, path) != 0) fail(draft);
        times[number] = (now() - start) * 1e3;
    }
    qsort(times, count, sizeof *times, compare);
    return times[count / 2];
}

/// Drops files from the page cache (posix_fadvise(2)); dirty pages would stay.
static void drop(char **files) {
    for (; *files; files++) {
        int fd = open(*files, O_RDONLY);
        if (fd < 0) fail(*files);
        if (fdatasync(fd) != 0) fail(*files);
        errno = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        if (errno != 0) fail(*files);
        close(fd);
    }
}

int main(int argc, char **argv) {
    double result;
    memset(buffer, 'x', sizeof buffer);
    const char *what = argc > 1 ? argv[1] : "";
    char **given = argv + 2;
    int count = argc - 2;
    if (!strcmp(what, "sequential") && count == 1) result = sequential(given[0]);
    else if (!strcmp(what, "random") && count == 3) result = at_random(given[0], atoi(given[1]), atof(given[2]));
    else if (!strcmp(what, "head") && count == 3) result = head(given[0], atoll(given[1]), atol(given[2]));
    else if (!strcmp(what, "read") && count == 2) result = read_all(given[0], atoi(given[1]));
    else if (!strcmp(what, "rate") && count == 2) result = open_rate(given[0], atof(given[1]));
    else if (!strcmp(what, "list") && count == 2) result = list_all(given[0], atoll(given[1]));
    else if (!strcmp(what, "create") && count == 2) result = create(atoi(given[0]), strtoul(given[1], NULL, 10));
    else if (!strcmp(what, "rename") && count == 1) result = rename_all(atoi(given[0]));
    else if (!strcmp(what, "unlink") && count == 1) result = unlink_all(atoi(given[0]));
    else if (!strcmp(what, "append") && count == 1) result = append_all(given[0]);
    else if (!strcmp(what, "write") && count == 2) result = write_file(given[0], atoi(given[1]));
    else if (!strcmp(what, "save") && count == 3) result = save(given[0], atoi(given[1]), strtoul(given[2], NULL, 10));
    else if (!strcmp(what, "drop") && count > 0) {
        drop(given);
        return 0;
    } else {
        fprintf(stderr,
                "usage: fileops sequential FILE | random FILE THREADS SECONDS | head FILE OFFSET SIZE\n"
                "       fileops read LIST THREADS | rate LIST SECONDS | list FOLDER ENTRIES\n"
                "       fileops create COUNT SIZE | rename COUNT | unlink COUNT | append LIST\n"
                "       fileops write FILE MEBIBYTES | save FILE COUNT SIZE | drop FILE…\n");
        return 64;
    }
    printf("%.6g\n", result);
    return 0;
}
