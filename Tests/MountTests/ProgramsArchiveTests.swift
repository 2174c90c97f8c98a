import MountHarness
import Testing

/// Whole trees in and out of the mount, and archives of them in it.
@Suite("Programs: rsync, tar, zip")
struct ProgramsArchiveTests {
    @Test("rsync: into the mount, again after each kind of change, and out of it", arguments: ProgramsWorkload.modes)
    func rsync(_ options: MountOptions) async throws {
        try await ProgramsWorkload(
            prepare: ProgramsWorkload.tree + "touch \"source/no text \"$'\\377'",
            work: """
                rsync -a "$SCRATCH/source/" tree/
                cd "$SCRATCH/source"
                echo changed >> "1/document 1.dat"; printf x | dd of=large bs=1 seek=2000000 conv=notrunc status=none
                cd "$MOUNT"; rsync -a --inplace --no-whole-file "$SCRATCH/source/" tree/
                cd "$SCRATCH/source"; chmod 640 "2/document 2.dat"
                echo again >> "1/document 1.dat"; printf y | dd of=large bs=1 seek=1000000 conv=notrunc status=none
                cd "$MOUNT"; rsync -a --delay-updates --no-whole-file "$SCRATCH/source/" tree/
                cd "$SCRATCH/source"; rm -r 5 dangling; mv 4 6/moved; ln -sf elsewhere 3/link; mkdir dangling
                cd "$MOUNT"; rsync -a --delete --delete-after --backup --backup-dir=../backup "$SCRATCH/source/" tree/
                rsync -a --partial --checksum "$SCRATCH/source/" tree/
                """,
            // Of folders' dates the store keeps none.
            check: """
                rsync -anic --omit-dir-times --delete "$SCRATCH/source/" "$TREE/tree/"
                rm -rf "$SCRATCH/out"; rsync -a --omit-dir-times "$TREE/tree/" "$SCRATCH/out/"
                diff -r --no-dereference "$SCRATCH/source" "$SCRATCH/out"
                test $(find "$TREE/backup" -type f | wc -l) -ge 34
                """, says: ""
        ).run(options)
    }

    @Test(
        "tar: created, appended, updated, deleted from, sparse, incremental, extracted",
        arguments: ProgramsWorkload.usualModes)
    func tar(_ options: MountOptions) async throws {
        try await ProgramsWorkload(
            prepare: ProgramsWorkload.tree,
            work: """
                tar -C "$SCRATCH" -cf all.tar source
                mkdir out; tar -xf all.tar -C out; tar --compare -f all.tar -C out
                tar -czf packed.tar.gz -C out source; tar -cSf sparse.tar -C out source
                echo more > out/more.txt; touch -d 2020-01-01 out/more.txt; tar -rf all.tar -C out more.txt
                echo "more of it" > out/more.txt; tar -uf all.tar -C out more.txt
                tar --delete -f all.tar source/large
                mkdir again; tar -xf all.tar -C again; tar -xf packed.tar.gz -C again --overwrite
                tar -xSf sparse.tar -C again --unlink-first --recursive-unlink
                tar -cf level0.tar --listed-incremental=snapshot.snar -C out source
                rm "out/source/1/document 1.dat"; echo new > out/source/new.txt; mv out/source/2 out/source/two
                tar -cf level1.tar --listed-incremental=snapshot.snar -C out source
                mkdir restored; tar -xf level0.tar --listed-incremental=/dev/null -C restored
                tar -xf level1.tar --listed-incremental=/dev/null -C restored
                """,
            check: """
                gzip -t packed.tar.gz
                for archive in packed.tar.gz sparse.tar; do
                    tar --compare -f $archive -C again; tar --compare -f $archive -C "$SCRATCH"
                done
                diff -r --no-dereference out/source restored/source
                diff -r --no-dereference again/source "$SCRATCH/source"
                cat again/more.txt; ls restored/source; tar -tf all.tar | grep -c large || true
                """,
            says: "more of it\n0\n1\n3\n4\n5\n6\ndangling\nempty\nlarge\nnew.txt\ntwo\n\u{fc}mlaut\n0\n"
        ).run(options)
    }

    @Test("zip: created, changed, split, joined, tested, taken out", arguments: ProgramsWorkload.usualModes)
    func zip(_ options: MountOptions) async throws {
        try await ProgramsWorkload(
            prepare: ProgramsWorkload.tree,
            work: """
                cp -a "$SCRATCH/source" .
                zip -q -r -y all.zip source
                zip -q -d all.zip 'source/5/*'; echo changed >> source/large; zip -q -u all.zip source/large
                zip -q -r -y -FS all.zip source -x 'source/6/*'; zip -q -T all.zip
                ( cd source; zip -q -r -y -0 ../stored.zip . ); zip -q -r -m moved.zip source/1; unzip -q moved.zip
                zip -q -s 1m split.zip source/large; zip -q -s 0 split.zip --out whole.zip
                unzip -q all.zip -d out; unzip -q -o stored.zip -d stored; unzip -q -o stored.zip -d stored
                printf 'in a pipe' | zip -q piped.zip -
                """,
            check: """
                for archive in all stored moved piped whole; do unzip -tqq $archive.zip; done
                diff -r --no-dereference source stored
                unzip -p piped.zip; unzip -p whole.zip | cmp - source/large; ls out/source split.z*
                """,
            says: """
                in a pipesplit.z01
                split.zip

                out/source:
                0
                1
                2
                3
                4
                5
                dangling
                empty
                large
                \u{fc}mlaut

                """
        ).run(options)
    }
}
