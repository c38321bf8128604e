package documents

import (
	"fmt"
	"testing"
)

func TestParseRanges(t *testing.T) {
	const all, bad = "all", "bad"
	for header, want := range map[string]string{
		"0-3": "[0,4)", "10-": "[10,16)", "-4": "[12,16)", "5-5": "[5,6)", "0-": all, "0-15": "[0,16)", "-16": "[0,16)", "-99": "[0,16)",
		"10-99": "[10,16)", "16-": bad, "16-20": bad, "99-100": bad, "-0": bad, "5-3": bad, "": "", "a-b": all, "1-b": all, "--1": bad, "1": "[1,16)",
		"0-1,4-5": "[0,2)[4,6)", "0-1, 14-, -2": "[0,2)[14,16)[14,16)", "0-1,90-91": bad, "0-0,0-": all,
		"0-0,1-1,2-2,3-3,4-4,5-5,6-6,7-7,8-8": "[0,1)[1,2)[2,3)[3,4)[4,5)[5,6)[6,7)[7,8)[8,9)", "0-0,0-0,0-0,0-0,0-0,0-0,0-0,0-0,0-0,1-1": all,
		"9223372036854775808-": all, "1-9223372036854775807": "[1,16)",
	} {
		spans, err := parseRanges(header, 16)
		got := ""
		for _, s := range spans {
			got += fmt.Sprintf("[%d,%d)", s.from, s.to)
		}
		if spans == nil {
			got = all
		}
		if err != nil {
			got = bad
		}
		if got != want {
			t.Errorf("%q: %s, want %s", header, got, want)
		}
	}
}

func FuzzParseRanges(f *testing.F) {
	f.Add("0-1,-2", int64(16))
	f.Add("--1,9-", int64(0))
	f.Fuzz(func(t *testing.T, header string, length int64) {
		spans, err := parseRanges(header, max(length, 0))
		if err != nil {
			return
		}
		for _, s := range spans {
			if s.from < 0 || s.to <= s.from || s.to > length {
				t.Fatalf("%q of %d bytes gives %v", header, length, s)
			}
		}
	})
}
