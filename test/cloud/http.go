package cloud

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
)

// largestBody is what a client may send.
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

// serve is the way of a call: it is written down, faults happen, it takes effect, faults happen, it is answered.
func (c *Cloud) serve(w http.ResponseWriter, r *http.Request, verb Verb) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largestBody))
	var asked Thing
	if err == nil && len(body) > 0 {
		err = json.Unmarshal(body, &asked)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	asked.Type, asked.ID = r.PathValue("type"), r.PathValue("id")
	if name := r.URL.Query().Get("name"); name != "" {
		asked.Name = name
	}

	call, faults := c.begin(r, verb, asked)
	became := c.happen(r.Context(), faults, false)
	var answer any
	status := 0
	if became.normal() {
		answer, status = c.do(r, call, &asked)
		became = c.happen(r.Context(), faults, true)
	}
	if became.status > 0 {
		status, answer = became.status, nil
	}
	if became.reset || r.Context().Err() != nil {
		status = 0
	}
	c.mu.Lock()
	c.ended(call, status)
	c.mu.Unlock()
	if status == 0 {
		panic(http.ErrAbortHandler) // net/http breaks the connection
	}
	if became.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(became.retryAfter))
	}
	if answer == nil {
		answer = map[string]string{"message": http.StatusText(status)}
	}
	writeJSON(w, status, answer)
}

func (c *Cloud) begin(r *http.Request, verb Verb, asked Thing) (*Call, []*Injected) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := asked.Name
	if t := c.things[asked.Type+"/"+asked.ID]; t != nil {
		name = t.Name
	}
	call := c.note(Call{
		Verb: verb, Type: asked.Type, ID: asked.ID, Name: name,
		Caller: r.Header.Get("Caller"), Token: r.Header.Get("Client-Token"),
	})
	faults := c.matching(call)
	c.change()
	return call, faults
}

// do has a call take effect, unless its client is gone.
func (c *Cloud) do(r *http.Request, call *Call, asked *Thing) (answer any, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Context().Err() != nil {
		return nil, 0
	}
	there := c.things[call.Type+"/"+call.ID]
	switch {
	case call.Verb == List:
		return c.list(call), http.StatusOK
	case call.Verb == Create:
		c.newID(asked)
		call.ID, status = asked.ID, http.StatusCreated
	case there == nil:
		return nil, http.StatusNotFound
	case call.Verb == Read:
		return there.public(), http.StatusOK
	default:
		asked.Token, status = there.Token, http.StatusOK
	}
	if call.Verb == Delete {
		*asked = there.copy()
	}
	if err := c.take(call, asked); err != nil {
		return map[string]string{"message": err.Error()}, http.StatusInsufficientStorage
	}
	return asked.public(), status
}

func (c *Cloud) list(call *Call) []Thing {
	all := []Thing{}
	for _, t := range c.things {
		if t.Type == call.Type && (call.Name == "" || call.Name == t.Name) {
			all = append(all, t.public())
		}
	}
	slices.SortFunc(all, func(a, b Thing) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return all
}

// public is what clients get of a thing.
func (t *Thing) public() Thing {
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

// serveFault does something with a fault that was injected.
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
