package server

import (
	"time"

	"github.com/sectional/sectional/internal/config"
)

// usualDescriptors is what is taken where the system does not say.
const usualDescriptors = 1024

const (
	maxFiles       = 1000  // of the store that are kept open
	maxConnections = 20000 // unless the configuration says otherwise
)

// storeFiles returns how many files the store may keep open: a third, or as many as it has
// use for.
func storeFiles(descriptors int) int { return min(descriptors/3, maxFiles) }

// roomForConnections returns how many connections there may be beside the store's files. A
// fifth is left for logs, children and requests to others.
func roomForConnections(descriptors int) int {
	return max(min(descriptors-storeFiles(descriptors)-descriptors/5, maxConnections), 8)
}

// parseConnectionLimits parses the bounds of connections: what is 0 follows from the
// descriptors. An address has three quarters of all, which leaves others room.
func parseConnectionLimits(s *config.Snapshot, descriptors int) connectionLimits {
	most := roomForConnections(descriptors)
	l := connectionLimits{
		all:   int(s.Int("sectional", "max_connections", 0)),
		each:  int(s.Int("sectional", "max_connections_per_address", 0)),
		write: max(s.Duration("sectional", "write_timeout", time.Second, time.Minute), time.Second),
	}
	if l.all <= 0 {
		l.all = most
	}
	if l.each <= 0 {
		l.each = max(l.all*3/4, 1)
	}
	return l
}
