import Foundation
import MountHarness
import Testing

/// What OfficeSaveTests leaves out: many documents, from one format into another, and read again where nothing is here.
@Suite("Programs: LibreOffice", .enabled(if: Office.isInstalled, "soffice and python3-uno are not installed"))
struct ProgramsOfficeTests {
    @Test("text to odt to docx to pdf and back; the same text comes out of placeholders", .timeLimit(.minutes(20)))
    func conversions() async throws {
        let office = """
            office() {
                ( cd /; \(OfficeSaveTests.office) "$@" ) >"$SCRATCH/office.log" 2>&1 || { cat "$SCRATCH/office.log"; false; }
            }

            """
        try await ProgramsWorkload(
            prepare: """
                mkdir texts
                for n in 1 2 3; do
                    for line in $(seq 200); do printf 'Dear reader %s,\\nthis is line %s.\\n' $n $line; done > "texts/letter $n.txt"
                done
                """,
            work: office + """
                cp "$SCRATCH"/texts/*.txt .
                office --convert-to odt --outdir "$MOUNT/odt" "$MOUNT"/*.txt
                office --convert-to docx --outdir "$MOUNT/docx" "$MOUNT"/odt/*.odt
                office --convert-to pdf --outdir "$MOUNT/pdf" "$MOUNT"/docx/*.docx
                # Over what is there.
                office --convert-to odt --outdir "$MOUNT/odt" "$MOUNT"/docx/*.docx
                """,
            check: office + """
                for file in odt/*.odt docx/*.docx; do unzip -tqq "$file"; done
                for file in pdf/*.pdf; do head -c 5 "$file"; tail -c 6 "$file" | tr -d '\\n'; echo; done
                rm -rf "$SCRATCH/again"; office --convert-to txt:Text --outdir "$SCRATCH/again" "$TREE"/odt/*.odt
                for n in 1 2 3; do
                    tr -d '\\357\\273\\277\\r' < "$SCRATCH/again/letter $n.txt" | diff - "$SCRATCH/texts/letter $n.txt"
                done
                ls
                """,
            says: String(repeating: "%PDF-%%EOF\n", count: 3)
                + "docx\nletter 1.txt\nletter 2.txt\nletter 3.txt\nodt\npdf\n"
        ).run(.with { $0.limit = 400 })
    }
}
