import ControlAPI
import Coordination
public import Foundation
import Glibc
import Surroundings

/// Reads and writes items of mounted domains while no other coordinating program uses them; the document picker and
/// `hydrant coordinate` in a script coordinate as well.
///
/// Any number of programs may read an item at a time, or one may write it. A writer of a folder has everything in it. A
/// claim ends with its accessor, and at the latest with its process, however that ends. Programs that do not coordinate
/// are not blocked; presenters (``FilePresenter``) are told of their changes.
///
/// Source: Apple, `NSFileCoordinator`.
public final class FileCoordinator: Sendable {
    /// Coordinators of one purpose neither wait for nor notify each other. A provider's purpose is its
    /// `providerIdentifier`: the daemon does not upload what a program writes under it while that program runs; the
    /// program does so.
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

        /// The process that this one works for.
        package init?(process pid: Int32) {
            guard let name = ProcessStatus.name(of: pid) else { return nil }
            self.init(name: name, pid: pid)
        }

        static var thisProcess: Asker { Asker(name: ProcessInfo.processInfo.processName) }
    }

    /// The claims that this task holds; inherited by its child tasks, and by commands through ``environmentVariable``.
    @TaskLocal private static var held: [Held] = inherited

    /// The variable with the claims that a program's parent holds while the program runs, separated by commas.
    public static let environmentVariable = "HYDRANT_CLAIMS"

    private struct Held: Sendable {
        var claim: String
        /// Nil: this process's parent holds the claim.
        var mountPoint: String?
    }

    private static let inherited: [Held] =
        ProcessInfo.processInfo.environment[environmentVariable]?.split(separator: ",").map {
            Held(claim: String($0))
        } ?? []

    /// - Parameter purposeIdentifier: nil: a unique one.
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

    /// Makes a coordinator for a presenter's own accesses to its item, about which the presenter is not asked.
    ///
    /// - Parameter filePresenter: a presenter that was added.
    public init(filePresenter: any FilePresenter) {
        let handle = PresenterTable.shared.handle(of: filePresenter)
        purposeIdentifier = filePresenter.purposeIdentifier ?? handle?.purpose ?? UUID().uuidString
        presenter = handle
        asker = .thisProcess
    }

    // MARK: Access

    /// Runs `accessor` while nobody else uses the items that it needs, which are granted all at once.
    ///
    /// Downloads contents first for reading. The accessor gets the intents with the items' present places. It may
    /// coordinate further; a request that could only wait for ever is an error.
    ///
    /// - Parameter timeout: for the grant, downloads included; nil: none. The task may be cancelled.
    /// - Returns: the result of `accessor`. Others may use the items once this returns; what was closed is in the
    ///   daemon's
    ///   catalog, not yet in the store.
    /// - Throws: ``CoordinationError``, and errors of `accessor`.
    @discardableResult
    public func coordinate<T>(
        with intents: [FileAccessIntent], timeout: Duration? = nil,
        byAccessor accessor: ([FileAccessIntent]) async throws -> T
    ) async throws -> T {
        let places = try await ItemPlace.find(intents)
        let deadline = timeout.map { ContinuousClock.now + $0 }
        // The same order in all programs.
        let mounts = Set(places.map(\.mountPoint)).sorted()
        return try await coordinate(intents, places, mounts[...], deadline, accessor)
    }

    /// As ``coordinate(with:timeout:byAccessor:)``, for reading one item.
    @discardableResult
    public func coordinate<T>(
        readingItemAt url: URL, options: ReadingOptions = [], timeout: Duration? = nil,
        byAccessor accessor: (URL) async throws -> T
    ) async throws -> T {
        try await coordinate(with: [.readingIntent(with: url, options: options)], timeout: timeout) {
            try await accessor($0[0].url)
        }
    }

    /// As ``coordinate(with:timeout:byAccessor:)``, for writing one item.
    @discardableResult
    public func coordinate<T>(
        writingItemAt url: URL, options: WritingOptions = [], timeout: Duration? = nil,
        byAccessor accessor: (URL) async throws -> T
    ) async throws -> T {
        try await coordinate(with: [.writingIntent(with: url, options: options)], timeout: timeout) {
            try await accessor($0[0].url)
        }
    }

    /// The claims that this task holds, for the environment of a command (``environmentVariable``) that coordinates
    /// within them.
    public static var heldClaims: String { held.map(\.claim).joined(separator: ",") }

    /// Extends the claims that this task holds until a process has ended, even if this process ends before.
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
