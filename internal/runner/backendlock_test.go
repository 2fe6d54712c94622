package runner

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	buckets "github.com/aws/aws-sdk-go-v2/service/s3"
)

func TestLockOfAnotherUserIsNamed(t *testing.T) {
	t.Parallel()
	const lock = `{"ID":"f00","Operation":"OperationTypeApply","Info":"","Who":"bob@laptop","Version":"1.12.6","Created":"2026-01-01T00:00:00Z","Path":"states/net.tfstate"}`
	const named = "Error acquiring the state lock: bob@laptop has it since 2026-01-01 00:00:00 +0000 UTC " +
		"(OperationTypeApply, ID f00). When no engine is at work there anymore: cairn shell net, and there tofu " +
		"force-unlock f00. "
	for name, test := range map[string]struct {
		script string
		move   bool
		want   string
	}{
		"to an apply":                         {want: named},
		"to a script that applies":            {script: `tofu apply -no-color "$CAIRN_PLAN_FILE"`, want: named},
		"to who puts a state into the bucket": {move: true, want: "put the state into backend s3: " + named},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestServer(t)
			server, b, inputs := aBucket(t, true)
			order := s.inBackend(1, two, b)
			order.Command = test.script
			if test.move {
				s.applied(order, inputs)
				remove(t, server, "net.tfstate")
				order.Attempt, s.move = 3, true
			} else {
				order = s.planned(order, inputs)
			}
			_, err := objects(server).PutObject(t.Context(), &buckets.PutObjectInput{Bucket: aws.String("states"),
				Key: aws.String("net.tfstate.tflock"), Body: strings.NewReader(lock)})
			if err != nil {
				t.Fatal(err)
			}
			p := run(t, s, inputs, order)
			done := s.done(order.Attempt).Done
			if f := done.Failure; f == nil || f.Class != "Transient" ||
				!strings.HasPrefix(strings.TrimPrefix(f.Message, "the script of spec.commands.apply: "), test.want) ||
				s.lock != nil || done.Saved {
				t.Errorf("%+v %s\n%s", f, s.lock, p.output)
			}
		})
	}
}
