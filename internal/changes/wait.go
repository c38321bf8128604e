package changes

import (
	"context"
	"time"
)

// wait sleeps until there may be more to read. It reports false when the feed
// is to end.
func (u *run) wait(ctx context.Context) (more bool, err error) {
	if err := u.sink.Wait(); err != nil {
		return false, err
	}
	u.sent = time.Now()
	changed, leave := u.src.Watch(u.at)
	defer leave()
	timer := time.NewTimer(u.patience())
	defer timer.Stop()
	for {
		select {
		case <-changed:
			return true, nil
		case <-u.Done:
			return false, nil
		case <-ctx.Done():
			return false, nil
		case <-timer.C:
		}
		if u.Heartbeat == 0 {
			return false, nil
		}
		if err := u.beat(); err != nil {
			return false, err
		}
		timer.Reset(u.patience())
	}
}

// patience is how long the feed may be silent from now on.
func (u *run) patience() time.Duration {
	if u.Heartbeat > 0 {
		return u.Heartbeat
	}
	return max(0, u.Timeout-time.Since(u.shown))
}

func (u *run) beat() error {
	u.sent = time.Now()
	return u.sink.Heartbeat()
}
