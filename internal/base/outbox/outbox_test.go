package outbox

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

type (
	message  = Message[string]
	messages = []message
	plan     = Plan[string]
	ledger   = []Record
)

func TestDue(t *testing.T) {
	later := noon.Add(time.Minute)
	for name, tt := range map[string]struct {
		wanted messages
		ledger ledger
		want   plan
	}{
		"nothing is wanted": {ledger: ledger{{Key: "a", Digest: "1"}},
			want: plan{Ledger: ledger{{Key: "a", Digest: "1"}}}},
		"a first message": {
			wanted: messages{{Key: "a", Digest: "1"}},
			want:   plan{Ledger: ledger{{Key: "a"}}, Send: messages{{Key: "a", Digest: "1"}}},
		},
		"the receiver has it": {
			wanted: messages{{Key: "a", Digest: "1", NotBefore: later}},
			ledger: ledger{{Key: "a", Digest: "1", Reference: "7"}},
			want:   plan{Ledger: ledger{{Key: "a", Digest: "1", Reference: "7"}}},
		},
		"another content: what the receiver has is unknown": {
			wanted: messages{{Key: "a", Digest: "2"}}, ledger: ledger{{Key: "a", Digest: "1", Reference: "7"}},
			want: plan{Ledger: ledger{{Key: "a", Reference: "7"}}, Send: messages{{Key: "a", Digest: "2"}}},
		},
		"the process ended before the acknowledgment": {
			wanted: messages{{Key: "a", Digest: "2"}}, ledger: ledger{{Key: "a", Reference: "7"}},
			want: plan{Ledger: ledger{{Key: "a", Reference: "7"}}, Send: messages{{Key: "a", Digest: "2"}}},
		},
		"a message without a digest is never acknowledged": {
			wanted: messages{{Key: "a"}}, ledger: ledger{{Key: "a"}},
			want: plan{Ledger: ledger{{Key: "a"}}, Send: messages{{Key: "a"}}},
		},
		"a pending one may be received": {
			wanted: messages{{Key: "a", Digest: "2", Pending: true}}, ledger: ledger{{Key: "a", Digest: "1"}},
			want: plan{Ledger: ledger{{Key: "a", Pending: true}},
				Send: messages{{Key: "a", Digest: "2", Pending: true}}},
		},
		"one that was pending may still be": {
			wanted: messages{{Key: "a", Digest: "2"}}, ledger: ledger{{Key: "a", Digest: "1", Pending: true}},
			want: plan{Ledger: ledger{{Key: "a", Pending: true}}, Send: messages{{Key: "a", Digest: "2"}}},
		},
		"at most once: it is recorded as received": {
			wanted: messages{{Key: "a", Digest: "1", AtMostOnce: true}},
			want: plan{Ledger: ledger{{Key: "a", Digest: "1"}},
				Send: messages{{Key: "a", Digest: "1", AtMostOnce: true}}},
		},
		"an early one is recorded, and due later": {
			wanted: messages{{Key: "b", Digest: "2", NotBefore: later.Add(time.Minute)},
				{Key: "a", Digest: "2", NotBefore: later}},
			ledger: ledger{{Key: "a", Digest: "1"}}, want: plan{Ledger: ledger{{Key: "a"}, {Key: "b"}}, Next: later},
		},
		"an early one at most once is not recorded as received": {
			wanted: messages{{Key: "a", Digest: "2", NotBefore: later, AtMostOnce: true}},
			want:   plan{Ledger: ledger{{Key: "a"}}, Next: later},
		},
		"in order, and what is not wanted stays": {
			wanted: messages{{Key: "c", Digest: "1"}, {Key: "a", Digest: "2"}},
			ledger: ledger{{Key: "a", Digest: "1"}, {Key: "b", Digest: "1"}},
			want: plan{
				Ledger: ledger{{Key: "a"}, {Key: "b", Digest: "1"}, {Key: "c"}},
				Send:   messages{{Key: "c", Digest: "1"}, {Key: "a", Digest: "2"}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(tt.ledger)
			got := Due(noon, tt.wanted, tt.ledger)
			slices.SortFunc(got.Ledger, func(a, b Record) int { return int(a.Key[0]) - int(b.Key[0]) })
			if len(got.Ledger)+len(tt.want.Ledger) > 0 && !reflect.DeepEqual(got.Ledger, tt.want.Ledger) {
				t.Errorf("ledger %+v, want %+v", got.Ledger, tt.want.Ledger)
			}
			if !reflect.DeepEqual(got.Send, tt.want.Send) || got.Next != tt.want.Next {
				t.Errorf("send %+v next %v, want %+v next %v", got.Send, got.Next, tt.want.Send, tt.want.Next)
			}
			if !slices.Equal(before, tt.ledger) {
				t.Errorf("the ledger of the caller is %+v", tt.ledger)
			}
		})
	}
}

// A receiver that fails gets nothing until its time, in later plans too, and delays no other. A new name is a new try.
func TestAFailingReceiverDelaysNoOther(t *testing.T) {
	now, receivers := noon, &Receivers{}
	var got []string
	response, failure := Response{}, errors.New("503")
	send := func(wanted ...message) Sent {
		got = nil
		return Send(t.Context(), func() time.Time { return now }, Due(now, wanted, nil), receivers,
			func(_ context.Context, m message, _ Record) (Response, error) {
				got = append(got, m.Key)
				if m.Receiver == "down" {
					return response, failure
				}
				return Response{Reference: "of " + m.Key}, nil
			})
	}
	check := func(sent Sent, wait time.Duration, failed bool, keys ...string) {
		t.Helper()
		if !slices.Equal(got, keys) || sent.Wait != wait || (sent.Err != nil) != failed {
			t.Errorf("sent %v, wait %s, %v", got, sent.Wait, sent.Err)
		}
	}
	all := messages{
		{Key: "a", Digest: "1", Receiver: "down"}, {Key: "b", Digest: "1", Receiver: "down"},
		{Key: "c", Digest: "1", Receiver: "up"},
		{Key: "d", Digest: "1", Receiver: "down", AtMostOnce: true},
	}
	sent := send(all...)
	check(sent, 10*time.Second, true, "a", "c", "d")
	want := ledger{{Key: "a"}, {Key: "b"}, {Key: "c", Digest: "1", Reference: "of c"}, {Key: "d", Digest: "1"}}
	if !slices.Equal(sent.Ledger, want) || sent.Lost == nil {
		t.Errorf("%+v, %v", sent.Ledger, sent.Lost)
	}
	now = now.Add(time.Second)
	check(send(all[:2]...), 9*time.Second, false)
	now = now.Add(9 * time.Second)
	check(send(all[:2]...), 20*time.Second, true, "a")
	check(send(message{Key: "a", Digest: "1", Receiver: "down with other credentials"}), 0, false, "a")
	now, response.RetryAfter = now.Add(20*time.Second), time.Hour
	check(send(all[:2]...), time.Hour, true, "a")
	response = Response{}
	for range 12 {
		now = now.Add(receivers.wait(now, "down"))
		sent = send(all[:2]...)
	}
	check(sent, 10*time.Minute, true, "a")
	failure = nil
	now = now.Add(10 * time.Minute)
	check(send(all[:2]...), 0, false, "a", "b")
	if len(receivers.failed) != 0 {
		t.Errorf("%d receivers are remembered", len(receivers.failed))
	}
}
