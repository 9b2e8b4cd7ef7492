package api

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/memory"
)

// badges shows scores to whoever has their secret address, as pages outside do that hold no token.
type badges struct {
	service interface {
		Badge(ctx context.Context, org, project uuid.UUID, secret string) (memory.DriftScore, error)
	}
}

// serve answers /v1/badges/{organization}/{project}/{secret}/{what}, what being score.svg or coverage.svg. Whatever is not
// there looks the same as what is not known.
func (b badges) serve(w http.ResponseWriter, r *http.Request) {
	org, err1 := uuid.Parse(r.PathValue("organization"))
	project, err2 := uuid.Parse(r.PathValue("project"))
	what, isSVG := strings.CutSuffix(r.PathValue("what"), ".svg")
	if err1 != nil || err2 != nil || !isSVG || what != "score" && what != "coverage" {
		nothing(w, r)
		return
	}
	score, err := b.service.Badge(r.Context(), org, project, r.PathValue("secret"))
	if err != nil {
		nothing(w, r)
		return
	}
	label, value := "model and code", score.Score
	if what == "coverage" {
		label, value = "model coverage", score.Coverage
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Header().Set("Cache-Control", "max-age=300")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write([]byte(badge(label, value)))
}

// Colours of badges: good from 90, fair from 60.
const (
	colourGood, colourFair, colourPoor, colourNone = "#2e7d32", "#8a6100", "#b3261e", "#5f6368"
	good, fair                                     = 90, 60
)

// badge draws a label with a value; text and not only colour says how it stands.
func badge(label string, value *int) string {
	text, colour := "not checked", colourNone
	if value != nil {
		text = fmt.Sprint(*value)
		switch {
		case *value >= good:
			colour = colourGood
		case *value >= fair:
			colour = colourFair
		default:
			colour = colourPoor
		}
	}
	const perLetter, padding, height = 7, 12, 20
	left, right := perLetter*len(label)+padding, perLetter*len(text)+padding
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" role="img" aria-label="%s: %s"><title>%s: %s</title>`+
		`<rect width="%d" height="%d" rx="3" fill="#3c4043"/><rect x="%d" width="%d" height="%d" rx="3" fill="%s"/>`+
		`<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11"><text x="%d" y="14">%s</text><text x="%d" y="14">%s</text></g></svg>`,
		left+right, height, html.EscapeString(label), text, html.EscapeString(label), text,
		left+right, height, left, right, height, colour, left/2, html.EscapeString(label), left+right/2, text)
}
