package outgoing

import (
	"errors"
	"net/netip"
	"testing"
	"time"
)

// TestPublic judges addresses, and has a guard judge what is dialled.
func TestPublic(t *testing.T) {
	refused := errors.New("refused")
	guard := Guard(Public, refused)
	for a, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "93.184.216.34": true, "2606:4700::1111": true, "2606:2800:220:1::1": true, "64:ff9b::808:808": true, "2002:808:808::1": true,
		"127.0.0.1": false, "127.9.9.9": false, "::1": false, "::": false, "0.0.0.0": false, "0.1.2.3": false,
		"10.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "172.31.255.255": false, "172.32.0.1": true, "192.168.1.1": false,
		"169.254.169.254": false, "fe80::1": false, "fe80::1%eth0": false, "fc00::1": false, "fd00::1": false, "fd12::1": false, "fec0::1": false,
		"100.64.0.1": false, "100.127.255.255": false, "100.128.0.1": true, "192.0.0.8": false, "198.18.0.1": false, "198.20.0.1": true,
		"224.0.0.1": false, "ff02::1": false, "255.255.255.255": false, "240.0.0.1": false, "203.0.113.9": false, "2001:db8::1": false,
		"::ffff:127.0.0.1": false, "::ffff:8.8.8.8": true, "64:ff9b::7f00:1": false, "64:ff9b::a9fe:a9fe": false, "2002:7f00:1::": false,
		"2001:0:1::1": false, "64:ff9b:1::1": false, "100::1": false, "::127.0.0.1": false, "::a00:1": false,
	} {
		at := netip.MustParseAddr(a)
		if got := Public(at); got != want {
			t.Errorf("%s: %v, want %v", a, got, want)
		}
		if err := guard("tcp", netip.AddrPortFrom(at, 80).String(), nil); (err == nil) != want || err != nil && err != refused {
			t.Errorf("dialling %s: %v, want %v", a, err, want)
		}
	}
	if err := guard("tcp", "name:80", nil); err != refused {
		t.Errorf("dialling a name: %v", err)
	}
}

func TestBackoff(t *testing.T) {
	for n, most := range map[int]time.Duration{
		0: time.Second, 1: time.Second, 2: 2 * time.Second, 12: 2048 * time.Second, 13: time.Hour, 500: time.Hour,
	} {
		if low, high := Backoff(n, time.Second, time.Hour, 0), Backoff(n, time.Second, time.Hour, 1); low != most/2 || high != most {
			t.Errorf("after %d failures: %s to %s", n, low, high)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"0": 0, "7": 7 * time.Second, " 7 ": 7 * time.Second, "99999999": time.Hour, "9000000000000000000": time.Hour,
		"Sat, 21 Nov 2026 12:01:00 GMT": time.Minute, "Sat, 21 Nov 2026 11:00:00 GMT": 0, "Sun, 22 Nov 2026 12:00:00 GMT": time.Hour,
	} {
		if d, said := RetryAfter(header, now, time.Hour); d != want || !said {
			t.Errorf("%q: %s, %v", header, d, said)
		}
	}
	for _, header := range []string{"", "-1", "1.5", "soon"} {
		if d, said := RetryAfter(header, now, time.Hour); d != 0 || said {
			t.Errorf("%q: %s, %v", header, d, said)
		}
	}
}
