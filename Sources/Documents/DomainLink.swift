import ControlAPI
import FileCoordination
import Foundation

/// A document's requests to the daemon of its domain.
struct DomainLink: Sendable {
    private let place: ItemPlace
    private let client: ControlClient
    private static let patience = 60.0

    /// Nil: the file is in no mounted domain.
    static func find(_ url: URL) async -> DomainLink? {
        guard let place = try? await ItemPlace.find(url),
            let socket = try? SocketDirectory.socketPath(mountPoint: place.mountPoint)
        else { return nil }
        return DomainLink(place: place, client: ControlClient(socketPath: socket))
    }

    private func ask(_ request: ControlRequest) async throws -> ControlResponse {
        try Self.checked(await client.send(request, timeout: Self.patience))
    }

    private static func checked(_ answer: ControlResponse) throws -> ControlResponse {
        guard case .failure(let failure) = answer else { return answer }
        throw DocumentError(failure.code == "path" ? .missing : .refused, failure.message)
    }

    // MARK: Downloads

    /// Downloads the file; returns when all of it is here. After a cancellation, the bytes that have arrived stay.
    func download(_ onProgress: @escaping @Sendable (DownloadProgress) async -> Void) async throws {
        let answer: ControlResponse
        do {
            answer = try await client.follow(.reporting(.download(paths: [place.path]))) { news in
                guard case .progress(let now) = news, now.bytesTotal > 0 else { return }
                await onProgress(DownloadProgress(bytes: now.bytes, totalBytes: now.bytesTotal))
            }
        } catch let error as ControlError {
            if error.code == .cancelled { throw CancellationError() }
            throw DocumentError(.refused, "\(DocumentError.shown(place.mountPoint)): \(error.message)")
        }
        guard case .outcomes(let outcomes) = try Self.checked(answer) else { return }
        if let error = outcomes.first?.error { throw DocumentError(.unreadable, error) }
    }

    // MARK: Conflicts

    /// A conflict of the document, or of a document in the package.
    struct Conflict {
        var copy: URL
        var moment: Date
        var explanation: String
    }

    func conflicts() async throws -> [Conflict] {
        guard case .conflicts(let all) = try await ask(.conflicts) else { return [] }
        return all.compactMap { status in
            guard let original = status.originalPlace, let copy = status.copyPlace,
                original == place.path || original.bytes.starts(with: place.path.bytes + [UInt8(ascii: "/")])
            else { return nil }
            return Conflict(
                copy: ItemPlace.url(copy, in: place.mountPoint), moment: Date(timeIntervalSince1970: status.moment),
                explanation: status.explanation)
        }
    }

    /// Records the conflict in the domain, so that everybody sees it.
    func noteConflict(copy: URL) async throws {
        let copy = try await ItemPlace.find(copy)
        _ = try await ask(.noteConflict(original: place.path, copy: copy.path))
    }

    static func resolve(_ copy: URL, keeping kept: Document.KeptVersion) async throws {
        guard let link = await find(copy) else {
            throw DocumentError(
                .missing, "\(DocumentError.shown(copy)): the copy is gone, or its domain is no longer mounted")
        }
        _ = try await link.ask(.resolve(path: link.place.path, keep: kept.asKept))
    }
}

extension Document.KeptVersion {
    fileprivate var asKept: ControlAPI.KeptVersion {
        switch self {
        case .mine: .mine
        case .theirs: .theirs
        case .both: .both
        }
    }
}
