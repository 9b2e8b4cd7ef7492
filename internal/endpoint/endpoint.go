// Package endpoint reads the addresses of APIs that an operator sends texts and keys to, and refuses what would give either away.
package endpoint

import (
	"net/url"
	"strings"

	"github.com/stele-dev/stele/internal/loopback"
	"github.com/stele-dev/stele/internal/problem"
)

// Rules say what an address is for. Setting names it in problems, KeySetting is where a key belongs, Of what is there (such as "an endpoint"), and
// Example how to write it.
type Rules struct {
	Setting, KeySetting string
	Of, Example         string
	Path                string // of the API, which is added to the address
	Insecure            bool   // allows plain http to another machine
}

// Parse reads an address, http or https, below which the API is. Its problems do not repeat the address, since it may hold a password.
func Parse(text string, r Rules) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, problem.Invalidf(r.Setting, "the address cannot be read").Fix("%s", r.Example)
	}
	switch {
	case u.User != nil:
		return nil, problem.Invalidf(r.Setting, "the address holds a user or password").Fix("put a key in %s", r.KeySetting)
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return nil, problem.Invalidf(r.Setting, "it is not the address of %s, http or https", r.Of).Fix("%s", r.Example)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, problem.Invalidf(r.Setting, "the address goes on after its path").Fix("leave out what begins with ? or #")
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), r.Path):
		return nil, problem.Invalidf(r.Setting, "the address goes too far: %s is added to it", r.Path).Fix("%s", r.Example)
	case u.Scheme == "http" && !r.Insecure && !loopback.Is(u.Hostname()):
		return nil, problem.Invalidf(r.Setting, "http to another machine (%s) would show texts and key to everyone on the way", u.Host).
			Fix("use https").Fix("or, in a network you trust, set STELE_INSECURE=true")
	}
	return u, nil
}
