import FileProvider

/// The contents of an upload, counted, and read no faster than the limit.
struct MeteredSource: ContentSource {
    let base: any ContentSource
    let transfer: Transfer
    let limit: BandwidthLimit
    var size: Int64 { base.size }

    func read(at offset: Int64, upTo count: Int) async throws(FileProviderError) -> [UInt8] {
        // A reader must get all that it asked for, so the waiting comes first, in turns.
        var left = Int(max(0, min(Int64(count), size - offset)))
        while left > 0, let piece = limit.piece {
            let turn = min(left, piece)
            do { try await limit.take(turn, for: transfer.id) } catch {
                throw FileProviderError(.cancelled, "\(transfer.path): the upload was cancelled")
            }
            left -= turn
        }
        let bytes = try await base.read(at: offset, upTo: count)
        transfer.reach(offset + Int64(bytes.count))
        return bytes
    }

    func readLocally(at offset: Int64, upTo count: Int) async throws(FileProviderError) -> [UInt8] {
        try await base.readLocally(at: offset, upTo: count)
    }
}

/// Takes bytes that are only compared, no faster than the limit.
struct LimitedSink: ContentSink {
    let base: any ContentSink
    let transfer: Transfer
    let limit: BandwidthLimit

    func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) {
        var left = bytes.count
        while left > 0, let piece = limit.piece {
            let turn = min(left, piece)
            do { try await limit.take(turn, for: transfer.id) } catch {
                throw FileProviderError(.cancelled, "\(transfer.path): the comparison was cancelled")
            }
            left -= turn
        }
        try await base.write(bytes, at: offset)
        transfer.move(Int64(bytes.count))
    }
}
