package scale

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
)

// etcd is a client of the API server's etcd through its JSON gateway.
type etcd struct{ http http.Client }

func newEtcd(data string) *etcd {
	socket := filepath.Join(data, "controlplane", "etcd:1")
	return &etcd{http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
		MaxIdleConnsPerHost: 8,
	}}}
}

// keyValue is one entry, with bytes in base64 as in the gateway.
type keyValue struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value"`
}

// prefix reads all entries whose keys have a prefix.
func (e *etcd) prefix(ctx context.Context, prefix string) ([]keyValue, error) {
	end := []byte(prefix)
	end[len(end)-1]++
	var answer struct {
		KVs []keyValue `json:"kvs"`
	}
	err := e.call(ctx, "range", map[string]any{"key": []byte(prefix), "range_end": end}, &answer)
	return answer.KVs, err
}

// mostTogether is the number of entries in one transaction.
const mostTogether = 128

// put writes entries in batches.
func (e *etcd) put(ctx context.Context, entries []keyValue) error {
	for len(entries) > 0 {
		n := min(mostTogether, len(entries))
		var puts []map[string]any
		for _, kv := range entries[:n] {
			puts = append(puts, map[string]any{"request_put": kv})
		}
		if err := e.call(ctx, "txn", map[string]any{"success": puts}, nil); err != nil {
			return err
		}
		entries = entries[n:]
	}
	return nil
}

func (e *etcd) call(ctx context.Context, what string, question, answer any) error {
	data, err := json.Marshal(question)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://etcd/v3/kv/"+what, bytes.NewReader(data))
	if err != nil {
		return err
	}
	got, err := e.http.Do(request)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	if got.StatusCode != http.StatusOK {
		return errors.New("etcd: " + got.Status + ": " + string(body))
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(body, answer)
}
