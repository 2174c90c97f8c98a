// What of SQLite's API Swift cannot call, because it takes any number of arguments or a table of functions.

#ifndef CSQLITE_H
#define CSQLITE_H

/// SQLite no longer counts the memory it has: the count stands under one lock, for which all connections wait at each
/// allocation. Before the process uses SQLite; later it does nothing. Returns SQLite's result code.
///
/// Source: sqlite.org/c3ref/c_config_covering_index_scan.html, SQLITE_CONFIG_MEMSTATUS.
int csqlite_count_no_memory(void);

/// From now on a commit is one write to the write-ahead log, where SQLite makes two of each page (LogWrites.c). Of the
/// whole process, for connections that are opened later. Returns SQLite's result code.
int csqlite_gather_log_writes(void);

#endif
