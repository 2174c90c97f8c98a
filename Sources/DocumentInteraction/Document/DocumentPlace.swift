import ControlAPI
import Foundation

/// A document's path, and the mount that it is in.
struct DocumentPlace: Sendable {
    /// Absolute, links followed, in the form of ``ByteText``.
    let path: String
    /// Nil: the document is in no mounted domain, and so is here.
    let mountPoint: String?
    /// Relative to the mount point.
    let relative: PathBytes
    let isFolder: Bool
    /// In bytes; 0 for folders.
    let size: Int64
    /// In seconds since 1970.
    let modified: Int64
    /// Its permission bits.
    let mode: UInt32

    /// Blocks. Downloads nothing, because it only takes the status of the path.
    init(_ url: URL) throws {
        guard url.isFileURL else {
            throw DocumentInteractionError(.noSuchDocument, "\(url.absoluteString): not a file URL")
        }
        let asked = ByteText.text(of: url)
        guard let path = ByteText.resolved(asked) else { throw Self.failure(asked) }
        var status = stat()
        guard ByteText.withPath(path, { stat($0, &status) }) == 0 else { throw Self.failure(asked) }
        let kind = status.st_mode & S_IFMT
        guard kind == S_IFREG || kind == S_IFDIR else {
            throw DocumentInteractionError(
                .noSuchDocument, "\(ByteText.shown(asked)): is neither a document nor a folder")
        }
        self.path = path
        isFolder = kind == S_IFDIR
        size = isFolder ? 0 : Int64(status.st_size)
        modified = Int64(status.st_mtim.tv_sec)
        mode = status.st_mode & 0o777
        let mount = MountTable.hydrantMount(containing: path)
        mountPoint = mount?.mountPoint
        relative = PathBytes(
            bytes: ByteText.bytes(path).dropFirst(mount?.mountPoint.utf8.count ?? 0).drop { $0 == UInt8(ascii: "/") })
    }

    private static func failure(_ path: String) -> DocumentInteractionError {
        DocumentInteractionError(.noSuchDocument, "\(ByteText.shown(path)): \(String(cString: strerror(errno)))")
    }

    var shown: String { ByteText.shown(path) }

    /// The seconds to wait for the daemon's answer.
    private static let patience = 60.0

    /// Whether all of the document's bytes are on this machine.
    func isHere() async throws -> Bool {
        guard mountPoint != nil, !isFolder else { return true }
        guard case .items(let items) = try await ask(.status(paths: [relative])), let item = items.first else {
            throw unexpected
        }
        return item.state == .downloaded || item.size == 0
    }

    /// Downloads the document; returns when all of it is here, and at once for a folder, or outside of domains.
    /// Cancellation stops the download unless somebody else waits for it.
    func download(_ progress: (@Sendable (DownloadProgress) -> Void)?) async throws {
        guard let mountPoint, !isFolder else { return }
        if (try? await isHere()) == true { return }
        let answer: ControlResponse
        do {
            let request = ControlRequest.reporting(.download(paths: [relative]))
            answer = try await client().follow(request) { news in
                guard case .progress(let now) = news else { return }
                progress?(DownloadProgress(bytes: now.bytes, total: now.bytesTotal))
            }
        } catch let error as ControlError {
            if error.code == .cancelled { throw CancellationError() }
            throw DocumentInteractionError(.download, "\(shown): cannot be downloaded: \(mountPoint): \(error.message)")
        }
        switch answer {
        case .outcomes(let outcomes):
            if let error = outcomes.first?.error {
                throw DocumentInteractionError(.download, "\(shown): cannot be downloaded: \(error)")
            }
        case .failure(let failure):
            throw DocumentInteractionError(.download, "\(shown): cannot be downloaded: \(failure.message)")
        default: throw unexpected
        }
    }

    private func client() throws -> ControlClient {
        ControlClient(socketPath: try SocketDirectory.socketPath(mountPoint: mountPoint ?? "/"))
    }

    private var unexpected: DocumentInteractionError {
        DocumentInteractionError(
            .failed, "\(mountPoint ?? ""): unexpected answer from the daemon; unmount and mount again")
    }

    private func ask(_ request: ControlRequest) async throws -> ControlResponse {
        let answer: ControlResponse
        do { answer = try await client().send(request, timeout: Self.patience) } catch {
            throw DocumentInteractionError(.failed, "\(shown): \(error)")
        }
        if case .failure(let failure) = answer { throw DocumentInteractionError(.failed, failure.message) }
        return answer
    }
}

/// How far a download is.
public struct DownloadProgress: Sendable, Hashable {
    /// Bytes that have arrived.
    public let bytes: Int64
    /// Bytes in all.
    public let total: Int64
}
