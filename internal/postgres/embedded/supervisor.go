package embedded

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/stele-dev/stele/internal/postgres/installation"
	"github.com/stele-dev/stele/internal/problem"
)

// orderVariable carries a supervisor's order from the client that starts it.
const orderVariable = "STELE_DB_RUN"

// order is what a supervisor is told to do.
type order struct {
	Config       Config                    `json:"config"`
	Installation installation.Installation `json:"installation"`
}

// answer is the one line a supervisor writes to its starter.
type answer struct {
	Problem *problem.Error `json:"problem,omitempty"`
	Fault   string         `json:"fault,omitempty"`
}

// state is what the supervisor's file tells about it.
type state struct {
	Supervisor   int                       `json:"supervisor_pid"`
	Server       int                       `json:"server_pid"`
	Installation installation.Installation `json:"installation"`
	StartedAt    time.Time                 `json:"started_at"`
}

// spawnSupervisor starts the supervisor, detached, and waits until its server is ready.
func (c *Cluster) spawnSupervisor(ctx context.Context, inst installation.Installation) error {
	text, err := json.Marshal(order{Config: c.cfg, Installation: inst})
	if err != nil {
		return err
	}
	argv := append(append([]string{}, c.cfg.Supervisor...), c.cfg.DataDir)
	log, err := openLog(c.folder.path("log", "supervisor.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // it outlives the caller
	cmd.Dir = c.cfg.DataDir
	cmd.Env = append(plainEnvironment(), orderVariable+"="+string(text))
	cmd.Stdout, cmd.Stderr = write, log
	detach(cmd)
	err = cmd.Start()
	if cerr := write.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("starting the database's supervisor: %w", err)
	}
	pid := cmd.Process.Pid
	if err := cmd.Process.Release(); err != nil {
		return err
	}
	c.mu.Lock()
	c.spawned = append(c.spawned, pid)
	c.mu.Unlock()
	// Closing the pipe ends the read; the supervisor goes on and the next caller finds it.
	stop := context.AfterFunc(ctx, func() { _ = read.SetReadDeadline(time.Now()) })
	defer stop()
	line, err := bufio.NewReader(read).ReadBytes('\n')
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return c.folder.notReady("its supervisor ended: " + lastLines(c.folder.path("log", "supervisor.log"), 1))
	}
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		return fmt.Errorf("the database's supervisor said %q", line)
	}
	if a.Problem != nil {
		return a.Problem
	}
	if a.Fault != "" {
		return errors.New(a.Fault)
	}
	return nil
}

// Detach makes a command survive this process and its terminal, as the supervisor does.
func Detach(cmd *exec.Cmd) { detach(cmd) }

// Supervise is the whole of `stele db run`: it runs the server until no client has been there for the idle time, or
// until it is told to stop by SIGTERM. It reads its order from the environment, tells its starter on standard output
// when the server is ready, and logs to standard error.
func Supervise(ctx context.Context) error {
	text, ok := os.LookupEnv(orderVariable)
	if !ok {
		return problem.New(problem.Invalid, "", "this command is for Stele itself", "start the database by using it, stop it with: stele db stop")
	}
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return fmt.Errorf("reading the supervisor's order: %w", err)
	}
	c, err := New(o.Config)
	if err != nil {
		return tell(os.Stdout, err)
	}
	ctx, cancel := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	signal.Ignore(syscall.SIGHUP)
	s := supervisor{cluster: c, folder: c.folder, log: slog.New(slog.NewTextHandler(os.Stderr, nil)), now: time.Now, server: server{
		folder: c.folder, inst: o.Installation, dataDir: c.folder.dataDir(), maxConnections: c.cfg.MaxConnections, unsafe: c.cfg.Unsafe,
	}}
	return s.run(ctx, os.Stdout)
}

// tell gives the starter the outcome and closes its pipe.
func tell(w io.WriteCloser, outcome error) error {
	var a answer
	if p, ok := problem.As(outcome); ok {
		a.Problem = p
	} else if outcome != nil {
		a.Fault = outcome.Error()
	}
	text, err := json.Marshal(a)
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	// A starter that is gone is no reason to stop: others may come.
	_ = err
	return errors.Join(outcome, w.Close())
}

type supervisor struct {
	cluster *Cluster
	folder  folder
	server  server
	log     *slog.Logger
	now     func() time.Time
	clients *os.File // locked once the decision to stop for idleness has fallen
}

const (
	maxRestarts   = 5           // of a server that dies, within restartWindow
	restartWindow = time.Minute // after that many it is not an accident
)

