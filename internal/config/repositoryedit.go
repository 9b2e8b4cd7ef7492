package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
)

// The functions below change the text of a stele.yaml ("" is one that does not exist yet) and leave everything else in it as
// it was: comments, order, blank lines, line ends. What they give reads as the old text with that one change, or there is an
// error that says what to write by hand. EditRepository applies them to a file.

// The sections of the file.
const (
	sectionProject  = "project"
	sectionModel    = "model"
	sectionBindings = "bindings"
	sectionNone     = "none"
	sectionIgnore   = "ignore"
	sectionWaivers  = "waivers"
)

// AddBinding binds further globs to an element. An entry that says that the element has no code goes.
func AddBinding(text []byte, element string, globs ...string) ([]byte, error) {
	return bind(text, element, globs, true)
}

// SetBinding makes globs all that an element is bound to; none take its entry away. An entry that says that it has no code
// goes.
func SetBinding(text []byte, element string, globs ...string) ([]byte, error) {
	return bind(text, element, globs, false)
}

func bind(text []byte, element string, globs []string, add bool) ([]byte, error) {
	if err := plainTexts(sectionBindings, append([]string{element}, globs...)...); err != nil {
		return nil, err
	}
	for _, glob := range globs {
		if _, err := c4model.NormalizePattern(glob); err != nil {
			return nil, err
		}
	}
	if len(globs) > 0 {
		var err error
		if text, err = remove(text, sectionNone, element); err != nil {
			return nil, err
		}
	}
	if len(globs) == 0 && !add {
		return remove(text, sectionBindings, element)
	}
	old, err := ParseRepository(RepositoryFile, text)
	if err != nil {
		return nil, err
	}
	key := spelled(old.Bindings, element)
	all := slices.Clone(globs)
	if add {
		all = slices.Clone(old.Bindings[key])
		for _, glob := range globs {
			if !slices.Contains(all, glob) {
				all = append(all, glob)
			}
		}
	}
	if slices.Equal(all, old.Bindings[key]) {
		return text, nil
	}
	want := old
	want.Bindings = with(old.Bindings, key, all)
	byHand := sectionBindings + ":\n" + strings.Join(renderList(2, quoteYAML(key), all, ""), "\n")
	return settle(text, want, byHand, func(d *document) bool {
		if add {
			if at, ok := d.child(sectionBindings, key); ok && d.extendList(at, old.Bindings[key], all) {
				return true
			}
		}
		return d.setChild(sectionBindings, key, func(indent int, comment string) []string { return renderList(indent, quoteYAML(key), all, comment) })
	}, func(d *document) bool {
		return d.setSection(sectionBindings, renderLists(want.Bindings))
	})
}

// AddNone says that an element has no code here, and why. Its bindings go.
func AddNone(text []byte, element, reason string) ([]byte, error) {
	reason = strings.Join(strings.Fields(reason), " ")
	if err := plainTexts(sectionNone, element, reason); err != nil {
		return nil, err
	}
	if reason == "" {
		return nil, problem.Invalidf("reason", "%s needs a reason", element).Fix("say why it has no code here, such as: a hosted service")
	}
	text, err := remove(text, sectionBindings, element)
	if err != nil {
		return nil, err
	}
	old, err := ParseRepository(RepositoryFile, text)
	if err != nil {
		return nil, err
	}
	key := spelled(old.None, element)
	if old.None[key] == reason {
		return text, nil
	}
	want := old
	want.None = with(old.None, key, reason)
	line := quoteYAML(key) + ": " + quoteYAML(reason)
	return settle(text, want, sectionNone+":\n  "+line, func(d *document) bool {
		return d.setChild(sectionNone, key, func(indent int, comment string) []string { return []string{spaces(indent) + line + comment} })
	}, func(d *document) bool {
		var lines []string
		for _, key := range slices.Sorted(maps.Keys(want.None)) {
			lines = append(lines, "  "+quoteYAML(key)+": "+quoteYAML(want.None[key]))
		}
		return d.setSection(sectionNone, lines)
	})
}

