import ArgumentParser

/// What may be on or off at a mount.
struct MountSetting: ParsableArguments {
    enum Setting: String, ExpressibleByArgument, CaseIterable {
        case on, off, status
    }

    @Argument(help: "on, off or status.")
    var setting = Setting.status

    @Argument(help: "The mount point; optional when there is only one.", completion: .mountPoints)
    var mountpoint: String?

    /// Nil: it is only asked for.
    var isOn: Bool? { setting == .status ? nil : setting == .on }

    var point: String { get throws { try MountedPath.mountPoint(mountpoint) } }
}
