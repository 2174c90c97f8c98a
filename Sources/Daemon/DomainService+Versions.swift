import ControlAPI
import DocumentServices
import FileProvider
import Foundation
import ItemCatalog
import SyncEngine
import Trees
import Volume

/// The versions that the store keeps of documents.
extension DomainService {
    func versions(of path: PathBytes, limit: Int) async throws -> [VersionStatus] {
        let identifier = try await storedDocument(path)
        let shown = domainPaths.shown(path)
        do {
            let found = try await volume.engine.client.versions(of: identifier, limit: limit, at: path.string)
            return found.map(VersionStatus.init)
        } catch {
            throw ControlFailure(code: "versions", message: "\(shown): \(error.message)")
        }
    }

    /// - Parameter process: the client, which has the descriptor.
    func copyVersion(
        _ version: VersionStatus, of path: PathBytes, into descriptor: Int32, of process: Int32
    ) async -> ControlResponse {
        let shown = domainPaths.shown(path)
        do {
            let identifier = try await storedDocument(path)
            let file = try ClientFile(process, descriptor, for: shown)
            // (On a worker's thread, as it writes to the disk.)
            let client = volume.engine.client
            let writing = Task(executorPreference: volume.engine.mount.workers) { () -> FileProviderError? in
                do throws(FileProviderError) {
                    try await client.provideVersion(
                        DocumentVersion(version), of: identifier, into: file, at: path.string)
                    return nil
                } catch { return error }
            }
            // (The client may hang up.)
            let result = await withTaskCancellationHandler {
                await writing.value
            } onCancel: {
                writing.cancel()
            }
            if let result { throw ControlFailure(code: "versions", message: "\(shown): \(result.message)") }
            return .done
        } catch let failure as ControlFailure {
            return .failure(failure)
        } catch {
            return .failure(ControlFailure(code: ControlFailure.internalError, message: "\(shown): \(error)"))
        }
    }

    /// The identifier of a document that is in the store.
    private func storedDocument(_ path: PathBytes) async throws -> ItemIdentifier {
        let (record, item) = try volume.inspect(try await domainPaths.resolve(path).id)
        func refusal(_ why: String) -> ControlFailure {
            ControlFailure(code: "versions", message: "\(domainPaths.shown(path)): \(why)")
        }
        guard record.kind == .document else { throw refusal("is not a document; only documents have versions") }
        guard let identifier = item?.identifier else {
            throw refusal("is not in the store yet, so the store has no version of it; hydrant sync sends it")
        }
        return identifier
    }
}

/// A file that a client has open, for writing.
private final class ClientFile: ContentSink {
    private let descriptor: Int32
    private let name: String

    /// - Parameter name: for messages.
    init(_ process: Int32, _ number: Int32, for name: String) throws {
        self.name = name
        // (The kernel lets only this user's processes, and root's, open it: proc_pid_fd(5).)
        descriptor = open("/proc/\(process)/fd/\(number)", O_WRONLY | O_CLOEXEC | O_NONBLOCK)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_size == 0
        else {
            let reason = descriptor < 0 ? String(cString: strerror(errno)) : "it is not an empty file"
            if descriptor >= 0 { close(descriptor) }
            throw ControlFailure(
                code: "versions", message: "\(name): descriptor \(number) of process \(process): \(reason)")
        }
    }

    deinit { close(descriptor) }

    func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes {
                pwrite(descriptor, $0.baseAddress! + done, bytes.count - done, off_t(offset) + done)
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else {
                throw FileProviderError(
                    .cannotSynchronize, "the version cannot be written: \(String(cString: strerror(errno)))")
            }
            done += count
        }
    }
}

extension VersionStatus {
    fileprivate init(_ version: DocumentVersion) {
        self.init(
            identifier: version.identifier, size: version.size,
            modified: Double(version.contentModificationDate.nanoseconds) / 1e9, author: version.author,
            label: version.label)
    }
}

extension DocumentVersion {
    fileprivate init(_ status: VersionStatus) {
        self.init(
            identifier: status.identifier, size: status.size,
            contentModificationDate: FileTime(nanoseconds: Int64(max(-9e9, min(9e9, status.modified)) * 1e9)),
            author: status.author, label: status.label)
    }
}
