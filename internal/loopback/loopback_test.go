package loopback_test

import (
	"testing"

	"github.com/stele-dev/stele/internal/loopback"
)

func TestIs(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost": true, "localhost.": true, "127.0.0.1": true, "127.8.9.1": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, "localhost.example.org": false, "mylocalhost": false, "127.0.0.1.example.org": false, "0.0.0.0": false, "192.0.2.1": false,
		"::": false, "2001:db8::1": false, "[::1]": false, "127.1": false,
	} {
		if got := loopback.Is(host); got != want {
			t.Errorf("%q: %t, want %t", host, got, want)
		}
	}
}
