package changes

import (
	"context"
	"time"

	"github.com/sectional/sectional/internal/worktime"
)

// wait sleeps until there may be more to read. It reports false when the feed
// is to end.
func (u *stream) wait(ctx context.Context) (more bool, err error) {
	if err := u.sink.Wait(); err != nil {
		return false, err
	}
	defer worktime.Pause(ctx)()
	u.sent = time.Now()
	changed, leave := u.src.Watch(u.at)
	defer leave()
	var doubt <-chan struct{}
	if u.WatchGrant != nil {
		var forget func()
		doubt, forget = u.WatchGrant()
		defer forget()
	}
	timer := time.NewTimer(u.silence())
	defer timer.Stop()
	for {
		select {
		case <-changed:
			return true, nil
		case <-doubt:
			return true, nil
		case <-u.Done:
			return false, nil
		case <-ctx.Done():
			return false, nil
		case <-timer.C:
		}
		if u.Heartbeat == 0 || u.expired() {
			return false, nil
		}
		if err := u.beat(); err != nil {
			return false, err
		}
		timer.Reset(u.silence())
	}
}

// silence is how long the feed may be silent from now on.
func (u *stream) silence() time.Duration {
	most := u.Heartbeat
	if most == 0 {
		most = max(0, u.Timeout-time.Since(u.shown))
	}
	if !u.Until.IsZero() {
		most = min(most, max(0, time.Until(u.Until)))
	}
	return most
}

// expired reports whether the feed's time is over.
func (u *stream) expired() bool { return !u.Until.IsZero() && !time.Now().Before(u.Until) }

func (u *stream) beat() error {
	u.sent = time.Now()
	return u.sink.Heartbeat()
}
