package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/spf13/cobra"
)

// policyTest is the data of "deed policy test".
type policyTest struct {
	// Closed are ways on that nobody would have.
	Closed []ledger.Blocked `json:"closed"`
	// Forbidden is what the policy in force, or none, does not forbid already.
	Forbidden []ledger.Verdict `json:"forbidden"`
}

func newPolicyTestCommand(e *Env, f *flags) *cobra.Command {
	var o draftPolicy
	cmd := &cobra.Command{
		Use: "test FILE", Short: "Test a policy before it is published", Args: cobra.ExactArgs(1),
		Long: `Test a policy: that it parses, that it only forbids, that it closes no way on to
everybody; and say what it would forbid that is not forbidden now. It is tried on every
row of the authority table, by each role and kind, at each risk tier, for each kind of
effect, on seven days at four hours: what it forbids only for certain paths, names or
counts does not show here. Without a ledger it is held against the rules alone.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			p, err := s.policy(args[0], o)
			if err != nil {
				return err
			}
			return s.testPolicy(ctx, p)
		}),
	}
	o.flags(cmd)
	return cmd
}

func (s *session) testPolicy(ctx context.Context, d *events.Policy) error {
	compiled, err := ledger.CompilePolicy(d)
	if err != nil {
		return refuse(ledger.CodeRule, "policy.published/cedar", "%v", err)
	}
	state, err := s.registryState(ctx)
	if errors.Is(err, client.ErrNotReached) {
		return err
	}
	if err != nil {
		s.note("no ledger answers: the policy is held against the rules alone")
		state = protocol.RegistryState{}
	}
	g := &state.Registry
	now := s.env.Now().UnixNano()
	before := ledger.Survey(ledger.PolicyInForce(g), now)
	report := policyTest{Closed: ledger.LockedOut(compiled, g, now), Forbidden: []ledger.Verdict{}}
	for _, v := range ledger.Survey(compiled, now) {
		known := slices.ContainsFunc(before, func(b ledger.Verdict) bool {
			return b.Row == v.Row && b.Role == v.Role && b.Kind == v.Kind && b.Tier == v.Tier && b.Effect == v.Effect && slices.Equal(b.Days, v.Days)
		})
		if !known {
			report.Forbidden = append(report.Forbidden, v)
		}
	}
	show := s.result
	if state.Position != 0 {
		show = func(kind string, data any, text func(*textWriter)) error {
			return s.answer(state.Position, kind, data, text)
		}
	}
	if err := show("policy-test", report, func(w *textWriter) { showPolicyTest(w, report) }); err != nil {
		return err
	}
	if len(report.Closed) > 0 {
		return told{refuse(ledger.CodeRule, "policy.published/lockout", "it would close %d ways on to everybody", len(report.Closed))}
	}
	return nil
}

func showPolicyTest(w *textWriter, r policyTest) {
	for _, c := range r.Closed {
		w.line("nobody could ever do %s in %s at tier %s: %s", c.Row, c.State, c.Tier, c.Policy)
	}
	for _, f := range blocks(r.Forbidden) {
		w.line("%s", f.String())
	}
	if len(r.Forbidden) == 0 {
		w.line("forbids nothing on the grid that is not forbidden now")
	}
}

// explanation is the data of "deed policy explain": what the floor and the
// policy in force say of a role and a type.
type explanation struct {
	Role events.Role `json:"role"`
	Type string      `json:"type"`
	Rows []rowView   `json:"rows"`
	// Forbidden is what the policy in force takes away, on the grid.
	Forbidden []ledger.Verdict `json:"forbidden"`
	// Statements are all of the policy in force; those on paths, names or
	// counts show in no grid.
	Statements []ledger.Statement `json:"statements"`
	// Task is what --task adds.
	Task *taskView `json:"task,omitempty"`
}

// rowView is a row of the authority table, for one role.
type rowView struct {
	Row     string   `json:"row"`
	By      []string `json:"by"`
	Allowed bool     `json:"allowed"` // to the role, in the state asked for
	States  []string `json:"states"`
	Reason  string   `json:"reason"`
	Note    string   `json:"note,omitzero"`
}

// taskView is what the policy says now of a task and each kind of author.
type taskView struct {
	Task  string       `json:"task"`
	State string       `json:"state"`
	Bans  []taskBanned `json:"bans"`
	// Pinned says that the open attempt pinned the policy in force, or that
	// there is neither.
	Pinned bool `json:"pinned"`
	// Suspects are events of the task whose key is compromised, and about which
	// nobody has decided yet.
	Suspects []projections.Suspect `json:"suspects"`
}

type taskBanned struct {
	Row  string      `json:"row"`
	Kind events.Kind `json:"kind"`
	// Actor is set where it is forbidden to this actor and not to its kind.
	Actor string `json:"actor,omitzero"`
	ledger.Ban
}

// explainOptions narrow an explanation.
type explainOptions struct{ state, task string }

func newPolicyExplainCommand(e *Env, f *flags) *cobra.Command {
	var o explainOptions
	cmd := &cobra.Command{
		Use: "explain ROLE TYPE", Short: "Explain who may append an event, and what forbids it", Args: cobra.ExactArgs(2),
		Long: `Explain what the rules and the policy in force say of a role and a type of event: the
rows, kinds and states of the authority table, and what the policy takes away. --state
asks for one state, --task for one task as it is now.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			if err := choose("ROLE", events.Role(args[0]), events.Roles()); err != nil {
				return err
			}
			kind := events.TypeOf(args[1])
			if kind == "" {
				return fmt.Errorf("%w: %q", events.ErrUnknownType, args[1])
			}
			return s.explainPolicy(ctx, events.Role(args[0]), kind, o)
		}),
	}
	cmd.Flags().StringVar(&o.state, "state", "", "only this state")
	cmd.Flags().StringVar(&o.task, "task", "", "this task, as it is now")
	return cmd
}

