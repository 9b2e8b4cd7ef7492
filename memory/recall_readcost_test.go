//go:build readbench

package memory_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stele-dev/stele/memory"
)

func procCPU(pid int) time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseInt(strings.Fields(string(b))[0], 10, 64)
	return time.Duration(n)
}

func selfCPU() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(0, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func TestReadBench(t *testing.T) {
	for _, f := range strings.Split(os.Getenv("READBENCH"), ",") {
		n, _ := strconv.Atoi(f)
		l := load(t, n, 1)
		c := l.c
		c.Session = "bench"
		admin := l.h.database.ConnectAdmin(t)
		pids := func() (out []int) {
			rows, _ := admin.Query(context.Background(), "select pid from pg_stat_activity where datname=current_database() and usename='stele_app'")
			for rows.Next() {
				var p int
				_ = rows.Scan(&p)
				out = append(out, p)
			}
			return
		}
		qs := l.questions(300)
		for _, q := range qs[:100] {
			_, err := l.Recall(context.Background(), c, memory.RecallRequest{Query: q})
			l.must(err)
		}
		if os.Getenv("READLOG") != "" {
			var db string
			_ = admin.QueryRow(context.Background(), "select current_database()").Scan(&db)
			_, err := admin.Exec(context.Background(), "alter role stele_app in database "+db+" set log_min_duration_statement = 0")
			l.must(err)
			_, err = admin.Exec(context.Background(), "select pg_terminate_backend(pid) from pg_stat_activity where usename='stele_app' and datname=current_database()")
			l.must(err)
			time.Sleep(time.Second)
			for _, q := range qs[:10] {
				_, _ = l.Recall(context.Background(), c, memory.RecallRequest{Query: q})
			}
			fmt.Println("LOGDB", db)
			time.Sleep(100 * time.Millisecond)
		}
		var total, db, wall []time.Duration
		for _, q := range qs {
			ps := pids()
			before := time.Duration(0)
			for _, p := range ps {
				before += procCPU(p)
			}
			s, w := selfCPU(), time.Now()
			_, err := l.Recall(context.Background(), c, memory.RecallRequest{Query: q})
			l.must(err)
			dw, ds := time.Since(w), selfCPU()-s
			after := time.Duration(0)
			for _, p := range ps {
				after += procCPU(p)
			}
			total = append(total, ds+after-before)
			db = append(db, after-before)
			wall = append(wall, dw)
		}
		for name, x := range map[string][]time.Duration{"cpu": total, "db": db, "wall": wall} {
			slices.Sort(x)
			fmt.Println(n, name, "p50", x[len(x)/2], "p95", x[len(x)*95/100], "max", x[len(x)-1])
		}
	}
}
