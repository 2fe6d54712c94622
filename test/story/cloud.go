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

// scriptCloud is a script's cloud, and the gate that it told of last.
type scriptCloud struct {
	*cloud.Cloud
	gate *cloud.Injected
	// seen is how many calls there were when the script last saw some held.
	seen int
}

// cloudCommand is one of the things that scripts can say to their cloud.
type cloudCommand struct {
	usage string
	// least and most are how many arguments it takes.
	least, most int
	do          func(*testscript.TestScript, *scriptCloud, []string) error
}

var cloudCommands = map[string]cloudCommand{
	"fail": {"VERB K [STATUS]: the K-th call of a verb from now on is refused", 2, 3, func(_ *testscript.TestScript, c *scriptCloud, args []string) error {
		k, err := strconv.Atoi(args[1])
		status, err2 := strconv.Atoi(argument(args, 2, "500"))
		if err != nil || err2 != nil {
			return fmt.Errorf("no numbers: %q", args)
		}
		c.Inject(cloud.Fault{Verb: cloud.Verb(args[0]), From: k, Times: 1, Status: status})
		return nil
	}},
	"lose": {"VERB NAME: the next call of a verb for a name takes effect and is not answered", 2, 2, func(_ *testscript.TestScript, c *scriptCloud, args []string) error {
		c.Inject(cloud.Fault{Verb: cloud.Verb(args[0]), Name: args[1], Times: 1, After: true, Reset: true})
		return nil
	}},
	"throttle": {"VERB N: so many calls of a verb go through in a second", 2, 2, func(_ *testscript.TestScript, c *scriptCloud, args []string) error {
		n, err := strconv.Atoi(args[1])
		c.Inject(cloud.Fault{Verb: cloud.Verb(args[0]), PerSecond: n})
		return err
	}},
	"delay": {"VERB DURATION: calls of a verb are slow", 2, 2, func(_ *testscript.TestScript, c *scriptCloud, args []string) error {
		d, err := time.ParseDuration(args[1])
		c.Inject(cloud.Fault{Verb: cloud.Verb(args[0]), Delay: d})
		return err
	}},
	"hold": {"VERB NAME [K]: calls of a verb for a name, a pattern, wait before they take effect; from the K-th on", 2, 3, func(_ *testscript.TestScript, c *scriptCloud, args []string) error {
		k, err := strconv.Atoi(argument(args, 2, "1"))
		c.gate = c.Inject(cloud.Fault{Verb: cloud.Verb(args[0]), Name: args[1], From: k, Hold: true})
		return err
	}},
	"held": {"N: waits until so many calls wait at what was held last", 1, 1, func(_ *testscript.TestScript, c *scriptCloud, args []string) error {
		n, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		if c.gate == nil {
			return errors.New("say first what to hold")
		}
		ctx, cancel := context.WithTimeout(context.Background(), Patience)
		defer cancel()
		err = c.gate.Held(ctx, n)
		c.seen = len(c.History())
		return err
	}},
	"release": {": all faults end, and what is held goes on", 0, 0, func(_ *testscript.TestScript, c *scriptCloud, _ []string) error {
		c.EndFaults()
		return nil
	}},
	"drift": {"NAME ATTRIBUTE VALUE: somebody changes a thing by hand", 3, 3, func(_ *testscript.TestScript, c *scriptCloud, args []string) error {
		return c.Drift(args[0], args[1], args[2])
	}},
	"vanish": {"NAME: somebody deletes a thing by hand", 1, 1, func(_ *testscript.TestScript, c *scriptCloud, args []string) error {
		return c.Vanish(args[0])
	}},
	"has": {"NAME ATTRIBUTE VALUE: fails unless a thing is there, with that", 3, 3, func(_ *testscript.TestScript, c *scriptCloud, args []string) error {
		switch t, err := c.Named(args[0]); {
		case err != nil:
			return err
		case t.Attributes[args[1]] != args[2]:
			return fmt.Errorf("%s of %s is %q", args[1], args[0], t.Attributes[args[1]])
		}
		return nil
	}},
	"id": {"VARIABLE NAME: puts the ID of a thing into a variable", 2, 2, func(ts *testscript.TestScript, c *scriptCloud, args []string) error {
		t, err := c.Named(args[1])
		ts.Setenv(args[0], t.ID)
		return err
	}},
	"token": {"VARIABLE NAME: puts the secret that the cloud made for a thing into a variable", 2, 2, func(ts *testscript.TestScript, c *scriptCloud, args []string) error {
		t, err := c.Named(args[1])
		ts.Setenv(args[0], t.Token)
		return err
	}},
	"made": {"NAME N: fails unless a thing was made so often", 2, 2, func(_ *testscript.TestScript, c *scriptCloud, args []string) error {
		return so(args[1], c.Made(args[0]), args[0]+" was made")
	}},
	"until": {"NAME: waits until a thing was made", 1, 1, func(_ *testscript.TestScript, c *scriptCloud, args []string) error {
		ctx, cancel := context.WithTimeout(context.Background(), 2*Patience)
		defer cancel()
		return c.Until(ctx, func() bool { return c.Made(args[0]) > 0 })
	}},
	"quiet": {": waits until no call is under way of those that were held, as when their client was killed; the next client's may be", 0, 0, func(_ *testscript.TestScript, c *scriptCloud, _ []string) error {
		ctx, cancel := context.WithTimeout(context.Background(), Patience)
		defer cancel()
		return c.Until(ctx, func() bool {
			return !slices.ContainsFunc(c.History()[:c.seen], func(call cloud.Call) bool { return !call.Ended })
		})
	}},
	"once": {"N: fails unless there are so many things, and none of their names was made twice", 1, 1, func(_ *testscript.TestScript, c *scriptCloud, args []string) error {
		if twice := c.Twice(); len(twice) > 0 {
			return fmt.Errorf("made more than once: %s", strings.Join(twice, ", "))
		}
		return so(args[0], len(c.Things()), "things:")
	}},
	"refused": {"STATUS: fails unless a call was answered so", 1, 1, func(_ *testscript.TestScript, c *scriptCloud, args []string) error {
		for _, call := range c.History() {
			if strconv.Itoa(call.Status) == args[0] {
				return nil
			}
		}
		return fmt.Errorf("nothing was answered %s", args[0])
	}},
	"log": {": prints every call", 0, 0, func(ts *testscript.TestScript, c *scriptCloud, _ []string) error {
		fmt.Fprint(ts.Stdout(), c.told())
		return nil
	}},
}

