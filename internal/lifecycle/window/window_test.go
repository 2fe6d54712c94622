package window

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// window in short form: `Deny "0 18 * * 5" 62h Europe/Berlin Plan,Apply`, the last two may be left out.
func windows(t testing.TB, specs ...string) []v1alpha1.Window {
	t.Helper()
	var ws []v1alpha1.Window
	for _, spec := range specs {
		parts := strings.Split(spec, `"`)
		if len(parts) != 3 {
			t.Fatalf("no window: %s", spec)
		}
		rest := strings.Fields(parts[2])
		d, err := time.ParseDuration(rest[0])
		if err != nil {
			t.Fatal(err)
		}
		w := v1alpha1.Window{Kind: v1alpha1.WindowKind(strings.TrimSpace(parts[0])), Schedule: parts[1],
			Duration: metav1.Duration{Duration: d}}
		if len(rest) > 1 && rest[1] != "-" {
			w.TimeZone = rest[1]
		}
		if len(rest) > 2 {
			for _, op := range strings.Split(rest[2], ",") {
				w.Operations = append(w.Operations, v1alpha1.Operation(op))
			}
		}
		ws = append(ws, w)
	}
	return ws
}

func TestClosed(t *testing.T) {
	for _, c := range []struct {
		name    string
		windows []string
		op      v1alpha1.Operation
		now     string
		why     string // empty: not closed
		until   string // empty: never
	}{
		{name: "without windows everything may begin at any time", now: "2026-11-20T12:00:00Z"},
		{name: "a Deny closes from its first second", windows: []string{`Deny "0 18 * * 5" 62h`},
			now: "2026-11-20T18:00:00Z",
			why: "spec.windows[0] denies Apply until 2026-11-23T08:00:00Z", until: "2026-11-23T08:00:00Z"},
		{name: "it is open in the second before a Deny", windows: []string{`Deny "0 18 * * 5" 62h`},
			now: "2026-11-20T17:59:59Z"},
		{name: "a Deny closes to its last second", windows: []string{`Deny "0 18 * * 5" 62h`},
			now: "2026-11-23T07:59:59Z",
			why: "spec.windows[0] denies Apply until 2026-11-23T08:00:00Z", until: "2026-11-23T08:00:00Z"},
		{name: "it is open when the Deny is over", windows: []string{`Deny "0 18 * * 5" 62h`},
			now: "2026-11-23T08:00:00Z"},
		{name: "a window without operations is about destroys too", windows: []string{`Deny "0 18 * * 5" 62h`},
			op:  v1alpha1.OperationDestroy,
			now: "2026-11-21T00:00:00Z", why: "spec.windows[0] denies Destroy until 2026-11-23T08:00:00Z",
			until: "2026-11-23T08:00:00Z"},
		{name: "a window without operations leaves plans alone", windows: []string{`Deny "0 18 * * 5" 62h`},
			op: v1alpha1.OperationPlan, now: "2026-11-21T00:00:00Z"},
		{name: "a window can be about plans only", windows: []string{`Deny "@daily" 24h - Plan`},
			now: "2026-11-21T00:00:00Z"},
		{name: "an Allow for another operation closes nothing", windows: []string{`Allow "@daily" 1h - Destroy`},
			now: "2026-11-21T12:00:00Z"},
		{name: "where there is an Allow all other times are closed", windows: []string{`Allow "0 2 * * *" 2h`},
			now:   "2026-11-20T12:00:30Z",
			why:   "no window of spec.windows allows Apply now; it may begin at 2026-11-21T02:00:00Z",
			until: "2026-11-21T02:00:00Z"},
		{name: "inside an Allow it may begin", windows: []string{`Allow "0 2 * * *" 2h`}, now: "2026-11-20T03:59:59Z"},
		{name: "one Allow of several is enough", windows: []string{`Allow "0 2 * * *" 2h`, `Allow "0 12 * * *" 1h`},
			now: "2026-11-20T12:10:00Z"},
		{name: "Deny wins over Allow", windows: []string{`Allow "0 12 * * *" 2h`, `Deny "0 12 20 11 *" 1h`},
			now: "2026-11-20T12:00:00Z",
			why: "spec.windows[1] denies Apply until 2026-11-20T13:00:00Z", until: "2026-11-20T13:00:00Z"},
		{name: "a Deny that ends outside every Allow opens with the next Allow",
			windows: []string{`Allow "0 12 * * *" 2h`, `Deny "0 10 20 11 *" 9h`}, now: "2026-11-20T12:00:00Z",
			why:   "spec.windows[1] denies Apply until 2026-11-20T19:00:00Z; it may begin at 2026-11-21T12:00:00Z",
			until: "2026-11-21T12:00:00Z"},
		{name: "Denies that overlap and follow each other are one",
			windows: []string{`Deny "0 12 * * *" 2h`, `Deny "30 13 * * *" 1h`, `Deny "30 14 * * *" 1h`},
			now:     "2026-11-20T12:30:00Z",
			why:     "spec.windows[0] denies Apply until 2026-11-20T14:00:00Z; it may begin at 2026-11-20T15:30:00Z",
			until:   "2026-11-20T15:30:00Z"},
		{name: "a Deny that opens again before it is over goes on", windows: []string{`Deny "0 8-17 * * *" 90m`},
			now: "2026-11-20T09:00:00Z",
			why: "spec.windows[0] denies Apply until 2026-11-20T18:30:00Z", until: "2026-11-20T18:30:00Z"},
		{name: "the gap of a minute is found", windows: []string{`Deny "0 * * * *" 59m`}, now: "2026-11-20T12:00:00Z",
			why: "spec.windows[0] denies Apply until 2026-11-20T12:59:00Z", until: "2026-11-20T12:59:00Z"},
		{name: "a Deny for ever has no end", windows: []string{`Deny "* * * * *" 8760h`}, now: "2026-11-20T12:00:00Z",
			why: "spec.windows[0] denies Apply; there is no opening within a year"},
		{name: "an Allow that never comes never opens", windows: []string{`Allow "0 0 30 2 *" 1h`},
			now: "2026-11-20T12:00:00Z",
			why: "no window of spec.windows allows Apply now; there is no opening within a year"},
		{name: "an Allow that is always denied never opens", windows: []string{`Allow "1-59/2 * * * *" 1m`,
			`Deny "1-59/2 * * * *" 1m`}, now: "2026-11-20T12:01:00Z",
			why: "spec.windows[1] denies Apply until 2026-11-20T12:02:00Z; there is no opening within a year"},
		{name: "a window of most of a year is still open at its end", windows: []string{`Deny "0 0 1 1 *" 8000h`},
			now: "2026-11-20T12:00:00Z",
			why: "spec.windows[0] denies Apply until 2026-11-30T08:00:00Z", until: "2026-11-30T08:00:00Z"},
		{name: "an opening at the end of a year is found", windows: []string{`Allow "0 12 19 11 *" 1m`},
			now:   "2026-11-20T12:00:00Z",
			why:   "no window of spec.windows allows Apply now; it may begin at 2027-11-19T12:00:00Z",
			until: "2027-11-19T12:00:00Z"},
		{name: "a day of the month or a day of the week will do", windows: []string{`Allow "0 0 1 * 1" 24h`},
			now: "2026-12-01T10:00:00Z"},
		{name: "a day of the month alone is not any day of the week", windows: []string{`Allow "0 0 1 * *" 24h`},
			now:   "2026-11-30T10:00:00Z",
			why:   "no window of spec.windows allows Apply now; it may begin at 2026-12-01T00:00:00Z",
			until: "2026-12-01T00:00:00Z"},
		{name: "a schedule goes by the clock of its zone, in winter",
			windows: []string{`Deny "0 18 * * *" 1h Europe/Berlin`}, now: "2026-11-20T17:30:00Z",
			why: "spec.windows[0] denies Apply until 2026-11-20T18:00:00Z", until: "2026-11-20T18:00:00Z"},
		{name: "a schedule goes by the clock of its zone, in summer",
			windows: []string{`Deny "0 18 * * *" 1h Europe/Berlin`}, now: "2026-07-20T16:30:00Z",
			why: "spec.windows[0] denies Apply until 2026-07-20T17:00:00Z", until: "2026-07-20T17:00:00Z"},
		{name: "the day of a schedule is the day of its zone",
			windows: []string{`Allow "30 23 31 12 *" 1h America/New_York`}, now: "2027-01-01T04:45:00Z"},

		{name: "Berlin skips 02:30 in spring: the window opens at 03:00 instead",
			windows: []string{`Deny "30 2 * * *" 1h Europe/Berlin`}, now: "2026-03-29T01:30:00Z",
			why: "spec.windows[0] denies Apply until 2026-03-29T02:00:00Z", until: "2026-03-29T02:00:00Z"},
		{name: "Berlin skips 02:30 in spring: the window that opened at 03:00 instead is open to its last second",
			windows: []string{`Deny "30 2 * * *" 1h Europe/Berlin`}, now: "2026-03-29T01:59:59Z",
			why: "spec.windows[0] denies Apply until 2026-03-29T02:00:00Z", until: "2026-03-29T02:00:00Z"},
		{name: "Berlin before the change in spring: not yet open",
			windows: []string{`Deny "30 2 * * *" 1h Europe/Berlin`}, now: "2026-03-29T00:59:59Z"},
		{name: "Berlin skips 02:30 in spring: the Allow is found ahead",
			windows: []string{`Allow "30 2 * * *" 1h Europe/Berlin`}, now: "2026-03-29T00:00:00Z",
			why:   "no window of spec.windows allows Apply now; it may begin at 2026-03-29T01:00:00Z",
			until: "2026-03-29T01:00:00Z"},
		{name: "Berlin has 02:30 twice in autumn: the first one opens",
			windows: []string{`Deny "30 2 * * *" 20m Europe/Berlin`}, now: "2026-10-25T00:30:00Z",
			why: "spec.windows[0] denies Apply until 2026-10-25T00:50:00Z", until: "2026-10-25T00:50:00Z"},
		{name: "Berlin has 02:30 twice in autumn: the second one opens too",
			windows: []string{`Deny "30 2 * * *" 20m Europe/Berlin`}, now: "2026-10-25T01:30:00Z",
			why: "spec.windows[0] denies Apply until 2026-10-25T01:50:00Z", until: "2026-10-25T01:50:00Z"},
		{name: "Berlin in autumn: between the two it is open", windows: []string{`Deny "30 2 * * *" 20m Europe/Berlin`},
			now: "2026-10-25T01:00:00Z"},
		{name: "New York skips 02:00 in spring: the window opens at 03:00 instead",
			windows: []string{`Deny "0 2 * * 0" 1h America/New_York`}, now: "2026-03-08T07:00:00Z",
			why: "spec.windows[0] denies Apply until 2026-03-08T08:00:00Z", until: "2026-03-08T08:00:00Z"},
		{name: "New York at 03:00 after the change is 07:00 UTC",
			windows: []string{`Deny "0 3 8 3 *" 1h America/New_York`}, now: "2026-03-08T07:00:00Z",
			why: "spec.windows[0] denies Apply until 2026-03-08T08:00:00Z", until: "2026-03-08T08:00:00Z"},
		{name: "New York: a weekend across the change in autumn keeps its hours",
			windows: []string{`Deny "0 18 * * 5" 62h America/New_York`}, now: "2026-11-01T12:00:00Z",
			why: "spec.windows[0] denies Apply until 2026-11-02T12:00:00Z", until: "2026-11-02T12:00:00Z"},
		{name: "Cairo has no midnight on the day of the change: the day is not lost",
			windows: []string{`Deny "0 12 24 4 *" 1h Africa/Cairo`}, now: "2026-04-24T09:30:00Z",
			why: "spec.windows[0] denies Apply until 2026-04-24T10:00:00Z", until: "2026-04-24T10:00:00Z"},
		{name: "Cairo has no midnight on the day of the change: @daily opens at 01:00",
			windows: []string{`Deny "@daily" 1h Africa/Cairo`}, now: "2026-04-23T22:00:00Z",
			why: "spec.windows[0] denies Apply until 2026-04-23T23:00:00Z", until: "2026-04-23T23:00:00Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, err := Parse(List{Windows: windows(t, c.windows...)})
			if err != nil {
				t.Fatal(err)
			}
			if c.op == "" {
				c.op = v1alpha1.OperationApply
			}
			at, err := time.Parse(time.RFC3339, c.now)
			if err != nil {
				t.Fatal(err)
			}
			closed, why, until := w.Closed(c.op, at)
			gotUntil := ""
			if !until.IsZero() {
				gotUntil = until.Format(time.RFC3339)
			}
			if closed != (c.why != "") || why != c.why || gotUntil != c.until {
				t.Errorf("closed %v\n got %q, until %q\nwant %q, until %q", closed, why, gotUntil, c.why, c.until)
			}
		})
	}
}

