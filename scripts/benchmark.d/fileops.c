// What the benchmark times besides fio: loops of system calls, in the working directory. A loop in a script would
// take longer than the calls it makes, and hide the difference. Prints nanoseconds a call, or fails with a message.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void fail(const char *what) {
    fprintf(stderr, "fileops: %s: %s\n", what, strerror(errno));
    exit(1);
}

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static char buffer[1 << 16];

static void write_whole(int fd, size_t size) {
    while (size > 0) {
        size_t part = size < sizeof buffer ? size : sizeof buffer;
        ssize_t count = write(fd, buffer, part);
        if (count <= 0) fail("write");
        size -= count;
    }
}

// MARK: One call each, by a path

static void stat_one(const char *path) {
    struct stat status;
    if (lstat(path, &status) != 0) fail(path);
}

static void read_one(const char *path) {
    int fd = open(path, O_RDONLY);
    if (fd < 0) fail(path);
    ssize_t count;
    while ((count = read(fd, buffer, sizeof buffer)) > 0) {}
    if (count < 0) fail(path);
    if (close(fd) != 0) fail(path);
}

/// PASSES times over the paths in LIST, a line each.
static double over_list(const char *list, int passes, void (*call)(const char *)) {
    FILE *file = fopen(list, "r");
    if (!file) fail(list);
    char **paths = NULL, *line = NULL;
    size_t count = 0, room = 0;
    for (ssize_t length; (length = getline(&line, &room, file)) > 0;) {
        if (line[length - 1] == '\n') line[length - 1] = 0;
        paths = realloc(paths, (count + 1) * sizeof *paths);
        paths[count++] = strdup(line);
    }
    fclose(file);
    long long start = now();
    for (int pass = 0; pass < passes; pass++)
        for (size_t index = 0; index < count; index++) call(paths[index]);
    return (double)(now() - start) / ((double)count * passes);
}

// MARK: One call each, by a number

static size_t size_of_new;

static void create_one(int number) {
    char name[32];
    snprintf(name, sizeof name, "new-%d", number);
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0644);
    if (fd < 0) fail(name);
    write_whole(fd, size_of_new);
    if (close(fd) != 0) fail(name);
}

static void rename_one(int number) {
    char old[32], new[32];
    snprintf(old, sizeof old, "new-%d", number);
    snprintf(new, sizeof new, "renamed-%d", number);
    if (rename(old, new) != 0) fail(old);
}

static void unlink_one(int number) {
    char name[32];
    snprintf(name, sizeof name, "renamed-%d", number);
    if (unlink(name) != 0) fail(name);
}

static void append_one(int number) {
    (void)number;
    int fd = open("appended", O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (fd < 0) fail("appended");
    write_whole(fd, 100);
    if (close(fd) != 0) fail("appended");
}

static double over_numbers(int count, void (*call)(int)) {
    long long start = now();
    for (int number = 0; number < count; number++) call(number);
    return (double)(now() - start) / count;
}

// MARK: Others

/// A program, its output thrown away, COUNT times.
static double run(int count, char **command) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    long long start = now();
    for (int number = 0; number < count; number++) {
        pid_t pid;
        int status;
        errno = posix_spawnp(&pid, command[0], &actions, NULL, command, environ);
        if (errno != 0) fail(command[0]);
        if (waitpid(pid, &status, 0) != pid) fail("waitpid");
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            fprintf(stderr, "fileops: %s ended with wait status %d\n", command[0], status);
            exit(1);
        }
    }
    return (double)(now() - start) / count;
}

/// Files leave the page cache (posix_fadvise(2)); dirty pages would stay.
static void drop(char **paths) {
    for (; *paths; paths++) {
        int fd = open(*paths, O_RDONLY);
        if (fd < 0) fail(*paths);
        if (fdatasync(fd) != 0) fail(*paths);
        errno = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        if (errno != 0) fail(*paths);
        close(fd);
    }
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int count = argc > 2 ? atoi(argv[2]) : 0;
    double result;
    memset(buffer, 'x', sizeof buffer);
    if (!strcmp(what, "stat") && argc == 4) result = over_list(argv[3], count, stat_one);
    else if (!strcmp(what, "read") && argc == 4) result = over_list(argv[3], count, read_one);
    else if (!strcmp(what, "create") && argc == 4) {
        size_of_new = strtoul(argv[3], NULL, 10);
        result = over_numbers(count, create_one);
    } else if (!strcmp(what, "rename") && argc == 3) result = over_numbers(count, rename_one);
    else if (!strcmp(what, "unlink") && argc == 3) result = over_numbers(count, unlink_one);
    else if (!strcmp(what, "append") && argc == 3) result = over_numbers(count, append_one);
    else if (!strcmp(what, "run") && argc > 3) result = run(count, argv + 3);
    else if (!strcmp(what, "drop")) {
        drop(argv + 2);
        return 0;
    } else {
        fprintf(stderr, "usage: fileops stat|read PASSES LIST | create COUNT SIZE | rename|unlink|append COUNT\n"
                        "       fileops run COUNT PROGRAM [ARGUMENT…] | drop FILE…\n");
        return 64;
    }
    printf("%.1f\n", result);
    return 0;
}
