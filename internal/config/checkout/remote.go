package checkout

import (
	"net/url"
	"regexp"
	"strings"
)

// scpForm is git's short form of an ssh address: user@host:path. One letter before the colon is a drive, not a host.
var scpForm = regexp.MustCompile(`^(?:[^@/\s]+@)?(\[[^\]]+\]|[^:/\s]{2,}):(.+)$`)

// defaultPorts are left out: with or without them it is the same server.
var defaultPorts = map[string]string{"ssh": "22", "git+ssh": "22", "https": "443", "http": "80", "git": "9418"}

// Normalize turns the address of a remote into "host/path", the same for every way to reach it: without scheme, credentials,
// default port, ".git" and slashes at the end, the host in lower case. It is "" for a folder on this machine.
func Normalize(remote string) string {
	remote = strings.TrimSpace(remote)
	var host, path string
	if scheme, _, ok := strings.Cut(remote, "://"); ok {
		u, err := url.Parse(remote)
		if err != nil || strings.EqualFold(scheme, "file") {
			return ""
		}
		host, path = u.Hostname(), u.Path
		if port := u.Port(); port != "" && port != defaultPorts[strings.ToLower(scheme)] {
			host += ":" + port
		}
	} else if m := scpForm.FindStringSubmatch(remote); m != nil {
		host, path = strings.Trim(m[1], "[]"), m[2]
	}
	path = strings.Trim(path, "/")
	path = strings.TrimRight(strings.TrimSuffix(path, ".git"), "/")
	if host == "" || path == "" {
		return ""
	}
	return strings.ToLower(host) + "/" + path
}
