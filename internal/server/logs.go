package server

import (
	"net/http"
	"strconv"
)

// appendLog appends to the attempt's log, if the offset is where it ends.
func (s *runnerAPI) appendLog(w http.ResponseWriter, r *http.Request, c Caller) error {
	offset, err := strconv.ParseInt(r.URL.Query().Get("offset"), 10, 64)
	if err != nil || offset < 0 {
		return refusef(http.StatusBadRequest, "?offset= has to say where the bytes go")
	}
	data, free, err := s.body(w, r, c.Pod.Namespace, largestChunk)
	if err != nil {
		return err
	}
	defer free()
	next, ok, err := s.Logs.append(r.Context(), logFolder(c.Pod.Namespace, c.Run.UID, c.Attempt), offset, data)
	if err != nil {
		return err
	}
	w.Header().Set(LogOffsetHeader, strconv.FormatInt(next, 10))
	if !ok {
		return refusef(http.StatusConflict, "%d", next)
	}
	s.Metrics.logged(len(data))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// LogOffsetHeader carries the offset at which an attempt's log goes on.
const LogOffsetHeader = "Cairn-Log-Offset"
