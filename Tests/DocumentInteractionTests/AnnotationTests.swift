import DocumentInteraction
import Testing

@Suite("Annotations")
struct AnnotationTests {
    @Test("any JSON is returned unchanged; anything else is refused")
    func roundTrip() throws {
        for text in ["null", "true", "1", "-2.5", "\"a\\nb\"", "[1,[],{}]", "{\"a\":{\"b\":[null,false]},\"page\":3}"] {
            #expect(try AnnotationValue(json: text).json == text)
        }
        let value: AnnotationValue = ["page": 3, "quote": "x", "all": [true, nil]]
        #expect(value.json == "{\"all\":[true,null],\"page\":3,\"quote\":\"x\"}")
        #expect(throws: DocumentInteractionError.self) { try AnnotationValue(json: "{page:3}") }
    }
}
