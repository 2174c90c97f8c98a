import FileProvider
import Foundation

/// Rules for the identifiers of bookmarks.
extension ConformanceSuite {
    static let domainRules: [ConformanceRule] = [
        ConformanceRule(1701, "A persistent identifier leads back to the URL of its item.") { it in
            let domain = ScratchDomain(of: it.provider)
            let folder = try await it.makeFolder("folder")
            let items = [folder, try await it.makeDocument("document", in: folder.identifier)]
            for item in items {
                try await domain.learn(item, from: it.provider)
                let url = try await domain.url(of: item.identifier)
                let identifier = try await it.provider.persistentIdentifierForItem(at: url, in: domain)
                let found = try await it.provider.urlForItem(withPersistentIdentifier: identifier, in: domain)
                try it.require(found.path == url.path, "it was \(url.path) and is \(found.path)")
            }
        },
        ConformanceRule(1702, "A persistent identifier survives a rename of its item.") { it in
            let domain = ScratchDomain(of: it.provider)
            let item = try await it.makeDocument("before")
            try await domain.learn(item, from: it.provider)
            let identifier = try await it.provider.persistentIdentifierForItem(
                at: try await domain.url(of: item.identifier), in: domain)
            let moved = try await it.provider.moveItem(
                item.identifier, to: it.folder, as: "after", baseVersion: item.version)
            try await domain.learn(moved, insteadOf: item, from: it.provider)
            let url = try await domain.url(of: moved.identifier)
            let found = try await it.provider.urlForItem(withPersistentIdentifier: identifier, in: domain)
            try it.require(found.path == url.path, "it leads to \(found.path) after a rename to \(url.path)")
        },
        ConformanceRule(1703, "The persistent identifier of a deleted item leads nowhere.") { it in
            let domain = ScratchDomain(of: it.provider)
            let item = try await it.makeDocument()
            try await domain.learn(item, from: it.provider)
            let identifier = try await it.provider.persistentIdentifierForItem(
                at: try await domain.url(of: item.identifier), in: domain)
            try await it.provider.deleteItem(item.identifier, baseVersion: item.version)
            domain.forget(item)
            try await it.requireError(.noSuchItem, from: "the URL of a deleted document") {
                _ = try await it.provider.urlForItem(withPersistentIdentifier: identifier, in: domain)
            }
        },
        ConformanceRule(
            1704, "An item that is not uploaded yet has a persistent identifier, which is good after the upload too."
        ) { it in
            let domain = ScratchDomain(of: it.provider)
            let known = try await it.makeDocument("known")
            try await domain.learn(known, from: it.provider)
            let url = try await domain.learn(unsent: "new", beside: known)
            func follow(_ identifier: ItemIdentifier, _ when: String) async throws {
                let found = try await it.provider.urlForItem(withPersistentIdentifier: identifier, in: domain)
                try it.require(found.path == url.path, "it is \(url.path), and \(when) it leads to \(found.path)")
            }
            let identifier = try await it.provider.persistentIdentifierForItem(at: url, in: domain)
            try await follow(identifier, "before the upload")
            try await domain.learn(try await it.makeDocument("new"), from: it.provider)
            try await follow(identifier, "after the upload")
        },
    ]
}
