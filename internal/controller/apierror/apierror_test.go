package apierror

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestClassOfErrors(t *testing.T) {
	stacks := schema.GroupResource{Group: "cairn.dev", Resource: "stacks"}
	webhook := errors.New(`failed calling webhook "policy.example.com": failed to call webhook: the server is down`)
	for name, tt := range map[string]struct {
		err      error
		want     Class
		reported bool
	}{
		"no error":        {nil, None, false},
		"a newer version": {apierrors.NewConflict(stacks, "net", errors.New("changed")), Outdated, false},
		"it exists":       {apierrors.NewAlreadyExists(stacks, "net"), Outdated, false},
		"it is gone":      {apierrors.NewNotFound(stacks, "net"), Outdated, false},
		"a quota": {apierrors.NewForbidden(stacks, "net", errors.New("exceeded quota")),
			Rejected, true},
		"a value": {apierrors.NewInvalid(schema.GroupKind{Kind: "Stack"}, "net", nil),
			Rejected, true},
		"a request that is none":       {apierrors.NewBadRequest("no Stack"), Rejected, true},
		"a webhook that answers 500":   {apierrors.NewInternalError(webhook), Failed, true},
		"a wrapped error":              {fmt.Errorf("create: %w", apierrors.NewInternalError(webhook)), Failed, true},
		"too many requests":            {apierrors.NewTooManyRequests("wait", 1), Failed, true},
		"a timeout of the API server":  {apierrors.NewTimeoutError("slow", 1), Failed, true},
		"credentials that are expired": {apierrors.NewUnauthorized("expired"), Failed, true},
		"an error of the network":      {errors.New("connection reset by peer"), Failed, true},
		"a timeout of this process":    {fmt.Errorf("patch: %w", context.DeadlineExceeded), Failed, true},
		"a process that ends":          {fmt.Errorf("patch: %w", context.Canceled), Stopped, false},
	} {
		if got := Of(tt.err); got != tt.want || IsReported(tt.err) != tt.reported {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
