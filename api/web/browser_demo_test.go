package web_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/api/web"
	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/review"
	"github.com/stele-dev/stele/session"
)

const (
	day  = 24 * time.Hour
	week = 7 * day
)

// pictured is the moment at which pictures are taken, so that a new picture differs only in what changed.
var pictured = time.Date(2026, 11, 2, 9, 30, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant, if Go had one of that type

func stopClock() { web.StopClock(pictured) }

// clock is the time of a world, which its tests move.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

// demo is a shop with half a year behind it: what pages look like when a project is alive.
type demo struct {
	*world

	clock *clock
	today time.Time
	by    map[string]memory.Memory // by title

	group, session, run string // a cause to open, a finished session, the latest run
}

// said is a memory of the demo.
type said struct {
	weeks     float64 // ago
	kind      memory.Kind
	element   string // keys, below "shop.", with spaces
	who       string
	title     string
	content   string
	why       string
	tags      string
	confirmed float64 // weeks ago; 0 = never
}

// demoElements are the shop's: key below "shop", name, technology, description.
var demoElements = [][4]string{ //nolint:gochecknoglobals // test data
	{"web", "Storefront", "TypeScript", "What customers see: the catalogue, the basket, the account."},
	{"web.catalogue", "Catalogue", "TypeScript", "Lists goods by shelf, season and diet."},
	{"web.basket", "Basket", "TypeScript", "Holds what a customer means to buy, signed in or not."},
	{"api", "Shop API", "Go", "Answers the storefront and the pickers' handhelds."},
	{"api.cart", "Cart", "Go", "Adds, merges and prices baskets."},
	{"api.checkout", "Checkout", "Go", "Turns a basket into an order and takes the money."},
	{"api.pricing", "Pricing", "Go", "Prices, deposits, discounts by week and by customer."},
	{"api.stock", "Stock", "Go", "What lies on which shelf, and what is promised already."},
	{"api.accounts", "Accounts", "Go", "Customers, addresses, consent."},
	{"api.delivery", "Delivery slots", "Go", "Which van has room when."},
	{"worker", "Order worker", "Go", "Does after the order what nobody should wait for."},
	{"worker.mailer", "Mailer", "Go", "Tells customers what became of their orders."},
	{"worker.invoices", "Invoices", "Go", "Writes invoices, once for each delivery."},
	{"worker.loyalty", "Loyalty points", "Go", "Counts what customers bought, and thanks them."},
	{"worker.refunds", "Refunds", "Go", "Gives money back for what was not delivered."},
	{"db", "Order database", "PostgreSQL", "Orders, stock and accounts."},
	{"search", "Search index", "OpenSearch", "Finds goods by words and by misspelt words."},
	{"backoffice", "Back office", "TypeScript", "For pickers and for those who answer the phone."},
	{"backoffice.picking", "Picking lists", "TypeScript", "Which crate gets what, in the order of the shelves."},
	{"backoffice.phone", "Phone desk", "TypeScript", "Finds an order while somebody waits on the line."},
}

var demoRelations = [][3]string{ //nolint:gochecknoglobals // test data
	{"customer", "shop.web", "buys with"}, {"picker", "shop.backoffice", "picks with"}, {"shop.web", "shop.api", "asks"}, {"shop.backoffice", "shop.api", "asks"},
	{"shop.web.basket", "shop.api.cart", "keeps the basket in"}, {"shop.web.catalogue", "shop.search", "looks for goods in"}, {"shop.api.cart", "shop.api.pricing", "asks for prices"},
	{"shop.api.checkout", "shop.api.cart", "takes the basket from"}, {"shop.api.checkout", "shop.api.stock", "reserves goods in"}, {"shop.api.checkout", "payments", "takes money through"},
	{"shop.api.checkout", "shop.api.delivery", "books a van in"}, {"shop.api.stock", "shop.db", "reads and writes"}, {"shop.api.accounts", "shop.db", "reads and writes"},
	{"shop.worker", "shop.db", "follows the orders of"}, {"shop.worker.refunds", "payments", "gives money back through"}, {"shop.worker.mailer", "post", "sends mail through"},
}

// demoMemories are what is known of the shop.
var demoMemories = []said{ //nolint:gochecknoglobals // test data
	{25, memory.Note, "db", "kim", "Orders are never deleted", "An order that was cancelled keeps its row; `cancelled_at` says so. Reports count on it.", "", "orders", 0},
	{24, memory.Convention, "api", "kim", "Money is whole cents", "Every amount is an integer of cents in a field that ends in `_cents`. A float never touches money.", "the rounding of 0.1 + 0.2 once cost a day", "money", 2},
	{23, memory.Pitfall, "api.pricing", "coder/ana", "Deposits are no discount", "A bottle deposit must be added **after** discounts: it is not the shop's money.", "tax is due on goods, not on deposits", "money tax", 0},
	{22, memory.Convention, "api.cart", "coder/mika", "Baskets merge by the newer line", "When somebody signs in, the basket of the browser and that of the account merge; of the same goods the newer line wins.", "", "", 5},
	{21, memory.Pitfall, "api.stock", "coder/ana", "Promised stock is not on the shelf", "`available` is what lies on the shelf **minus** what is promised. Reading `on_shelf` sells the same loaf twice.", "it happened on the Saturday before Easter", "stock", 1},
	{20, memory.Note, "search", "kim", "The index is built at night", "It is rebuilt at 02:40 and swapped by alias. Goods that arrive in the morning are added one by one.", "", "search", 0},
	{19, memory.Pitfall, "worker.invoices", "coder/mika", "One invoice for each delivery", "An order in two vans has two invoices. Counting orders counts them short.", "", "", 3},
	{18, memory.Convention, "web", "ana", "Texts live beside the component", "A component has its words in `words.ts`, in every language, so that a text is found where it is shown.", "", "", 0},
	{17, memory.Note, "api.accounts", "coder/ana", "Consent has a version", "What a customer agreed to is stored with the version of the text, or it is worth nothing.", "", "privacy", 0},
	{16, memory.Pitfall, "api.checkout", "coder/mika", "The provider answers twice", "The payment provider may call back twice for one payment. The second must change nothing: look the payment up by `provider_ref` first.", "a customer paid 84 for 42", "payments", 1},
	{15, memory.Convention, "api.pricing", "kim", "Prices have a validity", "A price holds from Monday 00:00 to Sunday 24:00 in the shop's time zone. Never compare it with UTC midnight.", "", "money", 0},
	{14, memory.Note, "api.pricing", "coder/ana", "Where discounts stack", "Week, customer and volume discounts stack in this order; each takes from what the last one left.\n\n| discount | takes from |\n|---|---|\n| week | list price |\n| customer | what is left |\n| volume | what is left |", "", "money", 0},
	{13, memory.Pitfall, "api.pricing", "coder/mika", "The price cache is by shop", "`priceCache` is keyed by goods **and** shop. A key of goods alone shows one town the prices of another.", "", "cache", 0},
	{12, memory.Pitfall, "worker.mailer", "coder/ana", "No mail before the commit", "Send after the transaction committed: the outbox in `worker/outbox` does. A mail about an order that was rolled back cannot be called back.", "", "mail", 4},
	{11, memory.Convention, "worker", "kim", "Jobs are safe to repeat", "Every job can run twice. Its key is the order's number and the name of the step.", "", "jobs", 2},
	{11, memory.Note, "backoffice", "kim", "Handhelds are slow", "The handhelds of the pickers have 2 GB of memory: pages there stay below 300 kB.", "", "", 0},
	{10, memory.Pitfall, "api.delivery", "coder/mika", "A van is full by crates", "Room in a van is counted in crates, not in orders. Frozen goods need a box of their own, which counts as a crate.", "", "delivery", 0},
	{9, memory.Pitfall, "api.checkout", "coder/ana", "Reserve before you charge", "Stock is reserved first, then the money is taken; on failure the reservation ends by itself after 15 minutes.", "the other order sold what was not there", "stock payments", 1},
	{8, memory.Note, "web.basket", "coder/mika", "Guests keep a basket for 30 days", "The cookie lives for 30 days and so does the basket; a job clears older ones.", "", "", 0},
	{7, memory.Convention, "api", "coder/ana", "Errors name the field", "An answer of 400 says which field is wrong and what would be right, see [[Money is whole cents]].", "", "", 2},
	{6, memory.Pitfall, "db", "kim", "Long migrations lock orders", "`ALTER TABLE orders` waits for every open checkout. Set `lock_timeout` to 3 s and try again.", "", "database", 0},
	{5, memory.Note, "api.stock", "coder/mika", "The count at closing time", "At 21:00 the pickers count by hand; the difference is booked as *shrinkage*, not as a sale.", "", "stock", 0},
	{4, memory.Pitfall, "worker.refunds", "coder/ana", "Refunds go the way they came", "Money goes back to the card it came from, even when the customer has a newer one.", "the provider refuses others", "payments", 0},
	{4, memory.Convention, "web.catalogue", "mika", "Images have a size", "Every image tag has width and height, so that the page does not jump.", "", "", 0},
	{3, memory.Pitfall, "api.checkout", "coder/mika", "Slots expire while people pay", "A delivery slot is held for 10 minutes. Checkout renews it when the payment page opens.", "", "delivery", 0},
	{3, memory.Note, "api.checkout", "kim", "The test cards", "The provider's test cards are listed in `docs/payments.md`; card 3 always declines. See [[How declined cards are told]].", "", "payments", 0},
	{2, memory.Pitfall, "worker.mailer", "coder/mika", "Bounces come as mail", "A bounce arrives in the mailbox `returns`, some minutes later. The mailer marks the address and does not try again.", "", "mail", 0},
	{2, memory.Convention, "api.stock", "coder/ana", "Reservations are short", "A reservation lasts 15 minutes, as `stock/reserve.go` says.", "", "stock", 0},
	{1, memory.Note, "api.delivery", "mika", "Holidays come from a file", "`delivery/holidays.csv` has the days without vans, by town. It is updated in December.", "", "", 0},
	{0.5, memory.Pitfall, "api.cart", "coder/ana", "Empty lines are kept", "A line with quantity 0 stays until checkout, so that *undo* can bring it back. Totals must skip it.", "", "", 0},
	{0.3, memory.Note, "api.checkout", "coder/mika", "Who may pay by invoice", "Customers with three paid orders may pay by invoice, up to 200.00.", "", "payments", 0},
}

// demoScores are those of the weekly runs, oldest first.
var demoScores = []int{71, 74, 78, 78, 83, 86, 84, 89, 92, 92, 95, 91} //nolint:gochecknoglobals // test data

func newDemo(t *testing.T) *demo {
	t.Helper()
	d := &demo{clock: &clock{}, by: map[string]memory.Memory{}, today: time.Now()}
	if *screenshots != "" {
		d.today = pictured
	}
	d.clock.set(d.today.Add(-26 * week))
	d.world = newWorldAt(t, memory.Options{Now: d.clock.now})
	d.describe()
	next := 0
	for weeks := 25.0; weeks >= 0; weeks -= 0.5 { // as the shop grew
		for next < len(demoMemories) && demoMemories[next].weeks >= weeks {
			d.say(demoMemories[next])
			next++
		}
		d.ago(max(weeks, 0.15))
		for _, m := range demoMemories[:next] {
			if m.confirmed == weeks && m.confirmed > 0 {
				d.confirm("kim", m.title, true, "")
			}
		}
		if run := 11 - int(weeks); weeks == float64(int(weeks)) && run >= 0 {
			d.compare(run)
		}
		if weeks == 6 || weeks == 3 || weeks == 1 {
			d.work(weeks)
		}
	}
	d.doubt()
	d.decide()
	d.atWork()
	d.clock.set(d.today)
	return d
}

// ago sets the clock back.
func (d *demo) ago(weeks float64) {
	d.clock.set(d.today.Add(-time.Duration(weeks * float64(week))))
}

// as is a caller who is somebody; an agent stands before a slash.
func (d *demo) as(who string) memory.Caller {
	c := d.acme.Caller
	c.User, c.Role, c.Door = who, memory.RoleReviewer, memory.FromCLI
	if agent, user, ok := strings.Cut(who, "/"); ok {
		c.Agent, c.User, c.Role, c.Door = agent, user, memory.RoleAgent, memory.FromMCP
	}
	return c
}

func demoKeys(text string) []string {
	var out []string
	for key := range strings.FieldsSeq(text) {
		out = append(out, "shop."+key)
	}
	return out
}

// describe imports the model, and makes a second project, so that there is a choice.
func (d *demo) describe() {
	d.t.Helper()
	m := &c4model.Model{Name: "Larder", Elements: []c4model.Element{
		{Key: "customer", Name: "Customer", Level: c4model.Person, Description: "Buys groceries."},
		{Key: "picker", Name: "Picker", Level: c4model.Person, Description: "Puts orders into crates."},
		{Key: "shop", Name: "Larder", Level: c4model.System, Description: "Sells groceries and brings them on the same day."},
		{Key: "payments", Name: "Payment provider", Level: c4model.System, External: true, Description: "Takes money and gives it back."},
		{Key: "post", Name: "Mail provider", Level: c4model.System, External: true, Description: "Delivers mail."},
	}}
	var bindings []c4model.Binding
	for i, e := range demoElements {
		key, level := "shop."+e[0], c4model.Container
		if strings.Contains(e[0], ".") {
			level = c4model.Component
		}
		m.Elements = append(m.Elements, c4model.Element{Key: key, Name: e[1], Level: level, Parent: key[:strings.LastIndexByte(key, '.')], Technology: e[2], Description: e[3],
			Source: c4model.Position{File: "docs/workspace.dsl", Line: 12 + 4*i}})
		bindings = append(bindings, c4model.Binding{Element: key, Pattern: strings.ReplaceAll(e[0], ".", "/") + "/**", Source: "model"})
	}
	for _, r := range demoRelations {
		m.Relationships = append(m.Relationships, c4model.Relationship{Source: r[0], Destination: r[1], Description: r[2]})
	}
	m.Decisions = []c4model.Decision{{ID: "7", Title: "Reserve stock before taking money", Status: "accepted", Date: "2026-03-02", Summary: "What is paid for must be there.", File: "docs/adr/0007.md", Element: "shop.api.checkout"}}
	_, err := d.service.ImportModel(d.t.Context(), d.acme.Caller, memory.ModelImport{Model: m, Bindings: bindings, Source: "docs/workspace.dsl"})
	d.must(err)
	_, err = d.service.CreateProject(d.t.Context(), d.acme.Caller, "warehouse", nil)
	d.must(err)
}

func (d *demo) say(s said) {
	d.t.Helper()
	d.ago(s.weeks)
	out, err := d.service.Remember(d.t.Context(), d.as(s.who), memory.RememberRequest{Kind: s.kind, Title: s.title, Content: s.content, Why: s.why, Elements: demoKeys(s.element), Tags: strings.Fields(s.tags), Separate: true})
	d.must(err)
	d.by[s.title] = out.Memory
}

func (d *demo) confirm(who, title string, holds bool, note string) {
	d.t.Helper()
	_, err := d.service.Confirm(d.t.Context(), d.as(who), memory.ConfirmRequest{Memory: d.by[title].Handle, Holds: holds, Note: note})
	d.must(err)
}

// demoCommit is the commit that the nth run compared.
func demoCommit(n int) string { return strings.Repeat(fmt.Sprintf("%08x", 0x5ca1ab1e+n*0x01010101), 5) }

// compare pushes the run of a week.
func (d *demo) compare(n int) {
	d.t.Helper()
	score, coverage := demoScores[n], 80+n
	r := drift.Report{Status: drift.Checked, Score: &score, Passed: score, Weight: 100, Coverage: &coverage, Commit: demoCommit(n), CommittedAt: d.clock.now().Add(-time.Hour),
		Branch: "main", InputHash: fmt.Sprint("input", n), EngineVersion: 1, ModelFile: "docs/workspace.dsl", History: "full",
		Levels:   map[string]drift.Tally{"container": {Score: min(100, score+5), Passed: min(40, 36+n/3), Weight: 40}, "component": {Score: score - 2, Passed: score * 6 / 10, Weight: 60}},
		Elements: map[string]drift.Tally{}, Totals: drift.Totals{Elements: 20, Matched: 15, MissingInCode: 1, NewInCode: 1, Drifted: 2}}
	for _, e := range demoElements {
		r.Elements["shop."+e[0]] = drift.Tally{Score: 100, Passed: 3, Weight: 3}
	}
	since := &drift.Since{Commit: demoCommit(n), Time: d.clock.now().Add(-30 * time.Hour), Author: "Mika", Subject: "Move pricing out of the API's folder", Cause: drift.CodeChanged}
	if n == len(demoScores)-1 {
		r.Findings = []drift.Finding{
			{Fingerprint: "moved-pricing", Check: drift.Existence, Outcome: drift.Moved, MovedTo: "pricing", Element: "shop.api.pricing", Subject: "api/pricing/**", Message: "no file matches api/pricing/**, where the model says that Pricing is",
				Weight: 3, Gain: 4.5, New: true, Since: since, Fix: drift.Fix{File: "docs/workspace.dsl", Action: "change", Line: 36, Old: "api/pricing/**", New: "pricing/**"}},
			{Fingerprint: "basket-search", Check: drift.UndocumentedDependency, Element: "shop.web.basket", Subject: "shop.search", Message: "Basket imports Search index, and the model does not know of it", Weight: 2, Gain: 2.7,
				Since:    &drift.Since{Commit: demoCommit(8), Time: d.today.Add(-3 * week), Author: "Ana", Subject: "Suggest goods in the basket", Cause: drift.CodeChanged},
				Evidence: []drift.Place{{File: "web/basket/suggest.ts", Line: 4, Text: `import { find } from "../../search/client"`}},
				Fix:      drift.Fix{File: "docs/workspace.dsl", Action: "add", New: `shop.web.basket -> shop.search "suggests goods from"`}},
			{Fingerprint: "scripts", Check: drift.UndocumentedCode, Subject: "tools", Message: "no element owns the 6 source files in tools", Weight: 1, Gain: 1.8,
				Fix: drift.Fix{File: "stele.yaml", Action: "add", New: "tools/**", Section: "ignore", Advice: "bind it to an element, or ignore it in stele.yaml"}},
		}
		r.Waived = []drift.WaivedFinding{{Finding: drift.Finding{Fingerprint: "legacy", Check: drift.AbsentDependency, Element: "shop.backoffice", Subject: "shop.api", Message: "no import shows that Back office uses Shop API"},
			WaiverReason: "the old client is generated at build time", Expires: "2027-01-31"}}
	}
	p := memory.RunPush{Repository: "example.org/larder", Branch: "main", DefaultBranch: "main", Tracked: true, Report: r}
	for i := n; i >= 0; i-- {
		p.Ancestors = append(p.Ancestors, demoCommit(i))
	}
	c := d.acme.Caller
	c.User, c.Role, c.Tracked, c.Door = "pipeline", memory.RoleCI, true, memory.FromAPI
	pushed, err := d.service.PushRun(d.t.Context(), c, p)
	d.must(err)
	d.run = pushed.RunID
}

// work is a session that began and ended some weeks ago: it was briefed, it asked, it tells what it relied on.
func (d *demo) work(weeks float64) {
	d.t.Helper()
	task := map[float64]string{6: "Let vans take frozen goods", 3: "Renew delivery slots while people pay", 1: "Pay by invoice from the third order on"}[weeks]
	c := d.as("coder/ana")
	started, err := d.service.StartSession(d.t.Context(), c, session.StartRequest{Task: task, Elements: demoKeys("api.checkout api.delivery")})
	d.must(err)
	c.Session = started.SessionID
	for i, question := range []string{"payment callback twice", "how long is stock reserved", "room in a van"} {
		d.clock.set(d.clock.now().Add(time.Duration(4+i) * time.Minute))
		_, err = d.service.Recall(d.t.Context(), c, memory.RecallRequest{Query: question, Limit: 4})
		d.must(err)
	}
	_, err = d.service.HeartbeatSession(d.t.Context(), c, session.HeartbeatRequest{Session: c.Session, Edited: []string{"api/checkout/pay.go", "api/delivery/slots.go", "api/delivery/slots_test.go"}})
	d.must(err)
	used := []string{d.by["The provider answers twice"].Handle}
	if weeks < 6 {
		used = append(used, d.by["A van is full by crates"].Handle)
	}
	_, err = d.service.FinishSession(d.t.Context(), c, session.FinishRequest{Session: c.Session, Summary: task + ": done, with tests.",
		Decisions: []string{"The slot is renewed by the server, never by the page."}, FollowUps: []string{"Tell the phone staff how it works now."}, UsedMemories: used})
	d.must(err)
	d.session = started.SessionID
}

// doubt brings about what a review queue has beside drift: a dispute, two that say nearly the same, an import.
func (d *demo) doubt() {
	d.t.Helper()
	d.ago(0.2)
	d.confirm("coder/mika", "Guests keep a basket for 30 days", false, "the cookie lives for 14 days since the consent text changed")
	_, err := d.service.Remember(d.t.Context(), d.as("coder/mika"), memory.RememberRequest{Kind: memory.Convention, Content: "A reservation lasts 20 minutes, as `stock/reserve.go` says.", Elements: demoKeys("api.stock")})
	d.must(err)
	batch := uuid.New()
	c := d.acme.Caller
	c.User, c.Door = "kim", memory.FromImport
	for i, line := range []string{"Run `make seed` before the first start.", "The test shop is number 99.", "Vans are named by colour.", "Use the Go version of go.mod.", "Write commit messages in the present.", "Ask before adding a library.",
		"Feature flags live in `flags.toml`.", "Logs are JSON, one event a line.", "The pickers' app is tested on one handheld of each kind.", "Never log an address.", "Dates on pages are the shop's, not UTC.", "The sandbox of the provider is down on Sundays."} {
		_, err := d.service.Remember(d.t.Context(), c, memory.RememberRequest{Kind: memory.Note, Content: line, Elements: []string{"shop.backoffice.phone"}, Imported: &memory.Imported{Key: fmt.Sprint("AGENTS.md#", i), Batch: batch, User: "kim", CreatedAt: d.clock.now()}})
		d.must(err)
	}
}

// decide leaves a history of decisions, one of them taken back, and a cause to open.
func (d *demo) decide() {
	d.t.Helper()
	for i, r := range []review.DecideRequest{
		{Action: review.Confirm, Memories: []string{d.by["Deposits are no discount"].Handle}, Reason: "looked at totals.go: it still adds them last"},
		{Action: review.Snooze, Memories: []string{d.by["Where discounts stack"].Handle}, Reason: "the new discounts come next week"},
		{Action: review.Retire, Memories: []string{d.by["Handhelds are slow"].Handle}, Reason: "the handhelds were replaced"},
	} {
		d.clock.set(d.today.Add(time.Duration(i-5) * time.Hour))
		if r.Action == review.Snooze {
			until := d.today.Add(week)
			r.Until = &until
		}
		made, err := d.service.DecideReview(d.t.Context(), d.as("the reviewer"), r)
		d.must(err)
		if r.Action == review.Retire {
			_, err = d.service.UndoReview(d.t.Context(), d.as("the reviewer"), made.ID)
			d.must(err)
		}
	}
	q, err := d.service.ReviewQueue(d.t.Context(), d.as("kim"), review.QueueRequest{All: true, Reasons: []review.Reason{review.Drifted}})
	d.must(err)
	if len(q.Groups) == 0 {
		d.t.Fatal("nothing of the demo drifted")
	}
	d.group = q.Groups[0].ID
}

// atWork are two sessions that meet, and one that does not.
func (d *demo) atWork() {
	d.t.Helper()
	for i, s := range []struct{ who, task, elements string }{
		{"coder/ana", "Show the deposit in the basket", "web.basket api.pricing"},
		{"coder/kim", "Print picking lists by shelf", "backoffice.picking"},
		{"coder/mika", "Round discounts the way the till does", "api.pricing"},
		{"coder/kim", "Move invoices to the new template", "worker.invoices"},
	} {
		d.clock.set(d.today.Add(time.Duration(6*i-26) * time.Minute))
		_, err := d.service.StartSession(d.t.Context(), d.as(s.who), session.StartRequest{Task: s.task, Elements: demoKeys(s.elements)})
		d.must(err)
	}
}
