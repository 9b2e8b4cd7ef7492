package bind

import (
	"slices"
	"strings"
	"unicode"
)

// words splits a name at everything but letters and digits, and where a capital begins a word: "OrderAPIClient",
// "order-api-client" and "Order API client" are [order api client]. Plurals become singulars.
func words(name string) []string {
	var out []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			w := singular(strings.ToLower(string(word)))
			if whole, ok := short[w]; ok {
				w = whole
			}
			out = append(out, w)
			word = word[:0]
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			flush()
			continue
		}
		if unicode.IsUpper(r) && i > 0 && len(word) > 0 {
			before := runes[i-1]
			afterLower := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if unicode.IsLower(before) || unicode.IsDigit(before) || unicode.IsUpper(before) && afterLower {
				flush()
			}
		}
		word = append(word, r)
	}
	flush()
	return out
}

// singular cuts the ending of an English plural. It need not be right, only the same for both spellings.
func singular(word string) string {
	const shortest = 4 // "bus" and "dns" are no plurals
	switch {
	case len(word) < shortest:
		return word
	case strings.HasSuffix(word, "ies"):
		return word[:len(word)-3] + "y"
	case strings.HasSuffix(word, "sses"), strings.HasSuffix(word, "xes"), strings.HasSuffix(word, "ches"), strings.HasSuffix(word, "shes"):
		return word[:len(word)-2]
	case strings.HasSuffix(word, "ss"), strings.HasSuffix(word, "us"), strings.HasSuffix(word, "is"), strings.HasSuffix(word, "ws"):
		return word
	}
	return strings.TrimSuffix(word, "s")
}

// short are words that are as often written short as whole. What may stand for two things is not among them.
var short = map[string]string{
	"config": "configuration", "conf": "configuration", "db": "database", "util": "utility", "repo": "repository", "svc": "service",
	"mgr": "manager", "pkg": "package", "lib": "library", "app": "application", "infra": "infrastructure", "msg": "message", "env": "environment",
	"i18n": "internationalization", "l10n": "localization", "k8s": "kubernetes", "doc": "documentation", "impl": "implementation", "srv": "server",
}

// joined is what two spellings of one name have in common: "frontend", "front-end" and "FrontEnd" are the same.
func joined(words []string) string { return strings.Join(words, "") }

// kinds are words at the end of a name that say what a thing is, not which one. They are cut from both sides.
var kinds = map[string]bool{
	"service": true, "server": true, "application": true, "module": true, "package": true, "component": true,
	"container": true, "project": true, "library": true, "system": true, "slice": true, "context": true, "subsystem": true,
	"layer": true, "engine": true, "microservice": true, "crate": true, "plugin": true, "tier": true,
}

// common are names that say little by themselves: half of all repositories have a folder of that name.
var common = map[string]bool{
	"api": true, "application": true, "backend": true, "cache": true, "client": true, "common": true, "configuration": true, "consumer": true, "core": true, "data": true,
	"database": true, "domain": true, "event": true, "frontend": true, "handler": true, "index": true, "infrastructure": true, "internal": true, "job": true,
	"library": true, "listener": true, "log": true, "main": true, "manager": true, "model": true, "page": true, "producer": true,
	"public": true, "publisher": true, "queue": true, "route": true, "router": true, "server": true, "service": true,
	"shared": true, "storage": true, "store": true, "template": true, "tool": true, "type": true, "ui": true, "user": true, "utility": true,
	"view": true, "web": true, "worker": true,
}

// form is one way to spell a name, and how sure one may be of it: 1 for the name as it is.
type form struct {
	words   []string
	quality float64
}

// addForm adds a spelling, unless there is a surer one that is the same.
func addForm(forms []form, f form) []form {
	if joined(f.words) == "" {
		return forms
	}
	for i := range forms {
		if joined(forms[i].words) == joined(f.words) {
			if f.quality > forms[i].quality {
				forms[i] = f
			}
			return forms
		}
	}
	return append(forms, f)
}

// The qualities of a spelling that is not the name itself.
const (
	withoutProject = 0.95 // "Shop API" in the project Shop is "api"
	withoutKind    = 0.86 // "Order Service" is "order"
)

// spellings are the forms of a name: as it is, without the words of the project at its front, without a kind at its end.
func spellings(name []string, prefixes [][]string, quality float64) []form {
	forms := addForm(nil, form{name, quality})
	for _, prefix := range prefixes {
		if rest, ok := cutPrefix(name, prefix); ok {
			forms = addForm(forms, form{rest, quality * withoutProject})
		}
	}
	for _, f := range slices.Clone(forms) {
		if n := len(f.words); n > 1 && kinds[f.words[n-1]] {
			forms = addForm(forms, form{f.words[:n-1], f.quality * withoutKind})
		}
	}
	return forms
}

// cutPrefix takes words off the front, also where they are spelt as one: [find system api] without [findsystem].
func cutPrefix(name, prefix []string) ([]string, bool) {
	want := joined(prefix)
	if want == "" {
		return nil, false
	}
	for n := 1; n < len(name); n++ {
		if joined(name[:n]) == want {
			return name[n:], true
		}
	}
	return nil, false
}
