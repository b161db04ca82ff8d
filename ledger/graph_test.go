package ledger

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// The graph of the rules: every task state that can be reached by events that
// the rules accept, each event drafted in every way that matters. Two states
// that the rules cannot tell apart count as one.
type graph struct {
	rules *Rules
	variety
	nodes map[string]*node
	queue []*node
	edges map[edge]bool
}

type node struct {
	task *projections.Task
	out  []edge
	// delivered says why the task could be delivered, for Delivered only.
	verdict projections.ItemStatus
	quorum  bool
}

type edge struct {
	from, to projections.State
	by       string // the row's name
}

// variety bounds one exploration, so that each stays small; together they
// cover what one with everything covers, but for triple coincidences.
type variety struct {
	contracts int      // versions
	findings  bool     // fatal findings
	parts     []string // parts of the one effect; nil for no effect
	worlds    bool     // worlds other than the pinned one
	gate      bool     // results, and what follows them
	calm      bool     // no failing check, rejection or escalation by hand
	pause     bool     // pauses
	steps     bool     // plans, steps, facts, trees outside the boundary
	choices   bool     // decisions and bans
}

// move is an event that somebody tries to append.
type move struct {
	actor   string
	payload events.Payload
}

// world variants: nothing moved, the target moved on, an input drifted, the
// policy changed.
func worlds(t *projections.Task, policy string) []events.World {
	ok := projectionstest.World(policy)
	if t.Result != nil {
		ok.MergeTree = t.Result.Data.Tree
	}
	moved, drifted, other := ok, ok, ok
	moved.BaseKept = false
	drifted.Inputs.RuntimeImage = "golang:1.27"
	other.Inputs.Policy = projectionstest.Digest("another policy")
	return []events.World{ok, moved, drifted, other}
}

// moves returns what may be tried in a state.
func (g *graph) moves(l *projections.Ledger, t *projections.Task) []move {
	policy := l.Registry.Policy
	all := []move{
		{"ann", &events.Withdrawal{Reason: "no"}}, {"ann", &events.Cancellation{Reason: "no"}},
		{"impl-a", &events.Release{Reason: "quota"}}, {"carl", &events.Release{Reason: "shift"}}, {"olga", &events.Release{Reason: "other"}},
		{"carl", &events.RepairRequest{Items: []string{"A1"}, Reason: "failed"}},
		{"service", &events.Interruption{Cause: "lease-expired", Fence: max(1, int64(t.Fence))}},
	}
	if !g.calm {
		stuck := &events.Escalation{Reason: "stuck", NextStep: "look"}
		all = append(all, move{"carl", stuck}, move{"impl-a", stuck})
	}
	if g.findings {
		all = append(all, move{"ci", &events.Finding{Severity: "fatal", Rule: "R1", Text: "evidence is missing"}})
	}
	if len(t.Contracts) < g.contracts {
		all = append(all, move{"ann", projectionstest.Contract(int64(len(t.Contracts))+1, func(c *events.Contract) {
			c.MaxRepairs, c.MaxStalls = 1, 2
			c.Acceptance = c.Acceptance[:2]
			c.Scope.Effects = []events.EffectKind{events.EffectPreview}
		})})
	}
	for _, v := range t.Contracts {
		all = append(all, move{"ann", &events.Acceptance{Version: v.Contract.Version, Digest: v.Digest}})
	}
	for _, action := range []string{"resume", "reverify", "repair", "new-attempt", "cancel"} {
		d := &events.Resolution{Action: action, Reason: "decided"}
		if action == "repair" {
			d.Allowance = 1
		}
		all = append(all, move{"ann", d})
	}
	for _, kind := range []string{"code", "rebase", "inputs"} {
		all = append(all, move{"ann", &events.RepairAcceptance{Kind: kind}})
	}
	for _, f := range t.Findings {
		all = append(all, move{"ann", &events.Acknowledgement{Finding: f.EventID, Reason: "seen"}})
	}
	if t.Contract() != nil {
		all = append(all, move{"carl", projectionstest.Snapshot(t, policy)})
	}
	all = append(all, g.runMoves(l, t)...)
	all = append(all, g.workMoves(t)...)
	return append(all, g.effectMoves(t)...)
}

