package control

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// Code is an error's kind, the same at every door.
type Code string

const (
	BadRequest       Code = "bad_request"
	Unauthorized     Code = "unauthorized"
	Forbidden        Code = "forbidden"
	NotFound         Code = "not_found"
	MethodNotAllowed Code = "method_not_allowed"
	NotAcceptable    Code = "not_acceptable"
	UnsupportedType  Code = "unsupported_media_type"
	Conflict         Code = "conflict"
	Busy             Code = "busy"
	TooLarge         Code = "too_large"
	NotSupported     Code = "not_supported"
	Unavailable      Code = "unavailable"
	Timeout          Code = "timeout"
	Internal         Code = "internal"
)

// HTTPStatus is the table of codes: the HTTP status, which is also the NATS service error code.
func (c Code) HTTPStatus() int {
	switch c {
	case BadRequest:
		return http.StatusBadRequest
	case Unauthorized:
		return http.StatusUnauthorized
	case Forbidden:
		return http.StatusForbidden
	case NotFound:
		return http.StatusNotFound
	case MethodNotAllowed:
		return http.StatusMethodNotAllowed
	case NotAcceptable:
		return http.StatusNotAcceptable
	case UnsupportedType:
		return http.StatusUnsupportedMediaType
	case Conflict, Busy:
		return http.StatusConflict
	case TooLarge:
		return http.StatusRequestEntityTooLarge
	case NotSupported:
		return http.StatusNotImplemented
	case Unavailable:
		return http.StatusServiceUnavailable
	case Timeout:
		return http.StatusGatewayTimeout
	case Internal:
	}
	return http.StatusInternalServerError
}

// Sentinels to branch on with errors.Is: an Error is the sentinel of its code.
var (
	ErrNotFound     = &Error{Code: NotFound, Message: "not found"}
	ErrBusy         = &Error{Code: Busy, Message: "busy"}
	ErrUnavailable  = &Error{Code: Unavailable, Message: "unavailable"}
	ErrNotSupported = &Error{Code: NotSupported, Message: "not supported"}
)

// Error is what a door tells: {"error":{"code":…,"message":…}}. The message says what, where and what to do, without secrets.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`

	cause error // of an internal error: for the log alone, since it may hold secrets
}

// errorBody is an error as every door writes it.
type errorBody struct {
	Error *Error `json:"error"`
}

// Errorf is an error of the given code.
func Errorf(code Code, format string, arguments ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, arguments...)}
}

func (e *Error) Error() string { return e.Message }

// Unwrap is what an internal error hides from clients, for the log; nil for all others.
func (e *Error) Unwrap() error { return e.cause }

// Is makes an error equal to the sentinel of its code.
func (e *Error) Is(target error) bool {
	sentinel, ok := target.(*Error)
	return ok && sentinel.Code == e.Code
}

// toError finds the code of any error. What a stream did not mean for the outside stays inside: its text may hold secrets.
func toError(err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.DeadlineExceeded):
		return Errorf(Timeout, "the stream did not answer in time: try again")
	case errors.Is(err, context.Canceled):
		return Errorf(Unavailable, "the request was cancelled, or the service is ending")
	}
	return &Error{Code: Internal, Message: "internal error: the log says more", cause: err}
}
