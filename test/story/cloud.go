package story

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"cairn.dev/cairn/test/cloud"
)

// clouds is the key of a script's cloud.
type clouds struct{}

// scriptCloud is a script's cloud, with the last fault that holds calls.
type scriptCloud struct {
	*cloud.Cloud
	gate *cloud.Injected
	// seen is the number of calls at the end of the last wait-held.
	seen int
}

// cloudCommand is a subcommand of the script command cloud.
type cloudCommand struct {
	usage string
	// least and most bound the number of arguments.
	least, most int
	do          func(*testscript.TestScript, *scriptCloud, []string) error
}

var cloudCommands = map[string]cloudCommand{
	"fail": {"VERB K [STATUS]: the K-th call of a verb from now on fails", 2, 3,
		func(_ *testscript.TestScript, c *scriptCloud, args []string) error {
			k, err := strconv.Atoi(args[1])
			status, err2 := strconv.Atoi(argument(args, 2, "500"))
			if err != nil || err2 != nil {
				return fmt.Errorf("not numbers: %q", args)
			}
			c.Inject(cloud.Fault{Verb: cloud.Verb(args[0]), From: k, Times: 1, Status: status})
			return nil
		}},
	"drop-response": {"VERB NAME: the next call of a verb for a name takes effect and has no response", 2, 2,
		func(_ *testscript.TestScript, c *scriptCloud, args []string) error {
			c.Inject(cloud.Fault{Verb: cloud.Verb(args[0]), Name: args[1], Times: 1, After: true, Reset: true})
			return nil
		}},
	"throttle": {"VERB N: at most N calls of a verb succeed per second", 2, 2,
		func(_ *testscript.TestScript, c *scriptCloud, args []string) error {
			n, err := strconv.Atoi(args[1])
			c.Inject(cloud.Fault{Verb: cloud.Verb(args[0]), PerSecond: n})
			return err
		}},
	"delay": {"VERB DURATION: calls of a verb are slow", 2, 2, func(_ *testscript.TestScript, c *scriptCloud,
		args []string) error {
		d, err := time.ParseDuration(args[1])
		c.Inject(cloud.Fault{Verb: cloud.Verb(args[0]), Delay: d})
		return err
	}},
	"hold": {"VERB NAME [K]: calls of a verb for a name, a pattern, wait before they take effect; from the K-th on", 2,
		3, func(_ *testscript.TestScript, c *scriptCloud, args []string) error {
			k, err := strconv.Atoi(argument(args, 2, "1"))
			c.gate = c.Inject(cloud.Fault{Verb: cloud.Verb(args[0]), Name: args[1], From: k, Hold: true})
			return err
		}},
	"wait-held": {"N: waits until the last hold holds N calls", 1, 1, func(_ *testscript.TestScript, c *scriptCloud,
		args []string) error {
		n, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		if c.gate == nil {
			return errors.New("no cloud hold in the script")
		}
		ctx, cancel := context.WithTimeout(context.Background(), Timeout)
		defer cancel()
		err = c.gate.Held(ctx, n)
		c.seen = len(c.History())
		return err
	}},
	"release": {": ends all faults, and held calls continue", 0, 0, func(_ *testscript.TestScript, c *scriptCloud,
		_ []string) error {
		c.EndFaults()
		return nil
	}},
	"drift": {"NAME ATTRIBUTE VALUE: changes a resource in the cloud", 3, 3,
		func(_ *testscript.TestScript, c *scriptCloud, args []string) error {
			return c.Drift(args[0], args[1], args[2])
		}},
	"delete": {"NAME: deletes a resource in the cloud", 1, 1, func(_ *testscript.TestScript, c *scriptCloud,
		args []string) error {
		return c.Delete(args[0])
	}},
	"has": {"NAME ATTRIBUTE VALUE: fails unless a resource exists with an attribute", 3, 3,
		func(_ *testscript.TestScript, c *scriptCloud, args []string) error {
			switch t, err := c.Named(args[0]); {
			case err != nil:
				return err
			case t.Attributes[args[1]] != args[2]:
				return fmt.Errorf("%s of %s is %q", args[1], args[0], t.Attributes[args[1]])
			}
			return nil
		}},
	"id": {"VARIABLE NAME: sets a variable to the ID of a resource", 2, 2,
		func(ts *testscript.TestScript, c *scriptCloud, args []string) error {
			t, err := c.Named(args[1])
			ts.Setenv(args[0], t.ID)
			return err
		}},
	"token": {"VARIABLE NAME: sets a variable to the secret that the cloud generated for a resource", 2, 2,
		func(ts *testscript.TestScript, c *scriptCloud, args []string) error {
			t, err := c.Named(args[1])
			ts.Setenv(args[0], t.Token)
			return err
		}},
	"created": {"NAME N: fails unless a resource was created N times", 2, 2,
		func(_ *testscript.TestScript, c *scriptCloud, args []string) error {
			return equal(args[1], c.Made(args[0]), "creations of "+args[0]+":")
		}},
	"wait-created": {"NAME: waits until a resource is created", 1, 1, func(_ *testscript.TestScript, c *scriptCloud,
		args []string) error {
		ctx, cancel := context.WithTimeout(context.Background(), 2*Timeout)
		defer cancel()
		return c.Until(ctx, func() bool { return c.Made(args[0]) > 0 })
	}},
	"wait-ended": {": waits until the calls up to the last wait-held have ended, for example because their " +
		"client was killed", 0, 0, func(_ *testscript.TestScript, c *scriptCloud, _ []string) error {
		ctx, cancel := context.WithTimeout(context.Background(), Timeout)
		defer cancel()
		return c.Until(ctx, func() bool {
			return !slices.ContainsFunc(c.History()[:c.seen], func(call cloud.Call) bool { return !call.Ended })
		})
	}},
	"count": {"N: fails unless N resources exist, and no name was created twice", 1, 1,
		func(_ *testscript.TestScript, c *scriptCloud, args []string) error {
			if twice := c.Twice(); len(twice) > 0 {
				return fmt.Errorf("created more than once: %s", strings.Join(twice, ", "))
			}
			return equal(args[0], len(c.Resources()), "resources:")
		}},
	"responded": {"STATUS: fails unless a call had this response status", 1, 1,
		func(_ *testscript.TestScript, c *scriptCloud, args []string) error {
			for _, call := range c.History() {
				if strconv.Itoa(call.Status) == args[0] {
					return nil
				}
			}
			return fmt.Errorf("no call had response status %s", args[0])
		}},
	"log": {": prints every call", 0, 0, func(ts *testscript.TestScript, c *scriptCloud, _ []string) error {
		fmt.Fprint(ts.Stdout(), c.calls())
		return nil
	}},
}

