package drift

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/config"
)

// The actions of a Fix.
const (
	add    = "add"
	change = "change"
	remove = "remove"
)

// settings is where a binding or an exception is written down, whether or not the file is there yet.
func (ev *evaluation) settings() string {
	return cmp.Or(ev.in.SettingsFile, path.Join(ev.in.Root, config.RepositoryFile))
}

// fix says what to write in the model or stele.yaml so that it matches the code. Which side is wrong is for a person to say;
// the advice names the other way.
func (ev *evaluation) fix(f Finding) Fix {
	switch f.Check {
	case Existence:
		return ev.fixExistence(f)
	case LanguageMismatch:
		return Fix{File: f.File, Line: f.Line, Action: change, Old: ev.element(f.Element).Technology,
			Advice: "name the language that the files are written in, or bind the element to its files"}
	case AbsentDependency:
		return Fix{File: f.File, Line: f.Line, Action: remove, Old: f.Element + " -> " + f.Subject,
			Advice: "or say in its technology how it is reached (HTTP, queue), if no import can show it"}
	case UndocumentedDependency:
		return Fix{File: ev.in.ModelFile, Action: add, New: ev.relationship(f.Element, f.Subject), Advice: "or remove the import"}
	case UndocumentedCode:
		return ev.fixUndocumentedCode(f)
	case AmbiguousBinding:
		return Fix{File: ev.settings(), Action: change, Advice: fmt.Sprintf("bind one of %s and %s to the files, or one of them more exactly", f.Element, f.Subject)}
	case DanglingReference:
		return Fix{File: f.File, Action: remove, Section: f.Subject, Element: f.Element, Advice: "or write the key that the element has in the model now"}
	}
	return Fix{}
}

// element gives an element by key; the zero Element when there is none.
func (ev *evaluation) element(key string) c4model.Element {
	if at, ok := ev.el.byKey[c4model.FoldKey(key)]; ok {
		return ev.el.all[at]
	}
	return c4model.Element{}
}

// relationship writes a dependency as the model's format does.
func (ev *evaluation) relationship(from, to string) string {
	switch strings.ToLower(path.Ext(ev.in.ModelFile)) {
	case ".puml", ".plantuml", ".iuml", ".mmd", ".mermaid":
		last := func(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }
		return fmt.Sprintf("Rel(%s, %s, \"Imports\")", last(from), last(to))
	case ".c4", ".likec4":
		return fmt.Sprintf("%s -> %s 'Imports'", from, to)
	}
	return fmt.Sprintf("%s -> %s \"Imports\"", from, to)
}

func (ev *evaluation) fixExistence(f Finding) Fix {
	fix := Fix{File: f.File, Line: f.Line, Action: remove, Old: f.Subject, Advice: fmt.Sprintf("or remove %s from the model, if it is gone for good", f.Element)}
	inside := func(pattern string) string { return pattern }
	for _, b := range ev.in.Bindings {
		if c4model.FoldKey(b.Element) == c4model.FoldKey(f.Element) && b.Pattern == f.Subject && b.Source == config.RepositoryFile {
			inside = ev.inside
			fix.File, fix.Line, fix.Section, fix.Element, fix.Old = ev.settings(), 0, "bindings", f.Element, ev.inside(f.Subject)
		}
	}
	switch {
	case f.MovedTo != "" && (fix.Section == "" || below(f.MovedTo, ev.in.Root)):
		fix.Action, fix.New, fix.Advice = change, inside(ev.movedPattern(f)), ""
	case f.Outcome == NeverMatched:
		fix.Action, fix.Advice = change, "no commit ever had such a file"
	}
	return fix
}

// inside makes a pattern of the repository one of the project's stele.yaml.
func (ev *evaluation) inside(pattern string) string {
	if ev.in.Root == "" {
		return pattern
	}
	return strings.TrimPrefix(strings.TrimPrefix(pattern, "/"), ev.in.Root+"/")
}

// movedPattern is the pattern for where the files went, with the wildcards that the old one ended in.
func (ev *evaluation) movedPattern(f Finding) string {
	prefix := c4model.StaticPrefix(strings.TrimPrefix(f.Subject, "/"))
	rest := strings.TrimPrefix(strings.TrimPrefix(f.Subject, "/"), prefix)
	if !strings.ContainsAny(rest, "*?[{") {
		rest = ""
	}
	if !strings.Contains(f.MovedTo, "/") && rest == "" {
		return "/" + f.MovedTo
	}
	return f.MovedTo + rest
}

// fixUndocumentedCode offers the element that owns most of what lies beside the folder.
func (ev *evaluation) fixUndocumentedCode(f Finding) Fix {
	best, most := "", 0
	counts := map[int]int{}
	for dir := parent(f.Subject); most == 0; dir = parent(dir) {
		clear(counts)
		for _, file := range ev.fs.all {
			if o := file.owner(); o >= 0 && below(file.Path, dir) {
				counts[o]++
			}
		}
		for o, n := range counts {
			key := ev.el.all[o].Key
			if n > most || n == most && key < best {
				best, most = key, n
			}
		}
		if dir == ev.in.Root || dir == "" {
			break
		}
	}
	fix := Fix{File: ev.settings(), Action: add, Section: "ignore", New: anyName.Replace(ev.inside(f.Subject)) + "/**"}
	if best != "" {
		fix.Section, fix.Element, fix.Advice = "bindings", best, "or make an element for it, or list it under ignore"
	}
	return fix
}

// anyName puts the wildcard for one character where a folder's name has one that means something else in a pattern.
var anyName = strings.NewReplacer("*", "?", "[", "?", "]", "?", "{", "?", "}", "?", `\`, "?", "!", "?", "#", "?")

// String says the fix in one line. Names in it are as the model and the repository have them.
func (f Fix) String() string {
	where := f.File
	if where == "" {
		where = "the model"
	} else if f.Line > 0 {
		where = fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	var text string
	switch {
	case f.Section == "ignore" && f.New != "":
		text = fmt.Sprintf("add %s to ignore in %s", f.New, where)
	case f.Section != "" && f.Action == add:
		text = fmt.Sprintf("add %s to %s of %s in %s", f.New, f.Section, f.Element, where)
	case f.Section != "" && f.Action == change && f.New != "":
		text = fmt.Sprintf("change %s to %s in %s of %s in %s", f.Old, f.New, f.Section, f.Element, where)
	case f.Action == change && f.New != "":
		text = fmt.Sprintf("change %s to %s in %s", f.Old, f.New, where)
	case f.Action == change && f.Old != "":
		text = fmt.Sprintf("correct %s in %s", f.Old, where)
	case f.Section != "" && f.Action == remove && f.Old != "":
		text = fmt.Sprintf("remove %s from %s of %s in %s", f.Old, f.Section, f.Element, where)
	case f.Section != "" && f.Action == remove:
		text = fmt.Sprintf("remove %s from %s in %s", f.Element, f.Section, where)
	case f.Action == add && f.New != "":
		text = fmt.Sprintf("add to %s: %s", where, f.New)
	case f.Action == remove && f.Old != "":
		text = fmt.Sprintf("remove from %s: %s", where, f.Old)
	default:
		return f.Advice
	}
	switch {
	case f.Advice == "":
		return text
	case strings.HasPrefix(f.Advice, "or "):
		return text + ", " + f.Advice
	}
	return text + ": " + f.Advice
}
