import Accounts
import ChildProcess
import Foundation
import HTTPTransport
import Stores
import Surroundings

/// The sign-in to a Nextcloud with a browser, at a terminal or without one.
enum BrowserSignIn {
    /// Shows the user where to sign in, and waits for that. Ctrl-C ends this process and leaves everything as it was.
    ///
    /// - Parameter name: the domain's.
    static func run(
        _ flow: LoginFlow, _ settings: AccountSettings, as name: String
    ) async throws -> LoginFlow.Grant {
        say("\(name): sign in with a browser, and grant Hydrant the access to your documents:")
        say("  " + flow.page)
        if open(flow.page) { say("(a browser on this desktop was asked to show it)") }
        let patience = Self.patience
        let minutes = max(1, Int(patience / .seconds(60)))
        say(
            "Hydrant waits for that, at most \(minutes) \(minutes == 1 ? "minute" : "minutes"); Ctrl-C gives up and changes nothing."
        )
        return try await interruptible {
            let grant = try await flow.wait(within: patience)
            do {
                let whole = try await flow.complete(grant)
                // Ctrl-C came with the answer.
                try Task.checkCancellation()
                return whole
            } catch {
                await revoke(grant, settings)
                throw error
            }
        }
    }

    /// `HYDRANT_SIGN_IN_PATIENCE`, for tests: seconds.
    private static var patience: Duration {
        let given = ProcessInfo.processInfo.environment["HYDRANT_SIGN_IN_PATIENCE"].flatMap(Double.init)
        guard let given, (0.1...LoginFlow.patience / .seconds(1)).contains(given) else { return LoginFlow.patience }
        return .seconds(given)
    }

    /// Takes back what the server gave, when that cannot be kept.
    static func revoke(_ grant: LoginFlow.Grant, _ settings: AccountSettings) async {
        // (In a task of its own, which nothing has cancelled.)
        let problem = await Task { () -> String? in
            do { try await AppPassword.revoke(settings, user: grant.user, grant.password, isNew: true) } catch {
                return "\(error)"
            }
            return nil
        }.value
        if let problem { warn(leftBehind(settings, problem)) }
    }

    /// The advice for an app password that is still good.
    static func leftBehind(_ settings: AccountSettings, _ problem: String) -> String {
        let origin = (try? AccountURL.parse(settings.url).location.origin).map { "\($0)" } ?? settings.url
        return
            "\(origin): the app password of Hydrant could not be revoked (\(problem)); remove it there by hand: Settings, "
            + "Security, Devices & sessions"
    }

    /// On standard error: standard output is for the result.
    private static func say(_ line: String) {
        FileHandle.standardError.write(Data((ShownText.line(line) + "\n").utf8))
    }

    /// - Returns: false: there is no desktop.
    private static func open(_ page: String) -> Bool {
        let environment = ProcessInfo.processInfo.environment
        guard ["DISPLAY", "WAYLAND_DISPLAY"].contains(where: { environment[$0]?.isEmpty == false }) else {
            return false
        }
        // It may become the browser itself, and outlives this command then.
        let child: pid_t
        do {
            child = try Spawn.start(
                "xdg-open", ["xdg-open", page].map { Array($0.utf8) }, as: .ownSession,
                usual: [SIGPIPE, SIGINT, SIGQUIT, SIGTERM, SIGHUP]
            ) { actions in
                for (file, mode) in [(STDIN_FILENO, O_RDONLY), (STDOUT_FILENO, O_WRONLY), (STDERR_FILENO, O_WRONLY)] {
                    posix_spawn_file_actions_addopen(&actions, file, "/dev/null", mode, 0)
                }
            }
        } catch { return false }
        Task { _ = await Spawn.ending(of: child) }
        return true
    }
}

extension AccountSettings {
    /// As ``plainTextWarning``, before the user is known.
    var signInWarning: String? {
        var settings = self
        settings.user = settings.user ?? ""
        return settings.plainTextWarning
    }
}
