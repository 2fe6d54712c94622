package inputs

import (
	"slices"

	"cairn.dev/cairn/api/v1alpha1"
)

// CommandsField is the path of spec.commands in a Stack.
const CommandsField = "spec.commands"

// Command is a command of a Stack, with the place of its script in a Document.
type Command struct {
	*v1alpha1.Command
	// Field is the path of the command in a Stack.
	Field string
	// ScriptIn returns where the commands of a Document have its script.
	ScriptIn func(*Commands) *string
}

// CommandsOf lists the commands that a spec has.
func CommandsOf(spec *v1alpha1.StackSpec) []Command {
	if spec.Commands == nil {
		return nil
	}
	all := []Command{
		{spec.Commands.Apply, CommandsField + ".apply", func(c *Commands) *string { return &c.Apply }},
		{spec.Commands.Destroy, CommandsField + ".destroy", func(c *Commands) *string { return &c.Destroy }},
	}
	return slices.DeleteFunc(all, func(c Command) bool { return c.Command == nil })
}
