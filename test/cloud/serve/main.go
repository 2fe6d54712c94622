// Command serve runs a simulated cloud until Ctrl-C. Package cloud documents its API.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"cairn.dev/cairn/test/cloud"
)

func main() {
	address := flag.String("listen", "127.0.0.1:0", "where it is to listen")
	file := flag.String("file", "", "where it keeps what it has; without one it keeps nothing after its process")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := serve(ctx, *address, *file)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, address, file string) (err error) {
	c := cloud.New()
	if file != "" {
		if c, err = cloud.Open(file); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.Close()) }()
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	fmt.Printf("CLOUD_URL=http://%s\n", l.Addr())
	server := &http.Server{Handler: c, ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = server.Close() }) // it ends Serve
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
