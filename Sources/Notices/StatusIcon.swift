package import SessionBus

/// The icon in the desktop's panel, with its menu.
///
/// Sources: freedesktop.org, *StatusNotifierItem* (with KDE's names, which all hosts use); Canonical's
/// `com.canonical.dbusmenu`.
package actor StatusIcon {
    private static let watcher = "org.kde.StatusNotifierWatcher"
    static let itemPath = "/StatusNotifierItem"
    static let menuPath = "/MenuBar"

    private let bus: SessionBus
    /// What people choose from the menu. (One reader.)
    package nonisolated let deeds: AsyncStream<StatusModel.Deed>
    private let deed: AsyncStream<StatusModel.Deed>.Continuation
    private var model: StatusModel
    private var listener: Task<Void, Never>?
    /// The menu's numbers: a line keeps its number, so that a click never hits what has come into its place.
    private var numbers: [String: Int32] = [:]
    private var nextNumber: Int32 = 1
    private var revision: UInt32 = 1

    package init(_ bus: SessionBus, _ model: StatusModel) {
        self.bus = bus
        self.model = model
        (deeds, deed) = AsyncStream.makeStream()
    }

    deinit { listener?.cancel() }

    /// Shows the icon wherever there is a host for icons, now and later.
    package func appear() async throws(BusError) {
        assignNumbers()
        try await bus.export(ItemObject(icon: self), at: Self.itemPath)
        try await bus.export(MenuObject(icon: self), at: Self.menuPath)
        let owners = bus.owners(of: Self.watcher)
        listener = Task { [weak self] in
            await self?.register()
            for await owner in owners where owner != nil { await self?.register() }
        }
    }

    /// (Without a watcher nobody shows icons; one that comes is told then.)
    private func register() async {
        _ = try? await bus.call(
            Self.watcher, "/StatusNotifierWatcher", Self.watcher, "RegisterStatusNotifierItem",
            [.string(bus.uniqueName)])
    }

    package func update(_ new: StatusModel) {
        guard new != model else { return }
        let old = model
        model = new
        let item = "org.kde.StatusNotifierItem"
        if new.state != old.state {
            bus.emit(Self.itemPath, item, "NewIcon")
            bus.emit(Self.itemPath, item, "NewAttentionIcon")
        }
        if status(new) != status(old) { bus.emit(Self.itemPath, item, "NewStatus", [.string(status(new))]) }
        if new.tooltip != old.tooltip { bus.emit(Self.itemPath, item, "NewToolTip") }
        guard new.lines != old.lines else { return }
        assignNumbers()
        revision &+= 1
        bus.emit(Self.menuPath, "com.canonical.dbusmenu", "LayoutUpdated", [.uint32(revision), .int32(0)])
    }

    private func assignNumbers() {
        let present = Set(model.lines.map(\.key))
        numbers = numbers.filter { present.contains($0.key) }
        for line in model.lines where numbers[line.key] == nil {
            numbers[line.key] = nextNumber
            nextNumber = nextNumber == .max ? 1 : nextNumber + 1
        }
    }

    private func status(_ model: StatusModel) -> String {
        model.state == .needsYou ? "NeedsAttention" : model.isIdle ? "Passive" : "Active"
    }

    // MARK: As the bus sees it

    fileprivate var itemProperties: [String: BusValue] {
        [
            "Category": .string("ApplicationStatus"), "Id": .string("hydrant"), "Title": .string("Hydrant"),
            "Status": .string(status(model)), "WindowId": .int32(0), "IconName": .string(model.icon),
            "AttentionIconName": .string(StatusModel.attentionIcon), "OverlayIconName": .string(""),
            "IconThemePath": .string(""), "ItemIsMenu": .bool(true), "Menu": .path(Self.menuPath),
            "ToolTip": .tuple([
                .string(model.icon), .array(of: "(iiay)", []), .string("Hydrant"),
                .string(DesktopNotices.escaped(model.tooltip)),
            ]),
        ]
    }

    /// A line's properties; nil: there is no such line.
    private func properties(_ number: Int32) -> [String: BusValue]? {
        if number == 0 { return ["children-display": .string("submenu")] }
        guard let line = line(number) else { return nil }
        if line.label.isEmpty { return ["type": .string("separator")] }
        // (An underscore marks a key.)
        return ["label": .string(line.label.replacing("_", with: "__")), "enabled": .bool(line.deed != nil)]
    }

    private func line(_ number: Int32) -> StatusModel.Line? { model.lines.first { numbers[$0.key] == number } }

    fileprivate func layout(of parent: Int32, depth: Int) throws(BusError) -> [BusValue] {
        guard let own = properties(parent) else { throw BusError(BusError.failed, "no line \(parent)") }
        let children =
            parent != 0 || depth == 0
            ? []
            : model.lines.compactMap { numbers[$0.key] }.map { number in
                BusValue.variant(
                    .tuple([.int32(number), .options(properties(number) ?? [:]), .array(of: "v", [])]))
            }
        return [.uint32(revision), .tuple([.int32(parent), .options(own), .array(of: "v", children)])]
    }

    /// - Parameter wanted: empty: all lines.
    fileprivate func group(_ wanted: [Int32]) -> BusValue {
        let all = wanted.isEmpty ? [0] + model.lines.compactMap { numbers[$0.key] } : wanted
        return .array(
            of: "(ia{sv})",
            all.compactMap { number in properties(number).map { .tuple([.int32(number), .options($0)]) } })
    }

    fileprivate func property(_ number: Int32, _ name: String) throws(BusError) -> BusValue {
        guard let value = properties(number)?[name] else { throw BusError(BusError.unknownProperty, "no \(name)") }
        return value
    }

    /// - Returns: false: there is no such line.
    fileprivate func happen(_ number: Int32, _ event: String) -> Bool {
        guard number == 0 || line(number) != nil else { return false }
        if event == "clicked", let deed = line(number)?.deed { self.deed.yield(deed) }
        return true
    }
}

