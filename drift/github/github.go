// Package github is what Stele and GitHub have to say to each other on a server: pushes that GitHub tells of, and the question
// whether a branch has a commit.
package github

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	gh "github.com/google/go-github/v60/github"

	"github.com/stele-dev/stele/internal/problem"
)

// Push is what a webhook tells: new commits on a branch of a repository.
type Push struct {
	Repository string // host/owner/name, in lower case
	Branch     string
	Commit     string // at the tip
}

// MaxPayload bounds the body of a webhook, in bytes. GitHub sends up to 25 MB; what a push says that matters here comes in the
// same object as its list of commits, which GitHub cuts at 2048.
const MaxPayload = 8 << 20

// ParsePush checks the signature of a webhook and reads the push in it. ok is false for events that are none: pings, tags, a
// branch that was deleted. A body that nobody signed with the secret is a problem of code Unauthenticated.
func ParsePush(header http.Header, body []byte, secret string) (p Push, ok bool, err error) {
	if err := gh.ValidateSignature(header.Get(gh.SHA256SignatureHeader), body, []byte(secret)); err != nil || secret == "" {
		return Push{}, false, problem.New(problem.Unauthenticated, "", "the signature is not that of this server's webhook secret",
			"set the same secret at GitHub and in STELE_GITHUB_WEBHOOK_SECRET")
	}
	event, err := gh.ParseWebHook(header.Get(gh.EventTypeHeader), body)
	if err != nil {
		return Push{}, false, problem.Invalidf("", "the event cannot be read").Fix("choose application/json as the content type of the webhook").Because(err)
	}
	push, isPush := event.(*gh.PushEvent)
	if !isPush || push.GetDeleted() {
		return Push{}, false, nil
	}
	branch, isBranch := strings.CutPrefix(push.GetRef(), "refs/heads/")
	if !isBranch {
		return Push{}, false, nil
	}
	u, err := url.Parse(push.GetRepo().GetHTMLURL())
	if err != nil || u.Host == "" {
		return Push{}, false, problem.Invalidf("repository", "the event names no repository")
	}
	return Push{Repository: strings.ToLower(u.Host + strings.TrimSuffix(u.Path, "/")), Branch: branch, Commit: push.GetAfter()}, true, nil
}

// Client asks GitHub's API.
type Client struct {
	api  *gh.Client
	host string // of the repositories
}

// NewClient makes a client of github.com, or of the API at base. Without a token it sees public repositories only.
func NewClient(token, base string, transport http.RoundTripper) (*Client, error) {
	c := gh.NewClient(&http.Client{Transport: transport})
	if token != "" {
		c = c.WithAuthToken(token)
	}
	if base != "" {
		u, err := url.Parse(strings.TrimSuffix(base, "/") + "/")
		if err != nil {
			return nil, fmt.Errorf("the address of GitHub's API: %w", err)
		}
		c.BaseURL = u
	}
	return &Client{api: c, host: strings.TrimPrefix(c.BaseURL.Hostname(), "api.")}, nil
}

// Contains tells whether a branch of a repository ("github.com/owner/name") has a commit. A repository elsewhere, or one that
// the token may not see, is an error.
func (c *Client) Contains(ctx context.Context, repository, branch, commit string) (bool, error) {
	owner, name, err := c.split(repository)
	if err != nil || strings.Contains(branch, ":") { // before a colon stands the owner of another repository
		return false, cmp.Or(err, fmt.Errorf("%q is no branch of %s", branch, repository))
	}
	compared, response, err := c.api.Repositories.CompareCommits(ctx, owner, name, branch, commit, &gh.ListOptions{PerPage: 1})
	if response != nil && response.StatusCode == http.StatusNotFound {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("asking GitHub whether %s has a commit: %w", repository, err)
	}
	// The commit is on the branch when it adds nothing to it.
	return compared.GetAheadBy() == 0 && (compared.GetStatus() == "identical" || compared.GetStatus() == "behind"), nil
}

// DefaultBranch is the branch that a repository ("github.com/owner/name") names as its default.
func (c *Client) DefaultBranch(ctx context.Context, repository string) (string, error) {
	owner, name, err := c.split(repository)
	if err != nil {
		return "", err
	}
	found, _, err := c.api.Repositories.Get(ctx, owner, name)
	if err != nil {
		return "", fmt.Errorf("asking GitHub for the default branch of %s: %w", repository, err)
	}
	return found.GetDefaultBranch(), nil
}

// split takes "host/owner/name" apart. Another host than that of the API keeps another repository of the same name.
func (c *Client) split(repository string) (owner, name string, err error) {
	host, rest, _ := strings.Cut(repository, "/")
	owner, name, ok := strings.Cut(rest, "/")
	if !ok || owner == "" || name == "" || strings.Contains(name, "/") || !strings.EqualFold(host, c.host) {
		return "", "", fmt.Errorf("%q is no repository of %s", repository, c.host)
	}
	return owner, name, nil
}