// runMoves returns claims, decisions, results, receipts and verdicts.
func (g *graph) runMoves(l *projections.Ledger, t *projections.Task) []move {
	var all []move
	list := worlds(t, l.Registry.Policy)
	if !g.worlds {
		list = list[:1]
	}
	for _, w := range list {
		for _, c := range []struct {
			actor   string
			purpose events.Purpose
		}{{"impl-a", events.PurposeWork}, {"carl", events.PurposeRecover}, {"olga", events.PurposeRelease}} {
			all = append(all, move{c.actor, &events.Claim{Purpose: c.purpose, TermSeconds: 60, World: w}})
		}
		if t.Attempt() != nil {
			matches := Matches(l, t, w, projectionstest.Start)
			all = append(all, move{"carl", &events.Recovery{Decision: matches[0], Matches: matches, World: w}})
		}
	}
	if g.gate {
		all = append(all, move{"impl-a", projectionstest.Result(fmt.Sprint(len(t.Runs)))})
	}
	if t.Result == nil || t.Contract() == nil || t.Attempt() == nil {
		return all
	}
	classes := []events.Class{events.ClassPass, events.ClassCodeFailure, events.ClassInconclusive}
	if g.calm {
		classes = classes[:1]
	}
	for _, class := range classes {
		nonce := fmt.Sprintf("nonce-%016d-%s", len(t.Receipts), class)
		all = append(all, move{"ci", projectionstest.Receipt(t, nonce, projectionstest.Outcomes{"C1": class})})
	}
	c, r := t.Contract(), t.Result
	all = append(all, move{"olga", &events.Delivery{Contract: c.Digest, Result: r.Hash, Target: "main", Commit: r.Data.Head, Tree: r.Data.Tree}})
	if t.State != projections.AwaitingReview {
		return all
	}
	verdict := events.Approval{Verdict: "approve", Contract: c.Digest, Result: r.Hash, Head: r.Data.Head, Tree: r.Data.Tree, Packet: packetDigest(t)}
	reject := verdict
	reject.Verdict, reject.Defects = "reject", []events.Defect{{Text: "wrong", Severity: "high"}}
	if !g.calm {
		all = append(all, move{"rita", &reject})
	}
	return append(all, move{"rita", &verdict})
}

func packetDigest(t *projections.Task) string {
	_, digest, err := projections.ReviewPacket(t).Encode(0)
	if err != nil {
		panic(err)
	}
	return digest.String()
}

// effectMoves plays with one effect of a work run and one of a release run.
func (g *graph) effectMoves(t *projections.Task) []move {
	var all []move
	if t.Lease != nil && len(t.Effects) < 1 && g.parts != nil {
		kind := events.EffectPreview
		if t.Lease.Purpose == events.PurposeRelease {
			kind = events.EffectMerge
		}
		d := projectionstest.Intent("effect-1", g.parts...)
		d.Kind = kind
		all = append(all, move{t.Lease.Actor, d})
	}
	for _, e := range t.Effects {
		key, try := e.Intent.Key, int64(len(e.Tries))
		all = append(all, move{"rita", &events.EffectApproval{Key: key, PayloadDigest: e.Intent.PayloadDigest}}, move{"ann", &events.EffectWithdrawal{Key: key, Reason: "no"}})
		if t.Lease != nil {
			all = append(all, move{t.Lease.Actor, &events.Dispatch{Key: key, Try: try + 1, Token: fmt.Sprintf("token-%d", try+1), Host: "h", Boot: "b"}})
		}
		if try == 0 {
			continue
		}
		for _, p := range e.Parts {
			token := e.Tries[len(e.Tries)-1].Token
			all = append(all,
				move{"ann", &events.Confirmation{Key: key, Try: p.Try, Part: p.Name, ExternalID: "id-" + p.Name, Token: token, Basis: "person", Evidence: "seen"}},
				move{"ann", &events.Failure{Key: key, Try: p.Try, Part: p.Name, Basis: "person", Evidence: "seen"}},
				move{"carl", &events.Unknown{Key: key, Try: p.Try, Part: p.Name, Reason: "no answer"}},
				move{"ann", &events.Compensation{Key: key, Part: p.Name, By: "undo-1", Basis: "person", Evidence: "undone"}})
		}
	}
	return all
}

