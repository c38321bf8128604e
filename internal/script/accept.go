package script

import (
	"strconv"
	"strings"
)

// mediaRange is one member of an Accept header, or a media type taken for one.
type mediaRange struct {
	kind, sub string
	params    map[string]string
	quality   float64
}

func parseRange(s string) mediaRange {
	parts := strings.Split(s, ";")
	m := mediaRange{params: map[string]string{}, quality: 1}
	full := strings.TrimSpace(parts[0])
	if full == "*" {
		full = "*/*"
	}
	m.kind, m.sub, _ = strings.Cut(full, "/")
	for _, p := range parts[1:] {
		if name, value, ok := strings.Cut(p, "="); ok {
			m.params[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	if q, err := strconv.ParseFloat(m.params["q"], 64); err == nil && q >= 0 && q <= 1 {
		m.quality = q
	}
	return m
}

// bestType returns the supported media type that suits an Accept header best: the one that is named most precisely, of
// those the one with the highest quality, of those the last. "" if none is accepted.
func bestType(supported []string, accept string) string {
	var ranges []mediaRange
	for _, s := range strings.Split(accept, ",") {
		ranges = append(ranges, parseRange(s))
	}
	best, bestFit, bestQuality := "", -1, 0.0
	for _, s := range supported {
		fit, quality := fitness(parseRange(s), ranges)
		if fit > bestFit || fit == bestFit && quality >= bestQuality {
			best, bestFit, bestQuality = s, fit, quality
		}
	}
	if bestQuality == 0 {
		return ""
	}
	return best
}

// fitness reports how precisely the best fitting range names a media type, and that range's quality.
func fitness(t mediaRange, ranges []mediaRange) (fit int, quality float64) {
	fit = -1
	for _, m := range ranges {
		if m.kind != t.kind && m.kind != "*" && t.kind != "*" || m.sub != t.sub && m.sub != "*" && t.sub != "*" {
			continue
		}
		n := 0
		if m.kind == t.kind {
			n += 100
		}
		if m.sub == t.sub {
			n += 10
		}
		for name, value := range t.params {
			if name != "q" && m.params[name] == value {
				n++
			}
		}
		if n > fit {
			fit, quality = n, m.quality
		}
	}
	return fit, quality
}
