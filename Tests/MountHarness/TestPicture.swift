import Foundation

/// PNG files for tests, made by Python's zlib.
package enum TestPicture {
    /// Defines `picture WIDTH HEIGHT COLOUR FILE` (COLOUR as in `ff0000`) for a script in bash: one colour, the first line white.
    package static let shell = #"""
        picture() { python3 - "$@" <<'PYTHON'
        import struct, sys, zlib
        width, height, colour = int(sys.argv[1]), int(sys.argv[2]), bytes.fromhex(sys.argv[3])
        rows = b"\0" + b"\xff" * 3 * width + (b"\0" + colour * width) * (height - 1)
        def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        with open(sys.argv[4], "wb") as file:
            file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
                + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
        PYTHON
        }

        """#
}