// cloud controls the script's cloud: `cloud start [FILE]` starts it, at $CLOUD; cloudCommands has the other
// subcommands.
func (e Environment) cloud(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) > 0 && args[0] == "start" {
		e.startCloud(ts, args[1:])
		return
	}
	c, _ := ts.Value(clouds{}).(*scriptCloud)
	if c == nil || c.Cloud == nil {
		ts.Fatalf("the script has no cloud start")
	}
	name := argument(args, 0, "")
	command, ok := cloudCommands[name]
	if !ok {
		ts.Fatalf("usage: cloud " +
			"start|fail|drop-response|throttle|delay|hold|wait-held|release|drift|delete|has|id|token|created|" +
			"wait-created|wait-ended|count|responded|log ...")
	}
	if n := len(args) - 1; n < command.least || n > command.most {
		ts.Fatalf("usage: cloud %s %s", name, command.usage)
	}
	switch err := command.do(ts, c, args[1:]); {
	case err != nil && !neg:
		ts.Fatalf("cloud %s: %v\n%s", strings.Join(args, " "), err, c.calls())
	case err == nil && neg:
		ts.Fatalf("cloud %s: unexpected success\n%s", strings.Join(args, " "), c.calls())
	}
}

// startCloud starts a cloud that pods reach at $CLOUD; with a file, it starts with the resources in it.
func (e Environment) startCloud(ts *testscript.TestScript, args []string) {
	script := ts.Value(clouds{}).(*scriptCloud)
	script.Cloud, script.gate, script.seen = cloud.New(), nil, 0
	if len(args) > 0 {
		var err error
		script.Cloud, err = cloud.Open(ts.MkAbs(args[0]))
		ts.Check(err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(e.Host, "0"))
	ts.Check(err)
	server := httptest.NewUnstartedServer(script.Cloud)
	ts.Check(server.Listener.Close())
	server.Listener = l
	server.Start()
	c := script.Cloud
	ts.Defer(func() {
		c.EndFaults()
		server.CloseClientConnections()
		server.Close()
		ts.Check(c.Close())
	})
	ts.Setenv("CLOUD", server.URL)
}

// calls returns the history of calls, one per line.
func (c *scriptCloud) calls() string {
	var all strings.Builder
	for _, call := range c.History() {
		fmt.Fprintln(&all, call)
	}
	return all.String()
}

// equal compares a number with the argument of a command.
func equal(want string, got int, what string) error {
	if strconv.Itoa(got) != want {
		return fmt.Errorf("%s %d, not %s", what, got, want)
	}
	return nil
}

// argument returns an argument, or a default.
func argument(args []string, at int, otherwise string) string {
	if at < len(args) {
		return args[at]
	}
	return otherwise
}
