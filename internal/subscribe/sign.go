package subscribe

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// prefix marks a secret whose bytes are written in base64.
const prefix = "whsec_"

// keyOf returns the key that a secret stands for.
func keyOf(secret string) ([]byte, error) {
	if encoded, ok := strings.CutPrefix(secret, prefix); ok {
		return base64.StdEncoding.DecodeString(encoded)
	}
	return []byte(secret), nil
}

// sign returns the value of webhook-signature, in the form of Standard Webhooks:
// for each secret "v1," and HMAC-SHA256 of "id.timestamp.body" in base64.
func sign(secrets []string, id, timestamp string, body []byte) string {
	var signatures []string
	for _, s := range secrets {
		key, err := keyOf(s)
		if err != nil {
			continue // was checked when it was set
		}
		h := hmac.New(sha256.New, key)
		h.Write([]byte(id + "." + timestamp + "."))
		h.Write(body)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(h.Sum(nil)))
	}
	return strings.Join(signatures, " ")
}
