package repository

import (
	"fmt"

	"cairn.dev/cairn/api/v1alpha1"
)

// WebhookSecrets returns the signing secrets of webhooks in the data of a Secret: the values of the keys that the
// Repository names, or of the only key. A value that the Repository does not mean, such as a password that more users
// know, must not sign. problem is what a user has to correct; empty when there is none.
func WebhookSecrets(hook *v1alpha1.WebhookSource, data map[string][]byte) (secrets [][]byte, problem string) {
	keys := hook.Keys
	if len(keys) == 0 && len(data) == 1 {
		for key := range data {
			keys = []string{key}
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Sprintf("webhooks are denied: Secret %s has %d keys: name those with the signing secrets in "+
			"spec.webhook.keys", hook.Secret.Name, len(data))
	}
	for _, key := range keys {
		if len(data[key]) == 0 {
			problem = fmt.Sprintf("webhooks signed with key %s are denied: Secret %s has no value for it", key,
				hook.Secret.Name)
			continue
		}
		secrets = append(secrets, data[key])
	}
	return secrets, problem
}
