package memory

import (
	"strings"

	"github.com/stele-dev/stele/internal/problem"
)

// OwnerRule says who owns the files that a pattern of CODEOWNERS matches: "@name", "@organization/team" or an e-mail address.
// Without owners, nobody does.
type OwnerRule struct {
	Pattern string   `json:"pattern"`
	Owners  []string `json:"owners"`
}

// Bounds of who owns what. GitHub reads files of up to 3 MB; what is larger than this is generated, and owns by team.
const (
	MaxOwnerRules = 5000
	MaxOwners     = 50 // of a pattern
)

func checkOwners(rules []OwnerRule) error {
	if len(rules) > MaxOwnerRules {
		return problem.Invalidf("owners", "%d patterns are more than %d", len(rules), MaxOwnerRules).Fix("own folders rather than files in CODEOWNERS")
	}
	for _, r := range rules {
		if r.Pattern == "" || len(r.Pattern) > MaxPathBytes || hasControl(r.Pattern) {
			return problem.Invalidf("owners", "%q is no pattern", clip(r.Pattern, 80)).Fix("send what CODEOWNERS says")
		}
		if len(r.Owners) > MaxOwners {
			return problem.Invalidf("owners", "%s has more than %d owners", clip(r.Pattern, 80), MaxOwners).Fix("name a team in CODEOWNERS")
		}
		for _, o := range r.Owners {
			if o == "" || len(o) > MaxNameBytes || hasControl(o) || strings.ContainsAny(o, " \t") {
				return problem.Invalidf("owners", "%q is no owner", clip(o, 80)).Fix("send @name, @organization/team or an e-mail address")
			}
		}
	}
	return nil
}
