package server

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchapi/admin"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

const (
	// jobLease is how long work in the background stays with a server that shows no sign of
	// life.
	jobLease = 7 * time.Second
	// refreshEvery is how often it is looked whether another server has set something.
	refreshEvery = time.Second
)

// takeConfiguration reads the configuration again, since before the directory was locked
// another server may have written it, and takes over what the servers of a shared store
// have set.
func (a *instance) takeConfiguration() error {
	if !kv.IsShared(a.engine) {
		return a.config.Reload()
	}
	return a.config.Share(store.ConfigurationIn(a.engine))
}

// amongServers says in options of the store which server this is among those of its
// engine. Where it is alone nothing is said.
func (a *instance) amongServers() (o store.Options, err error) {
	if !kv.IsShared(a.engine) {
		return o, nil
	}
	var id [8]byte
	rand.Read(id[:]) // never fails
	if _, err := a.config.Ensure(config.Setting{Section: "sectional", Key: "node", Value: generatedNode(id[:3])}); err != nil {
		return o, err
	}
	o.Server = store.Server{Name: a.config.Snapshot().String("sectional", "node", "")}
	o.Configured = a.config
	o.Holder, o.Lease = max(binary.BigEndian.Uint64(id[:]), 1), jobLease
	return o, nil
}

// generatedNode is a name in the form of CouchDB's nodes.
func generatedNode(id []byte) string {
	host, err := os.Hostname()
	if err != nil || strings.ContainsAny(host, "@;= \t") || host == "" {
		host = "localhost"
	}
	return "sectional-" + hex.EncodeToString(id) + "@" + host
}

// showUp tells the other servers where this one listens, and what it is at from now on.
func (a *instance) showUp(ctx context.Context, at net.Addr) {
	if a.Peers == nil {
		return
	}
	if err := a.Store.ReachedAt(ctx, a.reachedAt(at)); err != nil {
		a.log.Warn("the other servers could not be told where this one listens; it is tried again", "error", err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var telling sync.WaitGroup
	telling.Go(func() { admin.PublishTasks(ctx, a.API) })
	a.stopPublishing = func() { stop(); telling.Wait(); a.Peers.Close() }
}

// reachedAt is the URL at which other servers reach this one: the one that is set, or where it
// listens. Where that is every address of the machine, it is the first that others can see.
func (a *instance) reachedAt(at net.Addr) string {
	if set := a.config.Snapshot().String("sectional", "node_address", ""); set != "" {
		return set
	}
	tcp, ok := at.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return "http://" + at.String()
	}
	host := "127.0.0.1"
	all, _ := net.InterfaceAddrs() // without them it is this machine's own
	for _, one := range all {
		if n, ok := one.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && (n.IP.To4() != nil || host == "127.0.0.1") {
			if host = n.IP.String(); n.IP.To4() != nil {
				break
			}
		}
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(tcp.Port))
}

// followServers takes over what other servers set, until ctx ends.
func (a *instance) followServers(ctx context.Context) {
	tick := time.NewTicker(refreshEvery)
	defer tick.Stop()
	for failing := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := a.config.Refresh()
		if err != nil && !failing {
			a.log.Error("what other servers have set could not be read", "error", err)
		}
		failing = err != nil
	}
}
