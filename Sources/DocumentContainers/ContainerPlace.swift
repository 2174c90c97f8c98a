import CLinux
import ControlAPI
public import Foundation
import NIOPosix
import Surroundings

extension DocumentContainer {
    /// The folder of a container in its mounted domain; made if it does not exist.
    ///
    /// ```swift
    /// let folder = try await DocumentContainer.url(forIdentifier: "org.example.notes")
    /// ```
    ///
    /// - Parameter identifier: nil: the container whose `program` is the executable of this process.
    /// - Throws: when no such container is installed ("no container"), when its domain is not mounted, or when the
    ///   folder
    ///   cannot be made.
    ///
    /// Source: Apple, `FileManager.url(forUbiquityContainerIdentifier:)`.
    public static func url(forIdentifier identifier: String? = nil) async throws(DocumentContainerError) -> URL {
        try await named(identifier).url()
    }

    /// An installed container.
    ///
    /// - Parameter identifier: nil: the container whose `program` is the executable of this process.
    /// - Throws: "no container".
    public static func named(_ identifier: String?) throws(DocumentContainerError) -> DocumentContainer {
        let all = installed().containers
        if let identifier {
            if let found = all.first(where: { $0.identifier == identifier }) { return found }
            throw DocumentContainerError(
                "no container “\(identifier)”; hydrant containers lists the installed ones")
        }
        let program = ByteText.resolved("/proc/self/exe")
        if let found = all.first(where: { $0.program != nil && $0.program == program }) { return found }
        throw DocumentContainerError("no container: none is installed for \(program ?? "this program")")
    }

    /// As ``url(forIdentifier:)``, for this container.
    public func url() async throws(DocumentContainerError) -> URL {
        let place = try await place()
        if place.isReadOnly, access(place.path, F_OK) != 0 {
            throw DocumentContainerError("\(place.path): does not exist, and the domain is read-only")
        }
        let (folder, mountPoint) = (folder, place.mountPoint)
        do { try await NIOThreadPool.singleton.runIfActive { try Self.make(folder, in: mountPoint) } } catch {
            throw error as? DocumentContainerError ?? DocumentContainerError("\(place.path): \(error)")
        }
        return ByteText.url(place.path + "/")
    }

    /// Makes missing folders. An existing path must be a folder in the domain; nothing is made behind a link that leads
    /// out of it.
    private static func make(_ folder: [String], in mountPoint: String) throws {
        let root = clinux_open_folder(AT_FDCWD, mountPoint, true)
        guard root >= 0 else { throw failure(mountPoint, errno) }
        var above = root
        defer { for file in Set([root, above]) { close(file) } }
        var path = ""
        for name in folder {
            path += path.isEmpty ? name : "/" + name
            var next = clinux_open_beneath(root, path)
            if next < 0, errno == ENOENT {
                guard mkdirat(above, name, 0o777) == 0 || errno == EEXIST else {
                    throw failure(mountPoint + "/" + path, errno)
                }
                next = clinux_open_beneath(root, path)
            }
            guard next >= 0 else { throw failure(mountPoint + "/" + path, errno) }
            if above != root { close(above) }
            above = next
        }
    }

    private static func failure(_ path: String, _ code: Int32) -> DocumentContainerError {
        switch code {
        case EXDEV: DocumentContainerError("\(path): leads out of the domain")
        case ENOTDIR: DocumentContainerError("\(path): not a folder")
        case ENOENT: DocumentContainerError("\(path): a link that leads nowhere")
        default: DocumentContainerError("\(path): \(String(cString: strerror(code)))")
        }
    }

    // MARK: Domains

    /// The place of a container, whether or not its folder exists.
    public struct Place: Sendable, Hashable {
        /// The domain's mount point.
        public let mountPoint: String
        /// The domain's name.
        public let domain: String
        /// The file provider's identifier.
        public let providerIdentifier: String?
        /// The domain refuses changes.
        public let isReadOnly: Bool
        /// The folder's path.
        public let path: String
    }

