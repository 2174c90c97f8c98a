import ControlAPI
import Coordination
public import Foundation
import Glibc
import Surroundings

/// Reads and writes items of mounted domains so that nobody else who does so the same way is in between: other programs,
/// the document picker, and `hydrant coordinate` in a script.
///
/// Any number may read an item at a time, or one write it. Whoever writes a folder has all that is in it. A claim ends with
/// its accessor, and with its process, however that ends. Programs that know nothing of this are not held up; what they do
/// is told to presenters (``FilePresenter``).
///
/// Source: Apple, `NSFileCoordinator`.
public final class FileCoordinator: Sendable {
    /// Coordinators of one purpose neither wait for nor notify each other. That of a provider is its
    /// `providerIdentifier`: what is written under it is not uploaded by the daemon while the program that wrote it runs;
    /// that program does so.
    public let purposeIdentifier: String
    private let presenter: PresenterHandle?
    private let asker: Asker

    /// For people: the program that wants the items, and its process if that is another one than this.
    package struct Asker: Sendable {
        package var name: String
        package var pid: Int32?

        package init(name: String, pid: Int32? = nil) {
            self.name = name
            self.pid = pid
        }

        /// A process that had something done by this one.
        package init?(process pid: Int32) {
            guard let name = ProcessStatus.name(of: pid) else { return nil }
            self.init(name: name, pid: pid)
        }

        static var thisProcess: Asker { Asker(name: ProcessInfo.processInfo.processName) }
    }

    /// What this task holds already; inherited by its child tasks, and by commands through ``environmentVariable``.
    @TaskLocal private static var held: [Held] = inherited

    /// Claims that are held while a program runs, by whoever started it; separated by commas.
    public static let environmentVariable = "HYDRANT_CLAIMS"

    private struct Held: Sendable {
        var claim: String
        /// Nil: whoever started this process holds it.
        var mountPoint: String?
    }

    private static let inherited: [Held] =
        ProcessInfo.processInfo.environment[environmentVariable]?.split(separator: ",").map {
            Held(claim: String($0))
        } ?? []

    /// - Parameter purposeIdentifier: nil: one of its own.
    public init(purposeIdentifier: String? = nil) {
        self.purposeIdentifier = purposeIdentifier ?? UUID().uuidString
        presenter = nil
        asker = .thisProcess
    }

    /// - Parameter asker: nil: this process.
    package init(purposeIdentifier: String? = nil, onBehalfOf asker: Asker?) {
        self.purposeIdentifier = purposeIdentifier ?? UUID().uuidString
        presenter = nil
        self.asker = asker ?? .thisProcess
    }

    /// For what a presenter does itself with its item: it is not asked about that.
    ///
    /// - Parameter filePresenter: one that was added.
    public init(filePresenter: any FilePresenter) {
        let handle = PresenterTable.shared.handle(of: filePresenter)
        purposeIdentifier = filePresenter.purposeIdentifier ?? handle?.purpose ?? UUID().uuidString
        presenter = handle
        asker = .thisProcess
    }

    // MARK: Access

    /// Runs `accessor` while nobody else has what it needs. All of it is granted at once.
    ///
    /// For reading, contents are downloaded first. The accessor gets the intents back with the places where the items are
    /// then. It may coordinate further; what can only end in waiting for ever is an error.
    ///
    /// - Parameter timeout: to wait for the grant, downloads included; nil: as long as it takes. The task may be cancelled.
    /// - Returns: what `accessor` does. Others may have the items once this returns; what was closed is in the daemon's
    ///   catalog, not yet in the store.
    /// - Throws: ``CoordinationError``, and what `accessor` throws.
    @discardableResult
    public func coordinate<T>(
        with intents: [FileAccessIntent], timeout: Duration? = nil,
        byAccessor accessor: ([FileAccessIntent]) async throws -> T
    ) async throws -> T {
        let places = try await ItemPlace.find(intents)
        let deadline = timeout.map { ContinuousClock.now + $0 }
        // In one order for everybody.
        let mounts = Set(places.map(\.mountPoint)).sorted()
        return try await coordinate(intents, places, mounts[...], deadline, accessor)
    }

