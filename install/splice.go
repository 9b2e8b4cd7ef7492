package install

import (
	"bytes"
	"slices"
	"strings"
)

// splice is one change of a text: at Offset, Old gives way to New. Offsets are bytes of the text as the splices before left it.
type splice struct {
	Offset int    `json:"offset"`
	Old    string `json:"old"`
	New    string `json:"new"`
}

// document is a text that is edited in place: what no edit names stays as it is, byte for byte.
type document struct {
	text    []byte
	splices []splice // in the order in which they were made
}

// byteOrderMark may begin a file that was written on Windows. No parser wants to see it.
const byteOrderMark = "\xef\xbb\xbf"

// body is where the text begins behind a byte order mark.
func (d *document) body() int {
	if bytes.HasPrefix(d.text, []byte(byteOrderMark)) {
		return len(byteOrderMark)
	}
	return 0
}

// blank tells whether there is nothing in it.
func (d *document) blank() bool { return len(bytes.TrimSpace(d.text[d.body():])) == 0 }

// newline is how lines end here: as the first one does.
func (d *document) newline() string {
	if i := bytes.IndexByte(d.text, '\n'); i > 0 && d.text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// replace puts text in place of what is between two offsets.
func (d *document) replace(start, end int, text string) {
	old := string(d.text[start:end])
	if old == text {
		return
	}
	d.splices = append(d.splices, splice{Offset: start, Old: old, New: text})
	d.text = slices.Concat(d.text[:start], []byte(text), d.text[end:])
}

// revert gives the text as it was before splices, or false where the text is not what they left.
func revert(text []byte, splices []splice) ([]byte, bool) {
	for _, s := range slices.Backward(splices) {
		end := s.Offset + len(s.New)
		if s.Offset < 0 || end > len(text) || string(text[s.Offset:end]) != s.New {
			return nil, false
		}
		text = slices.Concat(text[:s.Offset], []byte(s.Old), text[end:])
	}
	return text, true
}

// lineIndent is the white space that the line of an offset begins with.
func (d *document) lineIndent(offset int) string {
	start := bytes.LastIndexByte(d.text[:offset], '\n') + 1
	start = max(start, d.body())
	rest := d.text[start:]
	return string(rest[:len(rest)-len(bytes.TrimLeft(rest, " \t"))])
}

// lines ends every line of a text as this document does.
func (d *document) lines(text string) string {
	return strings.ReplaceAll(text, "\n", d.newline())
}
