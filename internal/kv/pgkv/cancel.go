package pgkv

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// When a connection is given up pgx asks the server, on another connection, to cancel what it was at, and waits for it to
// hang up, for 15 seconds in all. As long as it does the pool has one connection less, which is how long a
// server would go on waiting that was cut off. So it is given less.

// partFor is how long each of the two takes at most.
const partFor = 2 * time.Second

// errUncancelled is why nothing is cancelled on connections for writes.
var errUncancelled = errors.New("pgkv: commits are not cancelled")

// parting returns how connections are made that cancel what they are at when they are given up, in a short time, or do not:
// what waits for locks the server ends by itself, when it finds that nobody is there. Once a connection is made, pgx dials
// again only for that.
func parting(config *pgxpool.Config, cancels bool) *pgxpool.Config {
	config = config.Copy()
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		dial, made := c.DialFunc, new(atomic.Bool)
		c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			switch {
			case !made.Load():
				return dial(ctx, network, address)
			case !cancels:
				return nil, errUncancelled
			}
			return dialBriefly(ctx, dial, network, address)
		}
		c.AfterConnect = func(context.Context, *pgconn.PgConn) error {
			made.Store(true)
			return nil
		}
		return nil
	}
	return config
}

// dialBriefly makes a connection that is there for a short time only.
func dialBriefly(ctx context.Context, dial pgconn.DialFunc, network, address string) (net.Conn, error) {
	end := time.Now().Add(partFor)
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	conn, err := dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(end); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
