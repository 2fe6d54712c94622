//go:build linux

// Command up starts the node of the end-to-end tests until Ctrl-C. With -down it ends the one that runs.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"cairn.dev/cairn/test/node"
)

func main() {
	down := flag.Bool("down", false, "end the node that runs, and remove its files")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := up(ctx, *down)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func up(ctx context.Context, down bool) error {
	if down {
		return node.Down(ctx)
	}
	began := time.Now()
	n, err := node.Up(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("A node after %s; its folder is %s. Ctrl-C ends it.\n\nexport KUBECONFIG=%s PATH=%s:$PATH\n",
		time.Since(began).Round(100*time.Millisecond), n.Dir, n.Kubeconfig, n.Tools)
	<-ctx.Done()
	return n.Stop()
}