// signature is what the rules can tell of a task. Counters are cut where more
// of them makes no difference.
func signature(t *projections.Task) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s<%s stale=%t n=%d cancelling=%t", t.State, t.Before, t.Stale(), len(t.Contracts), t.Cancelling)
	if t.Lease != nil {
		fmt.Fprintf(&b, " lease=%s", t.Lease.Purpose)
	}
	if t.Repair != nil {
		fmt.Fprintf(&b, " repair=%s/%t/%t", t.Repair.Kind, t.Repair.Accepted, t.Repair.Compensate != "")
	}
	for _, e := range t.Effects {
		approved := e.Intent.Kind.ReleaseOnly() && len(e.Approvers) > 0
		fmt.Fprintf(&b, " effect=%s/%t/%s/%t:", e.Status(), approved, e.Purpose, t.Attempt() != nil && e.Attempt == t.Attempt().ID)
		var parts []string
		for _, p := range e.Parts {
			parts = append(parts, string(p.Status))
		}
		slices.Sort(parts)
		fmt.Fprint(&b, parts)
	}
	fmt.Fprint(&b, workSignature(t))
	budget := int64(0)
	if c := t.Contract(); c != nil {
		budget = min(1, c.Contract.MaxRepairs+t.Allowance-t.Repairs)
	}
	fmt.Fprintf(&b, " attempt=%t result=%t verdict=%s approved=%d fatal=%t budget=%d stalls=%d", t.Attempt() != nil, t.Result != nil,
		t.Verdict(), len(t.Approvers()), t.FatalFinding() != nil, max(-1, budget), min(2, t.Stalls))
	return b.String()
}

// maxNodes bounds the exploration; reaching it fails the test.
const maxNodes = 12_000

// explore walks the graph from a task without events, once for each variety.
func explore(t *testing.T) *graph {
	t.Helper()
	all := &graph{rules: NewRules(), nodes: map[string]*node{}, edges: map[edge]bool{}}
	for _, v := range []variety{
		{contracts: 1, worlds: true, findings: true, gate: true},
		{contracts: 2, gate: true},
		{contracts: 1, parts: []string{"p1", "p2"}},
		{contracts: 1, parts: []string{}, gate: true, calm: true},
		{contracts: 2, parts: []string{}},
		{contracts: 1, gate: true, pause: true},
		{contracts: 1, gate: true, calm: true, steps: true},
		{contracts: 1, calm: true, choices: true},
	} {
		g := &graph{rules: all.rules, variety: v, nodes: map[string]*node{}, edges: all.edges}
		g.walk(t)
		t.Logf("%+v: %d states", v, len(g.nodes))
		maps.Copy(all.nodes, g.nodes)
	}
	return all
}

// walk explores one variety.
func (g *graph) walk(t *testing.T) {
	t.Helper()
	story := projectionstest.New("acme")
	story.Genesis()
	g.add(story.Ledger.NewTask("TASK-1"))
	for len(g.queue) > 0 {
		if len(g.nodes) > maxNodes {
			t.Fatalf("more than %d states: the signature tells too much apart", maxNodes)
		}
		n := g.queue[0]
		g.queue = g.queue[1:]
		g.step(t, story.Ledger, n)
	}
}

func (g *graph) add(task *projections.Task) {
	key := signature(task)
	if g.nodes[key] != nil {
		return
	}
	n := &node{task: task}
	g.nodes[key] = n
	g.queue = append(g.queue, n)
}

// step tries every move from a node.
func (g *graph) step(t *testing.T, l *projections.Ledger, n *node) {
	t.Helper()
	here := clone(l, n.task)
	for _, m := range g.moves(here, n.task) {
		next, err := g.after(here, n.task, m)
		if err != nil {
			t.Fatal(err)
		}
		if next == nil {
			continue
		}
		after := next.Tasks[n.task.ID]
		e := edge{n.task.State, after.State, g.rules.Row(m.payload).Name()}
		n.out = append(n.out, e)
		g.edges[e] = true
		if unproven(n.task, after) {
			t.Errorf("delivered without proof and approval from %s", signature(n.task))
		}
		g.add(after)
	}
}

