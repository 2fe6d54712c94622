package git

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"cairn.dev/cairn/internal/base/egress"
	"cairn.dev/cairn/internal/base/jsonsize"
)

const lfsType = "application/vnd.git-lfs+json"

// mostAnswered is how many values the answer for mostBatch files may have: each value takes memory, however short it
// is.
const mostAnswered = 20_000

// lfsHeaders are those that a server can set for a download: its own credentials, and what object stores sign. With
// any header it could speak to services that require one, such as the metadata services of clouds.
var lfsHeaders = []string{
	"Accept", "Authorization", "Content-Type", "Range", "X-Amz-Content-Sha256", "X-Amz-Date", "X-Amz-Security-Token",
}

// lfsClient speaks LFS's batch API.
type lfsClient struct {
	m             *Mirror
	http          *http.Client
	at            remoteURL
	authorization string
}

type lfsObject struct {
	OID     string `json:"oid"`
	Size    int64  `json:"size"`
	Actions struct {
		Download *struct {
			Href   string            `json:"href"`
			Header map[string]string `json:"header"`
		} `json:"download"`
	} `json:"actions,omitzero"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

func (c *lfsClient) fetch(ctx context.Context, pointers []pointer) error {
	objects, err := c.ask(ctx, pointers)
	if err != nil {
		return err
	}
	for _, p := range pointers {
		n := slices.IndexFunc(objects, func(o lfsObject) bool { return o.OID == p.oid })
		if n < 0 || objects[n].Error != nil || objects[n].Actions.Download == nil {
			return fail(ErrContent, "file %s was not found: push it with git lfs push --all", p.oid)
		}
		if err := c.download(ctx, p, objects[n].Actions.Download.Href, objects[n].Actions.Download.Header); err != nil {
			return fmt.Errorf("file %s: %w", p.oid, err)
		}
	}
	return nil
}

// ask where the files are.
func (c *lfsClient) ask(ctx context.Context, pointers []pointer) ([]lfsObject, error) {
	question := struct {
		Operation string      `json:"operation"`
		Transfers []string    `json:"transfers"`
		Objects   []lfsObject `json:"objects"`
		Hash      string      `json:"hash_algo"`
	}{Operation: "download", Transfers: []string{"basic"}, Hash: "sha256"}
	for _, p := range pointers {
		question.Objects = append(question.Objects, lfsObject{OID: p.oid, Size: p.size})
	}
	body, err := json.Marshal(question)
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(strings.TrimRight(c.at.String(), "/"), ".git") + ".git/info/lfs"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/objects/batch", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", lfsType)
	req.Header.Set("Content-Type", lfsType)
	if c.authorization != "" {
		req.Header.Set("Authorization", c.authorization)
	}
	answer, err := c.do(req)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	data, err := readAll(arriving{ctx, answer.Body}, 4<<20)
	if err != nil {
		return nil, err
	}
	return parseAnswer(data)
}

// parseAnswer reads the answer for a batch.
func parseAnswer(data []byte) ([]lfsObject, error) {
	var found struct {
		Objects []lfsObject `json:"objects"`
	}
	if jsonsize.HasMoreValues(data, mostAnswered) {
		return nil, fail(ErrContent, "the LFS server answers with more than %d values for %d files: correct the "+
			"server, or set spec.lfs of the Repository to false", mostAnswered, mostBatch)
	}
	if err := json.Unmarshal(data, &found); err != nil {
		return nil, fmt.Errorf("its answer cannot be read: %w", err)
	}
	return found.Objects, nil
}

// do sends a request, whose answer must be 200.
func (c *lfsClient) do(req *http.Request) (*http.Response, error) {
	answer, err := c.http.Do(req)
	var wrapped *url.Error
	denied, isDenied := errors.AsType[*egress.DeniedError](err)
	switch {
	case isDenied:
		return nil, fail(ErrAddress, "%s", denied)
	case req.Context().Err() != nil:
		return nil, stopped(req.Context(), "asking for files")
	case errors.As(err, &wrapped): // which quotes the URL, and that may hold a signature
		return nil, fail(ErrUnreachable, "the server cannot be reached: %s", short(wrapped.Err.Error()))
	case err != nil:
		return nil, err
	case answer.StatusCode == http.StatusOK:
		return answer, nil
	}
	answer.Body.Close()
	switch status := answer.StatusCode; {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return nil, fail(ErrAuthentication, unauthorized)
	case status == http.StatusNotFound:
		return nil, fail(ErrNotFound, "the server has no LFS for this repository, or the credentials do not show it")
	case status/100 == 3:
		return nil, fail(ErrRedirect, redirected)
	case status >= 500 || status == http.StatusTooManyRequests:
		return nil, fail(ErrUnreachable, "the server answers %d; it may be down", status)
	default:
		return nil, fmt.Errorf("the server answers %d", status)
	}
}

// download a file, to the name of its digest. The server may have it elsewhere; our credentials are sent to the
// Repository's own server alone, and elsewhere only the header that the server itself returned for that.
func (c *lfsClient) download(ctx context.Context, p pointer, href string, header map[string]string) error {
	at, err := url.Parse(href)
	if err != nil || at.Scheme != "https" && at.Scheme != c.at.scheme {
		return fail(ErrContent, "the server's answer names no https:// URL for it")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, href, nil)
	if err != nil {
		return fail(ErrContent, "the server's answer names no https:// URL for it")
	}
	if c.authorization != "" && serverOf(at).sameServer(c.at) {
		req.Header.Set("Authorization", c.authorization)
	}
	for name, value := range header {
		if slices.Contains(lfsHeaders, http.CanonicalHeaderKey(name)) {
			req.Header.Set(name, value)
		}
	}
	answer, err := c.do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return c.m.keepObject(p, arriving{ctx, answer.Body})
}

// arriving is the body of an answer, whose errors contain what to do about them.
type arriving struct {
	ctx  context.Context
	body io.Reader
}

func (a arriving) Read(p []byte) (int, error) {
	n, err := a.body.Read(p)
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return n, err
	case a.ctx.Err() != nil:
		return n, stopped(a.ctx, "reading the answer")
	}
	return n, fail(ErrUnreachable, "the server's answer ends in the middle: %s", short(err.Error()))
}
