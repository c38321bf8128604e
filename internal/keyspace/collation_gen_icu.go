//go:build ignore

package main

/*
#cgo LDFLAGS: -licui18n -licuuc -licudata
#include <unicode/ucol.h>
#include <unicode/ucoleitr.h>
#include <unicode/uset.h>
#include <unicode/uchar.h>
#include <unicode/uiter.h>
#include <unicode/uversion.h>

static UCollator *open_root(void) {
	UErrorCode e = U_ZERO_ERROR;
	UCollator *c = ucol_open("", &e);
	return U_FAILURE(e) ? NULL : c;
}

static UCollationElements *open_elements(UCollator *c) {
	UErrorCode e = U_ZERO_ERROR;
	return ucol_openElements(c, NULL, 0, &e);
}

static int elements(UCollationElements *i, const UChar *s, int length, int32_t *out, int most) {
	UErrorCode e = U_ZERO_ERROR;
	int n = 0;
	int32_t x;
	for (ucol_setText(i, s, length, &e); n < most && (x = ucol_next(i, &e)) != UCOL_NULLORDER; n++) out[n] = x;
	return U_FAILURE(e) ? -1 : n;
}

static USet *contractions(UCollator *c, int prefixes) {
	UErrorCode e = U_ZERO_ERROR;
	USet *s = uset_openEmpty();
	ucol_getContractionsAndExpansions(c, s, NULL, (UBool)prefixes, &e);
	return U_FAILURE(e) ? NULL : s;
}

static int set_items(USet *s) { return uset_getItemCount(s); }

static int set_item(USet *s, int i, UChar *out, int most) {
	UErrorCode e = U_ZERO_ERROR;
	UChar32 first, last;
	int n = uset_getItem(s, i, &first, &last, out, most, &e);
	return U_FAILURE(e) || n == 0 ? -1 : n;
}

static int lead_class(int c) { return u_getIntPropertyValue(c, UCHAR_LEAD_CANONICAL_COMBINING_CLASS); }
static int trail_class(int c) { return u_getIntPropertyValue(c, UCHAR_TRAIL_CANONICAL_COMBINING_CLASS); }
static int category(int c) { return u_charType(c); }

static int compare(UCollator *c, const char *a, int an, const char *b, int bn) {
	UErrorCode e = U_ZERO_ERROR;
	UCharIterator x, y;
	uiter_setUTF8(&x, a, an);
	uiter_setUTF8(&y, b, bn);
	int r = ucol_strcollIter(c, &x, &y, &e);
	return U_FAILURE(e) ? 2 : r;
}

static int key_length(UCollator *c, const UChar *s, int n) { return ucol_getSortKey(c, s, n, NULL, 0); }

static const char *versions(void) { return "ICU " U_ICU_VERSION ", Unicode " U_UNICODE_VERSION; }
*/
import "C"

import (
	"log"
	"unicode/utf16"
	"unsafe"
)

// icu is ICU's root collator as CouchDB opens it: no option is set.
type icu struct {
	collator *C.UCollator
	iterator *C.UCollationElements
}

func openICU() *icu {
	c := C.open_root()
	if c == nil {
		log.Fatal("ICU has no root collation")
	}
	return &icu{c, C.open_elements(c)}
}

func (u *icu) version() string { return C.GoString(C.versions()) }

// weights is a collation element as ICU has it.
type weights struct {
	primary             uint32
	secondary, tertiary uint16
}

// elements returns the elements of a text without those that are ignored
// altogether. ICU's interface gives each in one or two parts; the second one has
// two bits set that no first one has.
func (u *icu) elements(text ...rune) (all []weights) {
	units := utf16.Encode(text)
	var out [128]C.int32_t
	n := C.elements(u.iterator, (*C.UChar)(&units[0]), C.int(len(units)), &out[0], C.int(len(out)))
	if n < 0 || int(n) == len(out) {
		log.Fatalf("ICU gives no elements for %x", text)
	}
	for _, x := range out[:n] {
		x := uint32(x)
		if x&0xc0 == 0xc0 {
			last := &all[len(all)-1]
			last.primary |= x >> 16
			last.secondary |= uint16(x >> 8 & 0xff)
			last.tertiary |= uint16(x & 0x3f)
		} else if x != 0 {
			all = append(all, weights{x & 0xffff0000, uint16(x & 0xff00), uint16(x&0x3f) << 8})
		}
	}
	return all
}

// contractions returns the texts of several characters with elements of their
// own; with prefixes also pairs whose second character has others than alone.
func (u *icu) contractions(prefixes bool) (all []string) {
	with := C.int(0)
	if prefixes {
		with = 1
	}
	set := C.contractions(u.collator, with)
	for i := range int(C.set_items(set)) {
		var out [64]C.UChar
		n := C.set_item(set, C.int(i), &out[0], C.int(len(out)))
		if n < 0 {
			log.Fatalf("ICU gives no contraction %d", i)
		}
		units := make([]uint16, n)
		for j := range units {
			units[j] = uint16(out[j])
		}
		all = append(all, string(utf16.Decode(units)))
	}
	return all
}

// classes returns the combining classes of the first and the last character of
// a character's decomposition.
func (u *icu) classes(c rune) [2]int {
	return [2]int{int(C.lead_class(C.int(c))), int(C.trail_class(C.int(c)))}
}

// assigned reports whether a character is, and not for private use.
func (u *icu) assigned(c rune) bool {
	n := C.category(C.int(c))
	return n != C.U_UNASSIGNED && n != C.U_PRIVATE_USE_CHAR && n != C.U_SURROGATE
}

// compare compares two texts by the function that CouchDB calls.
func (u *icu) compare(a, b string) int {
	c := C.compare(u.collator, bytesOf(a), C.int(len(a)), bytesOf(b), C.int(len(b)))
	if c == 2 {
		log.Fatalf("ICU does not compare %q and %q", a, b)
	}
	return int(c)
}

func bytesOf(s string) *C.char { return (*C.char)(unsafe.Pointer(unsafe.StringData(s + "\x00"))) }

// keyLength is the length of ICU's own sort key.
func (u *icu) keyLength(s string) int {
	units := append(utf16.Encode([]rune(s)), 0)
	return int(C.key_length(u.collator, (*C.UChar)(&units[0]), C.int(len(units)-1)))
}
