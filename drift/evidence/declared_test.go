package evidence

import "testing"

func TestDeclaredIn(t *testing.T) {
	t.Parallel()
	const name = "drainPool"
	for line, want := range map[string]bool{
		"func drainPool(n int) error {":              true,
		"func (p *Pool) drainPool(n int) error {":    true,
		"\tdrainPool(ctx context.Context) error":     false, // of an interface: like a call
		"\tdrainPool int // of a struct":             true,
		"\tdrainPool: 3,":                            true,
		"export const drainPool = () => 1;":          true,
		"export async function drainPool<T>(a: T) {": true,
		"  async drainPool(n) {":                     true,
		"  drainPool?: string;":                      true,
		"    def drainPool(self):":                   true,
		"drainPool = None":                           true,
		"    drainPool: int = 3":                     true,
		"  public async Task<int> drainPool(int n)":  true,
		"  private readonly Pool drainPool;":         true,
		"  public string drainPool { get; set; }":    true,
		"pub(crate) fn drainPool(db: &Db) -> u8 {":   true,
		"case class drainPool(n: Int)":               true,
		"  drainPool:":                               true,
		`  "drainPool": true,`:                       true,
		`os.Getenv("drainPool")`:                     true,
		`{{ define "drainPool" }}`:                   true,
		"#define drainPool 1":                        true,
		"    drainPool,":                             true,
		"  static drainPool: number":                 true,
		"\tpool.drainPool(3)":                        false,
		"\treturn drainPool(3)":                      false,
		"  await page.drainPool(250);":               false,
		"import { type drainPool, other } from 'x';": false,
		"from pool import drainPool":                 false,
		"use pool::drainPool;":                       false,
		"  let { data }: { form: drainPool<T> } =":   false,
		"\tif drainPool(3) {":                        false,
		"  type drainPool,":                          false,
		"  export let form: drainPool<T>;":           false,
		"func other(p drainPool) {":                  false,
		"def other(p: drainPool):":                   false,
		"x := other(drainPool)":                      false,
		"// func drainPool() {":                      false,
		" * drainPool = 3":                           false,
		"# drainPool = 3":                            false,
		"\tx() // drainPool: why":                    false,
		"func drainPools() {":                        false,
		"func undrainPool() {":                       false,
		"const path = \"pool/drainPool\"":            false,
		"func drainPools() { drainPool := 1 }":       false, // a variable of an example
	} {
		if got := declaredIn(line, name, Symbol); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
	for line, want := range map[string]bool{"os.Getenv(DRAIN_POOL)": true, "// DRAIN_POOL": false, "export DRAIN_POOL": true} {
		if got := declaredIn(line, "DRAIN_POOL", Symbol); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
	for line, want := range map[string]bool{"get(\"/api/v1/orders\")": true, "// see /api/v1/orders": false} {
		if got := declaredIn(line, "/api/v1/orders", Literal); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}

func TestMeant(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		path     string
		files    []string
		document string
		want     bool
	}{
		{"core/pool.go", []string{"core/pool.go"}, "README.md", true},
		{"src/pool.go", []string{"core/src/pool.go"}, "core/README.md", true},
		{"src/pool.go", []string{"core/src/pool.go"}, "core/docs/a/b.md", true},
		{"src/pool.go", []string{"core/src/pool.go"}, "README.md", false}, // perhaps the reader's
		{"src/pool.go", []string{"core/src/pool.go"}, "", true},
		{"src/pool.go", []string{"core/src/pool.go", "web/src/pool.go"}, "", false},
		{"pool.go", []string{"core/pool.go"}, "README.md", true},
		{"pool.go", []string{"core/pool.go", "web/pool.go"}, "README.md", false},
		{"setup.py", []string{"setup.py"}, "README.md", false},
		{"vite.config.ts", []string{"web/vite.config.ts"}, "README.md", false},
		{"*_pool.go", []string{"core/a_pool.go"}, "README.md", false},
		{"core/*_pool.go", []string{"core/a_pool.go"}, "README.md", true},
		{"store/", []string{"core/store"}, "README.md", true},
		{"src/", []string{"src"}, "README.md", false},
	} {
		if got := meant(tc.path, tc.files, tc.document); got != tc.want {
			t.Errorf("%s of %v in %q: %v, want %v", tc.path, tc.files, tc.document, got, tc.want)
		}
	}
}
