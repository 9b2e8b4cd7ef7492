package web_test

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	browserpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/stele-dev/stele/memory"
)

// browserTime bounds a test in a browser, on a machine that does much else.
const browserTime = 4 * time.Minute

// stepTime bounds one step of a test.
const stepTime = time.Minute

// chromium is the one browser of all tests of this package. It starts with the first that needs it.
var chromium struct { //nolint:gochecknoglobals // a browser for each test would take longer than the tests
	once sync.Once
	ctx  context.Context //nolint:containedctx // chromedp keeps its browser in one
	stop context.CancelFunc
	err  error
}

// screenshots is where to write pictures of the pages.
var screenshots = flag.String("screenshots", "", "write pictures of the pages into this folder") //nolint:gochecknoglobals // a flag

func TestMain(m *testing.M) {
	flag.Parse()
	if *screenshots != "" { // before any page is made
		stopClock()
	}
	code := m.Run()
	if chromium.stop != nil {
		chromium.stop()
	}
	os.Exit(code)
}

// chromiumProgram is the browser's program; "" where there is none.
func chromiumProgram() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			return found
		}
	}
	return ""
}

func startChromium() {
	program := chromiumProgram()
	if program == "" {
		return
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.WSURLReadTimeout(browserTime), chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("font-render-hinting", "none"), chromedp.Flag("lang", "en-GB"))
	allocated, release := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeBrowser := chromedp.NewContext(allocated)
	chromium.ctx = ctx //nolint:fatcontext // it is set once
	chromium.stop = func() {
		closeBrowser()
		release()
	}
	chromium.err = chromedp.Run(ctx)
}

// tab is a window of the browser that shares nothing with others: its cookies are its own.
type tab struct {
	*world

	t   *testing.T
	ctx context.Context //nolint:containedctx // chromedp keeps a window in one

	mu         sync.Mutex
	complaints []string // of the browser: errors, requests to other hosts, dialogs
}

// tab opens a window of the browser; false where there is no browser.
func (w *world) tab(t *testing.T) (*tab, bool) {
	t.Helper()
	chromium.once.Do(startChromium)
	if chromium.ctx == nil {
		t.Log("there is no Chromium here, so that nothing was tried in a browser: make browser")
		return nil, false
	}
	if chromium.err != nil {
		t.Fatalf("starting Chromium: %v", chromium.err)
	}
	id, forget := window(t)
	ctx, closeTab := chromedp.NewContext(chromium.ctx, chromedp.WithTargetID(id))
	ctx, stop := context.WithTimeout(ctx, browserTime)
	b := &tab{world: w, t: t, ctx: ctx}
	t.Cleanup(func() {
		stop()
		closeTab()
		forget()
	})
	chromedp.ListenTarget(ctx, b.listen)
	b.must(chromedp.Run(ctx)) // the window lives as long as the context of what is run first, so that this is no step with a time of its own
	b.does("open a window", chromedp.EmulateViewport(1280, 900), network.Enable(), log.Enable(), emulation.SetFocusEmulationEnabled(true))
	return b, true
}

// window opens one with cookies of its own. A browser without a head gives a new profile no tab before it has a window.
func window(t *testing.T) (id target.ID, forget func()) {
	t.Helper()
	ctx := cdp.WithExecutor(chromium.ctx, chromedp.FromContext(chromium.ctx).Browser)
	profile, err := target.CreateBrowserContext().Do(ctx)
	if err != nil {
		t.Fatalf("making a profile: %v", err)
	}
	if id, err = target.CreateTarget("about:blank").WithBrowserContextID(profile).WithNewWindow(true).Do(ctx); err != nil {
		t.Fatalf("opening a window: %v", err)
	}
	return id, func() { _ = target.DisposeBrowserContext(profile).Do(ctx) }
}

// browser opens a window in which somebody signed in.
func (w *world) browser(t *testing.T, n tenant, role memory.Role) (*tab, bool) {
	t.Helper()
	b, ok := w.tab(t)
	if !ok {
		return nil, false
	}
	b.signsIn(n, role)
	return b, true
}

// signsIn makes whoever looks somebody.
func (b *tab) signsIn(n tenant, role memory.Role) {
	b.t.Helper()
	in, err := b.service.SignIn(b.t.Context(), n.tokens[role])
	b.must(err)
	b.does("sign in", network.SetCookie("stele", in.Text).WithURL(b.http.URL).WithHTTPOnly(true).WithSameSite(network.CookieSameSiteStrict))
}

