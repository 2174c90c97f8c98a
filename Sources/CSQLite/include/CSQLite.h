// Parts of SQLite's API that Swift cannot call: variadic functions, and a table of functions.

#ifndef CSQLITE_H
#define CSQLITE_H

/// Turns off SQLite's memory statistics: their lock would make all connections wait at each allocation. Call it before
/// the process uses SQLite; later it does nothing. Returns SQLite's result code.
///
/// Source: sqlite.org/c3ref/c_config_covering_index_scan.html, SQLITE_CONFIG_MEMSTATUS.
int csqlite_count_no_memory(void);

/// Makes a commit one write to the write-ahead log, where SQLite makes two for each page (LogWrites.c). For the whole
/// process, and connections opened later. Returns SQLite's result code.
int csqlite_gather_log_writes(void);

#endif
