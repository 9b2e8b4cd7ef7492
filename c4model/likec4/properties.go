package likec4

import (
	"slices"
	"strings"

	"github.com/stele-dev/stele/internal/problem"
)

// appearance are properties of one value that only say how something is drawn.
var appearance = map[string]bool{
	"icon": true, "color": true, "shape": true, "border": true, "opacity": true, "multiple": true, "size": true, "padding": true,
	"textSize": true, "iconColor": true, "iconSize": true, "iconPosition": true, "line": true, "head": true, "tail": true,
	"navigateTo": true,
}

// property reads one property; known is false, and nothing is taken, when the next token starts none.
func (p *parser) property(into *properties) (known bool, err error) {
	t := p.peek(0)
	if t.kind == tag {
		return true, p.tags(into)
	}
	if t.kind != word {
		return false, nil
	}
	var ignored string
	texts := map[string]*string{
		"title": &into.title, "summary": &into.summary, "description": &into.description,
		"technology": &into.technology, "notation": &into.notation, "notes": &ignored,
	}
	property, isText := texts[t.text]
	switch {
	case isText:
		p.next()
		p.accept(":")
		value := p.next()
		if value.kind != text {
			return true, p.refuse(value, "a text in quotes after "+t.text)
		}
		*property = value.text
	case t.text == "link":
		err = p.link(into)
	case t.text == "metadata":
		err = p.metadata(into)
	case t.text == "style":
		p.next()
		err = p.skipBraces("style")
	case appearance[t.text]:
		p.next()
		p.accept(":")
		if value := p.next(); value.kind == mark || value.kind == end {
			err = p.refuse(value, "a value after "+t.text)
		}
	default:
		return false, nil
	}
	p.accept(";")
	return true, err
}

// tags reads "#one #two, #three".
func (p *parser) tags(into *properties) error {
	for p.peek(0).kind == tag {
		t := p.next()
		if !slices.Contains(into.tags, t.text) {
			into.tags = append(into.tags, t.text)
		}
		if len(into.tags) > MaxTags {
			return p.tooManyTags(t)
		}
		p.accept(",")
	}
	p.accept(";")
	return nil
}

func (p *parser) tooManyTags(t token) error {
	return problem.Invalidf("", "%sfound more than %d tags on one element or relationship; expected at most that many", p.at(t), MaxTags).
		Fix("keep the tags that mean something")
}

// link reads "link ../path#L1 'title'"; the title is not kept.
func (p *parser) link(into *properties) error {
	p.next()
	p.accept(":")
	target := p.next()
	if target.kind != uri && target.kind != text {
		return p.refuse(target, "an address or a path that starts with ./ or ../ after link")
	}
	into.links = append(into.links, link{target: strings.TrimSuffix(target.text, ";"), file: p.file.name})
	if p.peek(0).kind == text {
		p.next()
	}
	return nil
}

// metadata reads "metadata { key 'value' … }"; a list is one value, its items separated by commas.
func (p *parser) metadata(into *properties) error {
	p.next()
	if err := p.open("metadata"); err != nil {
		return err
	}
	for !p.peek(0).is("}") {
		key, err := p.name("the name of a metadata value, or } in metadata")
		if err != nil {
			return err
		}
		p.accept(":")
		switch value := p.next(); {
		case value.kind == text:
			into.metadata = append(into.metadata, entry{key, trimmed(value.text)})
		case value.word("true") || value.word("false"):
			into.metadata = append(into.metadata, entry{key, value.text})
		case value.is("["):
			for {
				item := p.next()
				if item.kind != text {
					return p.refuse(item, "a text in quotes in the list "+key)
				}
				into.metadata = append(into.metadata, entry{key, trimmed(item.text)})
				if !p.accept(",") || p.peek(0).is("]") {
					break
				}
			}
			if err := p.expect("]", "a comma or ] in the list "+key); err != nil {
				return err
			}
		default:
			return p.refuse(value, "a text in quotes, a list, true or false after "+key)
		}
		p.accept(";")
	}
	return p.close()
}

// trimmed gives a text without the indentation that its place in the file gave it.
func trimmed(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	if len(lines) == 1 {
		return strings.TrimSpace(s)
	}
	indentation := -1
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t")
		blank := len(lines[i]) - len(strings.TrimLeft(lines[i], " \t"))
		if i > 0 && lines[i] != "" && (indentation < 0 || blank < indentation) {
			indentation = blank
		}
	}
	for i, line := range lines {
		if i > 0 && indentation > 0 && line != "" {
			lines[i] = line[indentation:]
		}
	}
	lines[0] = strings.TrimSpace(lines[0])
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// oneLine gives a text as a name or technology is shown.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
