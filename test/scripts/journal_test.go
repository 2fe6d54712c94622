package scripts

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/test/story"
)

// waitJournal waits until the journal of a Stack has N creations, which an apply in progress writes: wait-journal STACK
// N.
func (c cluster) waitJournal(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), story.Timeout)
	defer cancel()
	var keys corev1.Secret
	ts.Check(c.Get(ctx, client.ObjectKey{Namespace: "cairn-system", Name: "cairn-keys"}, &keys))
	secrets, err := bucket.NewKeys(strings.Fields(string(keys.Data["identity.age"]))...)
	ts.Check(err)
	b, err := bucket.Open(ctx, "file://"+filepath.Join(c.Data, "bucket"), secrets)
	ts.Check(err)
	defer b.Close()
	for {
		created := 0
		names, err := b.List(ctx, "journals/"+ts.Getenv("NAMESPACE")+"/"+args[0])
		ts.Check(err)
		for _, name := range names {
			data, err := b.Get(ctx, name, runnerapi.LargestBatch)
			ts.Check(err)
			var batch runnerapi.JournalEntries
			if len(data) > 0 { // a marker has no content
				ts.Check(json.Unmarshal(data, &batch))
			}
			for _, e := range batch.Entries {
				if e.Action == "create" {
					created++
				}
			}
		}
		if created >= want {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond): // a bucket has no watch
		case <-ctx.Done():
			ts.Fatalf("the journal of %s has %d creations, not %d", args[0], created, want)
		}
	}
}
