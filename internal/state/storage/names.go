package storage

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

const (
	// SecretType of the Secrets that hold states.
	SecretType = "cairn.dev/state"
	// Label of these Secrets: the State they belong to, shortened to fit a label.
	Label = "cairn.dev/state"

	managedByLabel = "app.kubernetes.io/managed-by"
	managedBy      = "cairn"
)

// labelValue fits a name into the 63 characters of a label. A name that is cut keeps a hash of the whole, so that two
// names never meet.
func labelValue(name string) string {
	if len(name) <= 63 {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:50] + "-" + hex.EncodeToString(sum[:6])
}

func labels(name string) map[string]string {
	return map[string]string{managedByLabel: managedBy, Label: labelValue(name)}
}

// secretName names a chunk of a version. It contains the start of the version's digest, so that what a crash or a
// slower writer left behind under the same version is another Secret, which nothing counts and nothing waits for.
// With a Stack's name of 200 characters it stays below the 253 that a Secret's may have.
func secretName(state string, v v1alpha1.StateVersion, chunk int) string {
	return fmt.Sprintf("%s%d-%s-%d", secretPrefix(state), v.Version, shortDigest(v.SHA256), chunk)
}

func secretPrefix(state string) string { return state + SecretNamePart }

// SecretNamePart is in the name of each Secret that holds a part of a state.
const SecretNamePart = "-state-v"

// stateSecret matches the names of all Secrets that hold states.
var stateSecret = regexp.MustCompile(SecretNamePart + `[0-9]+-[0-9a-f]{12}-[0-9]+$`)

// IsSecretName reports whether a Secret of this name holds a part of a state. Nothing else has such a name.
func IsSecretName(name string) bool { return stateSecret.MatchString(name) }

// versionOf parses the version in a name that secretName returned for that state.
func versionOf(state, secret string) (int64, bool) {
	rest, ok := strings.CutPrefix(secret, secretPrefix(state))
	if !ok {
		return 0, false
	}
	version, _, ok := strings.Cut(rest, "-")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(version, 10, 64)
	return n, err == nil && n > 0
}

// foundIn returns the versions of a state that have all their chunks among the names of Secrets, oldest first.
func foundIn(state string, names []string) []Found {
	chunks, last := map[Found]int32{}, map[Found]int32{}
	for _, name := range names {
		version, ok := versionOf(state, name)
		parts := strings.Split(strings.TrimPrefix(name, secretPrefix(state)), "-")
		if !ok || len(parts) != 3 {
			continue
		}
		chunk, err := strconv.ParseInt(parts[2], 10, 32)
		if err != nil {
			continue
		}
		f := Found{Version: version, digest: parts[1]}
		chunks[f]++
		last[f] = max(last[f], int32(chunk))
	}
	var found []Found
	for f, n := range chunks {
		if f.chunks = n; last[Found{Version: f.Version, digest: f.digest}] == n-1 {
			found = append(found, f)
		}
	}
	slices.SortFunc(found, func(a, b Found) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), strings.Compare(a.digest, b.digest))
	})
	return found
}

// secretNames are the Secrets of a version, first chunk first.
func secretNames(state string, v v1alpha1.StateVersion) []string {
	names := make([]string, v.Chunks)
	for i := range names {
		names[i] = secretName(state, v, i)
	}
	return names
}

func shortDigest(digest string) string {
	hex := strings.TrimPrefix(digest, "sha256:")
	return hex[:min(12, len(hex))]
}

// BucketFolder has the versions of a state that are in the bucket, and the backup of every state.
func BucketFolder(key types.NamespacedName) string {
	return "states/" + key.Namespace + "/" + key.Name
}

func bucketKey(key types.NamespacedName, v v1alpha1.StateVersion) string {
	return fmt.Sprintf("%s/%d-%s", BucketFolder(key), v.Version, strings.TrimPrefix(v.SHA256, "sha256:"))
}
