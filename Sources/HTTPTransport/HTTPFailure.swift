import AsyncHTTPClient
package import FileProvider
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// Interprets failures of the network.
package enum HTTPFailure {
    /// Whether the same request may soon succeed: a restarting server refuses and drops connections.
    enum Outlook {
        case mayPassSoon
        case isAway
        /// Not a failure of the network.
        case other
    }

    static func outlook(_ error: any Error) -> Outlook {
        switch error {
        case let error as NIOConnectionError:
            let codes = error.connectionErrors.compactMap { ($0.error as? IOError)?.errnoCode }
            // Without an address or a network, waiting does not help.
            return codes.contains(ECONNREFUSED) || codes.contains(ECONNRESET) ? .mayPassSoon : .isAway
        case let error as IOError:
            return [ECONNREFUSED, ECONNRESET, EPIPE, ENOTCONN].contains(error.errnoCode) ? .mayPassSoon : .isAway
        case is HTTPParserError: return .mayPassSoon
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: return .isAway
        case is ChannelError: return .mayPassSoon
        case let error as HTTPClientError:
            switch error {
            case .remoteConnectionClosed, .uncleanShutdown: return .mayPassSoon
            case .cancelled: return .other
            default: return .isAway
            }
        default: return .other
        }
    }

    /// Whether the server certainly did not receive the request.
    static func wasNotSent(_ error: any Error) -> Bool {
        error is NIOConnectionError || (error as? IOError)?.errnoCode == ECONNREFUSED
    }

    /// Whether the server closed the connection; it may or may not have carried out the request.
    static func wasClosed(_ error: any Error) -> Bool {
        switch error {
        case let error as IOError: [ECONNRESET, EPIPE, ENOTCONN].contains(error.errnoCode)
        case is ChannelError: true
        case let error as HTTPClientError: error == .remoteConnectionClosed
        default: false
        }
    }

    /// - Parameter server: the server, for people.
    package static func error(_ error: any Error, _ server: HTTPLocation.Origin) -> FileProviderError {
        if let error = error as? FileProviderError { return error }
        if error is CancellationError || (error as? HTTPClientError) == .cancelled {
            return FileProviderError(.cancelled, "\(server): the request was cancelled", cause: error)
        }
        return FileProviderError(.serverUnreachable, "\(server): \(reason(error))", cause: error)
    }

    private static func reason(_ error: any Error) -> String {
        switch error {
        case let error as NIOConnectionError:
            if error.dnsAError != nil || error.dnsAAAAError != nil, error.connectionErrors.isEmpty {
                return "no server of this name was found; check the name and the network"
            }
            let code = error.connectionErrors.compactMap { ($0.error as? IOError)?.errnoCode }.first
            return code.map { "cannot be reached: \(String(cString: strerror($0)))" } ?? "cannot be reached"
        case let error as IOError where error.errnoCode == ECONNREFUSED: return "refuses connections"
        case let error as IOError: return "the connection broke: \(String(cString: strerror(error.errnoCode)))"
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            return "its certificate is for another name"
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            return "its certificate or its TLS is not accepted (\(error)); check the date of this machine, and, for a "
                + "private certificate authority, set certificate-authority in config.toml"
        case let error as HTTPClientError:
            switch error {
            case .connectTimeout, .tlsHandshakeTimeout: return "did not answer in time"
            case .readTimeout, .writeTimeout: return "stopped answering"
            case .remoteConnectionClosed, .uncleanShutdown: return "closed the connection"
            default: return "\(error.shortDescription)"
            }
        case is HTTPParserError: return "did not speak HTTP (\(error))"
        default: return "\(error)"
        }
    }

    /// The meaning of a status that is the same for every kind of store; nil: it depends on the request.
    package static func error(status: Int, _ what: String, _ server: HTTPLocation.Origin) -> FileProviderError? {
        switch status {
        case 401: FileProviderError(.notAuthenticated, "\(server): does not accept the user name and password")
        case 407: FileProviderError(.serverUnreachable, "\(server): a proxy on the way requires a password")
        case 403: FileProviderError(.permissionDenied, "\(what): the server does not allow this (403)")
        case 413: FileProviderError(.insufficientQuota, "\(what): is too large for the server (413)")
        case 507: FileProviderError(.insufficientQuota, "\(what): the server has no room (507)")
        case 423: FileProviderError(.busy, "\(what): is locked by another program (423)")
        case 408, 429, 502, 503, 504:
            FileProviderError(.serverUnreachable, "\(server): cannot answer just now (\(status))")
        case 500...599: FileProviderError(.cannotSynchronize, "\(what): the server failed (\(status))")
        case 300..<400: FileProviderError(.serverUnreachable, "\(what): the server redirects elsewhere (\(status))")
        default: nil
        }
    }
}