// TestWindowsOfEachListAreRequired checks that no list opens what another one closes.
func TestWindowsOfEachListAreRequired(t *testing.T) {
	for _, c := range []struct {
		name, own, other, now, why, until string
	}{
		{name: "both allow", own: `Allow "0 10 * * *" 4h`, other: `Allow "0 12 * * *" 4h`, now: "2026-03-04T13:00:00Z"},
		{name: "only the Stack's allows", own: `Allow "0 10 * * *" 4h`, other: `Allow "0 12 * * *" 4h`,
			now: "2026-03-04T11:00:00Z",
			why: "no window of spec.windows of StackPolicy prod allows Apply now; it may begin at " +
				"2026-03-04T12:00:00Z",
			until: "2026-03-04T12:00:00Z"},
		{name: "only the other allows", own: `Allow "0 10 * * *" 4h`, other: `Allow "0 12 * * *" 4h`,
			now:   "2026-03-04T15:00:00Z",
			why:   "no window of spec.windows allows Apply now; it may begin at 2026-03-05T12:00:00Z",
			until: "2026-03-05T12:00:00Z"},
		{name: "the other denies what the Stack's allows", own: `Allow "@daily" 24h`, other: `Deny "0 12 * * *" 1h`,
			now:   "2026-03-04T12:00:00Z",
			why:   "spec.windows[0] of StackPolicy prod denies Apply until 2026-03-04T13:00:00Z",
			until: "2026-03-04T13:00:00Z"},
		{name: "they never open together", own: `Allow "0 10 * * *" 1h`, other: `Allow "0 12 * * *" 1h`,
			now: "2026-03-04T10:00:00Z",
			why: "no window of spec.windows of StackPolicy prod allows Apply now; there is no opening within a year"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, err := Parse(List{Windows: windows(t, c.own)},
				List{Of: " of StackPolicy prod", Windows: windows(t, c.other)}, List{Of: " of none"})
			if err != nil {
				t.Fatal(err)
			}
			at, err := time.Parse(time.RFC3339, c.now)
			if err != nil {
				t.Fatal(err)
			}
			closed, why, until := w.Closed(v1alpha1.OperationApply, at)
			gotUntil := ""
			if !until.IsZero() {
				gotUntil = until.Format(time.RFC3339)
			}
			if closed != (c.why != "") || why != c.why || gotUntil != c.until {
				t.Errorf("closed %v\n got %q, until %q\nwant %q, until %q", closed, why, gotUntil, c.why, c.until)
			}
		})
	}
}

