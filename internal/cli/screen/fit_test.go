package screen

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/kinds"
)

func withMessage(namespace, name, message string) v1alpha1.Stack {
	st := v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	st.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "RunFailed", Message: message},
	}
	return st
}

// TestRowsAreOneLine prints tables below each other, as a watch does.
func TestRowsAreOneLine(t *testing.T) {
	const long = "Run net-7 failed: apply:\nthe quota of eu-west is used up, and ü is a character"
	first := []v1alpha1.Stack{withMessage("prod", "net", long), withMessage("prod", "dns", "12 resources")}
	later := []v1alpha1.Stack{withMessage("production", "a-longer-name", long)}
	for name, tt := range map[string]struct {
		width      int
		namespaces bool
		want       []string
	}{
		"no terminal": {0, false, []string{
			"NAME   READY   REASON      RESOURCES   RUN   AGE   MESSAGE",
			"net    False   RunFailed   0           -     -     Run net-7 failed: apply: the quota of eu-west is " +
				"used up, and ü is a character",
			"dns    False   RunFailed   0           -     -     12 resources",
			"a-longer-name   False   RunFailed   0           -     -     Run net-7 failed: apply: the quota of " +
				"eu-west is used up, and ü is a character",
		}},
		"a terminal": {80, false, []string{
			"NAME   READY   REASON      RESOURCES   RUN   AGE   MESSAGE",
			"net    False   RunFailed   0           -     -     Run net-7 failed: apply: the…",
			"dns    False   RunFailed   0           -     -     12 resources",
			"a-longer-name   False   RunFailed   0           -     -     Run net-7 failed: a…",
		}},
		"with namespaces": {100, true, []string{
			"NAMESPACE   NAME   READY   REASON      RESOURCES   RUN   AGE   MESSAGE",
			"prod        net    False   RunFailed   0           -     -     Run net-7 failed: apply: the quota o…",
			"prod        dns    False   RunFailed   0           -     -     12 resources",
			"production   a-longer-name   False   RunFailed   0           -     -     Run net-7 failed: apply: t…",
		}},
		"no room": {40, false, []string{
			"NAME   READY   REASON      RESOURCES   RUN   AGE   MESSAGE",
			"net    False   RunFailed   0           -     -     Run net-7 failed: a…",
			"dns    False   RunFailed   0           -     -     12 resources",
			"a-longer-name   False   RunFailed   0           -     -     Run net-7 failed: a…",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var text bytes.Buffer
			printer := printers.NewTablePrinter(printers.PrintOptions{WithNamespace: tt.namespaces})
			out, fit := printers.GetNewTabWriter(&text), Fit{Width: tt.width}
			for _, stacks := range [][]v1alpha1.Stack{first, later} {
				table := tableOf(t, kinds.Stacks, &v1alpha1.StackList{Items: stacks})
				fit.Cut(table, tt.namespaces)
				if err := printer.PrintObj(table, out); err != nil {
					t.Fatal(err)
				}
				if err := out.Flush(); err != nil {
					t.Fatal(err)
				}
			}
			got := strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			for _, line := range got {
				if tt.width >= 80 && utf8.RuneCountInString(line) > tt.width {
					t.Errorf("%q is longer than %d", line, tt.width)
				}
			}
		})
	}
}

func TestTablesWithoutMessagesAreNotCut(t *testing.T) {
	st := v1alpha1.State{ObjectMeta: metav1.ObjectMeta{Name: "net"}}
	states := &v1alpha1.StateList{Items: []v1alpha1.State{st}}
	table, fit := tableOf(t, kinds.States, states), Fit{Width: 10}
	fit.Cut(table, false)
	if diff := cmp.Diff(tableOf(t, kinds.States, states), table); diff != "" {
		t.Error(diff)
	}
}

func tableOf(t *testing.T, kind kinds.Kind, list client.ObjectList) *metav1.Table {
	t.Helper()
	table, err := Table(kind, list, Style{Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	return table
}
