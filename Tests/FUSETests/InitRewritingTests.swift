import Testing
@testable import FUSE
