package artifact

import (
	"bytes"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket/buckettest"
	"cairn.dev/cairn/internal/server/httpapi"
)

func TestFitChunk(t *testing.T) {
	tests := map[string]struct {
		next, offset, n int64
		want            fit
	}{
		"the first bytes fit":                  {0, 0, 10, fitsAtEnd},
		"the next bytes fit":                   {10, 10, 5, fitsAtEnd},
		"nothing at the end fits":              {10, 10, 0, fitsAtEnd},
		"the last bytes again are there":       {10, 5, 5, isThere},
		"older bytes again are there":          {10, 0, 5, isThere},
		"bytes past the end leave a gap":       {10, 11, 5, leavesGap},
		"bytes over the end are to be cut":     {10, 5, 10, leavesGap},
		"the first bytes must begin the log":   {0, 5, 5, leavesGap},
		"nothing past the end leaves a gap":    {10, 11, 0, leavesGap},
		"nothing before the end is there also": {10, 4, 0, isThere},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := fitChunk(test.next, test.offset, test.n); got != test.want {
				t.Fatalf("got %v", got)
			}
		})
	}
}

// logOf reads all of a log.
func logOf(t *testing.T, l *Logs, folder string) string {
	t.Helper()
	all := ""
	for {
		data, _, err := l.ReadAt(t.Context(), folder, int64(len(all)), true)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) == 0 {
			return all
		}
		all += string(data)
	}
}

func TestLogIsAppendedByManyServers(t *testing.T) {
	b := buckettest.New(t)
	servers := []*Logs{NewLogs(b), NewLogs(b), NewLogs(b)}
	text := strings.Repeat("0123456789", 100)
	const folder = "logs/ns/uid/1"
	offset := int64(0)
	for i := 0; offset < int64(len(text)); i++ {
		end := min(offset+int64(1+i*7%50), int64(len(text)))
		for range 1 + i%2 { // every second answer is lost
			next, ok, err := servers[i%3].Append(t.Context(), folder, offset, []byte(text[offset:end]), LargestLog)
			if err != nil || !ok || next != end {
				t.Fatalf("append [%d, %d): next %d, %v, %v", offset, end, next, ok, err)
			}
		}
		offset = end
	}
	next, ok, err := servers[0].Append(t.Context(), folder, offset+1, []byte("x"), LargestLog)
	if err != nil || ok || next != offset {
		t.Fatalf("a gap: next %d, %v, %v", next, ok, err)
	}
	if got := logOf(t, servers[1], folder); got != text {
		t.Fatalf("read %d bytes of %d", len(got), len(text))
	}
	if got := logOf(t, servers[1], "logs/ns/uid/2"); got != "" {
		t.Fatalf("another attempt's log: %q", got)
	}
}

func TestOverlappingChunksAreReadOnce(t *testing.T) {
	b := buckettest.New(t)
	for key, data := range map[string]string{"000000000000": "abcd", "000000000002": "cd", "000000000003": "defg",
		"000000000007": "h"} {
		if err := b.Put(t.Context(), "logs/ns/uid/1/"+key, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	if got := logOf(t, NewLogs(b), "logs/ns/uid/1"); got != "abcdefgh" {
		t.Fatalf("got %q", got)
	}
}

func TestLogIsBounded(t *testing.T) {
	b := buckettest.New(t)
	logs := NewLogs(b)
	if err := b.Put(t.Context(), chunkKey("logs/ns/uid/1", LargestLog-10), make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := logs.Append(t.Context(), "logs/ns/uid/1", LargestLog-5, make([]byte, 5), LargestLog); err != nil ||
		!ok {
		t.Fatalf("up to the end: %v", err)
	}
	_, _, err := logs.Append(t.Context(), "logs/ns/uid/1", LargestLog, bytes.Repeat([]byte("x"), 1), LargestLog)
	if code, _ := httpapi.StatusOf(err); code != 413 {
		t.Fatalf("past the end: %d, %v", code, err)
	}
}

func TestLogIsReadFromAnyByteOfItsChunks(t *testing.T) {
	const text = "0123456789abcdefghijklmnopqrstuvwxyz"
	for name, chunks := range map[string][][2]int{
		"in one piece":                       {{0, 36}},
		"in pieces":                          {{0, 10}, {10, 20}, {20, 36}},
		"by two processes at once":           {{0, 10}, {10, 30}, {10, 20}, {20, 25}, {25, 36}},
		"with a piece that another one goes": {{0, 20}, {5, 10}, {20, 36}},
	} {
		t.Run(name, func(t *testing.T) {
			l := NewLogs(buckettest.New(t))
			for _, c := range chunks {
				if err := l.bucket.PutLoose(t.Context(), chunkKey("logs/ns/uid/1", int64(c[0])),
					[]byte(text[c[0]:c[1]])); err != nil {
					t.Fatal(err)
				}
			}
			for from := range len(text) + 3 {
				got, at := "", int64(from)
				for {
					data, _, err := l.ReadAt(t.Context(), "logs/ns/uid/1", at, true)
					if err != nil {
						t.Fatal(err)
					}
					if len(data) == 0 {
						break
					}
					got, at = got+string(data), at+int64(len(data))
				}
				if want := text[min(from, len(text)):]; got != want {
					t.Errorf("from %d: got %q", from, got)
				}
			}
		})
	}
}

func TestLogIsListedOnlyOnRequest(t *testing.T) {
	l := NewLogs(buckettest.New(t))
	if _, ok, err := l.Append(t.Context(), "logs/ns/uid/1", 0, []byte("text"), LargestLog); err != nil || !ok {
		t.Fatal(ok, err)
	}
	for _, test := range []struct {
		at           int64
		list, listed bool
		want         string
	}{{0, true, false, "text"}, {0, false, false, "text"}, {2, false, false, ""}, {2, true, true, "xt"},
		{4, false, false, ""}, {4, true, true, ""}} {
		data, listed, err := l.ReadAt(t.Context(), "logs/ns/uid/1", test.at, test.list)
		if err != nil || listed != test.listed || string(data) != test.want {
			t.Errorf("%+v: got %q, %v, %v", test, data, listed, err)
		}
	}
}

func TestAppendNotifiesFollowersOfTheRun(t *testing.T) {
	l := NewLogs(buckettest.New(t))
	mine, leave := l.Changes.Subscribe(LogFolder("ns", "uid"))
	other, leaveOther := l.Changes.Subscribe(LogFolder("ns", "uid-2"))
	for i := range 3 { // news are not lost while they are not read, and are no queue
		if _, _, err := l.Append(t.Context(), AttemptLogFolder("ns", "uid", 1), int64(i), []byte("x"),
			LargestLog); err != nil {
			t.Fatal(err)
		}
	}
	if len(mine) != 1 || len(other) != 0 {
		t.Fatalf("news: %d and %d", len(mine), len(other))
	}
	<-mine
	l.RunChanged(&v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", UID: "uid"}})
	if len(mine) != 1 {
		t.Error("a change of the Run is no news")
	}
	leave()
	leaveOther()
}

func TestLogsOfARunAreInOneFolder(t *testing.T) {
	if got := AttemptLogFolder("ns", "uid", 12); got != "logs/ns/uid/12" {
		t.Error(got)
	}
}
