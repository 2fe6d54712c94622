package gitserver

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
)

// SendPush sends the webhook of a push to main as GitHub does, signed with a secret, and returns the response.
func SendPush(ctx context.Context, url, secret, delivery string) (status int, text string, err error) {
	body := []byte(`{"ref":"refs/heads/main","after":"1111111111111111111111111111111111111111","repository":{"clone_url":"https://git.example.com/acme/infra.git"}}`)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "X-GitHub-Event": "push", "X-GitHub-Delivery": delivery,
		"X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac.Sum(nil)),
	} {
		request.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(content), err
}
