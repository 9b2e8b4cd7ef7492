package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// camelJSON encodes v as the other doors do and turns every key from snake_case to camelCase: one rule for all shapes, so
// that no tool can spell a field in its own way. Order and numbers stay as they are.
func camelJSON(v any) (json.RawMessage, error) {
	var in bytes.Buffer
	encoder := json.NewEncoder(&in)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("encoding the answer: %w", err)
	}
	src := in.Bytes()
	out := make([]byte, 0, len(src))
	for n := 0; n < len(src); {
		if src[n] != '"' {
			out = append(out, src[n])
			n++
			continue
		}
		end := stringEnd(src, n)
		if end < len(src) && src[end] == ':' { // the encoder puts no blank between a key and its colon
			out = append(out, camel(string(src[n:end]))...)
		} else {
			out = append(out, src[n:end]...)
		}
		n = end
	}
	return bytes.TrimSpace(out), nil
}

// stringEnd is the index after the string that begins at start.
func stringEnd(json []byte, start int) int {
	for n := start + 1; n < len(json); n++ {
		switch json[n] {
		case '\\':
			n++
		case '"':
			return n + 1
		}
	}
	return len(json)
}

// camel joins the words of a snake_case name.
func camel(name string) string {
	first, rest, more := strings.Cut(name, "_")
	for more && rest != "" {
		first += strings.ToUpper(rest[:1])
		var word string
		word, rest, more = strings.Cut(rest[1:], "_")
		first += word
	}
	return first
}
