package imports

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// An extractor finds what a file of one language says. It reads any bytes without panicking, in time linear in their
// number, and skips what it does not understand.
type extractor func(text []byte) Facts

var extractors = map[Language]extractor{
	Go:     extractGo,
	Python: extractPython,
	Rust:   extractRust,
	CSharp: extractCSharp,

	TypeScript: extractTypeScript,
	JavaScript: extractTypeScript,
	Svelte:     extractSvelte,
	Vue:        extractVue,
	Java:       extractJava,
	Kotlin:     extractKotlin,
	Scala:      extractScala,
}

// Extract says what the file at path imports and declares, by the language of its name; the empty Facts for a language that
// is not extractable. It reads the text and the name only, so that its answer holds for every file of that name and text.
// A text with errors of syntax gives what can still be seen. The one error is a text that is none (it holds a NUL byte).
func Extract(path string, text []byte) (Facts, error) {
	extract, ok := extractors[LanguageOf(path)]
	if !ok {
		return Facts{}, nil
	}
	// UTF-16, which editors on Windows write, becomes UTF-8; a byte order mark goes.
	text, _, err := transform.Bytes(unicode.BOMOverride(transform.Nop), text)
	if err != nil {
		return Facts{}, fmt.Errorf("%s cannot be decoded: %w", path, err)
	}
	if at := bytes.IndexByte(text, 0); at >= 0 {
		return Facts{}, fmt.Errorf("%s is not text: there is a NUL byte at offset %d", path, at)
	}
	facts := extract(text)
	facts.detach()
	return facts, nil
}

// maxName is the longest Spec or Name that is believed, in bytes. Every import keeps its own copy.
const maxName = 1000

// detach copies the strings, which are parts of the file's text and would keep all of it in memory, and makes them UTF-8, as
// they are kept as JSON.
func (f *Facts) detach() {
	f.Imports = slices.DeleteFunc(f.Imports, func(i Import) bool { return len(i.Spec) > maxName || len(i.Name) > maxName })
	own := func(s string) string { return strings.Clone(strings.ToValidUTF8(s, "\ufffd")) }
	for i := range f.Packages {
		f.Packages[i] = own(f.Packages[i])
	}
	for i := range f.Types {
		f.Types[i] = own(f.Types[i])
	}
	for i := range f.Imports {
		f.Imports[i].Spec = own(f.Imports[i].Spec)
		f.Imports[i].Name = own(f.Imports[i].Name)
	}
}
