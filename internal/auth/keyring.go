package auth

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/dberr"
)

// Fetcher gets documents of issuers: by GET, whole, from the address given or
// where it redirects to over https. It bounds time and size.
type Fetcher interface {
	Fetch(ctx context.Context, url string) ([]byte, error)
}

// keySettings say how long fetched keys count.
type keySettings struct {
	refresh time.Duration // keys older than this are fetched anew
	keep    time.Duration // so long they go on when the issuer does not answer
	retry   time.Duration // between two attempts
}

func parseKeySettings(s *config.Snapshot) keySettings {
	const section = "jwt_auth"
	return keySettings{
		refresh: s.Duration(section, "jwks_refresh", time.Second, time.Hour),
		keep:    s.Duration(section, "jwks_keep", time.Second, 24*time.Hour),
		retry:   s.Duration(section, "jwks_retry", time.Second, 30*time.Second),
	}
}

// keyring holds the keys of issuers.
//
// Keys are fetched when the first token of an issuer comes, when they have
// become old, in the background, and when a token names one that is not there: that is how
// issuers rotate. Between two attempts lies a while, so that nobody can make the server
// ask an issuer for each token he invents. While an issuer is down its keys go
// on, for a time that is set.
type keyring struct {
	fetcher Fetcher
	now     func() time.Time
	log     *slog.Logger
	// begin runs an attempt beside the request that wants it; stop ends all.
	begin   func(attempt func(context.Context))
	stop    context.CancelFunc
	running sync.WaitGroup
	state   struct {
		sync.Mutex
		sets map[[2]string]*keySet // by issuer and address of the keys
	}
}

// keySet is what is known of one issuer's keys.
type keySet struct {
	state struct {
		sync.Mutex
		keys      []publishedKey
		fetched   time.Time     // when keys came; zero: never
		attempted time.Time     // when the last attempt began
		attempt   chan struct{} // closed when the attempt that is under way ends; nil: there is none
	}
}

func newKeyring(o *Options) *keyring {
	k := &keyring{fetcher: o.Fetcher, now: o.Now, log: o.Log}
	ctx, stop := context.WithCancel(context.Background())
	k.begin, k.stop = func(attempt func(context.Context)) { k.running.Go(func() { attempt(ctx) }) }, stop
	k.state.sets = map[[2]string]*keySet{}
	return k
}

// close ends attempts that are under way. No token may come after it.
func (k *keyring) close() {
	k.stop()
	k.running.Wait()
}

func (k *keyring) set(i *issuer) *keySet {
	k.state.Lock()
	defer k.state.Unlock()
	at := [2]string{i.url, i.jwks}
	if k.state.sets[at] == nil {
		k.state.sets[at] = &keySet{}
	}
	return k.state.sets[at]
}

var errNoIssuerKeys = dberr.New(dberr.Unavailable, "", "The keys of the token's issuer can't be fetched at present.")

// key returns the issuer's key for an algorithm with the id that a token names.
// Errors: Invalid "Unknown kid"; Unavailable while there are no keys.
func (k *keyring) key(ctx context.Context, s keySettings, i *issuer, alg string, kid any) (any, error) {
	if k.fetcher == nil {
		return nil, errNoIssuerKeys
	}
	set := k.set(i)
	key, usable, attempt := set.look(k, s, i, alg, kid)
	if key == nil && attempt != nil {
		select {
		case <-attempt:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		key, usable, _ = set.look(k, s, i, alg, kid)
	}
	switch {
	case key != nil:
		return key, nil
	case usable:
		return nil, badRequest("Unknown kid")
	}
	return nil, errNoIssuerKeys
}

// look looks for a key among those that still count, and begins an attempt to
// fetch them where one is due: attempt ends with it.
func (set *keySet) look(k *keyring, s keySettings, i *issuer, alg string, kid any) (key any, usable bool, attempt <-chan struct{}) {
	set.state.Lock()
	defer set.state.Unlock()
	now := k.now()
	age := now.Sub(set.state.fetched)
	if usable = !set.state.fetched.IsZero() && age < max(s.keep, s.refresh); usable {
		key = pick(set.state.keys, alg, kid)
	}
	due := key == nil || age >= s.refresh
	if due && set.state.attempt == nil && (set.state.attempted.IsZero() || now.Sub(set.state.attempted) >= s.retry) {
		done := make(chan struct{})
		set.state.attempted, set.state.attempt = now, done
		k.begin(func(ctx context.Context) { set.fetch(ctx, k, i, now, done) })
	}
	return key, usable, set.state.attempt
}

// fetch is an attempt.
func (set *keySet) fetch(ctx context.Context, k *keyring, i *issuer, began time.Time, done chan struct{}) {
	keys, err := i.fetch(ctx, k.fetcher)
	if err != nil && ctx.Err() == nil {
		k.log.Warn("the keys of an issuer of tokens could not be fetched", slog.String("issuer", i.url), slog.Any("cause", err))
	}
	set.state.Lock()
	defer set.state.Unlock()
	if err == nil {
		set.state.keys, set.state.fetched = keys, began
	}
	set.state.attempt = nil
	close(done)
}

// fetch gets the issuer's keys, by its description if their address is not
// configured.
func (i *issuer) fetch(ctx context.Context, f Fetcher) ([]publishedKey, error) {
	address := i.jwks
	if address == "" {
		text, err := f.Fetch(ctx, strings.TrimSuffix(i.url, "/")+"/.well-known/openid-configuration")
		if err != nil {
			return nil, err
		}
		var about struct {
			Issuer string `json:"issuer"`
			Keys   string `json:"jwks_uri"`
		}
		if err := json.Unmarshal(text, &about); err != nil {
			return nil, err
		}
		if about.Issuer != i.url {
			return nil, errors.New("auth: the description is that of the issuer " + about.Issuer)
		}
		if address = about.Keys; !Fetchable(address) {
			return nil, errors.New("auth: the issuer's keys can't be fetched safely from " + address)
		}
	}
	text, err := f.Fetch(ctx, address)
	if err != nil {
		return nil, err
	}
	return parseKeySet(text)
}
