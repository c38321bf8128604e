package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/docfile"
)

// signed are inputs of a request that is signed, to a server of the DynamoDB API.
func signed(url string) (all []input) {
	for name, value := range map[string]func(n int) string{
		"signed headers": func(n int) string {
			return "AWS4-HMAC-SHA256 Credential=x/20260101/eu-west-1/dynamodb/aws4_request, SignedHeaders=host" + text(";x#", "")(n) + ", Signature=" + strings.Repeat("0", 64)
		},
		"credential": func(n int) string {
			return "AWS4-HMAC-SHA256 Credential=" + text("x#/", "")(n) + "aws4_request, SignedHeaders=host, Signature=" + strings.Repeat("0", 64)
		},
		"members": func(n int) string { return "AWS4-HMAC-SHA256 " + many("x#=#")(n) },
	} {
		all = append(all, input{"signature, " + name, 1000, func(n int) request {
			return request{method: "POST", at: url, body: "{}", header: []string{"Authorization", value(n), "X-Amz-Date", "20260101T000000Z", "X-Amz-Target", "DynamoDB_20120810.ListTables"}}
		}})
	}
	return all
}

// files are inputs of what reads files, and not requests.
func files() (all []input) {
	lines := func(form string) func(n int) string { return text(form+"\n", "") }
	for name, of := range map[string]struct {
		body func(n int) string
		read func(text string) error
	}{
		"configuration, many names":    {func(n int) string { return "[growth]\n" + lines("n# = #")(n) }, configuration},
		"configuration, many sections": {lines("[s#]\nn = #"), configuration},
		"configuration, one name":      {func(n int) string { return "[growth]\n" + lines("n = #")(n) }, configuration},
		"configuration, long value":    {func(n int) string { return "[growth]\nn = 1\n" + lines("  #")(n) }, configuration},
		"CSV that is read":             {func(n int) string { return many("c#")(n) + "\n" + many("#")(n) }, readCSV},
		"CSV that is written":          {within(`{…}`, `"c#":#`), writeCSV},
		"JSON lines, one array":        {within(`[…]`, `{"n":#}`), func(text string) error { return readAll(docfile.JSONLines(strings.NewReader(text))) }},
	} {
		all = append(all, input{"file: " + name, 1000, func(n int) request { return request{body: of.body(n), read: of.read} }})
	}
	return all
}

// configuration reads a file of the configuration.
func configuration(text string) error {
	dir, err := os.MkdirTemp("", "growth")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "growth.ini")
	if err = os.WriteFile(path, []byte(text), 0o600); err == nil {
		_, err = config.Open(config.Options{File: path})
	}
	return errors.Join(err, os.RemoveAll(dir))
}

func readCSV(text string) error {
	r, err := docfile.CSV(strings.NewReader(text), docfile.CSVOptions{})
	if err != nil {
		return err
	}
	return readAll(r)
}

// readAll reads documents to their end.
func readAll(r docfile.Reader) error {
	for {
		d, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err = errors.Join(err, d.Err); err != nil {
			return err
		}
	}
}

func writeCSV(doc string) error {
	var b bytes.Buffer
	w, err := docfile.WriteCSV(&b, nil)
	if err != nil {
		return err
	}
	return errors.Join(w.Write([]byte(doc)), w.Close())
}