// cloud speaks to the script's cloud: `cloud start [FILE]` starts it, at $CLOUD; cloudCommands has the rest.
func (t Teller) cloud(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) > 0 && args[0] == "start" {
		t.startCloud(ts, args[1:])
		return
	}
	c, _ := ts.Value(clouds{}).(*scriptCloud)
	if c == nil || c.Cloud == nil {
		ts.Fatalf("there is no cloud: say cloud start")
	}
	name := argument(args, 0, "")
	command, ok := cloudCommands[name]
	if !ok {
		ts.Fatalf("usage: cloud start|fail|lose|throttle|delay|hold|held|release|drift|vanish|has|id|token|made|until|quiet|once|refused|log ...")
	}
	if n := len(args) - 1; n < command.least || n > command.most {
		ts.Fatalf("usage: cloud %s %s", name, command.usage)
	}
	switch err := command.do(ts, c, args[1:]); {
	case err != nil && !neg:
		ts.Fatalf("cloud %s: %v\n%s", strings.Join(args, " "), err, c.told())
	case err == nil && neg:
		ts.Fatalf("cloud %s: it is so\n%s", strings.Join(args, " "), c.told())
	}
}

// startCloud starts one that pods reach at $CLOUD; with a file, it has what is in there.
func (t Teller) startCloud(ts *testscript.TestScript, args []string) {
	script := ts.Value(clouds{}).(*scriptCloud)
	script.Cloud, script.gate, script.seen = cloud.New(), nil, 0
	if len(args) > 0 {
		var err error
		script.Cloud, err = cloud.Open(ts.MkAbs(args[0]))
		ts.Check(err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(t.Host, "0"))
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

// told is every call, a line each.
func (c *scriptCloud) told() string {
	var all strings.Builder
	for _, call := range c.History() {
		fmt.Fprintln(&all, call)
	}
	return all.String()
}

func so(want string, is int, what string) error {
	if strconv.Itoa(is) != want {
		return fmt.Errorf("%s %d, not %s", what, is, want)
	}
	return nil
}

func argument(args []string, at int, otherwise string) string {
	if at < len(args) {
		return args[at]
	}
	return otherwise
}
