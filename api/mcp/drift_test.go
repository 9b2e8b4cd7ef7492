package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stele-dev/stele/api/mcp"
	"github.com/stele-dev/stele/memory"
)

func TestDriftTools(t *testing.T) {
	t.Parallel()
	d := &domain{}
	c := connect(t, d, mcp.Full, nil)
	_, text := callTool(t, c, "get_drift_score", `{}`)
	for _, want := range []string{"Score 87 of 100 (100 means the code matches the model)", "example.org/shop main 0123456: score 87, 1 new finding, 2 put in doubt"} {
		if !strings.Contains(text, want) {
			t.Errorf("the score lacks %q: %s", want, text)
		}
	}
	got, text := callTool(t, c, "get_drift_details", `{"id":"0190aaaa-0000-7000-8000-0000000000aa"}`)
	structured, err := json.Marshal(got.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	if d.last != "0190aaaa-0000-7000-8000-0000000000aa" || !strings.Contains(text, "and 120 more") || strings.Count(text, "</stele-memory>") != 1 {
		t.Errorf("asked for %v, told %s", d.last, text)
	}
	if n := strings.Count(string(structured), `"fingerprint"`); n != 100 || !strings.Contains(string(structured), `"omitted":50`) {
		t.Errorf("%d findings are given: %.300s", n, structured)
	}
	if strings.Contains(string(structured), "payApi") || !strings.Contains(string(structured), "shop.pay_api") {
		t.Error("keys of elements are respelt")
	}
	got, _ = callTool(t, c, "get_drift_details", `{"element":"SHOP.pay_api"}`)
	if structured, err = json.Marshal(got.StructuredContent); err != nil || strings.Count(string(structured), `"fingerprint"`) != 75 || strings.Contains(string(structured), `"shop.api"`) {
		t.Errorf("the findings of one element: %v %.300s", err, structured)
	}
	if got, text := callTool(t, c, "get_drift_details", `{"element":"nowhere"}`); !got.IsError || !strings.Contains(text, "not_found") {
		t.Errorf("an element that was not compared: %s", text)
	}
	callTool(t, c, "get_drift_history", `{"limit":"5","before":"2026-03-02"}`)
	if q, ok := d.last.(memory.RunQuery); !ok || q.Limit != 5 || !q.Tracked || q.Before.Before(time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("the history was asked for as %+v", d.last)
	}
	for _, bad := range []string{`{"limit":0}`, `{"limit":201}`, `{"before":"yesterday-ish"}`, `{"branch":"main"}`} {
		if got, text := callTool(t, c, "get_drift_history", bad); !got.IsError || text == "" {
			t.Errorf("%s is answered %q", bad, text)
		}
	}
}
