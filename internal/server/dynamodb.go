package server

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/sectional/sectional/internal/admission"
	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dynamoapi"
	"github.com/sectional/sectional/internal/outgoing"
	"github.com/sectional/sectional/internal/web"
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
		return fmt.Errorf("--dynamodb %s: %q is no port", address, port)
	}
	if open && !outgoing.ThisMachine(host) {
		return fmt.Errorf("--dynamodb-open: other machines can reach %s; listen on 127.0.0.1, or give users access keys", address)
	}
	return nil
}

// demoDynamoDB is where the DynamoDB API listens beside a demo, if nobody else does.
const demoDynamoDB = "127.0.0.1:8000"

// openDynamoDB makes the handler of the DynamoDB API, where it listens.
func (a *assembly) openDynamoDB(rules *admission.Rules) {
	if a.o.DynamoDB == "" && !a.o.Demo {
		return
	}
	a.dynamo = dynamoapi.New(dynamoapi.Options{
		Shared: a.api.Shared, Store: a.store, Auth: a.auth, Rules: rules, Open: a.o.DynamoDBOpen,
		Settings: func() *web.Settings { return &a.api.Settings.Value().Web },
		Access:   func() *auth.Security { return a.api.Settings.Value().DefaultAccess },
	})
}

// listenDynamoDB opens the listener of the DynamoDB API; nil for none.
func (a *assembly) listenDynamoDB() (net.Listener, error) {
	if a.dynamo == nil {
		return nil, nil
	}
	if a.o.DynamoDB != "" {
		return net.Listen("tcp", a.o.DynamoDB)
	}
	l, err := net.Listen("tcp", demoDynamoDB)
	if err != nil {
		a.log.Info("the demo has no DynamoDB API", "cause", err)
		a.dynamo = nil // it was not asked for
		return nil, nil
	}
	return l, nil
}
