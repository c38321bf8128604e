package text

import (
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/text/segment"
)

// fits reports whether what a document of so many bytes gave may be indexed. A tenant's
// must not become a multiple of what he stores without an end (decision 0046).
func (w *work) fits(fields []Indexed, size int) bool {
	n, names := sizeOf(fields), map[string]bool{}
	for i := range fields {
		names[fields[i].Name] = true
	}
	return n <= largestDocument && len(names) < segment.MaxFields && (w.Tenant == "" || n <= index.TenantBytes(size))
}

// sizeOf is how many bytes of values a document gave.
func sizeOf(fields []Indexed) (n int) {
	for i := range fields {
		n += len(fields[i].Name) + 16
		switch v := fields[i].Value.(type) {
		case string:
			n += len(v)
		case []float32:
			n += 4 * len(v)
		}
	}
	return n
}
