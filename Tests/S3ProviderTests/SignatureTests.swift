import HTTPTransport
import Testing

@testable import S3Provider

/// The examples of the Amazon S3 API Reference, with the signatures that it prints.
@Suite struct SignatureTests {
    private let signer = SignatureV4(
        S3Credentials(
            accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")),
        region: "us-east-1", seconds: 1_369_353_600)

    private func sign(
        _ method: String, _ path: String, _ headers: [(name: String, value: String)] = [],
        payload: String = SignatureV4.emptyPayload
    ) throws -> String {
        let location = try #require(HTTPLocation("https://examplebucket.s3.amazonaws.com\(path)"))
        var all = headers
        all.append(("x-amz-content-sha256", payload))
        all.append(("x-amz-date", signer.date))
        return signer.authorization(method, location, headers: all, payload: payload).signature
    }

    @Test func aRangeOfAnObject() throws {
        #expect(signer.date == "20130524T000000Z")
        #expect(
            try sign("GET", "/test.txt", [("Range", "bytes=0-9")])
                == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
    }

    @Test func aNewObject() throws {
        let headers = [
            (name: "Date", value: "Fri, 24 May 2013 00:00:00 GMT"),
            (name: "x-amz-storage-class", value: "REDUCED_REDUNDANCY"),
        ]
        #expect(
            try sign(
                "PUT", "/test%24file.text", headers,
                payload: "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072")
                == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
    }

    @Test func aParameterWithoutAValue() throws {
        #expect(try sign("GET", "/?lifecycle") == "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")
    }

    @Test func parametersInOrder() throws {
        #expect(
            try sign("GET", "/?prefix=J&max-keys=2")
                == "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")
    }
}
