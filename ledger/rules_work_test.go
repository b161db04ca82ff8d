package ledger

import (
	"errors"
	"testing"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// said is one event that somebody tries to append. Refused names the rule that
// must refuse it; "" says that it must be taken.
type said struct {
	actor   string
	payload events.Payload
	refused string
}

// try holds events against the rules in turn, and folds those that are taken.
func try(t *testing.T, k *projectionstest.Task, list ...said) {
	t.Helper()
	for i, s := range list {
		r := k.Draft(s.actor, s.payload)
		if !byHolder(s.payload) && s.payload.Type() != events.LeaseClaimed {
			r.Event.Fence = 0
		}
		r.Event.Subject = subjectFor(k.State(), s.payload, r.Event.Subject)
		tryRecord(t, k, i, s, r)
	}
}

func tryRecord(t *testing.T, k *projectionstest.Task, i int, s said, r events.Record) {
	t.Helper()
	err := NewRules().Check(k.Story.Ledger, Submission{Event: r.Event, Payload: s.payload, Position: r.Position, Admitted: r.Admitted})
	if s.refused != "" {
		if refusal, ok := errors.AsType[*Refusal](err); !ok || refusal.Rule != s.refused {
			t.Fatalf("%d: %s by %s in %s: %v, want a refusal by %s", i, s.payload.Type().Short(), s.actor, k.State().State, err, s.refused)
		}
		return
	}
	if err != nil {
		t.Fatalf("%d: %s by %s in %s: %v", i, s.payload.Type().Short(), s.actor, k.State().State, err)
	}
	if err := k.Story.Add(r); err != nil {
		t.Fatalf("%d: fold: %v", i, err)
	}
}

// inState fails unless the task is in a state.
func inState(t *testing.T, k *projectionstest.Task, want projections.State) {
	t.Helper()
	if got := k.State().State; got != want {
		t.Fatalf("the task is %s, want %s", got, want)
	}
}

func in(state projections.State) *projectionstest.Task { return representatives()[state] }

// verdictOf returns rita's approval of the current result.
func verdictOf(k *projectionstest.Task) *events.Approval {
	t := k.State()
	return &events.Approval{Verdict: "approve", Contract: t.Contract().Digest, Result: t.Result.Hash,
		Head: t.Result.Data.Head, Tree: t.Result.Data.Tree, Packet: packetDigest(t)}
}

func receiptOf(k *projectionstest.Task, nonce string, class events.Class) *events.Receipt {
	return projectionstest.Receipt(k.State(), "nonce-of-16-bytes-"+nonce, projectionstest.Outcomes{"C1": class})
}

func pauseOf() *events.Pause { return &events.Pause{Reason: "wait"} }

func unpauseOf() *events.Unpause { return &events.Unpause{Reason: "go on"} }

func TestPauseIsAFlag(t *testing.T) {
	for _, state := range projections.States() {
		k := in(state)
		illegal := state == projections.None || state.Final()
		if illegal {
			try(t, k, said{"ann", pauseOf(), "task.paused/state"}, said{"ann", unpauseOf(), "task.unpaused/state"})
			continue
		}
		try(t, k,
			said{"ann", unpauseOf(), "task.unpaused"},
			said{"impl-a", pauseOf(), "task.paused/role"}, said{"audrey", pauseOf(), "task.paused/role"}, said{"rita", pauseOf(), "task.paused/role"},
			said{"carl", pauseOf(), ""}, said{"ann", pauseOf(), "task.paused"},
			said{"ann", projectionstest.Contract(int64(len(k.State().Contracts)) + 1), "paused"},
			said{"impl-a", unpauseOf(), "task.unpaused/role"})
		inState(t, k, state)
		if w := k.State().Waiting(); w.For != events.TaskUnpaused.Short() || w.Deadline <= w.Since {
			t.Errorf("a paused task in %s waits for %+v", state, w)
		}
		for _, next := range NewRules().Next(k.State()) {
			if !whilePaused(events.TypeOf(firstWord(next.Event))) {
				t.Errorf("in %s, paused, Next names %s", state, next.Event)
			}
		}
		try(t, k, said{"ann", unpauseOf(), ""})
		inState(t, k, state)
		if k.State().Pause != nil {
			t.Errorf("%s is still paused", state)
		}
	}
}

func firstWord(s string) string {
	for i := range s {
		if s[i] == ' ' {
			return s[:i]
		}
	}
	return s
}

func TestPauseHoldsReceipts(t *testing.T) {
	pass, fail, open := events.ClassPass, events.ClassCodeFailure, events.ClassInconclusive
	for name, c := range map[string]struct {
		from     projections.State
		receipts []events.Class
		to       projections.State
	}{
		"pass":                      {projections.AwaitingVerification, []events.Class{pass}, projections.AwaitingReview},
		"fail":                      {projections.AwaitingVerification, []events.Class{fail}, projections.RepairQueued},
		"inconclusive":              {projections.AwaitingVerification, []events.Class{open}, projections.AwaitingVerification},
		"fail, then pass":           {projections.AwaitingVerification, []events.Class{fail, pass}, projections.AwaitingReview},
		"pass, then fail":           {projections.AwaitingVerification, []events.Class{pass, fail}, projections.RepairQueued},
		"nothing":                   {projections.AwaitingVerification, nil, projections.AwaitingVerification},
		"review, fail":              {projections.AwaitingReview, []events.Class{fail}, projections.RepairQueued},
		"review, inconclusive":      {projections.AwaitingReview, []events.Class{open}, projections.AwaitingReview},
		"approved, fail":            {projections.Approved, []events.Class{fail}, projections.RepairQueued},
		"approved, fail, then pass": {projections.Approved, []events.Class{fail, pass}, projections.AwaitingReview},
		"approved, pass":            {projections.Approved, []events.Class{pass}, projections.Approved},
		"releasing, fail":           {projections.Releasing, []events.Class{fail}, projections.Interrupted},
		"releasing, fail, pass":     {projections.Releasing, []events.Class{fail, pass}, projections.Interrupted},
		"releasing, pass":           {projections.Releasing, []events.Class{pass}, projections.Releasing},
	} {
		t.Run(name, func(t *testing.T) {
			k := in(c.from)
			try(t, k, said{"ann", pauseOf(), ""})
			for i, class := range c.receipts {
				try(t, k, said{"ci", receiptOf(k, string(rune('a'+i)), class), ""})
				inState(t, k, c.from)
			}
			try(t, k, said{"carl", unpauseOf(), ""})
			inState(t, k, c.to)
		})
	}
}

// TestPauseNamesTheReceipt: the queued repair names the receipt that refuted
// the result, not the event that ended the pause.
func TestPauseNamesTheReceipt(t *testing.T) {
	k := in(projections.AwaitingVerification)
	try(t, k, said{"ann", pauseOf(), ""}, said{"ci", receiptOf(k, "a", events.ClassCodeFailure), ""})
	receipt := k.State().Receipts[0].EventID
	try(t, k, said{"ann", unpauseOf(), ""})
	if r := k.State().Repair; r == nil || r.Reason != "failing receipt "+receipt {
		t.Errorf("repair %+v, want one for receipt %s", r, receipt)
	}
}

func TestPausedTaskDoesNotAdvance(t *testing.T) {
	world := projectionstest.World(in(projections.None).Policy())
	claim := func(p events.Purpose) *events.Claim { return &events.Claim{Purpose: p, TermSeconds: 60, World: world} }
	k := in(projections.Snapshotted)
	try(t, k, said{"ann", pauseOf(), ""}, said{"impl-a", claim(events.PurposeWork), "paused"}, said{"carl", claim(events.PurposeRecover), "paused"},
		said{"impl-a", projectionstest.Plan(), "paused"}, said{"ann", projectionstest.Decision("d1"), "paused"})
	k = in(projections.Executing)
	try(t, k, said{"ann", pauseOf(), ""},
		said{"impl-a", projectionstest.Result("1"), "paused"}, said{"impl-a", projectionstest.Intent("k1"), "paused"},
		said{"impl-a", projectionstest.IssueStep("s1", ""), "paused"},
		said{"ci", projectionstest.Money("ci", 1, "EUR"), ""}, said{"ci", projectionstest.DefectReport("wrong"), ""},
		said{"service", &events.Interruption{Cause: "lease-expired", Fence: int64(k.State().Fence)}, ""})
	inState(t, k, projections.Interrupted)
	k = in(projections.Executing)
	try(t, k, said{"ann", pauseOf(), ""}, said{"impl-a", &events.Release{Reason: "quota"}, ""})
	inState(t, k, projections.Snapshotted)
	k = in(projections.Executing)
	try(t, k, said{"ann", pauseOf(), ""}, said{"carl", &events.Escalation{Reason: "r", NextStep: "n"}, ""},
		said{"ann", &events.Resolution{Action: "resume", Reason: "r"}, "paused"}, said{"ann", unpauseOf(), ""},
		said{"ann", &events.Resolution{Action: "resume", Reason: "r"}, ""})
	k = in(projections.AwaitingReview)
	verdict := verdictOf(k)
	try(t, k, said{"ann", pauseOf(), ""}, said{"rita", verdict, "paused"}, said{"ann", unpauseOf(), ""}, said{"rita", verdict, ""})
	k = in(projections.Approved)
	r := k.State().Result
	delivery := &events.Delivery{Contract: k.State().Contract().Digest, Result: r.Hash, Target: "main", Commit: r.Data.Head, Tree: r.Data.Tree}
	try(t, k, said{"ann", pauseOf(), ""}, said{"olga", delivery, "paused"}, said{"olga", claim(events.PurposeRelease), "paused"},
		said{"ann", &events.Cancellation{Reason: "r"}, ""}, said{"ann", unpauseOf(), "task.unpaused/state"})
	inState(t, k, projections.Cancelled)
	if k.State().Pause != nil {
		t.Error("a cancelled task is still paused")
	}
}

// TestPauseHoldsAcknowledgement: the closing of the finding that alone held a
// proven result back moves it when the task goes on.
func TestPauseHoldsAcknowledgement(t *testing.T) {
	k := in(projections.AwaitingVerification)
	try(t, k, said{"audrey", &events.Finding{Severity: "fatal", Rule: "R1", Text: "missing"}, ""},
		said{"ci", receiptOf(k, "a", events.ClassPass), ""})
	id := k.State().Findings[0].EventID
	try(t, k, said{"ann", pauseOf(), ""}, said{"ann", &events.Acknowledgement{Finding: id, Reason: "seen"}, ""})
	inState(t, k, projections.AwaitingVerification)
	try(t, k, said{"ann", unpauseOf(), ""})
	inState(t, k, projections.AwaitingReview)
}

func TestSteps(t *testing.T) {
	k := in(projections.Executing)
	unknown := []events.Evidence{{Receipt: "01890a5d-ac96-774b-bcce-00000000ffff"}}
	badFiles, badItem := projectionstest.IssueStep("s9", ""), projectionstest.Plan()
	badFiles.Files = []string{"/etc/passwd"}
	badItem.Units[0].Acceptance = []string{"A9"}
	badPattern := projectionstest.Plan()
	badPattern.Units[0].Files = []string{"../up"}
	try(t, k,
		said{"rita", projectionstest.Plan(), "plan.recorded/role"}, said{"impl-a", badItem, "plan.recorded"}, said{"impl-a", badPattern, "plan.recorded/pattern"},
		said{"impl-a", projectionstest.IssueStep("s1", "u1"), "step.issued"}, // there is no plan yet
		said{"impl-a", projectionstest.Plan(), ""},
		said{"impl-b", projectionstest.IssueStep("s1", "u1"), "step.issued/fence"}, said{"carl", projectionstest.IssueStep("s1", "u1"), "step.issued/fence"},
		said{"impl-a", projectionstest.IssueStep("s1", "u9"), "step.issued"}, said{"impl-a", badFiles, "step.issued/pattern"},
		said{"impl-a", projectionstest.CompleteStep("s1"), "step.completed"}, said{"impl-a", &events.StepFailure{Step: "s1", Reason: "r"}, "step.failed"},
		said{"impl-a", &events.Progress{Step: "s1", Note: "n"}, "progress.recorded"},
		said{"impl-a", projectionstest.IssueStep("s1", "u1"), ""}, said{"impl-a", projectionstest.IssueStep("s1", "u2"), "step.issued"},
		said{"impl-a", &events.Progress{Step: "s1", Note: "n"}, ""},
		said{"impl-a", &events.StepCompletion{Step: "s1", Summary: "s", Evidence: unknown}, "step.completed/evidence"},
		said{"impl-a", projectionstest.CompleteStep("s1"), ""}, said{"impl-a", projectionstest.CompleteStep("s1"), "step.completed"},
		said{"impl-a", &events.StepFailure{Step: "s1", Reason: "r"}, "step.failed"}, said{"impl-a", &events.Progress{Step: "s1", Note: "n"}, "progress.recorded"},
		said{"impl-a", projectionstest.IssueStep("s2", ""), ""}, said{"impl-a", projectionstest.Result("1"), ""},
		said{"impl-a", projectionstest.CompleteStep("s2"), "step.completed/fence"}, said{"impl-a", projectionstest.Plan(), "plan.recorded/state"})
	if u := k.State().NextUnit(); u == nil || u.Name != "u2" {
		t.Errorf("next unit %+v, want u2", u)
	}
}

// at tries one event with another admission stamp.
func at(t *testing.T, k *projectionstest.Task, when time.Time, s said) {
	t.Helper()
	r := k.Draft(s.actor, s.payload)
	r.Event.Fence, r.Admitted = 0, when.UnixNano()
	tryRecord(t, k, 0, s, r)
}

func TestDecisions(t *testing.T) {
	k := in(projections.Contracted)
	superseding := func(id, old string) *events.Decision {
		return projectionstest.Decision(id, func(d *events.Decision) { d.Supersedes = old })
	}
	end := func(id string) (*events.Thaw, *events.Retraction) {
		return &events.Thaw{Decision: id, Reason: "r"}, &events.Retraction{Decision: id, Reason: "r"}
	}
	thaw, retract := end("d1")
	thaw2, retract2 := end("d2")
	try(t, k,
		said{"ci", projectionstest.Decision("d1"), "decision.recorded/role"}, said{"audrey", projectionstest.Decision("d1"), "decision.recorded/role"},
		said{"rita", projectionstest.Decision("d1", func(d *events.Decision) { d.Owner = "nobody" }), "decision.recorded/owner"},
		said{"rita", projectionstest.Decision("d1", func(d *events.Decision) { d.Expires = "2020-01-01T00:00:00Z" }), "decision.recorded/expires"},
		said{"rita", superseding("d1", "d0"), "decision.recorded"},
		said{"ann", projectionstest.Freeze("d1"), "decision.frozen"}, said{"ann", thaw, "decision.unfrozen"}, said{"ann", retract, "decision.withdrawn"},
		said{"rita", projectionstest.Decision("d1", func(d *events.Decision) { d.Owner = "of-impl-a" }), ""},
		said{"rita", projectionstest.Decision("d1"), "decision.recorded"},
		said{"rita", projectionstest.Freeze("d1"), "decision.frozen/role"}, said{"impl-a", projectionstest.Freeze("d1"), "decision.frozen/role"},
		said{"ann", projectionstest.Freeze("d1", func(f *events.Freeze) { f.Guard.Paths = []string{"/"} }), "decision.frozen/pattern"},
		said{"ann", projectionstest.Freeze("d1", func(f *events.Freeze) { f.Expires = "2020-01-01T00:00:00Z" }), "decision.frozen/expires"},
		said{"ann", thaw, "decision.unfrozen"},
		said{"ann", projectionstest.Freeze("d1"), ""}, said{"ann", projectionstest.Freeze("d1"), "decision.frozen"},
		said{"rita", thaw, "decision.unfrozen/role"}, said{"rita", retract, "decision.withdrawn/role"},
		said{"rita", superseding("d2", "d1"), "decision.recorded/frozen"}, said{"ann", superseding("d2", "d1"), "decision.recorded/frozen"},
		said{"ann", thaw, ""}, said{"ann", thaw, "decision.unfrozen"},
		said{"rita", superseding("d2", "d1"), ""}, said{"rita", superseding("d3", "d1"), "decision.recorded"},
		said{"ann", projectionstest.Freeze("d1"), "decision.frozen"}, said{"ann", retract, "decision.withdrawn"},
		said{"ann", projectionstest.Freeze("d2"), ""}, said{"ann", retract2, ""}, said{"ann", retract2, "decision.withdrawn"},
		said{"ann", projectionstest.Freeze("d2"), "decision.frozen"}, said{"ann", thaw2, "decision.unfrozen"}, said{"rita", superseding("d4", "d2"), "decision.recorded"})
	if g := k.State().Guards(k.State().Admitted); len(g) != 0 {
		t.Errorf("guards %+v of withdrawn and superseded decisions", g)
	}
}

func TestBans(t *testing.T) {
	k := in(projections.Contracted)
	lift := &events.Unban{Approach: "b1", Reason: "r"}
	try(t, k,
		said{"rita", projectionstest.Ban("b1"), "approach.banned/role"}, said{"impl-a", projectionstest.Ban("b1"), "approach.banned/role"},
		said{"ann", lift, "approach.unbanned"},
		said{"ann", projectionstest.Ban("b1", func(b *events.Ban) { b.Guard.Paths = []string{"a//b"} }), "approach.banned/pattern"},
		said{"ann", projectionstest.Ban("b1", func(b *events.Ban) { b.Expires = "2020-01-01T00:00:00Z" }), "approach.banned/expires"},
		said{"ann", projectionstest.Ban("b1"), ""}, said{"ann", projectionstest.Ban("b1"), "approach.banned"},
		said{"rita", lift, "approach.unbanned/role"}, said{"ann", lift, ""}, said{"ann", lift, "approach.unbanned"}, said{"ann", projectionstest.Ban("b1"), "approach.banned"})
}

// TestExpiry: what has expired by the stamp of admission guards nothing, and
// the author's own time has no say.
func TestExpiry(t *testing.T) {
	k := in(projections.Contracted)
	start := time.Unix(0, k.State().Admitted)
	soon, later := start.Add(time.Hour), start.Add(2*time.Hour)
	expires := func(when time.Time) string { return events.FormatTime(when) }
	try(t, k,
		said{"rita", projectionstest.Decision("d1", func(d *events.Decision) { d.Expires = expires(later) }), ""},
		said{"ann", projectionstest.Freeze("d1", func(f *events.Freeze) { f.Expires = expires(soon) }), ""},
		said{"ann", projectionstest.Ban("b1", func(b *events.Ban) { b.Expires = expires(soon) }), ""})
	task := k.State()
	for _, c := range []struct {
		when   time.Time
		guards int
	}{{start, 2}, {soon.Add(-2 * time.Second), 2}, {soon.Add(time.Second), 0}, {later.Add(time.Second), 0}} {
		if g := task.Guards(c.when.UnixNano()); len(g) != c.guards {
			t.Errorf("at %s: %d guards, want %d", c.when, len(g), c.guards)
		}
	}
	at(t, k, soon.Add(time.Second), said{"ann", &events.Thaw{Decision: "d1", Reason: "r"}, "decision.unfrozen"})
	at(t, k, soon.Add(time.Second), said{"ann", &events.Unban{Approach: "b1", Reason: "r"}, "approach.unbanned"})
	at(t, k, later.Add(time.Second), said{"ann", projectionstest.Freeze("d1"), "decision.frozen"})
	at(t, k, soon.Add(time.Second), said{"ann", projectionstest.Freeze("d1"), ""}) // the freeze has expired, the decision has not
	if g := k.State().Guards(soon.Add(time.Minute).UnixNano()); len(g) != 1 {
		t.Errorf("%d guards after the second freeze, want 1", len(g))
	}
}

func TestViolatedTreeDoesNotAdvance(t *testing.T) {
	k := in(projections.Executing)
	bad := projectionstest.Result("1").Tree
	try(t, k,
		said{"impl-a", projectionstest.Violation(bad), "boundary.violated/role"}, said{"carl", projectionstest.Violation(bad), "boundary.violated/role"},
		said{"service", projectionstest.Violation(bad), ""}, said{"ci", projectionstest.Violation(bad), "boundary.violated"},
		said{"impl-a", projectionstest.Result("1"), "boundary-violated"}, said{"impl-a", projectionstest.Result("2"), ""})
	result := k.State().Result.Data.Tree
	try(t, k, said{"ci", projectionstest.Violation(projectionstest.Object("another")), "boundary.violated"}, said{"ci", projectionstest.Violation(result), ""},
		said{"ci", receiptOf(k, "a", events.ClassPass), ""})
	inState(t, k, projections.AwaitingVerification)
	if w := k.State().Waiting(); w.For != events.RepairRequested.Short() {
		t.Errorf("waits for %s", w.For)
	}
	try(t, k, said{"rita", verdictOf(k), "approval.recorded/state"},
		said{"carl", &events.RepairRequest{Items: []string{"A1"}, Reason: "outside"}, ""}, said{"carl", &events.RepairAcceptance{Kind: "code"}, ""})
	k.Claim("impl-a", events.PurposeWork)
	try(t, k, said{"impl-a", projectionstest.Result("2"), "boundary-violated"}, said{"impl-a", projectionstest.Result("3"), ""})
	try(t, k, said{"ci", receiptOf(k, "b", events.ClassPass), ""})
	inState(t, k, projections.AwaitingReview)
	try(t, k, said{"ci", projectionstest.Violation(k.State().Result.Data.Tree), "boundary.violated/state"}, said{"rita", verdictOf(k), ""})
}

func TestFacts(t *testing.T) {
	k := in(projections.Delivered)
	digest := projectionstest.Digest("log")
	other := projectionstest.Artifact("log")
	other.Class = "public"
	about := projectionstest.Artifact("log")
	about.About = k.State().Receipts[0].EventID
	wrong := projectionstest.DefectReport("wrong")
	wrong.Acceptance = "A9"
	try(t, k,
		said{"audrey", projectionstest.Artifact("log"), "artifact.recorded/role"}, said{"service", projectionstest.Artifact("log"), "artifact.recorded/role"},
		said{"olga", &events.Quarantine{Digest: digest, Reason: "r"}, "artifact.quarantined"},
		said{"impl-a", projectionstest.Artifact("log"), ""}, said{"impl-a", projectionstest.Artifact("log"), "artifact.recorded"},
		said{"impl-a", other, "artifact.recorded"}, said{"impl-a", about, ""},
		said{"impl-a", &events.Quarantine{Digest: digest, Reason: "r"}, "artifact.quarantined/role"},
		said{"olga", &events.Quarantine{Digest: digest, Reason: "r"}, ""}, said{"ci", &events.Quarantine{Digest: digest, Reason: "r"}, "artifact.quarantined"},
		said{"impl-a", projectionstest.Artifact("log"), "artifact.recorded"},
		said{"audrey", projectionstest.Money("ci", 1, "EUR"), "cost.recorded/role"}, said{"ci", projectionstest.Money("incident", 1, "EUR"), ""},
		said{"audrey", projectionstest.DefectReport("wrong"), "defect.reported/role"}, said{"rita", wrong, "defect.reported"},
		said{"rita", projectionstest.DefectReport("wrong"), ""})
	inState(t, k, projections.Delivered)
	try(t, in(projections.None), said{"rita", projectionstest.DefectReport("wrong"), "defect.reported/state"})
}

// TestQuarantinedOutputProvesNothing: a pass that rests on a quarantined
// artifact is none, and nobody gets past it.
func TestQuarantinedOutputProvesNothing(t *testing.T) {
	k := in(projections.AwaitingReview)
	receipt := k.State().Receipts[0]
	try(t, k, said{"olga", &events.Quarantine{Digest: receipt.Data.Checks[0].Artifact, Reason: "r"}, ""})
	inState(t, k, projections.AwaitingReview)
	if v := k.State().Verdict(); v == projections.ItemPass {
		t.Errorf("verdict %s on quarantined output", v)
	}
	try(t, k, said{"rita", verdictOf(k), "approval.recorded/evidence"})
	k = in(projections.RepairQueued)
	for _, c := range k.State().Receipts[0].Data.Checks {
		if !k.State().Quarantined(c.Artifact) {
			try(t, k, said{"olga", &events.Quarantine{Digest: c.Artifact, Reason: "r"}, ""})
		}
	}
	if v := k.State().Verdict(); v != projections.ItemFail {
		t.Errorf("verdict %s: a quarantine hid a failure", v)
	}
}