// AddIgnore adds globs of code that the model need not say anything about.
func AddIgnore(text []byte, globs ...string) ([]byte, error) {
	if err := plainTexts(sectionIgnore, globs...); err != nil {
		return nil, err
	}
	for _, glob := range globs {
		if _, err := c4model.NormalizePattern(glob); err != nil {
			return nil, err
		}
	}
	old, err := ParseRepository(RepositoryFile, text)
	if err != nil {
		return nil, err
	}
	want := old
	want.Ignore = slices.Clone(old.Ignore)
	for _, glob := range globs {
		if !slices.Contains(want.Ignore, glob) {
			want.Ignore = append(want.Ignore, glob)
		}
	}
	if len(want.Ignore) == len(old.Ignore) {
		return text, nil
	}
	block := renderList(0, sectionIgnore, want.Ignore, "")
	return settle(text, want, strings.Join(block, "\n"), func(d *document) bool {
		at, ok := d.section(sectionIgnore)
		return ok && d.extendList(at, old.Ignore, want.Ignore)
	}, func(d *document) bool {
		if len(block) == 1 {
			return d.setLine(sectionIgnore, block[0])
		}
		return d.setSection(sectionIgnore, block[1:])
	})
}

// AddWaiver accepts a finding until a day; one that was accepted before gets the new reason and day.
func AddWaiver(text []byte, w Waiver) ([]byte, error) {
	w.Reason = strings.Join(strings.Fields(w.Reason), " ")
	w.Expires = w.Expires.UTC().Truncate(24 * time.Hour)
	switch err := plainTexts(sectionWaivers, w.Fingerprint, w.Reason); {
	case err != nil:
		return nil, err
	case strings.TrimSpace(w.Fingerprint) == "":
		return nil, problem.Invalidf("fingerprint", "no finding is named").Fix("copy its fingerprint from stele drift run")
	case w.Reason == "":
		return nil, problem.Invalidf("reason", "a waiver needs a reason").Fix("say why %s is accepted", w.Fingerprint)
	case w.Expires.Year() < 2000 || w.Expires.Year() > 9999: // what a date of four digits can say
		return nil, problem.Invalidf("expires", "a waiver needs a day on which it ends").Fix("write it as 2027-01-31")
	}
	old, err := ParseRepository(RepositoryFile, text)
	if err != nil {
		return nil, err
	}
	want := old
	want.Waivers = slices.Clone(old.Waivers)
	at := slices.IndexFunc(old.Waivers, func(o Waiver) bool { return o.Fingerprint == w.Fingerprint })
	switch {
	case at < 0:
		want.Waivers = append(want.Waivers, w)
	case old.Waivers[at] == w:
		return text, nil
	default:
		want.Waivers[at] = w
	}
	return settle(text, want, sectionWaivers+":\n"+strings.Join(renderWaiver(2, w), "\n"), func(d *document) bool {
		return d.setItem(sectionWaivers, at, func(indent int) []string { return renderWaiver(indent, w) })
	}, func(d *document) bool {
		var lines []string
		for _, w := range want.Waivers {
			lines = append(lines, renderWaiver(2, w)...)
		}
		return d.setSection(sectionWaivers, lines)
	})
}

// SetProject names the project.
func SetProject(text []byte, id uuid.UUID) ([]byte, error) {
	return setValue(text, sectionProject, id.String(), func(r *Repository) { r.Project = id })
}

// SetModel names the file of the model, relative to the folder of stele.yaml.
func SetModel(text []byte, file string) ([]byte, error) {
	if err := plainTexts(sectionModel, file); err != nil {
		return nil, err
	}
	return setValue(text, sectionModel, quoteYAML(file), func(r *Repository) { r.Model = file })
}

// setValue writes a section of one value, as YAML spells it.
func setValue(text []byte, section, value string, set func(*Repository)) ([]byte, error) {
	old, err := ParseRepository(RepositoryFile, text)
	if err != nil {
		return nil, err
	}
	want := old
	set(&want)
	if reflect.DeepEqual(old, want) {
		return text, nil
	}
	line := section + ": " + value
	return settle(text, want, line, func(d *document) bool { return d.setLine(section, line) })
}

// remove takes the entry of an element out of a section, and the section when nothing is left in it.
func remove(text []byte, section, element string) ([]byte, error) {
	old, err := ParseRepository(RepositoryFile, text)
	if err != nil {
		return nil, err
	}
	want, last, key := old, false, ""
	if section == sectionNone {
		key = spelled(old.None, element)
		want.None = without(old.None, key)
		last = len(want.None) == 0
	} else {
		key = spelled(old.Bindings, element)
		want.Bindings = without(old.Bindings, key)
		last = len(want.Bindings) == 0
	}
	if len(want.None) == len(old.None) && len(want.Bindings) == len(old.Bindings) {
		return text, nil
	}
	return settle(text, want, "", func(d *document) bool {
		return d.removeChild(section, key, last)
	}, func(d *document) bool {
		switch {
		case last:
			return d.removeSection(section)
		case section == sectionBindings:
			return d.setSection(section, renderLists(want.Bindings))
		}
		var lines []string
		for _, key := range slices.Sorted(maps.Keys(want.None)) {
			lines = append(lines, "  "+quoteYAML(key)+": "+quoteYAML(want.None[key]))
		}
		return d.setSection(section, lines)
	})
}

