package store

import "testing"

func TestMoments(t *testing.T) {
	at := func(seconds uint64) expiryTime { return expiryTime{timeAt, seconds} }
	after := func(seconds uint64) expiryTime { return expiryTime{timeAfter, seconds} }
	never, unreadable := expiryTime{}, expiryTime{kind: timeUnreadable}
	e := Expiry{Own: true, Field: "expires", TTLField: "ttl", TTL: 9}
	for body, want := range map[string]expiryTime{
		`{}`:                          after(9),
		`{"expires":null,"ttl":null}`: after(9),
		`{"expires":1795262460}`:      at(1795262460), `{"expires":1795262460.1}`: at(1795262461), `{"expires":1.79526246e9}`: at(1795262460),
		`{"expires":99999999999}`: at(99999999999), `{"expires":100000000000}`: at(100000000), `{"expires":1795262460001}`: at(1795262461),
		`{"expires":"2026-11-21T12:01:00Z"}`: at(1795262460), `{"expires":"2026-11-21T12:01:00.000Z"}`: at(1795262460),
		`{"expires":"2026-11-21T12:01:00.001Z"}`: at(1795262461), `{"expires":"2026-11-21T14:01:00+02:00"}`: at(1795262460),
		`{"expires":"2026-11-21T12:01:00"}`: at(1795262460), `{"expires":"2026-11-21T12:01"}`: at(1795262460), `{"expires":"2026-11-21T12:01Z"}`: at(1795262460),
		`{"expires":"2026-11-21T12:01:00+0000"}`: at(1795262460), `{"expires":"20261121T120100Z"}`: at(1795262460),
		`{"expires":"2026-11-21"}`: at(1795219200), `{"expires":"20261121"}`: at(1795219200),
		`{"expires":"1795262460"}`: unreadable, `{"expires":"tomorrow"}`: unreadable, `{"expires":""}`: unreadable, `{"expires":"2026-13-01"}`: unreadable,
		`{"expires":"2026-11-21T25:00:00Z"}`: unreadable, `{"expires":"1969-12-31"}`: unreadable, `{"expires":"2026\u002d11-21"}`: unreadable,
		`{"expires":0}`: unreadable, `{"expires":-1}`: unreadable, `{"expires":1e300}`: unreadable, `{"expires":true}`: unreadable, `{"expires":[1795262460]}`: unreadable,
		`{"ttl":60}`: after(60), `{"ttl":0.5}`: after(1), `{"ttl":-1}`: never, `{"ttl":10000000000}`: after(10000000000),
		`{"ttl":0}`: unreadable, `{"ttl":-2}`: unreadable, `{"ttl":"60"}`: unreadable, `{"ttl":10000000001}`: unreadable,
		`{"expires":1795262460,"ttl":60}`: at(1795262460), `{"expires":"x","ttl":60}`: unreadable, `{"expires":null,"ttl":60}`: after(60),
	} {
		if got := e.timeOf([]byte(body)); got != want {
			t.Errorf("%s: %+v, want %+v", body, got, want)
		}
	}
	if got := (Expiry{Own: true, Field: "a"}).timeOf([]byte(`{"ttl":5}`)); got != never {
		t.Errorf("without a setting of its own: %+v", got)
	}
}
