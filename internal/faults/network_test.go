package faults_test

import (
	"errors"
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"
)

// network stands between a server and its database: a TCP port that passes everything on to the socket of the database,
// until it is told otherwise.
type network struct {
	listener net.Listener
	socket   string

	mu       sync.Mutex
	changed  *sync.Cond
	state    networkState
	pairs    []*pair
	dropped  int // connections that were cut or refused
	withheld int // bytes that waited or are lost
	workers  sync.WaitGroup
}

type networkState int

const (
	passing networkState = iota
	cutOff               // connections are reset, and so is every new one
	stalled              // nothing arrives, and nobody is told; what was sent arrives later
	closed
)

// pair is one connection through the network.
type pair struct {
	near, far net.Conn
	forgotten bool // nothing arrives any more, for good, and nobody is told
}

// newNetwork begins to pass on what arrives at its address.
func newNetwork(t *testing.T, socket string) *network {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &network{listener: l, socket: socket}
	n.changed = sync.NewCond(&n.mu)
	n.workers.Go(n.accept)
	t.Cleanup(n.close)
	return n
}

// through gives the address of the database by way of the network.
func (n *network) through(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.Host, u.RawQuery = n.listener.Addr().String(), "sslmode=disable"
	return u.String()
}

func (n *network) accept() {
	for {
		near, err := n.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		n.mu.Lock()
		if n.state == cutOff {
			n.dropped++
			reset(near)
			n.mu.Unlock()
			continue
		}
		n.mu.Unlock()
		far, err := net.Dial("unix", n.socket) //nolint:noctx // a socket of this machine answers or refuses at once
		if err != nil {
			reset(near)
			continue
		}
		p := &pair{near: near, far: far}
		n.mu.Lock()
		n.pairs = append(n.pairs, p)
		n.mu.Unlock()
		n.workers.Go(func() { n.pump(p, near, far) })
		n.workers.Go(func() { n.pump(p, far, near) })
	}
}

// pump passes on what one side says, and that it has ended.
func (n *network) pump(p *pair, from, to net.Conn) {
	buffer := make([]byte, 64<<10)
	for {
		got, err := from.Read(buffer)
		if !n.passes(p, got) {
			return
		}
		if got > 0 {
			if _, werr := to.Write(buffer[:got]); werr != nil {
				err = werr
			}
		}
		if err != nil {
			n.drop(p)
			return
		}
	}
}

// passes waits as long as nothing passes, and tells whether it does at last.
func (n *network) passes(p *pair, bytes int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.state == stalled || p.forgotten {
		n.withheld += bytes
	}
	for n.state == stalled && !p.forgotten {
		n.changed.Wait()
	}
	return !p.forgotten && n.state != closed
}

func (n *network) drop(p *pair) {
	_, _ = p.near.Close(), p.far.Close() // whoever reads them learns of it
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pairs = slices.DeleteFunc(n.pairs, func(o *pair) bool { return o == p })
}

// reset closes a connection without a farewell.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // what fails here makes the farewell a polite one
	}
	_ = c.Close()
}

// cut resets every connection and refuses new ones.
func (n *network) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.state = cutOff
	for _, p := range n.pairs {
		n.dropped++
		reset(p.near)
		_ = p.far.Close()
	}
	n.changed.Broadcast()
}

// stall lets nothing through until it is mended.
func (n *network) stall() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.state = stalled
}

// forget lets nothing through on the connections there are, for good, as a firewall does that lost its table. New ones pass.
// It tells how many there were.
func (n *network) forget() (connections int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.pairs {
		if !p.forgotten {
			p.forgotten = true
			connections++
		}
	}
	n.changed.Broadcast()
	return connections
}

func (n *network) mend() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.state = passing
	n.changed.Broadcast()
}

// lost tells how much was kept from arriving so far.
func (n *network) lost() (connections, bytes int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dropped, n.withheld
}

func (n *network) close() {
	_ = n.listener.Close() // nobody is told
	n.mu.Lock()
	n.state = closed
	for _, p := range n.pairs {
		_, _ = p.near.Close(), p.far.Close()
	}
	n.changed.Broadcast()
	n.mu.Unlock()
	n.workers.Wait()
}
