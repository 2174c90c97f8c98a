public import DocumentPicker
import Foundation
import Synchronization

/// The document picker in a terminal, by keyboard alone. It draws on the controlling terminal, so that standard output
/// is free for the result.
public final class TerminalFront: DocumentPickerFront {
    private struct State {
        var view: PickerView?
        var isOver = false
    }
    private let state = Mutex(State())
    private let done = Mutex<[CheckedContinuation<Void, Never>]>([])
    private let stream: AsyncStream<PickerAction>
    private let inbox: AsyncStream<PickerAction>.Continuation

    /// - Throws: ``DocumentPickerError`` when there is no terminal.
    public init() throws {
        guard let terminal = Terminal() else {
            throw DocumentPickerError("there is no terminal to show a picker on; --json talks to another front end")
        }
        (stream, inbox) = AsyncStream<PickerAction>.makeStream()
        let thread = Thread { [self] in
            run(terminal)
            terminal.end()
            isRunning.withLock { $0 = false }
            inbox.finish()
            for continuation in done.withLock({ waiting in
                defer { waiting = [] }
                return waiting
            }) { continuation.resume() }
        }
        thread.name = "picker"
        thread.stackSize = 1 << 20
        isRunning.withLock { $0 = true }
        thread.start()
    }

    private let isRunning = Mutex(false)

    public func show(_ view: PickerView) async {
        state.withLock { $0.view = view }
        // The program may need the terminal next.
        if view.screen == .finished || view.screen == .cancelled { await end() }
    }

    public func actions() -> AsyncStream<PickerAction> { stream }

    /// Restores the terminal; returns when that is done.
    public func end() async {
        state.withLock { $0.isOver = true }
        await withCheckedContinuation { continuation in
            let hasEnded = isRunning.withLock { running in
                if running { done.withLock { $0.append(continuation) } }
                return !running
            }
            if hasEnded { continuation.resume() }
        }
    }

    private func run(_ terminal: Terminal) {
        var screen = PickerScreen()
        var keys: [Terminal.Key] = []
        while true {
            let (view, isOver) = state.withLock { ($0.view, $0.isOver) }
            if isOver { break }
            if let view { screen.update(view) }
            if screen.needsDrawing { screen.draw(on: terminal) }
            if let key = terminal.key(milliseconds: 50) {
                // A key that closes the picker overtakes waiting keys.
                if key == .escape || key == .control("C") { keys = [key] } else { keys.append(key) }
            }
            while let key = keys.first, !screen.mustWait(key) {
                keys.removeFirst()
                for action in screen.take(key) { inbox.yield(action) }
            }
        }
    }
}
