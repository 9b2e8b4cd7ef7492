package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stele-dev/stele/memory"
)

// camelJSON encodes v as the other doors do and turns every key from snake_case to camelCase: one rule for all shapes, so
// that no tool can spell a field in its own way. Order and numbers stay as they are. Texts lose what the readable answer
// loses (memory.Plain): clients print them too.
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
			value, err := plain(src[n:end])
			if err != nil {
				return nil, err
			}
			out = append(out, value...)
		}
		n = end
	}
	return bytes.TrimSpace(out), nil
}

// plain is a string of JSON with its text as memory.Plain leaves it.
func plain(encoded []byte) ([]byte, error) {
	if !bytes.ContainsFunc(encoded, func(r rune) bool { return r == '\\' || r == '<' || r > '~' }) {
		return encoded, nil
	}
	var text string
	if err := json.Unmarshal(encoded, &text); err != nil {
		return nil, fmt.Errorf("encoding the answer: %w", err)
	}
	clean := memory.Plain(text)
	if clean == text {
		return encoded, nil
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(clean); err != nil {
		return nil, fmt.Errorf("encoding the answer: %w", err)
	}
	return bytes.TrimSpace(out.Bytes()), nil
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
