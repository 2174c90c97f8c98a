// A write-ahead log whose frames are written together.
//
// SQLite writes each frame of its log in two pieces, the header and the page (wal.c, walWriteOneFrame). On ext4 each
// piece costs some 4 µs, and a small change of ours has ten frames: more than the rest of its commit. This shim gathers
// consecutive writes, and writes them when the frame that commits is complete: before SQLite reports the commit, and
// while an error still makes the commit fail. Only the writing connection needs gathered bytes, and it reads them
// through the same file, where they are written first; bytes that are not committed when the write lock is released are
// dropped. Nothing else changes: not the order, not a byte.
//
// A shim over the default VFS (sqlite.org/vfs.html, 2.2): its files, with some methods replaced, and our data behind
// them. The format of a frame: sqlite.org/fileformat2.html, 4.1; the locks: sqlite.org/walformat.html, 2.3.

#include <pthread.h>
#include <sqlite3.h>
#include <string.h>

#include "CSQLite.h"

enum { FRAME_HEADER = 24, ROOM = 64 * 1024, WRITE_LOCK = 0 };

/// Our data behind a file of the default VFS.
typedef struct Extra {
    sqlite3_io_methods methods;
    const sqlite3_io_methods *inner;
    /// For a database: its log's file, while that is open.
    sqlite3_file *log;
    /// For a log: its database's file.
    sqlite3_file *database;
    unsigned char *gathered;
    int count;
    /// The end of the last write, gathered or not; -1 after any other call.
    sqlite3_int64 end;
    /// Whether the frame whose header came last commits.
    int commits;
} Extra;

static sqlite3_vfs *inner;
static sqlite3_vfs outer;

static int innerSize(void) { return (inner->szOsFile + 7) / 8 * 8; }
static Extra *extra(sqlite3_file *file) { return (Extra *)((char *)file + innerSize()); }

// Writes the gathered bytes into the file.
static int put(sqlite3_file *file) {
    Extra *log = extra(file);
    if (log->count == 0) return SQLITE_OK;
    int count = log->count;
    log->count = 0;
    int result = log->inner->xWrite(file, log->gathered, count, log->end - count);
    if (result != SQLITE_OK) log->end = -1;
    return result;
}

static int logWrite(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    Extra *log = extra(file);
    int isHeader = count == FRAME_HEADER;
    // A frame that commits has the size of the database; others have 0.
    if (isHeader) log->commits = memcmp((const char *)bytes + 4, "\0\0\0\0", 4) != 0;

    if (offset != log->end || count > ROOM) {
        // The log starts again, or a frame of this transaction is overwritten.
        int result = put(file);
        if (result == SQLITE_OK) result = log->inner->xWrite(file, bytes, count, offset);
        log->end = result == SQLITE_OK ? offset + count : -1;
        return result;
    }
    if (count > ROOM - log->count) {
        int result = put(file);
        if (result != SQLITE_OK) return result;
    }
    memcpy(log->gathered + log->count, bytes, count);
    log->count += count;
    log->end += count;
    return !isHeader && log->commits ? put(file) : SQLITE_OK;
}

// Called before any other operation: it then finds everything written; and the next write does not continue the last
// one.
static int putAll(sqlite3_file *file) {
    int result = put(file);
    extra(file)->end = -1;
    return result;
}

static int logRead(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    int result = putAll(file);
    return result == SQLITE_OK ? extra(file)->inner->xRead(file, bytes, count, offset) : result;
}

static int logTruncate(sqlite3_file *file, sqlite3_int64 size) {
    int result = putAll(file);
    return result == SQLITE_OK ? extra(file)->inner->xTruncate(file, size) : result;
}

static int logSync(sqlite3_file *file, int flags) {
    int result = putAll(file);
    return result == SQLITE_OK ? extra(file)->inner->xSync(file, flags) : result;
}

static int logFileSize(sqlite3_file *file, sqlite3_int64 *size) {
    int result = putAll(file);
    return result == SQLITE_OK ? extra(file)->inner->xFileSize(file, size) : result;
}

static int logClose(sqlite3_file *file) {
    Extra *log = extra(file);
    if (log->database != NULL) extra(log->database)->log = NULL;
    sqlite3_free(log->gathered);
    log->gathered = NULL;
    return log->inner->xClose(file);
}

// A rolled-back transaction has released the lock; others may write there now.
static int databaseShmLock(sqlite3_file *file, int offset, int count, int flags) {
    Extra *database = extra(file);
    if (database->log != NULL && offset == WRITE_LOCK && (flags & SQLITE_SHM_UNLOCK)) {
        extra(database->log)->count = 0;
        extra(database->log)->end = -1;
    }
    return database->inner->xShmLock(file, offset, count, flags);
}

static int openFile(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *taken) {
    (void)vfs;
    int result = inner->xOpen(inner, name, file, flags, taken);
    if (file->pMethods == NULL || !(flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_DB))) return result;
    Extra *ours = extra(file);
    memset(ours, 0, sizeof *ours);
    if (flags & SQLITE_OPEN_WAL) {
        // (Without a buffer, each write goes directly to the file.)
        sqlite3_file *database = sqlite3_database_file_object(name);
        if (database == NULL || database->pMethods != &extra(database)->methods) return result;
        ours->gathered = sqlite3_malloc(ROOM);
        if (ours->gathered == NULL) return result;
        ours->end = -1;
        ours->database = database;
        extra(database)->log = file;
    }
    ours->inner = file->pMethods;
    ours->methods = *file->pMethods;
    if (flags & SQLITE_OPEN_WAL) {
        ours->methods.xClose = logClose;
        ours->methods.xRead = logRead;
        ours->methods.xWrite = logWrite;
        ours->methods.xTruncate = logTruncate;
        ours->methods.xSync = logSync;
        ours->methods.xFileSize = logFileSize;
    } else if (ours->inner->iVersion >= 2 && ours->inner->xShmLock != NULL) {
        ours->methods.xShmLock = databaseShmLock;
    } else {
        return result;
    }
    file->pMethods = &ours->methods;
    return result;
}

static int outcome;

static void registerOnce(void) {
    outcome = sqlite3_initialize();
    if (outcome != SQLITE_OK) return;
    inner = sqlite3_vfs_find(NULL);
    outcome = SQLITE_ERROR;
    if (inner == NULL) return;
    outer = *inner;
    outer.zName = "hydrant";
    outer.szOsFile = innerSize() + (int)sizeof(Extra);
    outer.xOpen = openFile;
    outcome = sqlite3_vfs_register(&outer, 1);
}

int csqlite_gather_log_writes(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, registerOnce);
    return outcome;
}
