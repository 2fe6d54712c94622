package state

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/userapi"
)

func recoverCommand(s *session.Session) *cobra.Command {
	var pod, file, format string
	cmd := onState(s, &cobra.Command{
		Use:   "recover STACK",
		Short: "Recover a state that an apply could only write to its pod's log",
		Long: `Recovers the state of an apply that could not connect to the server to save it. The pod then prints the state to
its log, encrypted so that only Cairn can read it, and the Stack is not planned (Ready has the reason StateNotSaved). This
command sends that log to the server, which stores the state as the current version; then the Stack continues.

By default it reads the log of the pod that printed the state, from Kubernetes with your permissions. If the pod was
deleted, use the log of your log storage with --file; lines may have timestamps and names before the text.

To go back to an earlier version use "cairn state rollback"; to use the backup in the bucket, "cairn state restore".`,
		Example: s.Examples(`
			cairn state recover net
			cairn state recover net --pod net-7-apply-2
			cairn state recover net --file net-7.log
			kubectl logs net-7-apply-2 | cairn state recover net --file -`),
	}, func(ctx context.Context, key client.ObjectKey, _ []string) error {
		return recoverState(ctx, s, key, pod, file, format)
	})
	f := cmd.Flags()
	f.StringVar(&pod, "pod", "", "pod whose log has the state; default: the one that could not save it")
	f.StringVar(&file, "file", "", "file with the log, - for standard input")
	session.AddFormatFlag(cmd, &format)
	cmd.MarkFlagsMutuallyExclusive("pod", "file")
	return cmd
}

func recoverState(ctx context.Context, s *session.Session, key client.ObjectKey, pod, file, format string) error {
	log, from, err := logToSearch(ctx, s, key, pod, file)
	if err != nil {
		return err
	}
	defer log.Close()
	fmt.Fprintf(s.ErrOut, "Searching for the state in %s ...\n", from)
	return writeVersion(ctx, s, format, key, func(server *userapi.Client) (userapi.StateVersion, error) {
		version, err := server.Recover(ctx, key.Namespace, key.Name, log)
		if err != nil {
			err = fmt.Errorf("%s: %w", from, err)
		}
		return version, err
	})
}

// logToSearch opens the log to search, and describes where it is from.
func logToSearch(
	ctx context.Context, s *session.Session, key client.ObjectKey, pod, file string,
) (log io.ReadCloser, from string, err error) {
	switch {
	case file == "-":
		return io.NopCloser(s.In), "standard input", nil
	case file != "":
		log, err = os.Open(file)
		return log, file, err
	}
	if pod == "" {
		if pod, err = unsavedPod(ctx, s, key); err != nil {
			return nil, "", err
		}
	}
	log, err = podLog(ctx, s, key.Namespace, pod)
	return log, "the log of pod " + pod, err
}

// unsavedPod returns the pod of the newest attempt that could not save its state.
func unsavedPod(ctx context.Context, s *session.Session, key client.ObjectKey) (string, error) {
	var runs v1alpha1.RunList
	if err := s.List(ctx, &runs, client.InNamespace(key.Namespace)); err != nil {
		return "", err
	}
	for _, r := range runinfo.OfState(runs.Items, key.Name) {
		for _, a := range slices.Backward(r.Status.Attempts) {
			if a.Failure != nil && a.Failure.Class == v1alpha1.FailureStateNotSaved {
				return a.Pod, nil
			}
		}
	}
	return "", fmt.Errorf("no Run of Stack %s ended with its state in a pod's log: there is nothing to recover; "+
		"to read another log, use --pod or --file", key.Name)
}

// engineContainer is the container of a runner's pod that runs the engine.
const engineContainer = "engine"

// podLog reads a pod's log from Kubernetes.
func podLog(ctx context.Context, s *session.Session, namespace, pod string) (io.ReadCloser, error) {
	config, err := s.Config()
	if err != nil {
		return nil, err
	}
	core, err := session.CoreClient(config)
	if err != nil {
		return nil, err
	}
	log, err := core.Get().Namespace(namespace).Resource("pods").Name(pod).SubResource("log").
		Param("container", engineContainer).Stream(ctx)
	if apierrors.IsNotFound(err) {
		return nil, session.Explained(err,
			"pod %s does not exist any more: use its log of your log storage with --file", pod)
	}
	return log, cmp.Or(s.Explain(err), err)
}
