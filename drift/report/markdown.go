package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/stele-dev/stele/drift"
)

// Marker begins the Markdown of a report. A comment that holds it is the one to replace.
const Marker = "<!-- stele-drift -->"

const (
	// Hosts take 65,536 characters in a comment. The bounds below keep a report of the longest names under that.
	shownNew   = 40
	shownKnown = 60
	shownOther = 20
	shownGates = 10
	// maxName and maxText bound a name and a sentence, in characters.
	maxName = 100
	maxText = 300
	digits  = 10
)

// Markdown writes a report as GitHub Flavored Markdown, for a job summary or the comment of a pull request: score, gates, new
// findings, and the rest folded away. It stays below 65,000 bytes whatever the report holds. Nothing in it mentions a
// person, refers to another thread or is a link, whatever names the repository and the model have.
func Markdown(r *drift.Report, gates []drift.GateResult) string {
	var b builder
	b.line(Marker)
	b.line("### " + headline(r))
	b.line("")
	b.line(subline(r))
	if r.Status == drift.NotChecked {
		b.line("")
		for _, fix := range r.Fixes {
			b.line("- " + prose(fix, maxText))
		}
	}
	b.gates(gates)
	var fresh, known []drift.Finding
	for _, f := range r.Findings {
		if f.New {
			fresh = append(fresh, f)
		} else {
			known = append(known, f)
		}
	}
	compared := r.BaseScore != nil
	if len(fresh) > 0 {
		b.line("")
		b.line(fmt.Sprintf("**%s since %s**", counted(len(fresh), "new finding"), code(short(r.Base))))
		b.findings(fresh, shownNew)
	}
	if len(known) > 0 {
		title := counted(len(known), "finding")
		if compared {
			title += " that the base has too"
		}
		b.folded(title, !compared, func() { b.findings(known, shownKnown) })
	}
	b.rest(r)
	return b.bounded()
}

// maxMarkdown is where the text is cut, should names of the longest kind meet everywhere at once.
const maxMarkdown = 64_000

type builder struct{ strings.Builder }

func (b *builder) line(s string) {
	b.WriteString(s)  //nolint:gosec // a strings.Builder does not fail
	b.WriteByte('\n') //nolint:gosec // nor does this
}

// bounded cuts whole lines off a text that is too long, and closes what is folded.
func (b *builder) bounded() string {
	text := b.String()
	if len(text) <= maxMarkdown {
		return text
	}
	text = text[:strings.LastIndexByte(text[:maxMarkdown], '\n')+1]
	if strings.Count(text, "<details") > strings.Count(text, "</details>") {
		text += "\n</details>\n"
	}
	return text + "\nThe report goes on; `stele drift run` shows all of it.\n"
}

func headline(r *drift.Report) string {
	if r.Score == nil {
		return "Drift was not checked"
	}
	text := fmt.Sprintf("Drift score %d", *r.Score)
	if r.BaseScore != nil && *r.BaseScore != *r.Score {
		text += fmt.Sprintf(" (%+d)", *r.Score-*r.BaseScore)
	}
	return text
}

func subline(r *drift.Report) string {
	if r.Status == drift.NotChecked {
		return prose(r.Reason, maxText) + "."
	}
	text := "100 means the code matches the model."
	if r.Coverage != nil {
		text += fmt.Sprintf(" Coverage %d: so many percent of the elements in scope are bound to code.", *r.Coverage)
	}
	text += " Commit " + code(short(r.Commit))
	if r.ModelFile != "" {
		text += ", model " + code(r.ModelFile)
	}
	return text + "."
}

func short(id string) string { return id[:min(len(id), digits)] }

func (b *builder) gates(gates []drift.GateResult) {
	if len(gates) == 0 {
		return
	}
	b.line("")
	for _, g := range gates[:min(len(gates), shownGates)] {
		mark := "✅"
		if !g.Passed {
			mark = "❌"
		}
		b.line(fmt.Sprintf("- %s %s: %s", mark, code(g.Gate), prose(g.Detail, maxText)))
	}
}

func (b *builder) findings(list []drift.Finding, shown int) {
	b.line("")
	b.line("| finding | since | to settle it |")
	b.line("|---|---|---|")
	for _, f := range list[:min(len(list), shown)] {
		what := prose(f.Message, maxText)
		if f.File != "" {
			what += "<br>" + code(position(f.File, f.Line))
		}
		fix := prose(f.Fix.String(), maxText)
		if f.Gain > 0 {
			fix += " (" + strconv.FormatFloat(f.Gain, 'f', -1, 64) + " points)"
		}
		b.line("| " + what + "<br>" + code(short(f.Fingerprint)) + " | " + since(f.Since) + " | " + fix + " |")
	}
	if more := len(list) - shown; more > 0 {
		b.line("")
		b.line(fmt.Sprintf("And %d more.", more))
	}
}

