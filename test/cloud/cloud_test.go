package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// user is a client of a cloud in the same process.
type user struct {
	t testing.TB
	*Cloud
	url string
}

func serve(t testing.TB, c *Cloud) user {
	t.Helper()
	server := httptest.NewServer(c)
	t.Cleanup(func() {
		c.EndFaults()
		server.Close()
	})
	return user{t, c, server.URL}
}

// do returns the status of the response, or 0 without one, its headers and its resource.
func (u user) do(ctx context.Context, method, path, body string) (int, http.Header, Resource) {
	u.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, u.url+path, strings.NewReader(body))
	if err != nil {
		u.t.Fatal(err)
	}
	r.Header.Set("Caller", "alice")
	r.Header.Set("Client-Token", "op-1")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, Resource{}
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		u.t.Fatal(err)
	}
	var resource Resource
	_ = json.Unmarshal(data, &resource) // an error response has no resource
	return resp.StatusCode, resp.Header, resource
}

func (u user) create(name string) int {
	u.t.Helper()
	status, _, _ := u.do(u.t.Context(), "POST", "/things/disk", fmt.Sprintf(`{"name":%q}`, name))
	return status
}

func (u user) want(want, got int) {
	u.t.Helper()
	if want != got {
		u.t.Fatalf("status %d, not %d", got, want)
	}
}

func TestLifecycle(t *testing.T) {
	u := serve(t, New())
	status, _, made := u.do(t.Context(), "POST", "/things/disk",
		`{"name":"a","attributes":{"size":"1"},"password":"hush","keep":{"x":1}}`)
	u.want(201, status)
	if made.ID == "" || made.Token == "" || made.Password != "" || made.Attributes["size"] != "1" ||
		string(made.Keep) != `{"x":1}` {
		t.Fatalf("%+v", made)
	}
	at := "/things/disk/" + made.ID
	status, _, changed := u.do(t.Context(), "PUT", at, `{"name":"b","password":"hush"}`)
	u.want(200, status)
	if changed.ID != made.ID || changed.Token != made.Token || changed.Name != "b" || changed.Attributes != nil {
		t.Fatalf("%+v", changed)
	}
	status, _, read := u.do(t.Context(), "GET", at, "")
	u.want(200, status)
	if read.Name != "b" || read.Password != "" {
		t.Fatalf("%+v", read)
	}
	if is, err := u.Named("b"); err != nil || is.Password != "hush" {
		t.Fatalf("%+v %v", is, err)
	}
	status, _, _ = u.do(t.Context(), "DELETE", at, "")
	u.want(200, status)
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		status, _, _ = u.do(t.Context(), method, at, "")
		u.want(404, status)
	}
	var calls []string
	for _, c := range u.History() {
		if c.Caller != "alice" || c.Token != "op-1" || c.Type != "disk" || c.ID != made.ID || !c.Ended ||
			c.Time.IsZero() {
			t.Errorf("%+v", c)
		}
		calls = append(calls, fmt.Sprintf("%d %s %s %v %d", c.Number, c.Verb, c.Name, c.Applied, c.Status))
	}
	want := []string{
		"1 create a true 201", "2 update a true 200", "3 read b false 200", "4 delete b true 200",
		"5 read  false 404", "6 update  false 404", "7 delete  false 404",
	}
	if !slices.Equal(calls, want) {
		t.Errorf("%q", calls)
	}
}

func TestDuplicatesAreReported(t *testing.T) {
	u := serve(t, New())
	for _, name := range []string{"b", "a", "b", "c", "a", "b"} {
		u.want(201, u.create(name))
	}
	if twice := u.Twice(); !slices.Equal(twice, []string{"a", "b"}) || u.Made("b") != 3 || u.Made("c") != 1 ||
		u.Made("d") != 0 {
		t.Errorf("%v, %v", twice, u.History())
	}
	if len(u.Resources()) != 6 {
		t.Errorf("%+v", u.Resources())
	}
}