func (s *session) explainPolicy(ctx context.Context, role events.Role, kind events.Type, o explainOptions) error {
	read, err := s.registryState(ctx)
	if err != nil {
		return err
	}
	g, position := &read.Registry, read.Position
	x := explanation{Role: role, Type: kind.Short(), Forbidden: []ledger.Verdict{}}
	state := o.state
	policy := ledger.PolicyInForce(g)
	x.Statements = policy.Statements()
	if o.task != "" {
		t, err := s.existing(ctx, o.task)
		if err != nil {
			return err
		}
		state, position = t.Task.State.String(), min(position, t.Position)
		x.Task = s.viewOf(g, t, role, kind)
	}
	if state != "" && !slices.ContainsFunc(projections.States(), func(k projections.State) bool { return k.String() == state }) {
		return fmt.Errorf("%w: --state %q is no state", errUsage, state)
	}
	x.Rows = explainRows(role, kind, state)
	for _, v := range ledger.Survey(policy, s.env.Now().UnixNano()) {
		if v.Role == role && rowType(v.Row) == kind.Short() {
			x.Forbidden = append(x.Forbidden, v)
		}
	}
	return s.answer(position, "explanation", x, func(w *textWriter) { showExplanation(w, x) })
}

// rowType cuts the variant off a row's name.
func rowType(row string) string {
	short, _, _ := strings.Cut(row, " ")
	return short
}

// explainRows says of each row of a type whether the role fits it.
func explainRows(role events.Role, kind events.Type, state string) []rowView {
	rows := []rowView{}
	if kind.Registry() {
		admin := role == events.RoleAdmin
		why := "registry events are an admin's; no policy applies to them"
		return append(rows, rowView{Row: kind.Short(), By: []string{string(events.RoleAdmin)}, Allowed: admin, Reason: why})
	}
	for _, row := range ledger.Table() {
		if row.Type != kind {
			continue
		}
		v := rowView{Row: row.Name(), Note: row.Note, States: []string{}}
		fits := false
		for _, by := range row.By {
			v.By = append(v.By, by.String())
			fits = fits || by.Fits(role)
		}
		for _, in := range row.In {
			v.States = append(v.States, in.String())
		}
		there := state == "" || slices.Contains(v.States, state)
		v.Allowed = fits && there
		switch {
		case !fits:
			v.Reason = "the row does not name " + string(role)
		case !there:
			v.Reason = "not legal in " + state
		default:
			v.Reason = "the row allows it"
		}
		rows = append(rows, v)
	}
	return rows
}