func since(s *drift.Since) string {
	if s == nil {
		return ""
	}
	text := code(short(s.Commit)) + " " + s.Time.UTC().Format(time.DateOnly) + "<br>" + prose(s.Author, maxName)
	if s.AtOrBefore {
		text = "at or before " + text
	}
	if s.Cause == drift.ModelChanged {
		text += "<br>the model changed"
	}
	return text
}

// folded puts a part behind a line that opens it.
func (b *builder) folded(title string, open bool, part func()) {
	b.line("")
	if open {
		b.line("<details open>")
	} else {
		b.line("<details>")
	}
	b.line("<summary>" + title + "</summary>")
	part()
	b.line("")
	b.line("</details>")
}

// rest is what neither passes nor fails.
func (b *builder) rest(r *drift.Report) {
	list := func(title string, lines []string) {
		if len(lines) == 0 {
			return
		}
		b.folded(title, false, func() {
			b.line("")
			for _, l := range lines[:min(len(lines), shownOther)] {
				b.line("- " + l)
			}
			if more := len(lines) - shownOther; more > 0 {
				b.line(fmt.Sprintf("- and %d more", more))
			}
		})
	}
	var waived, unverified, unbound, skipped, notes []string
	for _, w := range r.Waived {
		waived = append(waived, code(short(w.Fingerprint))+" "+prose(w.Message, maxText)+", until "+prose(w.Expires, maxName)+": "+prose(w.WaiverReason, maxText))
	}
	for _, u := range r.Unverified {
		unverified = append(unverified, code(u.Source)+" to "+code(u.Destination)+": "+prose(u.Reason, maxText))
	}
	for _, key := range r.Unbound {
		unbound = append(unbound, code(key))
	}
	for _, s := range r.Skipped {
		what := code(s.Path)
		if s.Path == "" {
			what = strconv.Itoa(max(s.Count, 1))
		}
		skipped = append(skipped, what+" "+prose(s.Reason, maxText))
	}
	if r.History == "shallow" {
		notes = append(notes, "the clone is shallow: since when is only as old as it")
	}
	for _, w := range r.Warnings {
		notes = append(notes, prose(w, maxText))
	}
	list(fmt.Sprintf("%d waived", len(waived)), waived)
	list(counted(len(unverified), "dependency")+" that imports could not show", unverified)
	list(counted(len(unbound), "element")+" without code", unbound)
	list(fmt.Sprintf("%d skipped", len(skipped)), skipped)
	list(counted(len(notes), "note"), notes)
}

// counted is "1 finding", "2 findings".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// prose writes a text from outside so that Markdown takes nothing in it for anything but text: what has a meaning becomes a
// character reference, which never has one. A mention and a reference to another thread are broken by a character without
// width, since hosts look for them in the finished page.
func prose(s string, limit int) string {
	return escape(cut(visible(strings.TrimSpace(s)), limit), true)
}

// code writes a name from outside in the font of code. There, hosts look neither for mentions nor for references.
func code(s string) string {
	if s == "" {
		return ""
	}
	return "<code>" + escape(cut(visible(s), maxName), false) + "</code>"
}

func escape(s string, broken bool) string {
	var b strings.Builder
	word := func(at int) bool {
		return at >= 0 && at < len(s) && (s[at] >= 'a' && s[at] <= 'z' || s[at] >= 'A' && s[at] <= 'Z' || s[at] >= '0' && s[at] <= '9')
	}
	for at, r := range s {
		var literal bool
		switch r {
		case ' ', '.', ',', ';', '/', '\'', '(', ')', '%', '?':
			literal = true
		case '-':
			literal = at > 0
		case ':':
			literal = !strings.HasPrefix(s[at:], "://") // an address
		case '_':
			literal = word(at-1) && word(at+1)
		case 'w':
			literal = !strings.HasPrefix(s[at:], "www.") // an address, too
		default:
			literal = r > unicode.MaxASCII || word(at)
		}
		if literal {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, "&#%d;", r)
		if broken && (r == '@' || r == '#') || r == '@' && word(at-1) && word(at+1) {
			b.WriteString("&#8203;")
		}
	}
	return b.String()
}
