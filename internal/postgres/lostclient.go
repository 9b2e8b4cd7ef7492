package postgres

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// lostClient is what makes the server end a session within a minute of losing its client, with all that the session holds:
// elections and other advisory locks, which no timeout of statements or transactions ends. By the systems' defaults it takes
// two hours. The server asks whether the client is there after 20 s without a word, three times in 10 s, and what it sent is
// acknowledged in 50 s or never; the machine of the client answers, however busy the program is.
var lostClient = []struct{ setting, value string }{
	{"tcp_keepalives_idle", "20s"},
	{"tcp_keepalives_interval", "10s"},
	{"tcp_keepalives_count", "3"},
	{"tcp_user_timeout", "50s"},
}

// missClient makes every connection ask the server to notice when its client is gone. What the address itself says about it
// stays. It is asked after the connection stands: poolers refuse parameters they do not know when it begins.
func missClient(config *pgconn.Config) {
	var ask strings.Builder
	for _, s := range lostClient {
		if _, said := config.RuntimeParams[s.setting]; !said {
			ask.WriteString("SET " + s.setting + " = " + quoteLiteral(s.value) + ";")
		}
	}
	statements := ask.String()
	config.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		if statements == "" || conn.Conn().RemoteAddr().Network() == "unix" {
			return nil // the system ends both sides of a socket at once
		}
		return conn.Exec(ctx, statements).Close()
	}
}
