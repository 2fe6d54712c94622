package session

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/internal/cli/screen"
)

// Style returns the style of the output.
func (s *Session) Style() screen.Style {
	return screen.Style{Color: s.Color, Program: s.Program, Namespace: s.namespaceFlag(), Now: s.Now()}
}

// Text returns the standard output for text that users write: logs, plans, messages and names. A terminal gets only
// colors of it, and no other control sequence. A pipe or a file gets it as it is.
func (s *Session) Text() io.Writer {
	if s.Screen {
		return screen.NewTerminal(s.Out)
	}
	return s.Out
}

// Output formats; the empty one is text.
const (
	FormatJSON = "json"
	FormatYAML = "yaml"
	FormatWide = "wide"
	FormatName = "name"
)

// formatFlag is the value of the flag --output.
type formatFlag struct {
	format *string
	known  []string
}

// AddFormatFlag adds the flag --output, which accepts json, yaml and additional formats.
func AddFormatFlag(cmd *cobra.Command, format *string, additional ...string) {
	known := append([]string{FormatJSON, FormatYAML}, additional...)
	last := len(known) - 1
	usage := strings.Join(known[:last], ", ") + " or " + known[last]
	cmd.Flags().VarP(&formatFlag{format, known}, "output", "o", usage)
	complete := cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("output", complete) // the flag is in the line before
}

// Set rejects a format that the command does not support.
func (f *formatFlag) Set(text string) error {
	if !slices.Contains(f.known, text) {
		return fmt.Errorf("use one of %s", strings.Join(f.known, ", "))
	}
	*f.format = text
	return nil
}

// String returns the format.
func (f *formatFlag) String() string {
	if f.format == nil {
		return ""
	}
	return *f.format
}

// Type returns the type of the value for the help.
func (*formatFlag) Type() string { return "string" }

// TablePrinter returns a function that prints tables below each other, in the same columns. A terminal gets one line
// for each row: messages are cut to its width, except in wide tables.
func (s *Session) TablePrinter(wide, namespaces bool) func(*metav1.Table) error {
	printer := printers.NewTablePrinter(printers.PrintOptions{Wide: wide, WithNamespace: namespaces})
	out := printers.GetNewTabWriter(s.Text()) // one for all tables: it keeps the widths of the columns
	fit := screen.Fit{Width: s.Width}
	return func(t *metav1.Table) error {
		if !wide {
			fit.Cut(t, namespaces)
		}
		if err := printer.PrintObj(t, out); err != nil {
			return err
		}
		return out.Flush()
	}
}

// PrintTable prints a table as text.
func (s *Session) PrintTable(t *metav1.Table, wide, namespaces bool) error {
	return s.TablePrinter(wide, namespaces)(t)
}

// PrintObject prints an object, or a list of them, as kubectl does.
func (s *Session) PrintObject(format string, o runtime.Object) error {
	var printer printers.ResourcePrinter
	switch format {
	case FormatJSON:
		printer = &printers.JSONPrinter{}
	case FormatYAML:
		printer = &printers.YAMLPrinter{}
	default:
		printer = &printers.NamePrinter{}
	}
	return (&printers.OmitManagedFieldsPrinter{Delegate: printer}).PrintObj(o, s.Text())
}

// SetKind sets the kind of an object, which the client does not.
func SetKind(o runtime.Object) error {
	gvk, err := apiutil.GVKForObject(o, apiTypes)
	if err != nil {
		return err
	}
	o.GetObjectKind().SetGroupVersionKind(gvk)
	return nil
}

// PrintValue prints a value that is no Kubernetes object as JSON or YAML.
func (s *Session) PrintValue(format string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if format == FormatYAML {
		if data, err = yaml.JSONToYAML(data); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(s.Text(), strings.TrimRight(string(data), "\n"))
	return err
}

// MaxArgs accepts at least one and at most that many arguments. Its error shows the usage.
func (s *Session) MaxArgs(most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= 1 && len(args) <= most {
			return nil
		}
		return Usage(cmd)
	}
}

// Args accepts the arguments that accepts does. Its error shows the usage: that of the library has only numbers.
func Args(accepts cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if accepts(cmd, args) != nil {
			return Usage(cmd)
		}
		return nil
	}
}

// NoArgs accepts no arguments. Its error shows the usage: that of the library calls an argument an unknown command.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usage(cmd)
	}
	return nil
}

// Usage returns the error of arguments that a command does not have, or has not got.
func Usage(cmd *cobra.Command) error {
	return fmt.Errorf("usage: %s; see %s --help", cmd.UseLine(), cmd.CommandPath())
}

// Note prints a line about the progress of a command to standard error.
func (s *Session) Note(format string, args ...any) { fmt.Fprintf(s.ErrOut, format+"\n", args...) }
