package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// wantsJSON reports whether errors are to be printed as JSON too. A command
// line that could not be read as a whole is searched for the flag: whoever
// asked for JSON parses the answer, also when an earlier flag was misspelt.
func wantsJSON(root *cobra.Command, args []string) bool {
	f := root.PersistentFlags().Lookup("output")
	if f.Changed {
		return f.Value.String() == "json"
	}
	form := ""
	for i, arg := range args {
		value, joined := strings.CutPrefix(arg, "--output=")
		if !joined && len(arg) > 2 {
			value, joined = strings.CutPrefix(arg, "-o")
			value = strings.TrimPrefix(value, "=")
		}
		switch {
		case arg == "--": // from here on it is another program's
			return form == "json"
		case joined:
			form = value
		case (arg == "-o" || arg == "--output") && i+1 < len(args):
			form = args[i+1]
		}
	}
	return form == "json"
}
