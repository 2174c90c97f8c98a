import ControlAPI
import Foundation
import MountHarness
import Testing

/// A CUPS of a test's own, whose printer writes to a file.
@Suite(
    "Printing",
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/sbin/cupsd"), "cupsd is not installed"))
struct PrintTests {
    /// Starts it, with the printer `paper` as the default: `$SCRATCH/paper` gets title, copies and type of each job, then
    /// the document. The last line ends it.
    private static let server = #"""
        cups="$SCRATCH/cups"; mkdir -p "$cups"/{etc,spool,cache,run,tmp,log,bin/backend}
        ln -s /usr/lib/cups/daemon "$cups/bin/daemon"
        cat >"$cups/etc/cups-files.conf" <<END
        ServerRoot $cups/etc
        ServerBin $cups/bin
        StateDir $cups/run
        CacheDir $cups/cache
        RequestRoot $cups/spool
        TempDir $cups/tmp
        ErrorLog $cups/log/error
        AccessLog $cups/log/access
        PageLog $cups/log/page
        SystemGroup $(id -gn)
        END
        if ((EUID != 0)); then printf 'User %s\nGroup %s\n' "$(id -un)" "$(id -gn)" >>"$cups/etc/cups-files.conf"; fi
        cat >"$cups/etc/cupsd.conf" <<END
        Listen $cups/socket
        DefaultAuthType None
        WebInterface No
        Browsing No
        <Location />
          Order allow,deny
          Allow all
        </Location>
        <Policy default>
          <Limit All>
            Order allow,deny
            Allow all
          </Limit>
        </Policy>
        END
        cat >"$cups/etc/printers.conf" <<END
        <DefaultPrinter paper>
        DeviceURI tofile:$SCRATCH/paper
        State Idle
        Accepting Yes
        </DefaultPrinter>
        END
        cat >"$cups/bin/backend/tofile" <<'END'
        #!/bin/sh
        if [ $# -eq 0 ]; then echo 'direct tofile "Unknown" "To a file"'; exit 0; fi
        { printf 'title=%s copies=%s type=%s\n' "$3" "$4" "$CONTENT_TYPE"; cat "${6:--}"; } >>"${DEVICE_URI#tofile:}"
        END
        chmod 700 "$cups/bin/backend/tofile"
        [[ $EUID != 0 ]] || chmod 755 "${SCRATCH%/*}" "$SCRATCH" "$cups"
        /usr/sbin/cupsd -f -c "$cups/etc/cupsd.conf" -s "$cups/etc/cups-files.conf" >"$cups/log/out" 2>&1 & server=$!
        trap 'kill $server' EXIT
        export CUPS_SERVER="$cups/socket"
        until lpstat -e 2>/dev/null | grep -q paper; do sleep 0.05; kill -0 $server; done
        printed() { until grep -qs "^title=$1 " "$SCRATCH/paper"; do sleep 0.05; done; }

        """#

    private static func seed(_ store: String) throws {
        try Seeding(store).file("letter.txt", "Dear Ada\n")
        try Seeding(store).file("main.swift", "let x = 1\n")
        try Seeding(store).file("data.bin", [0, 1, 2])
        try Seeding(store).file("a.rtf", #"{\rtf1\ansi Hello.\par}"#)
    }

    @Test("a document is downloaded and queued at the printer when the command ends; JSON has the job")
    func prints() async throws {
        try await withMount(.with { $0.limit = 120 }, seed: Self.seed) { mount in
            let output = try mount.run(
                Self.server + """
                    "$HYDRANT" print letter.txt
                    printed letter.txt
                    "$HYDRANT" print main.swift --printer paper --copies 3 --json
                    printed main.swift
                    "$HYDRANT" print data.bin letter.txt 2>"$SCRATCH/err" || echo "status $?"
                    "$HYDRANT" print letter.txt --printer none 2>>"$SCRATCH/err" || echo "status $?"
                    "$HYDRANT" print letter.txt --copies 0 2>>"$SCRATCH/err" || echo "status $?"
                    """, limit: 60)
            #expect(output.hasPrefix("letter.txt: paper-1\n[\n"), "\(output)")
            #expect(output.contains("\"job\" : \"paper-2\"") && output.contains("\"printer\" : \"paper\""))
            #expect(output.hasSuffix("letter.txt: paper-3\nstatus 3\nstatus 1\nstatus 64\n"), "\(output)")
            let paper = try Seeding(mount.scratch).text("paper")
            #expect(paper.hasPrefix("title=letter.txt copies=1 type=text/plain\nDear Ada\n"), "\(paper)")
            #expect(paper.contains("title=main.swift copies=3 type=text/plain\nlet x = 1\n"))
            let errors = try Seeding(mount.scratch).text("err")
            #expect(errors.contains("data.bin: application/octet-stream cannot be printed"))
            #expect(errors.contains("letter.txt: not printed: ") && errors.contains("does not exist"), "\(errors)")
            #expect(try mount.status("letter.txt").state == .downloaded)
            #expect(try mount.status("data.bin").state == .placeholder)
        }
    }

    @Test("a document that cannot be downloaded is not printed; without lp nothing is printed")
    func fails() async throws {
        try await withMount(.with { $0.limit = 90 }, seed: Self.seed) { mount in
            let result = try mount.shell(
                """
                ls >/dev/null; mv "$STORE" "$STORE.away"; status=0; "$HYDRANT" print letter.txt || status=$?
                mv "$STORE.away" "$STORE"; exit $status
                """)
            #expect(result.status == 1 && result.stderr.contains("letter.txt: cannot be downloaded"), "\(result)")
            let without = try mount.shell(
                """
                mkdir "$SCRATCH/bin"; ln -s /bin/sh /usr/bin/env "$SCRATCH/bin"
                echo x >x.txt; PATH="$SCRATCH/bin" exec "$HYDRANT" print x.txt
                """)
            #expect(without.status == 1 && without.stderr.contains("not installed (cups-client)"), "\(without)")
        }
    }

    @Test(
        "formats that printers do not know go through LibreOffice",
        .enabled(if: Office.isInstalled, "soffice and python3-uno are not installed"), .timeLimit(.minutes(20)))
    func office() async throws {
        try await withMount(.with { $0.limit = 300 }, seed: Self.seed) { mount in
            try mount.run(Self.server + "\"$HYDRANT\" print a.rtf; printed a.rtf", limit: 200)
            let paper = FileManager.default.contents(atPath: mount.scratch + "/paper") ?? Data()
            let start = String(decoding: paper.prefix(60), as: UTF8.self)
            #expect(start.hasPrefix("title=a.rtf copies=1 type=application/pdf\n%PDF"), "\(start)")
        }
    }
}