// viewOf is what the policy in force and suspicion say of a task as it is now.
func (s *session) viewOf(g *projections.Registry, state protocol.TaskState, role events.Role, kind events.Type) *taskView {
	j := judge{state: state, g: g}
	v := &taskView{Task: state.Task.ID, State: state.Task.State.String(), Bans: s.bansOn(g, state.Task, role, kind), Pinned: !j.repinned(), Suspects: []projections.Suspect{}}
	for _, x := range state.Task.Suspects {
		if !x.Settled {
			v.Suspects = append(v.Suspects, x)
		}
	}
	return v
}

// bansOn asks the policy in force about a task as it is now, for an author of
// each kind, and for the actors that have the role.
func (s *session) bansOn(g *projections.Registry, t *projections.Task, role events.Role, kind events.Type) []taskBanned {
	policy := ledger.PolicyInForce(g)
	q := ledger.AskAbout(&projections.Ledger{Registry: *g}, t, s.env.Now().UnixNano())
	q.Type, q.Roles = kind, []events.Role{role}
	bans := []taskBanned{}
	for _, row := range explainRows(role, kind, "") {
		q.Row = row.Row
		for _, q.Kind = range []events.Kind{events.KindHuman, events.KindAgent, events.KindCI} {
			for _, ban := range policy.Bans(q) {
				bans = append(bans, taskBanned{row.Row, q.Kind, "", ban})
			}
		}
		for _, a := range g.Actors {
			q := q
			q.Actor, q.Principal, q.Kind, q.Roles = a.Name, a.Principal, a.Kind, a.Roles
			for _, ban := range policy.Bans(q) {
				known := slices.ContainsFunc(bans, func(b taskBanned) bool { return b.Row == row.Row && b.Kind == a.Kind && b.Policy == ban.Policy })
				if a.Has(role) && a.Signs() && !known {
					bans = append(bans, taskBanned{row.Row, a.Kind, a.Name, ban})
				}
			}
		}
	}
	return bans
}

func showExplanation(w *textWriter, x explanation) {
	for _, r := range x.Rows {
		verdict := "refused"
		if r.Allowed {
			verdict = "allowed"
		}
		w.line("%s: %s to %s by the rules: %s", r.Row, verdict, x.Role, r.Reason)
		w.line("  by %s; legal in %s", strings.Join(r.By, ", "), first(strings.Join(r.States, ", "), "the registry"))
		if r.Note != "" {
			w.line("  %s", r.Note)
		}
	}
	showPolicyTest(w, policyTest{Forbidden: x.Forbidden})
	for _, st := range x.Statements {
		w.line("in force: %s: %s", st.ID, first(st.Reason, "gives no reason"))
	}
	if x.Task == nil {
		return
	}
	for _, b := range x.Task.Bans {
		w.line("task %s in %s: %s by %s is forbidden by %s: %s", x.Task.Task, x.Task.State, b.Row, first(b.Actor, string(b.Kind)), b.Policy, first(b.Reason, "gives no reason"))
	}
	if !x.Task.Pinned {
		w.line("task %s pinned the policy before this one: nothing is approved or delivered before a recovery and a decision with --repin", x.Task.Task)
	}
	for _, v := range x.Task.Suspects {
		w.line("task %s: %s at position %d counts as absent: position %d calls its key compromised", x.Task.Task, v.Event, v.Position, v.By)
	}
	if len(x.Task.Bans) == 0 {
		w.line("task %s in %s: the policy forbids nothing of this now", x.Task.Task, x.Task.State)
	}
}