func TestManualChanges(t *testing.T) {
	u := serve(t, New())
	u.want(201, u.create("a"))
	u.Inject(Fault{Status: 500})
	if err := u.Drift("a", "size", "9"); err != nil {
		t.Fatal(err)
	}
	if is, _ := u.Named("a"); is.Attributes["size"] != "9" {
		t.Errorf("%+v", is)
	}
	if err := u.Delete("a"); err != nil {
		t.Fatal(err)
	}
	if u.Delete("a") == nil || len(u.Resources()) != 0 {
		t.Error("it is still there")
	}
	last := u.History()[len(u.History())-1]
	if last.Caller != manual || last.Verb != Delete || !last.Applied {
		t.Errorf("%+v", last)
	}
}

func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fault Fault
		want  []int // status of the creations of a, b, c, d
		made  int
	}{
		"all":                      {Fault{Status: 500}, []int{500, 500, 500, 500}, 0},
		"of a verb":                {Fault{Verb: Read, Status: 500}, []int{201, 201, 201, 201}, 4},
		"of a type":                {Fault{Type: "net", Status: 500}, []int{201, 201, 201, 201}, 4},
		"of a name":                {Fault{Name: "b", Status: 500}, []int{201, 500, 201, 201}, 3},
		"of a pattern":             {Fault{Name: "[bd]", Status: 503}, []int{201, 503, 201, 503}, 2},
		"from the third":           {Fault{Verb: Create, From: 3, Status: 500}, []int{201, 201, 500, 500}, 2},
		"the second and the third": {Fault{From: 2, Times: 2, Status: 500}, []int{201, 500, 500, 201}, 2},
		"the first":                {Fault{Times: 1, Status: 500}, []int{500, 201, 201, 201}, 3},
		"no response":              {Fault{Times: 1, Reset: true}, []int{0, 201, 201, 201}, 3},
		"applied, no response":     {Fault{Times: 1, Reset: true, After: true}, []int{0, 201, 201, 201}, 4},
		"applied, wrong status":    {Fault{Times: 1, Status: 500, After: true}, []int{500, 201, 201, 201}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			u := serve(t, New())
			u.Inject(c.fault)
			for i, want := range c.want {
				u.want(want, u.create(string(rune('a'+i))))
			}
			if is := len(u.Resources()); is != c.made {
				t.Errorf("%d were created, not %d", is, c.made)
			}
			for i, call := range u.History() {
				if call.Status != c.want[i] || !call.Ended {
					t.Errorf("%v", call)
				}
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	u := serve(t, New())
	u.Inject(Fault{Status: 429, RetryAfter: 7})
	status, header, _ := u.do(t.Context(), "POST", "/things/disk?name=a", "")
	if status != 429 || header.Get("Retry-After") != "7" {
		t.Errorf("%d, %v", status, header)
	}
}

func TestThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New()
		c.Inject(Fault{Verb: Create, PerSecond: 2})
		answer := func() int {
			w := httptest.NewRecorder()
			c.ServeHTTP(w, httptest.NewRequest("POST", "/things/disk?name=a", nil))
			return w.Code
		}
		var all []int
		for range 3 {
			all = append(all, answer())
		}
		time.Sleep(999 * time.Millisecond)
		all = append(all, answer())
		time.Sleep(time.Millisecond)
		for range 3 {
			all = append(all, answer())
		}
		if !slices.Equal(all, []int{201, 201, 429, 429, 201, 201, 429}) {
			t.Error(all)
		}
	})
}

func TestDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New()
		c.Inject(Fault{Verb: Create, Delay: time.Hour})
		start := time.Now()
		w := httptest.NewRecorder()
		c.ServeHTTP(w, httptest.NewRequest("POST", "/things/disk?name=a", nil))
		if w.Code != 201 || time.Since(start) != time.Hour {
			t.Errorf("%d after %s", w.Code, time.Since(start))
		}
	})
}

