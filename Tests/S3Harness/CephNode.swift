import Foundation
import MountHarness

/// A Ceph cluster of one node for one test run: a monitor, a store of objects in memory, and the gateway that speaks S3
/// (RGW); all in one folder, on this machine only, and without systemd. Debian's packages: ceph-mon, ceph-osd, radosgw,
/// ceph-common.
struct CephNode {
    let directory: String
    /// Of the gateway.
    let port: UInt16
    /// Of the monitor.
    let monitor: UInt16
    private let identifier = UUID().uuidString.lowercased()

    private var keyring: String { directory + "/keyring" }
    private var environment: [String: String] {
        [
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": directory, "LC_ALL": "C.UTF-8",
            "CEPH_CONF": directory + "/ceph.conf",
        ].merging(testMark) { $1 }
    }

    init(directory: String, port: UInt16, monitor: UInt16) {
        self.directory = directory
        self.port = port
        self.monitor = monitor
    }

    /// - Parameter note: gets each process as soon as it runs, so that it is ended in any case.
    func start(_ note: (String, ChildProcess) -> Void) throws {
        for folder in ["mon", "osd", "run", "log", "rgw", "out"] {
            try FileManager.default.createDirectory(
                atPath: "\(directory)/\(folder)", withIntermediateDirectories: true)
        }
        try configuration.write(toFile: directory + "/ceph.conf", atomically: true, encoding: .utf8)
        try makeKeys()
        try run(
            "monmaptool", "--create", "--fsid", identifier, "--addv", "a", "[v2:127.0.0.1:\(monitor)]",
            directory + "/monmap")
        try run(
            "ceph-mon", "-i", "a", "--mkfs", "--monmap", directory + "/monmap", "--keyring", keyring)
        note("monitor", try spawn("ceph-mon", "-f", "-i", "a"))
        // (It waits for the monitor.)
        let store = UUID().uuidString.lowercased()
        try run("ceph", "--connect-timeout", "60", "osd", "new", store, "0")
        try run("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", store)
        note("store", try spawn("ceph-osd", "-f", "-i", "0"))
        note("gateway", try spawn("radosgw", "-f", "-n", "client.rgw"))
        try run(
            "radosgw-admin", "user", "create", "--uid=test", "--display-name=Test",
            "--access-key=\(S3TestServer.accessKey)", "--secret-key=\(S3TestServer.secretKey)")
    }

    private func spawn(_ words: String...) throws -> ChildProcess {
        do {
            return try ChildProcess(words, environment: environment, output: "\(directory)/out/\(words[0])")
        } catch { throw missing(words[0], error) }
    }

    private func run(_ words: String...) throws {
        let child: ChildProcess
        do {
            child = try ChildProcess(words, environment: environment, output: directory + "/out/step")
        } catch { throw missing(words[0], error) }
        let result = child.wait(limit: 90)
        guard result.succeeded else { throw HarnessError("\(words): \(result)") }
    }

    private func missing(_ program: String, _ error: any Error) -> HarnessError {
        HarnessError("\(program): \(error); scripts/test ceph installs it")
    }

    private func makeKeys() throws {
        try run("ceph-authtool", "--create-keyring", keyring, "--gen-key", "-n", "mon.", "--cap", "mon", "allow *")
        for (name, rights) in [
            ("client.admin", ["mon", "allow *", "osd", "allow *", "mgr", "allow *"]),
            ("osd.0", ["mon", "allow profile osd", "osd", "allow *", "mgr", "allow profile osd"]),
            ("client.rgw", ["mon", "allow rw", "osd", "allow rwx", "mgr", "allow rw"]),
        ] {
            var words = ["ceph-authtool", keyring, "--gen-key", "-n", name]
            for pair in stride(from: 0, to: rights.count, by: 2) { words += ["--cap", rights[pair], rights[pair + 1]] }
            let result = try ChildProcess(words, environment: environment, output: directory + "/out/step")
                .wait(limit: 30)
            guard result.succeeded else { throw HarnessError("\(words): \(result)") }
        }
    }

    private var configuration: String {
        """
        [global]
        fsid = \(identifier)
        mon host = v2:127.0.0.1:\(monitor)
        mon initial members = a
        public network = 127.0.0.0/8
        auth cluster required = cephx
        auth service required = cephx
        auth client required = cephx
        mon warn on insecure global id reclaim allowed = false
        ms bind msgr1 = false
        run dir = \(directory)/run
        admin socket = \(directory)/run/$name.asok
        log file = \(directory)/log/$name.log
        pid file = \(directory)/run/$name.pid
        mon cluster log file = \(directory)/log/cluster.log
        keyring = \(keyring)
        osd pool default size = 1
        osd pool default min size = 1
        osd pool default pg num = 8
        osd pool default pg autoscale mode = off
        mon allow pool size one = true
        mon warn on pool no redundancy = false
        osd crush chooseleaf type = 0
        mon pg warn min per osd = 0
        mon max pg per osd = 1000
        mon data avail crit = 1
        mon data avail warn = 1
        osd objectstore = memstore
        memstore device bytes = 2_G
        osd memory target = 939524096
        osd scrub min interval = 1000000
        osd heartbeat interval = 60
        rgw dns name = localhost
        rgw frontends = beast endpoint=127.0.0.1:\(port)
        rgw thread pool size = 32
        rgw num rados handles = 1
        rgw enable usage log = false
        rgw gc obj min wait = 30
        rgw lc debug interval = -1
        debug ms = 0
        [mon.a]
        mon data = \(directory)/mon
        [osd.0]
        osd data = \(directory)/osd
        [client.rgw]
        rgw data = \(directory)/rgw

        """
    }
}
