import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import MountFrontend
import MountHarness
import Testing
import Trees
import Volume

@testable import DocumentServices

/// A scoped folder's view of a volume, without a mount of its own.
@Suite("The contents of a scoped folder") struct ScopedViewTests {
    private func create(_ view: ScopedView) throws -> Outcome<(Lookup, Opened)> {
        try view.create(
            "doc.txt", in: .root, mode: 0o644, uid: geteuid(), gid: getegid(), traits: [])
    }

    /// A program here has put the document aside, and is about to make another one.
    private func putAside(_ served: ServedDomain) throws -> ScopedView {
        try served.run("cat doc.txt")
        let inode = try served.catalog.read { try $0.resolve(["doc.txt"]).id }
        let scope = try Scope(
            volume: served.volume, kernel: FakeKernel(), inode: inode, token: "0123456789abcdef", isWritable: true)
        let view = try ScopedView(scope: scope)
        let renamed = try view.rename("doc.txt", in: .root, to: "doc.bak", in: .root, noReplace: false)
        guard case .ready = renamed else { throw CancellationError() }
        return view
    }

    private func wait(_ outcome: Outcome<(Lookup, Opened)>) throws {
        guard case .wait(let wait) = outcome else {
            Issue.record("it does not wait")
            return
        }
        try blocking { try await wait.run() }
    }

    @Test("old contents are copied while names can be looked up; contents changed since are copied again")
    func copying() async throws {
        let provider = SilentProvider()
        try provider.base.put("doc.txt", "first")
        try await withServed(provider) { served in
            let view = try putAside(served)
            try wait(try create(view))
            guard case .ready(let aside?) = try view.lookUp("doc.bak", in: .root),
                case .ready(nil) = try view.lookUp("doc.txt", in: .root)
            else {
                Issue.record("names are not what they were")
                return
            }
            view.forget(aside.node, count: 1)
            try served.run("echo more >>doc.txt")
            try wait(try create(view))
            guard case .ready(let (made, opened)) = try create(view) else {
                Issue.record("the copy is here and was not taken")
                return
            }
            #expect(made.attributes.record.size == 0)
            guard case .ready(let old?) = try view.lookUp("doc.bak", in: .root) else {
                Issue.record("the old contents are not there")
                return
            }
            #expect(old.attributes.record.size == 10)
            view.close(opened.handle)
            view.scope.end()
            let names = try served.catalog.read { try $0.children(of: .root, after: 0, limit: 10).map(\.name) }
            #expect(names == ["doc.txt"])
        }
    }

    @Test("an unused copy is removed with the scope, also if it is finished later")
    func unused() async throws {
        let provider = SilentProvider()
        try provider.base.put("doc.txt", "first")
        try await withServed(provider) { served in
            let view = try putAside(served)
            let late = try create(view)
            try wait(try create(view))
            view.scope.end()
            try wait(late)
            let names = try served.catalog.read { try $0.children(of: .root, after: 0, limit: 10).map(\.name) }
            #expect(names == ["doc.txt"])
        }
    }

    @Test("the reply to a change waits until programs at the domain's mount see the change; nothing else waits")
    func settling() async throws {
        let provider = SilentProvider()
        try provider.base.put("doc.txt", "first")
        try await withServed(provider) { served in
            let view = try putAside(served)
            #expect(view.settling() == nil)
            let made = try view.makeFolder("new", in: .root, mode: 0o755, uid: geteuid(), gid: getegid())
            guard case .ready(let lookup) = made else { throw CancellationError() }
            let settling = try #require(view.settling())
            try blocking { await settling() }
            #expect(view.settling() == nil)
            view.forget(lookup.node, count: 1)
            view.scope.end()
        }
    }
}
