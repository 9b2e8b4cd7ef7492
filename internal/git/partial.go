package git

import (
	"context"
	"slices"
	"strings"
)

// Bring fetches those of some texts that this clone lacks, where git would otherwise fetch one by one as they are asked for: a
// clone that was made with a filter is without most of them. It does nothing in any other clone. Whether the remote had them is
// seen when they are read.
func (r *Repository) Bring(ctx context.Context, blobs []string) error {
	remote, err := r.promisor(ctx)
	if err != nil || remote == "" || len(blobs) == 0 {
		return err
	}
	out, err := r.feed(ctx, strings.Join(blobs, "\n")+"\n", "rev-list", "--objects", "--no-walk", "--missing=print", "--ignore-missing", "--stdin")
	if err != nil {
		return err
	}
	here := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		here[strings.TrimSpace(line)] = true
	}
	missing := slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(blobs))), func(b string) bool { return here[b] })
	if len(missing) == 0 {
		return nil
	}
	_, err = r.feed(ctx, strings.Join(missing, "\n")+"\n", "-c", "fetch.negotiationAlgorithm=noop", "fetch", "--quiet", "--no-tags",
		"--no-write-fetch-head", "--no-auto-maintenance", "--recurse-submodules=no", "--filter=blob:none", "--stdin", remote)
	if ctx.Err() != nil {
		return err
	}
	return nil // git says what it could not have once it is asked for
}

// promisor is the remote from which a clone has what it was made without; "" for a clone that is whole.
func (r *Repository) promisor(ctx context.Context) (string, error) {
	r.partial.Lock()
	defer r.partial.Unlock()
	if r.partial.known {
		return r.partial.remote, nil
	}
	out, err := r.output(ctx, "config", "-z", "--get-regexp", `^remote\..*\.promisor$`)
	if err != nil && status(err) != 1 { // 1 says that none is set
		return "", err
	}
	for entry := range strings.SplitSeq(string(out), "\x00") {
		key, value, _ := strings.Cut(entry, "\n")
		if name := strings.TrimSuffix(strings.TrimPrefix(key, "remote."), ".promisor"); r.partial.remote == "" && value == "true" && !strings.HasPrefix(name, "-") {
			r.partial.remote = name
		}
	}
	r.partial.known = true
	return r.partial.remote, nil
}
