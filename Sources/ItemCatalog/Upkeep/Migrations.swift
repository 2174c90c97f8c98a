import GRDB
import Trees

/// The schema's history. A migration that has shipped is never changed; new ones are appended.
enum Migrations {
    static var migrator: DatabaseMigrator {
        // Without a look at every reference: a catalog that has one too many is mounted and examined as before.
        var migrator = DatabaseMigrator().disablingDeferredForeignKeyChecks()
        migrator.registerMigration("1 three trees") { db in
            try db.execute(sql: threeTrees)
        }
        migrator.registerMigration("2 all of POSIX") { db in
            try db.execute(sql: allOfPOSIX)
            // The bytes of partial documents can be counted only outside SQL.
            for row in try Row.fetchAll(
                db, sql: "SELECT id, size, base_size, extents FROM inode WHERE kind = 0 AND extents IS NOT NULL")
            {
                let present = RangeSet<Int64>(blob: row.bytes(3) ?? [])
                let here = present.ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) }
                let size: Int64 = row[1]
                let baseSize: Int64 = row[2]
                try db.execute(
                    sql: "UPDATE inode SET here = ? WHERE id = ?",
                    arguments: [here + max(0, size - baseSize), row[0] as Int64])
            }
        }
        migrator.registerMigration("3 capabilities and conflicts") { db in
            try db.execute(sql: capabilitiesAndConflicts)
        }
        migrator.registerMigration("4 held deletions and attempts") { db in
            try db.execute(sql: heldDeletionsAndAttempts)
        }
        migrator.registerMigration("5 ways to what is next") { db in
            try db.execute(sql: waysToWhatIsNext)
        }
        migrator.registerMigration("6 names that moved") { db in
            try db.execute(sql: namesThatMoved)
        }
        migrator.registerMigration("7 folders that nobody has listed") { db in
            try db.execute(sql: unlistedFolders)
        }
        migrator.registerMigration("8 what is equal is stored once") { db in
            try db.execute(sql: equalOnce)
        }
        return migrator
    }

    private static let equalOnce = """
        -- Most items are the same in all three trees, and most times of an inode are its date.
        CREATE TABLE inode_8 (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            kind INTEGER NOT NULL,          -- 0 document, 1 folder, 2 link, others: InodeKind
            mode INTEGER NOT NULL,          -- permission bits
            uid INTEGER NOT NULL,
            gid INTEGER NOT NULL,
            nlink INTEGER NOT NULL,         -- 0: unlinked, kept while a program has it open
            size INTEGER NOT NULL,
            mtime INTEGER NOT NULL,         -- times in ns since 1970; out of range, a BLOB (FileTime.blob)
            own_atime INTEGER,              -- NULL: as mtime
            own_ctime INTEGER,
            own_btime INTEGER,
            target BLOB,
            generation INTEGER NOT NULL DEFAULT 1,
            base_size INTEGER NOT NULL DEFAULT 0,
            extents BLOB,                   -- present ranges below base_size; NULL: all
            writing INTEGER NOT NULL DEFAULT 0,  -- 0 no, 1 maybe modified, 2 modified
            stamp_size INTEGER NOT NULL DEFAULT 0,   -- of the backing file, with writing = 1
            stamp_mtime INTEGER NOT NULL DEFAULT 0,
            stamp_ctime INTEGER NOT NULL DEFAULT 0,
            enumerated INTEGER NOT NULL DEFAULT 0,
            rdev INTEGER NOT NULL DEFAULT 0,
            used INTEGER NOT NULL DEFAULT 0,    -- ns since 1970: last let go of
            split_from INTEGER,                 -- item; see InodeRecord.splitFrom
            here INTEGER NOT NULL DEFAULT 0,    -- bytes on this machine
            atime INTEGER GENERATED ALWAYS AS (COALESCE(own_atime, mtime)) VIRTUAL,
            ctime INTEGER GENERATED ALWAYS AS (COALESCE(own_ctime, mtime)) VIRTUAL,
            btime INTEGER GENERATED ALWAYS AS (COALESCE(own_btime, mtime)) VIRTUAL
        );
        INSERT INTO inode_8 (id, kind, mode, uid, gid, nlink, size, mtime, own_atime, own_ctime, own_btime, target,
                             generation, base_size, extents, writing, stamp_size, stamp_mtime, stamp_ctime, enumerated,
                             rdev, used, split_from, here)
            SELECT id, kind, mode, uid, gid, nlink, size, mtime, NULLIF(atime, mtime), NULLIF(ctime, mtime),
                   NULLIF(btime, mtime), target, generation, base_size, extents, writing, stamp_size, stamp_mtime,
                   stamp_ctime, enumerated, rdev, used, split_from, here
            FROM inode ORDER BY id;

        CREATE TABLE item_8 (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            inode INTEGER UNIQUE REFERENCES inode(id) ON DELETE SET NULL,
            identifier TEXT UNIQUE,
            kind INTEGER NOT NULL,
            -- 1: the base place is the local place; 2: the remote place is; 4: the base version is the remote version.
            -- What is not so stands in the columns own_*; a parent of NULL there: not in that tree.
            alike INTEGER NOT NULL,
            local_parent INTEGER,
            local_name BLOB,
            local_content INTEGER NOT NULL DEFAULT 0,
            local_metadata INTEGER NOT NULL DEFAULT 0,
            remote_content BLOB,
            remote_metadata BLOB,
            remote_size INTEGER NOT NULL DEFAULT 0,
            remote_mtime INTEGER NOT NULL DEFAULT 0,
            remote_btime INTEGER,
            remote_mode INTEGER,
            remote_xattr BLOB,
            remote_capabilities INTEGER,        -- ItemCapabilities; NULL: all
            ready_at INTEGER NOT NULL DEFAULT 0,
            own_base_parent INTEGER,
            own_base_name BLOB,
            own_base_content BLOB,
            own_base_metadata BLOB,
            own_remote_parent INTEGER,
            own_remote_name BLOB,
            target BLOB,
            error_code TEXT,
            error TEXT,
            attempts INTEGER NOT NULL DEFAULT 0,
            retry_at INTEGER NOT NULL DEFAULT 0,
            sent_hash BLOB,
            sent_size INTEGER,
            sent_before BLOB,               -- what was sent before sent_hash (SentContent.encode)
            pinned INTEGER NOT NULL DEFAULT 0,
            excluded INTEGER NOT NULL DEFAULT 0,
            held_at INTEGER,                -- ns since 1970: deleted in the store then, and held; NULL: not
            attempted_parent INTEGER,       -- where the store may have made what it has not confirmed
            attempted_name BLOB,
            base_parent INTEGER GENERATED ALWAYS AS (
                CASE WHEN alike & 1 THEN local_parent ELSE own_base_parent END) VIRTUAL,
            base_name BLOB GENERATED ALWAYS AS (CASE WHEN alike & 1 THEN local_name ELSE own_base_name END) VIRTUAL,
            base_content BLOB GENERATED ALWAYS AS (
                CASE WHEN alike & 4 THEN remote_content ELSE own_base_content END) VIRTUAL,
            base_metadata BLOB GENERATED ALWAYS AS (
                CASE WHEN alike & 4 THEN remote_metadata ELSE own_base_metadata END) VIRTUAL,
            remote_parent INTEGER GENERATED ALWAYS AS (
                CASE WHEN alike & 2 THEN local_parent ELSE own_remote_parent END) VIRTUAL,
            remote_name BLOB GENERATED ALWAYS AS (
                CASE WHEN alike & 2 THEN local_name ELSE own_remote_name END) VIRTUAL,
            pending INTEGER GENERATED ALWAYS AS (
                excluded = 0 AND (
                    (NOT alike & 1 AND (local_parent IS NOT own_base_parent OR local_name IS NOT own_base_name))
                    OR local_content <> 0 OR local_metadata <> 0
                    OR (local_parent IS NULL AND own_remote_parent IS NULL))) VIRTUAL
        );
        INSERT INTO item_8 (id, inode, identifier, kind, alike, local_parent, local_name, local_content, local_metadata,
                            remote_content, remote_metadata, remote_size, remote_mtime, remote_btime, remote_mode,
                            remote_xattr, remote_capabilities, ready_at, own_base_parent, own_base_name,
                            own_base_content, own_base_metadata, own_remote_parent, own_remote_name, target, error_code,
                            error, attempts, retry_at, sent_hash, sent_size, sent_before, pinned, excluded, held_at,
                            attempted_parent, attempted_name)
            SELECT id, inode, identifier, kind, based + 2 * there + 4 * same, local_parent, local_name, local_content,
                   local_metadata, remote_content, remote_metadata, remote_size, remote_mtime, remote_btime, remote_mode,
                   remote_xattr, remote_capabilities, ready_at,
                   CASE WHEN based THEN NULL ELSE base_parent END, CASE WHEN based THEN NULL ELSE base_name END,
                   CASE WHEN same THEN NULL ELSE base_content END, CASE WHEN same THEN NULL ELSE base_metadata END,
                   CASE WHEN there THEN NULL ELSE remote_parent END, CASE WHEN there THEN NULL ELSE remote_name END,
                   target, error_code, error, attempts, retry_at, sent_hash, sent_size, sent_before, pinned, excluded,
                   held_at, attempted_parent, attempted_name
            FROM (
                SELECT *,
                    local_parent IS NOT NULL AND base_parent IS local_parent AND base_name IS local_name AS based,
                    local_parent IS NOT NULL AND remote_parent IS local_parent AND remote_name IS local_name AS there,
                    remote_content IS NOT NULL AND remote_metadata IS NOT NULL
                        AND base_content IS remote_content AND base_metadata IS remote_metadata AS same
                FROM item)
            ORDER BY id;

        -- Numbers are never given out again.
        UPDATE sqlite_sequence SET seq = (SELECT seq FROM sqlite_sequence WHERE name = 'inode') WHERE name = 'inode_8';
        UPDATE sqlite_sequence SET seq = (SELECT seq FROM sqlite_sequence WHERE name = 'item') WHERE name = 'item_8';
        DROP TABLE item;
        DROP TABLE inode;
        ALTER TABLE inode_8 RENAME TO inode;
        ALTER TABLE item_8 RENAME TO item;

        CREATE INDEX inode_writing ON inode(id) WHERE writing <> 0;
        CREATE INDEX inode_orphan ON inode(id) WHERE nlink = 0;
        CREATE INDEX inode_here ON inode(used, id, here, kind) WHERE kind = 0 AND here > 0;
        CREATE INDEX inode_unlisted ON inode(id) WHERE kind = 1 AND enumerated = 0;

        -- A place by its name is found in table name, where the item is alike.
        CREATE INDEX item_local ON item(local_parent, alike) WHERE local_parent IS NOT NULL;
        CREATE INDEX item_base ON item(own_base_parent, own_base_name) WHERE own_base_parent IS NOT NULL;
        CREATE INDEX item_remote ON item(own_remote_parent, own_remote_name) WHERE own_remote_parent IS NOT NULL;
        CREATE INDEX item_content ON item(substr(remote_content, -8)) WHERE kind = 0 AND remote_content IS NOT NULL;
        CREATE INDEX item_capabilities ON item(inode, remote_capabilities) WHERE remote_capabilities IS NOT NULL;
        CREATE INDEX item_held ON item(id) WHERE held_at IS NOT NULL;
        CREATE INDEX item_attempted ON item(attempted_parent, attempted_name) WHERE attempted_parent IS NOT NULL;
        CREATE INDEX item_ready ON item(ready_at, id) WHERE pending = 1;
        CREATE INDEX item_retry ON item(retry_at) WHERE pending = 1 AND retry_at > 0;
        CREATE INDEX item_excluded ON item(id) WHERE excluded <> 0;
        CREATE INDEX item_pinned ON item(id) WHERE pinned <> 0;

        INSERT OR REPLACE INTO domain VALUES ('freed', '8');
        """

    /// In table `domain`: a migration has rewritten most of the catalog, and what that freed has not been given back.
    static let freed = "freed"

    private static let unlistedFolders = """
        -- Every query counts these folders, and need not look through all inodes for them.
        CREATE INDEX inode_unlisted ON inode(id) WHERE kind = 1 AND enumerated = 0;
        """

    private static let namesThatMoved = """
        -- Numbers of names that the index of names has under what they were before (NameIndex).
        CREATE TABLE moved_name (id INTEGER PRIMARY KEY);
        """

    private static let threeTrees = """
        CREATE TABLE domain (
            key TEXT PRIMARY KEY,
            value TEXT NOT NULL
        ) WITHOUT ROWID;

        -- What POSIX sees. The row id is st_ino.
        CREATE TABLE inode (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            kind INTEGER NOT NULL,          -- 0 document, 1 folder, 2 link
            mode INTEGER NOT NULL,          -- permission bits
            uid INTEGER NOT NULL,
            gid INTEGER NOT NULL,
            nlink INTEGER NOT NULL,         -- 0: unlinked, kept while a program has it open
            size INTEGER NOT NULL,
            atime INTEGER NOT NULL,         -- times in ns since 1970; out of range, a BLOB (FileTime.blob)
            mtime INTEGER NOT NULL,
            ctime INTEGER NOT NULL,
            btime INTEGER NOT NULL,
            target BLOB,
            generation INTEGER NOT NULL DEFAULT 1,
            base_size INTEGER NOT NULL DEFAULT 0,
            extents BLOB,                   -- present ranges below base_size; NULL: all
            writing INTEGER NOT NULL DEFAULT 0,  -- 0 no, 1 maybe modified, 2 modified
            stamp_size INTEGER NOT NULL DEFAULT 0,   -- of the backing file, with writing = 1
            stamp_mtime INTEGER NOT NULL DEFAULT 0,
            stamp_ctime INTEGER NOT NULL DEFAULT 0,
            enumerated INTEGER NOT NULL DEFAULT 0
        );
        CREATE INDEX inode_writing ON inode(id) WHERE writing <> 0;
        CREATE INDEX inode_orphan ON inode(id) WHERE nlink = 0;

        -- (folder, name) -> inode. The row id is the readdir cookie.
        CREATE TABLE name (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            folder INTEGER NOT NULL REFERENCES inode(id),
            name BLOB NOT NULL,
            inode INTEGER NOT NULL REFERENCES inode(id),
            UNIQUE (folder, name)
        );
        CREATE INDEX name_folder ON name(folder, id);
        CREATE INDEX name_inode ON name(inode);

        -- What the provider sees, three times: base, local, remote. parent NULL: not in that tree.
        CREATE TABLE item (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            inode INTEGER UNIQUE REFERENCES inode(id) ON DELETE SET NULL,
            identifier TEXT UNIQUE,
            kind INTEGER NOT NULL,
            target BLOB,
            base_parent INTEGER,
            base_name BLOB,
            base_content BLOB,
            base_metadata BLOB,
            local_parent INTEGER,
            local_name BLOB,
            local_content INTEGER NOT NULL DEFAULT 0,
            local_metadata INTEGER NOT NULL DEFAULT 0,
            remote_parent INTEGER,
            remote_name BLOB,
            remote_content BLOB,
            remote_metadata BLOB,
            remote_size INTEGER NOT NULL DEFAULT 0,
            remote_mtime INTEGER NOT NULL DEFAULT 0,
            remote_btime INTEGER,
            remote_mode INTEGER,
            ready_at INTEGER NOT NULL DEFAULT 0,
            error_code TEXT,
            error TEXT,
            attempts INTEGER NOT NULL DEFAULT 0,
            retry_at INTEGER NOT NULL DEFAULT 0,
            sent_hash BLOB,
            sent_size INTEGER,
            pinned INTEGER NOT NULL DEFAULT 0,
            excluded INTEGER NOT NULL DEFAULT 0,
            pending INTEGER GENERATED ALWAYS AS (
                excluded = 0 AND (
                    local_parent IS NOT base_parent OR local_name IS NOT base_name
                    OR local_content <> 0 OR local_metadata <> 0
                    OR (local_parent IS NULL AND remote_parent IS NULL))) VIRTUAL
        );
        CREATE INDEX item_pending ON item(id) WHERE pending = 1;
        CREATE INDEX item_remote ON item(remote_parent, remote_name);
        CREATE INDEX item_local ON item(local_parent, local_name);

        INSERT INTO inode (id, kind, mode, uid, gid, nlink, size, atime, mtime, ctime, btime)
            VALUES (1, 1, 493, 0, 0, 2, 0, 0, 0, 0, 0);
        INSERT INTO item (id, inode, identifier, kind, base_parent, base_name, local_parent, local_name,
                          remote_parent, remote_name)
            VALUES (1, 1, NULL, 1, 0, x'', 0, x'', 0, x'');
        """

    private static let capabilitiesAndConflicts = """
        ALTER TABLE item ADD COLUMN remote_capabilities INTEGER;        -- ItemCapabilities; NULL: all
        -- Every look at an inode asks for them, and most items have all.
        CREATE INDEX item_capabilities ON item(inode, remote_capabilities) WHERE remote_capabilities IS NOT NULL;

        -- Of whom both versions were kept, until a person has looked at them.
        CREATE TABLE conflict (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            original INTEGER NOT NULL,      -- item that has the name; may be gone
            copy INTEGER NOT NULL,          -- inode of the conflicted copy; may be gone
            moment INTEGER NOT NULL,        -- ns since 1970
            reason TEXT NOT NULL
        );
        CREATE INDEX conflict_copy ON conflict(copy);
        """

    private static let heldDeletionsAndAttempts = """
        ALTER TABLE item ADD COLUMN held_at INTEGER;   -- ns since 1970: deleted in the store then, and held; NULL: not
        CREATE INDEX item_held ON item(id) WHERE held_at IS NOT NULL;

        -- How many items were shown here when the store deleted them, held ones included; of the last while only.
        CREATE TABLE vanished (
            moment INTEGER PRIMARY KEY,     -- ns since 1970
            items INTEGER NOT NULL
        );

        -- Where the store may have made what it has not confirmed.
        ALTER TABLE item ADD COLUMN attempted_parent INTEGER;
        ALTER TABLE item ADD COLUMN attempted_name BLOB;
        ALTER TABLE item ADD COLUMN sent_before BLOB;   -- what was sent before sent_hash (SentContent.encode)
        CREATE INDEX item_attempted ON item(attempted_parent, attempted_name) WHERE attempted_parent IS NOT NULL;
        """

    private static let waysToWhatIsNext = """
        -- With thousands pending, the next one is not looked for among all of them.
        CREATE INDEX item_ready ON item(ready_at, id) WHERE pending = 1;
        CREATE INDEX item_retry ON item(retry_at) WHERE pending = 1 AND retry_at > 0;
        DROP INDEX item_pending;
        -- What is in a tree only: a new document is in one of three.
        DROP INDEX item_remote;
        CREATE INDEX item_remote ON item(remote_parent, remote_name) WHERE remote_parent IS NOT NULL;
        DROP INDEX item_local;
        CREATE INDEX item_local ON item(local_parent, local_name) WHERE local_parent IS NOT NULL;
        DROP INDEX item_base;
        CREATE INDEX item_base ON item(base_parent, base_name) WHERE base_parent IS NOT NULL;
        CREATE INDEX item_excluded ON item(id) WHERE excluded <> 0;
        -- Nor a document that may have been moved elsewhere, by its version, among all that there are.
        CREATE INDEX item_content ON item(remote_content) WHERE kind = 0 AND remote_content IS NOT NULL;
        """

    private static let allOfPOSIX = """
        ALTER TABLE inode ADD COLUMN rdev INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE inode ADD COLUMN used INTEGER NOT NULL DEFAULT 0;   -- ns since 1970: last let go of
        ALTER TABLE inode ADD COLUMN split_from INTEGER;                -- item; see InodeRecord.splitFrom
        ALTER TABLE inode ADD COLUMN here INTEGER NOT NULL DEFAULT 0;   -- bytes on this machine
        UPDATE inode SET here = size WHERE kind = 0 AND extents IS NULL;
        -- With the bytes in it, so that their sum needs nothing else.
        CREATE INDEX inode_here ON inode(used, id, here, kind) WHERE kind = 0 AND here > 0;

        CREATE TABLE xattr (
            inode INTEGER NOT NULL REFERENCES inode(id) ON DELETE CASCADE,
            name BLOB NOT NULL,
            value BLOB NOT NULL,
            PRIMARY KEY (inode, name)
        ) WITHOUT ROWID;

        ALTER TABLE item ADD COLUMN remote_xattr BLOB;
        CREATE INDEX item_base ON item(base_parent, base_name);
        CREATE INDEX item_pinned ON item(id) WHERE pinned <> 0;
        -- Attributes were not asked for before: the next listing brings them.
        UPDATE item SET remote_metadata = x'' WHERE identifier IS NOT NULL AND id <> 1;
        """
}
