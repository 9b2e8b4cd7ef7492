package report

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/stele-dev/stele/drift"
)

// fingerprintName is the key of a finding's fingerprint in SARIF; the number changes when the fingerprint's meaning does.
const fingerprintName = "steleDrift/v1"

// levels of SARIF by check: what is wrong in the model misleads whoever reads it, what is missing from it only leaves them
// without.
var levels = map[drift.Check]string{
	drift.Existence: "error", drift.LanguageMismatch: "warning", drift.AbsentDependency: "warning", drift.UndocumentedDependency: "warning",
	drift.UndocumentedCode: "note", drift.AmbiguousBinding: "warning", drift.DanglingReference: "warning",
}

// The part of SARIF 2.1.0 that is written. Names are those of the standard.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		ColumnKind  string            `json:"columnKind"`
		Results     []sarifResult     `json:"results"`
		Properties  map[string]any    `json:"properties,omitempty"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID                   string       `json:"id"`
		Name                 string       `json:"name"`
		ShortDescription     sarifMessage `json:"shortDescription"`
		FullDescription      sarifMessage `json:"fullDescription"`
		Help                 sarifMessage `json:"help"`
		DefaultConfiguration sarifLevel   `json:"defaultConfiguration"`
	}
	sarifLevel struct {
		Level string `json:"level"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		ExecutionSuccessful        bool                `json:"executionSuccessful"`
		ToolExecutionNotifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level   string       `json:"level"`
		Message sarifMessage `json:"message"`
	}
	sarifResult struct {
		RuleID              string             `json:"ruleId"`
		RuleIndex           int                `json:"ruleIndex"`
		Level               string             `json:"level"`
		Message             sarifMessage       `json:"message"`
		Locations           []sarifLocation    `json:"locations"`
		RelatedLocations    []sarifLocation    `json:"relatedLocations,omitempty"`
		PartialFingerprints map[string]string  `json:"partialFingerprints"`
		BaselineState       string             `json:"baselineState,omitempty"`
		Suppressions        []sarifSuppression `json:"suppressions,omitempty"`
		Properties          map[string]any     `json:"properties,omitempty"`
	}
	sarifLocation struct {
		PhysicalLocation sarifPhysicalLocation `json:"physicalLocation"`
		Message          *sarifMessage         `json:"message,omitempty"`
	}
	sarifPhysicalLocation struct {
		ArtifactLocation sarifArtifact `json:"artifactLocation"`
		Region           sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI       string `json:"uri"`
		URIBaseID string `json:"uriBaseId"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Status        string `json:"status"`
		Justification string `json:"justification"`
	}
)

// SARIF writes a report as SARIF 2.1.0, waived findings as suppressed results. version is that of the program, "" when it
// has none. Locations are relative to the top of the repository.
func SARIF(r *drift.Report, version string) ([]byte, error) {
	run := sarifRun{
		Tool:        sarifTool{sarifDriver{Name: "Stele", Version: version, InformationURI: "https://github.com/stele-dev/stele"}},
		Invocations: []sarifInvocation{{ExecutionSuccessful: true}}, ColumnKind: "utf16CodeUnits", Results: []sarifResult{},
		Properties: map[string]any{"status": r.Status, "score": r.Score, "coverage": r.Coverage, "commit": r.Commit, "inputHash": r.InputHash},
	}
	index := map[drift.Check]int{}
	for i, check := range drift.Checks {
		rule := rules[check]
		index[check] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
			ID: ruleID(check), Name: rule.name, ShortDescription: sarifMessage{rule.title}, FullDescription: sarifMessage{rule.meaning},
			Help: sarifMessage{rule.meaning}, DefaultConfiguration: sarifLevel{levels[check]},
		})
	}
	for _, f := range r.Findings {
		run.Results = append(run.Results, result(r, f, index[f.Check]))
	}
	for _, w := range r.Waived {
		waived := result(r, w.Finding, index[w.Check])
		waived.BaselineState = "" // a waived finding is compared with nothing
		waived.Suppressions = []sarifSuppression{{Kind: "external", Status: "accepted", Justification: visible(w.WaiverReason) + " (until " + w.Expires + ")"}}
		run.Results = append(run.Results, waived)
	}
	if r.Status == drift.NotChecked {
		run.Invocations[0].ToolExecutionNotifications = []sarifNotification{{"warning", sarifMessage{"nothing was checked: " + message(r.Reason)}}}
	}
	text, err := json.MarshalIndent(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing SARIF: %w", err)
	}
	return append(text, '\n'), nil
}

func ruleID(c drift.Check) string { return "drift/" + string(c) }

// result is a finding. Where it has no place of its own it shows at the model, since hosts leave out what has no place.
func result(r *drift.Report, f drift.Finding, rule int) sarifResult {
	text := message(f.Message)
	if s := f.Since; s != nil {
		word := "Since "
		if s.AtOrBefore {
			word = "At or before "
		}
		text += fmt.Sprintf(". %s%.10s by %s", word, s.Commit, message(s.Author))
	}
	if fix := f.Fix.String(); fix != "" {
		text += ". To settle it: " + message(fix)
	}
	out := sarifResult{
		RuleID: ruleID(f.Check), RuleIndex: rule, Level: levels[f.Check], Message: sarifMessage{text}, Locations: []sarifLocation{},
		PartialFingerprints: map[string]string{fingerprintName: f.Fingerprint},
		Properties:          map[string]any{"element": visible(f.Element), "subject": visible(f.Subject), "weight": f.Weight, "gain": f.Gain},
	}
	file, line := f.File, f.Line
	if file == "" {
		file = r.ModelFile
	}
	if file != "" {
		out.Locations = append(out.Locations, location(file, line))
	}
	for _, at := range f.Evidence {
		if at.File != f.File || at.Line != f.Line {
			related := location(at.File, at.Line)
			related.Message = &sarifMessage{"imports " + message(at.Text)}
			out.RelatedLocations = append(out.RelatedLocations, related)
		}
	}
	if r.BaseScore != nil {
		out.BaselineState = "unchanged"
		if f.New {
			out.BaselineState = "new"
		}
	}
	return out
}

func location(file string, line int) sarifLocation {
	uri := (&url.URL{Path: file}).String() // bytes that are no text are escaped, too
	return sarifLocation{PhysicalLocation: sarifPhysicalLocation{sarifArtifact{uri, "%SRCROOT%"}, sarifRegion{max(line, 1)}}}
}

// message is a text in which nothing is a link, which SARIF writes as in Markdown.
func message(s string) string { return strings.ReplaceAll(visible(s), "](", "] (") }
