import FileProvider
import Foundation
import HTTPTransport
import Hashing
import Logging
import Surroundings
import XMLStream

/// Lets the server of a bucket tell of its changes: a topic whose events the server sends to this machine, and the
/// bucket's notification to that topic.
///
/// Source: Ceph, *Bucket Notifications*, *S3 Bucket Notifications Compatibility*: topics are made at the server itself with
/// the requests of Amazon's SNS. Amazon's own servers send events only to Amazon's services.
struct S3Subscription {
    let client: S3Client
    let address: S3NotificationAddress
    let token: String

    /// The same for this address in each mount: what a killed one has left is replaced.
    private var name: String {
        let text = Array("\(address.host):\(address.port)".utf8)
        return "hydrant-\(SHA256.hash(data: text).hexadecimal.prefix(16))"
    }
    /// Of the notification: buckets share a topic.
    private var identifier: String { name }

    /// Makes both, in place of older ones.
    ///
    /// - Returns: the name of the topic on the server.
    func begin() async throws(FileProviderError) -> String {
        guard client.isPathStyle else {
            throw FileProviderError(
                .unsupported, "\(client.describe("")): notifications need --path-style (path-style = true)")
        }
        let answer = try await service([
            ("Action", "CreateTopic"), ("Name", name), ("Attributes.entry.1.key", "push-endpoint"),
            ("Attributes.entry.1.value", address.url(token)),
            // The server puts events into a queue: nobody's change waits for this machine.
            ("Attributes.entry.2.key", "persistent"), ("Attributes.entry.2.value", "true"),
        ])
        guard let topic = answer["CreateTopicResponse/CreateTopicResult/TopicArn"], topic.utf8.count < 500 else {
            throw FileProviderError(
                .unsupported, "\(client.describe("")): the server has no topics for notifications of a bucket")
        }
        let filter =
            client.address.prefix.isEmpty
            ? ""
            : "<Filter><S3Key><FilterRule><Name>prefix</Name><Value>\(XMLStream.escaped(client.address.prefix))</Value>"
                + "</FilterRule></S3Key></Filter>"
        let body =
            "<NotificationConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><TopicConfiguration>"
            + "<Id>\(identifier)</Id><Topic>\(XMLStream.escaped(topic))</Topic><Event>s3:ObjectCreated:*</Event>"
            + "<Event>s3:ObjectRemoved:*</Event>\(filter)</TopicConfiguration></NotificationConfiguration>"
        let request = S3Client.Request(
            method: "PUT", query: [("notification", nil)], headers: [("Content-Type", "application/xml")],
            body: .bytes(Array(body.utf8)))
        let outcome = try await client.exchange(request) { reply -> Void in _ = try? await reply.prefix(64 << 10) }
        if case .refused(let refusal) = outcome { throw client.failure(refusal, nil) }
        return topic
    }

    /// Whether the bucket still has the notification.
    func isThere() async throws(FileProviderError) -> Bool {
        let request = S3Client.Request(method: "GET", query: [("notification", nil)], retries: .always)
        let identifier = identifier
        let outcome = try await client.exchange(request) { reply -> Bool in
            guard let answer = try? S3Answer(try await reply.prefix(256 << 10)) else { return false }
            return answer.values.contains { $0.path.hasSuffix("/Id") && $0.text == identifier }
        }
        if case .success(let isThere) = outcome { return isThere }
        return false
    }

    /// Removes both, if the server answers soon: no unmount waits for it.
    func end(_ topic: String) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                let request = S3Client.Request(method: "DELETE", query: [("notification", identifier)])
                _ = try? await client.exchange(request) { reply -> Void in _ = try? await reply.prefix(64 << 10) }
                _ = try? await service([("Action", "DeleteTopic"), ("TopicArn", topic)])
            }
            group.addTask { _ = try? await Task.sleep(for: .seconds(Self.patience)) }
            _ = await group.next()
            group.cancelAll()
        }
    }

    /// Seconds.
    private static let patience = 5.0

    /// A request of Amazon's SNS, to the server itself.
    private func service(_ fields: [(String, String)]) async throws(FileProviderError) -> S3Answer {
        let form = fields.map { "\($0.0)=\(PercentCoding.encode($0.1.utf8))" }.joined(separator: "&")
        let request = S3Client.Request(
            method: "POST", headers: [("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")],
            body: .bytes(Array(form.utf8)), service: "sns")
        let outcome = try await client.exchange(request) { reply -> S3Answer in
            guard let answer = try? S3Answer(try await reply.prefix(64 << 10)) else {
                throw FileProviderError(
                    .unsupported, "\(client.describe("")): the server has no topics for notifications of a bucket")
            }
            return answer
        }
        switch outcome {
        case .success(let answer): return answer
        case .refused(let refusal): throw client.failure(refusal, nil)
        }
    }
}
