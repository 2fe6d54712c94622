package shell

import (
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestEngineHelper is the engine of the test below: it saves its state a second after an interrupt, and not after two.
func TestEngineHelper(t *testing.T) {
	dir := os.Getenv("TEST_ENGINE")
	if dir == "" {
		t.Skip("a process of the test below, which sets TEST_ENGINE")
	}
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, os.Interrupt)
	_ = os.WriteFile(filepath.Join(dir, "began"), []byte("x"), 0o600)
	select {
	case <-interrupts:
	case <-time.After(5 * time.Second):
	}
	select {
	case <-interrupts: // the second one
	case <-time.After(time.Second):
		_ = os.WriteFile(filepath.Join(dir, "saved"), []byte("x"), 0o600)
	}
}

// The session ends with the user's process, and the container with the session. An engine that is at work then would be
// killed, and what it created would be in no state and in no journal.
func TestShellWaitsForAnEngineThatItLeft(t *testing.T) {
	for name, tt := range map[string]struct {
		then string
		stop bool
	}{
		"in the background":                             {then: "true"},
		"of a shell that ends at the interrupt at once": {then: "wait", stop: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			engine, began, saved := filepath.Join(dir, "tofu"), filepath.Join(dir, "began"), filepath.Join(dir, "saved")
			program, err := os.ReadFile(os.Args[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(engine, program, 0o700); err != nil {
				t.Fatal(err)
			}
			signals := make(chan os.Signal, 1)
			if tt.stop {
				go func() {
					for _, err := os.Stat(began); err != nil; _, err = os.Stat(began) {
						time.Sleep(20 * time.Millisecond)
					}
					time.Sleep(300 * time.Millisecond)
					signals <- syscall.SIGTERM
				}()
			}
			command := engine + " -test.run '^TestEngineHelper$' >/dev/null 2>&1 & while ! test -s " + began +
				"; do sleep 0.1; done; " + tt.then
			config := Config{Dir: dir, Env: append(os.Environ(), "TEST_ENGINE="+dir)}
			if _, err := run(config, []string{"sh", "-c", command}, signals); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(saved); err != nil {
				t.Error("the user's process has ended, and an engine that it started is at work, or was " +
					"interrupted twice")
			}
		})
	}
}