extension StatusModel {
    static let attentionIcon = "dialog-warning"
}

private struct ItemObject: BusObject {
    let icon: StatusIcon

    static let introspection = """
        <node><interface name="org.kde.StatusNotifierItem">
        <property name="Category" type="s" access="read"/><property name="Id" type="s" access="read"/>
        <property name="Title" type="s" access="read"/><property name="Status" type="s" access="read"/>
        <property name="WindowId" type="i" access="read"/><property name="IconName" type="s" access="read"/>
        <property name="IconThemePath" type="s" access="read"/>
        <property name="OverlayIconName" type="s" access="read"/>
        <property name="AttentionIconName" type="s" access="read"/>
        <property name="ToolTip" type="(sa(iiay)ss)" access="read"/>
        <property name="ItemIsMenu" type="b" access="read"/><property name="Menu" type="o" access="read"/>
        <method name="ContextMenu"><arg type="i" direction="in"/><arg type="i" direction="in"/></method>
        <method name="Activate"><arg type="i" direction="in"/><arg type="i" direction="in"/></method>
        <method name="SecondaryActivate"><arg type="i" direction="in"/><arg type="i" direction="in"/></method>
        <method name="Scroll"><arg type="i" direction="in"/><arg type="s" direction="in"/></method>
        <signal name="NewTitle"/><signal name="NewIcon"/><signal name="NewAttentionIcon"/>
        <signal name="NewOverlayIcon"/><signal name="NewToolTip"/>
        <signal name="NewStatus"><arg type="s"/></signal>
        </interface></node>
        """

    func properties(of interface: String) async -> [String: BusValue] { await icon.itemProperties }

    /// The host shows the menu by itself, since the icon is one (ItemIsMenu).
    func call(_ call: BusCall) async throws(BusError) -> [BusValue] { [] }
}

private struct MenuObject: BusObject {
    let icon: StatusIcon

    static let introspection = """
        <node><interface name="com.canonical.dbusmenu">
        <property name="Version" type="u" access="read"/><property name="TextDirection" type="s" access="read"/>
        <property name="Status" type="s" access="read"/><property name="IconThemePath" type="as" access="read"/>
        <method name="GetLayout"><arg type="i" direction="in"/><arg type="i" direction="in"/>
        <arg type="as" direction="in"/><arg type="u" direction="out"/><arg type="(ia{sv}av)" direction="out"/></method>
        <method name="GetGroupProperties"><arg type="ai" direction="in"/><arg type="as" direction="in"/>
        <arg type="a(ia{sv})" direction="out"/></method>
        <method name="GetProperty"><arg type="i" direction="in"/><arg type="s" direction="in"/>
        <arg type="v" direction="out"/></method>
        <method name="Event"><arg type="i" direction="in"/><arg type="s" direction="in"/><arg type="v" direction="in"/>
        <arg type="u" direction="in"/></method>
        <method name="EventGroup"><arg type="a(isvu)" direction="in"/><arg type="ai" direction="out"/></method>
        <method name="AboutToShow"><arg type="i" direction="in"/><arg type="b" direction="out"/></method>
        <method name="AboutToShowGroup"><arg type="ai" direction="in"/><arg type="ai" direction="out"/>
        <arg type="ai" direction="out"/></method>
        <signal name="ItemsPropertiesUpdated"><arg type="a(ia{sv})"/><arg type="a(ias)"/></signal>
        <signal name="LayoutUpdated"><arg type="u"/><arg type="i"/></signal>
        <signal name="ItemActivationRequested"><arg type="i"/><arg type="u"/></signal>
        </interface></node>
        """

    func properties(of interface: String) async -> [String: BusValue] {
        [
            "Version": .uint32(3), "TextDirection": .string("ltr"), "Status": .string("normal"),
            "IconThemePath": .strings([]),
        ]
    }

    func call(_ call: BusCall) async throws(BusError) -> [BusValue] {
        let arguments = call.arguments
        func number(_ index: Int) -> Int32 { arguments[index].number.flatMap(Int32.init(exactly:)) ?? -1 }
        switch call.method {
        case "GetLayout": return try await icon.layout(of: number(0), depth: Int(number(1)))
        case "GetGroupProperties":
            return [await icon.group(arguments[0].elements.compactMap { $0.number.flatMap(Int32.init(exactly:)) })]
        case "GetProperty": return [.variant(try await icon.property(number(0), arguments[1].text ?? ""))]
        case "Event":
            guard await icon.happen(number(0), arguments[1].text ?? "") else {
                throw BusError(BusError.failed, "no line \(number(0))")
            }
            return []
        case "EventGroup":
            var missing: [BusValue] = []
            for event in arguments[0].elements {
                let parts = event.elements
                guard parts.count == 4, let number = parts[0].number.flatMap(Int32.init(exactly:)) else { continue }
                if await !icon.happen(number, parts[1].text ?? "") { missing.append(.int32(number)) }
            }
            return [.array(of: "i", missing)]
        case "AboutToShow": return [.bool(false)]
        case "AboutToShowGroup": return [.array(of: "i", []), .array(of: "i", [])]
        default: throw BusError(BusError.unknownMethod, "no method \(call.method)")
        }
    }
}
