// Package window computes when spec.windows of a Stack, and of StackPolicies, let an operation begin.
package window

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // Cairn's image has no time zone database

	"github.com/robfig/cron/v3"

	"cairn.dev/cairn/api/v1alpha1"
)

// Windows decide when an operation may begin. The zero value lets everything begin at any time. It never changes, so it
// may be kept and used from anywhere.
type Windows struct {
	lists []list
}

// List is spec.windows of one object.
type List struct {
	// Of names the object in messages, as in " of StackPolicy prod"; empty for the Stack.
	Of      string
	Windows []v1alpha1.Window
}

type list struct {
	of      string
	windows []window
}

// All times of windows are whole minutes: cron knows no seconds, durations may have none, and no zone is off by any
// since
// 1972. So a window is a set of minutes, and a minute is counted from 1970 on.
type window struct {
	index    int
	deny     bool
	ops      []v1alpha1.Operation
	days     *cron.SpecSchedule // only its days are used
	starts   []int              // the minutes of such a day at which it opens
	duration int                // in minutes
	zone     *time.Location
}

const (
	day = 24 * 60
	// ahead is how many minutes Closed searches ahead for an opening: a year.
	ahead = 366 * day
	// longest duration of a window.
	longest = 8760 * time.Hour
)

// Parse reads spec.windows of the objects that restrict a Stack. An operation begins only when each list lets it. The
// error names the wrong window, and why.
func Parse(lists ...List) (Windows, error) {
	var all Windows
	for _, l := range lists {
		parsed := list{of: l.Of}
		for i, w := range l.Windows {
			one, err := parseWindow(w)
			if err != nil {
				return Windows{}, fmt.Errorf("spec.windows[%d]%s: %w", i, l.Of, err)
			}
			one.index = i
			parsed.windows = append(parsed.windows, one)
		}
		all.lists = append(all.lists, parsed)
	}
	return all, nil
}

func parseWindow(w v1alpha1.Window) (window, error) {
	p := window{deny: w.Kind == v1alpha1.WindowDeny, ops: w.Operations,
		duration: int(w.Duration.Duration / time.Minute)}
	if !p.deny && w.Kind != v1alpha1.WindowAllow {
		return p, fmt.Errorf("kind %q is neither Allow nor Deny", w.Kind)
	}
	if d := w.Duration.Duration; d <= 0 || d > longest || d%time.Minute != 0 {
		return p, fmt.Errorf("duration %s: it has to be whole minutes, more than 0 and at most 8760h", d)
	}
	if len(p.ops) == 0 {
		p.ops = []v1alpha1.Operation{v1alpha1.OperationApply, v1alpha1.OperationDestroy}
	}
	var err error
	if p.zone, err = time.LoadLocation(w.TimeZone); err != nil {
		return p, fmt.Errorf("timeZone %q: %w", w.TimeZone, err)
	}
	if p.zone == time.Local { // that of whatever machine this is
		return p, fmt.Errorf("timeZone %q: set the name of a zone", w.TimeZone)
	}
	if p.days, err = parseSchedule(w.Schedule); err != nil {
		return p, fmt.Errorf("schedule %q: %w", w.Schedule, err)
	}
	for m := range day {
		if has(p.days.Hour, m/60) && has(p.days.Minute, m%60) {
			p.starts = append(p.starts, m)
		}
	}
	return p, nil
}

func parseSchedule(s string) (*cron.SpecSchedule, error) {
	if strings.Contains(s, "=") { // the parser would take TZ=, and panics where nothing follows it
		return nil, errors.New("the time zone goes into timeZone")
	}
	parsed, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor).Parse(s)
	if err != nil {
		return nil, err
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, errors.New("@every is a frequency, not a time")
	}
	if spec.Minute == 0 || spec.Hour == 0 || spec.Dom == 0 || spec.Month == 0 || spec.Dow == 0 {
		return nil, errors.New("a field is empty")
	}
	return spec, nil
}

// Closed reports whether an operation may not begin now, why, and when it may: at until, which is zero if that is not
// within a year. Deny wins over Allow; where a list has an Allow for the operation, it may begin only inside one of the
// list.
//
// Its work is bounded whatever the schedules are: where nothing is closed it checks a day or two of each window, and
// otherwise once at the year to come, a bit for each minute.
func (w Windows) Closed(op v1alpha1.Operation, now time.Time) (closed bool, why string, until time.Time) {
	at := now.Unix() / 60
	if w.open(op, at, 1) == 0 {
		return false, "", time.Time{}
	}
	opens := w.open(op, at, ahead)
	why = w.why(op, at, opens)
	if opens < ahead {
		until = instant(at + int64(opens))
	}
	return true, why, until
}

