// Package loopback knows what is called this machine: what goes there crosses no network.
package loopback

import (
	"net/netip"
	"strings"
)

// Is tells whether a host, a name or an address in numbers without port and brackets, is this machine. Other names may
// resolve to it today and to something else tomorrow.
func Is(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