// TestGraph explores the rules: no state without a way on, a way to an end
// from everywhere, every row used, every state reached, each edge as its row
// says, and every edge of the delivery contract's diagram.
func TestGraph(t *testing.T) {
	g := explore(t)
	t.Logf("%d states, %d edges", len(g.nodes), len(g.edges))
	reached := map[projections.State]bool{}
	ends := g.ending()
	dead := 0
	unnamed := map[string]string{}
	for key, n := range g.nodes {
		reached[n.task.State] = true
		if n.task.State.Final() {
			continue
		}
		next := g.rules.Next(n.task)
		if len(next) == 0 || len(n.out) == 0 {
			t.Errorf("dead end: %s", key)
		}
		if !ends[n.task.State] {
			dead++
		}
		for _, e := range n.out {
			if !slices.ContainsFunc(next, func(x NextEvent) bool { return x.Event == e.by }) && unnamed[e.by] == "" {
				unnamed[e.by] = key
				t.Errorf("%s is accepted in %s, and Next does not name it", e.by, key)
			}
		}
	}
	if dead > 0 {
		t.Errorf("%d states from which no end can be reached", dead)
	}
	for _, s := range projections.States() {
		if !reached[s] {
			t.Errorf("state %s is never reached", s)
		}
	}
	used := map[string]bool{}
	for e := range g.edges {
		used[e.by] = true
		row := rowNamed(e.by)
		if e.from != e.to && !slices.Contains(row.To, e.to) {
			t.Errorf("%s leads from %s to %s; its row says %s", e.by, e.from, e.to, list(row.To))
		}
	}
	for _, row := range Table() {
		if !used[row.Name()] {
			t.Errorf("row %s is never used", row.Name())
		}
		for _, to := range row.To {
			if !g.leads(row.Name(), to) {
				t.Errorf("row %s never leads to %s", row.Name(), to)
			}
		}
	}
	g.checkDiagram(t)
	golden(t, "../docs/states.md", g.document())
}

func (g *graph) leads(row string, to projections.State) bool {
	for e := range g.edges {
		if e.by == row && e.to == to && e.from != to {
			return true
		}
	}
	return false
}

func rowNamed(name string) *Row {
	for _, row := range Table() {
		if row.Name() == name {
			return &row
		}
	}
	return nil
}

// ending returns the states from which a final state can be reached.
func (g *graph) ending() map[projections.State]bool {
	ends := map[projections.State]bool{projections.Delivered: true, projections.Cancelled: true}
	for grown := true; grown; {
		grown = false
		for e := range g.edges {
			if ends[e.to] && !ends[e.from] {
				ends[e.from], grown = true, true
			}
		}
	}
	return ends
}

// checkDiagram holds the graph against the state diagram of the delivery
// contract: each of its edges is an edge here, or a path through one state.
func (g *graph) checkDiagram(t *testing.T) {
	t.Helper()
	for _, want := range [][]projections.State{
		{projections.None, projections.Proposed, projections.Contracted}, {projections.Contracted, projections.Snapshotted},
		{projections.Snapshotted, projections.Executing}, {projections.Executing, projections.AwaitingVerification},
		{projections.AwaitingVerification, projections.RepairQueued}, {projections.RepairQueued, projections.Executing},
		{projections.AwaitingVerification, projections.AwaitingReview}, {projections.AwaitingReview, projections.Approved, projections.Delivered},
		{projections.AwaitingReview, projections.RepairQueued}, {projections.Executing, projections.Interrupted},
		{projections.Interrupted, projections.RecoveryEvaluating}, {projections.RecoveryEvaluating, projections.Snapshotted, projections.Executing},
		{projections.RecoveryEvaluating, projections.RepairQueued}, {projections.RecoveryEvaluating, projections.Escalated},
	} {
		for i := 1; i < len(want); i++ {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(g.edges)), func(e edge) bool { return e.from == want[i-1] && e.to == want[i] }) {
				t.Errorf("the diagram's edge %s → %s is missing", want[i-1], want[i])
			}
		}
	}
}

// document prints the graph as Mermaid.
func (g *graph) document() string {
	by := map[[2]projections.State][]string{}
	for e := range g.edges {
		if e.from != e.to {
			k := [2]projections.State{e.from, e.to}
			by[k] = append(by[k], e.by)
		}
	}
	var lines []string
	for k, names := range by {
		slices.Sort(names)
		from, to := k[0].String(), k[1].String()
		if k[0] == projections.None {
			from = "[*]"
		}
		lines = append(lines, fmt.Sprintf("  %s --> %s: %s", from, to, strings.Join(slices.Compact(names), ", ")))
	}
	slices.Sort(lines)
	lines = append(lines, "  Delivered --> [*]", "  Cancelled --> [*]")
	return "# States\n\nMade by `go test ./ledger -run TestGraph -update` from an exploration of the rules: an edge is here if and only\n" +
		"if some reachable state and some accepted event lead along it. Events that keep the state are in\n[authority.md](authority.md).\n\n```mermaid\nstateDiagram-v2\n" +
		strings.Join(lines, "\n") + "\n```\n"
}
