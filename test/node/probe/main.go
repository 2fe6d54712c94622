// The command probe is what the tests of the node run in pods: `probe serve`, or one of the words below.
package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "serve":
		return serve()
	case len(args) == 2 && args[0] == "get":
		return get(args[1])
	case len(args) == 2 && args[0] == "read":
		content, err := os.ReadFile(args[1]) //nolint:gosec // the test says which
		_, _ = os.Stdout.Write(content)
		return err
	case len(args) == 3 && args[0] == "write":
		return os.WriteFile(args[1], []byte(args[2]), 0o600) //nolint:gosec // the test says where
	case len(args) == 1 && args[0] == "eat":
		return eat()
	}
	return fmt.Errorf("usage: probe serve | get URL | read FILE | write FILE TEXT | eat")
}

// serve answers on port 8080 until it is told to end.
func serve() error {
	fmt.Println("probe serves")
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server := &http.Server{Addr: ":8080", ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "hello")
	})}
	go func() {
		<-ctx.Done()
		_ = server.Close() // there is nobody left to tell
	}()
	if err := server.ListenAndServe(); ctx.Err() == nil {
		return err
	}
	return nil
}

// get prints the status and the body of an answer. Whose certificate it was does not matter here.
func get(url string) error {
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // only whether there is an answer counts
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)                                          //nolint:gosec // the test says where
	if err != nil {
		return err
	}
	response, err := client.Do(request) //nolint:gosec // see above
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	fmt.Printf("%d %s", response.StatusCode, body)
	return err
}

// eat takes memory until there is no more.
func eat() error {
	var eaten [][]byte
	for {
		bite := make([]byte, 1<<20)
		for i := range bite {
			bite[i] = 1
		}
		eaten = append(eaten, bite)
		if len(eaten) > 1<<14 {
			return fmt.Errorf("%d MiB were not too much", len(eaten))
		}
	}
}
