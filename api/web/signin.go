package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

type signInService interface {
	SignIn(ctx context.Context, text string) (memory.SignIn, error)
	SignOut(ctx context.Context, text string) error
	Projects(ctx context.Context, c memory.Caller) ([]memory.ProjectInfo, error)
	FindProject(ctx context.Context, c memory.Caller, ref string) (memory.ProjectInfo, error)
}

// The cookies: who signed in, and how pages look. Over TLS the first cannot be set by another host of the same domain.
const (
	signInCookie       = "stele"
	secureSignInCookie = "__Host-stele"
	themeCookie        = "stele_theme"
)

// signInOf reads the sign-in of a request.
func signInOf(r *http.Request) (string, error) {
	for _, name := range []string{secureSignInCookie, signInCookie} {
		if c, err := r.Cookie(name); err == nil && c.Value != "" {
			return c.Value, nil
		}
	}
	return "", problem.New(problem.Unauthenticated, "", "nobody is signed in", "sign in with a token, or with the link that stele open prints")
}

// overTLS tells whether the browser speaks TLS, here or with the proxy before us.
func overTLS(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// askToSignIn sends a browser to the sign-in, and back afterwards.
func (p *Pages) askToSignIn(w http.ResponseWriter, r *http.Request, err error) {
	v := &visit{Pages: p, w: w, r: r}
	if !problem.Is(err, problem.Unauthenticated) || r.Pattern == streamPattern {
		v.fail(err)
		return
	}
	to := "/sign-in"
	if r.Method == http.MethodGet && r.URL.Path != "/" {
		to += "?to=" + url.QueryEscape(r.URL.RequestURI())
	}
	if r.Header.Get("Hx-Request") != "" {
		w.Header().Set("Hx-Redirect", to)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

type signInView struct {
	To, Link, Wrong string
}

// local is an address of this server, "/" for anything else.
func local(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\n\r") {
		return "/"
	}
	return to
}

// signInPage asks for a token. A link asks for one click: what only looks at addresses must not use it up.
func (p *Pages) signInPage(v *visit) error {
	q := v.r.URL.Query()
	return v.show(http.StatusOK, "signin", "Sign in", signInView{To: local(q.Get("to")), Link: q.Get("link")})
}

func (p *Pages) signIn(v *visit) error {
	form, err := v.form()
	if err != nil {
		return err
	}
	to := local(form.Get("to"))
	in, err := p.Service.SignIn(v.ctx(), strings.TrimSpace(form.Get("token")))
	if problem.Is(err, problem.Unauthenticated) || problem.Is(err, problem.Forbidden) {
		pr, _ := problem.As(err)
		return v.show(http.StatusUnauthorized, "signin", "Sign in", signInView{To: to, Wrong: pr.Detail})
	}
	if err != nil {
		return err
	}
	c := &http.Cookie{Name: signInCookie, Value: in.Text, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Expires: in.ExpiresAt}
	if overTLS(v.r) {
		c.Name, c.Secure = secureSignInCookie, true
	}
	http.SetCookie(v.w, c)
	return v.redirect(to)
}

func (p *Pages) signOut(v *visit) error {
	text, err := signInOf(v.r)
	if err != nil {
		return err
	}
	if err := p.Service.SignOut(v.ctx(), text); err != nil {
		return err
	}
	for _, name := range []string{signInCookie, secureSignInCookie} {
		//nolint:gosec // it takes a cookie back, which has to be named as it was set
		http.SetCookie(v.w, &http.Cookie{Name: name, Path: "/", HttpOnly: true, Secure: name == secureSignInCookie, SameSite: http.SameSiteStrictMode, MaxAge: -1})
	}
	return v.redirect("/sign-in")
}

// The themes.
var themes = []string{"system", "light", "dark"}

func theme(r *http.Request) string {
	if c, err := r.Cookie(themeCookie); err == nil && (c.Value == "light" || c.Value == "dark") {
		return c.Value
	}
	return "system"
}

// setTheme keeps how pages look on this browser.
func (p *Pages) setTheme(v *visit) error {
	form, err := v.form()
	if err != nil {
		return err
	}
	wanted := form.Get("theme")
	if !slices.Contains(themes, wanted) {
		return problem.Invalidf("theme", "that is no theme").Fix("choose system, light or dark")
	}
	const year = 365 * 24 * time.Hour
	//nolint:gosec // it says how pages look, and nothing is lost when it is read
	http.SetCookie(v.w, &http.Cookie{Name: themeCookie, Value: wanted, Path: "/", HttpOnly: true, Secure: overTLS(v.r),
		SameSite: http.SameSiteLaxMode, MaxAge: int(year / time.Second)})
	return v.redirect(local(form.Get("to")))
}

// home is the only project, else the choice.
func (p *Pages) home(v *visit) error {
	if v.caller.Bound != uuid.Nil {
		return v.redirect("/p/" + v.caller.Bound.String() + "/")
	}
	projects, err := p.Service.Projects(v.ctx(), v.caller)
	if err != nil {
		return err
	}
	if len(projects) == 1 {
		v.project = projects[0]
		return v.redirect(v.place())
	}
	return v.show(http.StatusOK, "projects", "Projects", projects)
}