func TestParseWindowsReportsErrors(t *testing.T) {
	for _, c := range []struct{ name, window, want string }{
		{"a schedule with too few fields", `Deny "0 18 * *" 1h`, `spec.windows[1]: schedule "0 18 * *": `},
		{"a schedule with seconds", `Deny "0 0 18 * * *" 1h`, `spec.windows[1]: schedule "0 0 18 * * *": `},
		{"a value out of range", `Deny "0 24 * * *" 1h`, `spec.windows[1]: schedule "0 24 * * *": `},
		{"a field that names nothing", `Deny ", * * * *" 1h`, `a field is empty`},
		{"no times at all", `Deny "@every 1h" 1h`, `@every is a frequency`},
		{"a zone in the schedule", `Deny "CRON_TZ=Europe/Berlin 0 18 * * *" 1h`, `the time zone goes into timeZone`},
		{"a zone in the schedule and nothing else", `Deny "TZ=UTC" 1h`, `the time zone goes into timeZone`},
		{"a zone that does not exist", `Deny "@daily" 1h Mars/Olympus`, `spec.windows[1]: timeZone "Mars/Olympus": `},
		{"the zone of the machine", `Deny "@daily" 1h Local`, `spec.windows[1]: timeZone "Local": `},
		{"no duration", `Deny "@daily" 0s`, `spec.windows[1]: duration 0s: `},
		{"a duration with seconds", `Deny "@daily" 90s`, `spec.windows[1]: duration 1m30s: `},
		{"a duration of more than a year", `Deny "@daily" 8761h`, `spec.windows[1]: duration 8761h0m0s: `},
		{"a kind that is none", `Maybe "@daily" 1h`, `spec.windows[1]: kind "Maybe" is neither`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse(List{Windows: windows(t, `Allow "@daily" 1h`, c.window)})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// plainly is Closed as one would write it without thinking of time: minute by minute, each looked at from each start.
func plainly(w Windows, op v1alpha1.Operation, now time.Time, minutes int) (bool, time.Time) {
	opened := make([]map[int64]bool, len(w.lists[0].windows))
	first := now.Unix() / 60
	for i, x := range w.lists[0].windows {
		opened[i] = map[int64]bool{}
		var before time.Time
		for m := first - int64(x.duration) - 2; m <= first+int64(minutes); m++ {
			t := instant(m).In(x.zone)
			wall := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), 0, 0, time.UTC)
			times := []time.Time{wall}
			if !before.IsZero() {
				for skipped := before.Add(time.Minute); skipped.Before(wall); skipped = skipped.Add(time.Minute) {
					times = append(times, skipped)
				}
			}
			before = wall
			opened[i][m] = slices.ContainsFunc(times, func(t time.Time) bool {
				return x.on(t) && has(x.days.Hour, t.Hour()) && has(x.days.Minute, t.Minute())
			})
		}
	}
	for m := first; m < first+int64(minutes); m++ {
		allowed, denied, always := false, false, true
		for i, x := range w.lists[0].windows {
			inside := false
			for s := m - int64(x.duration) + 1; s <= m; s++ {
				inside = inside || opened[i][s]
			}
			if x.deny {
				denied = denied || inside
			} else {
				always, allowed = false, allowed || inside
			}
		}
		if !denied && (allowed || always) {
			return m != first, instant(m)
		}
	}
	return true, time.Time{}
}

func TestClosedMatchesASearchMinuteByMinute(t *testing.T) {
	const horizon = 3 * day
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	// around the changes of Berlin, New York, Cairo and Lord Howe, where the clock moves by half an hour
	around := []string{"2026-03-28T12:00:00Z", "2026-10-24T12:00:00Z", "2026-03-07T12:00:00Z", "2026-10-31T12:00:00Z",
		"2026-04-23T00:00:00Z", "2026-10-03T00:00:00Z", "2026-07-01T00:00:00Z"}
	for n := range 120 {
		var specs []string
		for range 1 + r.IntN(3) {
			specs = append(specs, fmt.Sprintf(`%s "%s %s %s * %s" %dm %s`, pick("Allow", "Deny"),
				pick("*", "0", "30", "*/7", "15-45/10", "59"), pick("*", "0-3", "2", "*/5", "23"),
				pick("*", "*", "29,25,8"), pick("*", "*", "0,5"),
				[]int{1, 7, 59, 60, 61, 300, 1440, 2000}[r.IntN(8)], pick("UTC", "Europe/Berlin", "America/New_York",
					"Africa/Cairo", "Australia/Lord_Howe")))
		}
		w, err := Parse(List{Windows: windows(t, specs...)})
		if err != nil {
			t.Fatal(err)
		}
		at, _ := time.Parse(time.RFC3339, pick(around...))
		at = at.Add(time.Duration(r.IntN(day)) * time.Minute)
		wantClosed, want := plainly(w, v1alpha1.OperationApply, at, horizon)
		closed, why, until := w.Closed(v1alpha1.OperationApply, at)
		if !wantClosed {
			want = time.Time{}
		}
		if !until.IsZero() && until.Sub(at) > horizon*time.Minute && want.IsZero() { // past the horizon of plainly
			continue
		}
		if closed != wantClosed || !until.Equal(want) {
			t.Fatalf("%d: %q at %s: closed %v until %s (%s), want %v until %s", n, specs, at, closed, until, why,
				wantClosed, want)
		}
	}
}

func FuzzWindows(f *testing.F) {
	f.Add("0 18 * * 5", "Europe/Berlin", int64(62*60), int64(1795197600), true)
	f.Add("* * * * *", "", int64(8760*60), int64(1795197600), false)
	f.Add("@daily", "America/New_York", int64(60), int64(1772954400), true)
	f.Add("TZ=", "Local", int64(-1), int64(0), true)
	f.Add("0-59/99999999999999 ? */2 jan mon", "Africa/Cairo", int64(1), int64(1777000000), false)
	f.Fuzz(func(t *testing.T, schedule, zone string, duration, at int64, deny bool) {
		kind := v1alpha1.WindowAllow
		if deny {
			kind = v1alpha1.WindowDeny
		}
		w, err := Parse(List{Windows: []v1alpha1.Window{{Kind: kind, Schedule: schedule, TimeZone: zone,
			Duration: metav1.Duration{Duration: time.Duration(duration%(9000*60)) * time.Minute}}}})
		if err != nil {
			return
		}
		at = at&(1<<32-1) + 1<<27 // from 1974 to 2110
		now := time.Unix(at, 0)
		closed, why, until := w.Closed(v1alpha1.OperationApply, now)
		if closed != (why != "") || !closed && !until.IsZero() {
			t.Fatalf("closed %v, why %q, until %s", closed, why, until)
		}
		if until.IsZero() {
			return
		}
		if !until.After(now) {
			t.Fatalf("opens at %s, which is not after %s", until, now)
		}
		if again, _, _ := w.Closed(v1alpha1.OperationApply, until); again {
			t.Fatalf("reported as open at %s, and is not", until)
		}
		if before, _, _ := w.Closed(v1alpha1.OperationApply, until.Add(-time.Second)); !before {
			t.Fatalf("reported to open at %s, and is open before", until)
		}
	})
}

func BenchmarkClosed(b *testing.B) {
	for _, c := range []struct {
		name    string
		windows []string
	}{
		{"as users write it", []string{`Deny "0 18 * * 5" 62h Europe/Berlin`, `Allow "0 2 * * 1-5" 2h Europe/Berlin`}},
		{"a year of every minute", []string{`Deny "* * * * *" 8760h`}},
		{"twenty that never open",
			slices.Repeat([]string{`Allow "1-59/2 * * * *" 1m Europe/Berlin`, `Deny "1-59/2 * * * *" 1m Europe/Berlin`},
				10)},
	} {
		b.Run(c.name, func(b *testing.B) {
			ws := windows(b, c.windows...)
			at := time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)
			for b.Loop() {
				w, err := Parse(List{Windows: ws})
				if err != nil {
					b.Fatal(err)
				}
				w.Closed(v1alpha1.OperationApply, at)
			}
		})
	}
}
