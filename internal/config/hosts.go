package config

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// maxHosts is how many names a list of hosts may have.
const maxHosts = 100

// ParseHosts reads a list of full names of hosts, each of them once, in small letters and without
// a dot at the end. Errors say what is none.
func ParseHosts(text string) (hosts []string, err error) {
	for part := range strings.SplitSeq(text, ",") {
		name := Host(strings.TrimSpace(part))
		if name == "" || slices.Contains(hosts, name) {
			continue
		}
		if err := checkHost(name); err != nil {
			return nil, err
		}
		hosts = append(hosts, name)
	}
	if len(hosts) > maxHosts {
		return nil, fmt.Errorf("there are more than %d names", maxHosts)
	}
	return hosts, nil
}

// Host is a host's name as ParseHosts has it.
func Host(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

func checkHost(name string) error {
	switch {
	case strings.HasPrefix(name, "*."):
		return fmt.Errorf("%q stands for many hosts, and has to be the name of one", name)
	case net.ParseIP(name) != nil:
		return fmt.Errorf("%q is an address and no name", name)
	case len(name) > 253 || !strings.Contains(name, "."):
		return fmt.Errorf("%q is not a full name of a host, such as db.example.com", shortened(name))
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' || strings.ContainsFunc(label, notOfHosts) {
			return fmt.Errorf("%q is not a name of a host (one in another script begins with xn--)", shortened(name))
		}
	}
	return nil
}

func notOfHosts(r rune) bool {
	return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
}

// CheckSecureURL refuses what is no URL of https.
func CheckSecureURL(text string) error {
	if u, err := url.Parse(text); err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		return fmt.Errorf("%q is no URL that begins with https://", shortened(text))
	}
	return nil
}
