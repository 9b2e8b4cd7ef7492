package install

import (
	"bytes"
	"strings"
)

// The lines between which Stele's part of a file of instructions stands.
const (
	textBegins = "<!-- stele:begin -->"
	textEnds   = "<!-- stele:end -->"
)

// Instructions is what an agent without hooks is told.
const Instructions = `## Memory

This project keeps what was learned about it in Stele: traps, rules, reasons and decisions, attached to the parts of the architecture.

- Before you change a part of the code, ask what is known of it: ` + "`stele recall \"what you are about to do\"`" + ` or ` + "`stele context PATH`" + `
  (over MCP: the tools recall and get_context).
- A memory that is marked VERIFY may no longer hold: look at the code before you rely on it, and confirm it or dispute it.
- When you find a trap, a reason or a rule that the next one should know, keep it in one or two sentences:
  ` + "`stele remember --kind pitfall --element NAME \"TEXT\"`" + `. Nothing that the code says by itself.
- When you are done, name the memories that you relied on: ` + "`stele session finish --used HANDLE`" + `.
`

// instructions plans the text for agents.
func (p *planner) instructions() error {
	path := p.client.Text.at(p.env, p.options.Scope)
	if path == "" {
		return nil
	}
	s, err := open(path)
	if err != nil {
		return err
	}
	d := document{text: s.text}
	block := d.lines(textBegins + "\n" + Instructions + textEnds + "\n")
	what := "add the text for agents"
	if start, end, ok := ourPart(d.text); ok {
		what = "bring the text for agents up to date"
		d.replace(start, end, block)
	} else {
		if len(d.text) > d.body() {
			lead := d.newline()
			if d.text[len(d.text)-1] != '\n' {
				lead += d.newline()
			}
			block = lead + block
		}
		d.replace(len(d.text), len(d.text), block)
	}
	p.changed(s, d, fileRecord{}, what)
	return nil
}

// ourPart finds Stele's part of a text: whole lines.
func ourPart(text []byte) (start, end int, ok bool) {
	start = bytes.Index(text, []byte(textBegins))
	if start < 0 {
		return 0, 0, false
	}
	n := bytes.Index(text[start:], []byte(textEnds))
	if n < 0 {
		return 0, 0, false
	}
	end = start + n + len(textEnds)
	for _, nl := range []string{"\r\n", "\n"} {
		if bytes.HasPrefix(text[end:], []byte(nl)) {
			return start, end + len(nl), true
		}
	}
	return start, end, true
}

// stripText takes Stele's part out, and the empty line that set it off.
func stripText(s source) stripped {
	d := document{text: s.text}
	start, end, ok := ourPart(d.text)
	if !ok {
		return stripped{text: s.text}
	}
	nl := d.newline()
	if before, rest := string(d.text[:start]), string(d.text[end:]); strings.HasSuffix(before, nl+nl) && (rest == "" || strings.HasPrefix(rest, nl)) {
		start -= len(nl)
	}
	d.replace(start, end, "")
	return stripped{text: d.text, bare: d.blank()}
}
