package server

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"

	"github.com/sectional/sectional/internal/outgoing"
)

// CheckDynamoDB refuses what is no address for the DynamoDB API to listen on, "" being
// none, and an open one that other machines can reach.
func CheckDynamoDB(address string, open bool) error {
	if address == "" {
		if open {
			return errors.New("--dynamodb-open is how --dynamodb listens, which is not there")
		}
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("--dynamodb %s: %w", address, err)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("--dynamodb %s: %q is not a port", address, port)
	}
	if open && !outgoing.ThisMachine(host) {
		return fmt.Errorf("--dynamodb-open: other machines can reach %s; listen on 127.0.0.1, or give users access keys", address)
	}
	return nil
}

// demoDynamoDB is where the DynamoDB API listens beside a demo, if nobody else does.
const demoDynamoDB = "127.0.0.1:8000"

// sessionsPath is where the DynamoDB API answers beside CouchDB's, for those who have logged in
// there: the dashboard asks its statements here.
const sessionsPath = "/_dynamodb"

// apis answers for CouchDB's API, and at one path for the DynamoDB API.
func (a *instance) apis() http.Handler {
	sessions := a.DynamoDB.Sessions()
	return http.HandlerFunc(func(w http.ResponseWriter, h *http.Request) {
		if h.URL.Path == sessionsPath {
			sessions.ServeHTTP(w, h)
			return
		}
		a.API.ServeHTTP(w, h)
	})
}

// listenDynamoDB opens the listener of the DynamoDB API, whose address a.dynamoAddress is then; nil
// for none.
func (a *instance) listenDynamoDB() (net.Listener, error) {
	if a.o.DynamoDB == "" && !a.o.Demo {
		return nil, nil
	}
	l, err := listenAt(cmp.Or(a.o.DynamoDB, demoDynamoDB), "--dynamodb")
	if err != nil && a.o.DynamoDB == "" { // it was not asked for
		a.log.Info("the demo has no DynamoDB API", "cause", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	a.dynamoAddress = l.Addr().String()
	return l, nil
}
