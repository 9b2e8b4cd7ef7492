package report_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/drift/report"
)

// hostile are names that mean something to Markdown, to a host of repositories, or to a terminal.
var hostile = []string{
	"a|b", "`code`", "<script>alert(1)</script>", "@ana", "org/team@ana.example", "#12", "owner/repo#12", "two\nlines", "\u202egnp.exe", "bad\xff",
	"https://example.com/x", "www.example.com", "[link](https://example.com)", "![image](x)", "*bold* _it_ ~no~", "<!-- hidden", "-->", "$math$", "\\", "&amp;", "",
	strings.Repeat("long/", 100),
}

// sample is a report with a name everywhere one can stand.
func sample(name string) *drift.Report {
	since := &drift.Since{Commit: "0123456789abcdef", Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Author: name, Subject: name, Cause: drift.CodeChanged, AtOrBefore: true}
	f := drift.Finding{
		Fingerprint: "00112233445566aa", Check: drift.UndocumentedDependency, Element: name, Subject: name, Message: name + " imports " + name,
		File: name, Line: 3, Weight: 1, Gain: 1.5, New: true, Since: since, Evidence: []drift.Place{{File: name, Line: 4, Text: name}},
		Fix: drift.Fix{File: name, Action: "add", New: name, Advice: name},
	}
	known := f
	known.New, known.Check, known.Fingerprint, known.Since = false, drift.UndocumentedCode, "ffeeddccbbaa9988", nil
	return &drift.Report{
		Status: drift.Checked, Score: new(80), Coverage: new(90), Commit: "fedcba9876543210", Branch: name, Base: "0123456789abcdef", BaseScore: new(85),
		ModelFile: name, History: "shallow", Findings: []drift.Finding{f, known},
		Waived:     []drift.WaivedFinding{{Finding: f, WaiverReason: name, Expires: "2027-01-31"}},
		Unverified: []drift.Unverified{{Source: name, Destination: name, Reason: name}}, Unbound: []string{name},
		Skipped: []drift.Skip{{Path: name, Reason: name}, {Count: 2, Reason: name}}, Warnings: []string{name},
	}
}

// What is left of a text when the parts that Markdown writes itself are gone: nothing in it may have a meaning.
var (
	written  = regexp.MustCompile(`</?code>|<br>|</?details( open)?>|</?summary>|&#\d+;|<!-- stele-drift -->`)
	meaning  = regexp.MustCompile("[<>`*\\[\\]@~$\\\\!]|://|www\\.|\\w#|[\\x00-\\x09\\x0b-\\x1f]|\u202e")
	tableRow = regexp.MustCompile(`^\| .* \| .* \| .* \|$`)
)

func TestMarkdownKeepsNamesHarmless(t *testing.T) {
	t.Parallel()
	for _, name := range hostile {
		text := report.Markdown(sample(name), []drift.GateResult{{Gate: name, Detail: name}})
		if !strings.HasPrefix(text, report.Marker+"\n") || strings.Count(text, report.Marker) != 1 {
			t.Errorf("%q: no marker, or several", name)
		}
		for l := range strings.Lines(text) {
			l = strings.TrimSuffix(l, "\n")
			left := strings.ReplaceAll(strings.ReplaceAll(written.ReplaceAllString(l, " "), "**", ""), "\u200b", "")
			left = strings.TrimPrefix(left, "### ")
			if at := meaning.FindString(left); at != "" {
				t.Errorf("%q: %q is left in %q", name, at, l)
			}
			if strings.HasPrefix(l, "| ") && !tableRow.MatchString(l) || strings.HasPrefix(l, "| ") && strings.Count(l, "|") != 4 {
				t.Errorf("%q: a row of other than three cells: %q", name, l)
			}
		}
		if !utf8.ValidString(text) {
			t.Errorf("%q: no text", name)
		}
	}
}

