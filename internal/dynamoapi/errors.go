package dynamoapi

import (
	"errors"
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/web"
)

// AWS's names of what may go wrong. An error of any package that has one for its code is
// rendered under it; the others are by their kinds.
const (
	resourceNotFound = "ResourceNotFoundException"
	resourceInUse    = "ResourceInUseException"
	accessDenied     = "AccessDeniedException"
	internalFailure  = "InternalServerError"
	throttled        = "ThrottlingException"
	unavailable      = "ServiceUnavailableException"
)

// The services in whose names AWS has its errors: that of signatures and forms, that of
// values, and the database.
const (
	coral    = "com.amazon.coral.service#"
	validate = "com.amazon.coral.validate#"
	dynamo   = "com.amazonaws.dynamodb.v20120810#"
)

// namespaces are those of the errors that are not the database's own.
var namespaces = map[string]string{
	attribute.Validation: validate, attribute.Serialization: coral, accessDenied: coral, unavailable: coral, throttled: "com.amazon.coral.availability#",
	"UnknownOperationException": coral, "MissingAuthenticationTokenException": coral, "IncompleteSignatureException": coral,
	"InvalidSignatureException": coral, "UnrecognizedClientException": coral,
}

var (
	errUnknownOperation = dberr.New(dberr.Invalid, "UnknownOperationException", "")
	errNoObject         = dberr.New(dberr.Invalid, attribute.Serialization, "The request body is no JSON object.")
	errNoTable          = dberr.New(dberr.NotFound, resourceNotFound, "Requested resource not found")
	errThrough          = dberr.New(dberr.Internal, internalFailure, "The server could not process the request.")
)

// exception is an error with more members than its text, such as the reasons of a
// transaction that was cancelled. Members are JSON with a comma before each.
type exception struct {
	error
	members []byte
}

// Unwrap returns the error.
func (e *exception) Unwrap() error { return e.error }

// named returns an error's name at AWS, the text, and the status.
func named(err error) (name, text string, status int) {
	var e *dberr.Error
	if !errors.As(err, &e) {
		return internalFailure, errThrough.Reason, http.StatusInternalServerError
	}
	name, text, status = e.Code, e.Shown(), http.StatusBadRequest
	known := strings.HasSuffix(name, "Exception")
	switch e.Kind {
	case dberr.Internal, dberr.SnapshotTooOld, dberr.Timeout, dberr.UnknownOutcome, dberr.NotImplemented:
		if !known {
			name, text = internalFailure, errThrough.Reason
		}
		return name, text, http.StatusInternalServerError
	case dberr.Unavailable, dberr.Full:
		if e.Code == web.TooManyRequests {
			return throttled, "Rate exceeded", http.StatusBadRequest
		}
		return unavailable, text, http.StatusServiceUnavailable // clients try these again
	case dberr.TooLarge:
		status = http.StatusRequestEntityTooLarge
	}
	if !known {
		name = namesByKind[e.Kind]
	}
	return name, text, status
}

// namesByKind are those of errors of other packages.
var namesByKind = map[dberr.Kind]string{
	dberr.Invalid: attribute.Validation, dberr.Precondition: attribute.Validation, dberr.Unsupported: attribute.Serialization, dberr.TooLarge: attribute.Validation,
	dberr.Unauthorized: accessDenied, dberr.Forbidden: accessDenied,
	dberr.NotFound: resourceNotFound, dberr.Exists: resourceInUse, dberr.Conflict: "TransactionConflictException",
}

// Render implements web.Call.
func (r *Request) Render(err error) web.Failure {
	name, text, status := named(err)
	namespace, ok := namespaces[name]
	if !ok {
		namespace = dynamo
	}
	b := append([]byte(nil), `{"__type":`...)
	b = jsonscan.AppendQuoted(b, namespace+name)
	if text != "" {
		b = append(b, `,"message":`...)
		b = jsonscan.AppendQuoted(b, text)
	}
	var more *exception
	if errors.As(err, &more) {
		b = append(b, more.members...)
	}
	b = append(b, '}')
	r.sum(b)
	return web.Failure{Status: status, Type: contentType, Body: b, Public: status == http.StatusServiceUnavailable}
}
