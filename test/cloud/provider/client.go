package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// cloudResource is a resource of the cloud, and keep what the cloud stores for the provider without interpreting it.
type cloudResource struct {
	ID         string            `json:"id,omitempty"`
	Name       string            `json:"name"`
	Token      string            `json:"token,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
	Secret     string            `json:"secret,omitempty"`
	Password   string            `json:"password,omitempty"`
	Keep       keep              `json:"keep"`
}

type keep struct {
	ReplaceOn       *string `json:"replaceOn,omitempty"`
	Parts           *int64  `json:"parts,omitempty"`
	PasswordVersion *int64  `json:"passwordVersion,omitempty"`
}

var errNotFound = errors.New("the cloud has no such resource")

// client calls the cloud. It retries calls that are throttled or unavailable, which had no effect.
type client struct {
	url, caller string
	retries     int64
	http        http.Client
}

const resourcesPath = "/things/thing"

func (c *client) create(ctx context.Context, t cloudResource) (made cloudResource, err error) {
	err = c.call(ctx, http.MethodPost, resourcesPath, t, &made)
	return made, err
}

func (c *client) read(ctx context.Context, id string) (t cloudResource, err error) {
	err = c.call(ctx, http.MethodGet, resourcesPath+"/"+url.PathEscape(id), nil, &t)
	return t, err
}

func (c *client) update(ctx context.Context, id string, t cloudResource) (changed cloudResource, err error) {
	err = c.call(ctx, http.MethodPut, resourcesPath+"/"+url.PathEscape(id), t, &changed)
	return changed, err
}

func (c *client) delete(ctx context.Context, id string) error {
	err := c.call(ctx, http.MethodDelete, resourcesPath+"/"+url.PathEscape(id), nil, &cloudResource{})
	if errors.Is(err, errNotFound) {
		return nil
	}
	return err
}

func (c *client) list(ctx context.Context) (all []cloudResource, err error) {
	err = c.call(ctx, http.MethodGet, resourcesPath, nil, &all)
	return all, err
}

func (c *client) call(ctx context.Context, method, path string, body, answer any) error {
	data := []byte{}
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return err
		}
	}
	token := rand.Text() // the same for all retries
	for try := int64(0); ; try++ {
		again, err := c.try(ctx, method, path, token, data, answer)
		if err == nil || again == 0 || try >= c.retries {
			return err
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// try sends a request, and returns how long to wait before the next one, if a retry is possible.
func (c *client) try(ctx context.Context, method, path, token string, body []byte, answer any) (again time.Duration,
	err error) {
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.url, "/")+path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Caller", c.caller)
	r.Header.Set("Client-Token", token)
	resp, err := c.http.Do(r)
	if err != nil {
		if method != http.MethodGet {
			return 0, fmt.Errorf("the cloud did not answer, and may have done it: %w", err)
		}
		return 0, fmt.Errorf("the cloud did not answer: %w", err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	switch code := resp.StatusCode; {
	case err != nil:
		return 0, err
	case code == http.StatusNotFound:
		return 0, errNotFound
	case code >= 300:
		if code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable {
			seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
			again = max(time.Duration(seconds)*time.Second, 100*time.Millisecond)
		}
		return again, fmt.Errorf("the cloud says %s", resp.Status)
	}
	return 0, json.Unmarshal(data, answer)
}
