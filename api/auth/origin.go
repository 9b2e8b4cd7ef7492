package auth

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/stele-dev/stele/internal/loopback"
	"github.com/stele-dev/stele/internal/problem"
)

// Hosts checks by which name a server is addressed and from which page.
//
// A page that a person visits can make their browser send requests to any address, also to this machine; by changing what
// its own name resolves to (DNS rebinding) it can even read the answers. Such a request carries the page's name as Host or
// as Origin, so both must be names of this server.
type Hosts struct {
	// Names are the host names of this server, without port, lower case: what the operator configured. localhost and
	// addresses written as numbers are always accepted: no name resolves to them, so none can be rebound.
	Names []string
}

// Wrap puts the check before a handler.
func (h Hosts) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !h.accepts(r.Host) {
			Refuse(w, problem.New(problem.Forbidden, "Host", fmt.Sprintf("%.80q is not a name of this server", r.Host),
				"use the name in the server's configuration", "or add the name to STELE_HOSTS on the server"))
			return
		}
		if origin := r.Header.Values("Origin"); len(origin) > 1 || len(origin) == 1 && !h.own(origin[0], r.Host) {
			Refuse(w, problem.New(problem.Forbidden, "Origin", fmt.Sprintf("a page of %.80q may not call this server", origin[0]),
				"open the server's own pages", "or call it from a program, which sends no Origin"))
			return
		}
		// Following a link from another site to a page is what the web is for.
		navigates := r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate"
		if site := r.Header.Get("Sec-Fetch-Site"); (site == "cross-site" || site == "same-site") && !navigates {
			Refuse(w, problem.New(problem.Forbidden, "Origin", "another site's page may not call this server", "open the server's own pages"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (h Hosts) accepts(hostport string) bool {
	host := hostName(hostport)
	if host == "localhost" {
		return true
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host != "" && slices.Contains(h.Names, host)
}

// own tells whether a page's origin is this server as it was addressed. The scheme is left out: a proxy may speak TLS. The
// names of this machine are one name.
func (h Hosts) own(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return false
	}
	if loopback.Is(hostName(u.Host)) && loopback.Is(hostName(host)) {
		return port(u.Host) == port(host)
	}
	return strings.EqualFold(u.Host, host) && h.accepts(u.Host)
}

// hostName is the host of host:port, lower case, without the dot of a fully qualified name and the brackets of IPv6.
func hostName(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

func port(hostport string) string {
	_, port, err := net.SplitHostPort(hostport)
	if err != nil {
		return ""
	}
	return port
}
