package cli

import (
	"context"

	"github.com/deedledger/deed/events"
	"github.com/spf13/cobra"
)

// newDefectCommand builds "deed defect".
func newDefectCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{Use: "defect", Short: "Report faults of what was delivered, or will be"}
	var d events.DefectReport
	var revision, path string
	report := newStatementCommand(e, f, statement{
		use: "report TASK --severity SEVERITY --text TEXT", short: "Report a fault, also after the delivery", did: "reported a defect of",
		payload: func(ctx context.Context, s *session, _ author) (events.Payload, error) {
			if err := choose("--severity", d.Severity, defectSeverities()); err != nil {
				return nil, err
			}
			d, err := d, needs("--text", d.Text)
			if err == nil && revision != "" {
				d.Commit, err = s.commit(ctx, revision)
			}
			if err == nil && path != "" {
				d.Path, err = encodedPath(path)
			}
			return &d, err
		},
	})
	fs := report.Flags()
	fs.StringVar(&d.Severity, "severity", "", "how bad it is: "+either(defectSeverities()))
	fs.StringVar(&d.Text, "text", "", "what is wrong")
	fs.StringVar(&d.Acceptance, "item", "", "the acceptance item that it breaks")
	fs.StringVar(&path, "path", "", "the file that it is in")
	fs.StringVar(&revision, "commit", "", "the commit that it was seen in")
	cmd.AddCommand(report)
	return cmd
}
