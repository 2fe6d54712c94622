// Command probe runs in pods of the node's tests: `probe serve`, or one of the commands below.
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
		content, err := os.ReadFile(args[1]) //nolint:gosec // an argument of the test
		_, _ = os.Stdout.Write(content)
		return err
	case len(args) == 3 && args[0] == "write":
		return os.WriteFile(args[1], []byte(args[2]), 0o600) //nolint:gosec // an argument of the test
	case len(args) == 1 && args[0] == "eat":
		return eat()
	}
	return fmt.Errorf("usage: probe serve | get URL | read FILE | write FILE TEXT | eat")
}

// serve serves on port 8080 until a signal.
func serve() error {
	fmt.Println("probe serves")
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server := &http.Server{Addr: ":8080", ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "hello")
		})}
	go func() {
		<-ctx.Done()
		_ = server.Close() // the process exits
	}()
	if err := server.ListenAndServe(); ctx.Err() == nil {
		return err
	}
	return nil
}

// get prints the status and the body of a response, without verifying the certificate.
func get(url string) error {
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // connectivity is tested
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)                                          //nolint:gosec // an argument of the test
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

// eat allocates memory until the process is killed.
func eat() error {
	var eaten [][]byte
	for {
		bite := make([]byte, 1<<20)
		for i := range bite {
			bite[i] = 1
		}
		eaten = append(eaten, bite)
		if len(eaten) > 1<<14 {
			return fmt.Errorf("the process was not killed with %d MiB", len(eaten))
		}
	}
}