    /// The container's place: in the domain that its manifest names, that the user has chosen (``choose(domain:)``), or
    /// in the only mounted domain, which is remembered then. Makes nothing.
    ///
    /// - Throws: when the domain is not mounted, or when several are mounted and none was chosen.
    public func place() async throws(DocumentContainerError) -> Place {
        let mounted = await Self.mountedDomains()
        if let wanted = domain ?? Self.choices()[identifier] {
            guard let status = mounted.first(where: { $0.domain == wanted }) else {
                throw DocumentContainerError(
                    "the container “\(name)” is in the domain “\(wanted)”, which is not mounted; mount it: hydrant mount \(wanted) FOLDER"
                )
            }
            return place(in: status)
        }
        guard let only = mounted.first else {
            throw DocumentContainerError("no domain is mounted for the container “\(name)”; mount one")
        }
        guard mounted.count == 1 else {
            throw DocumentContainerError(
                "the container “\(name)” may be in any of \(mounted.map(\.domain).joined(separator: ", ")); "
                    + "choose one: hydrant containers choose \(identifier) DOMAIN")
        }
        try choose(domain: only.domain)
        return place(in: only)
    }

    private func place(in status: DomainStatus) -> Place {
        Place(
            mountPoint: status.mountPoint, domain: status.domain, providerIdentifier: status.providerIdentifier,
            isReadOnly: status.isReadOnly ?? false,
            path: ([status.mountPoint] + folder).joined(separator: "/"))
    }

    /// Seconds to wait for a daemon; one that does not answer counts as not mounted.
    private static let patience = 3.0

    /// This user's mounted domains, sorted by name.
    private static func mountedDomains() async -> [DomainStatus] {
        let mounts = Set(MountTable.ownDomains().map(\.mountPoint))
        let domains = await withTaskGroup(of: DomainStatus?.self) { group -> [DomainStatus] in
            for mountPoint in mounts { group.addTask { await domain(at: mountPoint) } }
            var found: [DomainStatus] = []
            for await status in group { if let status { found.append(status) } }
            return found
        }
        return domains.sorted { $0.domain < $1.domain }
    }

    private static func domain(at mountPoint: String) async -> DomainStatus? {
        guard let path = try? SocketDirectory.socketPath(mountPoint: mountPoint) else { return nil }
        let answer = try? await ControlClient(socketPath: path).send(.domain, timeout: patience)
        if case .domain(let status, _) = answer { return status }
        return nil
    }

    // MARK: The user's choices

    /// The file of the chosen domains, by container: `$XDG_STATE_HOME/hydrant/containers.json`.
    private static var choicesFile: String? { BaseDirectory.state.path().map { $0 + "/hydrant/containers.json" } }

    private static func choices() -> [String: String] {
        choicesFile.flatMap { FileManager.default.contents(atPath: $0) }
            .flatMap { try? JSONDecoder().decode([String: String].self, from: $0) } ?? [:]
    }

    /// Sets the container's domain, durably. Documents in the container's folder in another domain stay there.
    ///
    /// - Throws: when its manifest names another domain.
    public func choose(domain wanted: String) throws(DocumentContainerError) {
        if let domain, domain != wanted {
            throw DocumentContainerError(
                "the manifest of the container “\(name)” says that it is in the domain “\(domain)”; change it there")
        }
        guard let file = Self.choicesFile else { throw DocumentContainerError(BaseDirectory.state.missing) }
        var choices = Self.choices()
        choices[identifier] = wanted
        do {
            try FileManager.default.createDirectory(
                atPath: (file as NSString).deletingLastPathComponent, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
            try SmallFile.replace(file, with: try JSONEncoder().encode(choices))
        } catch let error as SmallFile.Failure {
            throw DocumentContainerError("\(error.path): \(error.reason)")
        } catch { throw DocumentContainerError("\(file): \(error.localizedDescription)") }
    }
}
