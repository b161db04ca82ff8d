package cli

import (
	"context"

	"github.com/deedledger/deed/events"
	"github.com/spf13/cobra"
)

// planTemplate is what deed plan template prints.
const planTemplate = `# A plan: the units in which an attempt is meant to go on. It authorises nothing.
# Fill it in, then: deed plan record TASK -f plan.yaml

summary: ""                # one line
units:
  - name: U1
    title: ""              # what is to be done, one line
    files: ["src/**"]      # patterns of the files that it is about
    acceptance: [A1]       # the acceptance items that it serves
    verification: []       # how it will be verified, a line each
    success: ""            # how anybody can tell that it is done
`

// planDraft is a plan as a person writes it.
type planDraft struct {
	Summary string      `yaml:"summary"`
	Units   []unitDraft `yaml:"units"`
}

type unitDraft struct {
	Name         string   `yaml:"name"`
	Title        string   `yaml:"title"`
	Files        []string `yaml:"files"`
	Acceptance   []string `yaml:"acceptance"`
	Verification []string `yaml:"verification"`
	Success      string   `yaml:"success"`
}

// newPlanCommand builds "deed plan".
func newPlanCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{Use: "plan", Short: "Record how an attempt is meant to go on"}
	var file string
	record := newStatementCommand(e, f, statement{
		use: "record TASK -f FILE", short: "Record a plan in YAML or JSON; the newest one counts", did: "recorded a plan of",
		payload: func(_ context.Context, s *session, _ author) (events.Payload, error) {
			if err := needs("--file", file); err != nil {
				return nil, withHint(err, "deed plan template > plan.yaml makes a draft")
			}
			text, err := s.readInput(file, maxDraft)
			if err != nil {
				return nil, err
			}
			var d planDraft
			if err := oneDocument(text, &d); err != nil {
				return nil, withHint(err, "deed plan template prints a draft that says what belongs where")
			}
			p := &events.Plan{Summary: d.Summary}
			for _, u := range d.Units {
				p.Units = append(p.Units, events.Unit(u))
			}
			return p, nil
		},
	})
	record.Flags().StringVarP(&file, "file", "f", "", "the draft; - reads standard input")
	template := &cobra.Command{
		Use: "template", Short: "Print a draft of a plan", Args: cobra.NoArgs,
		RunE: e.action(f, func(_ context.Context, s *session, _ []string) error {
			return s.result("template", map[string]string{"text": planTemplate}, func(w *textWriter) { w.block(planTemplate) })
		}),
	}
	cmd.AddCommand(record, template)
	return cmd
}
