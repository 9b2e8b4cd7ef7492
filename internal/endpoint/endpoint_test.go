package endpoint_test

import (
	"strings"
	"testing"

	"github.com/stele-dev/stele/internal/endpoint"
	"github.com/stele-dev/stele/internal/problem"
)

// What would give texts or a key away is refused, with the setting, a fix, and no word of the address that may be secret.
func TestParse(t *testing.T) {
	t.Parallel()
	rules := endpoint.Rules{Setting: "STELE_X_URL", KeySetting: "STELE_X_KEY", Of: "an endpoint", Example: "write it as https://api.example.org/v1", Path: "/chat"}
	open := rules
	open.Insecure = true
	for text, of := range map[string]endpoint.Rules{"https://api.example.org/v1": rules, "http://127.0.0.1:1/v1/": rules, "http://[::1]:1": rules, "http://10.0.0.1:1/v1": open} {
		if u, err := endpoint.Parse(text, of); err != nil || u.String() != text {
			t.Errorf("%s: %v, %v", text, u, err)
		}
	}
	for text, words := range map[string]string{
		"https://ana:hunter2@api.example.org": "user or password", "ftp://hunter2.example.org": "not the address of an endpoint", "/hunter2": "not the address",
		"https://api.example.org/v1?key=hunter2": "after its path", "https://api.example.org/#hunter2": "after its path", "https://api.example.org/v1/chat/": "too far",
		"http://api.example.org/v1": "another machine", "http://127.0.0.1.example.org": "another machine", "https://%zzhunter2": "cannot be read", "": "not the address",
	} {
		_, err := endpoint.Parse(text, rules)
		p, ok := problem.As(err)
		if !ok || p.Field != rules.Setting || len(p.Fixes) == 0 || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