func TestHeldCallsHaveNoEffectUntilReleased(t *testing.T) {
	u := serve(t, New())
	gate := u.Inject(Fault{Verb: Create, Name: "b*", Hold: true})
	answers := make(chan int)
	for _, name := range []string{"b1", "b2"} {
		go func() { answers <- u.create(name) }()
	}
	u.want(201, u.create("a"))
	if err := gate.Held(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if len(u.Resources()) != 1 {
		t.Errorf("%+v", u.Resources())
	}
	soon, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := gate.Held(soon, 3); err == nil {
		t.Error("a third call is held")
	}
	gate.End()
	gate.End()
	u.want(201, <-answers)
	u.want(201, <-answers)
	u.want(201, u.create("b3"))
}

// The call of a client that disconnects has an effect only if the client disconnects after it took effect.
func TestClientDisconnects(t *testing.T) {
	for _, after := range []bool{false, true} {
		u := serve(t, New())
		gate := u.Inject(Fault{Hold: true, After: after})
		ctx, leave := context.WithCancel(t.Context())
		answer := make(chan int)
		go func() {
			status, _, _ := u.do(ctx, "POST", "/things/disk?name=a", "")
			answer <- status
		}()
		if err := gate.Held(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		leave()
		u.want(0, <-answer)
		if err := u.Until(t.Context(), u.Quiet); err != nil {
			t.Fatal(err)
		}
		gate.End()
		if status := u.History()[0].Status; status != 0 {
			t.Errorf("the response has status %d", status)
		}
		if is := u.Made("a") == 1; is != after || len(u.Resources()) == 1 != after {
			t.Errorf("after: %v: %v", after, u.History())
		}
	}
}

func TestFileSurvivesRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cloud")
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	u := serve(t, c)
	for _, name := range []string{"a", "b", "c"} {
		u.want(201, u.create(name))
	}
	if err := u.Drift("b", "size", "9"); err != nil {
		t.Fatal(err)
	}
	if err := u.Delete("c"); err != nil {
		t.Fatal(err)
	}
	before := fmt.Sprint(u.Resources())
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if u.create("d"); u.Made("d") != 0 {
		t.Error("a resource was created that cannot be stored")
	}
	again, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { again.Close() })
	u = serve(t, again)
	if after := fmt.Sprint(u.Resources()); after != before {
		t.Errorf("before %s\nafter  %s", before, after)
	}
	for i, call := range u.History() {
		if call.Number != i+1 || !call.Ended || !call.Applied {
			t.Errorf("%+v", call)
		}
	}
	u.want(201, u.create("a"))
	if u.Made("a") != 2 || u.Made("c") != 1 || len(u.Resources()) != 3 {
		t.Errorf("%v", u.History())
	}
}

func TestControlOverHTTP(t *testing.T) {
	u := serve(t, New())
	post := func(body string) (int, string) {
		resp, err := http.Post(u.url+"/faults", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var b bytes.Buffer
		_, _ = b.ReadFrom(resp.Body)
		return resp.StatusCode, b.String()
	}
	if status, _ := post(`{"verb":"create","status":500,"sometimes":true}`); status != 400 {
		t.Errorf("status %d", status)
	}
	if status, body := post(`{"verb":"create","name":"a","hold":true}`); status != 201 || body != `{"number":1}` {
		t.Fatalf("status %d %s", status, body)
	}
	answer := make(chan int)
	go func() { answer <- u.create("a") }()
	status, _, _ := u.do(t.Context(), "GET", "/faults/1/held?calls=1", "")
	u.want(204, status)
	status, _, _ = u.do(t.Context(), "DELETE", "/faults/1", "")
	u.want(204, status)
	u.want(201, <-answer)
	status, _, _ = u.do(t.Context(), "DELETE", "/faults/1", "")
	u.want(404, status)
	post(`{"status":500}`)
	u.want(500, u.create("b"))
	status, _, _ = u.do(t.Context(), "DELETE", "/faults", "")
	u.want(204, status)
	u.want(201, u.create("b"))
	resp, err := http.Get(u.url + "/log?name=b")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var calls []Call
	if err := json.NewDecoder(resp.Body).Decode(&calls); err != nil || len(calls) != 2 || calls[1].Status != 201 {
		t.Errorf("%v %v", calls, err)
	}
}
