// Command conformance stands between the judges of the Model Context Protocol and a Stele server: they can send no
// token, and the server wants one with every request. It passes each request on with the token of STELE_TOKEN and
// changes nothing else, so that what is judged is the server's own answer. scripts/conformance.sh runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	server := flag.String("server", "http://127.0.0.1:7420", "address of the Stele server")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *server, os.Getenv("STELE_TOKEN")); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1) //nolint:gocritic // the deferred call only restores signals, and the process ends here
	}
}

// run serves on a free port of this machine until ctx is done. It prints its own address first.
func run(ctx context.Context, server, token string) error {
	if token == "" {
		return errors.New("STELE_TOKEN is empty; set it to a token of the server, as `stele token create` prints it")
	}
	target, err := url.Parse(server)
	if err != nil || target.Host == "" {
		return fmt.Errorf("%q is no address of a server; write http://127.0.0.1:7420", server)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &http.Server{Handler: withToken(target, token), ReadHeaderTimeout: 10 * time.Second}
	stopped := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stopped()
	fmt.Fprintf(os.Stdout, "http://%s\n", l.Addr())
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// withToken passes requests on to target, each with the token and otherwise as it came: Host and Origin, which the server
// judges, and every header of the protocol. Answers are passed back as they come.
func withToken(target *url.URL, token string) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
			r.Out.Header.Set("Authorization", "Bearer "+token)
		},
		FlushInterval: -1,
	}
}