// open is in how many minutes from at the operation may begin; n or more if it is not within n.
func (w Windows) open(op v1alpha1.Operation, at int64, n int) int {
	closed := newMinutes(n)
	for _, l := range w.lists {
		allowed, always := newMinutes(n), true
		for _, x := range l.windows {
			switch {
			case !slices.Contains(x.ops, op):
			case x.deny:
				x.mark(closed, at)
			default:
				x.mark(allowed, at)
				always = false
			}
		}
		for i := range closed {
			if !always {
				closed[i] |= ^allowed[i]
			}
		}
	}
	for i := range closed {
		if free := ^closed[i]; free != 0 {
			return i*64 + bits.TrailingZeros64(free)
		}
	}
	return n
}

// why is the message of what is closed, and when it opens if that is known.
func (w Windows) why(op v1alpha1.Operation, at int64, opens int) string {
	text, ends := "", -1
	for _, l := range w.lists {
		for _, x := range l.windows {
			one := Windows{lists: []list{{windows: []window{x}}}}
			if ends < 0 && x.deny && one.open(op, at, 1) > 0 {
				text, ends = fmt.Sprintf("spec.windows[%d]%s denies %s", x.index, l.of, op), one.open(op, at, ahead)
			}
		}
		if whole := (Windows{lists: []list{l}}); text == "" && whole.open(op, at, 1) > 0 {
			text = fmt.Sprintf("no window of spec.windows%s allows %s now", l.of, op)
		}
	}
	stamp := func(n int) string { return instant(at + int64(n)).Format(time.RFC3339) }
	if ends >= 0 && ends < ahead {
		text += " until " + stamp(ends)
	}
	switch {
	case opens >= ahead:
		text += "; there is no opening within a year"
	case opens != ends:
		text += "; it may begin at " + stamp(opens)
	}
	return text
}

func instant(minute int64) time.Time { return time.Unix(minute*60, 0).UTC() }

// mark puts the minutes at which the window is open into a set whose first minute is at.
//
// Schedules are about clocks on walls, which change by the zone's rules. A time that the clock shows twice opens the
// window twice. A time that the clock skips opens it at the moment of the change: a Deny at 02:30 must not be lost once
// a year.
func (w window) mark(set minutes, at int64) {
	from, to := int64(0), int64(0) // the minutes that are open, as far as they are known and not yet marked
	for lo, end := at-int64(w.duration), at+64*int64(len(set)); lo < end; {
		t := time.Unix(lo*60, 0).In(w.zone)
		_, offset := t.Zone()
		wall, skipped, hi := int64(offset/60), int64(0), end
		if _, change := t.ZoneBounds(); !change.IsZero() && change.Unix()/60 < end {
			_, next := change.Zone()
			hi, skipped = change.Unix()/60, int64(max(0, next-offset)/60)
		}
		w.opens(lo+wall, hi+wall+skipped, func(start int64) {
			start = min(start-wall, hi)
			if start > to {
				set.mark(from-at, to-at)
				from = start
			}
			to = start + int64(w.duration)
		})
		lo = hi
	}
	set.mark(from-at, to-at)
}

// opens calls f with the minutes from lo to before hi at which the schedule opens, by a clock that never changes.
func (w window) opens(lo, hi int64, f func(int64)) {
	for d := lo / day; d*day < hi; d++ {
		if !w.on(time.Unix(d*day*60, 0).UTC()) {
			continue
		}
		first, _ := slices.BinarySearch(w.starts, int(max(0, lo-d*day)))
		last, _ := slices.BinarySearch(w.starts, int(min(day, hi-d*day)))
		for i := first; i < last; i++ {
			if w.duration >= day && i > first { // all between the first and the last of a day is open anyhow
				i = last - 1
			}
			f(d*day + int64(w.starts[i]))
		}
	}
}

// on reports whether a day is one of the schedule's. As ever with cron, if both the day of the month and that of the
// week are given then either will do.
func (w window) on(t time.Time) bool {
	const star = 63 // the parser's mark of a field that was not given
	dom, dow := has(w.days.Dom, t.Day()), has(w.days.Dow, int(t.Weekday()))
	if !has(w.days.Month, int(t.Month())) {
		return false
	}
	if has(w.days.Dom, star) || has(w.days.Dow, star) {
		return dom && dow
	}
	return dom || dow
}

func has(set uint64, i int) bool { return set>>i&1 == 1 }

// minutes is a set of minutes that follow each other, a bit each.
type minutes []uint64

// newMinutes is an empty set of at least n minutes.
func newMinutes(n int) minutes { return make(minutes, (n+63)/64) }

// mark adds the minutes from lo to before hi, as far as the set reaches.
func (m minutes) mark(lo, hi int64) {
	lo, hi = max(lo, 0), min(hi, int64(len(m))*64)
	for lo < hi {
		i, n := lo/64, min(hi, (lo/64+1)*64)
		m[i] |= (^uint64(0) >> (64 - (n - lo))) << (lo % 64)
		lo = n
	}
}
