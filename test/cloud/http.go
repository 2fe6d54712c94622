package cloud

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
)

// largestBody limits the body of a request.
const largestBody = 1 << 20

func (c *Cloud) routes() {
	for pattern, verb := range map[string]Verb{
		"POST /things/{type}": Create, "GET /things/{type}": List,
		"GET /things/{type}/{id}": Read, "PUT /things/{type}/{id}": Update, "DELETE /things/{type}/{id}": Delete,
	} {
		c.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { c.serve(w, r, verb) })
	}
	c.mux.HandleFunc("GET /log", c.serveLog)
	c.mux.HandleFunc("POST /faults", c.serveInject)
	c.mux.HandleFunc("DELETE /faults", func(w http.ResponseWriter, _ *http.Request) {
		c.EndFaults()
		w.WriteHeader(http.StatusNoContent)
	})
	c.mux.HandleFunc("DELETE /faults/{number}", c.serveFault(func(_ *http.Request, i *Injected) error {
		i.End()
		return nil
	}))
	c.mux.HandleFunc("GET /faults/{number}/held", c.serveFault(func(r *http.Request, i *Injected) error {
		calls, _ := strconv.Atoi(r.FormValue("calls"))
		return i.Held(r.Context(), max(calls, 1))
	}))
}

// serve records a call, applies faults before it takes effect and after, and responds.
func (c *Cloud) serve(w http.ResponseWriter, r *http.Request, verb Verb) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largestBody))
	var given Resource
	if err == nil && len(body) > 0 {
		err = json.Unmarshal(body, &given)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	given.Type, given.ID = r.PathValue("type"), r.PathValue("id")
	if name := r.URL.Query().Get("name"); name != "" {
		given.Name = name
	}

	call, faults := c.begin(r, verb, given)
	result := c.applyFaults(r.Context(), faults, false)
	var answer any
	status := 0
	if result.normal() {
		answer, status = c.do(r, call, &given)
		result = c.applyFaults(r.Context(), faults, true)
	}
	if result.status > 0 {
		status, answer = result.status, nil
	}
	if result.reset || r.Context().Err() != nil {
		status = 0
	}
	c.mu.Lock()
	c.ended(call, status)
	c.mu.Unlock()
	if status == 0 {
		panic(http.ErrAbortHandler) // net/http closes the connection
	}
	if result.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(result.retryAfter))
	}
	if answer == nil {
		answer = map[string]string{"message": http.StatusText(status)}
	}
	writeJSON(w, status, answer)
}

func (c *Cloud) begin(r *http.Request, verb Verb, given Resource) (*Call, []*Injected) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := given.Name
	if t := c.resources[given.Type+"/"+given.ID]; t != nil {
		name = t.Name
	}
	call := c.record(Call{
		Verb: verb, Type: given.Type, ID: given.ID, Name: name,
		Caller: r.Header.Get("Caller"), Token: r.Header.Get("Client-Token"),
	})
	faults := c.matching(call)
	c.change()
	return call, faults
}

// do applies a call, unless its client has disconnected.
func (c *Cloud) do(r *http.Request, call *Call, given *Resource) (answer any, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Context().Err() != nil {
		return nil, 0
	}
	current := c.resources[call.Type+"/"+call.ID]
	switch {
	case call.Verb == List:
		return c.list(call), http.StatusOK
	case call.Verb == Create:
		c.newID(given)
		call.ID, status = given.ID, http.StatusCreated
	case current == nil:
		return nil, http.StatusNotFound
	case call.Verb == Read:
		return current.public(), http.StatusOK
	default:
		given.Token, status = current.Token, http.StatusOK
	}
	if call.Verb == Delete {
		*given = current.copy()
	}
	if err := c.commit(call, given); err != nil {
		return map[string]string{"message": err.Error()}, http.StatusInsufficientStorage
	}
	return given.public(), status
}

func (c *Cloud) list(call *Call) []Resource {
	all := []Resource{}
	for _, t := range c.resources {
		if t.Type == call.Type && (call.Name == "" || call.Name == t.Name) {
			all = append(all, t.public())
		}
	}
	slices.SortFunc(all, func(a, b Resource) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return all
}

// public returns the part of a resource that clients receive.
func (t *Resource) public() Resource {
	p := t.copy()
	p.Password = ""
	return p
}

func (c *Cloud) serveLog(w http.ResponseWriter, r *http.Request) {
	all := c.History()
	if name := r.FormValue("name"); name != "" {
		all = slices.DeleteFunc(all, func(call Call) bool { return call.Name != name })
	}
	writeJSON(w, http.StatusOK, all)
}

func (c *Cloud) serveInject(w http.ResponseWriter, r *http.Request) {
	var f Fault
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, largestBody))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	writeJSON(w, http.StatusCreated, map[string]int{"number": c.Inject(f).number})
}

// serveFault returns a handler for an injected fault.
func (c *Cloud) serveFault(do func(*http.Request, *Injected) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		number, _ := strconv.Atoi(r.PathValue("number"))
		c.mu.Lock()
		at := slices.IndexFunc(c.faults, func(i *Injected) bool { return i.number == number })
		var fault *Injected
		if at >= 0 {
			fault = c.faults[at]
		}
		c.mu.Unlock()
		if fault == nil {
			http.Error(w, "there is no such fault, or it has ended", http.StatusNotFound)
			return
		}
		if err := do(r, fault); err != nil {
			http.Error(w, err.Error(), http.StatusGatewayTimeout)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data)
}
