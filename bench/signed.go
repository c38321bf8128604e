package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// signer makes DynamoDB's requests in the shape of AWS's SDKs, signed with an access key.
type signer struct{ id, secret string }

// accessKey makes an access key of the administrator over HTTP.
func accessKey(s *process.Server) (signer, error) {
	answer, err := ask(s.Address, "POST", "/_access_keys/"+process.User, nil)
	if err != nil {
		return signer{}, err
	}
	var made struct{ ID, Secret string }
	if err := json.Unmarshal(answer, &made); err != nil {
		return signer{}, err
	}
	if made.ID == "" || made.Secret == "" {
		return signer{}, fmt.Errorf("no access key in %s", answer)
	}
	return signer{made.ID, made.Secret}, nil
}

// signedHeaders are those that the signatures cover.
const signedHeaders = "amz-sdk-invocation-id;amz-sdk-request;content-type;host;x-amz-content-sha256;x-amz-date;x-amz-target;x-amz-user-agent"

// userAgent has the length of the SDKs' own.
const userAgent = "aws-sdk-js/3.1164.0 ua/2.1 os/linux#6.1 lang/js md/nodejs#20.20.2 api/dynamodb#3.1164.0"

// call makes the bytes of one signed request. The server takes it for five minutes.
func (k signer) call(operation string, body []byte) []byte {
	stamp := time.Now().UTC().Format("20060102T150405Z")
	scope := stamp[:8] + "/eu-central-1/dynamodb/aws4_request"
	payload := sha256.Sum256(body)
	sum := hex.EncodeToString(payload[:])
	invocation := sum[:8] + "-" + sum[8:12] + "-4" + sum[13:16] + "-8" + sum[17:20] + "-" + sum[20:32]
	target := "DynamoDB_20120810." + operation
	canonical := fmt.Sprintf("POST\n/\n\namz-sdk-invocation-id:%s\namz-sdk-request:attempt=1; max=3\ncontent-type:application/x-amz-json-1.0\n"+
		"host:127.0.0.1\nx-amz-content-sha256:%s\nx-amz-date:%s\nx-amz-target:%s\nx-amz-user-agent:%s\n\n%s\n%s",
		invocation, sum, stamp, target, userAgent, signedHeaders, sum)
	digest := sha256.Sum256([]byte(canonical))
	key := []byte("AWS4" + k.secret)
	for _, part := range []string{stamp[:8], "eu-central-1", "dynamodb", "aws4_request"} {
		key = mac(key, part)
	}
	signature := mac(key, "AWS4-HMAC-SHA256\n"+stamp+"\n"+scope+"\n"+hex.EncodeToString(digest[:]))
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/x-amz-json-1.0\r\nx-amz-target: %s\r\nx-amz-user-agent: %s\r\n"+
		"user-agent: %s\r\namz-sdk-invocation-id: %s\r\namz-sdk-request: attempt=1; max=3\r\nx-amz-date: %s\r\nx-amz-content-sha256: %s\r\n"+
		"authorization: AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%x\r\ncontent-length: %d\r\nconnection: keep-alive\r\n\r\n",
		target, userAgent, userAgent, invocation, stamp, sum, k.id, scope, signedHeaders, signature, len(body))
	b.Write(body)
	return b.Bytes()
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
