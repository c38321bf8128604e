package deflate

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"io"
	"testing"
)

// numbers is a generator whose numbers are easily made elsewhere, too.
type numbers uint64

func (x *numbers) below(n int) int {
	*x = *x*6364136223846793005 + 1442695040888963407
	return int(uint64(*x) >> 33 % uint64(n))
}

// text makes size bytes: noise, four letters, zeros, or copies of what came
// before among other bytes.
func text(kind string, size int) []byte {
	x := numbers(size + 1)
	var d []byte
	for len(d) < size {
		switch kind {
		case "noise":
			d = append(d, byte(x.below(256)))
		case "letters":
			d = append(d, byte('a'+x.below(4)))
		case "zeros":
			d = append(d, 0)
		case "copies":
			if len(d) < 10 || x.below(2) == 0 {
				for range 1 + x.below(200) {
					d = append(d, byte(x.below(64)))
				}
				continue
			}
			at := x.below(len(d))
			length := []int{3, 4, 5, 30, 130, 257, 258, 259, 600}[x.below(9)]
			d = append(d, d[at:min(at+length, len(d))]...)
		}
	}
	return d[:size]
}

// compress writes data in pieces.
func compress(t testing.TB, data []byte, piece int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := NewWriter(&b)
	for len(data) > 0 {
		n, err := z.Write(data[:min(piece, len(data))])
		if err != nil {
			t.Fatal(err)
		}
		data = data[n:]
	}
	if err := errors.Join(z.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestLikeZlib compares with MD5 sums of what zlib 1.2.13 gave: in Python,
//
//	z = zlib.compressobj(8, zlib.DEFLATED, 31); z.compress(text) + z.flush()
//
// The sizes lie around where the window slides, and blocks end.
func TestLikeZlib(t *testing.T) {
	for _, c := range []struct {
		kind string
		size int
		want string
	}{
		{"noise", 0, "7029066c27ac6f5ef18d660d5741979a"},
		{"noise", 1, "74caa762f0a238f5d39f1b222f7b82cb"},
		{"noise", 2, "5917c35bacc2143bb68699a59ad5c578"},
		{"noise", 3, "b96cc1d5e15d1d06e61f093ab50af336"},
		{"noise", 300, "a9a3f278055565d096eeb76d6f2821ab"},
		{"noise", 16384, "5793201ceae316c90d656d98659f8526"},
		{"noise", 65273, "bacc814e28b3d074ff955460ff89a623"},
		{"noise", 65274, "92e780803c92b5d41e8da919dbd44375"},
		{"noise", 65275, "bfb34325a7d513ab14266b02774caf26"},
		{"noise", 65536, "6bfbbd00318b13159b55ef5e5f7f63ef"},
		{"noise", 65537, "bd4d49cf23094c05e5c7ef964ec42897"},
		{"noise", 98042, "e76839e5170979d047193328d3b0670c"},
		{"noise", 140000, "d027d6d58b223411fea137779bf8b6d0"},
		{"letters", 0, "7029066c27ac6f5ef18d660d5741979a"},
		{"letters", 1, "43d6024138e1f62eec0af04755d1cced"},
		{"letters", 2, "8842d0079538ca11aeae0ad386393b29"},
		{"letters", 3, "cad31a3166d4f840953d0e7868b981ab"},
		{"letters", 300, "f96eac7720aa8d93024c77b20b7188dd"},
		{"letters", 16384, "f72afda8930916bc98c7f60748f59604"},
		{"letters", 65273, "4487bfc6aa6db4247ae8d04225873ef2"},
		{"letters", 65274, "c8bfdf37107f314b2f5552cc1e28d0b0"},
		{"letters", 65275, "f86a4b7f73a712e2b4ecd01146b4857a"},
		{"letters", 65536, "41d9d3a0bb3515a2639cff8cca3c646f"},
		{"letters", 65537, "43b0017dc547e8e7b6826046c8f19e1a"},
		{"letters", 98042, "84d6f8d6a96379eba24aa8640170c108"},
		{"letters", 140000, "3e6f20ad62969929905db0eb63ced0b1"},
		{"zeros", 0, "7029066c27ac6f5ef18d660d5741979a"},
		{"zeros", 1, "29c738f9425891d9337998f7405533cd"},
		{"zeros", 2, "66c4f8f8cc76924dd7fe3967530c3287"},
		{"zeros", 3, "1fd4f840339842b29f1f44e408240785"},
		{"zeros", 300, "f22861a9e8f5ae78559fe14dd02b5157"},
		{"zeros", 16384, "070b5ce8e289b0ca9459cfb18662f841"},
		{"zeros", 65273, "c01f46f873e9807fa72caa06c8c27530"},
		{"zeros", 65274, "b8b19ccea155e3f5739c0a2c5fb7e41c"},
		{"zeros", 65275, "c96ffdb41ba261e9544ac4f84666e9ea"},
		{"zeros", 65536, "d01a03e2cb8cf11ead5bff0ac98094d3"},
		{"zeros", 65537, "491337fbd5caed24a03c5515fe62aaf4"},
		{"zeros", 98042, "38affc90eb83b3fd70cb916fef9b6056"},
		{"zeros", 140000, "6723712b268eb447d87b9e6a78d75903"},
		{"copies", 0, "7029066c27ac6f5ef18d660d5741979a"},
		{"copies", 1, "71d23afe12538574c2042c9845831cb5"},
		{"copies", 2, "f087c74d6af765531c82eab11defc5c2"},
		{"copies", 3, "684094b4a835713f711888adaf8b3636"},
		{"copies", 300, "608ad021d738d1127f85cd25e591ba6d"},
		{"copies", 16384, "354bfb3ce8a73e3699adb7e18a3f81d7"},
		{"copies", 65273, "7fc019851ea031ddb23e9426e5086264"},
		{"copies", 65274, "16d20f63cd8e04c58daff2f0eb7c7367"},
		{"copies", 65275, "ef83af125cd51f77c896c7d634e97ce7"},
		{"copies", 65536, "110cfdbef65a8233e5ce50c05cf75967"},
		{"copies", 65537, "3d703ea67f16fa6cf57d03238a44c896"},
		{"copies", 98042, "a5813b2fc21ed7c68e5bba171f36e705"},
		{"copies", 140000, "4e096343c931af1c5449a5768831e94e"},
	} {
		data := text(c.kind, c.size)
		for _, piece := range []int{1 << 20, 999} {
			sum := md5.Sum(compress(t, data, piece))
			if got := hex.EncodeToString(sum[:]); got != c.want {
				t.Errorf("%s, %d bytes in pieces of %d: %s, want %s", c.kind, c.size, piece, got, c.want)
			}
		}
	}
}

// TestWorkIsBounded has a text for which every candidate is looked at: it is
// compressed all the same, with a shorter chain, and comes back.
func TestWorkIsBounded(t *testing.T) {
	z := NewWriter(io.Discard)
	z.m.steps = -1 << 40
	data := text("letters", 200_000)
	var b bytes.Buffer
	z.to = &b
	if _, err := z.Write(data[:70_000]); err != nil || z.m.chain != shortChain {
		t.Fatalf("the chain is %d, %v", z.m.chain, err)
	}
	_, _ = z.Write(data[70_000:])
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if got := unpacked(t, b.Bytes()); !bytes.Equal(got, data) {
		t.Errorf("%d bytes came back as %d", len(data), len(got))
	}
}

func unpacked(t testing.TB, packed []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// full fails after some bytes.
type full struct{ left int }

var errFull = errors.New("full")

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestErrorsStay(t *testing.T) {
	data := text("noise", 300_000)
	for _, room := range []int{0, 5, 100_000} {
		z := NewWriter(&full{room})
		_, err := z.Write(data)
		if err != nil && !errors.Is(err, errFull) || err == nil && room == 0 {
			t.Errorf("room for %d: %v", room, err)
		}
		if err := z.Close(); !errors.Is(err, errFull) {
			t.Errorf("room for %d, at the end: %v", room, err)
		}
	}
}

func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("hello hello hello"), 3, 1)
	f.Add(text("copies", 3000), 40, 7)
	f.Add(text("noise", 100), 700, 100)
	f.Fuzz(func(t *testing.T, data []byte, times, piece int) {
		data = bytes.Repeat(data, 1+min(max(times, 0), 1000))
		data = data[:min(len(data), 1<<20)]
		packed := compress(t, data, min(max(piece, 1), 1<<20))
		if got := unpacked(t, packed); !bytes.Equal(got, data) {
			t.Fatalf("%d bytes came back as %d", len(data), len(got))
		}
	})
}
