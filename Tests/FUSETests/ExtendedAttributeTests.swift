import FUSE
import Glibc
import Synchronization
import Testing

@Suite("Extended attributes", .serialized)
struct ExtendedAttributeTests {
    @Test func areSetReadListedAndRemoved() async throws {
        let fileSystem = MemoryFileSystem()
        let node = fileSystem.add("file")
        try await Mounted.with(fileSystem) { mounted in
            let result = await Child.run(
                """
                cd "$M"
                setfattr -n user.mime_type -v text/plain file
                setfattr -n user.empty file
                getfattr -d file
                setfattr -x user.empty file; getfattr file
                setfattr -x user.empty file; getfattr -n user.empty file
                """, ["M": mounted.path])
            #expect(
                result.output == """
                    # file: file
                    user.empty=""
                    user.mime_type="text/plain"

                    # file: file
                    user.mime_type

                    setfattr: file: No such attribute
                    file: user.empty: No such attribute

                    """)
            #expect(fileSystem.extendedAttributes(of: node) == ["user.mime_type": "text/plain"])
        }
    }

    /// libfuse 3.13.0 to 3.14.0 as released cut 8 bytes off each name that is set (Debian's is put right). Values
    /// of all lengths, and of bytes of every kind.
    @Test func namesAndValuesArriveWhole() async throws {
        let fileSystem = MemoryFileSystem()
        let node = fileSystem.add("file")
        try await Mounted.with(fileSystem) { mounted in
            let result = await Child.run(
                """
                python3 -c '
                import os
                path = os.environ["M"] + "/file"
                for name in ["user.a", "user.ab", "user.abc", "user." + "x" * 250]:
                    for value in [b"", b"v", b"\\0a\\0", bytes(range(256)) * 256]:
                        os.setxattr(path, name, value)
                        assert os.getxattr(path, name) == value, (name, value)
                print(sorted(map(len, os.listxattr(path))))
                '
                """, ["M": mounted.path])
            #expect(result.output == "[6, 7, 8, 255]\n")
            let values = fileSystem.state.withLock { $0.nodes[node]!.extendedAttributes }
            let all = (0..<256).map { UInt8($0) }
            #expect(values.count == 4)
            #expect(values.values.allSatisfy { $0 == (0..<256).flatMap { _ in all } })
        }
    }

    @Test func createAndReplaceAreTold() async throws {
        let fileSystem = MemoryFileSystem()
        fileSystem.add("file")
        try await Mounted.with(fileSystem) { mounted in
            let result = await Child.run(
                """
                python3 -c '
                import os
                path = os.environ["M"] + "/file"
                def attempt(value, flags):
                    try:
                        os.setxattr(path, "user.a", value, flags)
                        print(os.getxattr(path, "user.a"))
                    except OSError as error: print(error.strerror)
                attempt(b"0", os.XATTR_REPLACE); attempt(b"1", os.XATTR_CREATE)
                attempt(b"2", os.XATTR_CREATE); attempt(b"3", os.XATTR_REPLACE)
                '
                """, ["M": mounted.path])
            #expect(result.output == "No data available\nb'1'\nFile exists\nb'3'\n")
        }
    }

    /// getxattr(2): 0 asks for the size, and a buffer that is too small gets ERANGE.
    @Test func sizes() async throws {
        let fileSystem = MemoryFileSystem()
        fileSystem.add("file")
        try await Mounted.with(fileSystem) { mounted in
            let result = await Child.run(
                """
                python3 -c '
                import ctypes, os
                libc = ctypes.CDLL(None, use_errno=True)
                path = (os.environ["M"] + "/file").encode()
                os.setxattr(path, "user.a", b"12345")
                os.setxattr(path, "user.e", b"")
                def say(result): print(result if result >= 0 else os.strerror(ctypes.get_errno()))
                def get(name, size):
                    buffer = ctypes.create_string_buffer(100)
                    say(libc.getxattr(path, name, buffer, size))
                    return buffer.raw[:size]
                def names(size):
                    buffer = ctypes.create_string_buffer(100)
                    say(libc.listxattr(path, buffer, size))
                    return buffer.raw[:size]
                get(b"user.a", 0); get(b"user.a", 4)
                print(get(b"user.a", 5)); print(get(b"user.a", 6))
                get(b"user.e", 0); print(get(b"user.e", 1))
                names(0); names(13); print(names(14))
                '
                """, ["M": mounted.path])
            #expect(
                result.output == """
                    5
                    Numerical result out of range
                    5
                    b'12345'
                    5
                    b'12345\\x00'
                    0
                    0
                    b'\\x00'
                    14
                    Numerical result out of range
                    14
                    b'user.a\\x00user.e\\x00'

                    """, "\(result.output)")
        }
    }
}
