package imports

import (
	"bytes"
	"strings"
)

// extractSvelte finds the imports of a Svelte component: of its scripts and, as import("x"), of its markup.
func extractSvelte(text []byte) Facts { return extractComponent(text, false) }

// extractVue finds the imports of a Vue component: of its scripts, including the one that <script src="x"> names. Its
// template imports nothing, and the text of custom blocks is not looked into.
func extractVue(text []byte) Facts { return extractComponent(text, true) }

func extractComponent(text []byte, vue bool) Facts {
	s := sfcScanner{text: text, line: 1, vue: vue}
	for s.pos < len(s.text) {
		s.markup()
	}
	return Facts{Imports: s.imports}
}

// sfcScanner walks over the markup of a single-file component.
type sfcScanner struct {
	text    []byte
	pos     int
	line    int
	vue     bool
	imports []Import
}

func (s *sfcScanner) moveTo(pos int) {
	s.line += bytes.Count(s.text[s.pos:pos], []byte{'\n'})
	s.pos = pos
}

// moveBehind moves behind the next mark, or to the end where there is none.
func (s *sfcScanner) moveBehind(mark string) {
	if i := bytes.Index(s.text[s.pos:], []byte(mark)); i >= 0 {
		s.moveTo(s.pos + i + len(mark))
	} else {
		s.moveTo(len(s.text))
	}
}

// markup reads up to and including the next tag, comment or block.
func (s *sfcScanner) markup() {
	end := len(s.text)
	if i := bytes.IndexByte(s.text[s.pos:], '<'); i >= 0 {
		end = s.pos + i
	}
	if !s.vue {
		s.expressions(end)
	}
	s.moveTo(end)
	rest := s.text[s.pos:]
	if bytes.HasPrefix(rest, []byte("<!--")) {
		s.moveBehind("-->")
		return
	}
	name := tagName(rest)
	switch {
	case name == "":
		s.moveTo(min(s.pos+1, len(s.text)))
	case strings.EqualFold(name, "script"):
		s.script(name)
	case s.vue && name == "template":
		s.template()
	case s.vue || strings.EqualFold(name, "style"):
		if _, closed := s.tag(name); !closed {
			s.moveTo(s.closing(name))
			s.moveBehind(">")
		}
	default:
		s.moveTo(s.pos + 1 + len(name))
	}
}

// script reads a script block.
func (s *sfcScanner) script(name string) {
	attributes, closed := s.tag(name)
	if src := attributes["src"]; src != "" && !strings.Contains(src, "//") {
		s.imports = append(s.imports, Import{Spec: strings.ToValidUTF8(src, "\uFFFD"), Line: s.line})
	}
	if closed {
		return
	}
	end := s.closing(name)
	s.imports = append(s.imports, scanTypeScript(s.text[s.pos:end], s.line)...)
	s.moveTo(end)
	s.moveBehind(">")
}

// template moves behind the template of a Vue component, in which templates nest.
func (s *sfcScanner) template() {
	const name = "template"
	depth := 0
	for s.pos < len(s.text) {
		rest := s.text[s.pos:]
		switch {
		case bytes.HasPrefix(rest, []byte("<!--")):
			s.moveBehind("-->")
		case bytes.HasPrefix(rest, []byte("</"+name)):
			s.moveBehind(">")
			if depth--; depth <= 0 {
				return
			}
		case tagName(rest) == name:
			if _, closed := s.tag(name); !closed {
				depth++
			} else if depth == 0 {
				return
			}
		case tagName(rest) != "":
			s.tag(tagName(rest)) // whose attributes may say </template>
		default:
			s.moveTo(s.pos + 1)
			if i := bytes.IndexByte(s.text[s.pos:], '<'); i >= 0 {
				s.moveTo(s.pos + i)
			} else {
				s.moveTo(len(s.text))
			}
		}
	}
}

// expressions finds import("x") in markup up to an offset.
func (s *sfcScanner) expressions(end int) {
	const call = "import("
	const longest = 1024 // of a call: a bound on what is read again
	for {
		i := bytes.Index(s.text[s.pos:end], []byte(call))
		if i < 0 {
			return
		}
		s.moveTo(s.pos + i)
		if s.pos == 0 || !isJSWordByte(s.text[s.pos-1]) && s.text[s.pos-1] != '.' {
			js := jsScanner{lex: newJSLexer(s.text[s.pos:min(s.pos+longest, end)], s.line)}
			js.advance()
			js.statement()
			s.imports = append(s.imports, js.imports...)
		}
		s.moveTo(s.pos + len(call))
	}
}

// tag reads <name …> and gives its attributes; closed says that it ends with />.
func (s *sfcScanner) tag(name string) (attributes map[string]string, closed bool) {
	attributes = map[string]string{}
	pos := s.pos + 1 + len(name)
	for pos < len(s.text) {
		switch c := s.text[pos]; {
		case c == '>':
			s.moveTo(pos + 1)
			return attributes, s.text[pos-1] == '/'
		case c == '=' || c == '/' || isHTMLSpace(c):
			pos++
		case c == '"' || c == '\'':
			pos = skipQuoted(s.text, pos)
		default:
			from := pos
			for pos < len(s.text) && !isHTMLSpace(s.text[pos]) && !strings.ContainsRune("=/>\"'", rune(s.text[pos])) {
				pos++
			}
			attribute := string(s.text[from:pos])
			if pos+1 < len(s.text) && s.text[pos] == '=' && (s.text[pos+1] == '"' || s.text[pos+1] == '\'') {
				from = pos + 2
				pos = skipQuoted(s.text, pos+1)
				attributes[attribute] = string(s.text[from:max(from, pos-1)])
			} else if attribute == "" {
				pos++
			}
		}
	}
	s.moveTo(len(s.text))
	return attributes, true
}

// closing gives the offset of the next </name, or of the end. Case does not matter.
func (s *sfcScanner) closing(name string) int {
	for pos := s.pos; ; {
		i := bytes.Index(s.text[pos:], []byte("</"))
		if i < 0 {
			return len(s.text)
		}
		pos += i
		if after := pos + 2 + len(name); after <= len(s.text) && strings.EqualFold(string(s.text[pos+2:after]), name) {
			return pos
		}
		pos += 2
	}
}

func isHTMLSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' }

// skipQuoted gives the offset behind the quoted value at pos; a value that is not closed takes the rest.
func skipQuoted(text []byte, pos int) int {
	if i := bytes.IndexByte(text[pos+1:], text[pos]); i >= 0 {
		return pos + 1 + i + 1
	}
	return len(text)
}

// tagName gives the name of the tag that opens at the beginning of the text, "" for none.
func tagName(text []byte) string {
	if len(text) < 2 || text[0] != '<' {
		return ""
	}
	end := 1
	for end < len(text) && (text[end] >= 'a' && text[end] <= 'z' || text[end] >= 'A' && text[end] <= 'Z' ||
		end > 1 && (text[end] >= '0' && text[end] <= '9' || text[end] == '-' || text[end] == ':' || text[end] == '.')) {
		end++
	}
	return string(text[1:end])
}
