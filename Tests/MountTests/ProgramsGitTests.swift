import FileProviderTesting
import MountHarness
import Testing

@Suite("Programs: git")
struct ProgramsGitTests {
    /// A repository with three branches, 25 commits and 200 files, at `$SCRATCH/origin.git`.
    private static let origin = """
        git init -q --bare -b main origin.git
        python3 - <<'PYTHON' | git -C origin.git fast-import --quiet
        def commit(branch, n, files, parent=None):
            print("commit refs/heads/%s\\ncommitter A <a@b.c> %d +0000\\ndata <<END\\n%s %d\\nEND"
                % (branch, 1700000000 + n, branch, n))
            if parent: print("from refs/heads/" + parent)
            for mode, path, text in files: print("M %s inline %s\\ndata %d\\n%s" % (mode, path, len(text), text))
            print()
        def text(n, k): return "".join("line %d of file %d in commit %d\\n" % (l, n, k) for l in range(n % 40 + 1))
        def path(n): return "src/%d/file %d.txt" % (n % 12, n)
        commit("main", 0, [("100644", path(n), text(n, 0)) for n in range(200)]
            + [("100755", "run.sh", "#!/bin/sh\\necho ran\\n"), ("120000", "link", "run.sh")])
        for k in range(1, 18): commit("main", k, [("100644", path(n), text(n, k)) for n in range(k, 200, 29)])
        for k in range(5):
            new = [("100644", "topic/%d.txt" % (10 * k + n), text(n, k)) for n in range(10)]
            commit("topic", k, new, "main" if k == 0 else None)
        new = [("100644", path(n), "rewritten\\n") for n in range(0, 200, 2)]
        commit("rewritten", 0, new + [("120000", "src/3/file 3.txt", "../../link")], "main")
        PYTHON
        git config --global user.email a@b.c; git config --global user.name A
        git config --global advice.detachedHead false

        """

    @Test(
        "clone, checkout, commit, merge, rebase, stash, gc, push; the working tree is clean after a remount, without a read",
        arguments: ProgramsWorkload.modes)
    func repository(_ options: MountOptions) async throws {
        try await ProgramsWorkload(
            prepare: Self.origin,
            work: """
                git clone -q "file://$SCRATCH/origin.git" work; cd work
                for branch in rewritten topic main HEAD~7 main; do git checkout -q $branch; done
                for n in 1 2 3 4; do
                    echo "change $n" >> "src/1/file 1.txt"; echo "new $n" > "new $n.txt"; git add -A
                    git commit -q -m "change $n"
                done
                git checkout -q -b mine HEAD~2; git rm -q "src/2/file 2.txt"; git mv src/3 moved; git commit -q -m moved
                git checkout -q main; git merge -q -m merged mine; git merge -q -m "and topic" origin/topic
                echo dirty >> run.sh; git stash -q; git stash pop -q; git checkout -q run.sh
                git checkout -q -b other HEAD~3; echo other > other.txt; git add -A; git commit -q -m other
                git rebase -q main; git checkout -q main
                git gc -q --aggressive --prune=now
                for n in 5 6; do echo "change $n" > "late $n.txt"; git add -A; git commit -q -m "change $n"; done
                # (What is as young as the index, to the second, git has to read.)
                sleep 1.1; git reset -q --hard HEAD~1; git worktree add -q ../beside other
                git push -q "$SCRATCH/origin.git" HEAD:refs/heads/pushed
                """,
            // A copy has other inode numbers, which git compares.
            check: """
                cd work; [ "$TREE" = "$MOUNT" ] || git update-index -q --refresh
                git diff-files --name-only; git status --porcelain; git fsck --strict --no-progress --no-dangling
                git log --format=%s -3; git log --format=%s -1 other; git rev-list --count --all
                git verify-pack .git/objects/pack/*.idx
                sh run.sh; ls moved | wc -l; readlink link
                """,
            says: "change 5\nand topic\nmerged\nother\n33\nran\n17\nrun.sh\n"
        ).run(options) { mount in
            // Nothing but what was run was read: dates and inode numbers are as git wrote them down.
            let read = mount.hookCalls().filter { $0.hook == .startProvidingItem && !$0.item.contains(".git/") }
            #expect(Set(read.map(\.item)) == ["work/run.sh"])
            let cleared = try mount.run("git -C work status --porcelain; git -C beside status --porcelain")
            #expect(cleared == "")
        }
    }
}