    /// As ``coordinate(with:timeout:byAccessor:)``, for one item that is read.
    @discardableResult
    public func coordinate<T>(
        readingItemAt url: URL, options: ReadingOptions = [], timeout: Duration? = nil,
        byAccessor accessor: (URL) async throws -> T
    ) async throws -> T {
        try await coordinate(with: [.readingIntent(with: url, options: options)], timeout: timeout) {
            try await accessor($0[0].url)
        }
    }

    /// As ``coordinate(with:timeout:byAccessor:)``, for one item that is written.
    @discardableResult
    public func coordinate<T>(
        writingItemAt url: URL, options: WritingOptions = [], timeout: Duration? = nil,
        byAccessor accessor: (URL) async throws -> T
    ) async throws -> T {
        try await coordinate(with: [.writingIntent(with: url, options: options)], timeout: timeout) {
            try await accessor($0[0].url)
        }
    }

    /// The claims that this task holds, for the environment of a command (``environmentVariable``) that is to coordinate
    /// within them.
    public static var heldClaims: String { held.map(\.claim).joined(separator: ",") }

    /// A claim that this task holds does not end before a process has, whatever becomes of this one.
    ///
    /// - Throws: ``CoordinationError``; ``CoordinationError/Code/refused`` when there is no such process.
    public static func bindHeldClaims(to pid: Int32) async throws {
        for held in held {
            guard let mountPoint = held.mountPoint, let client = client(of: mountPoint) else { continue }
            do {
                let answer = try await client.send(.bindClaim(id: held.claim, pid: pid), timeout: 10)
                if case .failure(let failure) = answer { throw CoordinationError(.refused, failure.message) }
            } catch {
                throw HeldClaim.error(error, mountPoint)
            }
        }
    }

    static func client(of mountPoint: String) -> ControlClient? {
        (try? SocketDirectory.socketPath(mountPoint: mountPoint)).map { ControlClient(socketPath: $0) }
    }

    private func coordinate<T>(
        _ intents: [FileAccessIntent], _ places: [ItemPlace], _ mounts: ArraySlice<String>,
        _ deadline: ContinuousClock.Instant?, _ accessor: ([FileAccessIntent]) async throws -> T
    ) async throws -> T {
        guard let mount = mounts.first else { return try await accessor(intents) }
        let own = places.indices.filter { places[$0].mountPoint == mount }
        let request = CoordinationRequest(
            id: UUID().uuidString, purpose: purposeIdentifier, within: Self.held.map(\.claim), presenter: presenter?.id,
            pid: getpid(), program: asker.name, programPID: asker.pid,
            intents: own.map { CoordinationRequest.Intent(intents[$0], places[$0].path) })
        let claim = try HeldClaim(request, mount)
        return try await claim.hold(until: deadline) { grant in
            var granted = intents
            for (index, place) in zip(own, grant.places) {
                granted[index].url = places[index].url(place)
            }
            return try await Self.$held.withValue(Self.held + [Held(claim: request.id, mountPoint: mount)]) {
                try await coordinate(granted, places, mounts.dropFirst(), deadline, accessor)
            }
        }
    }
}

extension CoordinationRequest.Intent {
    fileprivate init(_ intent: FileAccessIntent, _ path: PathBytes) {
        var options: Set<CoordinationOption> = []
        func add(_ isSet: Bool, _ option: CoordinationOption) { if isSet { options.insert(option) } }
        let (reading, writing) = (intent.readingOptions, intent.writingOptions)
        add(reading.contains(.withoutChanges), .withoutChanges)
        add(reading.contains(.immediatelyAvailableMetadataOnly), .immediatelyAvailableMetadataOnly)
        add(reading.contains(.forUploading), .forUploading)
        add(writing.contains(.forDeleting), .forDeleting)
        add(writing.contains(.forMoving), .forMoving)
        add(writing.contains(.forMerging), .forMerging)
        add(writing.contains(.forReplacing), .forReplacing)
        add(writing.contains(.contentIndependentMetadataOnly), .contentIndependentMetadataOnly)
        self.init(path: path, isWriting: intent.isWriting, options: options)
    }
}
