package notification

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/egress"
	"cairn.dev/cairn/internal/controller/notification/message"
	"cairn.dev/cairn/internal/source/git"
)

// Keys of the Secret of a destination.
const (
	urlKey          = "url"
	signingKey      = "key"
	previousKey     = "previousKey"
	authorityKey    = "ca.crt"
	longestWait     = time.Hour
	longestResponse = 64 << 10
)

// Timeout is the longest time of a request to a destination.
const Timeout = 10 * time.Second

// configError is a configuration that a user has to correct.
type configError struct{ reason, message string }

// Error returns the message.
func (e *configError) Error() string { return e.message }

// destination is where messages of a Notification are sent.
type destination struct {
	kind v1alpha1.DestinationType
	url  *url.URL
	// keys sign requests; the first one is the newest.
	keys [][]byte
	web  *http.Client
	// receiver identifies it, with its credentials.
	receiver string
}

// destination reads the Secret of a Notification. The error is a *configError if a user has to correct something.
func (r *Reconciler) destination(ctx context.Context, n *v1alpha1.Notification) (destination, error) {
	to := n.Spec.Destination
	secret := &corev1.Secret{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: n.Namespace, Name: to.Secret.Name}, secret)
	if apierrors.IsNotFound(err) {
		return destination{}, &configError{v1alpha1.ReasonCredentialsNotFound,
			fmt.Sprintf("Secret %s was not found: create it, or correct "+
				"spec.destination.secret", to.Secret.Name)}
	}
	if apierrors.IsForbidden(err) {
		return destination{}, &configError{v1alpha1.ReasonCredentialsNotFound,
			"Cairn has no permission to read the Secret of " +
				"spec.destination.secret: " + err.Error()}
	}
	if err != nil {
		return destination{}, err
	}
	d := destination{kind: to.Type, receiver: string(n.UID) + "/" + secret.ResourceVersion}
	invalid := func(key string, err error) (destination, error) {
		return destination{}, &configError{v1alpha1.ReasonCredentialsInvalid,
			fmt.Sprintf("key %s of Secret %s: %s", key, secret.Name, err)}
	}
	if d.url, err = parse(string(secret.Data[urlKey]), r.Hosts); err != nil {
		return invalid(urlKey, err)
	}
	pool, err := git.Auth{CA: secret.Data[authorityKey]}.Pool()
	if err != nil {
		return invalid(authorityKey, err)
	}
	for _, name := range []string{signingKey, previousKey} {
		text, ok := secret.Data[name]
		if to.Type != v1alpha1.DestinationWebhook || !ok && name == previousKey {
			continue
		}
		key, err := message.Key(string(text))
		if err != nil {
			return invalid(name, err)
		}
		d.keys = append(d.keys, key)
	}
	d.web = r.Web(pool)
	d.web.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return d, nil
}

// parse reads the URL of a destination, which is one of the hosts; nil are all. An error does not have the URL: it may
// contain a credential.
func parse(text string, hosts []string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	switch {
	case text == "":
		return nil, errors.New("it is missing")
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("it must be an https or http URL")
	case len(hosts) > 0 && !slices.ContainsFunc(hosts, func(allowed string) bool {
		return isHost(u.Hostname(), allowed)
	}):
		return nil, fmt.Errorf("host %s is not allowed: an administrator can allow it with the chart value "+
			"notifications.allowedHosts",
			u.Hostname())
	}
	return u, nil
}

// isHost reports whether a host is one that is allowed; *.example.com allows all below example.com.
func isHost(host, allowed string) bool {
	host, allowed = strings.ToLower(host), strings.ToLower(allowed)
	if suffix, ok := strings.CutPrefix(allowed, "*"); ok {
		return strings.HasSuffix(host, suffix) && host != suffix
	}
	return host == allowed
}

// send sends a message once. After an error it also returns the time that the destination requests to wait.
func (d destination) send(ctx context.Context, now time.Time, m message.Message) (time.Duration, error) {
	write := map[v1alpha1.DestinationType]func(message.Message) ([]byte, error){
		v1alpha1.DestinationSlack: message.Slack, v1alpha1.DestinationTeams: message.Teams,
		v1alpha1.DestinationWebhook: message.CloudEvent,
	}[d.kind]
	body, err := write(m)
	if err != nil {
		return 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url.String(), bytes.NewReader(body))
	if err != nil {
		return 0, errors.New("the URL is invalid")
	}
	request.Header.Set("User-Agent", "cairn")
	request.Header.Set("Content-Type", "application/json")
	if d.kind == v1alpha1.DestinationWebhook {
		request.Header.Set("Content-Type", message.CloudEventType)
		for name, value := range message.Headers(m.ID, now, body, d.keys...) {
			request.Header.Set(name, value)
		}
	}
	response, err := d.web.Do(request)
	if err != nil {
		return 0, d.unreachable(err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, longestResponse)) // so that the connection is used again
	return answer(response)
}

// answer returns nil for a message that was accepted. The body of a response is in no error: a tenant chose the server.
func answer(response *http.Response) (time.Duration, error) {
	code := response.StatusCode
	status := strings.TrimSpace(strconv.Itoa(code) + " " + http.StatusText(code))
	switch {
	case code >= 200 && code < 300:
		return 0, nil
	case code >= 300 && code < 400:
		return 0, fmt.Errorf("the destination responds with %s: redirects are not followed, so the Secret must have "+
			"the URL that it redirects to", status)
	}
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	return min(time.Duration(max(seconds, 0))*time.Second, longestWait),
		fmt.Errorf("the destination responds with %s", status)
}

// unreachable is an error of a request without the URL, which may contain a credential, and without addresses, which
// would show what a name resolves to inside of the cluster.
func (d destination) unreachable(err error) error {
	if asked, ok := errors.AsType[*url.Error](err); ok {
		err = asked.Err
	}
	denied, isDenied := errors.AsType[*egress.DeniedError](err)
	lookup, isLookup := errors.AsType[*net.DNSError](err)
	dial, isDial := errors.AsType[*net.OpError](err)
	timeout, isTimeout := errors.AsType[net.Error](err)
	switch {
	case isDenied:
		return denied
	case errors.Is(err, context.DeadlineExceeded), isTimeout && timeout.Timeout():
		return fmt.Errorf("%s did not respond within %s", d.url.Host, Timeout)
	case isLookup && lookup.IsNotFound:
		return fmt.Errorf("host %s was not found", d.url.Hostname())
	case isLookup:
		return fmt.Errorf("host %s could not be resolved", d.url.Hostname())
	case isDial:
		return fmt.Errorf("%s: %s: %w", d.url.Host, dial.Op, dial.Err)
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return fmt.Errorf("%s has a certificate of an unknown authority: add that to key ca.crt of the Secret",
			d.url.Host)
	}
	return fmt.Errorf("%s: %w", d.url.Host, err)
}