func (s *supervisor) run(ctx context.Context, starter io.WriteCloser) (err error) {
	lockContext, cancel := context.WithTimeout(ctx, 5*time.Second)
	lock, err := lockFile(lockContext, s.folder.supervisorFile(), exclusive)
	cancel()
	if err != nil {
		return tell(starter, err)
	}
	defer lock.Close()
	started := s.now()
	// Who runs is known from here on; the server's process id follows.
	if err := s.note(lock, 0, started); err != nil {
		return tell(starter, err)
	}
	startContext, cancel := context.WithTimeout(ctx, startTimeout)
	p, err := s.server.start(startContext)
	cancel()
	if err == nil {
		err = s.note(lock, p.pid, started)
	}
	if err := tell(starter, err); err != nil {
		return err
	}
	s.log.Info("server is ready", "pid", p.pid, "version", s.server.inst.Version, "took", s.now().Sub(started))
	backups := startBackups(ctx, s)
	defer backups.stop()
	var deaths []time.Time
	for {
		reason, err := s.watch(ctx, p, backups)
		if err != nil {
			return errors.Join(err, p.stop(context.WithoutCancel(ctx)))
		}
		if reason != serverDied {
			s.log.Info("stopping the server", "why", reason)
			backups.stop()
			return s.shutDown(context.WithoutCancel(ctx), p)
		}
		now := s.now()
		deaths = append(deaths, now)
		if len(deaths) >= maxRestarts && now.Sub(deaths[len(deaths)-maxRestarts]) < restartWindow {
			return s.folder.notReady(fmt.Sprintf("it ended %d times within %v", maxRestarts, restartWindow))
		}
		s.log.Warn("the server ended, starting it again")
		restart, cancel := context.WithTimeout(ctx, startTimeout)
		err = s.folder.stopStrays(restart)
		if err == nil {
			p, err = s.server.start(restart)
		}
		cancel()
		if err == nil {
			err = s.note(lock, p.pid, started)
		}
		if err != nil {
			return err
		}
	}
}

// note writes the supervisor's state into the file it holds locked.
func (s *supervisor) note(lock *os.File, server int, started time.Time) error {
	text, err := json.Marshal(state{Supervisor: os.Getpid(), Server: server, Installation: s.server.inst, StartedAt: started.UTC()})
	if err != nil {
		return err
	}
	if err := lock.Truncate(0); err != nil {
		return err
	}
	_, err = lock.WriteAt(append(text, '\n'), 0)
	return err
}

func (f folder) readState() (state, error) {
	var st state
	text, err := os.ReadFile(f.supervisorFile())
	if err != nil {
		return st, err
	}
	return st, json.Unmarshal(text, &st)
}

// Why watching ended.
type ending string

const (
	serverDied ending = "the server died"
	toldTo     ending = "told to"
	idle       ending = "nobody uses it"
	folderGone ending = "the data folder is gone"
)

// watch returns when there is something to do. It returns idle with the clients' file locked, so that whoever comes now
// waits until the server is down and then starts it again.
func (s *supervisor) watch(ctx context.Context, p *process, backups *backups) (ending, error) {
	limit := s.cluster.cfg.Idle
	ticker := time.NewTicker(min(max(limit/10, 20*time.Millisecond), 5*time.Second))
	defer ticker.Stop()
	lastSeen := s.now()
	for {
		select {
		case <-ctx.Done():
			return toldTo, nil
		case <-p.done:
			return serverDied, nil
		case <-ticker.C:
		}
		info, err := os.Stat(s.folder.clientsFile())
		if errors.Is(err, os.ErrNotExist) {
			return folderGone, nil
		}
		if err != nil {
			return "", err
		}
		clients, err := openLock(s.folder.clientsFile())
		if err != nil {
			return "", err
		}
		alone, err := tryFlock(clients, exclusive)
		if err != nil {
			return "", errors.Join(err, clients.Close())
		}
		// A client that came and went between two looks left its time on the file.
		if info.ModTime().After(lastSeen) {
			lastSeen = info.ModTime()
		}
		if !alone || backups.busy() {
			lastSeen = s.now()
		}
		if alone && s.now().Sub(lastSeen) >= limit {
			s.clients = clients // keeps the lock until the process ends
			return idle, nil
		}
		if err := clients.Close(); err != nil {
			return "", err
		}
		backups.wake()
	}
}

// shutDown stops the server and removes what is outside the data folder.
func (s *supervisor) shutDown(ctx context.Context, p *process) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	err := p.stop(ctx)
	if s.folder.socketDir != s.folder.path("run") {
		err = errors.Join(err, os.RemoveAll(s.folder.socketDir))
	}
	return err
}
