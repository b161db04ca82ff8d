package ledger

import (
	"slices"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// interrupted tells a story up to an interrupted work run, with what happened
// in it.
func interrupted(happened ...func(*projectionstest.Task)) *projectionstest.Task {
	story := projectionstest.New("acme")
	story.Genesis()
	k := story.Task("TASK-1")
	k.Propose(func(c *events.Contract) { c.Expires = "2030-01-01T00:00:00Z" })
	k.Accept()
	k.Open()
	k.Claim("impl-a", events.PurposeWork)
	for _, h := range happened {
		h(k)
	}
	if k.State().Lease != nil {
		k.Interrupt()
	}
	return k
}

// TestRecoveryTable has each row of the recovery table alone, and pairs in
// which the earlier row wins and both are listed.
func TestRecoveryTable(t *testing.T) {
	effect := func(outcomes ...projections.Status) func(*projectionstest.Task) {
		return func(k *projectionstest.Task) {
			k.Intend("e1", "p1", "p2")
			k.Dispatch("e1")
			for i, s := range outcomes {
				k.Settle("impl-a", "e1", []string{"p1", "p2"}[i], s)
			}
		}
	}
	hand := func(k *projectionstest.Task) { k.Hand() }
	newContract := func(k *projectionstest.Task) { k.Propose(); k.Accept() }
	finding := func(k *projectionstest.Task) {
		k.Do("ci", &events.Finding{Severity: "fatal", Rule: "R1", Text: "gone"})
	}
	failed := func(k *projectionstest.Task) { k.Verify(projectionstest.Outcomes{"C1": events.ClassCodeFailure}) }
	unsure := func(k *projectionstest.Task) { k.Verify(projectionstest.Outcomes{"C1": events.ClassInconclusive}) }
	accepted := func(k *projectionstest.Task) { k.AcceptRepair(); k.Claim("impl-b", events.PurposeWork) }
	world := func(changes ...func(*events.World)) []func(*events.World) { return changes }
	policy := func(w *events.World) { w.Inputs.Policy = projectionstest.Digest("other") }
	boundary := func(w *events.World) { w.Inputs.Boundary = projectionstest.Digest("other") }
	missing := func(w *events.World) { w.Missing = []string{"TOKEN"} }
	rewritten := func(w *events.World) { w.BaseKept = false }
	offTarget := func(w *events.World) { w.BaseOnTarget = false }
	conflict := func(w *events.World) { w.MergeTree = "" }
	image := func(w *events.World) { w.Inputs.RuntimeImage = "other" }
	lockfile := func(path string) func(*events.World) {
		return func(w *events.World) {
			w.Inputs.Lockfiles = []events.PinnedFile{{Path: path, Digest: projectionstest.Digest("lock")}}
		}
	}
	foreign := func(w *events.World) { w.Foreign = []string{"README.md"} }
	for name, c := range map[string]struct {
		happened []func(*projectionstest.Task)
		world    []func(*events.World)
		want     []string // without the last row, which always applies
	}{
		"nothing happened":          {},
		"contract changed":          {happened: []func(*projectionstest.Task){newContract}, want: []string{projections.EscalateContractChanged}},
		"effect dispatched":         {happened: []func(*projectionstest.Task){effect()}, want: []string{projections.EscalateEffectUnknown}},
		"effect unknown":            {happened: []func(*projectionstest.Task){effect(projections.StatusUnknown, projections.StatusFailed)}, want: []string{projections.EscalateEffectUnknown}},
		"effect partly applied":     {happened: []func(*projectionstest.Task){effect(projections.StatusConfirmed, projections.StatusFailed)}, want: []string{projections.CompensateEffect}},
		"effect confirmed":          {happened: []func(*projectionstest.Task){effect(projections.StatusConfirmed, projections.StatusConfirmed)}},
		"effect failed":             {happened: []func(*projectionstest.Task){effect(projections.StatusFailed, projections.StatusFailed)}},
		"policy changed":            {world: world(policy), want: []string{projections.ReAuthorize}},
		"boundary changed":          {world: world(boundary), want: []string{projections.ReAuthorize}},
		"capability missing":        {world: world(missing), want: []string{projections.ReAuthorize}},
		"fatal finding":             {happened: []func(*projectionstest.Task){finding}, want: []string{projections.EscalateFinding}},
		"base rewritten":            {world: world(rewritten), want: []string{projections.CreateRebaseRepair}},
		"base left the target":      {world: world(offTarget), want: []string{projections.CreateRebaseRepair}},
		"image drifted":             {world: world(image), want: []string{projections.NewAttemptInputsChanged}},
		"lockfile outside":          {world: world(lockfile("go.sum")), want: []string{projections.NewAttemptInputsChanged}},
		"lockfile inside the scope": {world: world(lockfile("src/export/go.sum"))},
		"foreign changes":           {world: world(foreign), want: []string{projections.NewAttemptInputsChanged}},
		"failing receipt, repair begun": {happened: []func(*projectionstest.Task){hand, failed, accepted}, world: world(conflict),
			want: []string{projections.RepairFromFailure}},
		"result without receipt":    {happened: []func(*projectionstest.Task){hand}, want: []string{projections.Reverify}},
		"inconclusive receipt":      {happened: []func(*projectionstest.Task){hand, unsure}, want: []string{projections.Reverify}},
		"result that cannot merge":  {happened: []func(*projectionstest.Task){hand}, world: world(conflict), want: []string{projections.CreateRebaseRepair, projections.Reverify}},
		"contract and effect":       {happened: []func(*projectionstest.Task){effect(), newContract}, want: []string{projections.EscalateContractChanged, projections.EscalateEffectUnknown}},
		"effect and policy":         {happened: []func(*projectionstest.Task){effect()}, world: world(policy), want: []string{projections.EscalateEffectUnknown, projections.ReAuthorize}},
		"policy and finding":        {happened: []func(*projectionstest.Task){finding}, world: world(policy), want: []string{projections.ReAuthorize, projections.EscalateFinding}},
		"finding, base and inputs":  {happened: []func(*projectionstest.Task){finding}, world: world(rewritten, image), want: []string{projections.EscalateFinding, projections.CreateRebaseRepair, projections.NewAttemptInputsChanged}},
		"everything about the disk": {happened: []func(*projectionstest.Task){hand}, world: world(policy, conflict, foreign), want: []string{projections.ReAuthorize, projections.CreateRebaseRepair, projections.NewAttemptInputsChanged, projections.Reverify}},
	} {
		t.Run(name, func(t *testing.T) {
			k := interrupted(c.happened...)
			w := projectionstest.World(k.Policy())
			if k.State().Result != nil {
				w.MergeTree = k.State().Result.Data.Tree
			}
			for _, change := range c.world {
				change(&w)
			}
			want := append(slices.Clone(c.want), projections.ResumeBoundedStep)
			for range 2 { // the same answer twice
				if got := Matches(k.Story.Ledger, k.State(), w, k.State().Admitted); !slices.Equal(got, want) {
					t.Fatalf("matches %v, want %v", got, want)
				}
			}
		})
	}
}

// TestRecoveryExpired has the contract's expiry, which is judged by the
// admission stamp and by nothing else.
func TestRecoveryExpired(t *testing.T) {
	k := interrupted()
	w := projectionstest.World(k.Policy())
	end, err := events.ParseTime("2030-01-01T00:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		admitted int64
		want     string
	}{{end.UnixNano() - 1, projections.ResumeBoundedStep}, {end.UnixNano(), projections.EscalateContractChanged}} {
		if got := Matches(k.Story.Ledger, k.State(), w, c.admitted); got[0] != c.want {
			t.Errorf("admitted %d: %v, want %s first", c.admitted, got, c.want)
		}
	}
}

// TestRecoveryRevoked has an attempt whose identity was revoked.
func TestRecoveryRevoked(t *testing.T) {
	k := interrupted()
	k.Story.Do(projectionstest.Draft{Actor: projectionstest.Founder, Payload: &events.Revocation{Actor: "impl-a", Reason: "left"}})
	if got := Matches(k.Story.Ledger, k.State(), projectionstest.World(k.Policy()), k.State().Admitted); got[0] != projections.ReAuthorize {
		t.Errorf("matches %v, want %s first", got, projections.ReAuthorize)
	}
}

// TestEveryStateHasARecoveryAnswer: from every state that is not final, a
// recover lease can be claimed, or the row that leads on is named by Next.
func TestEveryStateHasARecoveryAnswer(t *testing.T) {
	rules := NewRules()
	for state, k := range representatives() {
		if state.Final() {
			continue
		}
		next := rules.Next(k.State())
		if !slices.ContainsFunc(next, func(n NextEvent) bool { return n.Moves }) {
			t.Errorf("%s: nothing leads on: %v", state, next)
		}
	}
}
