import ControlAPI
import DocumentContainers
import FileCoordination
import Foundation
public import UniformTypes

/// A place that documents can come from or go to: a mounted domain, or a picker without one.
public struct PickerProvider: Sendable, Hashable {
    /// Identifies the provider for the user and in the preferences: the domain's name, or the manifest's identifier.
    public let id: String
    /// The provider's own manifest, or the default one of a domain.
    public let manifest: DocumentPickerManifest
    /// The mount point of its documents; nil without a file provider.
    public let mountPoint: String?
    let storeLocation: String?
    /// The domain's name.
    let domain: String?
    /// Whether the domain refuses changes.
    let isReadOnly: Bool
    /// Why the provider cannot be chosen; nil: it can.
    public let problem: String?
    /// The container whose folder it shows; nil: the whole domain.
    var container: DocumentContainer?

    /// The name to show.
    public var title: String { manifest.name }

    /// Whether the provider is offered for a mode and types.
    public func fits(_ mode: DocumentPickerMode, types: [UniformType]) -> Bool {
        guard manifest.modes.contains(mode) else { return false }
        let table = UniformTypeTable.system
        return types.isEmpty
            || types.contains { wanted in
                manifest.supportedTypes.contains { supported in
                    // To choose from, a provider of a narrower type will do; to take a document, it must support the
                    // type.
                    table.conforms(wanted, to: supported)
                        || mode.choosesDocument && table.conforms(supported, to: wanted)
                }
            }
    }

    /// All present providers. Asks the mounted domains concurrently; one that does not answer has a ``problem``.
    public static func all() async -> (providers: [PickerProvider], problems: [String]) {
        let installed = DocumentPickerManifest.installed()
        let mounts = Set(MountTable.ownDomains().map(\.mountPoint))
        var providers = await ofDomains(at: mounts, installed.manifests, patience: 3)
        // A hung domain does not delay the picker while there are others to show. If none has answered, the machine may be
        // slow: they get more time.
        if !providers.isEmpty, providers.allSatisfy({ $0.problem != nil }) {
            providers = await ofDomains(at: mounts, installed.manifests, patience: 10)
        }
        for manifest in installed.manifests where manifest.fileProvider == nil {
            providers.append(
                PickerProvider(
                    id: manifest.identifier, manifest: manifest, mountPoint: nil, storeLocation: nil,
                    domain: nil, isReadOnly: false, problem: nil))
        }
        let containers = DocumentContainer.installed()
        for container in containers.containers where container.isPublic {
            // A container whose domain is not mounted is left out.
            if let place = try? await container.place() { providers.append(of(container, at: place)) }
        }
        // Tell providers of the same name apart by their folders.
        let names = Dictionary(grouping: providers, by: \.title).filter { $0.value.count > 1 }
        providers = providers.map { provider in
            guard names[provider.title] != nil, let mountPoint = provider.mountPoint else { return provider }
            let place = (mountPoint as NSString).deletingLastPathComponent
            return provider.named("\(provider.title) (\(place))")
        }
        providers.sort { ($0.title.lowercased(), $0.id) < ($1.title.lowercased(), $1.id) }
        return (providers, installed.problems + containers.problems)
    }

    private func named(_ name: String) -> PickerProvider {
        PickerProvider(
            id: id, manifest: manifest.named(name), mountPoint: mountPoint, storeLocation: storeLocation,
            domain: domain, isReadOnly: isReadOnly, problem: problem, container: container)
    }

    private static func of(_ container: DocumentContainer, at place: DocumentContainer.Place) -> PickerProvider {
        let modes: [DocumentPickerMode] = place.isReadOnly ? [.import, .open] : DocumentPickerMode.allCases
        let manifest = DocumentPickerManifest(
            identifier: container.identifier, name: container.name, icon: container.icon ?? "folder-remote",
            modes: Set(modes), supportedTypes: container.supportedTypes, fileProvider: place.providerIdentifier,
            domain: place.domain)
        return PickerProvider(
            id: "container/" + container.identifier, manifest: manifest, mountPoint: place.mountPoint,
            storeLocation: nil, domain: place.domain, isReadOnly: place.isReadOnly, problem: nil, container: container)
    }

    /// - Parameter patience: how long each is waited for, in seconds.
    private static func ofDomains(
        at mountPoints: Set<String>, _ manifests: [DocumentPickerManifest], patience: Double
    ) async -> [PickerProvider] {
        await withTaskGroup(of: [PickerProvider].self) { group in
            for mountPoint in mountPoints {
                group.addTask { await ofDomain(at: mountPoint, manifests, patience) }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
    }

    private static func ofDomain(
        at mountPoint: String, _ manifests: [DocumentPickerManifest], _ patience: Double
    ) async -> [PickerProvider] {
        guard let path = try? SocketDirectory.socketPath(mountPoint: mountPoint) else { return [] }
        let status: DomainStatus
        do {
            guard
                case .domain(let answer, _) = try await ControlClient(socketPath: path).send(.domain, timeout: patience)
            else { return [] }
            status = answer
        } catch {
            // Another user's daemon, or one that has ended: leave the domain out.
            guard error.code == .timedOut else { return [] }
            let name = (mountPoint as NSString).lastPathComponent
            return [
                PickerProvider(
                    id: mountPoint, manifest: standard(name, name, [.import, .open, .export, .move], nil),
                    mountPoint: mountPoint, storeLocation: nil, domain: nil, isReadOnly: false,
                    problem: "does not answer")
            ]
        }
        let isReadOnly = status.isReadOnly ?? false
        let own = manifests.filter { manifest in
            manifest.fileProvider == status.providerIdentifier && (manifest.domain ?? status.domain) == status.domain
        }
        let usual: Set<DocumentPickerMode> = isReadOnly ? [.import, .open] : Set(DocumentPickerMode.allCases)
        let all = own.isEmpty ? [standard(status, usual)] : own
        return all.map { manifest in
            PickerProvider(
                id: own.isEmpty ? status.domain : manifest.identifier + "/" + status.domain,
                manifest: isReadOnly ? manifest.only([.import, .open]) : manifest, mountPoint: status.mountPoint,
                storeLocation: status.provider, domain: status.domain, isReadOnly: isReadOnly, problem: nil)
        }
    }

    private static func standard(_ status: DomainStatus, _ modes: Set<DocumentPickerMode>) -> DocumentPickerManifest {
        standard(status.domain, status.title ?? status.domain, modes, status.providerIdentifier)
    }

    private static func standard(
        _ identifier: String, _ name: String, _ modes: Set<DocumentPickerMode>, _ fileProvider: String?
    ) -> DocumentPickerManifest {
        DocumentPickerManifest(
            identifier: identifier, name: name, icon: "folder-remote", modes: modes, supportedTypes: [.item, .content],
            fileProvider: fileProvider, domain: identifier)
    }
}

extension DocumentPickerManifest {
    fileprivate func only(_ allowed: Set<DocumentPickerMode>) -> Self {
        DocumentPickerManifest(
            identifier: identifier, name: name, icon: icon, modes: modes.intersection(allowed),
            supportedTypes: supportedTypes, documentGroup: documentGroup, fileProvider: fileProvider, domain: domain,
            program: program)
    }

    fileprivate func named(_ name: String) -> Self {
        DocumentPickerManifest(
            identifier: identifier, name: name, icon: icon, modes: modes, supportedTypes: supportedTypes,
            documentGroup: documentGroup, fileProvider: fileProvider, domain: domain, program: program)
    }
}
