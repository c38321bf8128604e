package dynamoapi

import "testing"

// TestDigest: requests that say the same have one digest, in whatever order, and others
// others.
func TestDigest(t *testing.T) {
	same := []string{`[{"a":{"S":"x"},"b":[1,{"c":null,"d":true}]}]`, `[{"b":[1,{"d":true,"c":null}],"a":{"S":"x"}}]`}
	others := []string{same[0],
		`[{"a":{"S":"x"},"b":[{"c":null,"d":true},1]}]`, `[{"a":{"S":"x"},"b":[1,{"c":"null","d":true}]}]`, `[{"a":{"S":"x","b":[1,{"c":null,"d":true}]}}]`,
		`[{"a":{"S":"y"},"b":[1,{"c":null,"d":true}]}]`, `[{"a":{"N":"x"},"b":[1,{"c":null,"d":true}]}]`, `[{"a":{"S":"x"}},{"b":[1,{"c":null,"d":true}]}]`,
		`[]`, `{}`, `[[]]`, `[{}]`, `""`, `"["`, `"1"`, `1`, `null`, `[1,2]`, `[12]`, `["1","2"]`, `{"1":2}`, `{"12":""}`, `{"1":"2"}`}
	if digest([]byte(same[0])) != digest([]byte(same[1])) {
		t.Error("the order of members counts")
	}
	seen := map[[32]byte]string{}
	for _, text := range others {
		sum := digest([]byte(text))
		if other, ok := seen[sum]; ok {
			t.Errorf("%s and %s have one digest", text, other)
		}
		seen[sum] = text
	}
}
