package runnerhandler

import (
	"net/http"
	"strconv"

	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/artifact"
	"cairn.dev/cairn/internal/server/httpapi"
)

// appendLog appends to the attempt's log, if the offset is where it ends.
func (s *API) appendLog(w http.ResponseWriter, r *http.Request, c Caller) error {
	return s.append(w, r, c, artifact.AttemptLogFolder(c.Pod.Namespace, c.Run.UID, c.Attempt), artifact.LargestLog)
}

// appendOperations appends to the operations of an apply in the same way.
func (s *API) appendOperations(w http.ResponseWriter, r *http.Request, c Caller) error {
	folder := artifact.OperationsFolder(c.Pod.Namespace, c.Run.UID, c.Attempt)
	return s.append(w, r, c, folder, runnerapi.LargestOperations)
}

func (s *API) append(w http.ResponseWriter, r *http.Request, c Caller, folder string, largest int64) error {
	offset, err := strconv.ParseInt(r.URL.Query().Get("offset"), 10, 64)
	if err != nil || offset < 0 {
		return httpapi.Errorf(http.StatusBadRequest, "?offset= has to be the offset of the bytes")
	}
	data, free, err := s.body(w, r, c.Pod.Namespace, artifact.MaxChunk)
	if err != nil {
		return err
	}
	defer free()
	next, ok, err := s.Logs.Append(r.Context(), folder, offset, data, largest)
	if err != nil {
		return err
	}
	w.Header().Set(LogOffsetHeader, strconv.FormatInt(next, 10))
	if !ok {
		return httpapi.Errorf(http.StatusConflict, "%d", next)
	}
	s.Metrics.AddLogBytes(len(data))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// LogOffsetHeader carries the offset at which an attempt's log continues.
const LogOffsetHeader = "Cairn-Log-Offset"
