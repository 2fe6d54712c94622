// Package apierror classifies errors of requests to the API server by their type, and never by their text.
package apierror

import (
	"context"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Class is what an error means for who sent the request.
type Class string

// Classes of errors.
const (
	// None is no error.
	None Class = ""
	// Outdated: the object changed, exists already, or is gone. Read it, and decide again.
	Outdated Class = "Outdated"
	// Rejected: the API server, a quota or an admission webhook rejects the request until a user changes something.
	Rejected Class = "Rejected"
	// Failed: the request has no known result, for example because an admission webhook does not answer. Another
	// request may succeed.
	Failed Class = "Failed"
	// Stopped: the process ends.
	Stopped Class = "Stopped"
)

// Of returns the class of an error. One that is not from the API server, such as of the network, is Failed.
func Of(err error) Class {
	var answer apierrors.APIStatus
	switch {
	case err == nil:
		return None
	case errors.Is(err, context.Canceled):
		return Stopped
	case !errors.As(err, &answer):
		return Failed
	}
	switch code := answer.Status().Code; code {
	case http.StatusConflict, http.StatusNotFound:
		return Outdated
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return Failed
	default:
		if code >= 400 && code < 500 {
			return Rejected
		}
	}
	return Failed
}

// IsReported reports whether a user has to know of an error: it is neither settled by the next reconcile, nor of a
// process that ends.
func IsReported(err error) bool {
	class := Of(err)
	return class == Rejected || class == Failed
}