func TestMarkdownSaysWhatMatters(t *testing.T) {
	t.Parallel()
	text := report.Markdown(sample("shop.api"), []drift.GateResult{{Gate: "min-score", Detail: "the score is 80, and at least 90 is wanted"}, {Gate: "fail-on-new", Passed: true, Detail: "no finding is new"}})
	for _, want := range []string{
		"### Drift score 80 (-5)", "100 means the code matches the model", "Coverage 90", "❌ <code>min-score</code>", "✅ <code>fail-on-new</code>",
		"**1 new finding since <code>0123456789</code>**", "<summary>1 finding that the base has too</summary>", "at or before <code>0123456789</code> 2026-01-02",
		"<summary>1 waived</summary>", "until 2027-01-31", "1.5 points", "<summary>1 dependency that imports could not show</summary>",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Index(text, "new finding") > strings.Index(text, "that the base has") {
		t.Error("what is new does not come first")
	}
}

// A comment on a host takes some 65,000 characters.
func TestMarkdownHasABound(t *testing.T) {
	t.Parallel()
	r := sample(strings.Repeat("@|", 400))
	for range 500 {
		r.Findings = append(r.Findings, r.Findings[:2]...)
		r.Unbound, r.Warnings, r.Skipped = append(r.Unbound, r.Unbound[0]), append(r.Warnings, r.Warnings[0]), append(r.Skipped, r.Skipped[0])
		r.Waived, r.Unverified = append(r.Waived, r.Waived[0]), append(r.Unverified, r.Unverified[0])
	}
	text := report.Markdown(r, nil)
	if len(text) > 65_000 {
		t.Errorf("%d bytes", len(text))
	}
	if strings.Count(text, "<details") != strings.Count(text, "</details>") {
		t.Error("something folded is left open")
	}
}

func TestMarkdownWithoutScore(t *testing.T) {
	t.Parallel()
	text := report.Markdown(&drift.Report{Status: drift.NotChecked, Reason: "there is no model", Fixes: []string{"stele model draft"}}, nil)
	if !strings.Contains(text, "### Drift was not checked") || !strings.Contains(text, "there is no model.") || !strings.Contains(text, "- stele model draft") {
		t.Error(text)
	}
}

func TestSARIF(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.SampledFrom(hostile), rapid.String()).Draw(t, "name")
		text, err := report.SARIF(sample(name), "1.2")
		if err != nil {
			t.Fatal(err)
		}
		var log struct {
			Version string
			Runs    []struct {
				Tool struct {
					Driver struct{ Rules []struct{ ID string } }
				}
				Results []struct {
					RuleID              string
					RuleIndex           int
					Message             struct{ Text string }
					BaselineState       string
					Suppressions        []struct{ Justification string }
					PartialFingerprints map[string]string
					Locations           []struct {
						PhysicalLocation struct {
							ArtifactLocation struct{ URI string }
							Region           struct{ StartLine int }
						}
					}
				}
			}
		}
		if err := json.Unmarshal(text, &log); err != nil { //nolint:musttag // names of the standard, compared without case
			t.Fatal(err)
		}
		if log.Version != "2.1.0" || len(log.Runs) != 1 || len(log.Runs[0].Results) != 3 || len(log.Runs[0].Tool.Driver.Rules) != len(drift.Checks) {
			t.Fatalf("%+v", log)
		}
		for i, r := range log.Runs[0].Results {
			if log.Runs[0].Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID || r.PartialFingerprints["steleDrift/v1"] == "" {
				t.Errorf("%+v", r)
			}
			if strings.Contains(r.Message.Text, "](") {
				t.Errorf("a link in %q", r.Message.Text)
			}
			if want := []string{"new", "unchanged", ""}[i]; r.BaselineState != want || (i == 2) != (len(r.Suppressions) == 1) {
				t.Errorf("result %d: %+v", i, r)
			}
			for _, l := range r.Locations {
				if uri := l.PhysicalLocation.ArtifactLocation.URI; strings.ContainsAny(uri, " \n\\`<>") || l.PhysicalLocation.Region.StartLine < 1 {
					t.Errorf("location %q", uri)
				}
			}
		}
	})
}
