package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"
)

// Server is a Stele server that serves from this data folder.
type Server struct {
	URL          string `json:"url"`
	Organization string `json:"organization"` // name of the one that the token of this machine is for
}

// announcing is how long a server waits for the file to be free before another server has it for good.
const announcing = 200 * time.Millisecond

func (f folder) servingFile() string { return f.path("serving") }

// Announce tells other processes of this machine that a server serves from the data folder, until withdraw is called or the process ends
// in whatever way: the file that says so is locked as long. Where another server announced itself already, it stays with that.
func (c *Cluster) Announce(ctx context.Context, s Server) (withdraw func(), err error) {
	// Whoever looks holds the lock for a moment.
	wait, cancel := context.WithTimeout(ctx, announcing)
	defer cancel()
	f, err := lockFile(wait, c.folder.servingFile(), exclusive)
	if err != nil && wait.Err() != nil {
		return func() {}, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(s)
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(text, 0)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil // the lock goes with it, and without it the file says nothing
}

// Announced gives the server that announced itself and is alive; false where there is none.
func (c *Cluster) Announced() (Server, bool) {
	f, err := os.Open(c.folder.servingFile())
	if err != nil {
		return Server{}, false
	}
	defer f.Close()
	if free, err := tryFlock(f, shared); err != nil || free {
		return Server{}, false // whoever wrote it is gone, and somebody else may listen there
	}
	var s Server
	return s, json.NewDecoder(f).Decode(&s) == nil && s.URL != ""
}
