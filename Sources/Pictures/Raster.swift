import CPictures
package import Foundation

/// The pixels of a picture.
package final class Raster: @unchecked Sendable {
    // `@unchecked`: the pixels are never changed after decoding.
    private var raster: cpictures_raster

    package var width: Int { Int(raster.width) }
    package var height: Int { Int(raster.height) }

    /// More than a thumbnail needs, and small enough for memory (64 MiB).
    package static let mostPixels = 4_096

    /// A PNG or a JPEG; nil: neither, damaged, or larger than ``mostPixels``.
    package convenience init?(_ data: Data, mostPixels: Int = Raster.mostPixels) {
        // (libpng accepts a picture that is cut off at its end.)
        if PNGPicture.begins(data), PNGPicture(data) == nil { return nil }
        var raster = cpictures_raster()
        let result = data.withUnsafeBytes { buffer in
            cpictures_decode(
                buffer.baseAddress?.assumingMemoryBound(to: UInt8.self), buffer.count, UInt32(mostPixels), &raster)
        }
        guard result == 0 else { return nil }
        self.init(raster)
    }

    private init(_ raster: cpictures_raster) { self.raster = raster }

    deinit { cpictures_free(&raster) }

    /// Reduced to fit into a square of `size` pixels; `self` if it fits. Nil: no memory.
    package func fitting(_ size: Int) -> Raster? {
        let longest = max(width, height)
        guard longest > size else { return self }
        func scaled(_ side: Int) -> UInt32 { UInt32(max(1, (side * size + longest / 2) / longest)) }
        var smaller = cpictures_raster()
        guard cpictures_shrink(&raster, scaled(width), scaled(height), &smaller) == 0 else { return nil }
        return Raster(smaller)
    }

    /// Red, green, blue and opacity of a pixel, counted from the left and from the top.
    package func pixel(_ x: Int, _ y: Int) -> [UInt8] {
        precondition((0..<width).contains(x) && (0..<height).contains(y))
        return (0..<4).map { raster.pixels[(y * width + x) * 4 + $0] }
    }

    /// As a PNG file; nil: no memory.
    package var png: Data? {
        var (bytes, count): (UnsafeMutablePointer<UInt8>?, Int) = (nil, 0)
        guard cpictures_encode(&raster, &bytes, &count) == 0, let bytes else { return nil }
        return Data(bytesNoCopy: bytes, count: count, deallocator: .free)
    }
}
