package kubelet

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

func TestTailOffset(t *testing.T) {
	long := strings.Repeat("0123456789\n", 10_000) // more than a block
	for _, tt := range []struct {
		name, log string
		lines     int64
		want      string
	}{
		{"all", "a\nb\n", -1, "a\nb\n"},
		{"none", "a\nb\n", 0, ""},
		{"the last", "a\nb\n", 1, "b\n"},
		{"the last, which has no end yet", "a\nb", 1, "b"},
		{"as many as there are", "a\nb\n", 2, "a\nb\n"},
		{"more than there are", "a\nb\n", 9, "a\nb\n"},
		{"empty lines count", "a\n\n\n", 2, "\n\n"},
		{"an empty log", "", 3, ""},
		{"over blocks", long, 5_000, long[:len(long)/2]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at, err := tailOffset(strings.NewReader(tt.log), int64(len(tt.log)), tt.lines)
			if err != nil {
				t.Fatal(err)
			}
			if got := tt.log[at:]; got != tt.want {
				t.Errorf("got %d bytes %.20q, want %d bytes %.20q", len(got), got, len(tt.want), tt.want)
			}
		})
	}
}

func TestParseLogQuery(t *testing.T) {
	for _, tt := range []struct{ query, want string }{
		{"", "false -1 -1 <nil>"},
		{"follow=true&tailLines=5&limitBytes=0&stream=All&previous=false", "true 5 0 <nil>"},
		{"tailLines=-1", `tailLines is not a count: "-1"`},
		{"timestamps=true", "timestamps is not supported"},
		{"previous=true", "previous is not supported"},
		{"sinceSeconds=10", "sinceSeconds is not supported"},
	} {
		t.Run(tt.query, func(t *testing.T) {
			values, err := url.ParseQuery(tt.query)
			if err != nil {
				t.Fatal(err)
			}
			q, err := parseLogQuery(values)
			if got := fmt.Sprint(q.follow, q.tail, q.limit, err); !strings.Contains(got, tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