// listen notes what no page may do.
func (b *tab) listen(event any) {
	complain := func(format string, args ...any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.complaints = append(b.complaints, fmt.Sprintf(format, args...))
	}
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			complain("the console says %s: %s", e.Type, e.Args[0].Value)
		}
	case *runtime.EventExceptionThrown:
		complain("a script failed: %s", e.ExceptionDetails.Error())
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
			complain("the log says %s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if u := e.Request.URL; !strings.HasPrefix(u, b.http.URL+"/") && !strings.HasPrefix(u, "data:") { // the icons of fields are data of the browser
			complain("it asks another host: %s", u)
		}
	case *browserpage.EventJavascriptDialogOpening:
		complain("it opens a dialog: %s", e.Message)
		go func() { _ = chromedp.Run(b.ctx, browserpage.HandleJavaScriptDialog(false)) }() // else it waits for good
	}
}

// clean checks that the browser had nothing to complain about since the last time.
func (b *tab) clean(what string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complaints {
		b.t.Errorf("%s: %s", what, c)
	}
	b.complaints = nil
}

// forgives forgets what the browser complained about: it tells of answers such as 400, which were meant.
func (b *tab) forgives() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints = nil
}

func (b *tab) does(what string, actions ...chromedp.Action) {
	b.t.Helper()
	ctx, done := context.WithTimeout(b.ctx, stepTime)
	defer done()
	if err := chromedp.Run(ctx, actions...); err != nil {
		var at, text string
		more, stop := context.WithTimeout(b.ctx, 10*time.Second)
		defer stop()
		_ = chromedp.Run(more, chromedp.Location(&at), chromedp.Evaluate("document.body.innerText", &text))
		b.t.Fatalf("%s: %v; at %s, which reads\n%s", what, err, at, text)
	}
}

// opens goes to a page of the server.
func (b *tab) opens(path string) {
	b.t.Helper()
	b.does("open "+path, chromedp.Navigate(b.http.URL+path))
}

// eval runs a script in the page; it may give a promise.
func eval[T any](b *tab, script string) T {
	b.t.Helper()
	var out T
	b.does("run "+script[:min(60, len(script))], chromedp.Evaluate(script, &out, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return out
}

// presses sends keys, one after the other.
func (b *tab) presses(keys string) {
	b.t.Helper()
	for _, key := range keys {
		b.does("press "+string(key), chromedp.KeyEvent(string(key)))
	}
}

// tabsTo presses Tab until something has the focus, so that it is known to be reached without a pointer.
func (b *tab) tabsTo(selector string) {
	b.t.Helper()
	for range 300 {
		b.does("press Tab", chromedp.KeyEvent(kb.Tab))
		if eval[bool](b, fmt.Sprintf(`document.activeElement.matches(%q)`, selector)) {
			return
		}
	}
	b.t.Fatalf("Tab never comes to %s", selector)
}

// sees waits for words somewhere in the main part of a page.
func (b *tab) sees(words string) {
	b.t.Helper()
	b.does("see "+words, shows(words))
}

// shows waits for words in the main part.
func shows(words string) chromedp.Action {
	return chromedp.WaitReady(fmt.Sprintf(`//main[contains(normalize-space(.), %q)]`, words), chromedp.BySearch, patiently)
}

// reads waits for words in a paragraph of a page that takes keys.
func reads(words string) chromedp.Action {
	return chromedp.WaitVisible(fmt.Sprintf(`//html[@data-keys]//p[contains(normalize-space(.), %q)]`, words), chromedp.BySearch, patiently)
}

// patiently looks again so seldom that a page has time to come.
func patiently(s *chromedp.Selector) { chromedp.RetryInterval(25 * time.Millisecond)(s) }

// button finds a button by its words.
func button(words string) string {
	return fmt.Sprintf(`//button[normalize-space(.)=%q]`, words)
}

// clicks presses a button by its words.
func (b *tab) clicks(words string) {
	b.t.Helper()
	b.does("click "+words, chromedp.Click(button(words), chromedp.BySearch, chromedp.NodeVisible))
}

// at is the address of the page, without the host.
func (b *tab) at() string {
	b.t.Helper()
	var at string
	b.does("look where it is", chromedp.Location(&at))
	u, err := url.Parse(at)
	b.must(err)
	return u.RequestURI()
}

// scripts turns scripts on or off.
func (b *tab) scripts(on bool) {
	b.t.Helper()
	b.does("turn scripts on or off", emulation.SetScriptExecutionDisabled(!on))
}

// wide sets the width of the window and the colours that the system prefers.
func (b *tab) wide(width int64, scheme string) {
	b.t.Helper()
	height := int64(900)
	if width < 600 {
		height = 740
	}
	b.does("resize", chromedp.EmulateViewport(width, height),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
}
