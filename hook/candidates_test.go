package hook_test

import (
	"testing"

	"github.com/stele-dev/stele/hook"
	"github.com/stele-dev/stele/memory"
)

func TestStatements(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		said string
		kind memory.Kind // "" = no candidate
	}{
		{"It turns out that the cache is never cleared between two test runs.", memory.Pitfall},
		{"The consumer silently drops events without a tenant.", memory.Pitfall},
		{"Migrations must not lock the table `orders` for long.", memory.Convention},
		{"We decided to keep the ledger in `ledger.go` instead of a service of its own.", memory.Note},
		{"The retry exists because the provider in pay/client.go times out at night.", memory.Note},
		{"Attenzione: la coda perde i messaggi quando il nodo si riavvia.", memory.Pitfall},
		{"注意：订单缓存不会在部署之后自动刷新。", memory.Pitfall},
		{"マイグレーションは必ず一つずつ適用しなければならない。", memory.Convention},
		{"이 함수는 절대 트랜잭션 밖에서 부르면 안 됩니다.", memory.Convention},

		{"I'll never know, let me look at the tests first.", ""},
		{"Let me check whether the cache must be cleared here.", ""},
		{"We decided to go for lunch because it was late already.", ""}, // a decision about no code
		{"Must it always be locked before that call?", ""},
		{"Never do.", ""},
		{"```go\n// must never be called before the lock is taken\n```", ""},
		{"| column | must never be empty in any of the rows |", ""},
		{"> You must always quote what other people have said.", ""},
		{"## What must never happen in this module at all", ""},
	} {
		got := hook.Statements(test.said)
		switch {
		case test.kind == "" && len(got) > 0:
			t.Errorf("%q is taken for %+v", test.said, got)
		case test.kind != "" && (len(got) != 1 || got[0].Kind != test.kind):
			t.Errorf("%q gives %+v, want a %s", test.said, got, test.kind)
		}
	}
}

func TestCorrections(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]bool{
		"No, we never write to the ledger outside of a transaction.":    true,
		"Actually the tests run against a real database.":               true,
		"From now on use the builder in testkit instead of literals.":   true,
		"不对，订单状态必须通过状态机来修改。":                                            true,
		"Please add a test for the refund of an order.":                 false,
		"Can you always do that?":                                       false,
		"The refund fails, please find out why that happens every day.": false,
	} {
		if got := hook.Corrections(asked); (len(got) > 0) != want {
			t.Errorf("%q gives %+v", asked, got)
		}
	}
}

func FuzzStatements(f *testing.F) {
	f.Add("It turns out that x_y is never z.\n```\n|a|\n- b")
	f.Fuzz(func(t *testing.T, said string) {
		for _, s := range append(hook.Statements(said), hook.Corrections(said)...) {
			if s.Text == "" || s.Why == "" || s.Kind == "" {
				t.Errorf("%q gives %+v", said, s)
			}
		}
	})
}