// settle tries ways to write a change, the gentlest first, and takes the first whose text reads as wanted. byHand is what a
// person would write.
func settle(text []byte, want Repository, byHand string, ways ...func(*document) bool) ([]byte, error) {
	var reason error
	for _, way := range ways {
		d, err := newDocument(text)
		if err != nil {
			return nil, err
		}
		if d == nil || !way(d) {
			continue
		}
		out := d.bytes()
		got, err := ParseRepository(RepositoryFile, out)
		if err == nil && same(got, want) {
			return out, nil
		}
		reason = err
	}
	if p, ok := problem.As(reason); ok && p.Code == problem.Invalid {
		return nil, p // such as too many entries
	}
	p := problem.Invalidf(RepositoryFile, "it is written in a way that is not changed by a program").Because(reason)
	if byHand != "" {
		return nil, p.Fix("write by hand: %s", byHand)
	}
	return nil, p.Fix("change it by hand")
}

// same compares what two texts say; an empty section says what no section says.
func same(a, b Repository) bool {
	for _, r := range []*Repository{&a, &b} {
		if len(r.Bindings) == 0 {
			r.Bindings = nil
		}
		if len(r.None) == 0 {
			r.None = nil
		}
		if len(r.Ignore) == 0 {
			r.Ignore = nil
		}
		for key, globs := range r.Bindings {
			if len(globs) == 0 && globs != nil {
				r.Bindings = with(r.Bindings, key, nil)
			}
		}
	}
	return reflect.DeepEqual(a, b)
}

// spelled is how a section spells the key of an element; keys differ in case alone only by mistake.
func spelled[V any](section map[string]V, element string) string {
	if _, ok := section[element]; ok {
		return element
	}
	for _, key := range slices.Sorted(maps.Keys(section)) {
		if c4model.FoldKey(key) == c4model.FoldKey(element) {
			return key
		}
	}
	return element
}

func with[V any](section map[string]V, key string, value V) map[string]V {
	out := maps.Clone(section)
	if out == nil {
		out = map[string]V{}
	}
	out[key] = value
	return out
}

func without[V any](section map[string]V, key string) map[string]V {
	out := maps.Clone(section)
	delete(out, key)
	return out
}

// plainTexts refuses what a line of YAML cannot hold.
func plainTexts(section string, texts ...string) error {
	for _, text := range texts {
		if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) || strings.ContainsRune(text, '\uFEFF') {
			return problem.Invalidf(section, "%q holds characters that cannot be written in stele.yaml", text).Fix("name it without control characters")
		}
		if section != sectionNone && section != sectionWaivers && strings.TrimSpace(text) == "" {
			return problem.Invalidf(section, "an empty name cannot be written in stele.yaml").Fix("name an element and a glob")
		}
	}
	return nil
}

// renderList writes a key with its globs: one on the line of the key, more below it.
func renderList(indent int, key string, globs []string, comment string) []string {
	if len(globs) == 1 {
		return []string{spaces(indent) + key + ": " + quoteYAML(globs[0]) + comment}
	}
	out := []string{spaces(indent) + key + ":" + comment}
	for _, glob := range globs {
		out = append(out, spaces(indent+2)+"- "+quoteYAML(glob))
	}
	return out
}

func renderLists(section map[string][]string) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(section)) {
		out = append(out, renderList(2, quoteYAML(key), section[key], "")...)
	}
	return out
}

func renderWaiver(indent int, w Waiver) []string {
	return []string{
		spaces(indent) + "- fingerprint: " + quoteYAML(w.Fingerprint),
		spaces(indent) + "  reason: " + quoteYAML(w.Reason),
		spaces(indent) + "  expires: " + w.Expires.Format(time.DateOnly),
	}
}

func spaces(n int) string { return strings.Repeat(" ", n) }

// BindingLines gives what a stele.yaml says of bindings, for a person or a patch.
func BindingLines(bindings map[string][]string) string {
	if len(bindings) == 0 {
		return ""
	}
	return sectionBindings + ":\n" + strings.Join(renderLists(bindings), "\n") + "\n"
}
